"""Texts and tables of reads that can fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab import terms
from ssdlab.report import content
from ssdlab.units import count, duration, significant

if TYPE_CHECKING:
    from ssdlab.read_errors import Attempt, ReadErrors, WearClass
    from ssdlab.results import RunData


def tables(run: RunData) -> str:
    """Returns the tables of a run: totals, attempt by attempt, and by wear if blocks differ in it."""
    found = run.read_errors
    if found is None:
        return ""
    parts = [content.table(None, totals(found), meanings=content.measures()), _attempt_table(found.attempts)]
    if len(found.by_wear) > 1:
        parts += ["<h4>By wear of the block</h4>", _wear_table(found)]
    return "".join(parts)


def totals(found: ReadErrors) -> list[tuple[str, str]]:
    """Returns the main numbers of reads that can fail, each with its title; soft attempts only if there were any."""
    rows = [
        ("retries per 1,000 reads", significant(found.retries_per_1000)),
        ("media errors", count(found.media_errors)),
        ("lost units", count(found.lost_units)),
    ]
    if found.soft_attempts:
        rows.append(("soft attempts", count(found.soft_attempts)))
    return rows


def _attempt_table(attempts: Sequence[Attempt]) -> str:
    """Returns the attempts with their mean times; the times of repetitions are divided by cause."""
    causes = causes_of(attempts)
    head = ["attempt", "made", "failed", "mean time", *causes]
    rows = [
        [
            str(one.number),
            count(one.reads),
            share(one.failed_share),
            duration(one.mean_ns),
            *(duration(one.causes[cause]) if cause in one.causes else "–" for cause in causes),
        ]
        for one in attempts
    ]
    return content.table(head, rows, meanings=content.measures() | terms.causes())


def causes_of(attempts: Sequence[Attempt]) -> list[str]:
    """Returns the causes of the attempts' times, the largest sum over all attempts first."""
    sums: dict[str, float] = {}
    for one in attempts:
        for cause, span in one.causes.items():
            sums[cause] = sums.get(cause, 0.0) + one.reads * span
    return sorted(sums, key=lambda cause: (-sums[cause], cause))


def _wear_table(found: ReadErrors) -> str:
    head = ["effective wear", "reads", "failed at first", "retries per 1,000 reads", "attempts at most", "mean time of the first"]
    rows = [
        [
            _cycles(one),
            count(one.attempts[0].reads),
            share(one.attempts[0].failed_share),
            significant(one.retries_per_1000),
            str(len(one.attempts)),
            duration(one.attempts[0].mean_ns),
        ]
        for one in found.by_wear
    ]
    meanings = content.measures() | {"effective wear": terms.key("effective_wear")}
    return content.table(head, rows, meanings=meanings)


def _cycles(one: WearClass) -> str:
    return f"from {one.from_cycles:,g}" if one.to_cycles is None else f"{one.from_cycles:,g} to {one.to_cycles:,g}"


def share(fraction: float) -> str:
    """Formats a share, small ones with three digits: the last attempts of a plan fail rarely."""
    return f"{significant(100 * fraction, 3)} %"
