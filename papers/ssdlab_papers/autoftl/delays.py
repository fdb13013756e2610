"""Share of the programmed pages whose write waits for the buffer under autoFTL, and would not under the baseline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ssdlab.explore.statistics import estimate
from ssdlab.units import percent
from ssdlab_papers.autoftl.loads import ENTERPRISE, Case, Cases
from ssdlab_papers.autoftl.runs import WORK
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting

#: Largest share that the text gives, with half of its last digit: 0.4 % (src1_2).
_MOST = 0.0045
_POLICIES = ("baseline", "autoftl")


def entries(setting: Setting, used: Cases) -> Iterator[Claim]:
    """Yields what section 5.3 says of delayed pages, on the enterprise loads at the paper's replay speed."""
    chosen = [case for case in used.leading if case.on is ENTERPRISE and case.is_as_stated]
    if not chosen:
        return
    seeds = range(1, setting.seeds + 1)
    pieces = [(case, policy, seed) for case in chosen for policy in _POLICIES for seed in seeds]
    found = dict(zip(pieces, setting.share_out("delayed pages", lambda piece: delayed(*piece), pieces), strict=True))
    more = {case: [found[case, "autoftl", seed] - found[case, "baseline", seed] for seed in seeds] for case in chosen}
    most = estimate([max(several) for several in zip(*more.values(), strict=True)])
    each = ", ".join(f"{case.title} {percent(estimate(several).mean)}" for case, several in more.items())
    yield statement(
        most.mean,
        percent(most.mean),
        work=WORK,
        where="section 5.3",
        what="pages whose write waits for the buffer, beyond those under the baseline, most of the enterprise loads",
        published="0.4 % (src1_2), less than 0.1 % (stg_0)",
        high=_MOST,
        seeds=most.count,
        interval=None if most.low is None or most.high is None else (most.low, most.high),
        load=", ".join(case.title for case in chosen),
        real_trace=chosen[0].load.is_trace,
        note=f"other loads than those of the two numbers: {each}",
    )


def delayed(case: Case, policy: str, seed: int) -> float:
    """Returns the share of the written bytes in writes that wait for space in the buffer."""
    workload = case.load.workload(case.requests, case.speed, replay="gaps", address="wrap")
    run = simulate(case.on.preset, workload, policy, precondition="steady", record_commands=True, seed=seed)
    table = run.command_table()
    assert table is not None, "commands were recorded"
    writes = np.array([op == "write" for op in table.column("op").to_pylist()])
    length = table.column("length").to_numpy()[writes]
    waited = table.column("buffer_full_ns").to_numpy()[writes] > 0
    return float(length[waited].sum() / max(1, length.sum()))
