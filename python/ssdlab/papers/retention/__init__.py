"""Retention relaxation (Liu, Yang and Wu, FAST 2012): how long data lives, faster writes, cheaper codes.

The published values stand beside ours on the work's own traces, where they are at hand and whole; on other loads only
mechanisms are asserted: the order of the policies, signs, what depends on what (POLICIES 8). The slides give no numbers for
single traces, and no reprogramming overhead: those are shown. Nothing is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab.papers.entry import Entry, Picture, Table
from ssdlab.papers.retention import codes, lifetimes, queueing, wear, weeks
from ssdlab.papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Retention relaxation: lifetimes of data, faster writes over four weeks, throughput of encoders, by queueing and wear."""
    yield from lifetimes.entries(setting)
    yield from weeks.entries(setting)
    yield from queueing.entries(setting)
    yield from codes.entries(setting)
    yield from wear.entries(setting)
