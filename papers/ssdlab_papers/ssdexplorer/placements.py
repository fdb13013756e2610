"""Section 4.2: the translation layer in the drive, on the host, and on an accelerator.

The thesis gives no figures: these entries are answers, and not scored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ssdlab.charts import Axis, Chart, Series
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import run_sweep
from ssdlab_papers.sweeps import Points

__all__ = ["LOADS", "PLACES", "Load", "entries"]

WORK: Final = "SSDExplorer, section 4.2: open channel"
#: Places of the translation layer, and the drive of each.
PLACES: Final = {"drive": "pcie4-power-2tb", "host": "open-host-2tb", "accelerator": "open-mppa-2tb"}
_PARTS = ("flash", "dram", "ecc", "core", "interconnect", "link", "static")
_CAUSES = "causes.all."
#: Causes in a picture; the others are one bar.
_DRAWN = ("sense", "transfer", "decode", "card", "link", "firmware", "dram")
#: Causes that an answer names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Load:
    """A load, by its fields in the sweep."""

    words: str
    rw: str
    bs: str
    depth: int

    @property
    def field(self) -> str:
        """The throughput that counts."""
        return f"throughput.{'write' if self.rw == 'randwrite' else 'read'}_bytes_per_s"

    def at(self, place: str) -> dict[str, object]:
        """Returns the point of a place."""
        fields = {"workload.rw": self.rw, "workload.bs": self.bs, "workload.iodepth": self.depth}
        return {"drive": PLACES[place], **fields}


LOADS: Final = (
    Load("reads of 4 KiB, depth 1", "randread", "4k", 1),
    Load("reads of 4 KiB, depth 64", "randread", "4k", 64),
    Load("writes of 4 KiB, depth 32", "randwrite", "4k", 32),
    Load("reads of 128 KiB, depth 16", "randread", "128k", 16),
)


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields what each place gives under each load."""
    points = run_sweep(setting, "placements", keep_length=True, quick_seeds=1)
    yield from (_answer(points, load, place) for load in LOADS for place in PLACES)
    yield _table(points)
    yield _picture(points)


def _power(points: Points, load: Load, place: str) -> tuple[Estimate, Estimate, list[str]]:
    """Returns the power of all parts that are counted, that of the flash [W], and the parts."""
    rows = points.at(load.at(place)).values()
    counted = [part for part in _PARTS if all(row[f"energy.{part}_j"] is not None for row in rows)]
    total = points.estimate("energy.mean_w", load.at(place))
    joules = [sum(row[f"energy.{part}_j"] for part in counted) for row in rows]
    flash = sum(row["energy.flash_j"] for row in rows) / sum(joules) * total.mean
    return total, Estimate(total.count, flash, None, None), counted


def _causes(points: Points, load: Load, place: str) -> dict[str, float]:
    """Returns the mean time of a command by its causes [us]."""
    rows = [*points.at(load.at(place)).values()]
    named = {name.removeprefix(_CAUSES): name for name in rows[0] if name.startswith(_CAUSES)}
    means = {cause: sum(row[name] or 0.0 for row in rows) / len(rows) / 1e3 for cause, name in named.items()}
    return {cause: value for cause, value in means.items() if value > 0.0}


def _bottleneck(points: Points, load: Load, place: str) -> tuple[str, float]:
    """Returns the kind of the resource that is used most, and its use: `die` for ``die_24``."""
    rows = [*points.at(load.at(place)).values()]
    first = str(rows[0]["bottleneck.resource"])
    kind, _, number = first.rpartition("_")
    return kind if number.isdigit() else first, points.estimate("bottleneck.utilisation", load.at(place)).mean


def _largest(causes: dict[str, float]) -> str:
    named = sorted(causes, key=lambda cause: -causes[cause])[:_NAMED]
    return ", ".join(f"{cause} {causes[cause]:.1f}" for cause in named)


def _show(found: Estimate, unit: str) -> str:
    half = "" if found.high is None else f" ± {found.high - found.mean:.2g}"
    return f"{found.mean:.4g}{half} {unit}"


def _answer(points: Points, load: Load, place: str) -> Claim:
    where = load.at(place)
    mean, tail = (points.estimate(f"latency.all.{name}_ns", where, 1e3) for name in ("mean", "p99"))
    rate = points.estimate(load.field, where, 1e6)
    total, flash, parts = _power(points, load, place)
    resource, use = _bottleneck(points, load, place)
    common: dict[str, Any] = {"work": WORK, "where": "section 4.2", "published": "no figures", "standing": "assumed"}
    return statement(
        mean.mean,
        f"mean {_show(mean, 'us')}, 99 % {_show(tail, 'us')}, {_show(rate, 'MB/s')}, {_show(total, 'W')}",
        what=f"{load.words}, translation layer in the {place}" if place == "drive" else f"{load.words}, on the {place}",
        note=f"most in use: {resource}, {100 * use:.0f} %; largest causes [us]: {_largest(_causes(points, load, place))}; "
        f"the power counts {', '.join(parts)}; {flash.mean:.2f} W are the flash",
        load=load.words,
        unscored="shown",
        seeds=mean.count,
        **common,
    )


def _table(points: Points) -> Table:
    rows = []
    for load in LOADS:
        for place in PLACES:
            where = load.at(place)
            row: list[object] = [load.words, place]
            for found in (
                *(points.estimate(f"latency.all.{name}_ns", where, 1e3) for name in ("mean", "p99")),
                points.estimate(load.field, where, 1e6),
            ):
                row += [found.mean, found.low, found.high]
            total, flash, parts = _power(points, load, place)
            resource, use = _bottleneck(points, load, place)
            rows.append([*row, total.mean, flash.mean, " ".join(parts), resource, use, _largest(_causes(points, load, place))])
    spread = [f"{name}{bound}" for name in ("mean us", "p99 us", "MB/s") for bound in ("", " low", " high")]
    return Table(
        name="ssdexplorer-placements",
        title="The translation layer in the drive, on the host and on an accelerator, with 95 % intervals",
        columns=("load", "place", *spread, "W", "W of the flash", "parts counted", "most in use", "use", "largest causes us"),
        rows=rows,
    )


def _picture(points: Points) -> Picture:
    load = LOADS[0]
    parts = {place: _causes(points, load, place) for place in PLACES}
    others = [sum(value for cause, value in parts[place].items() if cause not in _DRAWN) for place in PLACES]
    series = [Series(cause, [*PLACES], [parts[place].get(cause, 0.0) for place in PLACES]) for cause in _DRAWN]
    chart = Chart(
        title=f"The place of the translation layer: {load.words}, by causes",
        x=Axis("place"),
        y=Axis("mean latency [us]", better="lower"),
        series=(*series, Series("others", [*PLACES], others)),
        stacked=True,
    )
    return Picture(name="ssdexplorer-placements", chart=chart)
