"""What ``run``, ``compare`` and ``lifetime`` do alike around their simulation."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import typer

from ssdlab.cli.console import complain, remark
from ssdlab.cli.progress import progress_bar
from ssdlab.comparison import Comparison
from ssdlab.errors import Interrupted, NotWrittenError
from ssdlab.lifetimes import Lifetime
from ssdlab.results import Result
from ssdlab.simulate import ProgressHook

#: Starts a named run's progress bar.
Start: TypeAlias = Callable[[str], ProgressHook | None]
Outcome = TypeVar("Outcome", Result, Comparison, Lifetime)


def measured(simulation: Callable[[Start], Outcome], quiet: bool) -> tuple[Outcome, Ending]:
    """What `simulation` gives, with its progress shown meanwhile, and how it ended."""
    try:
        with _answering(quiet), progress_bar(quiet) as start:
            return simulation(start), Ending()
    except Interrupted as stopped:
        return cast(Outcome, stopped.result), Ending(interrupted=True)
    except NotWrittenError as failed:
        return cast(Outcome, failed.result), Ending(not_written=failed)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a simulation ended."""

    #: Ctrl-C cut it short.
    interrupted: bool = False
    #: Files that it was to write meanwhile.
    not_written: NotWrittenError | None = None

    def close(self, what: str) -> None:
        """Ends the command with the exit status for it; `what` an interruption means for the results."""
        if self.not_written is not None:
            for name, error in self.not_written.files:
                complain(f"{name}: {error.strerror}; it was not written, everything else was")
            raise typer.Exit(1)
        if self.interrupted:
            remark(f"interrupted: {what}")
            raise typer.Exit(130)


@contextmanager
def _answering(quiet: bool) -> Iterator[None]:
    """Has Ctrl-C answered at once: the tables of a long run take a while."""

    def answer(*_: object) -> None:
        if not quiet:
            remark("interrupted: ending the run, and gathering what it measured")
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def remark_on(runs: Sequence[Result] | Sequence[Lifetime], notes: Iterable[str]) -> None:
    """Says what the user should know, and how long the runs took."""
    for line in notes:
        remark(line)
    setup, wall = sum(run.setup_s for run in runs), sum(run.wall_s for run in runs)
    remark(f"set up in {setup:.2f} s, ran for {wall:.2f} s")
