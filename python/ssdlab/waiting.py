"""Waits that a signal ends at once, whenever it arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

#: Time between two looks at the signals [s]. A signal that arrives just before a blocking call does not end that call.
SIGNALS_EVERY = 0.05


def interruptible(work: Callable[[], Found]) -> Found:
    """Returns the result of `work`, done in a thread. Ctrl-C ends the wait at once; the work goes on unattended."""
    found: list[Found] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(SIGNALS_EVERY)
    if failed:
        raise failed[0]
    return found[0]
