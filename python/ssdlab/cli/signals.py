"""Ctrl-C and SIGTERM, as batch schedulers send it: both end a command cleanly, with what it has."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit status of a command that was interrupted, before :func:`exit_status` puts that of the signal in its place.
INTERRUPTED = 130


class Terminated(KeyboardInterrupt):
    """SIGTERM came."""


#: The signals that were heard since :func:`installed`, the first of which ended the command.
_heard: list[int] = []


@contextmanager
def installed() -> Iterator[None]:
    """Hears both signals until the block ends. Only for the entry point: whoever uses the library has handlers of their own."""
    _heard.clear()
    # A shell may start its background jobs with Ctrl-C ignored; a run must end cleanly all the same.
    signal.signal(signal.SIGINT, _interrupt)
    # An ignored SIGTERM stays ignored: whoever started the command wants that.
    terminates = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if terminates:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        # All is written: what remains may be cut short.
        if terminates:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    signal.default_int_handler(number, frame)


def _terminate(number: int, _: FrameType | None) -> None:
    """Ends the command at the first signal. Schedulers send SIGTERM twice, or after an interrupt, while it writes its results."""
    _heard.append(number)
    if len(_heard) == 1:
        raise Terminated


def exit_status(status: str | int | None) -> str | int | None:
    """The exit status of a command, with that of the signal in place of :data:`INTERRUPTED`."""
    return 128 + _heard[0] if status == INTERRUPTED and _heard else status
