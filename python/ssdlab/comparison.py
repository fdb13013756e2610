"""Several runs of one workload, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.errors import InputError
from ssdlab.figures import figure_of
from ssdlab.files import damaged
from ssdlab.presentation import Result
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from ssdlab.report.picture import Figure

__all__ = ["Comparison"]


class Comparison:
    """Runs of one workload from the same starting state and seed, each compared with the first run.

    Examples:
        >>> slow = ssdlab.run("tiny", "examples/randwrite.fio", stop_after=2000)
        >>> fast = ssdlab.run("tiny", "examples/randwrite.fio", "all_fast", stop_after=2000)
        >>> comparison = ssdlab.Comparison([slow, fast])
        >>> comparison.ratios[1]["latency"]["write"]["mean_ns"]
        0.5031
    """

    def __init__(self, runs: Sequence[Result], labels: Sequence[str] = ()) -> None:
        """Compares runs; with `labels`, one for each of them, they have these names.

        Raises:
            InputError: there are not as many labels as runs, or two are equal.
        """
        #: Runs, in the requested order.
        self.runs = list(runs)
        if labels and (len(labels) != len(self.runs) or len({*labels}) < len(labels) or "" in labels):
            raise InputError(f"--label: found {', '.join(labels)}: expected {len(self.runs)} different names, one for each run")
        for run, label in zip(self.runs, labels, strict=False):
            run.label = label

    def __repr__(self) -> str:
        return f"<ssdlab.Comparison {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        # Start-up: notebooks alone ask for it.
        from ssdlab.notebook import comparison_table

        return comparison_table(repr(self), self.runs)

    @property
    def names(self) -> list[str]:
        """Names of the runs, by what differs between them: policy, drive, workload, seed, varied fields.

        Examples:
            >>> ssdlab.compare("tiny", "examples/trace.csv.gz", vary={"flash.channels": [1, 2]}).names
            ['channels 1', 'channels 2']
        """
        # Start-up: a run by itself is not compared.
        from ssdlab.run_names import run_names

        return run_names(self.runs)

    @property
    def status(self) -> str:
        """``complete``, or ``partial`` if a run was stopped."""
        return "complete" if all(run.status == "complete" for run in self.runs) else "partial"

    @property
    def ratios(self) -> list[dict[str, Any]]:
        """Latencies and write amplification of each run, every number divided by that of the first run.

        ``None`` where either number is missing or that of the first run is zero.
        """
        return [
            {
                "latency": _ratio(run.summary["latency"], self.runs[0].summary["latency"]),
                **{
                    key: _ratio(run.summary[key], self.runs[0].summary[key])
                    for key in ("write_amplification", "write_amplification_bytes")
                },
            }
            for run in self.runs
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns ``names``, ``runs`` (the summaries) and ``ratios``, as ``ssdlab compare --json`` prints them.

        Examples:
            >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"])
            >>> document = comparison.to_dict()
            >>> document["names"], [run["policy"] for run in document["runs"]]
            (['baseline', 'all_fast'], ['baseline', 'all_fast'])
            >>> document["ratios"][1]["write_amplification"]
            1.0
        """
        return {"names": self.names, "runs": [run.summary for run in self.runs], "ratios": self.ratios}

    def report(self) -> str:
        """Returns a report that overlays the runs: one self-contained HTML page that works offline.

        Examples:
            >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"])
            >>> comparison.report().splitlines()[0]
            '<!DOCTYPE html>'
        """
        # Start-up: few comparisons are looked at as a page, which needs plotly.
        from ssdlab.report import page

        with self._reading():
            return page.several(self.runs)

    def plot(self, figure: str = "latency") -> Figure:
        """Plots a figure with all runs: one of those of ``ssdlab plot``.

        Raises:
            InputError: there is no figure of this name.

        Examples:
            >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"])
            >>> comparison.plot().save("latency.svg").name
            'latency.svg'
            >>> comparison.plot("utilisation").save("utilisation.pdf").name
            'utilisation.pdf'
            >>> comparison.plot("latencies")
            Traceback (most recent call last):
            ssdlab.InputError: unknown figure `latencies`: expected one of latency, ... (did you mean `latency`?)
        """
        with self._reading():
            return figure_of(figure, self.runs)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turns errors in the use of results that were read from folders into one that names the folders."""
        with ExitStack() as stack:
            for run in self.runs:
                stack.enter_context(damaged(run.folder))
            yield

    @in_own_words
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Writes a folder: ``compare.json``, ``report.html``, and one result folder per run.

        Raises:
            InputError: the folder is not empty (unless `force`, and ssdlab wrote all of it), or cannot be made.

        Examples:
            >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"])
            >>> folder = comparison.save("both")
            >>> sorted(path.name for path in folder.iterdir())
            ['all_fast', 'baseline', 'compare.json', 'manifest.json', 'report.html']
        """
        # Start-up: the folder has the report.
        from ssdlab.saving import save_comparison

        return save_comparison(self.runs, self.to_dict(), folder, force=force)


def _ratio(value: Any, base: Any) -> Any:
    """Divides each number in `value` by the number at the same place in `base`; ``None`` where that is not possible."""
    if isinstance(value, dict):
        return {name: _ratio(item, base.get(name) if isinstance(base, dict) else None) for name, item in value.items()}
    return value / base if isinstance(value, int | float) and isinstance(base, int | float) and base else None
