"""Figures 3.16 to 3.21: commands of 4 KiB in chunks of one page, on channels of 800 MT/s."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ssdlab.charts import Axis, Chart
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, rises, statement, taken
from ssdlab_papers.entry import Picture, Table, finite
from ssdlab_papers.ssdexplorer.rram.cases import (
    BYTES,
    IOPS,
    MEAN,
    PAGES,
    QOS,
    WORK,
    Found,
    causes,
    depth_axis,
    high,
    in_words,
    low,
    of_page,
    page_axis,
    ratio,
    show,
    tail,
)
from ssdlab_papers.sweeps import curve

__all__ = ["entries"]

_LOAD = "random reads of 4 KiB, 800 MT/s"
#: The optimum of the latency as stated, by depth; that of depth 1 is an input, and depth 8 is not stated.
_OPTIMUM = {2: "1KiB", 4: "1KiB", 16: "2KiB", 32: "2KiB"}
_CHUNKS = "0.24 us of one core for each chunk, an input (an optimum at depth 1 needs 0.08 to 0.32 us)"
_LITTLE = "depth = rate x latency: at a depth, the page with the lowest mean latency has the highest bandwidth"
#: A bandwidth saturates at a depth if it has this share of the bandwidth at depth 32 [A].
_SATURATED = 0.9
#: Causes that a reason names.
_NAMED = 4


def _at(page: str, depth: int) -> dict[str, object]:
    return {"flash.page_size": page, "workload.iodepth": depth}


def entries(found: Found) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 3.3, with the figures."""
    common: dict[str, Any] = {"work": WORK, "load": _LOAD, "seeds": found.chunks.estimate(MEAN, _at("4KiB", 1)).count}
    yield from _inputs(found)
    yield from _whole_pages(found, common)
    yield from _smallest_pages(found, common)
    yield from _optima(found, common)
    yield _fastest(found, common)
    yield _table(found)
    yield from _pictures(found)


def _inputs(found: Found) -> Iterator[Claim]:
    yield taken(
        found.chunks.estimate(MEAN, _at("4KiB", 1), 1e3),
        work=WORK,
        where="figure 3.16",
        what="mean latency, 4 KiB pages, depth 1",
        published="9.4 us",
        unit=lambda value: f"{value:.2f} us",
        note="the overhead of a command is chosen for this value (preset `rram-512g-800`), which therefore tests nothing",
        load=_LOAD,
    )
    means = [found.chunks.estimate(MEAN, _at(page, 1), 1e3).mean for page in PAGES]
    yield taken(
        estimate([float(BYTES[PAGES[means.index(min(means))]])]),
        work=WORK,
        where="figures 3.19, 3.20, 3.21",
        what="page with the lowest mean latency and the highest bandwidth, depth 1",
        published="1 KiB",
        unit=lambda value: f"{value:.0f} B: {show(means, 'us')}",
        note="the work of the core for a chunk is chosen for this optimum, which therefore tests nothing",
        load=_LOAD,
    )


def _has_tails(found: Found) -> bool:
    """Returns whether runs are long enough for the 99.99th percentile."""
    return math.isfinite(tail(found.chunks, _at("4KiB", 1)).mean)


def _whole_pages(found: Found, common: dict[str, Any]) -> Iterator[Claim]:
    """Yields the claims on pages of 4 KiB."""
    slow, fast = found.pages.at(of_page("4KiB", 1)), found.chunks.at(_at("4KiB", 1))
    times = estimate([slow[seed][MEAN] / fast[seed][MEAN] for seed in sorted(slow.keys() & fast.keys())])
    values = [next(iter(rows.values()))[MEAN] / 1e3 for rows in (slow, fast)]
    yield statement(
        times.mean,
        f"{values[0]:.1f} us over {values[1]:.2f} us: {times.mean:.2f}",
        where="figures 3.6, 3.16",
        what="mean latency of single reads of 4 KiB at 200 MT/s over that at 800 MT/s",
        published="almost 4",
        low=3.5,
        high=4.0,
        condition="the overheads of the two drives, inputs from reads of 256 B (section 3.2) and of 4 KiB (section 3.3)",
        **common,
    )
    if 8 not in found.depths:
        return
    rates = [found.chunks.estimate(IOPS, _at("4KiB", depth), 1e3).mean for depth in found.depths]
    share = ratio(found.chunks, IOPS, _at("4KiB", 8), _at("4KiB", 32))
    doublings = [after / before for before, after in pairwise(rates)]
    parts = causes(found.chunks, _at("4KiB", 8))
    yield statement(
        low(share),
        f"{share.mean:.2f}; {show(rates, 'kIOPS')}",
        where="figure 3.17",
        what="bandwidth at depth 8 over that at depth 32, 4 KiB pages",
        published="saturates at depth 8",
        low=_SATURATED,
        agrees=all(falls(after / before - 1.0) for before, after in pairwise(doublings)),
        note=f"saturated: {_SATURATED:.0%} of that at depth 32 [A]. At depth 8 the core works for "
        f"{parts['firmware']:.2f} us of a command's {sum(parts.values()):.1f} us and the link is not full; at depth 32 the link "
        "limits. The thesis says its controller limits at depth 8, and gives none of its times",
        **common,
    )


def _smallest_pages(found: Found, common: dict[str, Any]) -> Iterator[Claim]:
    """Yields the claims on pages of 256 B against those of 4 KiB."""
    fields = (("mean", MEAN), ("99.99 %", QOS)) if _has_tails(found) else (("mean", MEAN),)
    single = {name: ratio(found.chunks, field, _at("256B", 1), _at("4KiB", 1)) for name, field in fields}
    yield statement(
        max(high(each) for each in single.values()),
        ", ".join(f"{name} {each.mean:.2f}" for name, each in single.items()),
        where="figure 3.16",
        what="latency with pages of 256 B over that with 4 KiB, depth 1, larger of mean and 99.99th percentile",
        published="lower",
        high=1.0 - NOTICEABLE,
        condition=_CHUNKS,
        **common,
    )
    deeper = {depth: ratio(found.chunks, MEAN, _at("256B", depth), _at("4KiB", depth)) for depth in found.depths if depth > 1}
    worst = max(deeper)
    parts = causes(found.chunks, _at("256B", worst))
    yield statement(
        min(low(each) for each in deeper.values()),
        ", ".join(f"depth {depth}: {each.mean:.2f}" for depth, each in deeper.items()),
        where="figures 3.16, 3.17",
        what="mean latency with pages of 256 B over that with 4 KiB, depths above 1, smallest",
        published="higher, a dramatic loss",
        low=1.0 + NOTICEABLE,
        agrees=rises(max(each.mean for each in deeper.values()) - 1.0),
        condition=_CHUNKS,
        note=f"at depth {worst} a command waits {parts['core_wait']:.0f} us for the core, which serves 255,000 commands of 16 "
        f"chunks a second, and {parts.get('dram_wait', 0.0):.1f} us for the memory"
        + (". At depth 2 the core is not yet saturated" if 2 in deeper else ""),
        **common,
    )


def _lead(found: Found, field: str, page: str, depth: int) -> Estimate:
    """Returns a number of a page over that of the best of the other pages, seed by seed."""
    rows = {each: found.chunks.at(_at(each, depth)) for each in PAGES}
    best = min((each for each in PAGES if each != page), key=lambda each: found.chunks.estimate(field, _at(each, depth)).mean)
    return estimate([rows[page][seed][field] / rows[best][seed][field] for seed in sorted(rows[page])])


def _optima(found: Found, common: dict[str, Any]) -> Iterator[Claim]:
    """Yields the page sizes with the lowest latency, by depth."""
    for depth, stated in _OPTIMUM.items():
        if depth not in found.depths:
            continue
        for what, field in (
            (("mean latency", MEAN), ("99.99th percentile", QOS)) if _has_tails(found) else (("mean latency", MEAN),)
        ):
            values = [found.chunks.estimate(field, _at(page, depth), 1e3).mean for page in PAGES]
            best = PAGES[values.index(min(values))]
            lead = _lead(found, field, stated, depth)
            yield statement(
                high(lead),
                f"{in_words(best)}: {show(values, 'us')} by page",
                where="figure 3.20",
                what=f"{what} with pages of {in_words(stated)} over that of the best other size, depth {depth}",
                published=f"lowest with {in_words(stated)}",
                high=1.0 - NOTICEABLE,
                agrees=falls(lead.mean - 1.0),
                condition=_CHUNKS,
                note=_reason(found, stated, best, depth, field) if best != stated else _spread(lead),
                **common,
            )


def _spread(lead: Estimate) -> str:
    return "the upper end of the interval of the seeds is not 1 % below 1" if not falls(high(lead) - 1.0) else ""


def _reason(found: Found, stated: str, best: str, depth: int, field: str) -> str:
    """Returns what makes the stated page slower than the best one, by the causes of the mean."""
    slow, fast = causes(found.chunks, _at(stated, depth)), causes(found.chunks, _at(best, depth))
    more = {name: slow.get(name, 0.0) - fast.get(name, 0.0) for name in slow | fast}
    named = sorted(more, key=lambda name: -abs(more[name]))[:_NAMED]
    words = ", ".join(f"{name} {more[name]:+.2f}" for name in named)
    told = f"{in_words(stated)} less {in_words(best)}, mean by cause [us]: {words}"
    if depth == 32 and field == MEAN:
        links = [100.0 * found.chunks.estimate("utilisation.link_to_host", _at(page, depth)).mean for page in (stated, best)]
        told += (
            f". The link to the host is used to {links[0]:.0f} % and {links[1]:.0f} %. The thesis has the highest bandwidth at "
            f"4 KiB there (figure 3.21), which excludes 2 KiB as the optimum of the mean: {_LITTLE}"
        )
    return told


def _fastest(found: Found, common: dict[str, Any]) -> Claim:
    """Returns figure 3.21 above depth 16."""
    rates = {page: found.chunks.estimate(IOPS, _at(page, 32), 1e3).mean for page in PAGES}
    other = max((page for page in PAGES if page != "4KiB"), key=lambda page: rates[page])
    lead = ratio(found.chunks, IOPS, _at("4KiB", 32), _at(other, 32))
    return statement(
        low(lead),
        f"{lead.mean:.3f}; {show([*rates.values()], 'kIOPS')} by page",
        where="figure 3.21",
        what="bandwidth with pages of 4 KiB over that of the best other size, depth 32",
        published="highest with 4 KiB above depth 16",
        low=1.0 + NOTICEABLE,
        condition=_CHUNKS,
        **common,
    )


def _table(found: Found) -> Table:
    rows = []
    for page in PAGES:
        for depth in found.depths:
            row: list[object] = [BYTES[page], depth]
            where = _at(page, depth)
            numbers = (
                found.chunks.estimate(IOPS, where, 1e3),
                found.chunks.estimate(MEAN, where, 1e3),
                tail(found.chunks, where),
            )
            for one in numbers:
                row += [finite(one.mean), one.low, one.high]
            first = next(iter(found.chunks.at(_at(page, depth)).values()))
            rows.append([*row, first["bottleneck.resource"], first["bottleneck.utilisation"]])
    spread = [f"{name}{bound}" for name in ("kIOPS", "mean us", "p99.99 us") for bound in ("", " low", " high")]
    return Table(
        name="ssdexplorer-rram-chunks",
        title="Figures 3.16 to 3.21: reads of 4 KiB by page size and queue depth, 800 MT/s, with 95 % intervals",
        columns=("page B", "depth", *spread, "bottleneck", "use"),
        rows=rows,
    )


def _pictures(found: Found) -> Iterator[Picture]:
    sizes = [float(BYTES[page]) for page in PAGES]
    for name, field, scale, title in (
        ("mean", MEAN, 1e3, "mean latency [us]"),
        ("qos", QOS, 1e3, "99.99th percentile [us]"),
        ("bandwidth", IOPS, 1e3, "reads per second [thousands]"),
    ):
        if name == "qos" and not _has_tails(found):
            continue
        better = "higher" if name == "bandwidth" else "lower"

        def at(page: str, depth: int, field: str = field, scale: float = scale) -> Estimate:
            return tail(found.chunks, _at(page, depth)) if field == QOS else found.chunks.estimate(field, _at(page, depth), scale)

        figure = "3.21" if name == "bandwidth" else "3.20"
        chart = Chart(
            title=f"Figure {figure}: reads of 4 KiB, {title} by page size, 800 MT/s",
            x=page_axis(),
            y=Axis(title, log=True, better=better),
            series=tuple(curve(f"depth {depth}", sizes, [at(page, depth) for page in PAGES]) for depth in found.depths),
            ordered=True,
        )
        yield Picture(name=f"ssdexplorer-rram-chunks-{name}", chart=chart)
        figure = "3.17" if name == "bandwidth" else "3.16"
        chart = Chart(
            title=f"Figure {figure}: reads of 4 KiB, {title} by queue depth, 800 MT/s",
            x=depth_axis(found.depths),
            y=Axis(title, log=True, better=better),
            series=tuple(
                curve(in_words(page), [*map(float, found.depths)], [at(page, depth) for depth in found.depths]) for page in PAGES
            ),
            ordered=True,
        )
        yield Picture(name=f"ssdexplorer-rram-chunks-depth-{name}", chart=chart)
