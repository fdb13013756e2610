"""Controls: the claims of figures 9 and 10 scored with another policy in autoFTL's place.

One does nothing, one is wrong on purpose: it writes faster than usual where autoFTL writes more slowly. What they
reproduce does not depend on the paper's idea.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ssdlab_papers.autoftl.figures import Results, headlines, of_loads, of_throughput
from ssdlab_papers.autoftl.runs import PER_PROGRAM, POLICIES, WORK, Both, CaseRuns, lives
from ssdlab_papers.claim import Claim, of_control
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample

__all__ = ["CONTROLS", "entries"]

#: Policies in autoFTL's place, by what they are.
CONTROLS = {
    "a policy that does nothing": "baseline",
    "a policy that writes fast, and erases as ever,": "all_fast",
}


def entries(setting: Setting, results: Results) -> Iterator[Claim]:
    """Yields for each control how many of the claims it reproduces, with one seed and the lives of the quick form."""
    short = replace(setting, quick=True)
    stated = results.stated().leading
    for number, (what, policy) in enumerate(CONTROLS.items(), start=1):
        found = lives(short, f"control-{number}", [(one.case, policy, {}) for one in stated])
        yield scored(what, [in_place(one, sample) for one, sample in zip(stated, found, strict=True)])


def in_place(case: CaseRuns, control: Sample) -> CaseRuns:
    """Returns a case with a control in the place of autoFTL, and the baseline with the control's seeds."""
    base = Sample({seed: case.base.rows[seed] for seed in control.rows})
    return replace(case, base=base, lives=dict.fromkeys((*POLICIES, PER_PROGRAM), control))


def scored(what: str, cases: list[CaseRuns]) -> Claim:
    """Returns how many claims the runs of these cases reproduce."""
    real = all(one.case.load.is_trace for one in cases)
    found = Results(Both(tuple(cases), ()) if real else Both((), tuple(cases)))
    return of_control(
        (*headlines(found), *of_loads(found), *of_throughput(found)),
        work=WORK,
        where="section 5",
        what=f"claims of figures 9 and 10 that {what} reproduces",
        load=found.found.text,
        real_trace=real,
    )
