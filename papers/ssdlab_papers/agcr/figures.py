"""Figures 1, 7, 8 and 9: three schemes of fixed costs, AGCR and its rival, for each load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import numpy as np

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab_papers.agcr.loads import every_trace, is_of_the_paper
from ssdlab_papers.agcr.runs import COSTS, RIVALS, Case, Cases, Quantity, mean_of, run_cases
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, same_way, sanity
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import as_sample_text, change_text, points_text, share_text
from ssdlab_papers.real_first import shown_claim, value_claim, worded_claim
from ssdlab_papers.setting import Setting

#: Largest ratio that is a fall, and just above 0: that something occurs at all is no change, and has no threshold.
_BELOW, _SOME = 1.0 - NOTICEABLE, math.nextafter(0.0, 1.0)
#: Least difference that is taken as *considerably more*: a tenth of all accesses [A].
_CONSIDERABLE = 0.1
#: Resolution of a whole percentage, and of a tenth.
_WHOLE, _TENTH = 0.005, 0.0005
#: Remark on the loads.
PARTS = "volumes and parts of volumes that are at hand, not the 12 of the paper"
_OLD_DATA = "the rival's old data at medium cost, as the default's (the work says nothing; at high cost, as AGCR's, above)"


def less_one(policy: str, other: str, kind: str = "all") -> Quantity:
    """Returns the mean over the loads of a policy's response over another's, as a relative change."""
    return mean_of(lambda case, seed: case.over(policy, other, kind, seed), 1.0)


def ratio(policy: str, other: str, kind: str = "all") -> Quantity:
    """Returns the mean over the loads of a policy's response over another's."""
    return mean_of(lambda case, seed: case.over(policy, other, kind, seed))


def least(policy: str, other: str, kind: str) -> Quantity:
    """Returns the greatest reduction of a response among the loads, as a relative change."""

    def lowest(cases: Sequence[Case], seed: int) -> float | None:
        found = [value for case in cases if (value := case.over(policy, other, kind, seed)) is not None]
        return min(found) - 1.0 if found else None

    return lowest


def ratio_text(value: float) -> str:
    """Returns a ratio as a relative change in percent."""
    return change_text(value - 1.0)


def is_usual(case: Case) -> bool:
    """True if a load of the paper's collection does not overload the drive."""
    return case.of_msr and not case.is_overload


def entries(setting: Setting, cases: Cases) -> Iterator[Claim | Picture | Table]:
    """Yields the figures, their means, and the loads behind them."""
    usual = cases.where(is_usual)
    whole = is_of_the_paper(setting, [case.load for case in cases.leading])
    about = "" if whole else PARTS
    yield from figure_1(usual)
    yield from figure_7(usual, about)
    yield from figure_8(usual, about)
    yield from figure_9(usual, about)
    yield from overloads(cases)
    yield from beside(_every(setting) or cases)
    yield from _pictures(cases.leading)
    yield _table((*cases.real, *cases.alike))


def _every(setting: Setting) -> Cases | None:
    """Runs every trace in the user's folder, each with one seed; ``None`` without any."""
    found = every_trace(setting)
    return (
        run_cases(setting, "every", {policy: (policy, {}) for policy in ("AGCR", "rival")}, found, seeds=1)
        if found.real
        else None
    )


def figure_1(usual: Cases) -> Iterator[Claim]:
    """Yields the means of the three schemes, and their order."""

    def difference(scheme: str, other: str, kind: str) -> Quantity:
        def less(case: Case, seed: int) -> float | None:
            pair = [case.over(each, "MCW/MCR", kind, seed) for each in (scheme, other)]
            return None if pair[0] is None or pair[1] is None else pair[0] - pair[1]

        return mean_of(less)

    where = "figure 1, section 2.3"
    for what, words, published, quantity, unit, note in (
        ("reads of HCW/LCR over the default", "-54 %", -0.54, less_one("HCW/LCR", "MCW/MCR", "read"), change_text, _pulled),
        (
            "writes of LCW/HCR over the default", "-26 %", -0.26,
            less_one("LCW/HCR", "MCW/MCR", "write"), change_text, _pulled_writes,
        ),
        (
            "reads of LCW/HCR less those of HCW/LCR, in points of the default", "114 %", 1.14,
            difference("LCW/HCR", "HCW/LCR", "read"), points_text, _pulled,
        ),
        (
            "writes of HCW/LCR less those of LCW/HCR, in points of the default", "61 %", 0.61,
            difference("HCW/LCR", "LCW/HCR", "write"), points_text, _pulled_writes,
        ),
    ):  # fmt: skip
        found = usual.find(quantity)
        yield value_claim(
            found,
            published,
            _WHOLE,
            words=words,
            where=where,
            what=what,
            unit=unit,
            agrees=lambda value, published=published: same_way(value, published),
            note=f"{note(usual)}; {_over_volumes(usual, quantity, unit)}",
        )
    yield worded_claim(
        usual.find(ratio("LCW/HCR", "MCW/MCR")),
        ratio_text,
        where=where,
        what="overall response of LCW/HCR over the default",
        published="below 1 (improves the overall performance)",
        high=_BELOW,
        note="writes are most of the responses in these volumes",
    )
    yield worded_claim(
        usual.find(mean_of(_excess)),
        points_text,
        where=where,
        what="reads of LCW/HCR over the slowest other scheme, in points of the default",
        published="above 0 (the worst read performance)",
        low=NOTICEABLE,
    )


def _over_volumes(usual: Cases, quantity: Quantity, unit: Callable[[float], str]) -> str:
    """Returns how a quantity spreads over the single volumes, in words: the published mean is over other ones."""
    several = usual.leading
    found = [value for case in several if (value := quantity([case], case.seeds[0])) is not None]
    spread = f"the {len(found)} volumes at hand spread from {unit(min(found))} to {unit(max(found))}; the paper's mean is over 12"
    return "; ".join(filter(None, (spread, as_sample_text(found, unit))))


def _excess(case: Case, seed: int) -> float | None:
    found = [case.over(scheme, "MCW/MCR", "read", seed) for scheme in ("LCW/HCR", "HCW/LCR", "MCW/MCR")]
    ratios = [ratio for ratio in found if ratio is not None]
    return ratios[0] - max(ratios[1:]) if len(ratios) == len(found) else None


def _pulled(usual: Cases) -> str:
    waits = usual.find(mean_of(lambda case, seed: _waiting(case, seed, "read"))).leading.mean
    return f"table 1 alone gives -57 % and 142 points; {100 * waits:.0f} % of the mean read of the default is waiting"


def _pulled_writes(usual: Cases) -> str:
    waits = usual.find(mean_of(lambda case, seed: _waiting(case, seed, "write"))).leading.mean
    return (
        f"table 1 and the transfer of a page give -23 % and 54 points, and {100 * waits:.0f} % of the mean write of the default "
        "is waiting; table 1 is recalled, not known"
    )


def _waiting(case: Case, seed: int, kind: str) -> float | None:
    """Returns the share of a mean response that is neither sensing, programming nor transfer of the request itself."""
    row = case.run("MCW/MCR", seed).row
    causes = {name: row.get(f"causes.{kind}.{name}") for name in _OWN}
    total = sum(float(value or 0.0) for name, value in row.items() if name.startswith(f"causes.{kind}."))
    return 1.0 - sum(float(value or 0.0) for value in causes.values()) / total if total else None


#: Causes of a response that are the request itself.
_OWN = ("sense", "program", "transfer")


def figure_7(usual: Cases, about: str) -> Iterator[Claim]:
    """Yields the overall response over the default and over the rival."""
    yield value_claim(
        usual.find(less_one("AGCR", "rival")),
        -0.15,
        _WHOLE,
        words="-15 %",
        where="figure 7, abstract",
        what="overall response of AGCR over the rival, mean over the volumes",
        unit=change_text,
        headline=True,
        agrees=falls,
        note="; ".join(filter(None, (_as_sample(usual, less_one("AGCR", "rival")), _why(usual), about))),
    )
    yield value_claim(
        usual.find(less_one("AGCR", RIVALS[1])),
        -0.15,
        _WHOLE,
        words="-15 %",
        where="figure 7, abstract",
        what="overall response of AGCR over the rival with its old data at medium cost, mean over the volumes",
        unit=change_text,
        condition=_OLD_DATA,
        agrees=falls,
        note=_OLD_DATA,
    )
    yield worded_claim(
        usual.find(ratio("AGCR", "MCW/MCR")),
        ratio_text,
        where="figure 7",
        what="overall response of AGCR over the default, mean over the volumes",
        published="below 1 (bars lost)",
        high=_BELOW,
    )

    def over_best(case: Case, seed: int) -> float:
        found = [case.over("AGCR", other, "all", seed) for other in ("MCW/MCR", "rival")]
        return max(each for each in found if each is not None)

    def worst(cases: Sequence[Case], seed: int) -> float:
        return max(over_best(case, seed) for case in cases)

    yield worded_claim(
        usual.find(mean_of(over_best)),
        ratio_text,
        where="figure 7",
        what="overall response of AGCR over the better of the default and the rival, mean over the volumes",
        published="below 1 (the best overall performance)",
        high=_BELOW,
        note=f"in the volume where AGCR is worst: {ratio_text(usual.find(worst).leading.mean)}",
    )


def _as_sample(usual: Cases, quantity: Quantity) -> str:
    """Returns the interval of a mean over the leading volumes."""
    alone = [Cases((case,), ()) for case in usual.leading]
    return as_sample_text([each.find(quantity).leading.mean for each in alone], change_text)


def _why(usual: Cases) -> str:
    """Returns the reason for the overall gain: what the rival and AGCR write cheaply; empty for one cost alone."""

    def low(policy: str) -> str:
        found = usual.find(mean_of(lambda case, seed: case.run(policy, seed).share("writes", "low")))
        return share_text(found.leading.mean) if found.real or found.alike else ""

    rival, ours = low("rival"), low("AGCR")
    few = "at recorded speed few requests queue"
    return f"{few}: the rival writes {rival} of the pages at low cost, AGCR {ours}" if rival and ours else ""


def figure_8(usual: Cases, about: str) -> Iterator[Claim]:
    """Yields reads and writes over the rival's: the greatest gains, which the abstract gives."""
    reads_cheaply = (
        "the rival writes at high cost what does not queue, and finds its old data at high cost as AGCR does, so that both read "
        "at low cost"
    )
    more = "table 1 gives a write of low cost -41 % against one of high cost, which the rival does where nothing queues"
    for figure, kind, published, note in (("figure 8a", "read", -0.483, reads_cheaply), ("figure 8b", "write", -0.204, more)):
        for rival in RIVALS:
            stated = rival == RIVALS[0]
            yield value_claim(
                usual.find(least("AGCR", rival, kind)),
                published,
                _TENTH,
                words=f"up to {100 * published:.1f} %",
                where=f"{figure}, abstract, conclusion",
                what=f"{kind}s of AGCR over the {rival}: greatest gain among the volumes",
                unit=change_text,
                headline=stated,
                condition="" if stated else _OLD_DATA,
                agrees=falls,
                note="; ".join(filter(None, (note, about))) if stated else _OLD_DATA,
            )
            yield shown_claim(
                usual.find(less_one("AGCR", rival, kind)),
                change_text,
                where=figure,
                what=f"{kind}s of AGCR over the {rival}, mean over the volumes",
                published="lost",
            )


def figure_9(usual: Cases, about: str) -> Iterator[Claim]:
    """Yields the operations by cost, and the rewrites."""

    def more(kind: str, rival: str) -> Quantity:
        def less(case: Case, seed: int) -> float | None:
            pair = [case.run(policy, seed).share(kind, "low") for policy in ("AGCR", rival)]
            return None if pair[0] is None or pair[1] is None else pair[0] - pair[1]

        return mean_of(less)

    for kind, rival, note in (
        ("writes", RIVALS[0], ""),
        ("reads", RIVALS[0], "the rival, too, reads at low cost what it wrote while nothing was queued, and its old data"),
        ("reads", RIVALS[1], _OLD_DATA),
    ):
        yield worded_claim(
            usual.find(more(kind, rival)),
            points_text,
            where="figure 9, section 4.2",
            what=f"low-cost {kind} of all {kind}: AGCR's less those of the {rival}, mean over the volumes",
            published=f"considerably more (at least {points_text(_CONSIDERABLE)} [A])",
            low=_CONSIDERABLE,
            condition=note if rival == RIVALS[1] else "",
            note=note,
        )
    yield from rewriting(usual, "AGCR", about)


def rewriting(usual: Cases, policy: str, about: str) -> Iterator[Claim]:
    """Yields the rewrites of a form of AGCR. If there are none, *no more than 1 %* cannot fail."""
    rewrites = usual.find(lambda cases, seed: max(case.run(policy, seed).rewritten for case in cases))
    queued = usual.find(lambda cases, seed: max(case.run(policy, seed).queued for case in cases)).leading.mean
    reason = "no read of these volumes calls for a rewrite"
    if queued:
        reason = f"at most {queued:g} rewrites are queued in a volume, and the host writes their pages before its channel is idle"
    never = rewrites.leading.mean == 0.0
    few = worded_claim(
        rewrites,
        _hundredths,
        where="figure 9, section 4.2",
        what="rewrites of all accesses of the host: most of any volume",
        published="no more than 1 %",
        high=0.01,
        headline=True,
        note=about,
    )
    yield sanity(few, f"no page is rewritten: {reason}") if never else few
    yield worded_claim(
        rewrites,
        _hundredths,
        where="section 3.3",
        what="rewrites of all accesses of the host, most of any volume: pages that are read again are rewritten in idle time",
        published="above 0",
        low=_SOME,
        note=reason if never else "",
    )


def _hundredths(value: float) -> str:
    return f"{100 * value:.2f} %"


def beside(cases: Cases) -> Iterator[Claim | Picture]:
    """Yields how AGCR does on all of these loads, whatever they are."""
    text = f"{len(cases.leading)} traces" if cases.real else f"{len(cases.leading)} look-alikes"
    for kind in ("all", "read", "write"):
        for what, quantity, unit in (
            (f"median over {text} of any collection", _quantile(kind, 0.5), change_text),
            (f"lower quartile over {text} of any collection", _quantile(kind, 0.25), change_text),
            (f"upper quartile over {text} of any collection", _quantile(kind, 0.75), change_text),
            (f"share of {text} of any collection on which AGCR responds sooner", _sooner(kind), share_text),
        ):
            yield shown_claim(
                cases.find(quantity),
                unit,
                where="figures 7 and 8",
                what=f"{KINDS[kind]} of AGCR over the rival, {what}",
                published="–",
            )
    ordered = {kind: sorted(_ratios(cases.leading, kind, cases.leading[0].seeds[0])) for kind in ("all", "read", "write")}
    series = tuple(
        Series(KINDS[kind], [(at + 1) / len(found) for at in range(len(found))], found)
        for kind, found in ordered.items()
        if found
    )
    chart = Chart(
        title=f"AGCR over its rival on {text} of any collection",
        x=Axis("share of the traces with at most this ratio"),
        y=Axis("mean response / rival", log=True, better="lower"),
        series=series,
        marks=(Mark(1.0, "the rival"), Mark(0.85, "the paper: 0.85 overall")),
    )
    yield Picture(name="agcr-distribution", chart=chart)


def overloads(cases: Cases) -> Iterator[Claim]:
    """Yields how AGCR does on loads that exceed the drive's throughput."""
    for case in (case for case in cases.leading if case.is_overload):
        one = Cases((case,), ()) if case.load.is_trace else Cases((), (case,))
        yield shown_claim(
            one.find(less_one("AGCR", "rival")),
            change_text,
            where="figure 7",
            what=f"overall response of AGCR over the rival, {case.load.title}",
            published="–",
            note="an overload (a mean write of the default takes over 10 ms), and pages that are written once: AGCR writes what "
            "it does not know at high cost, the rival cheaply while anything waits. The work mentions no overload, and the "
            "scored means leave it out",
        )


def _ratios(cases: Sequence[Case], kind: str, seed: int) -> list[float]:
    return [each for case in cases if (each := case.over("AGCR", "rival", kind, seed)) is not None]


def _quantile(kind: str, share: float) -> Quantity:
    return lambda cases, seed: float(np.quantile(_ratios(cases, kind, seed), share)) - 1.0


def _sooner(kind: str) -> Quantity:
    return lambda cases, seed: fmean(each < 1.0 for each in _ratios(cases, kind, seed))


#: Kinds of requests in words.
KINDS = {"all": "overall response", "read": "reads", "write": "writes"}


def _pictures(cases: Sequence[Case]) -> Iterator[Picture]:
    """Yields figures 1, 7 and 8 over the default, and figure 9 as shares."""
    names = [case.load.known.name for case in cases]
    for figure, kind, what, chosen in (
        ("1a", "write", "write", ("HCW/LCR", "LCW/HCR")),
        ("1b", "read", "read", ("HCW/LCR", "LCW/HCR")),
        ("7", "all", "overall", ("AGCR", *RIVALS)),
        ("8a", "read", "read", ("AGCR", *RIVALS)),
        ("8b", "write", "write", ("AGCR", *RIVALS)),
    ):
        series = tuple(Series(policy, names, [_or_nothing(case, _over(policy, kind)) for case in cases]) for policy in chosen)
        chart = Chart(
            title=f"Figure {figure}: {what} response over that of medium costs",
            x=Axis(""),
            y=Axis("mean response / MCW/MCR", better="lower"),
            series=series,
            cases=True,
            marks=(Mark(1.0, "medium costs"),),
        )
        yield Picture(name=f"agcr-figure-{figure}", chart=chart)
    pairs = [(case, policy) for case in cases for policy in ("AGCR", "rival")]
    series = tuple(
        Series(
            f"{cost}-cost {kind}",
            [f"{case.load.known.name} {policy}" for case, policy in pairs],
            [_or_nothing(case, _of_all(policy, kind, cost)) for case, policy in pairs],
        )
        for kind in ("reads", "writes")
        for cost in COSTS
    )
    chart = Chart(
        title="Figure 9: accesses by their cost",
        x=Axis(""),
        y=Axis("share of accesses", span=(0.0, 1.0)),
        series=series,
        stacked=True,
    )
    yield Picture(name="agcr-figure-9", chart=chart)


def _or_nothing(case: Case, quantity: Callable[[Case, int], float | None]) -> float:
    """Returns the mean of a quantity over the seeds; not a number where there is none."""
    found = case.mean(quantity)
    return math.nan if found is None else found


def _over(policy: str, kind: str) -> Callable[[Case, int], float | None]:
    return lambda case, seed: case.over(policy, "MCW/MCR", kind, seed)


def _of_all(policy: str, kind: str, cost: str) -> Callable[[Case, int], float | None]:
    def share(case: Case, seed: int) -> float | None:
        run = case.run(policy, seed)
        return run.pages(kind)[cost] / max(1, run.accesses)

    return share


def _table(cases: Sequence[Case]) -> Table:
    columns = ["load", "policy", "seed", "requests", "reads", "read us", "write us", "mean us", "dies busy"]
    columns += [f"{cost}-cost {kind}" for kind in ("reads", "writes") for cost in COSTS]
    rows: list[list[object]] = []
    for case in cases:
        for policy in case.samples:
            for seed in case.seeds:
                one = case.run(policy, seed)
                row: list[object] = [case.load.title, policy, seed, one.count("all"), one.count("read")]
                row += [one.mean_us(kind) for kind in ("read", "write", "all")]
                row += [one.busy, *(one.share(kind, cost) for kind in ("reads", "writes") for cost in COSTS)]
                rows.append([*row, one.rewritten if policy == "AGCR" else None])
    return Table(
        name="agcr-figures-1-7-8-9",
        title="Figures 1 and 7 to 9: responses, and shares of costs, load by load",
        columns=(*columns, "rewrites"),
        rows=rows,
    )
