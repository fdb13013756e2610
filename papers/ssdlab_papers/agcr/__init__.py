"""AGCR: access characteristic guided read and write cost regulation (Li, Shi, Xue, Zhuge, Sha; FAST 2016).

The paper ran 12 volumes of MSR Cambridge. Its claims are scored on the volumes, or parts of volumes, that are at hand,
and on look-alikes of them; other loads stand beside them. Nothing is tuned to reach a published figure. The paper
varies neither wear nor age, and its costs depend on neither.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.agcr import assumed, costs, figures, regions, shares, why
from ssdlab_papers.agcr.runs import Cases, policies
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.regions import settled
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

__all__ = ["experiment"]


def experiment(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """AGCR's evaluation: table 1, figures 1, 2 and 6 to 9, with its rival, by speed, history and window."""
    cases = policies(setting)
    found = regions.maps(setting, _volumes(cases)) if setting.full else None
    for each in figures.entries(setting, cases):
        where = found.region(each) if found is not None and isinstance(each, Claim) else None
        yield each if where is None or not isinstance(each, Claim) else settled(each, where)
    yield from costs.entries()
    yield from shares.entries(setting)
    yield from why.entries(setting, cases)
    if found is not None:
        yield found.together
        for one in found.regions.values():
            yield from one.pictures()
            yield one.table()
        trusted = assumed.of_gain(setting, _volumes(cases))
        yield trusted.claim(work="AGCR", where="FACTS 3")
        yield from (trusted.picture(), trusted.table())


def _volumes(cases: Cases) -> list[Load]:
    """Returns the leading loads of the claims."""
    return [case.load for case in cases.of(figures.is_usual).leading]
