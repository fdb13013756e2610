"""Published experiments: the contract between ``ssdlab paper`` and the package that holds them.

The experiments are a distribution of their own, ``ssdlab-papers`` (``papers/`` in a clone). ssdlab runs without it, and
finds it by an entry point of the group :data:`GROUP`, which names an object with the functions of :class:`Experiments`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from ssdlab.cell.pool import ProgressHook
from ssdlab.errors import InputError

__all__ = ["GROUP", "Address", "Claim", "Entry", "Experiments", "Outcome", "find"]

#: Group of the entry point that names the experiments.
GROUP = "ssdlab.papers"


class Entry(Protocol):
    """A published value beside the measured one, as text."""

    @property
    def work(self) -> str:
        """The source work."""

    @property
    def where(self) -> str:
        """Place of the value in the work."""

    @property
    def what(self) -> str:
        """The measured quantity."""

    @property
    def published(self) -> str:
        """The published value."""

    @property
    def standing(self) -> str:
        """Standing of the published value: ``stated``, ``found``, ``derived``, ``recalled``, ``assumed``."""

    @property
    def shown(self) -> str:
        """The measured value."""

    @property
    def accepted(self) -> str:
        """Range in which the measured value is accepted; empty if nothing is asserted."""

    @property
    def verdict(self) -> str:
        """Of a value ``met``, ``missed`` or ``shown``; of a claim ``reproduced``, ``differs``, ..."""

    @property
    def note(self) -> str:
        """Remark that the reader needs to interpret the entry; may be empty."""


class Claim(Entry, Protocol):
    """A published claim beside the measured value."""

    @property
    def id(self) -> str:
        """Address of the claim."""

    @property
    def sentence(self) -> str:
        """One sentence on what was found."""

    @property
    def condition(self) -> str:
        """Condition without which the claim would not hold; may be empty."""

    @property
    def region(self) -> str:
        """Region in which the published value comes out; may be empty."""

    @property
    def seeds(self) -> int:
        """Number of seeds behind the measured value; 0: nothing in it is drawn."""

    def as_json(self) -> dict[str, Any]:
        """Returns the claim as a JSON object."""


class Address(Protocol):
    """A claim that can be run alone."""

    @property
    def id(self) -> str:
        """Address of the claim."""

    @property
    def experiment(self) -> str:
        """The experiment that tests it."""

    @property
    def work(self) -> str:
        """The source work."""

    @property
    def where(self) -> str:
        """Place of the claim in the work."""

    @property
    def claim(self) -> str:
        """The quantity."""

    @property
    def seconds(self) -> int:
        """Time that it takes in the quick form, about [s]."""


class Outcome(Protocol):
    """Outcome of an experiment. Iterating over it yields its entries."""

    def __iter__(self) -> Iterator[Entry]: ...

    @property
    def name(self) -> str:
        """Name of the experiment."""

    @property
    def pictures(self) -> Sequence[object]:
        """Charts that belong to the entries."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of entries by verdict."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes of the entries without duplicates, in the order of first use."""

    def as_json(self) -> dict[str, Any]:
        """Returns the outcome as a JSON object."""


class Experiments(Protocol):
    """A package of published experiments."""

    def summaries(self) -> Mapping[str, str]:
        """Returns the one-line description of each experiment, by name, in the order in which they are listed."""

    def run(
        self, name: str, quick: bool, traces: Path | None, progress: ProgressHook | None, runs: Path | None, full: bool
    ) -> Outcome:
        """Runs an experiment.

        Args:
            name: Name of the experiment.
            quick: Draw fewer samples and measure less where the full size takes minutes.
            traces: Folder of the user's traces.
            progress: Called with the share of the current part that is done, and a line of text.
            runs: Folder in which the sweeps of an experiment are kept, so that an interrupted one goes on.
            full: Run all seeds, search for the regions in which claims hold, and examine what is assumed.

        Raises:
            InputError: there is no such folder (raised before anything runs), or a file in it cannot be read.
        """

    def claims(self) -> Sequence[Address]:
        """Returns the claims that can be run alone."""

    def run_claim(
        self, name: str, quick: bool, traces: Path | None, progress: ProgressHook | None, runs: Path | None, full: bool
    ) -> Claim:
        """Runs the part of an experiment that tests a claim.

        The arguments are those of :meth:`run`; `name` is the id of the claim.

        Raises:
            InputError: there is no such claim, this form does not test it, or as for :meth:`run`.
        """

    def load(self, folder: Path) -> Sequence[Outcome]:
        """Returns the outcomes of a folder that :meth:`save` wrote.

        Raises:
            InputError: it cannot be read back.
        """

    def save(self, outcomes: Sequence[Any], folder: Path, *, force: bool) -> Path:
        """Writes outcomes of :meth:`run` to a folder, with a results page.

        Raises:
            InputError: the folder cannot be created or replaced.
        """


def find() -> Experiments:
    """Returns the installed experiments.

    Raises:
        InputError: none are installed, or several packages provide them.
    """
    found = entry_points(group=GROUP)
    if not found:
        raise InputError(
            "the published experiments are not installed: expected the package `ssdlab-papers` "
            "(in a clone of ssdlab: pip install ./papers)"
        )
    if len(found) > 1:
        raise InputError(f"several packages provide published experiments: {', '.join(sorted(each.value for each in found))}")
    (only,) = found
    experiments: Experiments = only.load()
    return experiments
