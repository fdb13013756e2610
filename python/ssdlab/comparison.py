"""Several runs of one workload, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab.results import Result

__all__ = ["Comparison"]


class Comparison:
    """Runs of one workload from the same starting state and seed; the others are compared with the first."""

    def __init__(self, runs: Sequence[Result]) -> None:
        #: The runs, in the order they were asked for.
        self.runs = list(runs)

    def __repr__(self) -> str:
        return f"<ssdlab.Comparison {', '.join(run.policy for run in self.runs)}>"

    @property
    def status(self) -> str:
        """``complete``, or ``partial`` if a run was stopped."""
        return "complete" if all(run.status == "complete" for run in self.runs) else "partial"

    @property
    def ratios(self) -> list[dict[str, Any]]:
        """For each run its latencies and write amplification, each number divided by the first run's.

        ``None`` where one of the two is missing or the first is zero.
        """
        return [
            {
                "latency": _ratio(run.summary["latency"], self.runs[0].summary["latency"]),
                "write_amplification": _ratio(run.summary["write_amplification"], self.runs[0].summary["write_amplification"]),
            }
            for run in self.runs
        ]

    def to_dict(self) -> dict[str, Any]:
        """``runs`` (the summaries) and ``ratios``: what ``ssdlab compare --json`` prints."""
        return {"runs": [run.summary for run in self.runs], "ratios": self.ratios}

    def report(self) -> str:
        """A report that overlays the runs: one self-contained HTML page that works offline."""
        from ssdlab.report import page

        return page.several(self.runs)

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Writes a folder: ``compare.json``, ``report.html``, and one result folder per run.

        Raises:
            InputError: the folder is not empty (unless `force`, and ssdlab wrote all of it), or cannot be made.
        """
        from ssdlab.folder import save_comparison

        return save_comparison(self, folder, force=force)


def _ratio(value: Any, base: Any) -> Any:
    """`value` over `base`, number by number through the same shape."""
    if isinstance(value, dict):
        return {name: _ratio(item, base.get(name) if isinstance(base, dict) else None) for name, item in value.items()}
    return value / base if isinstance(value, int | float) and isinstance(base, int | float) and base else None
