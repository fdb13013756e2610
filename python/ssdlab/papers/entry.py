"""One published value and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
            "ours": self.ours,
            "shown": self.shown,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict,
            "note": self.note,
        }
