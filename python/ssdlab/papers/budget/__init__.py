"""One budget: what no single work could show.

One drive, one cell: erase depth, program steps, retention and sensing share its window (POLICIES 1 and 7). Every policy of the
works, the controls, combinations, `margin` and `clairvoyant` run on it at four stages of wear, on every load.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab.papers.budget import results
from ssdlab.papers.entry import Entry, Picture, Table
from ssdlab.papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """One budget: every policy, control and combination on one drive at four stages of wear, beside clairvoyance."""
    yield from results.entries(setting)
