"""Retention relaxation (Liu, Yang and Wu, FAST 2012): lifetimes of data, faster writes, cheaper codes.

Published values are asserted only on the work's own traces, if they are available and whole. On other loads only
mechanisms are asserted: the order of the policies, signs, and dependences (POLICIES 8). The slides give no numbers for
single traces, which are compared with the published range of all of them, and no reprogramming overhead, which is only
shown. Nothing is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention import codes, lifetimes, queueing, wear, weeks
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Retention relaxation: lifetimes of data, faster writes over four weeks, throughput of encoders, by queueing and wear."""  # noqa: W505
    yield from lifetimes.entries(setting)
    yield from weeks.entries(setting)
    yield from queueing.entries(setting)
    yield from codes.entries(setting)
    yield from wear.entries(setting)
