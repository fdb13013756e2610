"""Loads of the experiment: the work's traces by name, on drives of the work's number of dies, and their stand-ins."""

from __future__ import annotations

import math
import re

from ssdlab import Workload
from ssdlab.traces import trace_info
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

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
#: Traces of a week or more that stand in for the work's, none of which is available whole. The last has no look-alike,
#: because all its requests fall in the first and the last four of its sixty days.
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
_QUICK = ("prxy_0", "telegram", "copy")
#: Dies of the smallest drive, and blocks in each plane.
_DIES, _BLOCKS = 16, 4096
#: Maximum number of requests of a light load, weeks of which are run with many encoders and at many states of wear. Of
#: a heavier load, this many requests are run.
MANY = 1_000_000
#: Minimum span of a trace that is repeated for weeks [ns]: a trace of minutes would write the same few pages again and
#: again.
_SHORTEST_NS = WEEK_NS // 14


def weekly(setting: Setting) -> list[Load]:
    """Returns the loads that are run for weeks: the user's files of the work's traces, else stand-ins.

    Files shorter than :data:`_SHORTEST_NS` are not used.
    """
    files = [load for name in DIES if (load := setting.traces.find(name)) is not None]
    found = [load for load in files if span_ns(load) >= _SHORTEST_NS]
    if setting.quick:
        found = [load for load in found if is_light(load)]
    found = found or [load for name in STAND_INS if (load := setting.traces.load(name)) is not None]
    return found[:1] if setting.quick else found


def is_light(load: Load) -> bool:
    """Returns true if weeks of the load take little enough time to be run many times."""
    return load.requests <= MANY


def weeks_or_part(load: Load) -> Workload:
    """Returns weeks of a light load, or the first :data:`MANY` requests of a heavy one."""
    return weeks_of(load) if is_light(load) else excerpt(load, MANY)


def span_ns(load: Load) -> int:
    """Returns the time from the first request of a trace to its last [ns]."""
    return int(trace_info(load.path)["span_ns"])


def excerpts(setting: Setting) -> list[Load]:
    """Returns the loads that are run for minutes."""
    names = _QUICK if setting.quick else [*EXCERPTS]
    return [load for name in names if (load := setting.traces.load(name)) is not None]


def length(setting: Setting, load: Load) -> int:
    """Returns the number of requests of an excerpt."""
    return EXCERPTS[load.name] // (3 if setting.quick else 1)


def shape(load: Load) -> dict[str, object]:
    """Returns the settings of a drive with the number of dies that the work used for the trace.

    A look-alike touches little of the drive. For it, each die has fewer blocks, so that the drive has as many blocks as
    the smallest one.
    """
    dies = DIES.get(load.name, _DIES)
    if dies == _DIES:
        return {}
    blocks = {} if load.is_trace else {"flash.blocks_per_plane": _BLOCKS * _DIES // dies}
    return {"flash.channels": 4 * dies // _DIES, **blocks}


def excerpt(load: Load, requests: int, time_scale: float = 1.0) -> Workload:
    """Returns the first requests of a load."""
    return load.workload(requests, time_scale)


def weeks_of(load: Load, time_scale: float = 1.0, count: int = WEEKS, dropped: int = DROPPED) -> Workload:
    """Returns at least `count` weeks of a load, the first `dropped` of them left out of the statistics.

    A trace is repeated in whole passes, a look-alike continues. All times are divided by `time_scale`.
    """
    ramp = f"{round(dropped * WEEK_NS / time_scale)}ns"
    if load.is_trace:
        # At least two passes: data that one pass leaves behind is reprogrammed during the next.
        passes = max(2, math.ceil(count * WEEK_NS / span_ns(load)))
        return load.workload(load.requests * passes, time_scale, ramp_time=ramp)
    text = load.workload(10**9, time_scale).text or ""
    # In TOML, top-level fields must precede the first table.
    head = f'runtime = "{round(count * WEEK_NS / time_scale)}ns"\nramp_time = "{ramp}"\n'
    return Workload.from_text(re.sub(r"(?m)^kind = ", head + "kind = ", text, count=1))


def of_the_work(load: Load) -> bool:
    """Returns true if this is a whole trace that the work ran, so that a value published for it may be asserted."""
    return load.is_whole and load.name in DIES


def note_of(*used: Load) -> str:
    """Returns the reason why a value of these loads together is not asserted; empty if it may be.

    Of several reasons, the first is returned.
    """
    ours = "other workload: not one that the work ran"
    return next((load.note or ours for load in used if not of_the_work(load)), "")
