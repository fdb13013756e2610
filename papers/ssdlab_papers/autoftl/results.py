"""Figures 9 to 12: lifetime, throughput, erase voltages and erase speeds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.autoftl.runs import (
    CONFIGURATIONS,
    ENTERPRISE,
    LEVELS,
    MOBILE,
    POLICIES,
    Case,
    Configuration,
    Life,
    Replay,
    live,
    replay,
)
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting

#: The two busy traces: figure 9's labels, read with the text (FACTS 4.1), give a gain below 50 % for both without
#: telling which label belongs to which.
_BUSY = ("proj_0", "src1_2")
_UNSETTLED = "some intervals of wear had not settled after 20 rounds"
#: Tolerance of a gain in MAX P/E, 1 being 100 %: the paper's model is lost and only known within bounds (FACTS 4.2).
_POINTS = 0.12
#: Lowest relative throughput that the paper measured.
_THROUGHPUT = 0.978
#: Share of lazy erases up to which they count as rare [A].
_RARE = 0.10
#: Requests of one replay of a look-alike, in full and in quick runs.
_REPLAYED, _REPLAYED_QUICK = 120_000, 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """Results of one load."""

    case: Case
    lives: Mapping[str, Life]
    replays: Mapping[str, Replay]

    @property
    def gain(self) -> float:
        """AutoFTL's gain in MAX P/E over the baseline, whose erases are all nominal."""
        return self.lives["autoftl"].max_pe - 1.0

    @property
    def by_slow_erases(self) -> float:
        """Relative increase of MAX P/E by slow erases."""
        return self.lives["autoftl"].max_pe / self.lives["autoftl_minus"].max_pe - 1.0

    @property
    def throughput(self) -> float:
        """AutoFTL's write throughput over the baseline's."""
        return self.replays["autoftl"].throughput / self.replays["baseline"].throughput

    @property
    def delay_ns(self) -> float:
        """Increase of a write's mean wait for the buffer under autoFTL [ns]."""
        return self.replays["autoftl"].delay_ns - self.replays["baseline"].delay_ns


def entries(found: Sequence[Found]) -> Iterator[Entry | Picture | Table]:
    """Yields the results of every load on its drive, the means, and the mechanisms that the text states."""
    for one in found:
        yield from _of_load(one)
    for on in CONFIGURATIONS:
        yield from _of_drive(on, [one for one in found if one.case.on is on])
    yield from _mechanisms(found)
    yield _table(found)
    yield _picture_of_gains(found)
    yield _picture_of_levels(found)


def lives(used: Sequence[Case]) -> list[Callable[[], Life]]:
    """Returns the lifetime runs, load by load."""
    return [partial(live, case, policy) for case in used for policy in POLICIES]


def measure(setting: Setting, used: Sequence[Case], worn: Sequence[Life]) -> list[Found]:
    """Replays all loads, and returns the results together with those of :func:`lives`."""
    requests = _REPLAYED_QUICK if setting.quick else _REPLAYED
    pieces = [(case, policy) for case in used for policy in ("baseline", "autoftl")]
    replays = setting.share_out("replays", lambda piece: replay(*piece, _length(piece[0], requests)), pieces)
    return [
        Found(
            case,
            dict(zip(POLICIES, worn[2 * index : 2 * index + 2], strict=True)),
            dict(zip(("baseline", "autoftl"), replays[2 * index : 2 * index + 2], strict=True)),
        )
        for index, case in enumerate(used)
    ]


def _length(case: Case, requests: int) -> int | None:
    """Returns the requests of a replay: `requests` of a look-alike; ``None`` for a file, which is played once."""
    return None if case.load.is_trace else requests


def _of_load(found: Found) -> Iterator[Entry]:
    """Yields the entries of one load."""
    case, life = found.case, found.lives["autoftl"]
    published, low, high = _expected(case)
    where = f"{case.title}, {case.on.name} drive"
    yield Entry(
        work="autoFTL",
        where="figures 9, 12b",
        what=f"MAX P/E over the baseline, {where}",
        published=published,
        standing="stated",
        ours=found.gain,
        shown=f"{found.gain:+.0%} (without slow erases {found.lives['autoftl_minus'].max_pe - 1:+.0%})",
        low=low,
        high=high,
        note="; ".join(part for part in (case.load.note, "" if life.steady else _UNSETTLED) if part),
    )
    yield Entry(
        work="autoFTL",
        where="figures 11, 12a",
        what=f"erases at EV0, 1, 2, 3, 4; slow ones; lazy ones: {where}",
        published="figure lost; lazy ones rare" + ("; slow 90 to 95 %" if case.load.name in _BUSY else ""),
        standing="stated",
        ours=life.mean_level,
        shown=f"{' '.join(percent(life.at_level(level)) for level in LEVELS)}; {percent(life.slow)}; {percent(life.lazy)}",
        note=case.load.note,
    )


def _expected(case: Case) -> tuple[str, float | None, float | None]:
    """Returns the published value of a load, and the range to meet, which only the paper's own whole traces have."""
    if case.on is MOBILE:
        return "+39 % and +37 % for its own", None, None
    if case.load.name not in case.on.of_the_paper:
        return "+48 to +82 % for its own", None, None
    published = (0.48, 0.50) if case.load.name in _BUSY else (0.76, 0.82)
    words = f"{published[0]:+.0%} to {published[1]:+.0%}"
    if not case.load.is_whole:
        return words, None, None
    return words, published[0] - _POINTS, published[1] + _POINTS


def _of_drive(on: Configuration, found: Sequence[Found]) -> Iterator[Entry]:
    """Yields the mean gain, the lowest throughput and the longest added wait of the loads of one drive."""
    if not found:
        return
    whole = [one for one in found if one.case.load.is_whole]
    complete = len(on.of_the_paper) > 0 and len(whole) == len(on.of_the_paper)
    mean = fmean(one.gain for one in whole or found)
    note = "" if complete else found[0].case.load.note
    yield Entry(
        work="autoFTL",
        where="figure 9",
        what=f"MAX P/E over the baseline, mean of the loads, {on.name} drive",
        published=f"{on.gain:+.0%}",
        standing="stated",
        ours=mean,
        shown=f"{mean:+.0%}",
        low=on.gain - _POINTS if complete else None,
        high=on.gain + _POINTS if complete else None,
        note=note,
    )
    least = min(found, key=lambda one: one.throughput)
    yield Entry(
        work="autoFTL",
        where="figure 10",
        what=f"least write throughput over the baseline's, {on.name} drive",
        published="-2.17 % at most" if on is ENTERPRISE else "-0.09 % at most",
        standing="stated",
        ours=least.throughput,
        shown=f"{least.throughput - 1:+.2%} ({least.case.title})",
        low=_THROUGHPUT if complete else None,
        high=1.05 if complete else None,
        note=note,
    )
    most = max(found, key=lambda one: one.delay_ns)
    yield Entry(
        work="autoFTL",
        where="section 5.3",
        what=f"longest mean wait for the buffer that autoFTL adds to a write, {on.name} drive",
        published="2.6 us (src1_2), 0.1 us (stg_0)" if on is ENTERPRISE else "negligible",
        standing="stated",
        ours=most.delay_ns,
        shown=f"{most.delay_ns / 1000:.1f} us ({most.case.title}; the baseline's "
        f"{most.replays['baseline'].delay_ns / 1000:.1f} us)",
        note=note,
    )


def _mechanisms(found: Sequence[Found]) -> Iterator[Entry]:
    """Yields relations that must hold on any load."""
    pairs = [
        (slow, fast)
        for slow in found
        for fast in found
        if slow.case.load is fast.case.load and slow.case.on is fast.case.on and slow.case.speed < fast.case.speed
    ]
    if pairs:
        least = min(slow.gain - fast.gain for slow, fast in pairs)
        yield Entry(
            work="autoFTL",
            where="section 5.2",
            what="longer gaps, more gain: least difference between a load and the same one faster",
            published="improvement proportional to inter-arrival times",
            standing="stated",
            ours=least,
            shown=f"{100 * least:+.1f} points over {len(pairs)} pairs",
            # Two rounds of an extrapolated life agree only within 3 %.
            low=-0.03,
            high=1.0,
        )
    # A lazily erased block wears as in its deeper mode. Where lazy erases are rare, this does not show.
    plain = [one for one in found if one.lives["autoftl_minus"].lazy <= _RARE]
    ranked = sorted(plain, key=lambda one: one.lives["autoftl_minus"].mean_level)
    gains = [one.lives["autoftl_minus"].max_pe for one in ranked]
    falls = max((before - after for before, after in itertools.pairwise(gains)), default=0.0)
    yield Entry(
        work="autoFTL",
        where="figures 9, 11",
        what="the lower the voltages used, the higher the gain: largest fall of MAX P/E in that order, without slow erases where "
        "lazy ones are rare",
        published="exact correspondence",
        standing="stated",
        ours=falls,
        shown=f"{falls:.3f}",
        low=-1.0,
        high=0.03,
    )
    lazy = max(found, key=lambda one: one.lives["autoftl"].lazy)
    yield Entry(
        work="autoFTL",
        where="section 5.3",
        what="lazy erases, largest share of all loads",
        published="rarely used",
        standing="stated",
        ours=lazy.lives["autoftl"].lazy,
        shown=f"{percent(lazy.lives['autoftl'].lazy)} ({lazy.case.title})",
        low=0.0,
        high=_RARE,
        note="most where idle times alternate with bursts that fill the buffer: what was erased by the mean of the past "
        "is too shallow for the burst",
    )
    slow = max(found, key=lambda one: one.by_slow_erases)
    yield Entry(
        work="autoFTL",
        where="figure 12b",
        what="what slow erases add to MAX P/E, most of all loads",
        published="up to 18 %",
        standing="stated",
        ours=slow.by_slow_erases,
        shown=f"{slow.by_slow_erases:+.1%} ({slow.case.title})",
        low=0.02,
        # Slow over fast erases at EV0, where they differ most (FACTS 4.2): 1.36 / 1.13.
        high=0.21,
    )


def _table(found: Sequence[Found]) -> Table:
    """Returns the table of all loads."""
    columns = ["load", "drive", "MAX P/E", "MAX P/E without slow erases", "write throughput / baseline", "wait added us"]
    columns += [f"EV{index}" for index in range(len(LEVELS))]
    columns += ["slow erases", "lazy erases", "write amplification", "steady"]
    return Table(
        name="autoftl-results",
        title="Figures 9 to 12 for every load",
        columns=tuple(columns),
        rows=[
            (
                one.case.title,
                one.case.on.name,
                one.lives["autoftl"].max_pe,
                one.lives["autoftl_minus"].max_pe,
                one.throughput,
                one.delay_ns / 1000,
                *(one.lives["autoftl"].at_level(level) for level in LEVELS),
                one.lives["autoftl"].slow,
                one.lives["autoftl"].lazy,
                one.lives["autoftl"].amplification,
                one.lives["autoftl"].steady,
            )
            for one in found
        ],
    )


def _picture_of_gains(found: Sequence[Found]) -> Picture:
    """Returns figure 9: MAX P/E load by load."""
    names = [one.case.name for one in found]
    chart = Chart(
        title="Figures 9 and 12b: MAX P/E over the baseline",
        x=Axis(""),
        y=Axis("MAX P/E / baseline", span=(0.0, 2.0), better="higher"),
        series=tuple(Series(policy, names, [one.lives[policy].max_pe for one in found]) for policy in POLICIES),
        marks=(
            Mark(1.0 + ENTERPRISE.gain, "the paper, enterprise: +69 %"),
            Mark(1.0 + MOBILE.gain, "the paper, mobile: +38 %"),
        ),
        cases=True,
    )
    return Picture(name="autoftl-figure-9", chart=chart)


def _picture_of_levels(found: Sequence[Found]) -> Picture:
    """Returns figure 11: erase voltages load by load."""
    names = [one.case.name for one in found]
    chart = Chart(
        title="Figure 11: erase voltage modes under autoFTL",
        x=Axis(""),
        y=Axis("share of erases", span=(0.0, 1.0)),
        series=tuple(Series(level.upper(), names, [one.lives["autoftl"].at_level(level) for one in found]) for level in LEVELS),
        stacked=True,
        ordered=True,
    )
    return Picture(name="autoftl-figure-11", chart=chart)
