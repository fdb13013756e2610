"""Setting of a report: drive, starting state, workload, seed and version."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.report.content import short
from ssdlab.units import duration

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Largest number of drives that the head of a page lists.
_MOST = 4
#: Methods by which a starting state is made, in words.
_STATES = {
    "none": "new",
    "fill": "filled once",
    "random": "filled and overwritten at random",
    "steady": "in the steady state of random writes",
    "load": "as an earlier run left the drive",
}


def lines(runs: Sequence[RunData]) -> list[str]:
    """Returns the lines below the title of a report."""
    first = runs[0]
    loads = ", ".join(dict.fromkeys(short(run.workload) for run in runs))
    policies = ", ".join(dict.fromkeys(run.policy for run in runs))
    several = len(set(policies.split(", "))) > 1
    spans = list(dict.fromkeys(duration(run.simulated_ns) for run in runs))
    simulated = spans[0] if len(spans) == 1 else f"{spans[0]} and more" if len(spans) > 2 else " and ".join(spans)
    facts = [
        f"workload {loads}",
        f"polic{'ies' if several else 'y'} {policies}",
        f"seed {', '.join(dict.fromkeys(str(run.seed) for run in runs))}",
        f"{simulated} simulated",
        *(f"ssdlab {version}" for version in dict.fromkeys(run.version for run in runs) if version),
    ]
    states = ", ".join(dict.fromkeys(starting_state(run) for run in runs))
    drives = list(dict.fromkeys(drive_line(run) for run in runs))
    whole = drives if len(drives) <= _MOST else [short(first.drive), f"and {len(drives) - 1} other drives"]
    return [*whole, f"starting state: {states}", " · ".join(facts)]


def drive_line(run: RunData) -> str:
    """Returns a drive in one line: its title or name, dies, cells and overprovisioning."""
    described = tomllib.loads(run.drive_toml)
    flash: dict[str, Any] = described.get("flash", {})
    facts = [str(described.get("title") or short(run.drive))]
    if channels := flash.get("channels"):
        dies = channels * flash.get("chips_per_channel", 1) * flash.get("dies_per_chip", 1)
        facts.append(f"{_count_text(channels, 'channel')} with {_count_text(dies, 'die')}")
    if cell := flash.get("cell"):
        facts.append(str(cell).upper())
    if (spare := described.get("ftl", {}).get("overprovisioning")) is not None:
        facts.append(f"overprovisioning {100 * spare:.4g} %")
    return " · ".join(facts)


def starting_state(run: RunData) -> str:
    """Returns the starting state in words."""
    state: dict[str, Any] = run.summary.get("starting_state") or {}
    method = str(state.get("method", "unknown"))
    worn = state.get("pe_cycles") or 0
    return _STATES.get(method, method) + (f", worn by {worn:,} cycles" if worn else "")


def _count_text(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
