"""Writes bursts fast and rewrites them at normal speed once the drive is idle: a simplified ``ofwar``.

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
    #: Idle time of a die after which it is given a page to rewrite.
    idle_after = "1ms"

    def __init__(self, threshold: int = 8) -> None:
        self.threshold = threshold

    def setup(self) -> None:
        """Starts a run, and forgets the fast pages of an earlier one."""
        self.fast: deque[tuple[int, int]] = deque()
        self.fast_pages = self.rewritten = 0

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the write mode of a host write; fast data goes to stream 1."""
        if view.queued_write_pages <= self.threshold:
            return "normal"
        self.fast_pages += len(dispatch.units)
        return "fast", 1

    def placed(self, placed: Placed, view: View) -> None:
        """Records a page that was written fast and must be rewritten."""
        if placed.mode == "fast":
            self.fast.append((placed.lpn, placed.ppn))

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        """Returns the oldest page that is still where it was written fast, for an idle die to rewrite."""
        while self.fast:
            lpn, ppn = self.fast.popleft()
            if view.place_of(lpn) == ppn:
                self.rewritten += 1
                return ssdlab.PageMove(lpn, ppn, "normal")
        return None

    def stats(self) -> Mapping[str, float]:
        """Returns the policy's numbers for the results."""
        return {"fast_pages": self.fast_pages, "rewritten_pages": self.rewritten, "entries": len(self.fast)}
