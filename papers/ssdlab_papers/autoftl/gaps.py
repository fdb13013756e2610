"""Table 4: gaps between writes over ``T_effective``, the program time over the number of dies that program at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ssdlab import Workload
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab.traces import gaps
from ssdlab.units import percent
from ssdlab_papers.autoftl.loads import ENTERPRISE, MOBILE, Case, Cases
from ssdlab_papers.autoftl.runs import WORK
from ssdlab_papers.claim import Claim, interval_of, statement, untestable
from ssdlab_papers.entry import Table
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting

#: Names of the table's bins [multiples of T_effective].
BINS: Final = ("up to 1", "1 to 2", "above 2")
#: Requests of a look-alike that are analysed: a share is then known to a third of a percentage point.
_REQUESTS = 20_000
#: A share that a table in whole percent shows as none.
_NONE = 0.005
#: Idle time after which background collection begins, and the time that almost all gaps of prxy_0 do not reach [ns]
#: (section 5.3).
_IDLE_NS, _SHORT_NS = 300e6, 10e6
#: Smallest share that counts as almost all, for which the paper gives no number [A].
_ALMOST_ALL = 0.95


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps between the writes of a case with one seed."""

    #: Shares of the bins of table 4.
    bins: tuple[float, ...]
    #: Share of gaps shorter than 10 ms, and of those after which background collection begins.
    short: float
    idle: float


def gaps_of(case: Case, seed: int) -> Gaps:
    """Returns the shares of a load's gaps between writes; a trace has the same with every seed."""
    if case.load.is_trace:
        source = Workload(case.load.path, time_scale=case.speed)
        found = gaps(source, effective=f"{case.on.effective_ns}ns")
        bins = tuple(float(one.share or 0.0) for one in found.bins)
        within = [float(gaps(source, effective=f"{limit}ns").bins[0].share or 0.0) for limit in (_SHORT_NS, _IDLE_NS)]
        return Gaps(bins, within[0], 1.0 - within[1])
    # A look-alike is no file of requests: its writes are taken as they arrive in open-loop replay.
    arriving = case.load.workload(_REQUESTS, case.speed, address="wrap")
    table = simulate(case.on.preset, arriving, "baseline", precondition="none", record_commands=True, seed=seed).command_table()
    assert table is not None, "commands were recorded"
    writes = np.array([op == "write" for op in table.column("op").to_pylist()])
    return _of(np.diff(np.sort(table.column("submitted_ns").to_numpy()[writes])), case.on.effective_ns)


def _of(between_ns: NDArray[np.int64], effective_ns: float) -> Gaps:
    between = between_ns / effective_ns
    below, above = float(np.mean(between <= 1)), float(np.mean(between > 2))
    short, within = (float(np.mean(between_ns <= limit)) for limit in (_SHORT_NS, _IDLE_NS))
    return Gaps((below, 1.0 - below - above, above), short, 1.0 - within)


#: Gaps of a case by seed.
Found = dict[Case, list[Gaps]]


def gaps_by_case(setting: Setting, used: Cases) -> Found:
    """Returns the gaps of every case; those of a look-alike with every seed."""
    pieces = [(case, seed) for case in used.all for seed in range(1, 2 if case.load.is_trace else setting.seeds + 1)]
    results = setting.share_out("gaps", lambda piece: gaps_of(*piece), pieces)
    by_case: Found = {}
    for (case, _), each in zip(pieces, results, strict=True):
        by_case.setdefault(case, []).append(each)
    return by_case


def entries(by_case: Found) -> Iterator[Claim | Table]:
    """Yields what the text says of the gaps, and the shares of every load."""
    mobile = _chosen(by_case, lambda case: case.on is MOBILE)
    if mobile:
        yield _worded_claim(
            by_case, mobile, lambda each: each.bins[2], min, percent,
            what="gaps between writes above 2 T_effective, least of the mobile loads",
            published="more than 50 %",
            low=0.5,
        )  # fmt: skip
        yield _worded_claim(
            by_case, mobile, lambda each: each.bins[1], max, percent,
            what="gaps between writes from 1 to 2 T_effective, most of the mobile loads",
            published="none",
            high=_NONE,
            note="other phones and other programs than the paper's: a gap of 0.65 to 1.3 ms is common on each of them",
        )  # fmt: skip
    for name in ("proj_0", "src1_2"):
        yield from _busy(by_case, name)
    prxy = _chosen(by_case, lambda case: case.load.name == "prxy_0")
    if prxy:
        common = {"where": "section 5.3", "note": prxy[0].load.note}
        yield _worded_claim(
            by_case, prxy, lambda each: each.short, fmean, percent,
            what="gaps between writes of prxy_0 up to 10 ms",
            published="almost all",
            low=_ALMOST_ALL,
            **{**common, "note": "; ".join(filter(None, (prxy[0].load.note, "95 % counts as almost all [A]")))},
        )  # fmt: skip
        yield _worded_claim(
            by_case, prxy, lambda each: each.idle, fmean, percent,
            what="gaps between writes of prxy_0 after which background collection begins (300 ms)",
            published="not invoked at all",
            high=0.0,
            **common,
        )  # fmt: skip
    yield untestable(
        work=WORK,
        where="table 4",
        what="shares of the gaps of every trace",
        published="24 numbers",
        note="the table is lost; what the text says of it is scored above",
    )
    yield untestable(
        work=WORK,
        where="section 5.2",
        what="peak throughput of src1_2, 100 times as fast as recorded, over that of the drive",
        published="it consumes the maximum write throughput",
        note="the trace is not at hand (ssdlab paper --traces DIR)"
        if not _chosen(by_case, lambda case: case.load.name == "src1_2")
        else "no number is given, nor the time over which a peak is taken; the share of its gaps up to T_effective is above",
    )
    yield Table(
        name="autoftl-gaps",
        title=f"Table 4: shares of gaps between writes, over T_effective ({ENTERPRISE.effective_ns / 1000:.0f} us and "
        f"{MOBILE.effective_ns / 1000:.0f} us)",
        columns=("load", "drive", *BINS, "up to 10 ms", "300 ms and more"),
        rows=[
            [
                case.title, case.on.name, *(fmean(each.bins[at] for each in several) for at in range(3)),
                fmean(each.short for each in several), fmean(each.idle for each in several),
            ]
            for case, several in by_case.items()
        ],
    )  # fmt: skip


def below(by_case: Found, case: Case) -> float:
    """Returns the share of a case's gaps up to T_effective."""
    return fmean(each.bins[0] for each in by_case[case])


def _chosen(by_case: Found, condition: Callable[[Case], bool]) -> list[Case]:
    """Returns the cases on real traces for which a condition holds, at the stated speed, or else on look-alikes."""
    chosen = [case for case in by_case if condition(case) and case.is_as_stated]
    return [case for case in chosen if case.load.is_trace] or chosen


def _busy(by_case: Found, name: str) -> Iterator[Claim]:
    """Yields what the text says of the two busiest traces, if one is at hand."""
    cases = _chosen(by_case, lambda case: case.load.name == name)
    if cases:
        yield _worded_claim(
            by_case, cases, lambda each: each.bins[0], fmean, percent,
            what=f"gaps between writes of {name} up to T_effective",
            published="more than 40 %",
            low=0.4,
            note=cases[0].load.note,
        )  # fmt: skip


def _worded_claim(
    by_case: Found,
    cases: Sequence[Case],
    quantity: Callable[[Gaps], float],
    of: Callable[[list[float]], float],
    unit: Callable[[float], str],
    *,
    note: str = "",
    where: str = "table 4",
    **further: object,
) -> Claim:
    """Returns a claim in words on the gaps of several cases."""
    lead = _over(by_case, cases, quantity, of)
    each = ", ".join(f"{case.title} {unit(fmean(map(quantity, by_case[case])))}" for case in cases)
    is_real = cases[0].load.is_trace
    return statement(
        lead.mean,
        unit(lead.mean),
        work=WORK,
        where=where,
        load=", ".join(case.title for case in cases),
        real_trace=is_real,
        seeds=0 if is_real else lead.count,
        interval=interval_of(lead),
        note="; ".join(filter(None, (note, each if len(cases) > 1 else ""))),
        **further,  # type: ignore[arg-type]
    )


def _over(
    by_case: Found, cases: Sequence[Case], quantity: Callable[[Gaps], float], of: Callable[[list[float]], float]
) -> Estimate:
    seeds = min(len(by_case[case]) for case in cases)
    return estimate([of([quantity(by_case[case][at]) for case in cases]) for at in range(seeds)])
