"""Loads of the experiment: the work's traces by name, on drives of the work's number of dies, and their stand-ins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ssdlab import Workload
from ssdlab.traces import trace_info
from ssdlab_papers.real_first import Loads
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import MSR_VOLUMES, Load, Traces

WEEK_NS = 7 * 86_400 * 10**9
#: Weeks of each run, and first weeks left out of the statistics: in the first, nothing is reprogrammed (POLICIES 3).
WEEKS, DROPPED = 4, 2
#: Dies of the drive on which the work ran each of its eleven traces (slide *Experimental Setup*). Its two Hadoop traces
#: share one name, and so do its two TPC-C traces.
DIES = {
    "prn_0": 16,
    "proj_0": 16,
    "prxy_0": 16,
    "src1_2": 16,
    "src2_2": 32,
    "src1_0": 64,
    "proj_2": 128,
    "hadoop": 128,
    "tpc_c": 128,
}
#: Collections that the work ran: MSR Cambridge, Hadoop and TPC-C.
COLLECTIONS = (*MSR_VOLUMES, "hadoop", "tpc_c")
#: Traces of a week or more that stand in for the work's, none of which is available whole: the first two are volumes of
#: MSR Cambridge that the work did not run. The last has no look-alike, because all its requests fall in the first and
#: the last four of its sixty days.
STAND_INS = ("rsrch_1", "wdev_1", "game", "diablo")
#: Loads that are run for minutes at recorded speed, and their numbers of requests; the work's own first.
EXCERPTS: dict[str, int] = {
    "prxy_0": 60_000,
    "tpc_c": 60_000,
    "hadoop": 60_000,
    "financial1": 60_000,
    "telegram": 60_000,
    "vm": 60_000,
    "desktop": 60_000,
    "copy": 60_000,
    "postmark": 40_000,
    "iozone": 30_000,
}
#: Loads of a quick run: weeks of the first two stand-ins, and minutes of these.
_QUICK, _QUICK_WEEKS = ("prxy_0", "hadoop", "telegram"), 2
#: Requests of an excerpt in a quick run.
_QUICK_REQUESTS = 10_000
#: Dies of the smallest drive, and blocks in each plane.
_DIES, _BLOCKS = 16, 4096
#: Maximum number of requests of a light load, weeks of which are run with many encoders and at many states of wear. Of
#: a heavier load, this many requests are run.
MANY = 1_000_000
#: Minimum span of a trace that is repeated for weeks [ns]: a trace of minutes would write the same few pages again and
#: again.
_SHORTEST_NS = WEEK_NS // 14


def weekly(setting: Setting) -> Loads:
    """Returns the loads that are run for weeks: files of the work's traces and of stand-ins, and their look-alikes.

    Files shorter than :data:`_SHORTEST_NS` are not used.
    """
    files = [load for name in (*DIES, *STAND_INS) if (load := setting.traces.find(name)) is not None]
    real = [load for load in files if span_ns(load) >= _SHORTEST_NS and not (setting.quick and not is_light(load))]
    if setting.quick:
        real = real[:_QUICK_WEEKS]
    return _beside(real, STAND_INS[:_QUICK_WEEKS] if setting.quick else STAND_INS)


def minutes(setting: Setting) -> Loads:
    """Returns the loads that are run for minutes: the user's files, and their look-alikes."""
    names = _QUICK if setting.quick else [*EXCERPTS]
    real = [load for name in names if (load := setting.traces.find(name)) is not None]
    return _beside(real, names)


def _beside(real: Sequence[Load], names: Sequence[str]) -> Loads:
    """Returns traces with their look-alikes; without any trace, the look-alikes of these names."""
    own = Traces()
    known = {load.name for load in real}
    alike = [load for name in names if (not known or name in known) and (load := own.load(name)) is not None]
    return Loads(tuple(real), tuple(alike))


def is_light(load: Load) -> bool:
    """Returns true if weeks of the load take little enough time to be run many times."""
    return load.requests <= MANY


def is_of_collections(load: Load) -> bool:
    """Returns true if the load is of a collection that the work ran, whether it ran this trace or not."""
    return load.name in COLLECTIONS


def span_ns(load: Load) -> int:
    """Returns the time from the first request of a trace to its last [ns]."""
    return int(trace_info(load.path)["span_ns"])


def length(setting: Setting, load: Load) -> int:
    """Returns the number of requests of an excerpt."""
    return _QUICK_REQUESTS if setting.quick else EXCERPTS.get(load.name, MANY)


def shape(load: Load) -> dict[str, object]:
    """Returns the settings of a drive with the number of dies that the work used for the trace.

    A look-alike or a part of a trace touches little of the drive. For it, each die has fewer blocks, so that the drive
    has as many blocks as the smallest one.
    """
    dies = DIES.get(load.name, _DIES)
    if dies == _DIES:
        return {}
    blocks = {} if load.is_whole else {"flash.blocks_per_plane": _BLOCKS * _DIES // dies}
    return {"flash.channels": 4 * dies // _DIES, **blocks}


def weeks_of(load: Load, folder: Path, time_scale: float = 1.0, count: int = WEEKS, dropped: int = DROPPED) -> dict[str, object]:
    """Returns the fields of a point with at least `count` weeks of a load, `dropped` of them out of the statistics.

    A trace is repeated in whole passes, a look-alike continues. All times are divided by `time_scale`.

    Args:
        load: The load.
        folder: Folder for the look-alike with its ramp time, which is no field of a sweep.
        time_scale: Speed of the replay relative to the recording.
        count: Number of weeks.
        dropped: First weeks that are left out of the statistics.
    """
    ramp = f"{round(dropped * WEEK_NS / time_scale)}ns"
    if load.is_trace:
        # At least two passes: data that one pass leaves behind is reprogrammed during the next.
        passes = max(2, math.ceil(count * WEEK_NS / span_ns(load)))
        return load.fields(load.requests * passes, time_scale, ramp_time=ramp)
    path = folder / f"{load.name}-{round(dropped * WEEK_NS / time_scale)}.toml"
    text = f'ramp_time = "{ramp}"\n' + load.path.read_text(encoding="utf-8")
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    fields = load.fields(10**9, time_scale)
    return {**fields, "workload": str(path), "workload.runtime": f"{round(count * WEEK_NS / time_scale)}ns"}


def recorded_weeks(load: Load, weeks: int) -> Workload:
    """Returns some weeks of a look-alike, all of them in the statistics."""
    text = load.workload(10**9).text or ""
    # In TOML, top-level fields must precede the first table.
    return Workload.from_text(f'runtime = "{weeks * WEEK_NS}ns"\n{text}')


def of_the_work(load: Load) -> bool:
    """Returns true if this is a whole trace that the work ran."""
    return load.is_whole and load.name in DIES


def about(used: Sequence[Load]) -> str:
    """Returns a remark on loads other than the work's own whole traces; empty if there are none."""
    if all(of_the_work(load) for load in used):
        return ""
    return "none of the work's eleven traces is at hand whole: other volumes and parts of traces stand in for them"
