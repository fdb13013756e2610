"""Figures 2.7 to 2.20, table 2.2: read retry, and which architectures a SATA III link masks its cost with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ssdlab.cell import ask, rber
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, rises, set_apart, statement, taken, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import SPECS, WORK, run_sweep
from ssdlab_papers.sweeps import Points, curve

_DRIVES = ("retry-c1", "retry-c2", "retry-c3", "retry-c4")
_RATE, _BANDWIDTH = "ecc.errors.rates[0]", "throughput.read_bytes_per_s"
#: Drop of the read bandwidth at point B of figure 2.14.
_DROP_B = 0.10
#: Loss that figure 2.20 does not show.
_VISIBLE = 0.01
#: Error rates near the points A and B, at which single reads are looked at.
_AT_A, _AT_B = 2.05e-3, 2.16e-3
#: Share of reads from which on something occurs at all: that is no change, and has no threshold.
_SOME = 1e-6
#: Smallest share of uncorrectable pages that is drawn.
_LEAST_SHARE = 1e-8
_LOAD = "random reads of 16 KiB, depth 256, no host interface"
#: Errors up to which the fast Chien search serves a codeword, beside the 8 of the preset. The thesis says "a relatively
#: small number"; the code corrects 100, and codewords have 71 at A and 75 at B on average.
_FAST_ERRORS = (60, 70, 74, 80)
#: Why a drive behind a link is not what figure 2.20 shows.
_LINE = (
    "the thesis draws the link's bandwidth as a line over the curve of a drive without an interface, at depth 256; ours is the "
    "drive behind the link, with 32 commands, all of which may wait for failing pages. Its comparison on our curves is the "
    "input above: the transfer rate is derived from it"
)
_COST = (
    "a failing page costs 15 mean page slots of the channel, calibrated so that 0.6 to 0.8 % of failing reads cost 10 % "
    "(which is this very statement)"
)


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 2.3.1, with the figures."""
    yield from _measured_curves()
    yield from _error_curves()
    points, behind = run_sweep(setting, "retry"), run_sweep(setting, "retry_sata")
    yield from _drops(points)
    yield from _single_reads(setting)
    yield from _link(points, behind)
    yield _table(points, behind)
    yield from _pictures(points, behind)


def _measured_curves() -> Iterator[Claim]:
    yield untestable(
        work=WORK,
        where="figures 2.7 to 2.12",
        what="measured error rates and shares of uncorrectable pages of a 2X MLC, by cycles and by retention",
        published="curves without numbers",
        note="the curves are not digitised anywhere (FACTS 5.4), and contradict table 2.4: after read retry figure 2.11 has no "
        "uncorrectable page up to twice the rated cycles, while sample A of the same node sustains 6,000 of its 9,000",
    )


def _error_curves() -> Iterator[Picture]:
    """Yields figures 2.7, 2.8, 2.9 and 2.11 with the error rates that we have: two laws, which are no measurements."""
    cycles = [500, 1000, 2000, 3000, 4500, 6000, 7500, 9000, 12000, 15000, 18000]
    series, failing = [], []
    for part, age, name in (
        ("thesis-a-mlc", "0s", "A-MLC, through table 2.4"),
        ("mlc-2y", "0s", "2Y MLC, power law of FAST 2019"),
        ("mlc-2y", "90d", "2Y MLC after 90 days"),
    ):
        rates = [float(row[0]) for row in np.atleast_2d(rber(part, pe=cycles, age=[age]).worst)]
        series.append(Series(name, [float(one) for one in cycles], rates))
        points = ask("protection", cell="thesis-a-mlc", rber=rates)["points"]
        shares = [100.0 * point["page_failure"] if point["page_failure"] > _LEAST_SHARE else math.nan for point in points]
        failing.append(Series(f"{name}, first read", [float(one) for one in cycles], shares))
    marks = (Mark(9000, "rated", on="x"), Mark(6000, "table 2.4", on="x"))
    x = Axis("program and erase cycles")
    rate = Axis("raw bit error rate", log=True)
    yield Picture(
        name="ssdexplorer-errors-cycles",
        chart=Chart(title="Figure 2.7: error rates by cycles", x=x, y=rate, series=tuple(series), marks=marks),
    )
    share = Axis("uncorrectable pages [%]", log=True, better="lower")
    chart = Chart(
        title="Figure 2.9: uncorrectable pages by cycles, 100 errors in 4320 B", x=x, y=share, series=tuple(failing), marks=marks
    )
    yield Picture(name="ssdexplorer-errors-pages", chart=chart)
    days = [1, 3, 7, 14, 30, 60, 90]
    aged = np.atleast_2d(rber("mlc-2y", pe=[1000, 3000, 5000], age=[f"{day}d" for day in days]).worst)
    curves = [
        Series(f"{pe:,} cycles", [float(day) for day in days], [float(rate) for rate in row])
        for pe, row in zip((1000, 3000, 5000), aged, strict=True)
    ]
    chart = Chart(
        title="Figure 2.8: error rates by retention, power law of FAST 2019",
        x=Axis("days", log=True),
        y=rate,
        series=tuple(curves),
        ordered=True,
    )
    yield Picture(name="ssdexplorer-errors-retention", chart=chart)


def drop_point(points: Points, drive: str, drop: float) -> Estimate:
    """Returns the error rate at which a drive has lost a share of its read bandwidth, interpolated seed by seed."""
    rates = points.values(_RATE)
    by_rate = [points.at({"drive": drive, _RATE: rate}) for rate in rates]
    found = []
    for seed in by_rate[0]:
        lost = [1.0 - rows[seed][_BANDWIDTH] / by_rate[0][seed][_BANDWIDTH] for rows in by_rate]
        found.append(float(np.interp(drop, lost, rates)))
    return estimate(found)


def _failing(points: Points, drive: str, rate: float) -> Estimate:
    """Returns the share of reads that fail at an error rate, interpolated between those of the sweep."""
    rates = points.values(_RATE)
    shares = [points.at({"drive": drive, _RATE: one}) for one in rates]
    return estimate(
        [
            float(np.interp(rate, rates, [rows[seed]["reliability.retries"] / rows[seed]["commands.read"] for rows in shares]))
            for seed in shares[0]
        ]
    )


def _drops(points: Points) -> Iterator[Claim]:
    """Yields figures 2.14 and 2.19."""
    at_b = drop_point(points, "retry-c1", _DROP_B)
    failing = _failing(points, "retry-c1", at_b.mean)
    yield taken(
        failing,
        work=WORK,
        where="section 2.3.1 A",
        what="share of uncorrectable page reads that costs 10 % of the read bandwidth",
        published="0.6 to 0.8 %",
        unit=lambda share: f"{100 * share:.2f} % at an error rate of {at_b.mean:.4g}",
        note=_COST,
        load=_LOAD,
    )
    order = [points.estimate(_BANDWIDTH, {"drive": drive, _RATE: 1e-4}, 1e6).mean for drive in _DRIVES]
    yield statement(
        min(after / before for before, after in pairwise(order)),
        " < ".join(f"{value:.0f}" for value in order) + " MB/s",
        work=WORK,
        where="figure 2.19",
        what="read bandwidth of C1 to C4 at the beginning of life: smallest ratio of one to the one before",
        published="more channels, more bandwidth",
        low=1.0 + NOTICEABLE,
        seeds=at_b.count,
        load=_LOAD,
    )
    all_b = [drop_point(points, drive, _DROP_B).mean for drive in _DRIVES]
    yield statement(
        max(all_b) / min(all_b),
        ", ".join(f"{rate:.3g}" for rate in all_b),
        work=WORK,
        where="figure 2.19",
        what="error rate of C1 to C4 at a drop of 10 %: ratio of the largest to the smallest",
        published="in the same order of magnitude",
        high=10.0,
        seeds=at_b.count,
        load=_LOAD,
        note="they agree within a percent: what fails is a property of the pages, and each channel loses the same share",
    )


def _single_reads(setting: Setting) -> Iterator[Claim]:
    """Yields figures 2.15 to 2.18: distributions of decoding and reading times at points A and B."""
    found = {name: _times(setting, rate) for name, rate in (("start", 1e-4), ("A", _AT_A), ("B", _AT_B))}
    common: dict[str, Any] = {"work": WORK, "load": _LOAD, "seeds": 1}
    ratio = float(found["A"]["decode"].mean() / found["A"]["sense"].mean())
    reading = statement(
        ratio,
        f"{found['A']['decode'].mean() / 1e3:.2f} us against {found['A']['sense'].mean() / 1e3:.0f} us: {ratio:.3f}",
        where="figures 2.15, 2.16",
        what="correction time over reading time of the flash at point A",
        published="one order of magnitude lower",
        low=10**-1.5,
        high=10**-0.5,
        **common,
    )
    yield set_apart(
        reading,
        "derived",
        "the cell laboratory scores the same comparison (section 2.3.1, figures 2.15 and 2.16), of one codeword of the same "
        "decoder; here of 16 KiB pages, whose codewords are decoded as they arrive",
    )
    yield _broadening(setting, found["A"], found["B"], common)
    retried = {name: float((times["retry"] > 0).mean()) for name, times in found.items()}
    longest = found["B"]["retry"].max() / 1e6 if retried["B"] else 0.0
    yield statement(
        retried["B"] - retried["start"],
        f"{100 * retried['start']:.2f} % of the reads at first, {100 * retried['B']:.2f} % at B, the longest {longest:.1f} ms",
        where="figure 2.18",
        what="reads with a further contribution, the execution of read retry: share at B less that at the beginning of life",
        published="present at B",
        low=_SOME,
        **common,
    )


def _times(setting: Setting, rate: float, **decoder: object) -> dict[str, np.ndarray]:
    """Returns the times of reads at an error rate by cause [ns].

    Args:
        setting: The setting.
        rate: Raw bit error rate.
        decoder: Fields of the decoder that are not those of the preset.
    """
    changes: dict[str, Any] = {_RATE.removesuffix("[0]"): [rate], "flash.blocks_per_plane": 256}
    if decoder:
        changes["ecc.decoder.decoder"] = {"kind": "bch", **decoder}
    commands = 12_500 if setting.quick else 50_000
    log = run("retry-c1", str(SPECS / "pages.fio"), set=changes, stop_after=commands, record_commands=True).command_table()
    assert log is not None
    return {cause: np.array(log[f"{cause}_ns"]) for cause in ("decode", "sense", "retry")}


def _broadening(setting: Setting, at_a: dict[str, np.ndarray], at_b: dict[str, np.ndarray], common: dict[str, Any]) -> Claim:
    """Returns the claim of figure 2.17, with the limits of the fast Chien search at which it holds."""
    spread = (float(at_a["decode"].std()), float(at_b["decode"].std()))
    others = {}
    for most in _FAST_ERRORS:
        others[most] = tuple(float(_times(setting, rate, fast_errors=most)["decode"].std()) for rate in (_AT_A, _AT_B))
    early = tuple(float(_times(setting, rate, early_end=True)["decode"].std()) for rate in (_AT_A, _AT_B))
    return broader(spread, others, early, common)


def broader(
    spread: tuple[float, float], others: Mapping[int, tuple[float, ...]], early: tuple[float, ...], common: Mapping[str, Any]
) -> Claim:
    """Returns the claim that correction times spread more at B than at A.

    Args:
        spread: Standard deviations at A and at B with the preset [ns].
        others: The same with other limits of the fast Chien search [errors].
        early: The same as the preset with a search that ends at its last error.
        common: Further fields of the claim.
    """
    holds = [most for most, (at_a, at_b) in others.items() if rises(at_b / at_a - 1.0)]
    told = ", ".join(f"{most}: {(at_b - at_a) / 1e3:+.2f} us" for most, (at_a, at_b) in others.items())
    region = f"a fast Chien search up to {' or '.join(map(str, holds))} errors" if holds else ""
    return statement(
        spread[1] - spread[0],
        f"standard deviation {spread[0] / 1e3:.2f} us at A, {spread[1] / 1e3:.2f} us at B",
        where="figure 2.17",
        what="spread of the correction times: B less A [ns]",
        published="broader at B",
        low=max(1.0, NOTICEABLE * spread[0]),
        region=region,
        note="of first attempts. With the 8 errors of the fast Chien search [A] every codeword has more at both points, and the "
        f"slow search and Berlekamp-Massey take a fixed time. B less A by the limit of the fast search: {told}; with 8 and a "
        f"search that ends at its last error: {(early[1] - early[0]) / 1e3:+.3f} us. The thesis does "
        "not state the limit; 74 is near the mean number of errors at B",
        **common,
    )


def _link(points: Points, behind: Points) -> Iterator[Claim]:
    """Yields figure 2.20: which of C3 and C4 masks the cost of retries behind SATA III."""
    link = behind.estimate(_BANDWIDTH, {"drive": "retry-c4", _RATE: 1e-4}, 1e6)
    start = points.estimate(_BANDWIDTH, {"drive": "retry-c3", _RATE: 1e-4}, 1e6)
    yield taken(
        estimate([(1.0 - _DROP_B) * start.mean / link.mean - 1.0]),
        work=WORK,
        where="figure 2.20",
        what="read bandwidth of C3 at a drop of 10 % over that of SATA III",
        published="barely masked: about equal",
        standing="derived",
        unit=lambda value: f"{100 * value:+.1f} %",
        note="the transfer rate, 166 MT/s, is derived from this statement",
        load=_LOAD,
    )
    rate = min(behind.values(_RATE), key=lambda one: abs(one - drop_point(points, "retry-c3", _DROP_B).mean))
    for drive in ("retry-c3", "retry-c4"):
        lost = behind.change(_BANDWIDTH, {"drive": drive, _RATE: 1e-4}, {"drive": drive, _RATE: rate})
        worst = lost.mean if lost.low is None else lost.low
        claim = statement(
            worst,
            f"{100 * lost.mean:+.1f} %",
            work=WORK,
            where="figure 2.20",
            what=f"bandwidth of {drive[-2:].upper()} behind a simulated SATA III link: loss at an error rate of {rate:.3g}",
            published="barely masked" if drive == "retry-c3" else "masked",
            low=-_VISIBLE,
            seeds=lost.count,
            load="random reads of 16 KiB, depth 32, SATA III",
        )
        yield set_apart(claim, "not comparable", _LINE)


def _table(points: Points, behind: Points) -> Table:
    rows = []
    for label, found in (("none", points), ("SATA III", behind)):
        for row in found.rows:
            reads = row["commands.read"]
            rows.append([row["drive"], label, row[_RATE], row["seed"], row[_BANDWIDTH] / 1e6, row["reliability.retries"] / reads])
    columns = ("drive", "host interface", "error rate", "seed", "MB/s", "failing reads")
    return Table(name="ssdexplorer-retry", title="Figures 2.14, 2.19, 2.20: every run", columns=columns, rows=rows)


def _curve(points: Points, drive: str, label: str, dashed: bool = False) -> Series:
    rates: Sequence[float] = points.values(_RATE)[1:]
    found = [points.estimate(_BANDWIDTH, {"drive": drive, _RATE: rate}, 1e6) for rate in rates]
    return curve(label, [rate * 1e3 for rate in rates], found, dashed=dashed)


def _pictures(points: Points, behind: Points) -> Iterator[Picture]:
    x = Axis("raw bit error rate [10⁻³]")
    yield Picture(
        name="ssdexplorer-retry-architectures",
        chart=Chart(
            title="Figure 2.19: read bandwidth against the error rate, without a host interface",
            x=x,
            y=Axis("read bandwidth [MB/s]", log=True, better="higher"),
            series=tuple(_curve(points, drive, drive[-2:].upper()) for drive in _DRIVES),
        ),
    )
    link = behind.estimate(_BANDWIDTH, {"drive": "retry-c4", _RATE: 1e-4}, 1e6).mean
    series = [_curve(points, drive, f"{drive[-2:].upper()}, no interface", True) for drive in ("retry-c3", "retry-c4")]
    series += [_curve(behind, drive, f"{drive[-2:].upper()} behind SATA III") for drive in ("retry-c3", "retry-c4")]
    yield Picture(
        name="ssdexplorer-retry-link",
        chart=Chart(
            title="Figure 2.20: C3 and C4 against SATA III",
            x=x,
            y=Axis("read bandwidth [MB/s]", better="higher"),
            series=tuple(series),
            marks=(Mark(link, "SATA III"),),
        ),
    )
