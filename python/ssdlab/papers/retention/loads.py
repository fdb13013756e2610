"""What the experiment runs: the work's traces by name, on drives of as many dies as it gave them, and others in their place."""

from __future__ import annotations

import math
import re

from ssdlab.papers.setting import Setting
from ssdlab.papers.traces import Load
from ssdlab.traces import trace_info
from ssdlab.workloads import Workload

WEEK_NS = 7 * 86_400 * 10**9
#: Weeks of each run, and how many of them are left out: in the first nothing is reprogrammed (POLICIES 3).
WEEKS, DROPPED = 4, 2
#: Dies of the drive on which the work ran each of its eleven traces (slide *Experimental Setup*); its two of Hadoop and two of
#: TPC-C go by one name each.
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
#: Traces of a week and more that stand in for the work's, of which none is at hand whole. The last has no look-alike: its
#: requests come in the first and the last four of its sixty days.
STAND_INS = ("rsrch_1", "wdev_1", "game", "diablo")
#: What is run for some minutes at recorded speed, and how many requests of it: the work's own first.
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
#: Dies of the smallest drive, and blocks in each of their planes.
_DIES, _BLOCKS = 16, 4096
#: Requests of a load that is run for weeks by many encoders and at many states of wear; of heavier ones so many are.
MANY = 1_000_000
#: A trace of minutes, repeated for weeks, writes the same few pages for ever.
_SHORTEST_NS = WEEK_NS // 14


def weekly(setting: Setting) -> list[Load]:
    """What is run for weeks: the user's files of the work's traces, if they last long enough; else what stands in for them."""
    files = [load for name in DIES if (load := setting.traces.find(name)) is not None]
    found = [load for load in files if span_ns(load) >= _SHORTEST_NS]
    if setting.quick:
        found = [load for load in found if is_light(load)]
    found = found or [load for name in STAND_INS if (load := setting.traces.load(name)) is not None]
    return found[:1] if setting.quick else found


def is_light(load: Load) -> bool:
    """Whether weeks of it take little enough time to be run again and again."""
    return load.requests <= MANY


def weeks_or_part(load: Load) -> Workload:
    """Weeks of a light load, the first requests of a heavy one."""
    return weeks_of(load) if is_light(load) else excerpt(load, MANY)


def span_ns(load: Load) -> int:
    """From the first request of a trace to its last [ns]."""
    return int(trace_info(load.path)["span_ns"])


def excerpts(setting: Setting) -> list[Load]:
    """What is run for some minutes."""
    names = _QUICK if setting.quick else [*EXCERPTS]
    return [load for name in names if (load := setting.traces.load(name)) is not None]


def length(setting: Setting, load: Load) -> int:
    """How many requests of an excerpt are run."""
    return EXCERPTS[load.name] // (3 if setting.quick else 1)


def shape(load: Load) -> dict[str, object]:
    """The drive of as many dies as the work gave the trace.

    A look-alike touches little of it: its dies have fewer blocks, and the drive as many as the smallest.
    """
    dies = DIES.get(load.name, _DIES)
    if dies == _DIES:
        return {}
    blocks = {} if load.is_trace else {"flash.blocks_per_plane": _BLOCKS * _DIES // dies}
    return {"flash.channels": 4 * dies // _DIES, **blocks}


def excerpt(load: Load, requests: int, time_scale: float = 1.0) -> Workload:
    """The first requests of a load."""
    return load.workload(requests, time_scale)


def weeks_of(load: Load, time_scale: float = 1.0, count: int = WEEKS, dropped: int = DROPPED) -> Workload:
    """At least `count` weeks of a load, the first ones left out of the statistics: a trace is repeated, a look-alike goes on.

    With a `time_scale` all of that takes so many times less.
    """
    ramp = f"{round(dropped * WEEK_NS / time_scale)}ns"
    if load.is_trace:
        # Twice at least: what a pass leaves behind is reprogrammed in the next.
        passes = max(2, math.ceil(count * WEEK_NS / span_ns(load)))
        return load.workload(load.requests * passes, time_scale, ramp_time=ramp)
    text = load.workload(10**9, time_scale).text or ""
    # Top-level fields stand before the first table.
    head = f'runtime = "{round(count * WEEK_NS / time_scale)}ns"\nramp_time = "{ramp}"\n'
    return Workload.from_text(re.sub(r"(?m)^kind = ", head + "kind = ", text, count=1))


def of_the_work(load: Load) -> bool:
    """Whether this is a whole trace that the work ran: then a value published for it may be asserted."""
    return load.is_whole and load.name in DIES


def note_of(*used: Load) -> str:
    """Why a value of these loads together is not asserted; the first reason, if there are several."""
    ours = "other workload: not one that the work ran"
    return next((load.note or ours for load in used if not of_the_work(load)), "")
