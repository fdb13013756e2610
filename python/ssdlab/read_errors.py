"""Reads that can fail: attempts, failures, and the data that no attempt could correct."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Attempt", "ReadErrors", "WearClass"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempts of one number at reads of the flash, for any reason; number 1 is the read itself.

    Examples:
        >>> errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set=errors)
        >>> first = result.read_errors.attempts[0]
        >>> first.number, first.reads >= first.failed > 0
        (1, True)
    """

    #: Number of the attempt.
    number: int
    #: Attempts made.
    reads: int
    #: Attempts that failed.
    failed: int
    #: Mean time from the queue of the die to the end of decoding [ns].
    mean_ns: float | None
    #: Mean time by cause [ns]; empty for the first attempt, and for attempts on blocks of one wear class.
    causes: Mapping[str, float]

    @property
    def failed_share(self) -> float:
        """Share of the attempts that failed."""
        return self.failed / self.reads if self.reads else 0.0


@dataclass(frozen=True, slots=True)
class WearClass:
    """Attempts at reads of blocks whose effective wear lies in one range.

    Examples:
        >>> errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set=errors)
        >>> only = result.read_errors.by_wear[0]
        >>> only.from_cycles, only.to_cycles
        (0.0, 625.0)
    """

    #: Least effective wear [nominal erases].
    from_cycles: float
    #: Effective wear at which the next class begins; ``None``: the last class.
    to_cycles: float | None
    #: Attempts, by number.
    attempts: tuple[Attempt, ...]

    @property
    def retries_per_1000(self) -> float:
        """Attempts after the first, for 1,000 first attempts."""
        return _retries_per_1000(self.attempts)


@dataclass(frozen=True, slots=True)
class ReadErrors:
    """Reads of the flash on a drive whose reads can fail, counted for any reason: by attempt, and by wear.

    Examples:
        >>> errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set=errors)
        >>> found = result.read_errors
        >>> found.media_errors, found.lost_units, found.retries_per_1000 > 0
        (0, 0, True)
        >>> print(ssdlab.run("tiny", "examples/trace.csv.gz").read_errors)
        None
    """

    #: Commands that read data which no attempt could correct.
    media_errors: int
    #: Mapping units lost while they were moved, or completed for a partial write.
    lost_units: int
    #: Codewords read, each counted once.
    codewords: int
    #: Codewords that no attempt could correct.
    lost_codewords: int
    #: Attempts with a soft decision.
    soft_attempts: int
    #: Attempts, by number.
    attempts: tuple[Attempt, ...]
    #: Attempts on blocks of each wear class, a sixteenth of the rated endurance wide.
    by_wear: tuple[WearClass, ...]

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> ReadErrors | None:
        """Returns the section ``read_errors`` of a summary; ``None`` if the drive's reads cannot fail.

        Examples:
            >>> summary = ssdlab.run("tiny", "examples/trace.csv.gz").summary
            >>> ssdlab.ReadErrors.from_summary(summary) is None
            True
        """
        found = summary.get("read_errors")
        if found is None:
            return None
        counts = ("media_errors", "lost_units", "codewords", "lost_codewords")
        return cls(
            **{name: found[name] for name in counts},
            soft_attempts=summary["reliability"]["soft_levels"] or 0,
            attempts=_attempts(found["attempts"]),
            by_wear=tuple(
                WearClass(one["from_cycles"], one["to_cycles"], _attempts(one["attempts"])) for one in found["by_wear"]
            ),
        )

    @property
    def first_attempts(self) -> int:
        """Reads of the flash, repetitions left out."""
        return self.attempts[0].reads if self.attempts else 0

    @property
    def retries_per_1000(self) -> float:
        """Attempts after the first, for 1,000 first attempts."""
        return _retries_per_1000(self.attempts)


def _attempts(rows: Iterable[Mapping[str, Any]]) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(row["attempt"], row["reads"], row["failed"], row["mean_ns"], dict(row.get("causes", {}))) for row in rows
    )


def _retries_per_1000(attempts: tuple[Attempt, ...]) -> float:
    """Returns the repetitions for 1,000 reads; 0 if nothing was read."""
    first = attempts[0].reads if attempts else 0
    return 1000 * sum(one.reads for one in attempts[1:]) / first if first else 0.0
