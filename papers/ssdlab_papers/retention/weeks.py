"""Four weeks of each load, the first two left out: what the short guarantee costs in reprogramming."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from ssdlab.traces import trace_info
from ssdlab_papers.claim import Claim, sanity
from ssdlab_papers.entry import Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Found, Loads, shown_claim, worded_claim
from ssdlab_papers.retention.loads import DROPPED, WEEK_NS, WEEKS, is_light, shape, span_ns
from ssdlab_papers.retention.runs import SPEED, WORK, Cases, Gain, Run, found_alone, run_cases, times_text, write_trace
from ssdlab_papers.retention.speed import PAIR, POLICIES, speed_up
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import over_seeds, samples
from ssdlab_papers.traces import Load

_WEEKS = f"over {WEEKS} weeks, of which {DROPPED} are dropped"


def reliability_claim(found: Cases) -> Claim:
    """Returns the claim that no data outlives its guarantee."""
    moved = sum(case.first("rr_speed").number("flash.programs.reprogram") for case in found.leading)
    claim = worded_claim(
        found.find(("rr_speed",), lambda runs: sum(run.misses for (run,) in runs)),
        lambda value: f"{value:,.0f}",
        where="Conclusions",
        what=f"data past its guarantee when it was moved, all loads {_WEEKS}",
        published="none (without hampering reliability)",
        low=0.0,
        high=0.0,
        headline=True,
        note=f"{moved:,.0f} pages are reprogrammed, each in time",
    )
    return claim if moved else sanity(claim, "no page is reprogrammed")


def entries(setting: Setting, found: Cases) -> Iterator[Claim | Table]:
    """Yields reprogramming and wear of each load, and the effects of the period of repetition and the start."""
    for case in found.leading:
        overhead = case.estimate("rr_speed", lambda run: run.overhead)
        programs, usual = (
            case.estimate(policy, lambda run: 1.0 + run.overhead + run.collected) for policy in ("rr_speed", "baseline")
        )
        erases = [f"{case.estimate(policy, lambda run: run.erases).mean:,.0f}" for policy in ("rr_speed", "baseline")]
        yield shown_claim(
            found_alone(case, overhead),
            share_text,
            shown=f"{share_text(overhead.mean)} (programs per host page {programs.mean:.2f}, baseline {usual.mean:.2f}; erases "
            f"{erases[0]}, baseline {erases[1]})",
            where="Retention-Aware FTL",
            what=f"reprogrammed pages per host page {_WEEKS}, {case.load.title}",
            published="not given",
            note=_repeats(case.load),
        )
    worst = found.find(("rr_speed", "all_fast"), lambda runs: max(one.write_ns / bound.write_ns for one, bound in runs))
    yield shown_claim(
        worst,
        lambda value: f"{value:.3f}",
        where="Retention-Aware FTL",
        what="write response over that with every write fast and no reprogramming before the limit: the worst load",
        published="not given (reprogramming is background work)",
    )
    yield _table(found)
    if not setting.quick:
        yield from _others(setting, found.loads)


def _repeats(load: Load) -> str:
    """Returns a note on the effect of a trace's repetition on reprogramming; empty if there is none."""
    if not load.is_trace or span_ns(load) >= WEEK_NS:
        return ""
    return (
        f"repeated every {span_ns(load) / 86_400e9:.1f} days, the trace overwrites all that it wrote within a week: what is "
        "reprogrammed was written long after the first page of its block, whose age counts"
    )


def _table(found: Cases) -> Table:
    columns = ("trace", "policy", "seed", "writes", "mean us", "waiting us", "write utilisation", "pages written")
    rows: list[tuple[object, ...]] = []
    for case in (*found.real, *found.alike):
        for policy in POLICIES:
            for seed, row in case.samples[policy].rows.items():
                one = Run(row)
                line = (case.load.title, policy, seed, one.writes, one.write_ns / 1000, one.waiting_ns / 1000, one.writing)
                rows.append((*line, one.host, one.overhead, one.collected, one.erases, one.misses))
    return Table(
        name="retention-weeks",
        title=f"Four weeks of each load on {SPEED}, the first two dropped",
        columns=(*columns, "reprogrammed per page", "collected per page", "erases", "past the limit"),
        rows=rows,
    )


def _others(setting: Setting, used: Loads) -> Iterator[Claim]:
    """Yields the effects of the period of repetition and of the starting state, on a light load."""
    load = next((load for load in used.alike if is_light(load)), None)
    if load is not None:
        yield _period(setting, load)
    real = [load for load in used.leading if is_light(load)][:1]
    if real:
        yield _start(setting, Loads(*((tuple(real), ()) if real[0].is_trace else ((), tuple(real)))))


def _period(setting: Setting, load: Load) -> Claim:
    """Returns the effect of the period at which a trace of a week is repeated.

    All data of the trace is overwritten after one period. If the period exceeds the reprogramming age, it is
    reprogrammed first.
    """
    with tempfile.TemporaryDirectory() as folder:
        week = write_trace(load, 1, Path(folder) / "week.csv")
        span = int(trace_info(week)["span_ns"])
        options = {f"workload.{key}": value for key, value in week.options().items()}
        options |= {"workload": str(week.path), "workload.repeat": WEEKS + 1, "workload.ramp_time": f"{DROPPED * WEEK_NS}ns"}
        common = {"drive": SPEED, "policy": "rr_speed", "precondition": "fill", **shape(load), **options}
        points = [{**common, "workload.time_scale": span / (weeks * WEEK_NS)} for weeks in (0.95, 1.05)]
        short, long = samples(setting, "retention-period", points)
    first, second = (each.estimate(lambda row: Run(row).overhead) for each in (short, long))
    more = over_seeds(lambda row, other: Run(other).overhead - Run(row).overhead, short, long)
    return shown_claim(
        Found(None, more, load.title, WORK),
        share_text,
        shown=f"{share_text(first.mean)} and {share_text(second.mean)}",
        where="POLICIES 3",
        what=f"reprogrammed pages per host page, one week of {load.title} repeated every 0.95 and every 1.05 weeks",
        published="not given",
        note="a block is reprogrammed a week after its first program; a repeated trace writes all of it again after its span: "
        "of traces of about a week, as the work's, the overhead tells which of the two is longer, no lifetimes",
    )


def _start(setting: Setting, load: Loads) -> Claim:
    """Returns the speed-up from the steady state of uniform overwrites; other runs start from a drive filled once."""
    ways = {policy: (SPEED, policy, {"precondition": "steady"}) for policy in PAIR}
    found = run_cases(setting, "steady", ways, load, weeks=True)
    (case,) = found.leading
    collected = [f"{case.estimate(policy, lambda run: run.collected).mean:.2f}" for policy in PAIR]
    return shown_claim(
        found.find(PAIR, lambda runs: speed_up(Gain(*runs[0]))),
        times_text,
        where="POLICIES 1",
        what=f"write response speed-up, {case.load.title}, from the steady state of uniform overwrites",
        published="1.8x to 5.7x, typically 2x to 2.5x",
        note=f"collected per host page {' and '.join(collected)}",
    )
