"""Loads of the experiment: the paper's traces by name, and stand-ins for those that are not public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load, Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Numbers of requests of a trace, by the form of the experiment."""

    quick: int
    usual: int
    full: int
    #: Each point of a sweep over parameters, with the usual and the full number of seeds.
    sweep: int

    def requests(self, setting: Setting) -> int:
        """Returns the number of requests for figures 9 to 11."""
        return self.quick if setting.quick else self.full if setting.full else self.usual

    def requests_of_sweep(self, setting: Setting) -> int:
        """Returns the number of requests of each point of a sweep."""
        return self.quick if setting.quick else self.sweep


#: The paper's IOzone, Postmark, Financial1 and Financial2. Its traces 1 to 6 (Dirik and Jacob's, of PCs) are not
#: public: other traces of PCs, phones and servers stand in for them. In the full form a run has the whole trace, or
#: some hundred thousand pages.
LENGTHS: dict[str, Length] = {
    "iozone": Length(quick=1_500, usual=12_000, full=100_000, sweep=8_000),
    "postmark": Length(quick=3_000, usual=12_000, full=62_257, sweep=8_000),
    "financial1": Length(quick=10_000, usual=60_000, full=300_000, sweep=40_000),
    "financial2": Length(quick=10_000, usual=60_000, full=300_000, sweep=40_000),
    "desktop": Length(quick=8_000, usual=32_527, full=100_000, sweep=20_000),
    "vm": Length(quick=8_000, usual=40_000, full=100_000, sweep=20_000),
    "copy": Length(quick=1_500, usual=5_000, full=9_278, sweep=3_000),
    "prxy_0": Length(quick=10_000, usual=60_000, full=300_000, sweep=40_000),
    "telegram": Length(quick=6_000, usual=40_000, full=100_000, sweep=20_000),
}
#: Traces that the paper ran.
OF_THE_PAPER = ("iozone", "postmark", "financial1", "financial2")
#: Traces of the paper that fill the rewrite queue (section 6.2).
QUEUE_FULL = ("iozone", "postmark")
#: Traces of the paper on which a threshold of 128 waiting writes has no effect (section 5).
TOO_LIGHT = ("financial1", "financial2")
#: Loads of a quick run: one of large sequential writes, one of small scattered ones.
QUICK = ("iozone", "telegram")
#: Reason why a claim about traces 1 to 6 is scored on other loads.
STAND_IN = "in place of the paper's traces 1 to 6, which are not public"


@dataclass(frozen=True, slots=True)
class Loads:
    """Loads by their kind."""

    #: The user's traces, whole or parts of them.
    real: tuple[Load, ...]
    #: Look-alikes of all loads.
    alike: tuple[Load, ...]

    @property
    def leading(self) -> tuple[Load, ...]:
        """Traces, and look-alikes of those of the paper's traces that are not at hand; without any, all look-alikes."""
        names = {load.name for load in self.real}
        rest = [load for load in self.alike if load.name not in names and (not self.real or load.name in OF_THE_PAPER)]
        return tuple(sorted((*self.real, *rest), key=lambda load: [*LENGTHS].index(load.name)))


def loads(setting: Setting) -> Loads:
    """Returns the loads in the order of :data:`LENGTHS`."""
    names = QUICK if setting.quick else [*LENGTHS]
    real = [load for name in names if (load := setting.traces.load(name)) is not None and load.is_trace]
    alike = [load for name in names if (load := Traces().load(name)) is not None]
    return Loads(tuple(real), tuple(alike))


def of_paper(used: Sequence[Load]) -> list[Load]:
    """Returns the loads that the paper ran."""
    return [load for load in used if load.name in OF_THE_PAPER]


def stand_ins(used: Sequence[Load]) -> list[Load]:
    """Returns the loads in place of the paper's traces 1 to 6."""
    return [load for load in used if load.name not in OF_THE_PAPER]
