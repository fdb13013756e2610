"""Published experiments: our value beside the published one.

One module for each experiment, one line here. An experiment yields its entries as it measures them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ssdlab.errors import unknown_name
from ssdlab.papers import cell
from ssdlab.papers.entry import Entry

__all__ = ["EXPERIMENTS", "Entry", "run", "summary"]

#: Each experiment by its name.
EXPERIMENTS: dict[str, Callable[[bool], Iterator[Entry]]] = {
    "cell": cell.experiment,
}


def summary(name: str) -> str:
    """What an experiment is, in one line."""
    text = EXPERIMENTS[name].__doc__ or ""
    return text.split("\n", 1)[0].rstrip(".")


def run(name: str, quick: bool = False) -> Iterator[Entry]:
    """Runs an experiment; `quick` draws and measures less where the full size takes minutes.

    Raises:
        InputError: no experiment of this name.
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, [*EXPERIMENTS])
    return EXPERIMENTS[name](quick)
