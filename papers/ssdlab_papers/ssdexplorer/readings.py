"""Mixes under other readings of what the thesis does not describe: one mechanism more at a time, in the order given."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from ssdlab.units import percent
from ssdlab_papers.claim import Claim, unclaimed
from ssdlab_papers.entry import Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import SPECS, WORK, document
from ssdlab_papers.ssdexplorer.soft import DEPTHS, SAMPLES, load_of, published
from ssdlab_papers.sweeps import Row, Sample, samples

__all__ = ["MIXES", "READINGS", "entries"]

_HOST: Final = "enterprise"
_COMMANDS: Final = 100_000
#: The sweep of tables 2.8 to 2.10, whose wear, fitted time and layers the readings have, too.
_SPEC: Final = document("soft_mixes")
_LAYER: Final = "ftl.translation"
#: The mixes, each with its layer, which has the write amplification that the thesis gives.
MIXES: Final = {
    mix: next(zipped[_LAYER][zipped["workload"].index(load_of(mix))] for zipped in _SPEC["zip"] if _LAYER in zipped)
    for mix in ("MSN", "Financial", "Exchange")
}
_IN_TURN: Final = {"flash.scheduler": "fifo", "ftl.write_allocation": "static"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading of the text."""

    name: str
    why: str
    fields: Mapping[str, object]
    #: True if a write takes the time of the firmware that is fitted to a cell of table 2.8.
    has_fitted_time: bool = True
    #: Pages of each plane that are collected at a time; ``None``: a whole block.
    piece: int | None = None


#: The first is that of tables 2.8 to 2.10.
READINGS: Final = (
    Reading("the preset", "a write has a fitted time; idle dies pull writes; reads go first", {}),
    Reading(
        "re-reads at the back",
        "the text gives no place for the reads of a soft level among those that wait",
        {"ecc.retry_place": "back"},
    ),
    Reading(
        "dies in turn, first come, first served",
        "the text places the data of a mix by its address; nothing there goes before anything else",
        _IN_TURN,
    ),
    Reading("so, and without a time for a write", "the fitted time is no mechanism of the text", _IN_TURN, has_fitted_time=False),
    Reading("so, and re-reads at the back", "both of the above", {**_IN_TURN, "ecc.retry_place": "back"}, has_fitted_time=False),
    Reading(
        "so, by age, and collection in pieces of 16 pages",
        "blocks of 8 MiB hold their die for 0.2 s and more if a collection is not interrupted",
        _IN_TURN,
        has_fitted_time=False,
        piece=16,
    ),
)


def entries(setting: Setting) -> Iterator[Claim | Table]:
    """Yields each mix under each reading, beside the published numbers of the enterprise host."""
    readings = READINGS[:4] if setting.quick else READINGS
    points = [
        _point(reading, mix, sample, plan) for reading in readings for mix in MIXES for sample in SAMPLES for plan in _PLANS
    ]
    seeds = 1 if setting.quick else None
    found = iter(samples(setting, "readings of the mixes", points, seeds=seeds, derive=_SPEC["derive"]))
    rows: list[Sequence[object]] = []
    for reading in readings:
        for mix in MIXES:
            cells = [_Cell(mix, sample, next(found), next(found)) for sample in SAMPLES]
            yield _shown(reading, mix, cells)
            rows += [[reading.name, mix, *cell.row] for cell in cells]
    yield Table(
        name="ssdexplorer-readings",
        title="Mixes of the enterprise host under each reading: ours, with the thesis's numbers",
        columns=("reading", "mix", "sample", *(f"{name}{of}" for name in _NAMES for of in (", thesis", ", ours"))),
        rows=rows,
    )


_PLANS: Final = ("soft", "nasd")
_NAMES: Final = ("kIOPS", "mean us", "p99.99 ms", "p99.99 gain %", "outstanding share of the depth")
_TAIL: Final = "latency.all.p99_99_ns"


def _point(reading: Reading, mix: str, sample: str, plan: str) -> dict[str, object]:
    return {
        "drive": f"ldpc-{sample.lower()}",
        "workload": str(SPECS / load_of(mix)),
        "workload.iodepth": DEPTHS[_HOST],
        "options.stop_after": _COMMANDS,
        "ecc.plan.kind": plan,
        _LAYER: MIXES[mix] if reading.piece is None else {**MIXES[mix], "piece": reading.piece},
        **(_SPEC["set"] if reading.has_fitted_time else {}),
        **reading.fields,
    }


@dataclass(frozen=True, slots=True)
class _Cell:
    """Runs of a mix and a sample, with SD and with NASD."""

    mix: str
    sample: str
    soft: Sample
    nasd: Sample

    def _mean(self, quantity: Any) -> float:
        return self.soft.estimate(quantity).mean

    @property
    def ours(self) -> tuple[float, ...]:
        """The quantities of :data:`_NAMES`."""
        gains = [1.0 - self.nasd.rows[seed][_TAIL] / row[_TAIL] for seed, row in self.soft.rows.items()]
        return (
            self._mean(lambda row: row["throughput.iops"] / 1e3),
            self._mean(lambda row: row["latency.all.mean_ns"] / 1e3),
            self._mean(lambda row: row[_TAIL] / 1e6),
            100.0 * sum(gains) / len(gains),
            self._mean(_outstanding),
        )

    @property
    def theirs(self) -> tuple[float, ...]:
        """The published quantities."""
        (kiops, _), (us, _), (tail, gain) = (published(table, self.mix, _HOST, self.sample) for table in ("2.8", "2.9", "2.10"))
        return kiops, us, tail, gain, kiops * us / 1e3 / DEPTHS[_HOST]

    @property
    def row(self) -> list[object]:
        """Its row of the table, after the reading and the mix."""
        return [self.sample, *(value for pair in zip(self.theirs, self.ours, strict=True) for value in pair)]

    def off(self, at: int) -> float:
        """Returns |ln(ours / theirs)| of a quantity."""
        return abs(math.log(self.ours[at] / self.theirs[at]))


def _outstanding(row: Row) -> float:
    return float(row["throughput.iops"]) * float(row["latency.all.mean_ns"]) / 1e9 / DEPTHS[_HOST]


def _shown(reading: Reading, mix: str, cells: Sequence[_Cell]) -> Claim:
    bandwidth, latency, tail = (median(cell.off(at) for cell in cells) for at in range(3))
    tails = "/".join(f"{cell.ours[2]:.0f}" for cell in cells)
    gains = "/".join(f"{cell.ours[3]:.0f}" for cell in cells)
    shares = [cell.ours[4] for cell in cells]
    return unclaimed(
        cells[0].soft.estimate(lambda row: row[_TAIL] / 1e6),
        f"tails {tails} ms, gains {gains} %; factors off {math.exp(bandwidth):.2f} in bandwidth, {math.exp(latency):.2f} in mean "
        f"latency, {math.exp(tail):.1f} in the tail; outstanding {percent(min(shares))} to {percent(max(shares))} of the depth",
        work=WORK,
        where="tables 2.8 to 2.10",
        what=f"{mix} mix, enterprise host, samples A to D: {reading.name}",
        published=f"tails {'/'.join(f'{cell.theirs[2]:.0f}' for cell in cells)} ms, "
        f"gains {'/'.join(f'{cell.theirs[3]:.0f}' for cell in cells)} %",
        load=f"{mix}, depth {DEPTHS[_HOST]}, {_COMMANDS:,} commands",
        note=f"{reading.why}; a factor is the median over the samples",
    )
