"""Outcome of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ssdlab_papers.claim import COUNTED_VERDICTS, Claim
from ssdlab_papers.entry import Entry, Picture, Table

#: Verdicts of values, in the order in which they are counted.
VERDICTS = ("met", "missed", "shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of an experiment. Iterating over it yields its entries."""

    #: Name of the experiment.
    name: str
    #: One-line description of the experiment.
    summary: str
    #: True if the quick form was run.
    quick: bool
    #: True if the full form was run: all seeds, regions and sensitivities.
    full: bool = False
    #: True if a user's folder of traces was searched.
    traces: bool = False
    #: Version of ssdlab that ran it; empty if it is not known.
    version: str = ""
    #: Published values beside the measured ones, in a fixed order.
    entries: tuple[Entry, ...]
    #: Charts that belong to the entries.
    pictures: tuple[Picture, ...] = ()
    #: Tables of the numbers behind the entries.
    tables: tuple[Table, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def counts(self) -> dict[str, int]:
        """Number of entries by verdict; claims that cannot fail are not counted."""
        verdicts = (*COUNTED_VERDICTS, "shown") if self.has_claims else VERDICTS
        return {verdict: sum(entry.verdict == verdict for entry in self.entries) for verdict in verdicts}

    @property
    def has_claims(self) -> bool:
        """True if the entries are claims, whose verdicts are others than those of values."""
        return any(isinstance(entry, Claim) for entry in self.entries)

    @property
    def claims(self) -> list[Claim]:
        """The entries that are claims of a work, those that are not tested among them."""
        return [entry for entry in self.entries if isinstance(entry, Claim) and entry.verdict != "shown"]

    @property
    def notes(self) -> list[str]:
        """Notes of the entries without duplicates, in the order of first use."""
        return [*dict.fromkeys(entry.note for entry in self.entries if entry.note)]

    def as_json(self) -> dict[str, Any]:
        """Returns the outcome as a JSON object: its form, counts by verdict, entries, names of pictures and tables."""
        return {
            "experiment": self.name,
            "summary": self.summary,
            "quick": self.quick,
            "full": self.full,
            "traces": self.traces,
            "version": self.version,
            **self.counts,
            "entries": [entry.as_json() for entry in self.entries],
            "pictures": [{"name": each.name, "title": each.chart.title} for each in self.pictures],
            "tables": [{"name": each.name, "title": each.title} for each in self.tables],
        }
