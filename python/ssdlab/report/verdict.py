"""Verdicts of a comparison: for each run, in one line, how it differs from the first one."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ssdlab.report import reasons
from ssdlab.report.content import phrase
from ssdlab.run_names import run_names
from ssdlab.tails import SHARES

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Smallest relative change that counts as better or worse.
_LEAST = 0.005


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one number from the first run to another."""

    title: str
    #: Value divided by that of the first run.
    ratio: float
    #: -1 if lower values are better, 1 if higher ones are, 0 if neither.
    better: int = -1

    def text(self) -> str:
        """Returns the change in percent, such as ``-7.0 %``; large ones as a factor."""
        return f"{self.title} {change_text(self.ratio)}"


def change_text(ratio: float) -> str:
    """Formats a ratio as a change in percent; from a tripled value on as a factor."""
    change = 100 * (ratio - 1)
    if ratio >= 3:
        return f"× {ratio:.3g}"
    if abs(change) < 0.05:
        return "±0 %"
    return f"{change:+.1f} %" if abs(change) < 9.95 else f"{change:+.0f} %"


def judgement_by_ratio(ratio: float | None, better: int) -> str:
    """Returns ``better`` or ``worse`` for a ratio to the first run; empty if it is about 1, or neither is good."""
    if ratio is None or not better or abs(ratio - 1) < _LEAST:
        return ""
    return "better" if (ratio > 1) == (better > 0) else "worse"


def failed_reads(run: RunData) -> int:
    """Returns the number of reads that failed for good, and units that were lost."""
    found = run.read_errors
    return 0 if found is None else int(found.media_errors or 0) + int(found.lost_units or 0)


def judgement(ratio: float | None, better: int, run: RunData) -> str:
    """Returns the judgement by ratio, but nothing of a run whose reads failed is better: its gain was not delivered."""
    said = judgement_by_ratio(ratio, better)
    return "" if said == "better" and failed_reads(run) else said


def changes(run: RunData, first: RunData) -> list[Change]:
    """Returns the changes of mean and tail latency, write amplification and erases; those that are known."""
    mine, base = run.latency["all"], first.latency["all"]
    tails = (("p99_99_ns", "p99.99"), ("p99_9_ns", "p99.9"), ("p99_ns", "p99"))
    tail = next(((field, title) for field, title in tails if getattr(mine, field) and getattr(base, field)), None)
    erases = [sum(each.summary["flash"]["erases"].values()) for each in (run, first)]
    found: list[tuple[str, float | None, float | None]] = [("mean", mine.mean_ns, base.mean_ns)]
    if tail:
        found.append((tail[1], getattr(mine, tail[0]), getattr(base, tail[0])))
    found += [("write amplification", run.write_amplification, first.write_amplification), ("erases", *erases)]
    return [Change(title, value / old) for title, value, old in found if value is not None and old]


def promises(run: RunData, first: RunData) -> list[str]:
    """Returns the modes with a retention limit that take a larger share of the host's data than in the first run."""
    modes = tomllib.loads(run.drive_toml)["flash"].get("write_mode", [])
    limits = {mode["name"]: mode["retention"] for mode in modes if "retention" in mode}
    mine, base = _mode_shares(run), _mode_shares(first)
    return [
        f"{100 * share:.0f} % of the writes are in mode {name}, which keeps data for {limits[name]}"
        for name, share in mine.items()
        if name in limits and share >= base.get(name, 0.0) + _LEAST
    ]


def _mode_shares(run: RunData) -> dict[str, float]:
    """Returns the share of each write mode in the units that the host wrote."""
    units: dict[str, int] = run.summary["modes"]["host_write"]
    total = sum(units.values())
    return {name: number / total for name, number in units.items()} if total else {}


def largest_cause(run: RunData) -> str:
    """Returns the share of the latency that its largest cause has, in words; empty without any latency.

    Another cause of the slowest commands is added: a change often trades one against the other.
    """
    causes = run.causes["all"]
    whole = sum(causes.values())
    if not whole:
        return ""
    cause = max(causes, key=lambda name: causes[name])
    text = f"{100 * causes[cause] / whole:.0f} % of the time is {phrase(cause)}"
    stated = run.summary.get("causes_tail", {}).get("all", {})
    known = [(share, stated[name]) for name, share in SHARES.items() if stated.get(name)]
    if not known:
        return text
    share, tail = known[-1]
    largest = max(tail["causes"], key=lambda name: tail["causes"][name])
    if largest == cause:
        return text
    return (
        f"{text}, and {100 * tail['causes'][largest] / tail['mean_ns']:.0f} % of the slowest {100 * share:g} % {phrase(largest)}"
    )


def lines(runs: Sequence[RunData]) -> list[str]:
    """Returns the verdict of each run but the first."""
    named = [*zip(run_names(runs), runs, strict=True)]
    return ["; ".join(_parts(name, [one.text() for one in changes(run, runs[0])], run, runs[0])) for name, run in named[1:]]


def html(runs: Sequence[RunData]) -> str:
    """Returns the verdicts as paragraphs, with better and worse changes marked."""
    named = [*zip(run_names(runs), runs, strict=True)]
    rows = []
    for name, run in named[1:]:
        said = [marked_html(one.text(), judgement(one.ratio, one.better, run)) for one in changes(run, runs[0])]
        text = "; ".join(_parts(f"<b>{escape(name)}</b>", said, run, runs[0]))
        rows.append(f'<p class="verdict">{text}</p>')
    return "".join(rows)


def marked_html(text: str, judgement: str) -> str:
    """Returns a text as HTML, marked as better or worse."""
    return f'<span class="{judgement}">{escape(text)}</span>' if judgement else escape(text)


def _parts(name: str, said: Sequence[str], run: RunData, first: RunData) -> list[str]:
    """Returns the clauses of a verdict: its changes, their reasons, what its modes promise, and the largest cause."""
    failed = failed_reads(run)
    if failed:
        name = f"{name} (not comparable: {failed:,} reads failed or lost their data)"
    more = [reasons.reason_for_amplification(run, first), *promises(run, first), largest_cause(run)]
    return [f"{name}: {', '.join(said) or 'nothing to compare'}", *(clause for clause in more if clause)]
