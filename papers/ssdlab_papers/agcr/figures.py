"""Figures 1, 7, 8 and 9: three schemes of fixed costs, AGCR and its rival, for each load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.agcr.loads import OF_MSR, is_of_the_paper, length, loads, note_of, note_on
from ssdlab_papers.agcr.runs import COSTS, POLICIES, RIVALS, Run, run
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Relative difference of mean response times that counts as none, since requests meet others in one run and not in the
#: other.
_SAME = 0.02
#: Mean write response above which a load exceeds the drive's throughput [us].
_OVERLOAD_US = 10_000
_OVERLOAD = (
    "an overload, and pages that are written once: AGCR writes what it does not know at high cost, and the rival cheaply while "
    "anything waits"
)
_BURSTS = (
    "most likely as a page's first write is at high cost by AGCR's rule, and what comes in a burst waits for it; against the "
    "rival a second pass of the same requests, with the pages known, shows the difference"
)
_OLD_DATA = (
    "what the rival finds on the drive is not stated: at high cost [A], as AGCR's, or at medium cost, as the default's. Of pages "
    "that are read and never written, all the difference between the two policies is this"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One load at recorded speed, under every policy of :data:`POLICIES`."""

    load: Load
    runs: dict[str, Run]

    def over(self, policy: str, other: str, kind: str = "all") -> float | None:
        """Returns a policy's mean response to ``read``, ``write`` or ``all`` over another's.

        The ratio is ``None`` without such requests.
        """
        return self.runs[policy].over(self.runs[other], kind)

    @property
    def is_overload(self) -> bool:
        """True if the load exceeds the throughput of the drive."""
        return self.runs["MCW/MCR"].write_us > _OVERLOAD_US

    @property
    def overwrites(self) -> bool:
        """True if most writes find a history of their page: under AGCR, at most half of them are at high cost."""
        return (self.runs["AGCR"].share("writes", "high") or 0.0) <= 0.5

    @property
    def read_share(self) -> float:
        """Share of reads among all requests."""
        return self.runs["MCW/MCR"].read_share


def change(ratio: float) -> str:
    """Formats a ratio as a relative change."""
    return f"{100 * (ratio - 1):+.1f} %"


def mean_over(cases: Sequence[Case], value: Callable[[Case], float | None]) -> float:
    """Returns the mean of a value over the loads that have it."""
    return fmean(found for case in cases if (found := value(case)) is not None)


def names(cases: Sequence[Case]) -> str:
    """Returns the names of the loads, separated by commas."""
    return ", ".join(case.load.known.name for case in cases)


def measured(setting: Setting) -> list[Case]:
    """Runs every load under every policy."""

    def case(load: Load) -> Case:
        workload = load.workload(length(setting, load))
        return Case(load, {policy: run(workload, policy) for policy in POLICIES})

    return setting.share_out("figures 1 and 7 to 9", case, loads(setting))


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the figures, their means, and the mechanisms behind them."""
    cases = measured(setting)
    whole = is_of_the_paper(setting, [case.load for case in cases])
    yield from _figure_1(cases, whole)
    yield from _figure_7(cases, whole)
    yield from _figure_8(cases, whole)
    yield from _mechanisms(cases)
    yield from _figure_9(cases)
    yield from _pictures(cases)
    yield _table(cases)


def _figure_1(cases: Sequence[Case], whole: bool) -> Iterator[Entry]:
    """Yields the means over the loads, and the order of the three schemes."""

    def ratio(scheme: str, kind: str) -> float:
        return mean_over(cases, lambda case: case.over(scheme, "MCW/MCR", kind))

    for what, published, value, low, high in (
        ("reads of HCW/LCR over the default", "-54 %", ratio("HCW/LCR", "read") - 1, -0.60, -0.45),
        ("writes of LCW/HCR over the default", "-26 %", ratio("LCW/HCR", "write") - 1, -0.30, -0.20),
        ("reads of LCW/HCR less HCW/LCR", "114 points", ratio("LCW/HCR", "read") - ratio("HCW/LCR", "read"), 0.85, 1.45),
        ("writes of HCW/LCR less LCW/HCR", "61 points", ratio("HCW/LCR", "write") - ratio("LCW/HCR", "write"), 0.45, 0.75),
    ):
        yield Entry(
            work="AGCR",
            where="figure 1, section 2.3",
            what=f"{what}, mean over the loads",
            published=published,
            standing="stated",
            ours=value,
            shown=f"{100 * value:+.1f} " + ("points" if "less" in what else "%"),
            low=low if whole else None,
            high=high if whole else None,
            note="" if whole else note_of([case.load for case in cases]),
        )
    for kind, schemes, which, chosen in (
        ("reads", ("HCW/LCR", "MCW/MCR", "LCW/HCR"), "all loads", [case for case in cases if case.runs["MCW/MCR"].reads]),
        (
            "writes",
            ("LCW/HCR", "MCW/MCR", "HCW/LCR"),
            "loads that write more than they read",
            [case for case in cases if case.read_share < 0.5],
        ),
    ):
        ordered = [case for case in chosen if _in_order(case, schemes, kind.removesuffix("s"))]
        yield Entry(
            work="AGCR",
            where="figure 1, section 2.3",
            what=f"loads in which {kind} take longer from {schemes[0]} to {schemes[1]} to {schemes[2]}, of {which}",
            published="all",
            standing="stated",
            ours=len(ordered) / len(chosen),
            shown=f"{len(ordered)} of {len(chosen)}",
            low=1.0,
            high=1.0,
            note="the drive serves reads first, and a slow read holds the channel on which a write's data waits: where reads "
            "prevail, writes of low cost can end later than those of medium cost"
            if kind == "writes"
            else "",
        )


def _in_order(case: Case, schemes: Sequence[str], kind: str) -> bool:
    times = [case.runs[scheme].mean_us(kind) for scheme in schemes]
    return times == sorted(set(times))


def _figure_7(cases: Sequence[Case], whole: bool) -> Iterator[Entry]:
    """Yields the overall response over the default and over the rival."""
    usual = [case for case in cases if not case.is_overload]
    ours = mean_over(usual, lambda case: case.over("AGCR", "MCW/MCR"))
    note = note_of([case.load for case in usual])
    parts = ("" if whole else note, _BURSTS if ours > 1.0 else "")
    yield Entry(
        work="AGCR",
        where="figure 7",
        what="mean response of AGCR over the default, mean over the loads",
        published="below 1",
        standing="stated",
        ours=ours,
        shown=f"{ours:.3f} ({_spread(usual, 'MCW/MCR', 'all')})",
        low=0.0,
        high=1.0,
        note=". ".join(filter(None, parts)),
    )
    for rival in RIVALS:
        for which, chosen in (("", usual), (" of MSR Cambridge", [case for case in usual if case.load.name in OF_MSR])):
            if not chosen:
                continue
            mean = mean_over(chosen, lambda case, rival=rival: case.over("AGCR", rival))  # type: ignore[misc]
            yield Entry(
                work="AGCR",
                where="figure 7, abstract",
                what=f"mean response of AGCR over the {rival}, mean over the loads{which}",
                published="-15 %",
                standing="stated",
                ours=mean - 1,
                shown=f"{change(mean)} ({_spread(chosen, rival, 'all')})",
                low=-0.25 if whole else None,
                high=-0.05 if whole else None,
                note=_OLD_DATA if whole else f"{note}. {_OLD_DATA}",
            )
    for case in (case for case in cases if case.is_overload):
        yield Entry(
            work="AGCR",
            where="figure 7",
            what=f"mean response of AGCR over the rival, {case.load.title}",
            published="– (no overload is mentioned)",
            standing="stated",
            ours=(case.over("AGCR", "rival") or 1.0) - 1,
            shown=" / ".join(change(case.over("AGCR", rival) or 1.0) for rival in RIVALS) + " (old data at high / medium cost)",
            note=". ".join(filter(None, (note_on(case.load), _OVERLOAD))),
        )


def _spread(cases: Sequence[Case], other: str, kind: str) -> str:
    """Formats the smallest and the greatest change, with the names of their loads."""
    found = [(ratio, case) for case in cases if (ratio := case.over("AGCR", other, kind)) is not None]
    parts = [pick(found, key=lambda each: each[0]) for pick in (min, max)]
    return " to ".join(f"{case.load.known.name} {change(ratio)}" for ratio, case in parts)


def _figure_8(cases: Sequence[Case], whole: bool) -> Iterator[Entry]:
    """Yields reads and writes over the rival's: the means, and the greatest gains, which the abstract gives."""
    usual = [case for case in cases if not case.is_overload]
    for figure, kind, published, low, high in (
        ("figure 8a", "read", "-48.3 %", -0.60, -0.35),
        ("figure 8b", "write", "-20.4 %", -0.30, -0.10),
    ):
        for rival in RIVALS:
            mean = mean_over(usual, lambda case, kind=kind, rival=rival: case.over("AGCR", rival, kind))  # type: ignore[misc]
            best = min(found for case in usual if (found := case.over("AGCR", rival, kind)) is not None)
            yield Entry(
                work="AGCR",
                where=f"{figure}, abstract",
                what=f"{kind}s of AGCR over the {rival}: greatest gain of a load",
                published=f"up to {published}",
                standing="stated",
                ours=best - 1,
                shown=f"{change(best)} (mean {change(mean)}; {_spread(usual, rival, kind)})",
                low=low if whole else None,
                high=high if whole else None,
                note=_OLD_DATA if whole else f"{note_of([case.load for case in usual])}. {_OLD_DATA}",
            )


def _mechanisms(cases: Sequence[Case]) -> Iterator[Entry]:
    """Yields relations that must hold on any load.

    Loads that mostly read get cheaper reads, and loads that overwrite get cheaper writes.
    """
    usual = [case for case in cases if not case.is_overload]
    reading = [case for case in usual if case.read_share >= 0.5]
    overwriting = [case for case in usual if case.overwrites and case.read_share < 1]
    fresh = [case for case in usual if not case.overwrites]
    for chosen, kind, rival, what, published, limit, note in (
        (reading, "read", RIVALS[1], "reads, loads that mostly read", "below 1: low-cost reads", 1.0, _OLD_DATA),
        (reading, "read", RIVALS[0], "reads, loads that mostly read", "at most 1", 1 + _SAME, _OLD_DATA),
        (
            overwriting,
            "write",
            RIVALS[0],
            "writes, loads that mostly write what they have accessed before",
            "below 1: low-cost writes",
            1.0,
            "",
        ),
    ):
        if not chosen:
            continue
        worst = max(ratio for case in chosen if (ratio := case.over("AGCR", rival, kind)) is not None)
        yield Entry(
            work="AGCR",
            where="sections 3.3 and 4.2",
            what=f"{what}: AGCR over the {rival}, worst of {names(chosen)}",
            published=published,
            standing="derived",
            ours=worst,
            shown=f"{worst:.3f}",
            low=0.0,
            high=limit,
            note=note,
        )
    if fresh:
        mean = mean_over(fresh, lambda case: case.over("AGCR", "rival", "write"))
        first = mean_over(fresh, lambda case: case.runs["AGCR"].share("writes", "high"))
        yield Entry(
            work="AGCR",
            where="sections 3.3 and 4.2",
            what=f"writes, loads that mostly write what they have not: AGCR over the rival, mean of {names(fresh)}",
            published="below 1",
            standing="stated",
            ours=mean,
            shown=f"{mean:.3f} ({_spread(fresh, 'rival', 'write')})",
            note=f"not so in bursts: a page's first write, {percent(first)} of these loads' page writes, is at high cost, "
            "while the rival writes cheaply. These are parts of traces, of hours and less; in the paper's week a page is written "
            "many times: see the second pass",
        )


def _figure_9(cases: Sequence[Case]) -> Iterator[Entry]:
    """Yields the operations by cost, and the rewrites."""
    usual = [case for case in cases if not case.is_overload]
    overwriting = [case for case in usual if case.overwrites]
    for kind, rival, chosen, note in (
        ("writes", RIVALS[0], overwriting, "of loads that mostly write what they have accessed before"),
        ("reads", RIVALS[1], usual, _OLD_DATA),
    ):
        if not chosen:
            continue
        more = [
            (case.runs["AGCR"].share(kind, "low") or 0.0) - (case.runs[rival].share(kind, "low") or 0.0)
            for case in chosen
            if case.runs["AGCR"].share(kind, "low") is not None
        ]
        yield Entry(
            work="AGCR",
            where="figure 9",
            what=f"low-cost {kind}, of all {kind}: AGCR's less those of the {rival}, mean of {names(chosen)}",
            published="considerably more",
            standing="stated",
            ours=fmean(more),
            shown=f"{100 * fmean(more):+.1f} points ({100 * min(more):+.1f} to {100 * max(more):+.1f})",
            low=0.0,
            high=1.0,
            note=note,
        )
    yield from _rival_reads(usual)
    for which, chosen, asserted in (
        ("of MSR Cambridge", [case for case in cases if case.load.name in OF_MSR], True),
        ("of others", [case for case in cases if case.load.name not in OF_MSR], False),
    ):
        if not chosen:
            continue
        worst = max(chosen, key=lambda case: case.runs["AGCR"].rewritten)
        ours = worst.runs["AGCR"].rewritten
        yield Entry(
            work="AGCR",
            where="figure 9, section 4.2",
            what=f"rewrites, of all accesses of the host: most of any load {which}",
            published="no more than 1 %",
            standing="stated",
            ours=ours,
            shown=f"{percent(ours)} ({worst.load.known.name})",
            low=0.0 if asserted else None,
            high=0.01 if asserted else None,
            note=""
            if asserted
            else "a page that is written twice and then read is rewritten: there are as many such pages as there are "
            "interleaved ones (figure 2), of which these loads have more than the paper's",
        )


def _rival_reads(usual: Sequence[Case]) -> Iterator[Entry]:
    """Yields AGCR's low-cost reads less those of the rival whose old data is at high cost.

    That rival reads at low cost all data, except what it wrote while requests were waiting.
    """
    more = [
        (case.runs["AGCR"].share("reads", "low") or 0.0) - (case.runs["rival"].share("reads", "low") or 0.0)
        for case in usual
        if case.runs["AGCR"].page_reads
    ]
    yield Entry(
        work="AGCR",
        where="figure 9",
        what=f"low-cost reads, of all reads: AGCR's less those of the rival, mean of {names(usual)}",
        published="considerably more",
        standing="stated",
        ours=fmean(more),
        shown=f"{100 * fmean(more):+.1f} points ({100 * min(more):+.1f} to {100 * max(more):+.1f})",
        note="not so: at recorded speed hardly anything waits, so that the rival writes nearly everything at high cost and reads "
        "it at low cost, old data included; it pays for that with its writes. See the speeds below",
    )


def _pictures(cases: Sequence[Case]) -> Iterator[Picture]:
    """Yields figures 1, 7 and 8 over the default, and figure 9 as shares."""
    names = [case.load.known.name for case in cases]
    nothing = float("nan")
    for figure, kind, what, policies in (
        ("1a", "write", "write", ("HCW/LCR", "LCW/HCR")),
        ("1b", "read", "read", ("HCW/LCR", "LCW/HCR")),
        ("7", "all", "overall", ("AGCR", *RIVALS)),
        ("8a", "read", "read", ("AGCR", *RIVALS)),
        ("8b", "write", "write", ("AGCR", *RIVALS)),
    ):
        series = tuple(
            Series(
                policy,
                names,
                [ratio if (ratio := case.over(policy, "MCW/MCR", kind)) is not None else nothing for case in cases],
            )
            for policy in policies
        )
        chart = Chart(
            title=f"Figure {figure}: {what} response over that of medium costs",
            x=Axis(""),
            y=Axis("mean response / MCW/MCR", better="lower"),
            series=series,
            cases=True,
            marks=(Mark(1.0, "medium costs"),),
        )
        yield Picture(name=f"agcr-figure-{figure}", chart=chart)
    series = tuple(
        Series(
            f"{cost}-cost {kind}",
            [f"{case.load.known.name} {policy}" for case in cases for policy in ("AGCR", "rival")],
            [_of_all(case.runs[policy], kind, cost) for case in cases for policy in ("AGCR", "rival")],
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


def _of_all(run: Run, kind: str, cost: str) -> float:
    counts = run.page_reads if kind == "reads" else run.page_writes
    return counts[cost] / max(1, run.accesses)


def _table(cases: Sequence[Case]) -> Table:
    columns = ["load", "policy", "requests", "reads", "read us", "write us", "mean us", "dies busy"]
    columns += [f"{cost}-cost {kind}" for kind in ("reads", "writes") for cost in COSTS]
    rows: list[list[object]] = []
    for case in cases:
        for policy, one in case.runs.items():
            row: list[object] = [case.load.title, policy, one.reads + one.writes, one.reads]
            row += [one.read_us, one.write_us, one.all_us, one.busy]
            row += [one.share(kind, cost) for kind in ("reads", "writes") for cost in COSTS]
            rows.append([*row, one.rewritten if policy == "AGCR" else None])
    return Table(
        name="agcr-figures-1-7-8-9",
        title="Figures 1 and 7 to 9: responses, and shares of costs, load by load",
        columns=(*columns, "rewrites"),
        rows=rows,
    )
