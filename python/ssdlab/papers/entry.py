"""One published value and ours; pictures and tables beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.charts import Chart


def _finite(number: float | None) -> float | None:
    """A number as JSON has it; one without bound, or that is none, is left out."""
    return number if number is not None and math.isfinite(number) else None


def _short(number: float) -> str:
    """Four digits; whole numbers in full, as far as they can be read."""
    return f"{number:,.0f}" if float(number).is_integer() and abs(number) < 1e7 else f"{number:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One published value and ours."""

    #: The work: ``OFWAR``, ``retention relaxation``, ...
    work: str
    #: Where the value stands in it, or in the collection of facts.
    where: str
    #: What was measured.
    what: str
    #: The published value, as it is given there.
    published: str
    #: How that is known: ``stated``, ``found``, ``derived``, ``recalled``, ``assumed``.
    standing: str
    #: Our value.
    ours: float
    #: Our value as it is shown.
    shown: str
    #: The range in which ours counts as the same; none where there is nothing to meet.
    low: float | None = None
    high: float | None = None
    #: What must be known about it.
    note: str = ""

    @property
    def accepted(self) -> str:
        """The range in which ours counts as the same."""
        if self.low is None or self.high is None:
            return ""
        if math.isinf(self.high):
            return f"from {_short(self.low)}"
        return _short(self.low) if self.low == self.high else f"{_short(self.low)} to {_short(self.high)}"

    @property
    def verdict(self) -> str:
        """``met``, ``missed``, or ``shown`` where there is nothing to meet."""
        if self.low is None or self.high is None:
            return "shown"
        return "met" if self.low <= self.ours <= self.high else "missed"

    def as_json(self) -> dict[str, Any]:
        """The entry as a JSON document has it."""
        return {
            "work": self.work,
            "where": self.where,
            "what": self.what,
            "published": self.published,
            "standing": self.standing,
            "ours": _finite(self.ours),
            "shown": self.shown,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart that belongs to entries."""

    #: The file's name, without its ending.
    name: str
    #: What is drawn.
    chart: Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Numbers behind entries, one row for each case."""

    #: The file's name, without its ending.
    name: str
    #: What the rows are, in one line.
    title: str
    #: The columns' names.
    columns: tuple[str, ...]
    #: The rows; what is not known is ``None``.
    rows: Sequence[Sequence[object]]
