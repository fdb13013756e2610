"""autoFTL: dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

Each trace is replayed with its recorded gaps (traces of servers a hundred times faster) and repeated until the drive is
worn out. Each claim of the paper is scored against a range around itself. Of its eight traces the mobile ones are not
public; other loads stand beside those that are at hand, and say so. Nothing is tuned to reach a published figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.autoftl import assumed, delays, examples, figures, gaps, model, regions, rules
from ssdlab_papers.autoftl.loads import cases
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AutoFTL's evaluation: tables 2 and 4, figures 3 to 7 and 9 to 12, on its mobile and its enterprise drive."""
    used = cases(setting)
    between = gaps.found(setting, used)
    results = figures.measured(setting, used)
    for each in figures.entries(results):
        yield from regions.with_region(setting, used, each) if isinstance(each, Claim) and each.headline else (each,)
    yield from figures.busy(results, between)
    yield from delays.entries(setting, used)
    yield from examples.entries()
    yield from gaps.entries(between)
    yield from rules.entries(*rules.measured(setting, used))
    yield from model.pictures()
    yield from assumed.entries(setting, used)
