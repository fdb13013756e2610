"""Loads of the experiment: the paper's traces by name, and stand-ins for those that are not public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Numbers of requests of a trace in the parts of the experiment."""

    #: Figures 9 to 11 on the paper's drive: enough pages for collection to work in the trace's own region.
    figures: int
    #: Each programming parallelism and speed, and each stage of wear. ``None``: not run by parallelism, because it
    #: takes too long, and run whole by wear.
    grid: int | None
    #: Each value of a parameter.
    sweep: int
    #: All parts of a quick run.
    quick: int


#: The paper's IOzone, Postmark, Financial1 and Financial2. Its traces 1 to 6 (Dirik and Jacob's, of PCs) are not
#: public: other traces of PCs, phones and servers stand in for them. Lengths are such that a run writes some hundred
#: thousand pages.
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
#: Traces that the paper ran.
OF_THE_PAPER = ("iozone", "postmark", "financial1", "financial2")
#: Traces of the paper that fill the rewrite queue (section 6.2).
QUEUE_FULL = ("iozone", "postmark")
#: Traces of the paper on which a threshold of 128 waiting writes has no effect (section 5).
TOO_LIGHT = ("financial1", "financial2")
_STANDS_IN = "in place of the paper's traces 1 to 6, which are not public"
#: Loads of a quick run: one of large sequential writes, one of small scattered ones.
_QUICK = ("iozone", "telegram")


def loads(setting: Setting) -> list[Load]:
    """Returns the loads in the order of :data:`LENGTHS`."""
    names = _QUICK if setting.quick else [*LENGTHS]
    found = (setting.traces.load(name) for name in names)
    return [load for load in found if load is not None]


def note_of(used: Sequence[Load]) -> str:
    """Returns the reason why a mean of these loads is not asserted."""
    titles = ", ".join(load.title for load in used)
    return f"other workload: the mean of {titles}; of the paper's ten, traces 1 to 6 are not public"


def note_on(load: Load) -> str:
    """Returns the reason why a value of this load is not asserted; empty for a whole trace of the paper."""
    if load.name in OF_THE_PAPER:
        return load.note
    return f"other workload: {_STANDS_IN}" + (f"; {load.note.removeprefix('other workload: ')}" if load.note else "")
