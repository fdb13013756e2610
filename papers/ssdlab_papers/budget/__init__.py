"""One budget: the ideas of all works compared on one drive, as no single work could.

The drive has one cell, whose window is shared by erase depth, program step, retention and sensing (POLICIES 1 and 7).
Every policy of the works, the controls, the combinations, `margin` and `clairvoyant` run on it at four stages of wear,
on every load.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ssdlab_papers.budget import results
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]

#: Largest number of seeds: with five, the runs take an hour and a half of processor time, and no work claims anything.
_SEEDS: Final = 3


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """One budget: every policy, control and combination on one drive at four stages of wear, beside clairvoyance."""
    yield from results.entries(replace(setting, most_seeds=_SEEDS))
