"""Figures 2.21 to 2.32, tables 2.3 to 2.10: LDPC with soft decision, and its NAND-assisted form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ssdlab.charts import Axis, Chart
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.address import address
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, number, rises, set_apart, statement, taken, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import WORK, run_sweep
from ssdlab_papers.sweeps import Points, curve

SAMPLES = ("A", "B", "C", "D")
#: Hosts of table 2.6, by the depth of their queue.
DEPTHS = {"consumer": 64, "enterprise": 256}
_LOADS = ("MSN", "Financial", "Exchange", "100% read")
#: Cycles of a quick sweep by endurance: two to four of each sample, twice its rated ones among them.
_QUICK_CYCLES = (500, 1800, 4000, 8000, 18000, 24000)
#: Mean soft levels of a read at twice the rated endurance, derived from table 2.8 (FACTS 5.2).
_LEVELS = {"A": 0.25, "B": 0.06, "C": 0.98, "D": 0.94}

#: Tables 2.8, 2.9 and 2.10: for each load and host, SD and the gain by NASD [%], sample by sample.
_TABLE_2_8 = {
    ("MSN", "consumer"): (143, 4.78, 147, 4.17, 142, 5.26, 141, 5.23),
    ("Financial", "consumer"): (135, 1.45, 142, 0.54, 101, 3.68, 104, 4.36),
    ("Exchange", "consumer"): (143, 2.25, 151, 0.60, 94, 4.95, 97, 5.40),
    ("100% read", "consumer"): (204, 0.03, 204, 0.03, 140, 24.41, 127, 24.85),
    ("MSN", "enterprise"): (142, 4.14, 148, 4.79, 142, 5.94, 142, 5.72),
    ("Financial", "enterprise"): (143, 1.88, 148, 0.45, 119, 3.67, 118, 4.19),
    ("Exchange", "enterprise"): (171, 2.47, 187, 0.44, 126, 5.28, 127, 6.0),
    ("100% read", "enterprise"): (299, 18.24, 402, 6.24, 152, 42.77, 156, 36.80),
}
_TABLE_2_9 = {
    ("MSN", "consumer"): (373, 2.24, 343, 0.11, 393, 5.46, 396, 3.57),
    ("Financial", "consumer"): (467, 1.50, 442, 0.53, 624, 3.60, 610, 4.29),
    ("Exchange", "consumer"): (442, 2.21, 417, 0.60, 673, 4.84, 646, 5.21),
    ("100% read", "consumer"): (312, 0.01, 311, 0.01, 454, 19.71, 502, 19.90),
    ("MSN", "enterprise"): (1485, 0.57, 1468, 0.16, 1553, 1.78, 1554, 1.92),
    ("Financial", "enterprise"): (1724, 1.61, 1651, 0.19, 2088, 3.99, 2093, 4.41),
    ("Exchange", "enterprise"): (1465, 2.28, 1343, 0.47, 1979, 5.28, 1973, 5.89),
    ("100% read", "enterprise"): (834, 15.6, 623, 5.58, 1654, 30.14, 1620, 27.15),
}
_TABLE_2_10 = {
    ("MSN", "consumer"): (47.07, 33.95, 32.06, 36.32, 25.17, 22.24, 34.58, 20.46),
    ("Financial", "consumer"): (14.26, 17.85, 11.43, 22.56, 12.36, 14.59, 13.59, 13.00),
    ("Exchange", "consumer"): (7.50, 21.35, 5.93, 14.04, 9.37, 15.11, 8.76, 14.00),
    ("100% read", "consumer"): (1.50, 23.08, 0.77, 20.85, 2.67, 21.47, 1.59, 29.42),
    ("MSN", "enterprise"): (53.88, 28.32, 35.48, 34.11, 31.62, 22.73, 45.24, 22.34),
    ("Financial", "enterprise"): (92.60, 37.58, 80.65, 32.61, 71.83, 5.25, 80.75, 26.16),
    ("Exchange", "enterprise"): (44.20, 22.45, 37.83, 29.53, 39.89, 16.46, 44.21, 23.69),
    ("100% read", "enterprise"): (16.20, 38.10, 15.34, 50.80, 20.08, 43.56, 14.40, 40.84),
}


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A quantity with a table of its own."""

    table: str
    name: str
    column: str
    #: Divisor of the column, and the unit of the result.
    scale: float
    unit: str
    #: Half of the last digit of the values for SD.
    resolution: float
    #: True if NASD raises it; it lowers latencies.
    rises: bool
    published: Mapping[tuple[str, str], tuple[float, ...]]


_QUANTITIES = (
    _Quantity("2.8", "bandwidth", "throughput.iops", 1e3, "kIOPS", 0.5, True, _TABLE_2_8),
    _Quantity("2.9", "mean latency", "latency.all.mean_ns", 1e3, "us", 0.5, False, _TABLE_2_9),
    _Quantity("2.10", "99.99th percentile", "latency.all.p99_99_ns", 1e6, "ms", 0.005, False, _TABLE_2_10),
)
#: The gains have two digits after the point.
_GAIN_RESOLUTION = 0.005
#: Largest share of its depth by which the mean queue of a run may fall short, as it fills and drains [A]. The cells of
#: three of the four loads fall short by less, those of the fourth by 12 % at least.
_SHORT = 0.05
#: Cells of table 2.8 to which the model was fitted, by load, host and sample, with the parameter that was fitted. The
#: time for a write is fitted to the mix with the most writes among those whose numbers do not contradict each other.
_FITTED = {
    **{("100% read", "enterprise", sample): "soft levels of the sample (FACTS 5.2)" for sample in SAMPLES},
    **{("100% read", "consumer", sample): "serial time of the consumer host, 4.9 us" for sample in ("A", "B")},
    ("Financial", "enterprise", "A"): "time of the firmware for a write, 8 us of the drive",
}
#: The two claims of a cell.
_SD, _GAIN = "SD", "gain by NASD"
_WHY = {
    "100% read": "the thesis has tails of 20 times the mean here, which random reads at this depth do not make: it may be "
    "its sequencer, which reorders around busy dies",
    "mix": "a mix does not follow from soft levels alone: one time for a write, fitted to one cell, stands for "
    "all that the thesis does not describe of its firmware and buffer",
}
#: Why the latencies of figure 2.30 are no claims of their own.
_REFLECTS = (
    "latency = depth / bandwidth; the thesis: all results on average latency reflect those on bandwidth (figure 2.29). From "
    "table 2.9 the gain is 15.6, 5.58, 30.14 and 27.15 % at twice the rated cycles"
)


def load_of(mix: str) -> str:
    """Returns the file of a mix among the specifications."""
    return f"{mix.lower()}.fio"


def published(table: str, load: str, host: str, sample: str) -> tuple[float, float]:
    """Returns the numbers of a cell of table 2.8, 2.9 or 2.10: SD, and the gain by NASD [%]."""
    (quantity,) = (each for each in _QUANTITIES if each.table == table)
    place = 2 * SAMPLES.index(sample)
    sd, gain = quantity.published[load, host][place : place + 2]
    return sd, gain


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 2.3.2, with its tables and figures."""
    if (one := _wanted(setting.wanted)) is not None:
        yield from _one_cell(setting, *one)
        return
    yield from _inputs()
    found = _Both(run_sweep(setting, "soft_reads"), run_sweep(setting, "soft_mixes"))
    yield from _levels(found.reads)
    for quantity in _QUANTITIES:
        yield from _cells(quantity, found)
    yield from _in_words(found)
    for quantity in _QUANTITIES:
        yield _table(quantity, found)
    yield from _by_endurance(run_sweep(setting, "soft_endurance", fewer={"state.pe_cycles": _QUICK_CYCLES}))


@dataclass(frozen=True, slots=True)
class _Both:
    """Sweeps of the reads and of the mixes."""

    reads: Points
    mixes: Points

    def points(self, load: str) -> Points:
        return self.reads if load == "100% read" else self.mixes


def _at(load: str, host: str, sample: str, plan: str) -> dict[str, object]:
    where: dict[str, object] = {"drive": f"ldpc-{sample.lower()}", "workload.iodepth": DEPTHS[host], "ecc.plan.kind": plan}
    return where if load == "100% read" else {**where, "workload": load_of(load)}


def _gain(found: _Both, quantity: _Quantity, load: str, host: str, sample: str) -> Estimate:
    """Returns what NASD gains over SD [%]: more bandwidth, or less latency."""
    change = found.points(load).change(quantity.column, _at(load, host, sample, "soft"), _at(load, host, sample, "nasd"))
    sign = 100.0 if quantity.rises else -100.0
    bounds = sorted(sign * bound for bound in (change.low, change.high) if bound is not None)
    return Estimate(change.count, sign * change.mean, *(bounds or (None, None)))


def _inputs() -> Iterator[Claim]:
    yield untestable(
        work=WORK,
        where="figures 2.21, 2.22",
        what="measured error rates and shares of uncorrectable pages of the samples A to D",
        published="curves without numbers",
        note="not digitised anywhere (FACTS 5.4); our parts follow a power law through table 2.4 [A]",
    )


def _levels(reads: Points) -> Iterator[Claim]:
    for sample, levels in _LEVELS.items():
        where = _at("100% read", "enterprise", sample, "soft")
        yield taken(
            estimate([row["reliability.soft_levels"] / row["commands.read"] for row in reads.at(where).values()]),
            work=WORK,
            where="table 2.8 (FACTS 5.2)",
            what=f"mean soft levels of a read of sample {sample} at twice the rated endurance",
            published=f"{levels}",
            standing="derived",
            unit=lambda value: f"{value:.3f}",
            note="derived from table 2.8, 100 % read, enterprise host; calibrated by the limit of the hard decision",
        )


@dataclass(frozen=True, slots=True)
class Cell:
    """Published numbers of a load, a host and a sample, of which Little's law makes one of the others."""

    load: str
    host: str
    sample: str

    def _row(self, table: str) -> tuple[float, float]:
        return published(table, self.load, self.host, self.sample)

    @property
    def depth(self) -> int:
        """Depth of the queue (table 2.6)."""
        return DEPTHS[self.host]

    @property
    def outstanding(self) -> tuple[float, float, float]:
        """Mean share of the depth that is outstanding: bandwidth (table 2.8) x latency (table 2.9) / depth.

        The value, and the smallest and the largest one that the last digits of both allow.
        """
        kiops, us = self._row("2.8")[0], self._row("2.9")[0]
        half_kiops, half_us = (quantity.resolution for quantity in _QUANTITIES[:2])
        full = 1e3 * self.depth
        return (
            kiops * us / full,
            (kiops - half_kiops) * (us - half_us) / full,
            (kiops + half_kiops) * (us + half_us) / full,
        )

    @property
    def contradicts_itself(self) -> bool:
        """True if no numbers with these last digits are those of a queue that is kept at its depth."""
        _, low, high = self.outstanding
        return high < 1.0 - _SHORT or low > 1.0

    @property
    def implied_gain(self) -> float:
        """Saving of the mean latency that the gain of bandwidth implies at a constant depth [%]."""
        return 100.0 * (1.0 - 1.0 / (1.0 + self._row("2.8")[1] / 100.0))

    @property
    def contradiction(self) -> str:
        """The arithmetic of the contradiction, with both gains."""
        (kiops, gain), (us, saved) = self._row("2.8"), self._row("2.9")
        share, low, high = (100.0 * each for each in self.outstanding)
        others = [100.0 * each.outstanding[0] for each in _every_cell() if not each.contradicts_itself]
        return (
            f"Little's law: {kiops:g} kIOPS x {us:g} us = {kiops * us / 1e3:.1f} commands outstanding, {share:.1f} % of the "
            f"stated depth of {self.depth} ({low:.1f} to {high:.1f} % by the last digits); the other {len(others)} cells have "
            f"{min(others):.1f} to {max(others):.1f} %. A gain of {gain:g} % in bandwidth would save {self.implied_gain:.2f} % "
            f"of the latency at a constant depth, table 2.9 has {saved:g} %"
        )

    def follows(self, part: str) -> str:
        """Returns the arithmetic by which a number of table 2.9 follows from table 2.8; empty if it does not.

        A latency does if the queue is at its depth, a gain if it is within one point of the implied one.
        """
        (kiops, _), (us, saved) = self._row("2.8"), self._row("2.9")
        if self.contradicts_itself:
            return ""
        if part == _SD:
            implied = 1e3 * self.depth / kiops
            return f"depth / bandwidth of table 2.8: {self.depth} / {kiops:g} kIOPS = {implied:.0f} us; table 2.9 has {us:g} us"
        if rises(abs(saved - self.implied_gain) / 100.0):
            return ""
        return f"1 - 1 / (1 + gain of table 2.8) = {self.implied_gain:.2f} %; table 2.9 has {saved:g} %"


def _every_cell() -> list[Cell]:
    return [Cell(load, host, sample) for load, host in _TABLE_2_8 for sample in SAMPLES]


def _decided(claim: Claim, table: str, cell: Cell, part: str) -> Claim:
    """Returns a claim of table 2.8 or 2.9 with the verdict that the published numbers leave it.

    The percentiles of table 2.10 have no part in Little's law and are scored as they stand.
    """
    if table == "2.10":
        if not cell.contradicts_itself:
            return claim
        apart = "bandwidth and mean latency of this cell contradict its depth (table 2.8): its queue was not always full"
        return replace(claim, note="; ".join(filter(None, (claim.note, apart))))
    if cell.contradicts_itself:
        return set_apart(claim, "contradicts itself", cell.contradiction)
    if table == "2.9" and (arithmetic := cell.follows(part)):
        is_fitted = part == _SD and (cell.load, cell.host, cell.sample) in _FITTED
        return set_apart(claim, "input" if is_fitted else "derived", arithmetic)
    return claim


def _cells(quantity: _Quantity, found: _Both) -> Iterator[Claim]:
    """Yields the claims of a table."""
    for load, host in quantity.published:
        for sample in SAMPLES:
            yield from _cell(quantity, found, load, host, sample)


def _wanted(wanted: str) -> tuple[_Quantity, str, str, str] | None:
    """Returns the cell that has the wanted claim, as its table, load, host and sample; ``None`` if none has."""
    for quantity in _QUANTITIES:
        for load, host in quantity.published:
            for sample in SAMPLES:
                for part in (_SD, _GAIN):
                    found = address(**_place(quantity), what=f"{_subject(load, host, sample)}: {part}")
                    if found is not None and found.id == wanted:
                        return quantity, load, host, sample
    return None


def _one_cell(setting: Setting, quantity: _Quantity, load: str, host: str, sample: str) -> Iterator[Claim]:
    """Yields the claims of one cell, for which only its runs are done."""
    only: dict[str, object] = {"drive": f"ldpc-{sample.lower()}", "workload.iodepth": DEPTHS[host]}
    if load == "100% read":
        points = run_sweep(setting, "soft_reads", only=only)
    else:
        points = run_sweep(setting, "soft_mixes", only={**only, "workload": load_of(load)})
    yield from _cell(quantity, _Both(points, points), load, host, sample)


def _place(quantity: _Quantity) -> dict[str, str]:
    return {"work": f"{WORK}, table {quantity.table}: {quantity.name}", "where": f"table {quantity.table}"}


def _subject(load: str, host: str, sample: str) -> str:
    return f"{load}, {host} host, sample {sample}"


def _cell(quantity: _Quantity, found: _Both, load: str, host: str, sample: str) -> Iterator[Claim]:
    """Yields the claims of a cell: SD, and the gain by NASD."""
    cell = Cell(load, host, sample)
    for part, claim in ((_SD, _sd(quantity, found, cell)), (_GAIN, _of_gain(quantity, found, cell))):
        yield _decided(claim, quantity.table, cell, part)


def _common(quantity: _Quantity, cell: Cell, part: str) -> dict[str, Any]:
    what = f"{_subject(cell.load, cell.host, cell.sample)}: {part}"
    return {**_place(quantity), "load": f"{cell.load}, depth {cell.depth}", "what": what}


def _published(quantity: _Quantity, cell: Cell) -> tuple[float, float]:
    return published(quantity.table, cell.load, cell.host, cell.sample)


def _sd(quantity: _Quantity, found: _Both, cell: Cell) -> Claim:
    """Returns the claim on SD of a cell, or the input to which it was fitted."""
    published, _ = _published(quantity, cell)
    ours = found.points(cell.load).estimate(quantity.column, _at(cell.load, cell.host, cell.sample, "soft"), quantity.scale)
    fitted = _FITTED.get((cell.load, cell.host, cell.sample)) if quantity.table == "2.8" else None

    def unit(value: float) -> str:
        return f"{value:.4g} {quantity.unit}"

    common = _common(quantity, cell, _SD)
    if fitted is not None:
        return taken(ours, published=f"{published} {quantity.unit}", unit=unit, note=f"fitted: {fitted}", **common)
    is_read = cell.load == "100% read"
    note = _WHY["100% read" if is_read else "mix"] if quantity.table == "2.10" or not is_read else ""
    return number(ours, published, quantity.resolution, unit=unit, note=note, **common)


def _of_gain(quantity: _Quantity, found: _Both, cell: Cell) -> Claim:
    """Returns the claim on the gain by NASD of a cell."""
    better = _gain(found, quantity, cell.load, cell.host, cell.sample)
    _, published = _published(quantity, cell)
    least = better.mean if better.low is None else better.low
    return number(
        better,
        published,
        _GAIN_RESOLUTION,
        unit=lambda value: f"{value:.2f} %",
        agrees=rises(least / 100.0),
        note="" if least > 0.0 else "the seeds do not support a gain",
        **_common(quantity, cell, _GAIN),
    )


def _in_words(found: _Both) -> Iterator[Claim]:
    """Yields what the text says of the tables."""
    common: dict[str, Any] = {"work": WORK, "seeds": len(found.mixes.at(_at("MSN", "enterprise", "A", "soft")))}
    bandwidth, _, tail = _QUANTITIES
    losses = [
        (load, host, sample, gain.mean)
        for load in _LOADS
        for host in DEPTHS
        for sample in SAMPLES
        for gain in (_gain(found, bandwidth, load, host, sample),)
        if gain.high is not None and gain.high < 0.0 and falls(gain.mean / 100.0)
    ]
    worse = ", ".join(f"{load} {host} {sample} {gain:.2f} %" for load, host, sample, gain in losses)
    yield statement(
        float(len(losses)),
        f"{len(losses)} of {len(_LOADS) * len(DEPTHS) * len(SAMPLES)} cases {worse}".rstrip(),
        where="section 2.3.2",
        what="cases of table 2.8 in which NASD has less bandwidth than SD beyond the interval",
        published="none: NASD outperforms SD",
        high=0.0,
        load="all loads and hosts",
        **common,
    )
    gains = {(host, sample): _gain(found, tail, "MSN", host, sample) for host in DEPTHS for sample in SAMPLES}
    inside = [one for one in gains.values() if 20.0 <= one.mean <= 40.0]
    yield statement(
        float(len(inside)),
        ", ".join(f"{host} {sample} {one.mean:+.0f} %" for (host, sample), one in gains.items()),
        where="section 2.3.2 B",
        what="cases of the MSN mix in which NASD lowers the 99.99th percentile by 20 to 40 %",
        published="all 8",
        low=8.0,
        load="MSN",
        note="ours have no tail of 50 ms that a second transfer would make: a read waits for one program, not for several",
        **common,
    )
    gained = {host: [_gain(found, bandwidth, "100% read", host, sample).mean for sample in SAMPLES] for host in DEPTHS}
    pairs = [*zip(SAMPLES, gained["enterprise"], gained["consumer"], strict=True)]
    yield statement(
        min(more - less for _, more, less in pairs),
        ", ".join(f"{sample}: {more:.1f} against {less:.1f} %" for sample, more, less in pairs),
        where="section 2.3.2",
        what="gain by NASD on random reads, enterprise host less consumer host, smallest over the samples [points]",
        published="the consumer host hides part of the error recovery: larger for the enterprise host",
        low=100.0 * NOTICEABLE,
        load="100% read",
        **common,
    )


def _table(quantity: _Quantity, found: _Both) -> Table:
    """Returns a table in the layout of the thesis, each number beside ours."""
    columns = ["host", "workload"]
    for sample in SAMPLES:
        columns += [
            f"{sample} SD {quantity.unit}, thesis",
            f"{sample} SD, ours",
            f"{sample} NASD gain %, thesis",
            f"{sample} NASD gain, ours",
        ]
    rows = []
    off = []
    for (load, host), values in quantity.published.items():
        row: list[object] = [host, load]
        for place, sample in enumerate(SAMPLES):
            ours = found.points(load).estimate(quantity.column, _at(load, host, sample, "soft"), quantity.scale).mean
            row += [
                values[2 * place],
                round(ours, 3),
                values[2 * place + 1],
                round(_gain(found, quantity, load, host, sample).mean, 3),
            ]
            off.append(abs(ours / values[2 * place] - 1.0))
        rows.append(row)
    deviation = f"(SD: median deviation {100 * median(off):.0f} %)"
    title = f"Table {quantity.table}, {quantity.name}: the thesis's numbers beside ours {deviation}"
    name = f"ssdexplorer-table-{quantity.table.replace('.', '-')}"
    return Table(name=name, title=title, columns=tuple(columns), rows=rows)


def _by_endurance(points: Points) -> Iterator[Claim | Picture]:
    """Yields figures 2.29 and 2.30."""
    cycles = points.values("state.pe_cycles")
    for figure, column, sign, name, title in (
        ("2.29", "throughput.iops", 100.0, "bandwidth", "read bandwidth gained by NASD [%]"),
        ("2.30", "latency.all.mean_ns", -100.0, "latency", "mean read latency saved by NASD [%]"),
    ):
        series = []
        for place, sample in enumerate(SAMPLES):
            here = [
                one
                for one in sorted(cycles)
                if any(r["drive"] == f"ldpc-{sample.lower()}" and r["state.pe_cycles"] == one for r in points.rows)
            ]
            gains = [
                points.change(
                    column,
                    *(
                        {"drive": f"ldpc-{sample.lower()}", "state.pe_cycles": one, "ecc.plan.kind": plan}
                        for plan in ("soft", "nasd")
                    ),
                )
                for one in here
            ]
            rated = max(here) / 2.0
            series.append(curve(f"{sample}, rated {rated:,.0f} cycles", [one / rated for one in here], gains, sign, colour=place))
            first, last = gains[0], gains[-1]
            claim = statement(
                sign * (last.mean - first.mean),
                f"{sign * first.mean:.1f} % at {here[0] / rated:.2g} times the rated cycles, {sign * last.mean:.1f} % at twice",
                work=WORK,
                where=f"figure {figure}",
                what=f"{name} gained by NASD, sample {sample}: at twice the rated cycles less at the first point [points]",
                published="a significant gain, the more pages are uncorrectable by a hard decision",
                low=1.0,
                seeds=last.count,
                load="random reads, enterprise host",
            )
            yield claim if figure == "2.29" else set_apart(claim, "derived", _REFLECTS)
        chart = Chart(
            title=f"Figure {figure}: {title}",
            x=Axis("cycles over rated cycles"),
            y=Axis(title),
            series=tuple(series),
        )
        yield Picture(name=f"ssdexplorer-endurance-{name}", chart=chart)
