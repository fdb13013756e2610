"""Retention relaxation (Liu, Yang and Wu, FAST 2012): lifetimes of data, faster writes, cheaper codes.

The claims of the slides and of the abstract are scored on volumes and parts of traces of the collections that the work
ran, as none of its eleven traces is at hand whole; other loads stand beside them. The slides give no numbers for single
traces, and no reprogramming overhead. Nothing is tuned to reach a published figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention import assumed, codes, controls, curves, lifetimes, regions, speed, wear, weeks
from ssdlab_papers.retention.runs import WORK
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting

__all__ = ["experiment", "sections"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Retention relaxation: lifetimes of data, faster writes over four weeks, throughput of encoders, by queueing and wear."""  # noqa: W505
    for section in sections(setting).values():
        yield from section()


def sections(setting: Setting) -> Sections:
    """Returns the sections of the experiment."""
    found = cache(lambda: speed.runs(setting))
    return {
        "claims": lambda: regions.with_regions(setting, speed.claims(found()), found().all),
        "reliability": lambda: iter([weeks.reliability_claim(found().weeks)]),
        "codes": lambda: regions.with_encoders(setting, codes.entries(setting)),
        "lifetimes": lambda: lifetimes.entries(setting),
        "curves": curves.entries,
        "speed": lambda: speed.entries(setting, found()),
        "weeks": lambda: weeks.entries(setting, found().weeks),
        "wear": lambda: wear.entries(setting),
        "controls": lambda: controls.entries(found()),
        "assumed": lambda: _trusted(setting, found()) if setting.full else iter(()),
    }


def _trusted(setting: Setting, found: speed.Speeds) -> Iterator[Entry | Picture | Table]:
    """Yields the sensitivity to what is assumed."""
    used = assumed.loads_of(found.all)
    if used:
        trusted = assumed.gain_sensitivity(setting, used)
        yield from trusted.entries(trusted.claim(work=WORK, where="FACTS 2"))
