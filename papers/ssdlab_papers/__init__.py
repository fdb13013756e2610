"""Reproductions of published experiments: each published value beside the value measured here.

Each experiment is a module or a package, with one line in :data:`EXPERIMENTS`. It yields its entries as it measures
them, with the pictures and tables that belong to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path

from ssdlab import InputError, __version__
from ssdlab.cell.pool import ProgressHook
from ssdlab.errors import unknown_name
from ssdlab_papers import agcr, autoftl, budget, cell, ofwar, retention, ssdexplorer
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.kept import load
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.page import save
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Traces

__all__ = ["EXPERIMENTS", "Entry", "Outcome", "Picture", "Setting", "Table", "load", "run", "save", "summaries"]

#: Experiments by name.
EXPERIMENTS: dict[str, Callable[[Setting], Iterator[Entry | Picture | Table]]] = {
    "cell": cell.experiment,
    "ofwar": ofwar.experiment,
    "retention": retention.experiment,
    "agcr": agcr.experiment,
    "autoftl": autoftl.experiment,
    "ssdexplorer": ssdexplorer.experiment,
    "budget": budget.experiment,
}


def summaries() -> dict[str, str]:
    """Returns the one-line description of each experiment, by name: the first line of its docstring."""
    return {name: (each.__doc__ or "").split("\n", 1)[0].rstrip(".") for name, each in EXPERIMENTS.items()}


def run(
    name: str,
    quick: bool = False,
    traces: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
    runs: str | PathLike[str] | None = None,
    full: bool = False,
) -> Outcome:
    """Runs an experiment.

    Args:
        name: Name of the experiment.
        quick: Draw fewer samples and measure less where the full size takes minutes.
        traces: Folder that is searched by name for the traces of the works. For a trace that is not found, its
            look-alike is run.
        progress: Called with the share of the current part that is done, and a line of text.
        runs: Folder in which the sweeps of an experiment are kept, so that an interrupted one goes on.
        full: Run all seeds, search for the regions in which claims hold, and examine what is assumed.

    Raises:
        InputError: there is no experiment of this name or no such folder, or a file in it cannot be read.
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, [*EXPERIMENTS])
    kept = None if runs is None else Path(runs)
    if kept is not None:
        if not kept.parent.is_dir() or (kept.exists() and not kept.is_dir()):
            raise InputError(f"--runs: {kept}: expected a folder, or the name of a new one in a folder that exists")
        kept.mkdir(exist_ok=True)
    setting = Setting(quick=quick, full=full, traces=Traces(traces), progress=progress, runs=kept)
    found = [*EXPERIMENTS[name](setting)]
    return Outcome(
        name=name,
        summary=summaries()[name],
        quick=quick,
        full=full,
        traces=traces is not None,
        version=__version__,
        entries=tuple(each for each in found if isinstance(each, Entry)),
        pictures=tuple(each for each in found if isinstance(each, Picture)),
        tables=tuple(each for each in found if isinstance(each, Table)),
    )
