"""SSDExplorer (Zuolo, doctoral thesis, 2012/2015): architectures, queue depth, read retry, LDPC, RRAM, power.

Each experiment is a sweep whose specification lies in ``specs``; a claim is scored against a range around itself
(:mod:`ssdlab_papers.claim`). What was calibrated is listed as an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial

from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer import (
    architectures,
    assumed,
    beyond,
    depth,
    placements,
    power,
    readings,
    regions,
    retry,
    rram,
    soft,
    speed,
    translation,
)

__all__ = ["experiment", "sections"]


#: Headlines of the thesis: the place of each claim, and the beginning of its subject.
_HEADLINES = (
    ("figure 1.7", "SW of the OCZ Vertex"),
    ("section 1.4.1", "largest deviation of a mock-up"),
    ("section 1.5", "time of a simulation with a translation layer"),
    ("figure 2.1", "architectures that saturate SATA II"),
    ("figure 2.1", "resource cost of C6"),
    ("figure 2.2", "PCIe 2.0 x8 with NVMe"),
    ("figure 2.3", "depths that meet"),
    ("figure 2.5", "99.99th percentile at depth 256"),
    ("figure 2.19", "error rate of C1 to C4"),
    ("table 2.8", "100% read, enterprise host, sample C: gain"),
    ("table 2.10", "100% read, enterprise host, sample B: gain"),
    ("section 2.3.2 B", "cases of the MSN mix"),
    ("figure 3.3", "bandwidth with pages"),
    ("figure 3.9", "median of reads"),
    ("figures 3.10, 3.11", "use of the channels"),
    ("figures 3.6, 3.16", "mean latency of single reads"),
    ("figure 4.7", "T1: peak power"),
    ("table 4.2", "T2: mean power"),
    ("table 4.2", "T2: peak power"),
    ("table 4.2", "T3: mean power"),
    ("table 4.2", "T3: peak power"),
)


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """SSDExplorer, chapters 1 to 4: translation, architectures, queue depth, retry, LDPC, RRAM, power, open channel."""
    for section in sections(setting).values():
        yield from section()


def sections(setting: Setting) -> Sections:
    """Returns the sections of the experiment, those of the chapters with the regions of their headlines."""
    ten = cache(lambda: architectures.ten(setting))
    chapters: Sections = {
        "translation": lambda: translation.entries(setting),
        "speed": lambda: speed.entries(setting),
        "architectures": lambda: architectures.entries(setting, ten()),
        "depth": lambda: depth.entries(setting),
        "retry": lambda: retry.entries(setting),
        "soft": lambda: soft.entries(setting),
        "readings": lambda: readings.entries(setting),
        "beyond": lambda: beyond.entries(setting, ten()),
        "rram": lambda: rram.entries(setting),
        "power": lambda: power.entries(setting),
        "placements": lambda: placements.entries(setting),
    }

    def with_regions(section: Callable[[], Iterable[Entry | Picture | Table]]) -> Iterator[Entry | Picture | Table]:
        return regions.with_regions(setting, _with_headlines(section()))

    return {
        **{name: partial(with_regions, section) for name, section in chapters.items()},
        "assumed": lambda: assumed.entries(setting),
    }


def _with_headlines(found: Iterable[Entry | Picture | Table]) -> Iterator[Entry | Picture | Table]:
    """Yields everything, the headlines marked as such."""
    for each in found:
        is_headline = isinstance(each, Claim) and any(
            each.where.startswith(where) and each.what.startswith(what) for where, what in _HEADLINES
        )
        yield replace(each, headline=True) if isinstance(each, Claim) and is_headline else each
