"""Work that is shared out among all cores. The engine releases the interpreter, so threads do."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeAlias, TypeVar

Piece = TypeVar("Piece")
Found = TypeVar("Found")

#: Called in the asking thread: the share of the work that is done (``None``: unknown), and what was found so far, in words.
ProgressHook: TypeAlias = Callable[[float | None, str], object]


def share_out(
    work: Callable[[Piece], Found],
    pieces: Sequence[Piece],
    *,
    threads: int | None = None,
    done: Callable[[Found], object] | None = None,
) -> list[Found]:
    """What `work` makes of each piece, in the order of the pieces; `done` hears of each as it ends.

    Ctrl-C drops the pieces that have not begun and waits for those that have.
    """
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        try:
            # Inside as well: there may be so many that they take a while.
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
    """What `work` gives. Ctrl-C is heard meanwhile, though the engine does not stop for it: the work is left to itself."""
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
