"""Writes a burst fast, and rewrites it at normal speed once the drive is idle: a small relative of ``ofwar``.

ssdlab run tiny examples/randwrite.fio --policy examples/policies/burst_fast.py:BurstFast
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import ssdlab
from ssdlab.policy import Dispatch, Idle, Mode, Placed, View


class BurstFast(ssdlab.Policy):
    """Fast writes while more than `threshold` pages wait."""

    #: Fast data has a write frontier of its own: stream 1.
    host_streams = 2
    #: A die that has been idle for so long is given something to rewrite.
    idle_after = "1ms"

    def __init__(self, threshold: int = 8) -> None:
        self.threshold = threshold

    def setup(self) -> None:
        """A run begins: what was fast in an earlier one is forgotten."""
        self.fast: deque[tuple[int, int]] = deque()
        self.fast_pages = self.rewritten = 0

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """A host write is dispatched."""
        if view.queued_write_pages <= self.threshold:
            return "normal"
        self.fast_pages += len(dispatch.units)
        return "fast", 1

    def placed(self, placed: Placed, view: View) -> None:
        """Data has found its place: what is fast there is to be rewritten."""
        if placed.mode == "fast":
            self.fast.append((placed.lpn, placed.ppn))

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        """A die has nothing to do: the oldest page that is still where it was written fast is rewritten."""
        while self.fast:
            lpn, ppn = self.fast.popleft()
            if view.place_of(lpn) == ppn:
                self.rewritten += 1
                return ssdlab.PageMove(lpn, ppn, "normal")
        return None

    def stats(self) -> Mapping[str, float]:
        """Its numbers in the results."""
        return {"fast_pages": self.fast_pages, "rewritten_pages": self.rewritten, "entries": len(self.fast)}
