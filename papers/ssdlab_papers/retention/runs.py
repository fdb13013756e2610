"""Runs of the work's drives, the values taken from their rows, and claims on several loads together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ssdlab import Workload
from ssdlab.explore.statistics import Estimate
from ssdlab.units import duration
from ssdlab_papers.real_first import Found, Loads, RealFirst
from ssdlab_papers.retention.loads import length, recorded_weeks, shape, weeks_of
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, Sample, over_seeds, samples
from ssdlab_papers.traces import Load, titles

WORK = "retention relaxation"
#: Presets: the drive on which two weeks of retention buy a wider program step, and the one on which they buy a weaker
#: code.
SPEED, CODES = "rr-106g", "rr-ecc-106g"
#: Numbers of a run that a sweep does not keep by itself.
COLUMNS = ("utilisation.encoder_ldpc", "modes.host_write.normal")
#: Causes that are service of a write. All other causes are waiting: for dies, channels and space, for the rest of
#: partly written pages, and for the other pages of the request.
SERVICE = ("bus_command", "transfer", "program", "ecc_wait")


@dataclass(frozen=True, slots=True)
class Run:
    """One run, by the dotted names of its numbers; the ramp time is left out."""

    row: Row

    def number(self, name: str) -> float:
        """Returns a number; 0 where the run has none."""
        found = self.row.get(name)
        return 0.0 if found is None else float(found)

    @property
    def writes(self) -> int:
        """Number of writes."""
        return int(self.number("commands.write"))

    @property
    def write_ns(self) -> float:
        """Mean response time of writes [ns]."""
        return self.number("latency.write.mean_ns")

    @property
    def waiting_ns(self) -> float:
        """Mean time of a write outside its own bus command, transfer, program and encoding [ns]."""
        causes = [name for name in self.row if name.startswith("causes.write.")]
        return sum(self.number(name) for name in causes if name.removeprefix("causes.write.") not in SERVICE)

    @property
    def encoding_ns(self) -> float:
        """Mean time of a write waiting for an encoder and being encoded [ns]."""
        return self.number("causes.write.ecc_wait")

    @property
    def host(self) -> float:
        """Mapping units that the host wrote."""
        return self.number("host_units_written")

    @property
    def overhead(self) -> float:
        """Pages reprogrammed per page that the host wrote."""
        return self.number("flash.programs.reprogram") / self.host if self.host else 0.0

    @property
    def collected(self) -> float:
        """Pages moved by collection or wear levelling per page that the host wrote."""
        moved = self.number("flash.programs.gc") + self.number("flash.programs.wear")
        return moved / self.host if self.host else 0.0

    @property
    def erases(self) -> float:
        """Blocks erased."""
        return self.number("flash.operations.erase")

    @property
    def writing(self) -> float:
        """Share of the time that the dies spent programming and erasing."""
        return self.number("utilisation.dies_writing")

    @property
    def encoder(self) -> float:
        """Share of the time that the encoder was busy; 0 without one."""
        return self.number("utilisation.encoder_ldpc")

    @property
    def bytes_per_s(self) -> float:
        """Bytes that the host wrote per second."""
        return self.number("throughput.write_bytes_per_s")

    @property
    def misses(self) -> float:
        """Moves of data that was already past its retention limit."""
        return self.number("reliability.deadline_misses")


@dataclass(frozen=True, slots=True)
class Gain:
    """Run of a policy beside the baseline's."""

    #: The baseline's run.
    base: Run
    #: The policy's run.
    run: Run

    @property
    def speed_up(self) -> float:
        """The baseline's mean write response over the policy's; 1 without writes."""
        return self.base.write_ns / self.run.write_ns if self.run.write_ns else 1.0

    @property
    def queueing(self) -> float:
        """The baseline's mean waiting time of writes over the policy's; 1 if the policy's writes never wait."""
        return self.base.waiting_ns / self.run.waiting_ns if self.run.waiting_ns else 1.0

    @property
    def is_queued(self) -> bool:
        """True if the baseline's writes wait longer than they are served."""
        return self.base.waiting_ns > 0.5 * self.base.write_ns


@dataclass(frozen=True, slots=True)
class Case:
    """One load under several policies, or under one with several settings, with every seed."""

    load: Load
    samples: Mapping[str, Sample]
    #: True if the runs depend on their seed.
    is_drawn: bool = True

    def first(self, way: str) -> Run:
        """Returns the run with the first seed."""
        rows = self.samples[way].rows
        return Run(rows[min(rows)])

    def estimate(self, way: str, quantity: Callable[[Run], float]) -> Estimate:
        """Returns a quantity of the runs of one way."""
        return _settled(over_seeds(lambda row: quantity(Run(row)), self.samples[way]), [self])

    def gain(self, way: str, quantity: Callable[[Gain], float], base: str = "baseline") -> Estimate:
        """Returns a quantity of the runs of a way beside those of another."""
        found = over_seeds(lambda row, before: quantity(Gain(Run(before), Run(row))), self.samples[way], self.samples[base])
        return _settled(found, [self])


#: A quantity of several loads: of each, the runs of the ways in question with one seed.
Quantity = Callable[[Sequence[tuple[Run, ...]]], float]


@dataclass(frozen=True, slots=True)
class Cases(RealFirst[Case]):
    """Cases of real traces, which lead, and of look-alikes."""

    def __add__(self, other: Cases) -> Cases:
        """Returns the cases of both."""
        return Cases((*self.real, *other.real), (*self.alike, *other.alike))

    def of_loads(self, condition: Callable[[Load], bool]) -> Cases:
        """Returns the cases of loads for which a condition holds."""
        return self.where(lambda case: condition(case.load))

    @property
    def loads(self) -> Loads:
        """The loads of the cases."""
        return Loads(tuple(case.load for case in self.real), tuple(case.load for case in self.alike))

    def find(self, ways: Sequence[str], quantity: Quantity) -> Found:
        """Returns a quantity of the runs of these ways, computed seed by seed over all loads."""
        text = titles([case.load for case in self.leading])
        return Found(_over_loads(self.real, ways, quantity), _over_loads(self.alike, ways, quantity), text, WORK)


def _over_loads(cases: Sequence[Case], ways: Sequence[str], quantity: Quantity) -> Estimate | None:
    def together(*rows: Row) -> float:
        runs = [Run(row) for row in rows]
        return quantity([tuple(runs[at : at + len(ways)]) for at in range(0, len(runs), len(ways))])

    return _settled(over_seeds(together, *(case.samples[way] for case in cases for way in ways)), cases) if cases else None


def _settled(found: Estimate, cases: Sequence[Case]) -> Estimate:
    """Returns a value with an interval of no width and no seeds, if no run depends on its seed."""
    return found if any(case.is_drawn for case in cases) else fixed_estimate(found.mean)


def fixed_estimate(value: float) -> Estimate:
    """Returns a value in which nothing is drawn."""
    return Estimate(0, value, value, value)


#: Drive, policy and further fields of runs.
Way = tuple[str, str, Mapping[str, object]]


def run_cases(
    setting: Setting,
    name: str,
    ways: Mapping[str, Way],
    of: Loads,
    *,
    weeks: bool = False,
    time_scale: float = 1.0,
    seeds: int | None = None,
) -> Cases:
    """Runs loads in several ways, on drives that were filled once with data of the full guarantee.

    From such a drive nothing in the run of a trace is drawn: it is run once.

    Args:
        setting: The setting.
        name: Name of the sweep.
        ways: Drive, policy and further fields, by names of their own.
        of: The loads.
        weeks: Run weeks of each load, not a number of requests.
        time_scale: Speed of the loads relative to the recording.
        seeds: Number of seeds, if not that of the setting.
    """
    is_drawn = any("precondition" in fields for _, _, fields in ways.values())

    def cases(part: Sequence[Load], count: int | None) -> tuple[Case, ...]:
        if not part:
            return ()
        with _folder(setting) as folder:
            points = [
                {**point(drive, policy, load), **_fields(setting, load, folder, weeks, time_scale), **fields}
                for load in part
                for drive, policy, fields in ways.values()
            ]
            found = iter(samples(setting, f"retention-{name}", points, columns=COLUMNS, seeds=count))
        return tuple(Case(load, {way: next(found) for way in ways}, is_drawn or not load.is_trace) for load in part)

    return Cases(cases(of.real, seeds if is_drawn else 1), cases(of.alike, seeds))


def point(drive: str, policy: str, load: Load) -> dict[str, object]:
    """Returns the fields of a point that concern the drive, of the number of dies that the load's trace has."""
    return {"drive": drive, "policy": policy, "precondition": "fill", **shape(load)}


def _fields(setting: Setting, load: Load, folder: Path, weeks: bool, time_scale: float) -> dict[str, object]:
    return weeks_of(load, folder, time_scale) if weeks else load.fields(length(setting, load), time_scale)


@contextmanager
def workload_file(setting: Setting, name: str, text: str) -> Iterator[Path]:
    """Yields the path of a file with a workload TOML."""
    with _folder(setting) as folder:
        path = folder / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        yield path


@contextmanager
def _folder(setting: Setting) -> Iterator[Path]:
    """Yields the folder for look-alikes with a ramp time: one that stays where sweeps are kept."""
    if setting.runs is not None:
        folder = setting.runs / "retention-loads"
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    else:
        with TemporaryDirectory(prefix="ssdlab-") as path:
            yield Path(path)


def write_trace(load: Load, weeks: int, path: Path, seed: int = 1) -> Workload:
    """Writes some weeks of a look-alike to a trace file, and returns it as a workload.

    The requests are the commands of a run, sorted by arrival.
    """
    import pyarrow.csv

    done = simulate(SPEED, recorded_weeks(load, weeks), "baseline", precondition="none", record_commands=True, seed=seed)
    table = done.command_table()
    assert table is not None, "commands were recorded"
    table = table.select(["submitted_ns", "op", "offset", "length"]).sort_by("submitted_ns")
    plain = table.set_column(1, "op", table.column("op").cast("string"))
    pyarrow.csv.write_csv(plain, path, pyarrow.csv.WriteOptions(include_header=False, quoting_style="none"))
    return Workload(path, columns="time=1:ns,op=2,offset=3:B,size=4:B")


def found_alone(case: Case, found: Estimate) -> Found:
    """Returns a quantity of one load."""
    real, alike = (found, None) if case.load.is_trace else (None, found)
    return Found(real, alike, case.load.title, WORK)


def time_change_text(before_ns: float, after_ns: float) -> str:
    """Formats a change of a time span."""
    return f"{duration(round(before_ns), 3)} to {duration(round(after_ns), 3)}"


def times_text(ratio: float) -> str:
    """Formats a ratio as a factor."""
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:.0f}x"
