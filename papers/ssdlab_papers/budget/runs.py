"""Contenders of the one budget: each policy with its table of modes, and the measurements of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ssdlab import Drive, Workload
from ssdlab_papers.budget.tables import GENTLE, PAGES, WEARS, Levels, drive, modes_of
from ssdlab_papers.ofwar.runs import number_of, programs
from ssdlab_papers.scaling import scale_to
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, samples
from ssdlab_papers.traces import Load

#: Number of erases assumed for a run without any: fewer than one happened.
_UNSEEN = 0.5
#: Minimal workload of a run that only resolves the drive's description.
_NOTHING_MUCH = "[read]\nrw=read\nbs=4k\nio_size=4k\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy, or a combination of several."""

    #: Name in tables.
    name: str
    #: The policy.
    policy: str
    #: Name of its table of modes, as in :func:`modes_of`.
    table: str
    #: Source work of the idea, or its role: control, combination, reference.
    work: str
    #: Its parameters.
    settings: Mapping[str, object]
    #: True if its modes follow the wear of the drive.
    follows_wear: bool


def _alone(policy: str, table: str, work: str, settings: Mapping[str, object] | None = None) -> Contender:
    follows = table in ("adaptive", "erases", "all")
    return Contender(name=policy, policy=policy, table=table, work=work, settings=settings or {}, follows_wear=follows)


def _together(*members: str, name: str = "", work: str = "combined") -> Contender:
    """Returns a combination of policies. AGCR has two costs in it, as the table of all modes has."""
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
#: Combinations take their steps from the table derived at the wear of the drive, autoFTL alone from its own table. The
#: control that isolates the effect of combining is autoFTL with the steps of the combinations.
BY_WEAR: Final = "autoftl, steps by wear"
#: All contenders. Where a policy chooses codes, the strong code has an encoder with a throughput of its own. The
#: encoder of all other contenders, the baseline included, is assumed to be as fast as the channel.
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


#: Contenders that serve to understand another: they are run with half of the seeds, of two with one.
SECONDARY: Final = (
    "separate",
    "traditional",
    "hcw_lcr",
    "lcw_hcr",
    "autoftl_minus",
    "agcr + autoftl",
    "ofwar + agcr + autoftl",
)
#: Erase modes of all drives.
_ERASES: Final = (
    "normal",
    "nominal",
    *(f"ev{level}{speed}" for level in range(1, len(GENTLE) + 1) for speed in ("", "_slow")),
)
#: Numbers of the runs that a sweep does not keep by itself.
COLUMNS: Final = tuple(f"modes.erase.{name}" for name in _ERASES)


@dataclass(frozen=True, slots=True)
class Run:
    """Measurements of one run."""

    #: 99.99 % latency of all commands (their maximum, if they are too few for it), and their mean [ns].
    tail_ns: float
    mean_ns: float
    #: Effective wear per page that the host wrote [nominal erases of a block]; an upper bound if nothing was erased.
    wear: float
    #: Mean effective wear of an erase [nominal erases]; 1 if nothing was erased.
    wear_per_erase: float
    #: Pages programmed per page that the host wrote.
    programs: float
    #: Pages erased per page programmed: one in the long run, fewer if a run ends on blocks that were free before it.
    erased: float
    #: Share of the run's time that the dies spent writing.
    utilisation: float
    #: Energy of the flash for each GB of reads and writes of the host.
    joule_per_gb: float

    @classmethod
    def from_row(cls, row: Row, wears: Mapping[str, float]) -> Run:
        """Takes the measurements from the row of a sweep and the wear of each erase mode."""
        tail, host = row["latency.all.p99_99_ns"], max(1.0, number_of(row, "host_units_written"))
        erases = {mode: number_of(row, f"modes.erase.{mode}") for mode in _ERASES}
        worn = sum(count * wears.get(mode, 1.0) for mode, count in erases.items())
        erased, programmed = sum(erases.values()), programs(row)
        at_least = _UNSEEN * min(wears.values(), default=1.0)
        return cls(
            tail_ns=float(row["latency.all.max_ns"] if tail is None else tail),
            mean_ns=float(row["latency.all.mean_ns"]),
            wear=max(worn, at_least) / host,
            wear_per_erase=worn / erased if erased else 1.0,
            programs=programmed / host,
            erased=PAGES * erased / max(1.0, programmed),
            utilisation=number_of(row, "utilisation.dies_writing"),
            joule_per_gb=1e9 * number_of(row, "energy.per_host_byte_j"),
        )


@cache
def resolved_drive(table: str, wear: float, levels: Levels = "moved") -> Drive:
    """Returns the drive with the modes of a table derived, which takes a second or two."""
    done = simulate(drive(table, wear, levels), Workload.from_text(_NOTHING_MUCH), "baseline", precondition="none")
    return Drive.from_text(done.drive_toml, f"budget drive, {table}, {wear:.0%} worn")


@dataclass(frozen=True, slots=True)
class Drives:
    """Folder with the drives of an experiment, which a sweep opens as files."""

    folder: Path

    def file(self, table: str, wear: float, levels: Levels = "moved") -> str:
        """Returns the name of the file of the drive with a table of modes."""
        return self.write(f"{table}-{levels}-{wear:.0%}".replace("%", ""), resolved_drive(table, wear, levels).text)

    def write(self, name: str, text: str) -> str:
        """Returns the name of the file of a description, written if it is not there with the same content."""
        path = self.folder / f"{name}.toml"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        return str(path)


@contextmanager
def drives_of(setting: Setting) -> Iterator[Drives]:
    """Yields the folder of the drives: that of the kept sweeps, if they are kept, which find their drives again."""
    if setting.runs is None:
        with TemporaryDirectory(prefix="ssdlab-") as folder:
            yield Drives(Path(folder))
    else:
        kept = setting.runs / "budget-drives"
        kept.mkdir(exist_ok=True)
        yield Drives(kept)


def point(drives: Drives, contender: Contender, load: Load, speed: float, wear: float) -> dict[str, object]:
    """Returns the point of a contender with a load on a drive at the stage `wear`, from the steady state."""
    return {
        "drive": drives.file(contender.table, wear),
        "policy": contender.policy,
        "precondition": "steady",
        **load.fields(_REQUESTS, speed, address="wrap"),
        **contender.settings,
    }


def wears_of(contender: Contender, wear: float) -> dict[str, float]:
    """Returns the effective wear of an erase in each erase mode of a contender's table [nominal erases]."""
    return {mode["name"]: float(mode.get("wear", 1.0)) for mode in modes_of(contender.table, wear).get("erase_mode", [])}


def seeds_of(setting: Setting, contender: Contender) -> int:
    """Returns the number of seeds with which a contender is run."""
    return (setting.seeds + 1) // 2 if contender.name in SECONDARY else setting.seeds


#: Loads: traces of servers, PCs and phones.
LOADS = ("prxy_0", "rsrch_1", "financial1", "vm", "desktop", "postmark", "telegram", "copy")
#: Requests of a run. With fewer than 100,000 commands fewer than ten lie beyond the 99.99 % latency, too few to
#: determine it.
_REQUESTS = 100_000
#: Requests of loads whose requests are large and whose runs take five to ten times as long as others. Their 99.99 %
#: latency is nearly that of the slowest command.
_FEWER = {"postmark": 20_000, "copy": 20_000}
#: Loads of a quick run, and their requests.
_QUICK = {"financial1": 25_000, "telegram": 25_000}
#: Write utilisation of the baseline: busy, with time left for the background work of policies.
_BUSY = 0.5
#: Latency below which ratios of it are chance [ns], and pages erased per page programmed below which lifetimes are.
LEAST_NS = 1000.0
_LEAST_ERASED = 0.5


@dataclass(frozen=True, slots=True)
class Busy:
    """A load replayed at the speed at which the baseline's dies write half the time."""

    load: Load
    speed: float
    #: The baseline's run there with the first seed.
    base: Run

    @property
    def unfit(self) -> str:
        """Reason why policies cannot be compared on the load; empty if they can."""
        if min(self.base.mean_ns, self.base.tail_ns) < LEAST_NS:
            return "the write buffer takes nearly all at once, and nothing waits"
        if self.base.erased < _LEAST_ERASED:
            return "it ends on blocks that were free before it, and wears none"
        return ""


def loads(setting: Setting) -> list[Load]:
    """Returns the loads by name: the user's files, else look-alikes."""
    names, at_most = (_QUICK, _QUICK) if setting.quick else (LOADS, _FEWER)
    found = [load for name in names if (load := setting.traces.load(name)) is not None]
    return [replace(load, at_most=at_most.get(load.name)) for load in found]


def busy(setting: Setting, drives: Drives, of: Sequence[Load]) -> list[Busy]:
    """Returns each load at the speed at which the baseline's dies write half the time, or as near as it gets.

    The searches go on together: each sweep has the next speed of all that have not ended. The speed is a property of
    the load, and found with the first seed.
    """
    known: dict[tuple[str, float], Run] = {}
    while True:
        found = [_search(load, known) for load in of]
        missing = [(load, each) for load, each in zip(of, found, strict=True) if isinstance(each, float)]
        if not missing:
            return [each for each in found if isinstance(each, Busy)]
        points = [point(drives, BASELINE, load, speed, 0.0) for load, speed in missing]
        for (load, speed), sample in zip(
            missing, samples(setting, "budget-speeds", points, columns=COLUMNS, seeds=1), strict=True
        ):
            (row,) = sample.rows.values()
            known[load.name, speed] = Run.from_row(row, {})


class _MissingError(Exception):
    """The run at a speed is not known yet."""


def _search(load: Load, known: Mapping[tuple[str, float], Run]) -> Busy | float:
    """Returns the load at its speed, or the next speed at which the baseline has to be run for it."""

    def measure(speed: float) -> Run:
        if (load.name, speed) not in known:
            raise _MissingError(speed)
        return known[load.name, speed]

    try:
        speed, base = scale_to(measure, _BUSY, (1.0, measure(1.0)))
    except _MissingError as missing:
        return float(missing.args[0])
    return Busy(load, speed, base)


def wears(setting: Setting) -> tuple[float, ...]:
    """Returns the stages of wear at which everything is run, as shares of the rated cycles."""
    return (WEARS[0], WEARS[-1]) if setting.quick else WEARS


__all__ = [
    "BASELINE",
    "BY_WEAR",
    "COLUMNS",
    "CONTENDERS",
    "LOADS",
    "SECONDARY",
    "Busy",
    "Contender",
    "Drives",
    "Run",
    "busy",
    "drives_of",
    "loads",
    "point",
    "resolved_drive",
    "seeds_of",
    "wears",
    "wears_of",
]
