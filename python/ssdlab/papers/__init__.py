"""Published experiments: our value beside the published one.

One module or package for each experiment, one line here. An experiment yields its entries as it measures them, with the pictures
and tables that belong to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike

from ssdlab.cell.pool import ProgressHook
from ssdlab.errors import unknown_name
from ssdlab.papers import agcr, autoftl, budget, cell, ofwar, retention
from ssdlab.papers.entry import Entry, Picture, Table
from ssdlab.papers.outcome import Outcome
from ssdlab.papers.setting import Setting
from ssdlab.papers.traces import Traces

__all__ = ["EXPERIMENTS", "Entry", "Outcome", "Picture", "Setting", "Table", "run", "summary"]

#: Each experiment by its name.
EXPERIMENTS: dict[str, Callable[[Setting], Iterator[Entry | Picture | Table]]] = {
    "cell": cell.experiment,
    "ofwar": ofwar.experiment,
    "retention": retention.experiment,
    "agcr": agcr.experiment,
    "autoftl": autoftl.experiment,
    "budget": budget.experiment,
}


def summary(name: str) -> str:
    """What an experiment is, in one line."""
    text = EXPERIMENTS[name].__doc__ or ""
    return text.split("\n", 1)[0].rstrip(".")


def run(
    name: str,
    quick: bool = False,
    traces: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
) -> Outcome:
    """Runs an experiment.

    Args:
        name: The experiment.
        quick: Draw and measure less where the full size takes minutes.
        traces: A folder of traces, searched for those of the work by name; where one is not found, a look-alike is run.
        progress: Told how far a part of the experiment has come.

    Raises:
        InputError: no experiment of this name, no such folder, or a file in it that cannot be read.
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, [*EXPERIMENTS])
    found = [*EXPERIMENTS[name](Setting(quick=quick, traces=Traces(traces), progress=progress))]
    return Outcome(
        name=name,
        summary=summary(name),
        quick=quick,
        traces=traces is not None,
        entries=tuple(each for each in found if isinstance(each, Entry)),
        pictures=tuple(each for each in found if isinstance(each, Picture)),
        tables=tuple(each for each in found if isinstance(each, Table)),
    )
