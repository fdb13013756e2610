"""The paper's two drives, the loads replayed on them, and the results of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import Lifetime, Workload
from ssdlab_papers.session import lifetime
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: autoFTL with and without slow erases.
POLICIES = ("autoftl", "autoftl_minus")
#: Relative difference up to which two rounds of an extrapolated life agree. Bursts are drawn anew in each round; the
#: smallest published difference examined here, between two drives, is 31 percentage points.
_AGREEMENT = 0.03
#: Erase voltages, from the highest.
LEVELS = ("ev0", "ev1", "ev2", "ev3", "ev4")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One of the drives of table 3."""

    #: Name in the paper.
    name: str
    #: Name of the preset.
    preset: str
    #: Number of dies that program at once.
    dies: int
    #: Traces of the paper.
    of_the_paper: tuple[str, ...]
    #: Loads that stand in for them, and the replay speeds of each, relative to the recording: the paper's own or
    #: others.
    stand_ins: tuple[tuple[str, tuple[float, ...]], ...]
    #: Replay speed of the traces in the paper, relative to the recording.
    speed: float
    #: Mean cycles of a block in one round of a lifetime run.
    round_cycles: float
    #: Mean published gain in MAX P/E.
    gain: float

    @property
    def effective_ns(self) -> float:
        """``T_effective``: program time over the number of dies that program at once [ns]."""
        return 1_300_000 / self.dies


ENTERPRISE = Configuration(
    name="enterprise",
    preset="dpes-enterprise",
    dies=32,
    of_the_paper=("proj_0", "src1_2", "hm_0", "prxy_0", "stg_0", "web_0"),
    stand_ins=(("prxy_0", (100.0,)), ("vm", (25.0, 50.0, 100.0)), ("financial1", (100.0, 800.0))),
    speed=100.0,
    round_cycles=0.5,
    gain=0.69,
)
MOBILE = Configuration(
    name="mobile",
    preset="dpes-mobile",
    dies=2,
    of_the_paper=(),
    stand_ins=(("download", (1.0,)), ("copy", (1.0,)), ("telegram", (1.0,))),
    speed=1.0,
    round_cycles=4.0,
    gain=0.38,
)
CONFIGURATIONS = (ENTERPRISE, MOBILE)
#: Loads and speeds of a quick run: the most representative load of each drive, and a busy one. None of them fills the
#: enterprise drive's buffer.
_QUICK = (("prxy_0", 100.0), ("financial1", 800.0), ("download", 1.0))


@dataclass(frozen=True, slots=True)
class Case:
    """A load on a drive at one replay speed, relative to the recording."""

    on: Configuration
    load: Load
    speed: float

    @property
    def title(self) -> str:
        """Name in tables."""
        return f"{self.load.title}, {self.speed:g}x" if self.on is ENTERPRISE else self.load.title

    @property
    def name(self) -> str:
        """Name in pictures."""
        return f"{self.load.name} {self.speed:g}x" if self.on is ENTERPRISE else self.load.name

    def workload(self, requests: int | None = None) -> Workload:
        """Returns the load with its recorded gaps and its addresses wrapped onto the drive (POLICIES 5)."""
        return self.load.workload(requests, self.speed, replay="gaps", address="wrap")


def cases(setting: Setting) -> list[Case]:
    """Returns the user's whole files of the paper's traces, then all stand-ins.

    A load that is among the files is not repeated as a stand-in.
    """
    found: list[Case] = []
    for on in CONFIGURATIONS:
        files = [load for name in on.of_the_paper if (load := setting.traces.find(name)) is not None]
        whole = [load for load in files if load.is_whole]
        found += [Case(on, load, on.speed) for load in whole]
        for name, speeds in on.stand_ins:
            load = setting.traces.load(name)
            if load is not None and load not in whole:
                found += [Case(on, load, speed) for speed in speeds]
    return [case for case in found if not setting.quick or (case.load.name, case.speed) in _QUICK]


@dataclass(frozen=True, slots=True)
class Life:
    """Lifetime of a drive under one load and one policy."""

    #: Cycles over the rated ones. All erases of the baseline are nominal, so this is also the ratio to the baseline's
    #: cycles.
    max_pe: float
    #: Share of erases by erase mode.
    erases: Mapping[str, float]
    #: Lazy erases per erase: free blocks that were erased further before they were written.
    lazy: float
    amplification: float
    #: True if the rounds that count had settled in every interval.
    steady: bool

    @classmethod
    def of(cls, result: Lifetime) -> Life:
        """Takes the values from ``lifetime.json``."""
        report: dict[str, Any] = result.report
        erases = sum(report["erase_modes"].values())
        return cls(
            max_pe=result.max_pe_ratio,
            erases={mode: count / erases for mode, count in report["erase_modes"].items()},
            lazy=report["lazy_erases"] / report["erases"],
            amplification=report["write_amplification"],
            steady=all(interval.get("steady", True) for interval in report["intervals"]),
        )

    @property
    def slow(self) -> float:
        """Share of slow erases."""
        return sum(share for mode, share in self.erases.items() if mode.endswith("_slow"))

    def at_level(self, level: str) -> float:
        """Returns the share of erases at a voltage, of either speed."""
        return self.erases[level] + self.erases[f"{level}_slow"]

    @property
    def mean_level(self) -> float:
        """Mean number of the erase voltage mode: 0 the highest, 4 the lowest."""
        return sum(index * self.at_level(level) for index, level in enumerate(LEVELS))


def live(case: Case, policy: str) -> Life:
    """Repeats a case until the summed effective wear reaches 3,000.

    One steady round is simulated in each interval of 500.
    """
    return Life.of(
        lifetime(
            case.on.preset,
            case.workload(),
            policy,
            precondition="steady",
            method="extrapolate",
            round_cycles=case.on.round_cycles,
            agreement=_AGREEMENT,
        )
    )


@dataclass(frozen=True, slots=True)
class Replay:
    """Replay of a case on a drive in the steady state."""

    #: Bytes written over the time until the last request completes [bytes/s].
    throughput: float
    #: Mean time that a write waits for space in the buffer [ns]: with an ideal interface nothing else delays it.
    delay_ns: float
    #: Bytes that the host wrote.
    bytes_written: int


def replay(case: Case, policy: str, requests: int | None) -> Replay:
    """Replays a case once on a drive in the steady state."""
    summary = simulate(case.on.preset, case.workload(requests), policy, precondition="steady").summary
    written = int(summary["throughput"]["write_bytes"])
    return Replay(
        throughput=written / summary["simulated_ns"] * 1e9,
        delay_ns=float(summary["latency"]["write"]["mean_ns"] or 0.0),
        bytes_written=written,
    )
