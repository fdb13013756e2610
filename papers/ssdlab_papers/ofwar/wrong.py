"""Policies that stand in OFWAR's place as controls: one is wrong on purpose, the other is OFWAR turned round.

A claim of the paper that they bear out says nothing of OFWAR.
"""

from __future__ import annotations

from collections import deque

import ssdlab
from ssdlab.policy import Dispatch, Idle, Mode, Placed, View


class _Rewriting(ssdlab.Policy):
    """Rewrites at normal speed, in idle time, the pages that a control has listed, oldest first."""

    idle_after = "0ns"

    def setup(self) -> None:
        """Starts a run, and forgets the pages of an earlier one."""
        self.listed: deque[tuple[int, int]] = deque()

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        """Returns the oldest listed page that is still where it was written, for an idle die to rewrite."""
        while self.listed:
            lpn, ppn = self.listed.popleft()
            if view.place_of(lpn) == ppn:
                return ssdlab.PageMove(lpn, ppn, "normal")
        return None


class RewriteForNothing(_Rewriting):
    """Writes at normal speed alone, and rewrites each page once in idle time: work without any gain."""

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the normal mode."""
        return "normal"

    def placed(self, placed: Placed, view: View) -> None:
        """Lists a page of the host."""
        if placed.reason == "host":
            self.listed.append((placed.lpn, placed.ppn))


class FastWhenIdle(_Rewriting):
    """Fast writes while at most `threshold` pages wait, each rewritten in idle time; normal ones in a burst."""

    host_streams = 2

    def __init__(self, threshold: int = 128) -> None:
        self.threshold = threshold

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the write mode of a host write; fast data goes to stream 1."""
        return ("fast", 1) if view.queued_write_pages <= self.threshold else "normal"

    def placed(self, placed: Placed, view: View) -> None:
        """Lists a page that was written fast."""
        if placed.mode == "fast":
            self.listed.append((placed.lpn, placed.ppn))
