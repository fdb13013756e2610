"""Beyond the thesis: its ten architectures against a search, and with modern flash, wear and policies.

Nothing is published about it: these entries are answers, and not scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ssdlab.charts import Axis, Chart, Series
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.architectures import NAMES
from ssdlab_papers.ssdexplorer.runs import run_search, run_sweep
from ssdlab_papers.sweeps import Points

_WORK = "Beyond the thesis"
#: Channels, chips and dies of the ten architectures of table 2.1, in their order.
_SHAPES = (
    (4, 4, 2),
    (8, 4, 2),
    (8, 8, 2),
    (8, 8, 4),
    (8, 8, 8),
    (16, 8, 4),
    (16, 4, 2),
    (32, 4, 2),
    (32, 1, 1),
    (32, 8, 4),
)
_FIELDS = ("flash.channels", "flash.chips_per_channel", "flash.dies_per_chip")
_WRITES, _READS = "throughput.write_bytes_per_s", "throughput.read_bytes_per_s"
_POLICIES = ("baseline", "slc_cache", "ofwar")
_WEAR, _QUICK_WEARS = "state.pe_cycles", (0, 3000)
#: A drive saturates a link that it keeps busy for this share of the time.
_SATURATED = 0.99
#: Architectures cost the same within this factor.
_SAME_COST = 1.02
_TRIALS = 60


def entries(setting: Setting, by_hand: Points) -> Iterator[Claim | Picture | Table]:
    """Yields what a search finds beside the ten architectures, and what modern flash changes."""
    yield from _same_flash(setting, by_hand)
    modern = run_sweep(setting, "modern_architectures", keep_length=True, fewer={_WEAR: _QUICK_WEARS})
    yield from _modern_flash(setting, modern)


def _row(points: Points, where: dict[str, object]) -> dict[str, Any]:
    return next(iter(points.at(where).values()))


def _shape(row: dict[str, Any]) -> str:
    channels, chips, dies = (row[name] for name in _FIELDS)
    return f"{channels} channels x {chips} targets x {dies} dies"


def _answer(ours: float, shown: str, what: str, note: str, load: str) -> Claim:
    common: dict[str, Any] = {"work": _WORK, "where": "beyond", "published": "not asked", "standing": "assumed"}
    return statement(ours, shown, what=what, note=note, load=load, unscored="shown", **common)


def _same_flash(setting: Setting, by_hand: Points) -> Iterator[Claim | Picture]:
    """Yields whether the search beats the ten architectures with the flash of the thesis, on PCIe 2.0 x8."""
    found = run_search(setting, "search_thesis", _TRIALS).table.to_pylist()
    ten = {
        name: _row(by_hand, {"drive": f"explorer-{name.lower()}", "buffer.policy": "write_back", "workload.iodepth": 4096})
        for name in NAMES
    }
    ok = [row for row in found if row["status"] == "ok"]
    for name in ("C6", "C8", "C10"):
        other = ten[name]
        best = max((row for row in ok if row["cost"] <= _SAME_COST * other["cost"]), key=lambda row: row[_WRITES])
        gain = best[_WRITES] / other[_WRITES] - 1.0
        yield _answer(
            gain,
            f"{best[_WRITES] / 1e6:.0f} MB/s ({_shape(best)}, cost {best['cost']:.0f}) against {other[_WRITES] / 1e6:.0f} "
            f"(cost {other['cost']:.0f}): {100 * gain:+.0f} %",
            f"best bandwidth that the search finds at the cost of {name}, to 2 %, PCIe 2.0 x8",
            "the channels limit: beyond 16 dies on a channel they cost and bring little",
            "sequential writes of 4 KiB, depth 4096",
        )
    chart = Chart(
        title="Flash of the thesis on PCIe 2.0 x8: ten architectures and a search",
        x=Axis("cost [dies]", log=True, better="lower"),
        y=Axis("bandwidth of sequential writes [MB/s]", log=True, better="higher"),
        series=(
            _cloud("search", ok, _WRITES),
            _cloud("table 2.1", list(ten.values()), _WRITES),
        ),
    )
    yield Picture(name="ssdexplorer-search", chart=chart)


def _cloud(name: str, rows: Sequence[dict[str, Any]], number: str) -> Series:
    ordered = sorted(rows, key=lambda row: (row["cost"], row[number]))
    front, best = [], 0.0
    for row in ordered:
        if row[number] > best:
            front.append(row)
            best = row[number]
    return Series(f"{name}: the best at each cost", [row["cost"] for row in front], [row[number] / 1e6 for row in front])


def _at(shape: tuple[int, int, int], load: str, policy: str, wear: int) -> dict[str, object]:
    return {**dict(zip(_FIELDS, shape, strict=True)), "workload": load, "policy": policy, _WEAR: wear}


def _modern_flash(setting: Setting, points: Points) -> Iterator[Claim | Picture | Table]:
    """Yields which architecture is the right one with modern flash, by policy and wear."""
    for policy in _POLICIES:
        saturate = []
        for name, shape in zip(NAMES, _SHAPES, strict=True):
            row = _row(points, _at(shape, "writes.fio", policy, 0))
            if row["utilisation.link_to_device"] >= _SATURATED:
                saturate.append((row["cost"], name))
        cheapest = min(saturate)
        yield _answer(
            cheapest[0],
            f"{cheapest[1]} (cost {cheapest[0]:.0f}) of {', '.join(name for _, name in sorted(saturate))}",
            f"cheapest of the ten architectures that saturates PCIe 5.0 x4 with sequential writes, modern flash, {policy}",
            "the thesis chose C6 for SATA II; a modern die programs 168 MB/s, its die 2 MB/s",
            "sequential writes of 4 KiB, depth 4096",
        )
    for policy in _POLICIES:
        rates = {wear: _row(points, _at(_SHAPES[1], "reads.fio", policy, wear))[_READS] for wear in points.values(_WEAR)}
        yield _answer(
            rates[3000] / rates[0] - 1.0,
            ", ".join(f"{rate / 1e6:.0f} MB/s at {wear} cycles" for wear, rate in rates.items()),
            f"random reads of C2 with modern flash by wear, {policy}",
            "the code of this drive corrects what fresh data has at its rated cycles, and its dies are the limit",
            "random reads of 4 KiB, depth 4096",
        )
    search = run_search(setting, "search_modern", _TRIALS)
    feasible = [row for row in search.table.to_pylist() if row["status"] == "ok" and row["is_feasible"]]
    if feasible:
        best = min(feasible, key=lambda row: row["cost"])
        yield _answer(
            best["cost"],
            f"{_shape(best)} with {best['policy']}: cost {best['cost']:.0f}",
            "cheapest architecture that the search finds, of 192 with modern flash under three policies, to saturate PCIe 5.0 x4",
            "a cache of SLC blocks saturates the link with half of the dies that the baseline needs, as long as it lasts",
            "sequential writes of 4 KiB, depth 4096",
        )
    yield _table(points)


def _table(points: Points) -> Table:
    rows = []
    for name, shape in zip(NAMES, _SHAPES, strict=True):
        for policy in _POLICIES:
            for wear in points.values(_WEAR):
                written, read = (_row(points, _at(shape, load, policy, wear)) for load in ("writes.fio", "reads.fio"))
                limits = (written["bottleneck.resource"], read["bottleneck.resource"])
                rows.append([name, policy, wear, written["cost"], written[_WRITES] / 1e6, read[_READS] / 1e6, *limits])
    columns = ("architecture", "policy", "cycles", "cost", "writes MB/s", "reads MB/s", "writes limited by", "reads limited by")
    return Table(
        name="ssdexplorer-modern", title="Ten architectures with modern flash on PCIe 5.0 x4", columns=columns, rows=rows
    )
