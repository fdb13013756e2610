"""Reproductions of published experiments: each published value beside the value measured here.

Each experiment is a module or a package, with one line in :data:`EXPERIMENTS`. It yields its entries as it measures
them, with the pictures and tables that belong to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from ssdlab import InputError, __version__
from ssdlab.cell.pool import ProgressHook
from ssdlab.errors import unknown_name
from ssdlab_papers import agcr, autoftl, budget, cell, ofwar, retention, ssdexplorer
from ssdlab_papers.address import Address, known
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.kept import load
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.page import save
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Traces

__all__ = [
    "EXPERIMENTS",
    "SECTIONS",
    "Address",
    "Claim",
    "Entry",
    "Outcome",
    "Picture",
    "Setting",
    "Table",
    "claims",
    "load",
    "run",
    "run_claim",
    "save",
    "summaries",
]

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

#: Sections of the experiments that have claims, by the name of the experiment.
SECTIONS: dict[str, Callable[[Setting], Sections]] = {
    "cell": cell.sections,
    "ofwar": ofwar.sections,
    "retention": retention.sections,
    "agcr": agcr.sections,
    "autoftl": autoftl.sections,
    "ssdexplorer": ssdexplorer.sections,
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
    setting = Setting(quick=quick, full=full, traces=Traces(traces), progress=progress, runs=_kept(runs))
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


def claims() -> list[Address]:
    """Returns the declared claims of the works, in the order of the experiments."""
    return [*known().values()]


def run_claim(
    name: str,
    quick: bool = False,
    traces: str | PathLike[str] | None = None,
    progress: ProgressHook | None = None,
    runs: str | PathLike[str] | None = None,
    full: bool = False,
) -> Claim:
    """Runs the section of an experiment that tests a claim, up to the claim.

    Args:
        name: Id of the claim.
        quick: As for :func:`run`, and so are `traces`, `progress` and `runs`.
        traces: Folder of the traces of the works.
        progress: Called with the share of the current part that is done, and a line of text.
        runs: Folder in which the sweeps are kept.
        full: Run all seeds, and search for the region in which the claim holds, if it does not at the stated setting.

    Raises:
        InputError: there is no claim of this name, it is not tested in this form, or as for :func:`run`.
    """
    if name not in known():
        near = get_close_matches(name, known(), cutoff=0.5)
        hint = f"; near it are {', '.join(f'`{each}`' for each in near)}" if near else ""
        raise InputError(f"unknown claim `{name}`: expected an id that `ssdlab paper claims` lists{hint}")
    declared = known()[name]
    setting = Setting(quick=quick, full=full, traces=Traces(traces), progress=progress, runs=_kept(runs), wanted=name)
    for each in SECTIONS[declared.experiment](setting)[declared.section]():
        if isinstance(each, Claim) and each.id == name:
            return each
    form = "--quick" if quick else "--full" if full else "the usual form"
    with_traces = "" if traces is None else " on these traces"
    raise InputError(
        f"claim `{name}`: {form} does not test it{with_traces}: expected "
        f"{'--full' if quick else '--full or --quick'}, or --traces DIR with the traces of the work"
    )


def _kept(runs: str | PathLike[str] | None) -> Path | None:
    """Returns the folder of kept runs, which is made if it is new."""
    if runs is None:
        return None
    kept = Path(runs)
    if not kept.parent.is_dir() or (kept.exists() and not kept.is_dir()):
        raise InputError(f"--runs: {kept}: expected a folder, or the name of a new one in a folder that exists")
    kept.mkdir(exist_ok=True)
    return kept
