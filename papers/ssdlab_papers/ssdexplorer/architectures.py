"""Table 2.1, figures 2.1 and 2.2: ten architectures on two links, with caching of writes and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ssdlab
from ssdlab.charts import Axis, Chart, Series
from ssdlab_papers.claim import NOTICEABLE, Claim, rises, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import WORK, run_sweep
from ssdlab_papers.sweeps import Points

NAMES = tuple(f"C{number}" for number in range(1, 11))
_LINKS = {"SATA II": 32, "PCIe 2.0 x8": 4096}
_BANDWIDTH = "throughput.write_bytes_per_s"
#: Architectures that saturate SATA II with caching.
_SATURATE = ("C6", "C8", "C10")
#: A drive saturates a link if it is this close to what the link carries, which is what a bar of figure 2.1 shows.
_SATURATED = 0.99
_DERIVED = (
    "mean tPROG 1.8 to 3.5 ms and 18.5 to 37 MB/s on a channel, derived from figure 2.1, in which C4 and C7 "
    "miss what C6 and C8 reach; the thesis states a range of tPROG and no transfer rate"
)
_LOAD = "sequential writes of 4 KiB to an empty drive"


class _Curves:
    """Bandwidth of each architecture [MB/s]; nothing in these runs is drawn, so that all seeds agree."""

    def __init__(self, setting: Setting, drives: Points) -> None:
        self.links = run_sweep(setting, "links", keep_length=True)
        self.flash = run_sweep(setting, "flash", keep_length=True)
        self.drives = drives

    def link(self, name: str, link: str, with_buffers: bool) -> float:
        where = {"workload.iodepth": _LINKS[link], "controller.dram": '"ddr"' if with_buffers else '"ideal"'}
        return _value(self.links, name, where)

    def inner(self, name: str) -> float:
        return _value(self.flash, name, {})

    def drive(self, name: str, link: str, cached: bool) -> float:
        return self.drives.estimate(_BANDWIDTH, _of(name, link, cached), 1e6).mean

    def resource(self, name: str, link: str, cached: bool) -> str:
        (row, *_) = self.drives.at(_of(name, link, cached)).values()
        return str(row["bottleneck.resource"])


def _of(name: str, link: str, cached: bool) -> dict[str, object]:
    """Returns the point of a drive."""
    policy = "write_back" if cached else "none"
    return {"drive": f"explorer-{name.lower()}", "workload.iodepth": _LINKS[link], "buffer.policy": policy}


def _value(points: Points, name: str, where: Mapping[str, object]) -> float:
    return points.estimate(_BANDWIDTH, {"drive": f"explorer-{name.lower()}", **where}, 1e6).mean


def ten(setting: Setting) -> Points:
    """Does the runs of the ten architectures."""
    return run_sweep(setting, "architectures", keep_length=True)


def entries(setting: Setting, drives: Points) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 2.1, with figures 2.1 and 2.2."""
    curves = _Curves(setting, drives)
    common: dict[str, Any] = {"work": WORK, "load": _LOAD}
    yield from _saturation(curves, common)
    yield from _without_caching(curves, common)
    yield _cheapest(curves, common)
    yield from _on_pci_express(curves, common)
    yield _table(curves)
    for link in _LINKS:
        yield _picture(curves, link)


def _saturation(curves: _Curves, common: dict[str, Any]) -> Iterator[Claim]:
    reached = {name: curves.drive(name, "SATA II", True) / curves.link(name, "SATA II", True) for name in NAMES}
    found = [name for name in NAMES if reached[name] >= _SATURATED]
    next_best = max(value for name, value in reached.items() if name not in found)
    yield statement(
        float(len(set(found) ^ set(_SATURATE))),
        f"{', '.join(found) or 'none'}; the next best reaches {100 * next_best:.0f} %",
        where="figure 2.1",
        what="architectures that saturate SATA II with caching: how many differ from the thesis",
        published=", ".join(_SATURATE),
        high=0.0,
        condition=_DERIVED,
        note=f"condition: {_DERIVED}",
        **common,
    )
    yield statement(
        curves.link("C1", "SATA II", True) / curves.link("C1", "SATA II", False),
        f"{curves.link('C1', 'SATA II', False):.1f} MB/s and {curves.link('C1', 'SATA II', True):.1f} MB/s",
        where="figure 2.1",
        what="SATA II alone, and with the DDR buffers of C1: ratio of the second to the first",
        published="the second is more realistic, and lower",
        high=1.0 - NOTICEABLE,
        note="ours receive FIS by FIS, and the buffers, faster than the link, hide behind it: the time of the DMA engines, "
        "which the thesis adds, is not given",
        **common,
    )


def _cheapest(curves: _Curves, common: dict[str, Any]) -> Claim:
    """Returns the claim that C6 is the cheapest architecture that saturates SATA II."""
    first = {name: next(iter(curves.drives.at(_of(name, "SATA II", True)).values())) for name in _SATURATE}
    cost = {name: row["cost"] for name, row in first.items()}
    shape = {name: ssdlab.describe(f"explorer-{name.lower()}") for name in _SATURATE}
    dies = {name: found["dies_working_at_once"] for name, found in shape.items()}
    channels = {name: found["channels"] for name, found in shape.items()}
    balance = (dies["C6"] - dies["C8"]) / (channels["C8"] - channels["C6"])
    region = f"a channel with its buffer costs more than {balance:.0f} dies"
    return statement(
        cost["C6"] / min(cost["C8"], cost["C10"]),
        ", ".join(f"{name} {value:.0f}" for name, value in cost.items()) + " dies' worth",
        where="figure 2.1",
        what="resource cost of C6 over the cheapest of the others that saturate SATA II",
        published="C6 has the lowest resource consumption",
        high=1.0 - NOTICEABLE,
        region=region,
        note=f"holds if {region}: C6 has 512 dies on 16 channels, C8 256 dies on 32. The coefficients are assumed "
        "(docs/guide/explore.md); the thesis names none",
        **common,
    )


def _without_caching(curves: _Curves, common: dict[str, Any]) -> Iterator[Claim]:
    flat = {name: curves.drive(name, "SATA II", False) for name in NAMES}
    yield statement(
        max(flat.values()) / flat["C1"],
        f"{min(flat.values()):.1f} to {max(flat.values()):.1f} MB/s",
        where="figure 2.1",
        what="SATA II without caching: bandwidth of the best architecture over that of C1",
        published="no configuration reaches the target; the performance flattens, and the choice falls on C1",
        low=0.95,
        high=1.05,
        note="32 commands keep at most 32 dies busy, those of C1; 5 % is what a bar of the figure shows",
        **common,
    )


def _on_pci_express(curves: _Curves, common: dict[str, Any]) -> Iterator[Claim]:
    best = curves.drive("C10", "PCIe 2.0 x8", True) / curves.link("C10", "PCIe 2.0 x8", True)
    yield statement(
        best,
        f"{curves.drive('C10', 'PCIe 2.0 x8', True):.0f} of {curves.link('C10', 'PCIe 2.0 x8', True):.0f} MB/s",
        where="figure 2.2",
        what="PCIe 2.0 x8 with NVMe: share of the link that C10 reaches",
        published="not even C10 saturates the link",
        high=_SATURATED - 1e-9,
        **common,
    )
    for cached in (True, False):
        every = {name: curves.drive(name, "PCIe 2.0 x8", cached) for name in NAMES}
        behind = max(every[name] for name in NAMES if name != "C10")
        yield statement(
            every["C10"] / behind,
            ", ".join(f"{name} {value:.0f}" for name, value in every.items()) + " MB/s",
            where="figure 2.2",
            what=f"PCIe 2.0 x8 {'with' if cached else 'without'} caching: C10 over the next best",
            published="the parallelism of the drive is reached; C10 is the best",
            low=1.0 + NOTICEABLE,
            **common,
        )
    gaps = {name: 1.0 - curves.drive(name, "PCIe 2.0 x8", False) / curves.drive(name, "PCIe 2.0 x8", True) for name in NAMES}
    yield statement(
        min(gaps.values()),
        ", ".join(f"{name} {100 * gap:.1f} %" for name, gap in gaps.items()),
        where="figure 2.2",
        what="PCIe 2.0 x8: bandwidth lost without caching, smallest of the architectures",
        published="a performance gap still exists",
        low=NOTICEABLE,
        agrees=rises(max(gaps.values())),
        note="less than 1 % is not noticeable: with few dies these limit, and no buffer helps",
        **common,
    )


def _curves_of(curves: _Curves, link: str) -> list[tuple[str, list[float]]]:
    """Returns the curves of figure 2.1 or 2.2, by name."""
    return [
        (f"{link} ideal", [curves.link(name, link, False) for name in NAMES]),
        (f"{link} + DDR", [curves.link(name, link, True) for name in NAMES]),
        ("DDR + flash", [curves.inner(name) for name in NAMES]),
        ("SSD cache", [curves.drive(name, link, True) for name in NAMES]),
        ("SSD no cache", [curves.drive(name, link, False) for name in NAMES]),
    ]


def _table(curves: _Curves) -> Table:
    rows: list[Sequence[object]] = []
    for link in _LINKS:
        named = _curves_of(curves, link)
        for place, name in enumerate(NAMES):
            limits = [curves.resource(name, link, cached) for cached in (True, False)]
            rows.append([link, name, *(round(values[place], 1) for _, values in named), *limits])
    columns = ("link", "architecture", "link ideal", "link + DDR", "DDR + flash", "SSD cache", "SSD no cache")
    limited = ("limited by, cached", "limited by, not cached")
    title = "Figures 2.1 and 2.2: bandwidth of sequential writes [MB/s]"
    return Table(name="ssdexplorer-architectures", title=title, columns=(*columns, *limited), rows=rows)


def _picture(curves: _Curves, link: str) -> Picture:
    figure = "2.1" if link == "SATA II" else "2.2"
    series = [
        Series(name, list(NAMES), values, dashed=place < 3, points=True)
        for place, (name, values) in enumerate(_curves_of(curves, link))
    ]
    chart = Chart(
        title=f"Figure {figure}: sequential writes of 4 KiB, {link}",
        x=Axis("architecture (table 2.1)"),
        y=Axis("bandwidth [MB/s]", log=True, better="higher"),
        series=tuple(series),
        cases=True,
    )
    return Picture(name=f"ssdexplorer-figure-{figure.replace('.', '-')}", chart=chart)
