"""Work distributed over all cores, with threads: the engine releases the interpreter while it works."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
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

    `done` is called with each result as soon as it is there, in the calling thread. Ctrl-C drops the pieces that have
    not begun, and waits for those that have.
    """
    count = threads or os.cpu_count() or 1
    found: dict[int, Found] = {}
    waiting = enumerate(pieces)
    with ThreadPoolExecutor(count) as pool:
        try:
            # Few pieces wait at a time: there may be millions, and an interruption finds none being submitted.
            running = {pool.submit(work, piece): index for index, piece in islice(waiting, 2 * count)}
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    index = running.pop(future)
                    found[index] = future.result()
                    running |= {pool.submit(work, piece): index for index, piece in islice(waiting, 1)}
                    if done is not None:
                        done(found[index])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[index] for index in range(len(found))]
