"""Figures 9 to 12: lifetime, throughput, erase voltages and erase speeds, load by load and in the mean."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.autoftl import gaps, model
from ssdlab_papers.autoftl.loads import CONFIGURATIONS, ENTERPRISE, MOBILE, Cases, Configuration, cases
from ssdlab_papers.autoftl.runs import (
    LEVELS,
    PER_PROGRAM,
    POLICIES,
    WORK,
    Both,
    CaseQuantity,
    CaseRuns,
    Rows,
    at_most,
    by_slow_erases,
    delay_ns,
    fine_text,
    gain,
    lazy,
    lives,
    mean_level,
    of_auto,
    over,
    point,
    share_at,
    slow,
    throughput,
)
from ssdlab_papers.claim import NOTICEABLE, Claim, on_loads, rises, same_way, sanity, set_apart, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import as_sample_text, change_text, points_text
from ssdlab_papers.real_first import Found, shown_claim, value_claim, worded_claim
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, over_seeds, samples

#: Half of the last digit of a gain in percent, and of a change of throughput in hundredths of a percent.
DIGIT, FINE_DIGIT = 0.005, 0.00005
#: Published gains: of all eight traces (abstract), of the enterprise and of the mobile ones (figure 9).
OVERALL, OF_ENTERPRISE, OF_MOBILE = 0.612, 0.69, 0.38
#: Published changes of the write throughput: the means of figure 10, and what the abstract calls the largest.
MEAN_LOSS = {ENTERPRISE.name: -0.0091, MOBILE.name: -0.0006}
LARGEST_LOSS = -0.022
#: Largest share that counts as rare, and as a little chance, for which the paper gives no number [A].
RARE, LITTLE = 0.10, 0.05
#: Longest addition to the mean wait that the paper calls negligible, over T_effective: 2.6 us of 40.6 us (src1_2).
NEGLIGIBLE_WAIT = 0.064
#: Smallest share of slow erases on its enterprise traces: on the two busy ones 5 to 10 % are fast.
MOSTLY_SLOW = 0.90
#: Share of gaps up to T_effective above which the text expects a gain below 50 %.
BUSY = 0.4
#: Share of slow erases at the lowest voltage from which a gain is the bound of the calibrated wear, read back.
_BOUND = 1.0 - NOTICEABLE
_GAIN: CaseQuantity = of_auto(gain)
_PER_PROGRAM = {"policy.autoftl.sampled_per": "program"}


@dataclass(frozen=True, slots=True)
class Results:
    """All cases with their runs."""

    found: Both

    def of_paper(self, on: Configuration) -> Both:
        """Returns the cases on the traces of the paper; of the mobile drive, whose traces are not public, all."""
        return self.found.of_cases(lambda case: case.on is on and (case.is_of_paper or on is MOBILE))

    def stated(self, on: Configuration | None = None) -> Both:
        """Returns the cases at the paper's replay speed, of one drive or of both."""
        return self.found.of_cases(lambda case: case.is_as_stated and (on is None or case.on is on))

    def of_load(self, name: str, on: Configuration) -> Both:
        """Returns the cases of a load at the paper's replay speed."""
        return self.stated(on).of_cases(lambda case: case.load.name == name)


def run_results(setting: Setting, used: Cases | None = None) -> Results:
    """Runs every load under the baseline, and under both policies until the drive is worn out."""
    used = used or cases(setting)
    worn = lives(setting, "lives", [(case, policy, {}) for case in used.all for policy in POLICIES])
    base = samples(setting, "autoftl-baseline", [point(case, "baseline") for case in used.all])
    stated = [case for case in used.leading if case.is_as_stated]
    per_program = lives(setting, "per-program", [(case, "autoftl", _PER_PROGRAM) for case in stated])
    other = {case: {PER_PROGRAM: sample} for case, sample in zip(stated, per_program, strict=True)}
    found = [
        CaseRuns(case, base[at], dict(zip(POLICIES, worn[2 * at : 2 * at + 2], strict=True)) | other.get(case, {}))
        for at, case in enumerate(used.all)
    ]
    return Results(Both(tuple(found[: len(used.real)]), tuple(found[len(used.real) :])))


def entries(results: Results) -> Iterator[Claim | Picture | Table]:
    """Yields the headlines, every load, and the mechanisms that the text states."""
    yield from headlines(results)
    yield from of_loads(results)
    yield from of_throughput(results)
    yield from _of_erases(results)
    yield from _relations(results)
    yield from _lost(results)
    yield _table(results)
    yield _picture_of_gains(results)
    yield _picture_of_throughput(results)
    yield _picture_of_levels(results)
    yield _picture_of_speeds(results)


def headlines(results: Results) -> Iterator[Claim]:
    """Yields what the abstract and the conclusion say: the gains in MAX P/E, and the loss of throughput."""
    enterprise, mobile = (results.of_paper(on) for on in CONFIGURATIONS)
    other = results.stated(ENTERPRISE).of_cases(lambda case: not case.is_of_paper)
    if enterprise.leading and mobile.leading:
        yield _overall(enterprise, mobile)
    if enterprise.leading:
        beside = f"; with {other.text} the mean is {change_text(over(_GAIN, (*enterprise.leading, *other.leading)).mean)}"
        yield _unless_bound(enterprise, _value(
            enterprise, _GAIN, OF_ENTERPRISE, DIGIT, change_text,
            where="figure 9, conclusion",
            what="gain in MAX P/E, mean over the paper's enterprise traces at hand",
            headline=True,
            note=f"{_missing(enterprise)}{beside if other.leading else ''}; {_as_sample(enterprise)}",
        ))  # fmt: skip
    if mobile.leading:
        yield _value(
            mobile, _GAIN, OF_MOBILE, DIGIT, change_text,
            where="figure 9, conclusion",
            what="gain in MAX P/E, mean over the mobile loads",
            headline=True,
            note=f"{_as_sample(mobile)}; the share of the margin is calibrated on {model.CALIBRATED_ON} alone. Other traces of "
            f"phones: m_down and m_p2p1 are not public; {_each(mobile, _GAIN)}. The way to it is another: slow and lazy "
            "erases, which the paper hardly sees (figure 12a and section 5.3 below)",
        )  # fmt: skip
    yield from _losses(results)


def _as_sample(both: Both) -> str:
    """Returns the interval of the mean gain over the leading loads."""
    return as_sample_text([over(_GAIN, [one]).mean for one in both.leading], change_text)


def _losses(results: Results) -> Iterator[Claim]:
    """Yields the abstract's bound on the loss of throughput, on the traces of the paper and on those beside them."""
    parts = {
        True: results.stated().of_cases(lambda case: case.is_of_paper or case.on is MOBILE),
        False: results.stated(ENTERPRISE).of_cases(lambda case: not case.is_of_paper),
    }
    losses = {of_paper: both.find(throughput, min) for of_paper, both in parts.items() if both.leading}
    for of_paper, found in losses.items():
        both = parts[of_paper]
        least = min(both.leading, key=lambda one: over(throughput, [one]).mean)
        which = "the paper's traces at hand and the mobile loads" if of_paper else "the other loads of servers"
        note = f"on {least.case.title}; a replay that keeps recorded gaps is as long as its trace unless the buffer is full"
        if of_paper and False in losses:
            note += f"; on the other loads {fine_text(losses[False].leading.mean)} (below)"
        yield _if_writes_wait(both, worded_claim(
            found, fine_text,
            where="abstract, figure 10",
            what=f"change of the overall write throughput, largest loss of {which}",
            published="less than 2.2 % decrease",
            low=LARGEST_LOSS,
            headline=of_paper,
            note=note,
        ))  # fmt: skip


def _if_writes_wait(both: Both, claim: Claim) -> Claim:
    """Returns a claim on what autoFTL delays, which cannot fail on loads whose writes never wait for the buffer."""
    waits = max(one.estimate(_waited).mean for one in both.leading)
    return claim if waits > 0.0 else sanity(claim, "no write waits for the buffer")


def _overall(enterprise: Both, mobile: Both) -> Claim:
    """Returns the abstract's mean over the eight traces: six on the enterprise drive, and two on the mobile one."""

    def mean(first: Sequence[CaseRuns], second: Sequence[CaseRuns]) -> Estimate | None:
        def weighted(values: list[float]) -> float:
            return (6.0 * fmean(values[: len(first)]) + 2.0 * fmean(values[len(first) :])) / 8.0

        return over(_GAIN, (*first, *second), weighted) if first and second else None

    claim = on_loads(
        mean(enterprise.real, mobile.real), mean(enterprise.alike, mobile.alike), OVERALL, DIGIT / 10,
        work=WORK,
        where="abstract",
        what="gain in MAX P/E, mean over all loads",
        unit=change_text,
        load=f"{enterprise.text}; {mobile.text}",
        agrees=rises,
        headline=True,
    )  # fmt: skip
    whole = (6.0 * OF_ENTERPRISE + 2.0 * OF_MOBILE) / 8.0
    return set_apart(
        claim, "derived",
        f"the mean of both drives' rows below: (6 x 69 + 2 x 38) / 8 = {100 * whole:.4g}, stated 61.2; the mobile one is scored",
    )  # fmt: skip


def _unless_bound(both: Both, claim: Claim) -> Claim:
    """Returns a claim on gains; an input where its loads are the calibrated one, or read the bound of the wear back.

    What a load reads back is measured: the share of its erases that are slow and at the lowest voltage.
    """
    shares = {one.case: one.estimate(at_most).mean for one in both.leading}
    if any(share < _BOUND and case.load.name != model.CALIBRATED_ON for case, share in shares.items()):
        return claim
    each = ", ".join(f"{case.title} {percent(share)}" for case, share in shares.items())
    return set_apart(
        claim,
        "input",
        f"the bound of the wear ({change_text(model.most())}), calibrated on the label of {model.CALIBRATED_ON} "
        f"({change_text(model.LABEL)}); slow erases at the lowest voltage: {each}",
    )


def _value(
    both: Both, quantity: CaseQuantity, published: float, digit: float, unit: Callable[[float], str], **further: Any
) -> Claim:
    """Returns a claim that the mean of a quantity over cases has a value."""
    return value_claim(
        both.find(quantity), published, digit,
        unit=unit,
        agrees=lambda value: same_way(value, published),
        **further,
    )  # fmt: skip


def _missing(enterprise: Both) -> str:
    """Returns which of the paper's enterprise traces are at hand, in words."""
    here = [one.case.load.name for one in enterprise.leading]
    missing = [name for name in ENTERPRISE.of_the_paper if name not in here]
    expected = fmean(ENTERPRISE.of_the_paper[name][0] for name in here)
    if not missing:
        return ""
    return (
        f"without {', '.join(missing)}; the labels of {' and '.join(here)} have the mean {change_text(expected)}; the declared "
        f"wear allows {change_text(model.most())} at most, with slow erases at the lowest voltage alone"
    )


def _each(both: Both, quantity: CaseQuantity, unit: Callable[[float], str] = change_text) -> str:
    """Returns a quantity of every leading case, in words."""
    return ", ".join(f"{one.case.title} {unit(over(quantity, [one]).mean)}" for one in both.leading)


def of_loads(results: Results) -> Iterator[Claim]:
    """Yields the gain of every trace of the paper, and of a download beside the paper's two."""
    for name, (published, _) in ENTERPRISE.of_the_paper.items():
        both = results.of_load(name, ENTERPRISE)
        if both.leading:
            yield _unless_bound(both, _value(
                both, _GAIN, published, DIGIT, change_text,
                where="figure 9",
                what=f"gain in MAX P/E, {name}",
                standing="derived",
                note="; ".join(filter(None, (both.leading[0].case.load.note, _modes(both.leading[0])))),
            ))  # fmt: skip
    download = results.of_load("download", MOBILE)
    if download.leading:
        yield worded_claim(
            download.find(_GAIN, fmean), change_text,
            where="figure 9",
            what="gain in MAX P/E, a download to a phone",
            published="+39 % and +37 % (m_down, m_p2p1)",
            low=0.37 - DIGIT,
            high=0.39 + DIGIT,
            note=f"another download than the paper's two; {_modes(download.leading[0])}",
        )  # fmt: skip


def _modes(one: CaseRuns) -> str:
    """Returns the modes that decide the gain of a case, in words."""
    levels = ", ".join(f"{level.upper()} {percent(one.estimate(share_at(level)).mean)}" for level in LEVELS)
    return (
        f"erases at {levels}; {percent(one.estimate(slow).mean)} of them slow, {percent(one.estimate(lazy).mean)} lazy afterwards"
    )


def of_throughput(results: Results) -> Iterator[Claim]:
    """Yields figure 10 and what section 5.3 says of waits."""
    for on in CONFIGURATIONS:
        both, stated = results.of_paper(on), results.stated(on)
        if both.leading:
            yield _value(
                both, throughput, MEAN_LOSS[on.name], FINE_DIGIT, fine_text,
                where="figure 10",
                what=f"change of the write throughput, mean over the {on.name} loads",
                note=f"{_each(both, throughput, fine_text)}; the paper's emulator runs in real time with timers, its own "
                "variation of a program time being 0.8 %",
            )  # fmt: skip
        if stated.leading:
            quantity = _over_effective(on)
            worst = max(stated.leading, key=lambda one: over(delay_ns, [one]).mean)
            yield _if_writes_wait(stated, worded_claim(
                stated.find(quantity, max), lambda value: f"{value:.3f} T_effective",
                where="section 5.3",
                what=f"what autoFTL adds to the mean wait of a write for the buffer, most of the {on.name} loads",
                published="negligible compared to T_effective (2.6 us of 40.6 us on src1_2)",
                high=NEGLIGIBLE_WAIT,
                note=f"on {worst.case.title}, where a write waits {worst.base.estimate(_waited).mean / 1000:.0f} us under the "
                "baseline",
            ))  # fmt: skip
    for name, (_, published) in ENTERPRISE.of_the_paper.items():
        both = results.of_load(name, ENTERPRISE)
        if both.leading:
            yield _value(
                both, throughput, published, FINE_DIGIT, fine_text,
                where="figure 10",
                what=f"change of the write throughput, {name}",
                standing="derived" if name not in ("proj_0", "prxy_0") else "stated",
                note=both.leading[0].case.load.note,
            )  # fmt: skip


def _over_effective(on: Configuration) -> CaseQuantity:
    """Returns what autoFTL adds to the mean wait of a write, over T_effective."""
    return lambda auto, minus, base: delay_ns(auto, minus, base) / on.effective_ns


def _waited(row: Row) -> float:
    return float(row["latency.write.mean_ns"] or 0.0)


def _of_erases(results: Results) -> Iterator[Claim]:
    """Yields figures 11 and 12, and what section 5.3 says of them."""
    stated = results.stated()
    yield worded_claim(
        stated.find(of_auto(lazy), max), percent,
        where="section 5.3",
        what="lazy erases per erase, most of all loads",
        published="rarely used for all the traces",
        high=RARE,
        note=f"no number is given; up to {percent(RARE)} counts as rare [A]. {_each(stated, of_auto(lazy), percent)}",
    )  # fmt: skip
    yield from _lazy_per_program(stated)
    mobile, enterprise = results.stated(MOBILE), results.stated(ENTERPRISE)
    if mobile.leading:
        yield worded_claim(
            mobile.find(of_auto(slow), max), percent,
            where="figure 12a, section 5.2",
            what="share of slow erases, most of the mobile loads",
            published="little chance; cannot be used",
            high=LITTLE,
            note=f"up to {percent(LITTLE)} counts as little [A]. Section 4.5 has background collections always erase slowly, and "
            f"they do most of the work of a phone. {_each(mobile, of_auto(slow), percent)}",
        )  # fmt: skip
    if enterprise.leading:
        yield worded_claim(
            enterprise.find(of_auto(slow), min), percent,
            where="figure 12a, section 5.3",
            what="share of slow erases, least of the enterprise loads",
            published="90 to 95 % on the two busiest traces, more on the others",
            low=MOSTLY_SLOW,
            note=_each(enterprise, of_auto(slow), percent),
        )  # fmt: skip
        yield value_claim(
            enterprise.find(by_slow_erases, max), 0.18, DIGIT,
            where="figure 12b",
            what="what slow erases add to MAX P/E, most of the enterprise loads",
            unit=change_text,
            agrees=lambda value: rises(value) and value <= 0.18 + DIGIT,
            words="up to 18 %",
            note=_each(enterprise, by_slow_erases)
            + "; with the declared wear slow erases add "
            + ", ".join(f"{percent(model.added_by_slow(mode))} at EV{mode}" for mode in (0, 1, 4)),
        )  # fmt: skip
    change = worded_claim(
        stated.find(_slower, min), fine_text,
        where="section 5.3",
        what="change of the write throughput by slow erases, largest loss of all loads",
        published="almost negligible",
        low=MEAN_LOSS[ENTERPRISE.name],
        note="a bound is what the abstract calls negligible in the mean: 0.91 %",
    )  # fmt: skip
    most = stated.find(of_auto(slow), max).leading.mean
    yield change if rises(most) else sanity(change, f"at most {percent(most)} of the erases are slow")


def _lazy_per_program(stated: Both) -> Iterator[Claim]:
    """Yields the lazy erases if the past utilisation is sampled at each program, beside those as the text has it."""
    runs = {one.case: one.lives[PER_PROGRAM] for one in stated.leading if PER_PROGRAM in one.lives}
    if not runs:
        return
    most = over_seeds(lambda *rows: max(map(lazy, rows)), *runs.values())
    each = ", ".join(f"{case.title} {percent(sample.estimate(lazy).mean)}" for case, sample in runs.items())
    yield shown_claim(
        Found(most if stated.real else None, None if stated.real else most, stated.text, WORK), percent,
        where="section 5.3",
        what="lazy erases per erase with the past utilisation sampled at each program, most of all loads",
        published="rarely used for all the traces",
        note=f"another reading: section 4.4 averages over write requests, as the row above does. {each}",
    )  # fmt: skip


def _slower(auto: Row, minus: Row, base: Row) -> float:
    """Returns the change of the write throughput by slow erases."""
    del base
    return float(auto["throughput.write_bytes_per_s"] / minus["throughput.write_bytes_per_s"]) - 1.0


def _relations(results: Results) -> Iterator[Claim]:
    """Yields relations between loads."""
    pairs = Both(*(_faster(found) for found in (results.found.real, results.found.alike)))
    if pairs.leading:
        yield worded_claim(
            pairs.find(_GAIN, lambda gains: min(slower - faster for slower, faster in _pairs(gains))), points_text,
            where="section 5.2",
            what="longer gaps, more gain: least difference between a load and the same one faster",
            published="improvement proportional to inter-arrival times",
            low=NOTICEABLE,
            note=f"{len(pairs.leading) // 2} pairs; where both use the lowest voltage alone, there is no difference",
        )  # fmt: skip
    stated = results.stated()
    if len(stated.leading) > 1:
        order = sorted(stated.leading, key=lambda one: one.estimate(mean_level).mean)
        claim = worded_claim(
            stated.together(_largest_fall), points_text,
            where="figures 9, 11",
            what="the lower the voltages used, the higher the gain: largest fall of MAX P/E in that order",
            published="exact correspondence",
            high=DIGIT,
            note="; ".join(
                f"{one.case.title} {one.estimate(mean_level).mean:.2f}: {change_text(one.estimate(gain).mean)}" for one in order
            )
            + " (mean mode, 0 to 4, and gain). A block that is lazily erased wears as one of the deeper mode",
        )  # fmt: skip
        levels = [one.estimate(mean_level).mean for one in order]
        yield claim if rises(levels[-1] - levels[0]) else sanity(claim, "all loads use the same voltages")


def _largest_fall(rows: Sequence[Rows]) -> float:
    """Returns the largest fall of the gain from one case to the next in the order of the voltages used."""
    gains = [gain(auto) for auto, *_ in sorted(rows, key=lambda each: mean_level(each[0]))]
    return max(before - after for before, after in itertools.pairwise(gains))


def _pairs(values: Sequence[float]) -> Iterator[tuple[float, float]]:
    return zip(values[::2], values[1::2], strict=True)


def _faster(found: Sequence[CaseRuns]) -> tuple[CaseRuns, ...]:
    """Returns pairs of cases, one after the other: a load on a drive, and the same faster."""
    pairs = [
        (slower, faster)
        for slower in found
        for faster in found
        if slower.case.load == faster.case.load and slower.case.on is faster.case.on and slower.case.speed < faster.case.speed
    ]
    return tuple(itertools.chain(*pairs))


def busy(results: Results, between: gaps.Found) -> Iterator[Claim]:
    """Yields section 5.2's statement about loads with many gaps below T_effective, if there are such."""
    loads = results.found.of_cases(lambda case: case.on is ENTERPRISE and gaps.below(between, case) > BUSY)
    if loads.leading:
        shares = ", ".join(f"{one.case.title} {percent(gaps.below(between, one.case))}" for one in loads.leading)
        yield worded_claim(
            loads.find(_GAIN, max), change_text,
            where="section 5.2",
            what="gain in MAX P/E, most of the enterprise loads with more than 40 % of gaps up to T_effective",
            published="less than 50 % (proj_0 and src1_2)",
            high=0.5,
            note=f"gaps up to T_effective: {shares}; {_each(loads, _GAIN)}",
        )  # fmt: skip


def _lost(results: Results) -> Iterator[Claim]:
    """Yields the claims whose trace or figure is not at hand."""
    absent = [name for name in ENTERPRISE.of_the_paper if not results.of_load(name, ENTERPRISE).leading]
    for name in absent:
        published, loss = ENTERPRISE.of_the_paper[name]
        yield untestable(
            work=WORK,
            where="figures 9, 10",
            what=f"gain in MAX P/E and change of the write throughput, {name}",
            published=f"{change_text(published)}, {fine_text(loss)}",
            note="neither the trace nor a look-alike of it was run (ssdlab paper --traces DIR)",
        )
    yield untestable(
        work=WORK,
        where="figures 9, 10",
        what="gains in MAX P/E and changes of the write throughput, m_down and m_p2p1",
        published="+39 % and +37 %, -0.09 % and -0.03 %",
        note="the two traces of phones are not public",
    )
    yield untestable(
        work=WORK,
        where="figures 11, 12a",
        what="shares of the erase modes of every trace",
        published="stacked bars",
        note="the bars of the figures are lost; what the text says of them is scored above",
    )


def _table(results: Results) -> Table:
    """Returns the numbers of every case."""
    columns = [
        "load",
        "drive",
        "seeds",
        "gain",
        "gain low",
        "gain high",
        "gain without slow erases",
        "throughput",
        "wait added us",
    ]
    columns += [*(level.upper() for level in LEVELS), "slow erases", "lazy erases", "write amplification"]
    rows: list[list[object]] = []
    for one in (*results.found.real, *results.found.alike):
        gained = one.estimate(gain)
        shares = [one.estimate(share_at(level)).mean for level in LEVELS]
        rows.append(
            [
                one.case.title, one.case.on.name, gained.count, gained.mean, gained.low, gained.high,
                one.estimate(gain, "autoftl_minus").mean, over(throughput, [one]).mean, over(delay_ns, [one]).mean / 1000,
                *shares, one.estimate(slow).mean, one.estimate(lazy).mean,
                one.estimate(lambda row: float(row["lifetime.write_amplification"])).mean,
            ]
        )  # fmt: skip
    return Table(name="autoftl-results", title="Figures 9 to 12 for every load", columns=tuple(columns), rows=rows)


def _names(results: Results) -> list[str]:
    return [one.case.name for one in results.found.leading]


def _picture_of_gains(results: Results) -> Picture:
    """Returns figure 9: the gain load by load."""
    titles = {"autoftl": "autoFTL", "autoftl_minus": "autoFTL without slow erases"}
    series = tuple(
        Series(titles[policy], _names(results), [1.0 + one.estimate(gain, policy).mean for one in results.found.leading])
        for policy in POLICIES
    )
    chart = Chart(
        title="Figures 9 and 12b: MAX P/E over the baseline",
        x=Axis(""),
        y=Axis("MAX P/E / baseline", span=(0.0, 2.0), better="higher"),
        series=series,
        marks=(
            Mark(1.0 + OF_ENTERPRISE, "the paper, enterprise: +69 %"),
            Mark(1.0 + OF_MOBILE, "the paper, mobile: +38 %"),
        ),
        cases=True,
    )
    return Picture(name="autoftl-figure-9", chart=chart)


def _picture_of_throughput(results: Results) -> Picture:
    """Returns figure 10: the change of the write throughput load by load."""
    changes = [100.0 * over(throughput, [one]).mean for one in results.found.leading]
    chart = Chart(
        title="Figure 10: write throughput over the baseline's",
        x=Axis(""),
        y=Axis("change of the write throughput [%]", better="higher"),
        series=(Series("autoFTL", _names(results), changes),),
        marks=(Mark(100.0 * LARGEST_LOSS, "the paper's largest loss: -2.2 %"),),
        cases=True,
    )
    return Picture(name="autoftl-figure-10", chart=chart)


def _picture_of_levels(results: Results) -> Picture:
    """Returns figure 11: erase voltages load by load."""
    chart = Chart(
        title="Figure 11: erase voltage modes under autoFTL",
        x=Axis(""),
        y=Axis("share of erases", span=(0.0, 1.0)),
        series=tuple(
            Series(
                level.upper(),
                _names(results),
                [one.estimate(share_at(level)).mean for one in results.found.leading],
            )
            for level in LEVELS
        ),
        stacked=True,
        ordered=True,
    )
    return Picture(name="autoftl-figure-11", chart=chart)


def _picture_of_speeds(results: Results) -> Picture:
    """Returns figure 12a, with the lazy erases: erase speeds load by load."""
    chart = Chart(
        title="Figure 12a: slow erases, and lazy ones, under autoFTL",
        x=Axis(""),
        y=Axis("share of erases", span=(0.0, 1.0)),
        series=tuple(
            Series(name, _names(results), [one.estimate(quantity).mean for one in results.found.leading])
            for name, quantity in (("slow", slow), ("lazy afterwards", lazy))
        ),
        cases=True,
    )
    return Picture(name="autoftl-figure-12a", chart=chart)
