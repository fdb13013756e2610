"""Published values beside the measured ones, with pictures and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab.charts import Chart


def finite(number: float | None) -> float | None:
    """Returns a number that JSON can hold: ``None`` in place of NaN and infinities."""
    return number if number is not None and math.isfinite(number) else None


def _short(number: float) -> str:
    """Formats a number with four significant digits; a whole number below ten million in full."""
    return f"{number:,.0f}" if float(number).is_integer() and abs(number) < 1e7 else f"{number:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A published value beside the measured one."""

    #: The source work: ``OFWAR``, ``retention relaxation``, ...
    work: str
    #: Place of the value in the work, or in the collection of facts.
    where: str
    #: The measured quantity.
    what: str
    #: The published value, as the source gives it.
    published: str
    #: Standing of the published value: ``stated``, ``found``, ``derived``, ``recalled``, ``assumed``.
    standing: str
    #: The measured value.
    ours: float
    #: The measured value as the page shows it.
    shown: str
    #: Range in which the measured value counts as met; ``None`` if nothing is asserted.
    low: float | None = None
    high: float | None = None
    #: Remark that the reader needs to interpret the entry.
    note: str = ""

    @property
    def accepted(self) -> str:
        """Range in which the measured value counts as met, in words; empty if nothing is asserted."""
        if self.low is None or self.high is None:
            return ""
        if math.isinf(self.high):
            return f"from {_short(self.low)}"
        return _short(self.low) if self.low == self.high else f"{_short(self.low)} to {_short(self.high)}"

    @property
    def verdict(self) -> str:
        """``met`` or ``missed``; ``shown`` if nothing is asserted."""
        if self.low is None or self.high is None:
            return "shown"
        return "met" if self.low <= self.ours <= self.high else "missed"

    def as_json(self) -> dict[str, Any]:
        """Returns the entry as a JSON object."""
        return {
            "work": self.work,
            "where": self.where,
            "what": self.what,
            "published": self.published,
            "standing": self.standing,
            "ours": finite(self.ours),
            "shown": self.shown,
            "low": finite(self.low),
            "high": finite(self.high),
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart that has been drawn already."""

    title: str
    #: Content of its SVG file.
    content: bytes

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the drawing to a file."""
        Path(path).write_bytes(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A chart that belongs to entries."""

    #: File name without its extension.
    name: str
    #: The chart.
    chart: Chart | Drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Numbers behind entries, one row per case."""

    #: File name without its extension.
    name: str
    #: One-line description of the rows.
    title: str
    #: Names of the columns.
    columns: tuple[str, ...]
    #: The rows; an unknown value is ``None``.
    rows: Sequence[Sequence[object]]
