"""Four weeks of each load, the first two left out: gain of faster writes, and their cost in reprogramming and wear."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import median

from ssdlab.traces import trace_info
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Table
from ssdlab_papers.retention.loads import DROPPED, WEEK_NS, WEEKS, note_of, of_the_work, shape, span_ns, weekly, weeks_of
from ssdlab_papers.retention.queueing import PUBLISHED
from ssdlab_papers.retention.runs import SPEED, Gain, Run, change, run, times, written_down
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: The baseline, the policy, and the bound: every write fast, and reprogrammed only at its limit.
POLICIES = ("baseline", "rr_speed", "all_fast")
#: Relative difference of mean response times that counts as none.
_SAME = 0.02
_WEEKS = f"over {WEEKS} weeks, of which {DROPPED} are dropped"


def entries(setting: Setting) -> Iterator[Entry | Table]:
    """Yields speed-up, queueing, reprogramming and wear of each load, and the effect of the period of repetition."""
    used = weekly(setting)
    pieces = [(load, policy) for load in used for policy in POLICIES]
    found = dict(zip(pieces, setting.share_out("weeks", lambda piece: _run(*piece), pieces), strict=True))
    gains = {load: Gain(found[load, "baseline"], found[load, "rr_speed"]) for load in used}
    bounds = {load: Gain(found[load, "baseline"], found[load, "all_fast"]) for load in used}
    for load in used:
        yield _speed_up(load, gains[load], bounds[load])
        if load.name == "hadoop":
            yield _queueing(load, gains[load])
    if len(gains) > 1:
        yield _typical([*gains.values()], note_of(*used))
    yield from _cost(used, gains, bounds)
    yield _table(used, found)
    if not used[0].is_trace:
        yield from _period(setting, used[0])
        yield _start(setting, used[0], gains[used[0]])


def _run(load: Load, policy: str) -> Run:
    return run(SPEED, weeks_of(load), policy, shape(load))


def _speed_up(load: Load, gain: Gain, bound: Gain) -> Entry:
    low, high = PUBLISHED["hadoop" if load.name == "hadoop" else "all"]
    published = "3.9x to 5.7x" if load.name == "hadoop" else "1.8x to 5.7x, typically 2x to 2.5x"
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"write response speed-up {_WEEKS}, {load.title}",
        published=published,
        standing="found" if load.name != "hadoop" else "stated",
        ours=gain.speed_up,
        shown=f"{times(gain.speed_up)} ({change(gain.base.write_ns, gain.run.write_ns)}; "
        f"every write fast {times(bound.speed_up)})",
        low=low if of_the_work(load) else 1.0,
        high=high if of_the_work(load) else inf,
        note=note_of(load) and f"{note_of(load)}: only that writes do not get slower is asserted",
    )


def _queueing(load: Load, gain: Gain) -> Entry:
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"queueing time of writes, how many times less, {load.title}",
        published="5.4x to 6.1x",
        standing="stated",
        ours=gain.queueing,
        shown=f"{times(gain.queueing)} ({change(gain.base.waiting_ns, gain.run.waiting_ns)})",
        low=5.4 if of_the_work(load) else None,
        high=6.1 if of_the_work(load) else None,
        note=note_of(load),
    )


def _typical(gains: list[Gain], note: str) -> Entry:
    middle = median(gain.speed_up for gain in gains)
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"typical write response speed-up: median of {len(gains)} loads, {WEEKS} weeks",
        published="2x to 2.5x",
        standing="stated",
        ours=middle,
        shown=times(middle),
        low=None if note else 2.0,
        high=None if note else 2.5,
        note=note,
    )


def _cost(used: list[Load], gains: dict[Load, Gain], bounds: dict[Load, Gain]) -> Iterator[Entry]:
    for load in used:
        made = gains[load].run
        programs = 1 + made.overhead + made.collected / max(made.host, 1)
        before = gains[load].base
        usual = 1 + before.collected / max(before.host, 1)
        yield Entry(
            work="retention relaxation",
            where="Retention-Aware FTL",
            what=f"reprogrammed pages per host page {_WEEKS}, {load.title}",
            published="not given",
            standing="stated",
            ours=made.overhead,
            shown=f"{percent(made.overhead)} (programs per host page {programs:.2f}, baseline {usual:.2f}; "
            f"erases {made.erases:,}, baseline {before.erases:,})",
            note="; ".join(part for part in (_repeats(load), note_of(load)) if part),
        )
    worst = max(gains[load].run.write_ns / bounds[load].run.write_ns for load in used)
    yield Entry(
        work="retention relaxation",
        where="Retention-Aware FTL",
        what="write response over that with every write fast and no reprogramming before the limit: the worst load",
        published="1: reprogramming is background work",
        standing="derived",
        ours=worst,
        shown=f"{worst:.3f}",
        low=0.0,
        high=1.0 + _SAME,
    )
    misses = sum(gains[load].run.misses for load in used)
    yield Entry(
        work="retention relaxation",
        where="Retention-Aware FTL",
        what="data past its guarantee when it was moved",
        published="none",
        standing="stated",
        ours=misses,
        shown=f"{misses:,}",
        low=0,
        high=0,
    )


def _repeats(load: Load) -> str:
    """Returns a note on the effect of a trace's repetition on reprogramming; empty if there is none."""
    if not load.is_trace or span_ns(load) >= WEEK_NS:
        return ""
    return (
        f"repeated every {span_ns(load) / 86_400e9:.1f} days, the trace overwrites all that it wrote within a week: what is "
        "reprogrammed was written long after the first page of its block, whose age counts"
    )


def _table(used: list[Load], found: dict[tuple[Load, str], Run]) -> Table:
    rows = [
        (
            load.title,
            policy,
            each.writes,
            each.write_ns / 1000,
            each.waiting_ns / 1000,
            each.writing,
            each.host,
            each.reprogrammed,
            each.collected,
            each.erases,
        )
        for (load, policy), each in found.items()
    ]
    columns = (
        "trace",
        "policy",
        "writes",
        "mean us",
        "waiting us",
        "write utilisation",
        "pages written",
        "reprogrammed",
        "collected",
        "erases",
    )
    return Table(
        name="retention-weeks", title=f"Four weeks of each load on {SPEED}, the first two dropped", columns=columns, rows=rows
    )


def _period(setting: Setting, load: Load) -> Iterator[Entry]:
    """Yields the effect of the period at which a trace of a week is repeated.

    All data of the trace is overwritten after one period. If the period exceeds the reprogramming age, it is
    reprogrammed first.
    """
    with tempfile.TemporaryDirectory() as folder:
        week = written_down(load, 1, Path(folder) / "week.csv")
        span = int(trace_info(week)["span_ns"])

        def repeated(weeks: float) -> Run:
            ramp, scale = f"{DROPPED * WEEK_NS}ns", span / (weeks * WEEK_NS)
            return run(SPEED, replace(week, repeat=WEEKS + 1, time_scale=scale, ramp_time=ramp), "rr_speed")

        periods = (0.95, 1.05)
        short, long = setting.share_out("period", repeated, periods)
    yield Entry(
        work="retention relaxation",
        where="POLICIES 3",
        what=f"reprogrammed pages per host page, one week of {load.title} repeated every 0.95 weeks over every 1.05 weeks",
        published="not given",
        standing="derived",
        ours=short.overhead / long.overhead if long.overhead else 1.0,
        shown=f"{percent(short.overhead)} over {percent(long.overhead)}",
        low=0.0,
        high=1.0,
        note="a block is reprogrammed a week after its first program; a repeated trace writes all of it again after its span: "
        "of traces of about a week, as the work's, the overhead tells which of the two is longer, no lifetimes",
    )


def _start(setting: Setting, load: Load, full: Gain) -> Entry:
    """Returns the entry on the write speed-up from another starting state.

    The drive starts in the steady state of uniform overwrites, instead of filled once as in the other runs.
    """
    base, made = setting.share_out(
        "start", lambda policy: run(SPEED, weeks_of(load), policy, shape(load), precondition="steady"), ("baseline", "rr_speed")
    )
    gain = Gain(base, made)
    return Entry(
        work="retention relaxation",
        where="POLICIES 1",
        what=f"write response speed-up, {load.title}, from the steady state of uniform overwrites",
        published="1.8x to 5.7x, typically 2x to 2.5x",
        standing="found",
        ours=gain.speed_up,
        shown=f"{times(gain.speed_up)} (from a drive that was filled once {times(full.speed_up)}; collected per host page "
        f"{base.collected / max(base.host, 1):.2f} and {made.collected / max(made.host, 1):.2f})",
        low=1.0,
        high=inf,
        note=note_of(load) and f"{note_of(load)}: only that writes do not get slower is asserted",
    )
