"""What the experiment runs: the paper's traces by name, and others in place of those that nobody has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab.papers.setting import Setting
from ssdlab.papers.traces import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How many requests of a trace are run where."""

    #: Figures 9 to 11 on the paper's drive: enough pages for collection to be at work in the trace's own region.
    figures: int
    #: For each programming parallelism and speed, and at each wear. None: not run by parallelism, for the time that it takes, and
    #: whole by wear.
    grid: int | None
    #: For each value of a parameter.
    sweep: int
    #: For anything, if there is little time.
    quick: int


#: The paper's IOzone, Postmark, Financial1 and Financial2; its traces 1 to 6 (Dirik and Jacob's, of PCs) are not public: other
#: traces of PCs, phones and servers stand in for them. Lengths are such that a run writes some hundred thousand pages.
LENGTHS: dict[str, Length] = {
    "iozone": Length(figures=100_000, grid=3_000, sweep=20_000, quick=2_000),
    "postmark": Length(figures=62_257, grid=6_000, sweep=20_000, quick=3_000),
    "financial1": Length(figures=300_000, grid=20_000, sweep=60_000, quick=20_000),
    "financial2": Length(figures=300_000, grid=20_000, sweep=60_000, quick=20_000),
    "desktop": Length(figures=100_000, grid=10_000, sweep=40_000, quick=8_000),
    "vm": Length(figures=100_000, grid=10_000, sweep=40_000, quick=8_000),
    "copy": Length(figures=9_278, grid=None, sweep=6_000, quick=1_500),
    "prxy_0": Length(figures=300_000, grid=None, sweep=60_000, quick=20_000),
    "telegram": Length(figures=100_000, grid=10_000, sweep=40_000, quick=8_000),
}
#: Those that the paper ran.
OF_THE_PAPER = ("iozone", "postmark", "financial1", "financial2")
#: Those with which the rewrite queue is full (section 6.2).
QUEUE_FULL = ("iozone", "postmark")
#: Those that a threshold of 128 waiting writes leaves alone (section 5).
TOO_LIGHT = ("financial1", "financial2")
_STANDS_IN = "in place of the paper's traces 1 to 6, which are not public"
#: What stands for all of them, if there is little time: one of large sequential writes, one of small scattered ones.
_QUICK = ("iozone", "telegram")


def loads(setting: Setting) -> list[Load]:
    """What is run, in the order of :data:`LENGTHS`."""
    names = _QUICK if setting.quick else [*LENGTHS]
    found = (setting.traces.load(name) for name in names)
    return [load for load in found if load is not None]


def note_of(used: Sequence[Load]) -> str:
    """Why a mean of these loads is not asserted."""
    titles = ", ".join(load.title for load in used)
    return f"other workload: the mean of {titles}; of the paper's ten, traces 1 to 6 are not public"


def note_on(load: Load) -> str:
    """Why a value of this load is not asserted; empty for a whole trace of the paper."""
    if load.name in OF_THE_PAPER:
        return load.note
    return f"other workload: {_STANDS_IN}" + (f"; {load.note.removeprefix('other workload: ')}" if load.note else "")
