"""OFWAR: on-demand fast write and rewrite (Wu and Zhang, IEEE Transactions on Computers 2014).

Each claim of the paper is scored against a range around itself. Of its ten traces only IOzone and Postmark can be had
whole; other loads stand in for traces 1 to 6, and say so. Nothing is tuned to reach a published figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar import assumed, examples, figures, parallelism, power, rules, sweeps, synthetic, wear
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """OFWAR's evaluation: figures 3, 4 and 9 to 20, with controls, by parallelism, speed and wear; power failure."""
    yield from examples.entries()
    yield from figures.entries(setting)
    yield from rules.entries(setting)
    yield from parallelism.entries(setting)
    yield from synthetic.entries(setting)
    yield from sweeps.entries(setting)
    yield from wear.entries(setting)
    yield from power.entries(setting)
    yield from assumed.entries(setting)
