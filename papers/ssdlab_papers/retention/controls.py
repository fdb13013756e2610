"""Controls: the claims on the speed-up and on queueing scored with other runs in the place of the work's policy.

Both take the runs that the claims are scored on. What they reproduce does not depend on the work's idea.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from ssdlab_papers.claim import Claim, of_control
from ssdlab_papers.retention.runs import WORK, Case, Cases
from ssdlab_papers.retention.speed import PAIR, Speeds, claims
from ssdlab_papers.traces import titles

__all__ = ["CONTROLS", "entries"]

_BASE, _WORK = PAIR
#: For each control, whose runs stand in the place of the baseline and of the policy.
CONTROLS: Final[Mapping[str, tuple[str, str]]] = {
    "a policy that does nothing": (_BASE, _BASE),
    "a policy that is as much slower as the work's is faster": (_WORK, _BASE),
}


def entries(found: Speeds) -> Iterator[Claim]:
    """Yields for each control how many of the claims it reproduces."""
    for what, (base, policy) in CONTROLS.items():
        turned = Speeds(_in_place(found.weeks, base, policy), _in_place(found.minutes, base, policy))
        yield of_control(
            claims(turned),
            work=WORK,
            where="Write Response Time Speedup",
            what=f"claims on the write response and on queueing that {what} reproduces",
            load=titles([case.load for case in found.all.leading]),
            real_trace=bool(found.all.real),
        )


def _in_place(cases: Cases, base: str, policy: str) -> Cases:
    """Returns cases with the runs of these policies in the place of the baseline and of the work's policy."""

    def turned(case: Case) -> Case:
        return replace(case, samples={**case.samples, _BASE: case.samples[base], _WORK: case.samples[policy]})

    return Cases(tuple(map(turned, cases.real)), tuple(map(turned, cases.alike)))
