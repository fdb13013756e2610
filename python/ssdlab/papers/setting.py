"""How an experiment is run: how much, on which traces, and on how many threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ssdlab.cell.pool import ProgressHook, share_out
from ssdlab.papers.traces import Traces

#: Runs at one time, at most: each may hold a drive of some hundred megabytes.
_THREADS_MAX = 4

Piece = TypeVar("Piece")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How an experiment is run."""

    #: Draw and measure less, where the full size takes minutes.
    quick: bool = False
    #: Where traces are found.
    traces: Traces = field(default_factory=Traces)
    #: Told how far a part of the experiment has come.
    progress: ProgressHook | None = None

    def share_out(self, what: str, work: Callable[[Piece], Found], pieces: Sequence[Piece]) -> list[Found]:
        """What `work` makes of each piece, in the order of the pieces; `what` they are is shown as progress."""
        ended: list[Found] = []

        def tell(found: Found) -> None:
            ended.append(found)
            if self.progress is not None:
                self.progress(len(ended) / len(pieces), f"{what}: {len(ended)} of {len(pieces)}")

        return share_out(work, pieces, threads=min(os.cpu_count() or 1, _THREADS_MAX), done=tell)
