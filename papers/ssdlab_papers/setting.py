"""Settings of an experiment: its size, its traces, and the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ssdlab.cell.pool import ProgressHook, share_out
from ssdlab_papers.claim import Claim
from ssdlab_papers.traces import Traces

#: Maximum number of simultaneous runs: each may hold a drive of some hundred megabytes.
_THREADS_MAX = 4

Piece = TypeVar("Piece")
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Settings of an experiment."""

    #: Draw fewer samples and measure less where the full size takes minutes.
    quick: bool = False
    #: All seeds, the regions in which claims hold, and the sensitivity to what is assumed.
    full: bool = False
    #: Source of the traces.
    traces: Traces = field(default_factory=Traces)
    #: Called with the share of the current part that is done, and a line of text.
    progress: ProgressHook | None = None
    #: Folder in which sweeps are kept, so that an interrupted experiment goes on; ``None``: they are not.
    runs: Path | None = None
    #: Id of the only claim that is wanted; empty: all.
    wanted: str = ""
    #: Largest number of seeds, where runs take long.
    most_seeds: int = 5

    def searches(self, claim: Claim) -> bool:
        """True if the region of a claim's value is searched: in the full form, and only that of the wanted claim."""
        return self.full and self.wanted in ("", claim.id)

    @property
    def seeds(self) -> int:
        """Number of seeds of each run. Two give a provisional interval; one gives none."""
        return min(1 if self.quick else 5 if self.full else 2, self.most_seeds)

    def share_out(self, what: str, work: Callable[[Piece], Found], pieces: Sequence[Piece]) -> list[Found]:
        """Returns the results of `work` for the pieces, in the order of the pieces.

        Several threads share the work. The progress line names the pieces by `what`.
        """
        ended: list[Found] = []

        def tell(found: Found) -> None:
            ended.append(found)
            if self.progress is not None:
                self.progress(len(ended) / len(pieces), f"{what}: {len(ended)} of {len(pieces)}")

        return share_out(work, pieces, threads=min(os.cpu_count() or 1, _THREADS_MAX), done=tell)
