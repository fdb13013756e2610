"""AGCR: access characteristic guided read and write cost regulation (Li, Shi, Xue, Zhuge, Sha; FAST 2016).

The paper ran 12 volumes of MSR Cambridge. Its claims are scored on the volumes, or parts of volumes, that are at hand,
and on look-alikes of them; other loads stand beside them. Nothing is tuned to reach a published figure. The paper
varies neither wear nor age, and its costs depend on neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from ssdlab_papers.agcr import assumed, controls, costs, figures, idle, ladders, regions, shares, why
from ssdlab_papers.agcr.runs import WORK, Cases, policies
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.regions import claim_with_region
from ssdlab_papers.section import Sections
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

__all__ = ["experiment", "sections"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AGCR's evaluation: table 1, figures 1, 2 and 6 to 9, with its rival, by speed, history and window."""
    for section in sections(setting).values():
        yield from section()


def sections(setting: Setting) -> Sections:
    """Returns the sections of the experiment."""
    cases = cache(lambda: policies(setting))
    found = cache(lambda: regions.maps(setting, _volumes(cases())))
    return {
        "figures": lambda: _figures(setting, cases(), found),
        "ladders": lambda: ladders.entries(setting, cases()),
        "controls": lambda: controls.entries(cases()),
        "costs": costs.entries,
        "shares": lambda: shares.entries(setting),
        "why": lambda: why.entries(setting, cases()),
        "regions": lambda: _regions(setting, cases(), found()) if setting.full else iter(()),
    }


def _figures(setting: Setting, cases: Cases, found: Callable[[], regions.Maps]) -> Iterator[Entry | Picture | Table]:
    """Yields the figures, in the full form each headline with its region, and the rival read against the text."""
    for each in figures.entries(setting, cases):
        where = found().region(each) if isinstance(each, Claim) and setting.searches(each) else None
        yield each if where is None or not isinstance(each, Claim) else claim_with_region(each, where)
    yield from idle.entries(setting, cases)


def _regions(setting: Setting, cases: Cases, found: regions.Maps) -> Iterator[Entry | Picture | Table]:
    """Yields the regions, and the sensitivity to what is assumed."""
    yield found.together
    for one in found.regions.values():
        yield from one.entries()
    trusted = assumed.gain_sensitivity(setting, _volumes(cases))
    yield from trusted.entries(trusted.claim(work=WORK, where="FACTS 3"))


def _volumes(cases: Cases) -> list[Load]:
    """Returns the leading loads of the claims."""
    return [case.load for case in cases.where(figures.is_usual).leading]
