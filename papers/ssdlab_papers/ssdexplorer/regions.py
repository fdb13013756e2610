"""Settings at which headline values of the thesis come out that do not at the stated ones, over what it leaves open.

Parameters that the thesis states, or that follow from another statement of it, are searched as well: they show where
the value appears, and are plausible as stated alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.regions import Open, Region, between, choice, region, with_region
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import SPECS

__all__ = ["MEAN_MA", "OF_READS", "TARGETS", "Target", "find_region", "with_regions"]

#: Trials of a search.
TRIALS: Final = 60
#: Accuracy with which a gain counts as the published one, as a share of it [A]: a trial is one run.
_NEAR: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A headline claim for whose value there is a search."""

    name: str
    #: Place of the claim, and the beginning of its subject.
    where: str
    what: str
    #: The quantity, and its expression over the numbers of the runs and those of their reference.
    title: str
    quantity: str
    #: The published value, and the distance up to which a value counts as it.
    published: float
    tolerance: float
    parameters: tuple[Open, ...]
    #: Part of the claim that is searched, if not all of it.
    part: str = ""
    #: The rest of the specification of the search.
    spec: Mapping[str, Any] = field(default_factory=dict)


def _open(name: str, title: str, *values: Any, why: str = "the thesis does not say") -> Open:
    """Returns a parameter of which nothing is known, so that all choices are plausible."""
    return choice(name, title, values, why=why)


# Figure 1.7: the drive is a product, of which the parts are known (FACTS 5.8), and the firmware is not.
_VERTEX = Target(
    name="vertex",
    where="figure 1.7",
    what="SW of the OCZ Vertex",
    title="sequential writes of the OCZ Vertex 120 GB [MB/s]",
    quantity="throughput.iops * 0.004096",
    published=180.0,
    tolerance=0.08 * 180.0,
    parameters=(
        between(
            "controller.firmware.cycles.decode",
            "cycles of the firmware to decode a command",
            100,
            6000,
            why="the firmware of the drive is not public",
        ),
        _open("flash.multi_plane", "operations on both planes", True, False, why="not known of the drive"),
        choice(
            "flash.transfer_rate",
            "transfer rate",
            ("25MT/s", "33MT/s", "40MT/s"),
            ("33MT/s", "40MT/s"),
            why="recalled: cycles of 25 or 30 ns",
        ),
        choice(
            "flash.program_time",
            "tPROG",
            ("800us", "1300us", "2000us"),
            ("800us", "1300us"),
            why="recalled: 800 us; slower pages of a pair take longer",
        ),
    ),
    spec={
        "drive": "vertex-120g",
        "workload": "writes.fio",
        "options": {"stop_after": 200_000},
        "set": {
            "ftl.map_cache": "",
            "ftl.translation": {"kind": "waf", "write_amplification": 1.0},
            "controller.dram.size": "1GiB",
        },
    },
)

# Section 3.2: what the controller takes is known from two statements alone: 66 us for 32 commands of 256 B in flight,
# and 16 us for one.
_RRAM: Final = {"drive": "rram-512g", "workload": "reads.fio", "options": {"stop_after": 100_000}}
_CONTROLLER: Final = (
    between(
        "controller.firmware.cycles.decode",
        "cycles of a core for half of a command",
        0,
        1000,
        (450, 550),
        why="32 commands of 256 B in flight take 66 us (section 3.2), which is a thousand cycles of one core for each",
    ),
    choice("controller.firmware.count", "cores", (1, 2, 4), (1,), why="the same statement, of one core"),
    choice(
        "host.cpu.submission",
        "half of the overhead of a command",
        ("0ns", "2us", "5300ns", "10us"),
        ("5300ns",),
        why="single reads of 256 B take 16 us (section 3.2)",
    ),
)
_HALVES: Final = {
    "controller.firmware.cycles.complete": "controller.firmware.cycles.decode",
    "host.cpu.completion": "host.cpu.submission",
}
_PAGES = Target(
    name="rram-pages",
    where="figure 3.3",
    what="bandwidth with pages",
    title="bandwidth with pages of 4 KiB over that with 256 B",
    quantity="throughput.read_bytes_per_s / reference.throughput.read_bytes_per_s",
    published=16.0,
    tolerance=0.5,
    parameters=(*_CONTROLLER, choice("workload.iodepth", "queue depth", (4, 8, 16, 32), (16,), why="stated")),
    spec={
        **_RRAM,
        "set": {"flash.page_size": "4KiB"},
        "derive": _HALVES,
        "reference": {"flash.page_size": "256B", "workload.bs": 256},
    },
)
_MEDIUM = Target(
    name="rram-mlc",
    where="figure 3.9",
    what="median of reads",
    title="median of reads of 4 KiB, RRAM over 1X-MLC",
    quantity="latency.read.p50_ns / reference.latency.read.p50_ns",
    published=1.0,
    tolerance=0.1,
    parameters=(*_CONTROLLER, choice("workload.iodepth", "queue depth", (16, 32, 64, 128), (32,), why="stated")),
    spec={
        **_RRAM,
        "set": {"flash.page_size": "4KiB"},
        "derive": _HALVES,
        "reference": {"flash.read_time": "40us"},
    },
)

# Section 4.1: the figure of the currents (4.5) has no numbers in the text. What a read draws is taken from what the
# stated mean power leaves for programs. A trial is one run, whose peak varies with the seed by a few hundredths of a
# watt, and a change of it by some percent: tolerances are wider than the last digit by as much.
#: Mean current of a die at the stated mean power [mA], and the share of its busy time with reads [D] (FACTS 5.9).
MEAN_MA, OF_READS = 4.4, 0.1003
_PULSES: Final = (
    _open("power.program.width", "width of a pulse", "7us", "10us", "13us", "18us", "26us"),
    _open("power.program.base", "current between pulses", "800uA", "1600uA", "2000uA"),
    _open("power.program.period", "period of the pulses", "50us", "100us", "200us"),
    _open("power.read.current", "current of a read", "4mA", "8mA", "16mA", "25mA"),
    _open("workload.iodepth", "queue depth", 256, 512, 1024, 4096),
    _open("ftl.write_allocation", "choice of the die of a write", "pull", "static", "round_robin"),
)
_OF_PROGRAM: Final = f"({MEAN_MA}mA - {OF_READS} * power.read.current) / {1.0 - OF_READS}"
_PEAK: Final = {
    "power.program.peak": f"round(power.program.base + ({_OF_PROGRAM} - power.program.base)"
    " * power.program.period / power.program.width)",
}
_T1 = Target(
    name="t1-peak",
    where="figure 4.7",
    what="T1: peak power",
    title="peak power of T1 [W]",
    quantity="energy.peak_w",
    published=3.52,
    tolerance=0.06,
    parameters=_PULSES,
    spec={
        "drive": "ssdpower-16x8",
        "workload": "table_4_2.fio",
        "options": {"stop_after": 131_072},
        "derive": _PEAK,
        "columns": ["energy.peak_w"],
    },
)


def _windows(test: str, quantity: str, published: float, tolerance: float) -> Target:
    """Returns the search for what one window, or two, change: at every position, at other pulses and depths."""
    count = {"T2": 1, "T3": 2}[test]
    places = tuple(
        between(
            f"power.suspend[0].at[{at}]", f"position of window {at + 1}", 0.05, 0.95, why="the thesis tries all suspension points"
        )
        for at in range(count)
    )
    rule = "stated: no operation is issued to an idle die during a window"
    window = {"page_types": [2], "at": [0.3, 0.7][:count], "length": "200us"}
    return Target(
        name=f"{test.lower()}-{quantity}",
        where="table 4.2",
        what=f"{test}: {quantity} power",
        title=f"{quantity} power of {test} over that without windows, less 1 [%]",
        quantity=f"100 * (energy.{quantity}_w / reference.energy.{quantity}_w - 1)",
        published=published,
        tolerance=tolerance,
        parameters=(
            *places,
            choice("power.suspend[0].idle_chips_wait", "idle dies wait", (True, False), (True,), why=rule),
            _open("power.suspend[0].overhead", "overhead of a suspension", "0ns", "200us", "488us"),
            *_PULSES,
        ),
        spec={
            "drive": "ssdpower-16x8",
            "workload": "table_4_2_steady.fio",
            "options": {"stop_after": 49_152},
            "set": {"power.suspend": [window]},
            "derive": _PEAK,
            "reference": {"power.suspend": ""},
            "columns": ["energy.mean_w", "energy.peak_w"],
            **({"where": "power.suspend[0].at[1] >= power.suspend[0].at[0] + 0.05"} if count > 1 else {}),
        },
    )


# Section 2.3.2: the levels and the host are inputs; the decoders, the firmware and the scheduler are open.
_CHANNEL: Final = (
    choice(
        "flash.transfer_rate",
        "transfer rate",
        ("166MT/s", "200MT/s", "240MT/s", "400MT/s"),
        ("240MT/s",),
        why="450,000 reads a second need 240 MT/s (FACTS 5.2)",
    ),
    _open("ecc.decoder.decoders", "decoders of a channel", 1, 2, 4),
    _open("controller.firmware.count", "cores", 1, 2, 4, 8),
    _open("flash.scheduler", "order of the operations of a die", "read_first", "fifo"),
)


def _soft(name: str, sample: str, table: str, published: float, quantity: str, commands: int) -> Target:
    """Returns the search for a gain by NASD on reads alone."""
    return Target(
        name=name,
        where=f"table {table}",
        what=f"100% read, enterprise host, sample {sample}: gain",
        title=f"gain by NASD on reads of sample {sample}, enterprise host [%]",
        quantity=quantity,
        published=published,
        tolerance=_NEAR * published,
        parameters=(
            *_CHANNEL,
            choice("workload.iodepth", "queue depth", (64, 128, 256, 512), (256,), why="stated"),
            _open("ftl.write_allocation", "choice of the die of a write", "pull", "static"),
        ),
        spec={
            "drive": f"ldpc-{sample.lower()}",
            "workload": "reads.fio",
            "options": {"stop_after": commands},
            "set": {"flash.blocks_per_plane": 128, "ecc.plan.kind": "nasd"},
            "derive": {"state.pe_cycles": "2 * flash.rated_pe_cycles"},
            "reference": {"ecc.plan.kind": "soft"},
        },
    )


_TAIL: Final = "100 * (1 - latency.all.p99_99_ns / reference.latency.all.p99_99_ns)"
_MIX = Target(
    name="msn-tail",
    where="section 2.3.2 B",
    what="cases of the MSN mix",
    title="fall of the 99.99th percentile by NASD, MSN mix, sample A, enterprise host [%]",
    quantity=_TAIL,
    published=30.0,
    tolerance=10.0,
    part="one of the claim's 8 cases",
    parameters=(
        *_CHANNEL,
        _open("buffer.capacity", "write buffer", "1MiB", "8MiB", "64MiB", "512MiB"),
        Open(
            field="controller.firmware.cycles.allocate",
            title="cycles of the firmware for a write",
            choices={"low": 0, "high": 40_000, "step": 2_000},
            plausible=(38_000, 40_000),
            why="calibrated on the bandwidth of the Financial mix, 143,000 commands a second",
        ),
    ),
    spec={
        "drive": "ldpc-a",
        "workload": "msn.fio",
        "options": {"stop_after": 300_000},
        "set": {"ftl.translation": {"kind": "waf", "write_amplification": 1.0}, "ecc.plan.kind": "nasd"},
        "derive": {"state.pe_cycles": "2 * flash.rated_pe_cycles"},
        "reference": {"ecc.plan.kind": "soft"},
    },
)

#: The searches. The ratio of the times of two simulators (section 1.5) is no setting of a drive and has none.
TARGETS: Final = (
    _VERTEX,
    _soft("soft-reads", "C", "2.8", 42.77, "100 * (throughput.iops / reference.throughput.iops - 1)", 100_000),
    _soft("soft-tail", "B", "2.10", 50.80, _TAIL, 200_000),
    _MIX,
    _PAGES,
    _MEDIUM,
    _T1,
    _windows("T2", "mean", -3.5, 0.35),
    _windows("T2", "peak", -11.5, 1.0),
    _windows("T3", "mean", -5.0, 0.5),
    _windows("T3", "peak", -13.0, 1.5),
)


def find_region(setting: Setting, target: Target, trials: int = TRIALS) -> Region:
    """Returns where a headline value comes out."""
    spec = dict(target.spec)
    return region(
        setting,
        f"ssdexplorer-{target.name}",
        title=target.title,
        quantity=target.quantity,
        published=target.published,
        tolerance=target.tolerance,
        parameters=target.parameters,
        trials=trials,
        workload=str(SPECS / spec.pop("workload")),
        **spec,
    )


def with_regions(setting: Setting, found: Iterable[Entry | Picture | Table]) -> Iterator[Entry | Picture | Table]:
    """Yields everything, in the full form headlines that are not met with the region in which their value comes out."""
    for each in found:
        target = _target(each) if isinstance(each, Claim) and setting.searches(each) else None
        if target is None or not isinstance(each, Claim):
            yield each
            continue
        where = find_region(setting, target)
        value = f"{target.title}: {target.published:g} (± {target.tolerance:.3g})"
        yield from with_region(each, where, value, target.part)


def _target(claim: Claim) -> Target | None:
    """Returns the search for a headline that is neither met nor holds under a condition."""
    if not claim.headline or claim.verdict not in ("direction only", "differs"):
        return None
    return next((each for each in TARGETS if claim.where.startswith(each.where) and claim.what.startswith(each.what)), None)
