"""Published values of cells and codes beside those of the cell laboratory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ssdlab.cell import ask, code, monte_carlo
from ssdlab_papers.entry import Entry
from ssdlab_papers.setting import Setting

_HOUR = 3600.0
_YEAR = 365.25 * 24 * _HOUR
#: Verify voltages for which FACTS 1.3 gives its numbers [V].
_ROUNDED = [2.95, 3.80, 4.80]
_AGES = {"0": "0 h", "1 d": "1d", "4 d": "4d", "2 w": "2w", "1 y": "8766h", "10 y": "87660h"}
#: FACTS 1.3: error rates of the worst page by program step [V] and cycles, one for each of `_AGES`.
_RATES = {
    (0.20, 3_000): (3.2e-5, 4.0e-5, 4.5e-5, 5.0e-5, 6.6e-5, 8.1e-5),
    (0.20, 10_000): (2.5e-4, 3.5e-4, 4.2e-4, 5.0e-4, 8.7e-4, 1.5e-3),
    (0.40, 3_000): (2.8e-5, 3.7e-5, 4.2e-5, 4.7e-5, 6.6e-5, 9.0e-5),
    (0.40, 10_000): (7.5e-4, 1.0e-3, 1.2e-3, 1.4e-3, 2.5e-3, 3.9e-3),
}
#: FACTS 1.3: retention [h] by program step [V], at 10,000 cycles.
_RETENTION = {0.20: 6.5e4, 0.25: 3.9e4, 0.30: 1.05e4, 0.35: 1.8e3, 0.40: 222.0, 0.45: 14.0}
#: FACTS 4.2, by erase mode: effective wear in each interval, and cycles over the rated ones if this mode is always
#: used; first of fast, then of slow erases.
_WEAR = {
    "EV0": ((0.784, 0.827, 0.870, 0.914, 0.957, 1.000), 1.13, (0.666, 0.695, 0.724, 0.752, 0.781, 0.810), 1.36),
    "EV1": ((0.703, 0.746, 0.789, 0.833, 0.876, 0.919), 1.24, (0.612, 0.641, 0.670, 0.698, 0.727, 0.756), 1.47),
    "EV2": ((0.622, 0.665, 0.708, 0.752, 0.795, 0.838), 1.38, (0.558, 0.587, 0.616, 0.644, 0.673, 0.702), 1.60),
    "EV3": ((0.541, 0.584, 0.627, 0.671, 0.714, 0.757), 1.56, (0.504, 0.533, 0.562, 0.590, 0.619, 0.648), 1.75),
    "EV4": ((0.460, 0.503, 0.546, 0.590, 0.633, 0.676), 1.79, (0.450, 0.479, 0.508, 0.536, 0.565, 0.594), 1.93),
}
#: Conditions at which cells are drawn one by one: step [V], cycles, age, and further parameters.
_DRAWN: tuple[tuple[float, int, str, dict[str, Any]], ...] = (
    (0.20, 10_000, "0h", {}),
    (0.20, 10_000, "87660h", {}),
    (0.40, 10_000, "4d", {}),
    (0.30, 20_000, "1d", {}),
    (0.40, 3_000, "8766h", {}),
    (0.30, 10_000, "30d", {"neighbourhood": "even_odd"}),
    (0.20, 12_000, "1d", {"compensation": False}),
)
#: P/E cycles at which codewords begin to fail with one sensing (N = 1); a quick run simulates only these.
_NEAR_HARD_LIMIT = (19_600, 20_600)


def experiment(setting: Setting) -> Iterator[Entry]:
    """Cells and codes: threshold voltages, retention, endurance, and what decoders correct."""
    yield from _ofwar(setting.quick)
    yield from _relaxation()
    yield from _dpes()
    yield from _agcr(setting.quick)
    yield from _thesis()


def _ofwar(quick: bool) -> Iterator[Entry]:
    work = "OFWAR"
    modes = {age: ask("modes", cell="ofwar-mlc", pe=10_000, retention=age) for age in ("87660h", "4d")}
    ratio = modes["4d"]["step"] / modes["87660h"]["step"]
    yield Entry(
        work=work,
        where="section 4.1",
        what="program step for 4 days over that for 10 years, 10,000 cycles",
        published="2 (1.99 with the parameters of FACTS 1.2)",
        standing="stated",
        ours=ratio,
        shown=f"{ratio:.3f}",
        low=1.96,
        high=2.02,
        note="the paper gives one equation for several unknowns: these parameters are one solution",
    )
    fast = 600 * modes["4d"]["program_time_ns"] / modes["87660h"]["program_time_ns"]
    yield Entry(
        work=work,
        where="section 4.1",
        what="program time of a fast write, where a normal one takes 600 us",
        published="300 us",
        standing="stated",
        ours=fast,
        shown=f"{fast:.0f} us",
        low=290,
        high=310,
    )
    for (step, pe), expected in _RATES.items():
        rates = ask("rber", cell="ofwar-mlc", pe=pe, step=step, age=[*_AGES.values()], verify=_ROUNDED)["worst"][0]
        for age, published, (ours,) in zip(_AGES, expected, rates, strict=True):
            yield Entry(
                work=work,
                where="FACTS 1.3",
                what=f"error rate of the worst page: step {step:.2f} V, {pe:,} cycles, {age}",
                published=f"{published:.1e}",
                standing="derived",
                ours=ours,
                shown=f"{ours:.2e}",
                low=0.95 * published,
                high=1.05 * published,
            )
    for step, published in _RETENTION.items():
        ours = ask("limits", cell="ofwar-mlc", pe=10_000, step=step, verify=_ROUNDED)["retention_s"] / _HOUR
        yield Entry(
            work=work,
            where="FACTS 1.3",
            what=f"retention with a step of {step:.2f} V after 10,000 cycles",
            published=f"{published:.3g} h",
            standing="derived",
            ours=ours,
            shown=f"{ours:.3g} h",
            low=0.75 * published,
            high=1.35 * published,
            note="steep: our error rates lie up to 4 % below those of the derivation, and each 1 % is up to 8 % of the retention",
        )
    yield from _finding(work)
    yield from _drawn(work, quick)


def _finding(work: str) -> Iterator[Entry]:
    """Yields the retention of a fast write by cycles: fast writes cost retention only near the end of life."""
    for pe in (3_000, 5_000, 7_000, 8_500, 10_000):
        answer = ask("limits", cell="ofwar-mlc", pe=pe, step=0.40)
        years = answer["retention_s"] / _YEAR
        long = years >= 10
        yield Entry(
            work=work,
            where="FACTS 1.3",
            what=f"retention of a fast write (0.40 V) after {pe:,} cycles",
            published="more than 10 years" if pe <= 5_000 else "–",
            standing="derived",
            ours=years,
            shown=("at least " if answer.get("at_least") else "")
            + (f"{years:.3g} years" if long else f"{years * 365.25:.3g} days"),
            low=10.0 if pe <= 5_000 else None,
            high=math.inf if pe <= 5_000 else None,
            note="up to half the endurance fast writes cost no retention" if pe == 5_000 else "",
        )


def _drawn(work: str, quick: bool) -> Iterator[Entry]:
    cells = 4_000_000 if quick else 100_000_000
    for step, pe, age, more in _DRAWN:
        drawn = monte_carlo(cell="ofwar-mlc", pe=pe, step=step, age=age, cells=cells, seed=1, **more)
        for page, z in drawn.z.items():
            yield Entry(
                work=work,
                where="equations 1 to 8",
                what=f"{cells:,} cells drawn: {page} page, step {step:.2f} V, {pe:,} cycles, {age}"
                + "".join(f", {key} {value}" for key, value in more.items()),
                published=f"densities: {drawn.expected[page]:.4e}",
                standing="derived",
                ours=z,
                shown=f"{drawn.rate[page]:.4e} ({z:+.1f} deviations)",
                low=-3.5,
                high=3.5,
                note="an independent implementation; 3.5 deviations for fourteen comparisons",
            )


def _relaxation() -> Iterator[Entry]:
    work = "retention relaxation"
    steps = {age: ask("modes", cell="rr-mlc", pe=3_000, retention=age)["step"] for age in ("8766h", "876.6h", "2w", "87.66h")}
    for age, title, published, low, high in (
        ("876.6h", "0.1 year", "2.1x", 2.05, 2.17),
        ("2w", "2 weeks", "2.3x", 2.25, 2.36),
        ("87.66h", "0.01 year", "below 3x (axis)", 2.35, 2.6),
    ):
        ours = steps[age] / steps["8766h"]
        yield Entry(
            work=work,
            where="slide Retention vs. Write Speed",
            what=f"write speed-up if {title} is promised instead of a year",
            published=published,
            standing="stated" if age == "2w" else "derived",
            ours=ours,
            shown=f"{ours:.2f}x",
            low=low,
            high=high,
            note="step and shoulder widths are one of a family that gives 2.3x" if age == "2w" else "",
        )
    for limit, title, published, low, high in (
        (4.5e-4, "BCH 24 bits / 1080 B", "2 weeks", 1.9, 2.1),
        (2.2e-2, "LDPC, 2.2e-2", "52 weeks", 52.0, 52.4),
    ):
        weeks = ask("limits", cell="rr-mlc-ldpc", pe=3_000, limit=limit)["retention_s"] / (7 * 24 * _HOUR)
        yield Entry(
            work=work,
            where="slide Retention vs. ECCs",
            what=f"retention with {title}, on a cell that LDPC keeps for a year",
            published=published,
            standing="stated",
            ours=weeks,
            shown=f"{weeks:.2f} weeks",
            low=low,
            high=high,
        )


def _dpes() -> Iterator[Entry]:
    work = "autoFTL / DPES"
    modes = {(row["mode"], row["speed"]): row for row in ask("endurance", cell="dpes-mlc")["erase_modes"]}
    yield from _dpes_statements(work, modes)
    yield from _dpes_table(work, modes)


#: Answer of the engine by erase mode and speed.
_EraseModes = dict[tuple[str, str], dict[str, Any]]


def _dpes_statements(work: str, modes: _EraseModes) -> Iterator[Entry]:
    """Yields the values that the papers state."""
    wear = modes["EV4", "fast"]["effective_wear"][0]
    yield Entry(
        work=work,
        where="section 3.1",
        what="effective wear at r = 0.14",
        published="0.46",
        standing="stated",
        ours=wear,
        shown=f"{wear:.3f}",
        low=0.455,
        high=0.465,
    )
    gain = 100 * (1 / wear - 1)
    yield Entry(
        work=work,
        where="section 3.1",
        what="cycles gained if that is kept for life",
        published="+117 %",
        standing="stated",
        ours=gain,
        shown=f"+{gain:.0f} %",
        low=115,
        high=119,
        note="the mode EV4 cannot be kept for life: the margin of fresh cells is used up (below)",
    )
    slow = modes["EV4", "slow"]["effective_wear"][0]
    yield Entry(
        work=work,
        where="section 3.5",
        what="effective wear of a slow erase at r = 0.14",
        published="0.45",
        standing="stated",
        ours=slow,
        shown=f"{slow:.3f}",
        low=0.445,
        high=0.455,
        note="the paper's own -19 % would give 0.46 x 0.81 = 0.37; its +17 % cycles would be 1 / 0.855: "
        "it contradicts itself (FACTS 4.1)",
    )
    reduction = 100 * (
        1
        - sum(modes[f"EV{mode}", "slow"]["effective_wear"][5] for mode in range(5))
        / sum(modes[f"EV{mode}", "fast"]["effective_wear"][5] for mode in range(5))
    )
    yield Entry(
        work=work,
        where="section 3.3",
        what="wear saved by slow erases, mean over the five modes of worn cells",
        published="19 %",
        standing="stated",
        ours=reduction,
        shown=f"{reduction:.1f} %",
        note="not met: a line through 0.81 at r = 0 and the stated 0.45 at r = 0.14 saves less between",
    )


def _dpes_table(work: str, modes: _EraseModes) -> Iterator[Entry]:
    """Yields effective wear and lifetime of each erase mode beside the table of FACTS 4.2."""
    worst = 0.0
    for mode, (fast, _, slow_row, _) in _WEAR.items():
        for speed, row in (("fast", fast), ("slow", slow_row)):
            ours = modes[mode, speed]["effective_wear"]
            worst = max(worst, *(abs(a - b) for a, b in zip(ours, row, strict=True)))
    yield Entry(
        work=work,
        where="FACTS 4.2",
        what="effective wear of 5 modes x 2 speeds x 6 intervals: largest distance",
        published="0 (60 values)",
        standing="derived",
        ours=worst,
        shown=f"{worst:.4f}",
        low=0.0,
        high=0.0011,
    )
    for mode, (_, fast_life, _, slow_life) in _WEAR.items():
        for speed, published in (("fast", fast_life), ("slow", slow_life)):
            ours = modes[mode, speed]["lifetime"]
            yield Entry(
                work=work,
                where="FACTS 4.2",
                what=f"cycles if always erased in {mode}, {speed}",
                published=f"x {published}",
                standing="derived",
                ours=ours,
                shown=f"x {ours:.2f}",
                low=published - 0.006,
                high=published + 0.006,
            )


def _agcr(quick: bool) -> Iterator[Entry]:
    work = "AGCR"
    costs = ask("regulator")
    for row, published in zip(costs["reads"], (70, 170, 310), strict=True):
        ours = row["read_ns"] / 1000
        yield Entry(
            work=work,
            where="table 1, equation 2",
            what=f"read with N = {row['references']}: sensing {row['sensing_ns'] / 1000:.1f} us, {row['transfers']} transfers",
            published=f"{published} us",
            standing="recalled",
            ours=ours,
            shown=f"{ours:.1f} us",
            low=0.96 * published,
            high=1.04 * published,
            note="a fit: two constants through three points",
        )
    for row, published in zip(costs["writes"], (450, 600, 800), strict=True):
        ours = row["write_ns"] / 1000
        yield Entry(
            work=work,
            where="table 1, equation 1",
            what=f"write with {row['relative_step']:.2f} times the medium step",
            published=f"{published} us",
            standing="recalled",
            ours=ours,
            shown=f"{ours:.1f} us",
            low=0.96 * published,
            high=1.04 * published,
            note="the relative steps are derived from these times",
        )
    yield from _sensing(work, quick)


def _sensing(work: str, quick: bool) -> Iterator[Entry]:
    """Yields the error rates that N references correct, counted with a real LDPC decoder on the cell's channel."""
    assumptions = ((1, 0, 2e-3), (3, 1, 6e-3), (7, 3, 1.1e-2))[: 1 if quick else None]
    most, wears, frames = (0, _NEAR_HARD_LIMIT, 10_000) if quick else (3, None, 20_000)
    measured = code("ldpc-448B/4KiB", cell="ofwar-mlc", step=0.3, age="30d", pe=wears, soft_levels=most, frames=frames)
    for references, levels, assumed in assumptions:
        limit = measured.limit(levels)
        yield Entry(
            work=work,
            where="CBER(N), FACTS 3",
            what=f"error rate that N = {references} corrects: LDPC of rate 0.90 on the cell, one codeword in 1,000 lost",
            published=f"{assumed:.1e}",
            standing="assumed",
            ours=limit,
            shown=f"{limit:.2e}" if math.isfinite(limit) else "not enclosed",
            note="measured; the assumed values are for far rarer failures, which cannot be counted",
        )


def _thesis() -> Iterator[Entry]:
    work = "SSDExplorer thesis"
    answer = ask("protection", cell="thesis-a-mlc", rber=[2.06e-3, 2.14e-3, 2.16e-3])
    point_a, low, high = answer["points"]
    for point, rate in ((low, "2.14e-3"), (high, "2.16e-3")):
        ours = 100 * point["page_failure"]
        yield Entry(
            work=work,
            where="section 2.3.1, point B",
            what=f"16 KiB reads that BCH t = 100 in 4320 B cannot correct at {rate}",
            published="0.6 to 0.8 %",
            standing="derived",
            ours=ours,
            shown=f"{ours:.2f} %",
            low=0.55,
            high=0.85,
            note="the share is stated, the error rates that go with it are derived from it (FACTS 5.2)",
        )
    share = point_a["decode_ns"] / 68_000
    yield Entry(
        work=work,
        where="section 2.3.1, figures 2.15 and 2.16",
        what="correction time over tREAD at point A (2.06e-3)",
        published="an order of magnitude below",
        standing="stated",
        ours=share,
        shown=f"{share:.3f} ({point_a['decode_ns'] / 1000:.1f} us of 68 us)",
        low=0.03,
        high=0.2,
        note="clock and width of the decoder are assumed",
    )
    # FACTS 5.2: mean soft levels per read, and the gain of one transfer per soft level over two.
    for sample, levels, published in (("A", 0.25, 18), ("B", 0.06, 6.2), ("C", 0.98, 43), ("D", 0.94, 37)):
        gain = 100 * ((1 + 2 * levels) / (1 + levels) - 1)
        yield Entry(
            work=work,
            where="section 2.3.2, figure 2.29",
            what=f"NASD over SD, sample {sample}, channel-bound: mean soft levels {levels}",
            published=f"{published} %",
            standing="stated",
            ours=gain,
            shown=f"{gain:.1f} %",
            note="the bound by transfers; the drive itself comes with the ECC engines",
        )
