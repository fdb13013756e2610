"""autoFTL: dynamic program and erase scaling (Jeong, Hahn, Lee and Kim, FAST 2014).

Each trace is replayed with its recorded gaps (traces of servers a hundred times faster) and repeated until the drive is
worn out. Each claim of the paper is scored against a range around itself. Of its eight traces the mobile ones are not
public; other loads stand beside those that are at hand, and say so. One constant of the wear is calibrated on one label
of figure 9, that of prxy_0, which is an input; so is what reads the same bound back. Nothing else is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from ssdlab_papers.autoftl import assumed, controls, delays, examples, figures, gaps, ladders, model, regions, rules
from ssdlab_papers.autoftl.loads import Cases, cases
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting

__all__ = ["experiment", "sections"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AutoFTL's evaluation: tables 2 and 4, figures 3 to 7 and 9 to 12, on its mobile and its enterprise drive."""
    for section in sections(setting).values():
        yield from section()


def sections(setting: Setting) -> Sections:
    """Returns the sections of the experiment."""
    used = cache(lambda: cases(setting))
    between = cache(lambda: gaps.gaps_by_case(setting, used()))
    results = cache(lambda: figures.run_results(setting, used()))
    return {
        "figures": lambda: _figures(setting, used(), results()),
        "busy": lambda: figures.busy(results(), between()),
        "delays": lambda: delays.entries(setting, used()),
        "examples": examples.entries,
        "gaps": lambda: gaps.entries(between()),
        "rules": lambda: rules.entries(*rules.run_effects(setting, used())),
        "ladders": lambda: ladders.entries(setting, used()),
        "controls": lambda: controls.entries(setting, results()),
        "model": model.pictures,
        "assumed": lambda: assumed.entries(setting, used()),
    }


def _figures(setting: Setting, used: Cases, results: figures.Results) -> Iterator[Entry | Picture | Table]:
    """Yields the figures, the headlines in the full form with the region in which their value comes out."""
    for each in figures.entries(results):
        yield from regions.with_region_of_case(setting, used, each) if isinstance(each, Claim) and each.headline else (each,)
