"""Policies that stand in OFWAR's place as controls: one is wrong on purpose, the other is OFWAR turned round.

A claim of the paper that they bear out says nothing of OFWAR.
"""

from __future__ import annotations

from collections import deque

import ssdlab
from ssdlab.policy import Dispatch, Idle, Mode, Placed, View


class RewriteForNothing(ssdlab.Policy):
    """Writes at normal speed alone, and rewrites each page once in idle time: work without any gain."""

    idle_after = "0ns"

    def setup(self) -> None:
        """Starts a run, and forgets the pages of an earlier one."""
        self.written: deque[tuple[int, int]] = deque()

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the normal mode."""
        return "normal"

    def placed(self, placed: Placed, view: View) -> None:
        """Records a page of the host."""
        if placed.reason == "host":
            self.written.append((placed.lpn, placed.ppn))

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        """Returns the oldest page that is still where the host wrote it, for an idle die to rewrite."""
        while self.written:
            lpn, ppn = self.written.popleft()
            if view.place_of(lpn) == ppn:
                return ssdlab.PageMove(lpn, ppn, "normal")
        return None


class FastWhenIdle(ssdlab.Policy):
    """Fast writes while at most `threshold` pages wait, each rewritten in idle time; normal ones in a burst."""

    host_streams = 2
    idle_after = "0ns"

    def __init__(self, threshold: int = 128) -> None:
        self.threshold = threshold

    def setup(self) -> None:
        """Starts a run, and forgets the fast pages of an earlier one."""
        self.fast: deque[tuple[int, int]] = deque()

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the write mode of a host write; fast data goes to stream 1."""
        return ("fast", 1) if view.queued_write_pages <= self.threshold else "normal"

    def placed(self, placed: Placed, view: View) -> None:
        """Records a page that was written fast and must be rewritten."""
        if placed.mode == "fast":
            self.fast.append((placed.lpn, placed.ppn))

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        """Returns the oldest page that is still where it was written fast, for an idle die to rewrite."""
        while self.fast:
            lpn, ppn = self.fast.popleft()
            if view.place_of(lpn) == ppn:
                return ssdlab.PageMove(lpn, ppn, "normal")
        return None
