"""Controls: the claims of figures 7 and 8 scored with a scheme of figure 1 in AGCR's place, of the same runs.

None of them regulates costs by the history of a page. What they reproduce does not depend on the paper's idea.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ssdlab_papers.agcr.figures import figure_7, figure_8, is_usual
from ssdlab_papers.agcr.runs import WORK, Case, Cases
from ssdlab_papers.claim import Claim, of_control

__all__ = ["CONTROLS", "entries"]

#: Schemes in AGCR's place, by what they are.
CONTROLS = {
    "a policy that does nothing": "MCW/MCR",
    "a policy that writes at low cost and never again": "LCW/HCR",
    "a policy that writes at high cost": "HCW/LCR",
}


def entries(cases: Cases) -> Iterator[Claim]:
    """Yields for each control how many of the claims it reproduces."""
    usual = cases.where(is_usual)
    for what, scheme in CONTROLS.items():
        yield scored(what, with_control(usual, scheme))


def with_control(cases: Cases, scheme: str) -> Cases:
    """Returns cases with the runs of a scheme in AGCR's place."""

    def turned(case: Case) -> Case:
        return replace(case, samples={**case.samples, "AGCR": case.samples[scheme]})

    return Cases(tuple(map(turned, cases.real)), tuple(map(turned, cases.alike)))


def scored(what: str, cases: Cases) -> Claim:
    """Returns how many claims these cases reproduce."""
    return of_control(
        (*figure_7(cases, ""), *figure_8(cases, "")),
        work=WORK,
        where="section 4.2",
        what=f"claims of figures 7 and 8 that {what} reproduces",
        load=cases.text,
        real_trace=bool(cases.real),
    )
