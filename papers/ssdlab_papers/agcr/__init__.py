"""AGCR: access characteristic guided read and write cost regulation (Li, Shi, Xue, Zhuge, Sha; FAST 2016).

The paper ran 12 volumes of MSR Cambridge. Its claims are scored on the volumes, or parts of volumes, that are at hand,
and on look-alikes of them; other loads stand beside them. Nothing is tuned to reach a published figure. The paper
varies neither wear nor age, and its costs depend on neither.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.agcr import costs, figures, shares, why
from ssdlab_papers.agcr.runs import policies
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AGCR's evaluation: table 1, figures 1, 2 and 6 to 9, with its rival, by speed, history and window."""
    cases = policies(setting)
    yield from figures.entries(setting, cases)
    yield from costs.entries()
    yield from shares.entries(setting)
    yield from why.entries(setting, cases)
