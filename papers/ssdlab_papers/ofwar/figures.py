"""Figures 9 to 11 on the paper's drive: response times, rewritten pages, extra writes; beside the controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture
from ssdlab_papers.ofwar.loads import LENGTHS, OF_THE_PAPER, TOO_LIGHT, loads, note_of, note_on
from ssdlab_papers.ofwar.runs import PAPER_UNITS, Effect, Run, run
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: The policy; the control, which writes at one speed into the same frontiers; the bound, which writes everything fast
#: and rewrites nothing.
POLICIES = ("ofwar", "separate", "all_fast")
#: Difference of relative mean response times, or of shares of pages, that counts as none: half a percentage point.
SAME = 0.005
#: Least gain over the baseline that counts as *significant* in the sense of section 5 [A].
_SIGNIFICANT = 0.10
#: The paper's means over its ten traces.
PUBLISHED = {"mean": "-52.3 %", "stddev": "-39.9 %", "rewritten": "14.1 %", "extra": "6.1 %"}


@dataclass(frozen=True, slots=True)
class Case:
    """One load on the paper's drive at one programming parallelism and one speed."""

    load: Load
    units: int
    #: ``recorded``, or the baseline's target write utilisation.
    speed: str
    time_scale: float
    base: Run
    #: Each policy beside the baseline.
    effects: dict[str, Effect]


def change(ratio: float) -> str:
    """Formats a ratio to the baseline as a relative change."""
    return f"{100 * (ratio - 1):+.1f} %"


def points(difference: float) -> str:
    """Formats a difference of shares in percentage points."""
    return f"{100 * difference:+.1f} points"


def beside(value: Callable[[str], float]) -> str:
    """Formats OFWAR's change of a response time beside the control's and the bound's."""
    return f"{change(value('ofwar'))} (separate {change(value('separate'))}, all fast {change(value('all_fast'))})"


def entries(setting: Setting) -> Iterator[Entry | Picture]:
    """Yields every load at recorded speed, the means, and the sources of the extra writes."""
    used = loads(setting)
    cases = setting.share_out("figures 9 to 11", lambda load: _recorded(load, _length(setting, load)), used)
    for case in cases:
        yield from _of_load(case)
    yield from _means(cases)
    yield from order(cases, "paper's drive, recorded speed")
    yield _picture(cases)
    yield from _extra_writes(setting, cases)


def _length(setting: Setting, load: Load) -> int:
    length = LENGTHS[load.name]
    return length.quick if setting.quick else length.figures


def _recorded(load: Load, requests: int) -> Case:
    """Runs a load at recorded speed under the baseline and every policy."""
    base, *others = (run(load.workload(requests), policy) for policy in ("baseline", *POLICIES))
    effects = {policy: Effect(base, other) for policy, other in zip(POLICIES, others, strict=True)}
    return Case(load, PAPER_UNITS, "recorded", 1.0, base, effects)


def _of_load(case: Case) -> Iterator[Entry]:
    """Yields the results of one load beside the statements of the text."""
    load, ofwar = case.load, case.effects["ofwar"]
    low, high = _expected(load)
    yield Entry(
        work="OFWAR",
        where="figure 10a",
        what=f"mean response, {load.title}, paper's drive, recorded speed",
        published=_said_of(load),
        standing="stated",
        ours=ofwar.mean,
        shown=beside(lambda policy: case.effects[policy].mean),
        low=low,
        high=high,
        note=note_on(load) or _why_less(case),
    )
    yield Entry(
        work="OFWAR",
        where="figures 9, 10b, 11",
        what=f"deviation; rewritten pages; extra writes, {load.title}, paper's drive, recorded speed",
        published="bars lost; means below",
        standing="stated",
        ours=ofwar.stddev,
        shown=f"{change(ofwar.stddev)}; {percent(ofwar.rewritten)}; {percent(ofwar.extra)} "
        f"(separate: {percent(case.effects['separate'].extra)} extra)",
        note=note_on(load),
    )


def _said_of(load: Load) -> str:
    """Returns section 5's statement about a trace."""
    if load.name in TOO_LIGHT:
        return "no noticeable reduction"
    return "significant reduction" if load.name in OF_THE_PAPER else "– (not of the paper)"


def _expected(load: Load) -> tuple[float | None, float | None]:
    """Returns the range to meet, which only the paper's own whole traces have."""
    if not load.is_whole or load.name not in OF_THE_PAPER:
        return None, None
    return (0.95, 1.05) if load.name in TOO_LIGHT else (0.0, 1 - _SIGNIFICANT)


def _why_less(case: Case) -> str:
    """Returns the limits of the effect on a trace of the paper; empty if no write finds the rewrite queue full."""
    full = case.effects["ofwar"].run.counted.get("writes_on_full_queue", 0.0) / case.base.host
    if not full:
        return ""
    return (
        f"the bound itself is limited: all fast {change(case.effects['all_fast'].mean)}, as {2 * PAPER_UNITS} chips "
        f"program at once; and {full:.0%} of the writes find the rewrite queue full. With fewer chips the effect grows: see 4 "
        "and 8 units per channel"
    )


def _means(cases: Sequence[Case]) -> Iterator[Entry]:
    """Yields the four means of section 5, over the loads run here."""
    effects = [case.effects["ofwar"] for case in cases]
    for figure, key, what, text in (
        ("figure 9", "stddev", "standard deviation of the response time", change),
        ("figure 10a", "mean", "mean response time", change),
        ("figure 10b", "rewritten", "rewritten pages", percent),
        ("figure 11", "extra", "extra writes", percent),
    ):
        ours = fmean(getattr(effect, key) for effect in effects)
        yield Entry(
            work="OFWAR",
            where=figure,
            what=f"{what}, mean over the loads, paper's drive, recorded speed",
            published=PUBLISHED[key] + (" (section 5: average; abstract: up to)" if key == "mean" else ""),
            standing="stated",
            ours=ours,
            shown=text(ours),
            note=note_of([case.load for case in cases]) + ". Each starts in the steady state of uniform overwrites of the drive",
        )


def order(cases: Sequence[Case], where: str) -> Iterator[Entry]:
    """Yields the order of the policies: the bound, OFWAR, and the control with the same frontiers at one speed."""
    mean = {policy: fmean(case.effects[policy].mean for case in cases) for policy in POLICIES}
    for what, published, ours, low, high in (
        ("OFWAR over the baseline", "below 1", mean["ofwar"], 0.0, 1.0),
        ("the bound all_fast over OFWAR", "at most 1", mean["all_fast"] / mean["ofwar"], 0.0, 1 + SAME),
        (
            "the control separate over the baseline",
            "about 1: speed gains, not parting hot from cold",
            mean["separate"],
            0.98,
            1.02,
        ),
    ):
        yield Entry(
            work="OFWAR",
            where="section 5",
            what=f"order of mean responses, {where}: {what}",
            published=published,
            standing="derived",
            ours=ours,
            shown=f"{ours:.3f}",
            low=low,
            high=high,
        )


def _picture(cases: Sequence[Case]) -> Picture:
    """Returns the mean response of each policy, load by load."""
    names = [case.load.known.name for case in cases]
    chart = Chart(
        title="Figure 10a: mean response time over the baseline's, paper's drive, recorded speed",
        x=Axis(""),
        y=Axis("mean response / baseline", span=(0.0, 1.1), better="lower"),
        series=tuple(Series(policy, names, [case.effects[policy].mean for case in cases]) for policy in POLICIES),
        marks=(Mark(0.477, "the paper's mean of ten traces: -52.3 %"),),
        cases=True,
    )
    return Picture(name="ofwar-figure-10a", chart=chart)


def _extra_writes(setting: Setting, cases: Sequence[Case]) -> Iterator[Entry]:
    """Yields the sources of the extra writes: the starting state, and the preference of collection for fast blocks."""
    chosen = cases[:1] if setting.quick else cases
    ways: dict[str, Callable[[Load], Run]] = {
        "filled": lambda load: run(load.workload(_length(setting, load)), "baseline", precondition="fill"),
        "filled ofwar": lambda load: run(load.workload(_length(setting, load)), "ofwar", precondition="fill"),
        "greedy": lambda load: run(load.workload(_length(setting, load)), "ofwar", settings={"policy.ofwar.fast_bias": 0.0}),
    }
    pieces = [(case, way) for case in chosen for way in ways]
    runs = setting.share_out("extra writes", lambda piece: ways[piece[1]](piece[0].load), pieces)
    found = {(case.load.name, way): each for (case, way), each in zip(pieces, runs, strict=True)}
    filled = [Effect(found[case.load.name, "filled"], found[case.load.name, "filled ofwar"]) for case in chosen]
    greedy = [Effect(case.base, found[case.load.name, "greedy"]) for case in chosen]
    rewritten, extra = fmean(each.rewritten for each in filled), fmean(each.extra for each in filled)
    yield Entry(
        work="OFWAR",
        where="figures 10b, 11",
        what="extra writes less rewritten pages, mean over the loads, from a drive filled once in order",
        published="-8.0 points (6.1 % less 14.1 %)",
        standing="derived",
        ours=extra - rewritten,
        shown=f"{points(extra - rewritten)} ({percent(extra)} less {percent(rewritten)})",
        low=-1.0,
        high=SAME,
        note="a rewritten page is an extra write unless collection would have copied it. On a drive filled once victims "
        "hold nothing of value and the two are equal; in the steady state, where collection copies, it takes fast pages before "
        "they are rewritten (fewer rewritten pages) and before they are overwritten (more extra writes)",
    )
    preferring = fmean(case.effects["ofwar"].extra for case in chosen)
    plain = fmean(each.extra for each in greedy)
    yield Entry(
        work="OFWAR",
        where="section 3.2",
        what="extra writes, mean over the loads, if collection does not prefer fast blocks (fast_bias = 0)",
        published="more: they are preferred to spare cycles",
        standing="stated",
        ours=plain - preferring,
        shown=f"{percent(plain)}, {points(plain - preferring)}",
        low=0.0,
        high=10.0,
        note="what is preferred for being fast is collected before its data dies; " + note_of([case.load for case in chosen]),
    )
