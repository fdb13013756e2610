"""Runs of table 4.2 by their suspension windows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ssdlab.explore.statistics import Estimate, estimate

__all__ = ["DRIVE", "MEAN", "NONE", "PEAK", "WORK", "Runs", "Windows", "time_of"]

#: Name of the section of the page.
WORK: Final = "SSDExplorer, chapter 4: power"
#: The drive of table 4.1.
DRIVE: Final = "ssdpower-16x8"
#: Numbers of a run.
MEAN, PEAK = "energy.mean_w", "energy.peak_w"
_FIELD = "power.suspend[0]"


@dataclass(frozen=True, slots=True)
class Windows:
    """Suspension windows in programs of upper pages."""

    #: Positions, as shares of tPROG.
    at: tuple[float, ...] = ()
    length: str = "200us"
    overhead: str = "0ns"
    #: True if no operation is issued to an idle die during a window of any die.
    idle_dies_wait: bool = True

    @property
    def words(self) -> str:
        """The positions in words."""
        return " and ".join(f"{place:g}" for place in self.at) or "none"

    def as_set(self) -> dict[str, object]:
        """Returns the overrides of a run with these windows."""
        window = {
            "page_types": [2],
            "at": [*self.at],
            "length": self.length,
            "overhead": self.overhead,
            "idle_chips_wait": self.idle_dies_wait,
        }
        return {"power.suspend": [window]}


#: No windows.
NONE: Final = Windows()

Row = Mapping[str, Any]


class Runs:
    """Runs by their windows and seed. Runs without windows are the same whatever the other fields of a window are."""

    def __init__(self, rows: Iterable[Row], **where: object) -> None:
        """Indexes the rows of sweeps in which these fields have these values."""
        self.by: dict[Windows, dict[int, Row]] = {}
        for row in rows:
            if all(row.get(name) == value for name, value in where.items()):
                at = _positions(row[f"{_FIELD}.at"])
                length = str(row.get(f"{_FIELD}.length", NONE.length))
                overhead = str(row.get(f"{_FIELD}.overhead", NONE.overhead))
                windows = Windows(at, length, overhead, bool(row[f"{_FIELD}.idle_chips_wait"])) if at else NONE
                self.by.setdefault(windows, {}).setdefault(row["seed"], row)

    def estimate(self, value: Callable[[Row], float], windows: Windows = NONE) -> Estimate:
        """Returns a number of the runs with these windows."""
        return estimate([value(row) for row in self.by[windows].values()])

    def change(self, value: Callable[[Row], float], windows: Windows, base: Windows = NONE) -> Estimate:
        """Returns by how much a number exceeds that of `base`, seed by seed [%]."""
        before, after = self.by[base], self.by[windows]
        return estimate(
            [100.0 * (value(after[seed]) / value(before[seed]) - 1.0) for seed in sorted(before.keys() & after.keys())]
        )

    def chosen(self, count: int, idle_dies_wait: bool, length: str = NONE.length) -> list[Windows]:
        """Returns windows of one kind: with a number of positions, the rule, and a length."""
        kind = (count, length, idle_dies_wait)
        return [each for each in self.by if (len(each.at), each.length, each.idle_dies_wait) == kind and each.overhead == "0ns"]

    def best(self, among: Sequence[Windows], number: str) -> Windows:
        """Returns the windows with the smallest mean of a number over the seeds."""
        return min(among, key=lambda windows: self.estimate(lambda row: row[number], windows).mean)


def _positions(field: object) -> tuple[float, ...]:
    """Returns positions from a field of a sweep, a list or its text in TOML."""
    given = json.loads(field.replace(", ]", "]")) if isinstance(field, str) else field
    assert isinstance(given, list)
    return tuple(map(float, given))


def time_of(row: Row) -> float:
    """Returns the time for a command of a measured interval."""
    return 1.0 / float(row["throughput.iops"])
