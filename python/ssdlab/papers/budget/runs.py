"""Every policy on the one drive: which table of modes it takes, and what a run of it tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from ssdlab.drives import Drive
from ssdlab.papers.budget.tables import PAGES, WEARS, drive, modes_of
from ssdlab.papers.scaling import scale_to
from ssdlab.papers.session import run as simulate
from ssdlab.papers.setting import Setting
from ssdlab.papers.traces import Load
from ssdlab.workloads import Workload

#: Erases that a run without any counts as: fewer than one happened.
_UNSEEN = 0.5
#: A run for its description's sake.
_NOTHING_MUCH = "[read]\nrw=read\nbs=4k\nio_size=4k\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy, or several of them."""

    #: What tables call it.
    name: str
    #: The policy.
    policy: str
    #: Its table of modes.
    table: str
    #: Whose idea it is.
    work: str
    #: Its parameters.
    settings: Mapping[str, object]
    #: Whether its modes follow the wear of the drive.
    follows_wear: bool


def _alone(policy: str, table: str, work: str, settings: Mapping[str, object] | None = None) -> Contender:
    follows = table in ("adaptive", "erases", "all")
    return Contender(name=policy, policy=policy, table=table, work=work, settings=settings or {}, follows_wear=follows)


def _together(*members: str, name: str = "", work: str = "combined") -> Contender:
    """Several at once. AGCR has two costs there, as the whole table has."""
    settings: dict[str, object] = {"policy.combine.members": [*members]}
    if "agcr" in members:
        settings |= {"policy.agcr.low": "full_slow_0", "policy.agcr.medium": "normal", "policy.agcr.high": "normal"}
    name = name or " + ".join(members)
    return Contender(name=name, policy="combine", table="all", work=work, settings=settings, follows_wear=True)


_HIGH = {"policy.{}.high": "normal"}
_COSTS = {"low": "fast", "medium": "medium", "high": "normal"}


def _with_costs(policy: str, *costs: str, **more: object) -> Contender:
    settings = {f"policy.{policy}.{cost}": _COSTS[cost] for cost in costs} | {f"policy.{policy}.{k}": v for k, v in more.items()}
    return _alone(policy, "reads", "AGCR", settings)


BASELINE = _alone("baseline", "speed", "control")
#: What is combined takes its steps from the table of the drive's wear; autoFTL alone, from its own. The control of what combining
#: adds to that is autoFTL with those steps.
BY_WEAR: Final = "autoftl, steps by wear"
#: All that run on the drive. Where a policy chooses codes, the strong one has an encoder of its own throughput; the others' is
#: taken to be as fast as the channel, the baseline's too.
CONTENDERS: tuple[Contender, ...] = (
    BASELINE,
    _alone("separate", "speed", "control"),
    _alone("wear_adaptive", "adaptive", "control"),
    _alone("all_fast", "speed", "control"),
    _alone("slc_cache", "bits", "control"),
    _alone("ofwar", "speed", "OFWAR"),
    _alone("rr_speed", "speed", "retention relaxation"),
    _alone("rr_ecc", "codes", "retention relaxation"),
    _alone("bch_ldpc", "codes", "retention relaxation"),
    _with_costs("agcr", "low", "medium", "high"),
    _with_costs("queue_driven", "low", "high", old_data="normal"),
    _with_costs("traditional", "medium"),
    _with_costs("hcw_lcr", "high"),
    _with_costs("lcw_hcr", "low"),
    _alone("autoftl", "erases", "autoFTL"),
    _alone("autoftl_minus", "erases", "autoFTL"),
    _together("autoftl", "baseline", name=BY_WEAR, work="control"),
    _together("ofwar", "autoftl"),
    _together("ofwar", "agcr"),
    _together("agcr", "autoftl"),
    _together("ofwar", "agcr", "autoftl"),
    _alone("margin", "all", "all of them"),
    _alone("clairvoyant", "all", "reference"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What one run measured."""

    #: Latency that 99.99 % of all commands stay within, and their mean [ns].
    tail_ns: float
    mean_ns: float
    #: Effective wear for each page that the host wrote [nominal erases of a block]; a bound from above where nothing was erased.
    wear: float
    #: Effective wear of an erase, in the mean [nominal erases]; 1 where nothing was erased.
    wear_per_erase: float
    #: Pages programmed for each page that the host wrote.
    programs: float
    #: Pages erased for each page programmed: one in the long run, fewer where a run ends on blocks that were free before it.
    erased: float
    #: Share of the run's time that the dies spent writing.
    utilisation: float

    @classmethod
    def of(cls, summary: Mapping[str, Any], wears: Mapping[str, float]) -> Run:
        """From ``summary.json`` and the wear of each erase mode."""
        latency, host = summary["latency"]["all"], max(1, int(summary["host_units_written"]))
        tail = latency["p99_99_ns"] if latency["p99_99_ns"] is not None else latency["max_ns"]
        erases: Mapping[str, int] = summary["modes"]["erase"]
        worn = sum(count * wears.get(mode, 1.0) for mode, count in erases.items())
        at_least = _UNSEEN * min(wears.values(), default=1.0)
        programs = sum(summary["flash"]["programs"].values())
        return cls(
            tail_ns=float(tail),
            mean_ns=float(latency["mean_ns"]),
            wear=max(worn, at_least) / host,
            wear_per_erase=worn / sum(erases.values()) if any(erases.values()) else 1.0,
            programs=programs / host,
            erased=PAGES * sum(erases.values()) / max(1, programs),
            utilisation=float(summary["utilisation"]["dies_writing"]),
        )


@cache
def resolved(table: str, wear: float) -> Drive:
    """The drive with the modes of a table derived, which takes a second or two."""
    done = simulate(drive(table, wear), Workload.from_text(_NOTHING_MUCH), "baseline", precondition="none")
    return Drive.from_text(done.drive_toml, f"budget drive, {table}, {wear:.0%} worn")


def run(contender: Contender, load: Load, speed: float, wear: float) -> Run:
    """A contender on a load, on a drive so far worn."""
    modes = modes_of(contender.table, wear).get("erase_mode", [])
    wears = {mode["name"]: float(mode.get("wear", 1.0)) for mode in modes}
    found = simulate(
        resolved(contender.table, wear),
        load.workload(_REQUESTS, speed, address="wrap"),
        contender.policy,
        set=dict(contender.settings),
        precondition="steady",
    )
    return Run.of(found.summary, wears)


#: What is run: traces of servers, PCs and phones.
LOADS = ("prxy_0", "rsrch_1", "financial1", "vm", "desktop", "postmark", "telegram", "copy")
#: Requests of a run: 99.99 % of fewer than 100,000 commands is nobody's figure.
_REQUESTS = 100_000
#: Where requests are large, and a run takes as long as five to ten others: there that figure is nearly the slowest command.
_FEWER = {"postmark": 20_000, "copy": 20_000}
#: What a quick run has, and its requests.
_QUICK = {"financial1": 40_000, "telegram": 40_000}
#: Write utilisation of the baseline: busy, and with time for what policies do meanwhile.
_BUSY = 0.5
#: A mean latency below which ratios of it are chance [ns], and a share of erased pages below which lifetimes are.
LEAST_NS = 1000.0
_LEAST_ERASED = 0.5


@dataclass(frozen=True, slots=True)
class Busy:
    """A load so much faster than recorded that the baseline's dies write half the time."""

    load: Load
    speed: float
    base: Run

    @property
    def unfit(self) -> str:
        """Why nothing can be compared on it; empty where it can."""
        if min(self.base.mean_ns, self.base.tail_ns) < LEAST_NS:
            return "the write buffer takes nearly all at once, and nothing waits"
        if self.base.erased < _LEAST_ERASED:
            return "it ends on blocks that were free before it, and wears none"
        return ""


def loads(setting: Setting) -> list[Load]:
    """The loads by name: the user's files, else look-alikes."""
    names, at_most = (_QUICK, _QUICK) if setting.quick else (LOADS, _FEWER)
    found = [load for name in names if (load := setting.traces.load(name)) is not None]
    return [replace(load, at_most=at_most.get(load.name)) for load in found]


def busy(load: Load) -> Busy:
    """The load at its speed."""

    def measure(speed: float) -> Run:
        return run(BASELINE, load, speed, 0.0)

    speed, base = scale_to(measure, _BUSY, (1.0, measure(1.0)))
    return Busy(load, speed, base)


def wears(setting: Setting) -> tuple[float, ...]:
    """The wear at which everything is run."""
    return (WEARS[0], WEARS[-1]) if setting.quick else WEARS


__all__ = ["BASELINE", "BY_WEAR", "CONTENDERS", "LOADS", "Busy", "Contender", "Run", "busy", "loads", "run", "wears"]
