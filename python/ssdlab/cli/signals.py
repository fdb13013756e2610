"""Ctrl-C and SIGTERM, which batch schedulers send: both end a command cleanly, with the results so far."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ssdlab.cli.statuses import INTERRUPTED


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM."""


#: Signals received since :func:`installed`; the first of them ended the command.
_heard: list[int] = []


@contextmanager
def installed() -> Iterator[None]:
    """Handles both signals until the block ends. For the entry point only: users of the library have their own."""
    _heard.clear()
    # A shell may start background jobs with Ctrl-C ignored; an interrupted run must end cleanly all the same.
    signal.signal(signal.SIGINT, _interrupt)
    # An ignored SIGTERM remains ignored, as the parent process requested.
    terminates = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if terminates:
        signal.signal(signal.SIGTERM, _terminate)
    report = sys.unraisablehook
    sys.unraisablehook = _unraisable
    try:
        yield
    finally:
        sys.unraisablehook = report
        # All results are written: from here on the process may be killed.
        if terminates:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _is_in_hook(frame):
        _repeat(number)
        return
    _heard.append(number)
    signal.default_int_handler(number, frame)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Ends the command at the first signal, not at later ones.

    Schedulers send SIGTERM twice, or after an interrupt, while the command writes its results.
    """
    if _is_in_hook(frame):
        _repeat(number)
        return
    _heard.append(number)
    if len(_heard) == 1:
        raise Terminated


def _unraisable(error: sys.UnraisableHookArgs) -> None:
    """Repeats a signal whose exception Python dropped: one in a destructor or in the callback of a weak reference."""
    if error.exc_type is not None and issubclass(error.exc_type, KeyboardInterrupt):
        _repeat(_heard.pop())
    else:
        sys.__unraisablehook__(error)


def _repeat(number: int) -> None:
    """Sends the process a signal a little later: at once, it would be raised in the hook and be dropped, too.

    A plain thread, since the handler may have interrupted one of ``threading``'s own functions while it holds a lock.
    """

    def later() -> None:
        time.sleep(0.001)
        os.kill(os.getpid(), number)

    _thread.start_new_thread(later, ())


def _is_in_hook(frame: FrameType | None) -> bool:
    """Returns true if the hook for dropped exceptions is being run: what is raised there is dropped."""
    while frame is not None and frame.f_code is not _unraisable.__code__:
        frame = frame.f_back
    return frame is not None


def exit_status(status: str | int | None) -> str | int | None:
    """Returns the exit status of a command, with :data:`INTERRUPTED` replaced by the status of the signal.

    Python ends by SIGINT, whatever the status, once Ctrl-C has ended a text that it executed, such as that of a data
    class that was being imported. It forgets that when it executes another text.
    """
    exec("")
    return 128 + _heard[0] if status == INTERRUPTED and _heard else status
