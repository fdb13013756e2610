"""Common parts of ``run``, ``compare`` and ``lifetime`` around their simulation."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from ssdlab.cli.console import remark
from ssdlab.cli.keeping import Ending
from ssdlab.cli.progress import progress_bar
from ssdlab.errors import Interrupted, NotWrittenError
from ssdlab.runs import ProgressHook

if TYPE_CHECKING:
    from ssdlab.comparison import Comparison
    from ssdlab.lifetimes import Lifetime
    from ssdlab.presentation import Result

    Outcome = TypeVar("Outcome", Result, Comparison, Lifetime)

#: Function that starts the progress bar of a named run.
Start: TypeAlias = Callable[[str], ProgressHook | None]


def outcome_of(simulation: Callable[[Start], Outcome], quiet: bool) -> tuple[Outcome, Ending]:
    """Runs `simulation` with its progress shown. Returns its outcome, partial if interrupted, and how it ended."""
    try:
        with answering(quiet), progress_bar(quiet) as start:
            return simulation(start), Ending()
    except Interrupted as stopped:
        return cast("Outcome", stopped.result), Ending(interrupted=True, not_written=stopped.files)
    except NotWrittenError as failed:
        return cast("Outcome", failed.result), Ending(not_written=failed.files)


@contextmanager
def answering(quiet: bool) -> Iterator[None]:
    """Acknowledges signals that end the run at once: gathering the results of a long run takes a while."""
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # A signal with the system's handler, such as SIGTERM unless the entry point has replaced it, ends the process at
    # once and cannot be acknowledged.
    before = {number: handler for number, handler in found.items() if callable(handler)}
    answered = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal answered
        if not quiet and not answered:
            remark("interrupted: ending the run, and gathering what it measured")
        answered = True
        before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, answer)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def remark_on(runs: Sequence[Result] | Sequence[Lifetime], notes: Iterable[str]) -> None:
    """Prints notes for the user, and the wall-clock time of the runs."""
    for line in notes:
        remark(line)
    setup, wall = sum(run.setup_s for run in runs), sum(run.wall_s for run in runs)
    remark(f"set up in {setup:.2f} s, ran for {wall:.2f} s")
