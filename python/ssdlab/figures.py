"""Figures of runs by name: what ``ssdlab plot`` and ``Result.plot_*`` draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ssdlab.errors import unknown_name

if TYPE_CHECKING:
    from ssdlab.report.picture import Figure
    from ssdlab.results import RunData

__all__ = ["FIGURES", "figure_of"]

#: Module of the report and function that make each figure.
FIGURES = {
    "latency": ("latency", "distribution"),
    "causes": ("causes", "stacked"),
    "timeline": ("timeline", "traffic"),
    "utilisation": ("utilisation", "busy"),
    "write_amplification": ("amplification", "by_reason"),
    "modes": ("modes", "shares"),
    "wear": ("wear", "spread"),
    "read_attempts": ("attempts", "made_and_failed"),
}


def figure_of(name: str, runs: Sequence[RunData]) -> Figure:
    """Returns a figure of one run, or of several that are overlaid or side by side.

    Raises:
        InputError: there is no figure of this name.

    Examples:
        >>> from ssdlab import figures
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill")
        >>> figures.figure_of("causes", [result]).save("causes.svg").name
        'causes.svg'
    """
    if name not in FIGURES:
        raise unknown_name("figure", name, [*FIGURES])
    module, function = FIGURES[name]
    # Start-up: plotly, which only a figure needs.
    make: Callable[[Sequence[RunData]], Figure] = getattr(import_module(f"ssdlab.report.{module}"), function)
    return make(runs)
