"""Figures 3.14 and 3.15: what a read of the storage layer consists of, by the ledger; the transfer at two rates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ssdlab.charts import Axis, Chart, Series
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, number, set_apart, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.ssdexplorer.rram.cases import MLC, PAGES, RRAM, WORK, Found, causes, in_words, of_page
from ssdlab_papers.sweeps import Points

__all__ = ["STORAGE", "entries"]

#: Causes of the storage layer: the array, the channel, and the waits for both.
STORAGE = ("sense", "transfer", "bus_command", "bus_wait", "die_host_read")
_NAMES = {
    "sense": "tR",
    "transfer": "transfer",
    "bus_command": "command on the channel",
    "bus_wait": "wait for the channel",
    "die_host_read": "wait for the die",
}
#: Transfers of 4 KiB as stated [us], by the rate.
_STATED = {"200 MT/s": 21.0, "800 MT/s": 6.0}


def entries(found: Found) -> Iterator[Claim | Picture | Table]:
    """Yields which part dominates a read, the transfers, and the causes of all points."""
    yield from _dominant(found)
    yield from _transfers(found)
    yield _table(found)
    yield from _pictures(found)


def _dominant(found: Found) -> Iterator[Claim]:
    common: dict[str, Any] = {"work": WORK, "load": "random reads of 4 KiB, depth 1, 200 MT/s", "seeds": 0}
    bounds: dict[str, dict[str, Any]] = {RRAM: {"low": 1.0 + NOTICEABLE}, MLC: {"high": 1.0 - NOTICEABLE}}
    for where, name, medium in (("figure 3.14", "RRAM", RRAM), ("figure 3.15", "1X-MLC", MLC)):
        parts = causes(found.pages, of_page("4KiB", 1, medium))
        over = parts["transfer"] / parts["sense"]
        claim = statement(
            over,
            f"{parts['transfer']:.1f} us over {parts['sense']:.0f} us: {over:.2f}",
            where=where,
            what=f"transfer over tR, {name}",
            published="the transfer dominates" if medium == RRAM else "the transfer does not dominate, compared to RRAM",
            **bounds[medium],
            **common,
        )
        stated = "1 us (stated)" if medium == RRAM else "40 us, of sample B-MLC (table 2.3)"
        yield set_apart(claim, "input", f"follows at once from 200 MT/s (stated) and a tR of {stated}")


def _transfers(found: Found) -> Iterator[Claim]:
    measured = {
        "200 MT/s": causes(found.pages, of_page("4KiB", 1)),
        "800 MT/s": causes(found.chunks, {"flash.page_size": "4KiB", "workload.iodepth": 1}),
    }
    for rate, parts in measured.items():
        time = parts["transfer"] + parts["bus_command"]
        yield number(
            Estimate(1, time, None, None),
            _STATED[rate],
            0.5,
            work=WORK,
            where="section 3.3",
            what=f"transfer of 4 KiB at {rate}, with its command",
            unit=lambda value: f"{value:.2f} us",
            load="random reads of 4 KiB, depth 1",
            note=f"{parts['transfer']:.2f} us are the data, {parts['bus_command']:.2f} us the command"
            + (
                ""
                if rate == "200 MT/s"
                else ". 21 us and 6 us are no ratio of four: the thesis has more than the data in one of them. With parity "
                "(4,320 B, table 2.9) it would be 5.7 us"
            ),
        )


def _table(found: Found) -> Table:
    rows: list[list[object]] = []
    names: dict[str, None] = {}
    cases: list[tuple[str, str, str, int, Points, dict[str, object]]] = [
        ("200 MT/s", medium, page, depth, found.pages, of_page(page, depth, medium)) for medium, page, depth in _places(found)
    ]
    for page in PAGES:
        for depth in found.depths:
            where: dict[str, object] = {"flash.page_size": page, "workload.iodepth": depth}
            cases.append(("800 MT/s", RRAM, page, depth, found.chunks, where))
    parts = [causes(points, where) for *_, points, where in cases]
    for each in parts:
        names |= dict.fromkeys(each)
    for (rate, medium, page, depth, *_), each in zip(cases, parts, strict=True):
        rows.append([rate, medium, page, depth, *(each.get(name, 0.0) for name in names)])
    return Table(
        name="ssdexplorer-rram-causes",
        title="Figures 3.14 to 3.17: mean time of a read by its causes [us]",
        columns=("channel", "tR", "page", "depth", *names),
        rows=rows,
    )


def _places(found: Found) -> Iterator[tuple[str, str, int]]:
    for medium, pages in ((RRAM, PAGES), (MLC, PAGES[-1:])):
        for page in pages:
            for depth in found.depths:
                yield medium, page, depth


def _pictures(found: Found) -> Iterator[Picture]:
    bars = [*((page, RRAM) for page in PAGES), ("4KiB", MLC)]
    labels = [in_words(page) if medium == RRAM else f"{in_words(page)}, 1X-MLC" for page, medium in bars]
    for depth, what in ((1, "a single read"), (32, "a read at depth 32")):
        parts = [causes(found.pages, of_page(page, depth, medium)) for page, medium in bars]
        chart = Chart(
            title=f"Figures 3.14 and 3.15: the storage layer of {what}, 200 MT/s",
            x=Axis("page"),
            y=Axis("mean time [us]", better="lower"),
            series=tuple(Series(_NAMES[name], labels, [each.get(name, 0.0) for each in parts]) for name in STORAGE),
            stacked=True,
        )
        yield Picture(name=f"ssdexplorer-rram-storage-{depth}", chart=chart)
