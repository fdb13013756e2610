"""Beyond the thesis: what a cap on the power does to the tail of each policy of the one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ssdlab import Drive, Workload
from ssdlab.charts import Axis, Chart, Series
from ssdlab_papers.budget.runs import CONTENDERS, Contender
from ssdlab_papers.budget.tables import drive
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power.windows import WORK
from ssdlab_papers.ssdexplorer.runs import SPECS

__all__ = ["CAPS", "Capped", "contenders", "entries", "resolved_drive"]

#: Caps, and none.
CAPS: Final = ("none", "8W", "5W", "3W")
#: The drive of the one budget, with its 25 mA for each operation, with 128 dies in place of 16 and an eighth of the
#: blocks of each: 128 operations at 82.5 mW draw 10.6 W, so that 8 W are 96 operations at once, 5 W 60, and 3 W 36.
_SHAPE = {"channels": 16, "chips_per_channel": 8, "blocks_per_plane": 128}
_WEAR = 0.5
#: Commands of a run; a quarter of them in a quick one, of whose reads and writes ten lie beyond the 99.9th percentile.
_COMMANDS = 100_000
_QUICK = ("baseline", "ofwar", "margin")
_DRAWN = ("baseline", "wear_adaptive", "slc_cache", "ofwar", "agcr", "autoftl", "margin", "clairvoyant")
_LOAD = "50 % reads, random, 4 KiB, depth 256, half worn"


@dataclass(frozen=True, slots=True)
class Capped:
    """Results of a policy under a cap; latencies in microseconds, ``None`` where too few commands lie beyond."""

    contender: Contender
    cap: str
    kiops: float
    #: 99th and 99.9th percentile of reads, and of writes.
    tails: tuple[float | None, ...]
    waits: int
    #: Mean wait for power of a read and of a write [us].
    wait_read: float
    wait_write: float
    mean_w: float
    peak_w: float
    joule_per_gb: float

    @classmethod
    def from_summary(cls, contender: Contender, cap: str, summary: Mapping[str, Any]) -> Capped:
        """Takes the results from ``summary.json``."""
        energy, latency = summary["energy"], summary["latency"]
        return cls(
            contender=contender,
            cap=cap,
            kiops=summary["throughput"]["iops"] / 1e3,
            tails=tuple(
                None if (tail := latency[op][name]) is None else tail / 1e3
                for op in ("read", "write")
                for name in ("p99_ns", "p99_9_ns")
            ),
            waits=energy["cap"]["waits"] if energy["cap"] is not None else 0,
            wait_read=summary["causes"]["read"].get("power_wait", 0.0) / 1e3,
            wait_write=summary["causes"]["write"].get("power_wait", 0.0) / 1e3,
            mean_w=energy["mean_w"],
            peak_w=energy["peak_w"],
            joule_per_gb=1e9 * energy["per_host_byte_j"],
        )


@cache
def resolved_drive(table: str) -> Drive:
    """Returns the drive with the modes of a table derived."""
    given = drive(table, _WEAR)
    described = {**given, "flash": {**given["flash"], **_SHAPE}}
    text = run(Drive.from_dict(described), _workload(), "baseline", stop_after=1, precondition="none").drive_toml
    return Drive.from_text(text, f"budget drive of 128 dies, {table}")


def _workload() -> Workload:
    return Workload(SPECS / "caps.fio")


def contenders(setting: Setting) -> list[Contender]:
    """Returns the policies; of a quick run a few."""
    return [each for each in CONTENDERS if not setting.quick or each.name in _QUICK]


def measure(setting: Setting) -> list[Capped]:
    """Runs each policy under each cap."""
    pieces = [(each, cap) for each in contenders(setting) for cap in CAPS]
    # Each drive is resolved once, in advance: otherwise two threads could derive the same modes at the same time.
    setting.share_out("modes", resolved_drive, [*dict.fromkeys(each.table for each, _ in pieces)])

    def one(piece: tuple[Contender, str]) -> Capped:
        contender, cap = piece
        given = dict(contender.settings) | ({} if cap == "none" else {"power.cap": cap})
        commands = _COMMANDS // 4 if setting.quick else _COMMANDS
        done = run(
            resolved_drive(contender.table), _workload(), contender.policy, set=given, stop_after=commands, precondition="steady"
        )
        return Capped.from_summary(contender, cap, done.summary)

    return setting.share_out("caps", one, pieces)


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the effect of each cap on each policy."""
    found = measure(setting)
    by = {(each.contender.name, each.cap): each for each in found}
    names = [*dict.fromkeys(each.contender.name for each in found)]
    yield from (_answer(name, [by[name, cap] for cap in CAPS]) for name in names)
    yield from _together(by, names)
    yield _table(found)
    yield from _pictures(by, [name for name in names if name in _DRAWN])


def _tail(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e3:.2f}"


def _answer(name: str, row: Sequence[Capped]) -> Claim:
    free = row[0]
    common: dict[str, Any] = {"work": WORK, "where": "beyond: caps", "published": "not asked", "standing": "assumed"}
    reads = " → ".join(_tail(each.tails[1]) for each in row)
    writes = " → ".join(_tail(each.tails[3]) for each in row)
    rates = " → ".join(f"{each.kiops:.0f}" for each in row)
    waits = ", ".join(f"{each.waits:,}" for each in row[1:])
    return statement(
        row[-1].kiops / free.kiops,
        f"reads {reads} ms; writes {writes} ms; {rates} kIOPS; {waits} waits",
        what=f"{name}: 99.9th percentiles and throughput without a cap and at {', '.join(CAPS[1:])}",
        note="128 dies at 82.5 mW for each operation, from data sheets [F], an upper bound: 8 W are 96 operations at once, 5 W "
        "60, 3 W 36. One seed; a write ends in the buffer, so that its tail is the wait for room there",
        load=_LOAD,
        unscored="shown",
        seeds=1,
        **common,
    )


def _together(by: Mapping[tuple[str, str], Capped], names: Sequence[str]) -> Iterator[Claim]:
    """Yields for each cap how many policies it never binds, and which one it costs least and most."""
    common: dict[str, Any] = {"work": WORK, "where": "beyond: caps", "published": "not asked", "standing": "assumed"}
    for cap in CAPS[1:]:
        never = [name for name in names if by[name, cap].waits == 0]
        kept = sorted((by[name, cap].kiops / by[name, "none"].kiops, name) for name in names)
        (low, most), (high, least) = kept[0], kept[-1]
        yield statement(
            low,
            f"{len(never)} never wait{': ' + ', '.join(never) if never else ''}; {low:.2f} ({most}) to {high:.2f} ({least})",
            what=f"{cap}: policies of {len(names)} that it never binds, and throughput over that without a cap",
            note="the shorter a policy's operations, the less power its rate takes, and the less a cap costs it",
            load=_LOAD,
            unscored="shown",
            seeds=1,
            **common,
        )


def _table(found: Sequence[Capped]) -> Table:
    columns = (
        "policy",
        "cap",
        "kIOPS",
        "read p99 us",
        "read p99.9 us",
        "write p99 us",
        "write p99.9 us",
        "waits",
        "power wait of a read us",
        "power wait of a write us",
        "mean W",
        "peak W",
        "J/GB",
    )
    rows = [
        (
            each.contender.name,
            each.cap,
            each.kiops,
            *each.tails,
            each.waits,
            each.wait_read,
            each.wait_write,
            each.mean_w,
            each.peak_w,
            each.joule_per_gb,
        )
        for each in found
    ]
    return Table(
        name="ssdexplorer-power-caps", title="Caps of 3, 5 and 8 W on each policy of the one budget", columns=columns, rows=rows
    )


def _pictures(by: Mapping[tuple[str, str], Capped], names: Sequence[str]) -> Iterator[Picture]:
    caps = ["3W", "5W", "8W", "none"]
    for kind, place, title in (("reads", 1, "99.9th percentile of reads"), ("writes", 3, "99.9th percentile of writes")):
        chart = Chart(
            title=f"{title} by the cap on the power of the flash",
            x=Axis("cap"),
            y=Axis(f"{title} [ms]", log=True, better="lower"),
            series=tuple(Series(name, caps, [_or_nan(by[name, cap].tails[place]) / 1e3 for cap in caps]) for name in names),
            cases=True,
        )
        yield Picture(name=f"ssdexplorer-power-caps-{kind}", chart=chart)


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value
