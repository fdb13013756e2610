"""What an experiment found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ssdlab.papers.entry import Entry, Picture, Table

#: Verdicts, in the order in which they are counted.
VERDICTS = ("met", "missed", "shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an experiment found. Iterating over it gives its entries."""

    #: The experiment's name.
    name: str
    #: What it is, in one line.
    summary: str
    #: Whether it was run in its quick form.
    quick: bool
    #: Whether a user's folder of traces was searched.
    traces: bool = False
    #: Published values and ours, in a fixed order.
    entries: tuple[Entry, ...]
    #: Charts that belong to them.
    pictures: tuple[Picture, ...] = ()
    #: Numbers behind them.
    tables: tuple[Table, ...] = ()

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def counts(self) -> dict[str, int]:
        """Entries by verdict."""
        return {verdict: sum(entry.verdict == verdict for entry in self.entries) for verdict in VERDICTS}

    @property
    def notes(self) -> list[str]:
        """The notes of the entries, each once, in their order."""
        return [*dict.fromkeys(entry.note for entry in self.entries if entry.note)]

    def as_json(self) -> dict[str, Any]:
        """The outcome as a JSON document has it."""
        entries = [entry.as_json() for entry in self.entries]
        return {"experiment": self.name, "quick": self.quick, **self.counts, "entries": entries}
