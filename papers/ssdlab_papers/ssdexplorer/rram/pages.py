"""Figures 3.3 to 3.6 and 3.10 to 3.13: bandwidth, latency, and use of channels and dies, on channels of 200 MT/s."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ssdlab.charts import Axis, Chart, Mark
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, number, rises, statement, untestable
from ssdlab_papers.entry import Picture, Table, finite
from ssdlab_papers.ssdexplorer.rram.cases import (
    BANDWIDTH,
    BYTES,
    IOPS,
    MEAN,
    MLC,
    PAGES,
    RRAM,
    WORK,
    Found,
    causes,
    depth_axis,
    high,
    in_words,
    of_page,
    page_axis,
    ratio,
    show,
    tail,
)
from ssdlab_papers.sweeps import curve

__all__ = ["entries"]

_LOAD = "random reads of one page, 200 MT/s"
#: Use of the channels by reads of 4 KiB at depth 16, and the most dies that are active, as the thesis states them.
_BUS, _ACTIVE = 0.48, 0.10
_CHANNELS, _DIES = "utilisation.channels", "utilisation.dies"
_COUNT = 128
#: Array time of a page of RRAM [s].
_SENSE = 1e-6


def entries(found: Found) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 3.2 on means, with the figures."""
    common: dict[str, Any] = {"work": WORK, "load": _LOAD, "seeds": found.pages.estimate(MEAN, of_page("4KiB", 16)).count}
    yield from _by_page(found)
    yield from _by_depth(found, common)
    yield _bus(found)
    yield from _dies(found, common)
    yield _table(found)
    yield from _pictures(found)


def _by_page(found: Found) -> Iterator[Claim]:
    """Yields figures 3.3 and 3.4."""
    whole, native = of_page("4KiB", 16), of_page("256B", 16)
    parts = {page: causes(found.pages, of_page(page, 16)) for page in ("256B", "4KiB")}
    reason = "; ".join(
        f"{in_words(page)}: {parts[page]['core_wait']:.1f} us wait for the core, {parts[page]['transfer']:.1f} us transfer, "
        f"{parts[page].get('bus_wait', 0.0):.1f} us wait for the channel"
        for page in parts
    )
    rates = [found.pages.estimate(BANDWIDTH, of_page(page, 16), 1e6).mean for page in PAGES]
    yield number(
        ratio(found.pages, BANDWIDTH, whole, native),
        16.0,
        0.5,
        work=WORK,
        where="figure 3.3",
        what="bandwidth with pages of 4 KiB over that with 256 B, depth 16",
        unit=lambda value: f"{value:.3g}",
        agrees=all(rises(after / before - 1.0) for before, after in pairwise(rates)),
        load=_LOAD,
        note=f"proportional to the page size; {show(rates, 'MB/s')}. By the ledger, {reason}",
    )
    means = [found.pages.estimate(MEAN, of_page(page, 16), 1e3).mean for page in PAGES]
    yield number(
        ratio(found.pages, MEAN, whole, native),
        1.0,
        0.1,
        work=WORK,
        where="figure 3.4",
        what="mean latency with pages of 4 KiB over that with 256 B, depth 16",
        unit=lambda value: f"{value:.3g}",
        load=_LOAD,
        note=f"“almost constant”, read as 10 % [A]; {show(means, 'us')}. Up to 2 KiB the core limits and the latency is "
        "constant; 4 KiB occupy their channel for 21 us. The statement on the bandwidth, again: depth = rate x latency",
    )


def _by_depth(found: Found, common: dict[str, Any]) -> Iterator[Claim]:
    """Yields figures 3.5 and 3.6."""
    gains = {}
    rates = {}
    for page in ("256B", "4KiB"):
        rates[page] = [found.pages.estimate(IOPS, of_page(page, depth), 1e3).mean for depth in found.depths]
        steps = [np.log(after / before) for before, after in pairwise(rates[page])]
        doublings = [np.log2(after / before) for before, after in pairwise(found.depths)]
        each = [float(np.exp(step / count)) for step, count in zip(steps, doublings, strict=True)]
        gains[page] = (each[0], each[-1])
    yield statement(
        max((last - 1.0) / (first - 1.0) for first, last in gains.values()),
        "; ".join(
            f"{in_words(page)}: {show(rates[page], 'kIOPS')}, gain {first:.2f} and {last:.2f}"
            for page, (first, last) in gains.items()
        ),
        where="figure 3.5",
        what="gain of the last doubling of the depth over that of the first, larger of 256 B and 4 KiB",
        published="proportional, until it saturates depending on the page size",
        high=1.0 - NOTICEABLE,
        note="the core serves 485,000 commands a second (an input: 66 us at depth 32), which 256 B reach at depth 8, 4 KiB at 32",
        **common,
    )
    means = {page: [found.pages.estimate(MEAN, of_page(page, depth), 1e3).mean for depth in found.depths] for page in rates}
    yield untestable(
        work=WORK,
        where="figure 3.6",
        what="latency by queue depth",
        published="it saturates at a lower depth than the bandwidth",
        shown="; ".join(f"{in_words(page)}: {show(means[page], 'us')}" for page in means),
        note="depth = rate x latency for a queue that is kept full: where the rate saturates, the latency grows in proportion to "
        "the depth, and both cannot saturate",
    )


def _bus(found: Found) -> Claim:
    """Returns figures 3.10 and 3.11: the use of the channels by reads of 4 KiB at depth 16."""
    where = of_page("4KiB", 16)
    by_depth = [found.pages.estimate(_CHANNELS, of_page("4KiB", depth)).mean for depth in found.depths]
    parts = causes(found.pages, where)
    region, spread = _region(found)
    return number(
        found.pages.estimate(_CHANNELS, where, 0.01),
        100.0 * _BUS,
        0.5,
        work=WORK,
        where="figures 3.10, 3.11",
        what="use of the channels by reads of 4 KiB, depth 16 [%]",
        unit=lambda value: f"{value:.1f}",
        agrees=all(rises(after / before - 1.0) for before, after in pairwise(by_depth)),
        region=region,
        load=_LOAD,
        note=f"{show([100.0 * value for value in by_depth], '%')} by depth. Of {sum(parts.values()):.1f} us a command holds its "
        f"channel for {parts['transfer'] + parts['bus_command']:.1f} us; others are its overhead, an input "
        f"({parts['host'] + parts['firmware']:.1f} us), waits for the channel ({parts['bus_wait']:.1f} us) and for the "
        f"core ({parts['core_wait']:.1f} us). {spread}",
    )


def _region(found: Found) -> tuple[str, str]:
    """Returns the overhead with which the channels are used as stated, and what other places of the overhead give."""
    used: list[tuple[float, float, float]] = []
    for submission, decode in _variants(found):
        where = {"host.cpu.submission": submission, "controller.firmware.cycles.decode": decode}
        parts = causes(found.overhead, where)
        overhead = parts.get("host", 0.0) + parts["firmware"]
        used.append((overhead, parts["firmware"], 100.0 * found.overhead.estimate(_CHANNELS, where).mean))
    spread = "With other overheads: " + ", ".join(
        f"{use:.0f} % at {overhead:.1f} us ({firmware:.1f} us of them on the core)" for overhead, firmware, use in used
    )
    free = sorted((overhead, use) for overhead, firmware, use in used if firmware < 0.1)
    uses = [use for _, use in free]
    if not min(uses) <= 100.0 * _BUS <= max(uses):
        return "", spread
    at = float(np.interp(-100.0 * _BUS, [-use for use in uses], [overhead for overhead, _ in free]))
    single = found.pages.estimate(MEAN, of_page("256B", 1), 1e3).mean
    stated = causes(found.pages, of_page("256B", 1))
    less = stated["host"] + stated["firmware"] - at
    return (
        f"an overhead of {at:.1f} us for a command, none of it on the core; single reads of 256 B then take "
        f"{single - less:.1f} us, not 16",
        spread,
    )


def _variants(found: Found) -> list[tuple[str, int]]:
    fields = ("host.cpu.submission", "controller.firmware.cycles.decode")
    return [*dict.fromkeys(tuple(row[name] for name in fields) for row in found.overhead.rows)]


def _dies(found: Found, common: dict[str, Any]) -> Iterator[Claim]:
    """Yields figures 3.12 and 3.13: the share of dies that are active."""
    for depth in (16, 32):
        where = of_page("4KiB", depth)
        held = found.pages.estimate(_DIES, where, 0.01)
        sense = 100.0 * found.pages.estimate(IOPS, where).mean * _SENSE / _COUNT
        yield statement(
            high(held),
            f"{held.mean:.1f} % hold an operation; {sense:.1f} % sense",
            where="figures 3.12, 3.13",
            what=f"dies that are active, reads of 4 KiB, depth {depth} [%]",
            published="far below 10 %",
            high=100.0 * _ACTIVE,
            agrees=depth == 32 and sense < 100.0 * _ACTIVE,
            region="" if high(held) <= 100.0 * _ACTIVE else "a die is active only while it senses, not during its transfer",
            note=f"the thesis does not say whether a die is active during its transfer. Weak: {depth} commands occupy at most "
            f"{100 * depth / _COUNT:.1f} % of 128 dies",
            **common,
        )


def _table(found: Found) -> Table:
    rows = []
    for medium, pages in ((RRAM, PAGES), (MLC, PAGES[-1:])):
        for page in pages:
            for depth in found.depths:
                where = of_page(page, depth, medium)
                row: list[object] = [medium, BYTES[page], depth]
                for name, scale in ((IOPS, 1e3), (BANDWIDTH, 1e6), (MEAN, 1e3)):
                    one = found.pages.estimate(name, where, scale)
                    row += [one.mean, one.low, one.high]
                rows.append(
                    [
                        *row,
                        finite(tail(found.pages, where).mean),
                        *(found.pages.estimate(name, where).mean for name in (_CHANNELS, _DIES)),
                    ]
                )
    spread = [f"{name}{bound}" for name in ("kIOPS", "MB/s", "mean us") for bound in ("", " low", " high")]
    return Table(
        name="ssdexplorer-rram-pages",
        title="Figures 3.3 to 3.13: reads of one page by page size and queue depth, with 95 % intervals",
        columns=("tR", "page B", "depth", *spread, "p99.99 us", "channels in use", "dies in use"),
        rows=rows,
    )


def _pictures(found: Found) -> Iterator[Picture]:
    sizes = [float(BYTES[page]) for page in PAGES]
    depths = [*map(float, found.depths)]
    used = (Mark(100.0 * _BUS, "48 %"),)
    kinds = (
        ("bandwidth", BANDWIDTH, 1e6, "bandwidth of reads [MB/s]", "3.3", "3.5", ()),
        ("latency", MEAN, 1e3, "mean latency of reads [us]", "3.4", "3.6", ()),
        ("channels", _CHANNELS, 0.01, "use of the channels [%]", "3.11", "3.10", used),
        ("dies", _DIES, 0.01, "dies that hold an operation [%]", "3.13", "3.12", (Mark(100.0 * _ACTIVE, "10 %"),)),
    )
    for name, field, scale, title, by_page, by_depth, marks in kinds:

        def at(page: str, depth: int, field: str = field, scale: float = scale) -> Estimate:
            return found.pages.estimate(field, of_page(page, depth), scale)

        series = tuple(curve(f"depth {depth}", sizes, [at(page, depth) for page in PAGES]) for depth in found.depths)
        chart = Chart(
            title=f"Figure {by_page} and further depths: {title} by page size",
            x=page_axis(),
            y=Axis(title, log=name == "bandwidth"),
            series=series,
            marks=marks,
            ordered=True,
        )
        yield Picture(name=f"ssdexplorer-rram-page-{name}", chart=chart)
        series = tuple(curve(in_words(page), depths, [at(page, depth) for depth in found.depths]) for page in PAGES)
        chart = Chart(
            title=f"Figure {by_depth}: {title} by queue depth",
            x=depth_axis(found.depths),
            y=Axis(title, log=name == "bandwidth"),
            series=series,
            marks=marks,
            ordered=True,
        )
        yield Picture(name=f"ssdexplorer-rram-depth-{name}", chart=chart)
