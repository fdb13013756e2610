"""Retention relaxation (Liu, Yang and Wu, FAST 2012): lifetimes of data, faster writes, cheaper codes.

The claims of the slides and of the abstract are scored on volumes and parts of traces of the collections that the work
ran, as none of its eleven traces is at hand whole; other loads stand beside them. The slides give no numbers for single
traces, and no reprogramming overhead. Nothing is tuned to reach a published figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention import assumed, codes, curves, lifetimes, regions, speed, wear, weeks
from ssdlab_papers.retention.runs import WORK
from ssdlab_papers.setting import Setting

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Retention relaxation: lifetimes of data, faster writes over four weeks, throughput of encoders, by queueing and wear."""  # noqa: W505
    found = speed.runs(setting)
    yield from regions.with_regions(setting, speed.claims(found), found.all)
    yield weeks.reliable(found.weeks)
    yield from regions.with_encoders(setting, codes.entries(setting))
    yield from lifetimes.entries(setting)
    yield from curves.entries()
    yield from speed.entries(setting, found)
    yield from weeks.entries(setting, found.weeks)
    yield from wear.entries(setting)
    used = assumed.loads_of(found.all)
    if setting.full and used:
        trusted = assumed.of_gain(setting, used)
        yield trusted.claim(work=WORK, where="FACTS 2")
        yield from (trusted.picture(), trusted.table())
