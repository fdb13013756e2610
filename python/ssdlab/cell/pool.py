"""Work distributed over all cores, with threads: the engine releases the interpreter while it works."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeAlias, TypeVar

Piece = TypeVar("Piece")
Found = TypeVar("Found")

#: Hook called in the calling thread with the completed share of the work (``None``: unknown) and a text on what was
#: found so far.
ProgressHook: TypeAlias = Callable[[float | None, str], object]


def share_out(
    work: Callable[[Piece], Found],
    pieces: Sequence[Piece],
    *,
    threads: int | None = None,
    done: Callable[[Found], object] | None = None,
) -> list[Found]:
    """Applies `work` to each piece and returns the results in the order of the pieces.

    `done` is called with each result as soon as it is there. Ctrl-C drops the pieces that have not begun and waits for
    those that have.
    """
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        try:
            # Submitted inside `try` as well: with very many pieces this takes a while and may be interrupted.
            futures = [pool.submit(work, piece) for piece in pieces]
            for future in as_completed(futures):
                found = future.result()
                if done is not None:
                    done(found)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def interruptible(work: Callable[[], Found]) -> Found:
    """Returns the result of `work`. Ctrl-C interrupts the wait at once; the engine's work goes on unattended."""
    found: list[Found] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
