"""SSDExplorer (Zuolo, doctoral thesis, 2012/2015): architectures, queue depth, read retry, LDPC, RRAM, power.

Each experiment is a sweep whose specification lies in ``specs``; a claim is scored against a range around itself
(:mod:`ssdlab_papers.claim`). What was calibrated is listed as an input.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer import architectures, beyond, depth, placements, power, retry, rram, soft, speed, translation

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """SSDExplorer, chapters 1 to 4: translation, architectures, queue depth, retry, LDPC, RRAM, power, open channel."""
    yield from translation.entries(setting)
    yield from speed.entries(setting)
    ten = architectures.ten(setting)
    yield from architectures.entries(setting, ten)
    yield from depth.entries(setting)
    yield from retry.entries(setting)
    yield from soft.entries(setting)
    yield from beyond.entries(setting, ten)
    yield from rram.entries(setting)
    yield from power.entries(setting)
    yield from placements.entries(setting)
