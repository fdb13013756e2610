"""Figures 3.7 to 3.9 and 3.19: distributions of the latency, and an MLC in the place of the RRAM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ssdlab import Workload
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab_papers.claim import Claim, falls, number, rises, taken
from ssdlab_papers.entry import Picture
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.rram.cases import (
    BYTES,
    MEDIAN,
    MLC,
    PAGES,
    QOS,
    RRAM,
    WORK,
    Found,
    causes,
    in_words,
    of_page,
    ratio,
    tail,
)

__all__ = ["entries"]

#: Commands of a run whose log is drawn.
_COMMANDS, _QUICK = 100_000, 25_000
#: Points of a curve: 50 below the median, and so on towards the tail.
_QUANTILES = 1.0 - np.concatenate([np.linspace(1.0, 0.02, 99), np.geomspace(0.019, 1e-4, 40)])
_NEAR = 0.1
_LOAD = "random reads of one page, 200 MT/s"
_INPUT = "the overhead of a command is chosen for this value (preset `rram-512g`), which therefore tests nothing"


def entries(setting: Setting, found: Found) -> Iterator[Claim | Picture]:
    """Yields the two inputs of section 3.2, the comparison with 1X-MLC, and the distributions."""
    yield from _inputs(found)
    yield from _as_flash(found)
    commands = _QUICK if setting.quick else _COMMANDS
    yield from _of_pages(commands)
    yield _of_chunks(commands)


def _inputs(found: Found) -> Iterator[Claim]:
    single, deep = of_page("256B", 1), of_page("256B", 32)
    common: dict[str, Any] = {"work": WORK, "unit": lambda value: f"{value:.1f} us", "note": _INPUT, "load": _LOAD}
    # The tail of a quick run has too few commands; all reads at depth 1 take the same time to 1 %.
    worst = QOS if math.isfinite(tail(found.pages, single).mean) else "latency.read.max_ns"
    yield taken(
        found.pages.estimate(worst, single, 1e3),
        where="figure 3.7",
        what="99.99th percentile, 256 B, depth 1",
        published="around 16 us",
        **common,
    )
    yield taken(
        found.pages.estimate(MEDIAN, deep, 1e3),
        where="figure 3.8",
        what="median, 256 B, depth 32",
        published="66 us",
        **common,
    )


def _as_flash(found: Found) -> Iterator[Claim]:
    """Yields figure 3.9: RRAM with pages of 4 KiB against 1X-MLC."""
    single = ratio(found.pages, MEDIAN, of_page("4KiB", 1), of_page("4KiB", 1, MLC)).mean
    where = {medium: of_page("4KiB", 32, medium) for medium in (RRAM, MLC)}
    parts = {medium: causes(found.pages, where[medium]) for medium in where}
    for what, field in (("median", MEDIAN), ("99.99th percentile", QOS)):
        if field == QOS and not all(math.isfinite(tail(found.pages, each).mean) for each in where.values()):
            continue
        values = [found.pages.estimate(field, each, 1e3).mean for each in where.values()]
        compared = ratio(found.pages, field, where[RRAM], where[MLC])
        yield number(
            compared,
            1.0,
            _NEAR,
            work=WORK,
            where="figure 3.9",
            what=f"{what} of reads of 4 KiB at depth 32: RRAM over 1X-MLC in the same drive",
            unit=lambda value: f"{value:.2f}",
            # It comes closer to flash with the depth.
            agrees=rises(compared.mean - single) and falls(compared.mean - 1.0),
            condition="tR of 40 us, of sample B-MLC (table 2.3); the thesis does not say which sample its 1X-MLC is",
            load=_LOAD,
            note=f"“match”, “comparable”, read as 10 % [A]. {values[0]:.0f} against {values[1]:.0f} us; medians at depth 1: "
            f"{single:.2f}. Of the means, tR is {parts[RRAM]['sense']:.0f} against {parts[MLC]['sense']:.0f} us, waits for the "
            f"channel {parts[RRAM]['bus_wait']:.1f} against {parts[MLC]['bus_wait']:.1f} us, for the core "
            f"{parts[RRAM]['core_wait']:.1f} against {parts[MLC]['core_wait']:.1f} us; transfers and overhead are the same",
        )


def _latencies(drive: str, commands: int, block: int, depth: int, **changes: str) -> np.ndarray:
    """Returns the latencies of a run [us]."""
    keys = ("rw=randread", f"bs={block}", f"iodepth={depth}", "norandommap=1", "number_ios=100000000")
    load = Workload.from_text("\n".join(("[reads]", *keys)))
    given = {f"flash.{name}": value for name, value in changes.items()}
    log = run(drive, load, set=given, stop_after=commands, record_commands=True).command_table()
    assert log is not None
    found: np.ndarray = (np.array(log["completed_ns"]) - np.array(log["submitted_ns"])).astype(np.float64) / 1e3
    return found


def cumulative(name: str, latencies: np.ndarray) -> Series:
    """Returns the cumulative distribution of latencies, up to the 99.99th percentile."""
    at = np.quantile(latencies, _QUANTILES, method="inverted_cdf")
    return Series(name, [*map(float, at)], [*map(float, 100.0 * _QUANTILES)], points=False)


def _chart(title: str, series: Sequence[Series], marks: tuple[Mark, ...] = ()) -> Chart:
    x = Axis("latency [us]", log=len(series) > 2)
    return Chart(title=title, x=x, y=Axis("commands [%]"), series=tuple(series), marks=marks)


def _of_pages(commands: int) -> Iterator[Picture]:
    for name, title, page, depth, mark in (
        ("single", "Figure 3.7: latency of reads of 256 B at depth 1", "256B", 1, Mark(16.0, "16 us", on="x")),
        ("deep", "Figure 3.8: latency of reads of 256 B at depth 32", "256B", 32, Mark(66.0, "66 us", on="x")),
    ):
        one = cumulative("RRAM", _latencies("rram-512g", commands, BYTES[page], depth, page_size=page))
        yield Picture(name=f"ssdexplorer-rram-cdf-{name}", chart=_chart(title, [one], (mark,)))
    both = [
        cumulative(name, _latencies("rram-512g", commands, 4096, 32, page_size="4KiB", read_time=medium))
        for name, medium in (("RRAM", RRAM), ("1X-MLC, tR 40 us", MLC))
    ]
    title = "Figure 3.9: latency of reads of 4 KiB at depth 32"
    yield Picture(name="ssdexplorer-rram-cdf-flash", chart=_chart(title, both))


def _of_chunks(commands: int) -> Picture:
    each = [cumulative(in_words(page), _latencies("rram-512g-800", commands, 4096, 1, page_size=page)) for page in PAGES]
    title = "Figure 3.19: latency of reads of 4 KiB at depth 1 by page size, 800 MT/s"
    return Picture(name="ssdexplorer-rram-cdf-chunks", chart=_chart(title, each))
