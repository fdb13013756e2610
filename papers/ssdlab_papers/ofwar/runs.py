"""Runs of the paper's drive, and the values taken from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

from ssdlab import DriveLike, WorkloadLike
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, interval_of, statement
from ssdlab_papers.session import run as simulate
from ssdlab_papers.sweeps import Row, Sample, over_seeds
from ssdlab_papers.traces import Load

WORK = "OFWAR"
#: Chips per channel and blocks per plane by programming units per channel, at the capacity of the paper's drive. A chip
#: serves one operation at a time.
SHAPES = {4: (4, 8192), 8: (8, 4096), 16: (16, 2048), 32: (32, 1024)}
#: Programming units per channel of the paper's drive.
PAPER_UNITS = 16
#: The paper's drive under the rules of the simulator that the paper used, filled in order: claims are scored on it.
SIMULATED = "ofwar-disksim"
#: Bytes of a page.
_PAGE = 4096
#: Numbers of the runs that a sweep does not keep by itself.
COLUMNS = (
    "modes.host_write.fast",
    "throughput.read_bytes",
    *(
        f"policy_stats.{name}"
        for name in (
            "fast_writes_by_hit",
            "rewrites_started",
            "rewrite_queue_longest",
            "urgent_rewrites",
            "writes_on_full_queue",
        )
    ),
)
#: The smallest change that the paper calls noticeable: 8 % (Financial2, section 6.2). What it calls significant is no
#: less, and what it does not notice is less.
SIGNIFICANT = 0.08
_PROGRAMS = tuple(
    f"flash.programs.{reason}" for reason in ("host", "rmw", "gc", "wear", "rewrite", "reprogram", "map", "padding", "journal")
)
#: A number of a policy's run and the baseline's.
Quantity = Callable[[Row, Row], float]


def point(load: Load, requests: int, policy: str, fields: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns a point on the paper's drive under the rules of its simulator, filled in order at the start."""
    return {"drive": SIMULATED, "precondition": "fill", "policy": policy, **load.fields(requests), **(fields or {})}


def on_bus(load: Load, requests: int, policy: str, fields: Mapping[str, object] | None = None) -> dict[str, object]:
    """Returns a point on the paper's drive with 16 chips behind each bus, from the steady state of random writes."""
    return {"precondition": "steady", **load.fields(requests), **on_drive(policy), **(fields or {})}


def on_drive(policy: str, units: int = PAPER_UNITS) -> dict[str, object]:
    """Returns the fields of the paper's drive with so many units behind each bus, under a policy."""
    return {"drive": "ofwar-64g", "policy": policy, **shape(units)}


def response(row: Row, base: Row) -> float:
    """Returns the change of the mean response time, as a share of the baseline's."""
    return float(row["latency.all.mean_ns"] / base["latency.all.mean_ns"]) - 1.0


def reads(row: Row, base: Row) -> float:
    """Returns the change of the mean response time of reads."""
    return float(row["latency.read.mean_ns"] / base["latency.read.mean_ns"]) - 1.0


def deviation(row: Row, base: Row) -> float:
    """Returns the change of the standard deviation of the response time."""
    return float(row["latency.all.stddev_ns"] / base["latency.all.stddev_ns"]) - 1.0


def rewritten(row: Row, base: Row) -> float:
    """Returns the rewritten pages per page that the host requests, read or written, as section 5 divides."""
    return rewritten_of_written(row, base) * _written_share(row)


def rewritten_of_written(row: Row, base: Row) -> float:
    """Returns the rewritten pages per page that the host writes."""
    del base
    return _per_page(row, number_of(row, "flash.programs.rewrite"))


def extra(row: Row, base: Row) -> float:
    """Returns the extra writes per page that the host requests: programs less the baseline's (POLICIES 2)."""
    return extra_of_written(row, base) * _written_share(row)


def extra_of_written(row: Row, base: Row) -> float:
    """Returns the extra writes per page that the host writes."""
    return _per_page(row, programs(row) - programs(base))


def requested(row: Row) -> float:
    """Returns the pages that the host requests, read or written; pages read in parts count by their bytes."""
    return number_of(row, "host_units_written") + number_of(row, "throughput.read_bytes") / _PAGE


def _written_share(row: Row) -> float:
    pages = requested(row)
    return number_of(row, "host_units_written") / pages if pages else 0.0


def hit_rate(row: Row, base: Row) -> float:
    """Returns the share of the host's page writes that are fast because their page's current copy is fast.

    The paper does not define its rate [A].
    """
    del base
    return _per_page(row, number_of(row, "policy_stats.fast_writes_by_hit"))


def fast(row: Row, base: Row) -> float:
    """Returns the share of the host's pages that are written fast."""
    del base
    return _per_page(row, number_of(row, "modes.host_write.fast"))


def on_full(row: Row, base: Row) -> float:
    """Returns the share of the host's page writes that find the rewrite queue full."""
    del base
    return _per_page(row, number_of(row, "policy_stats.writes_on_full_queue"))


def programs(row: Row) -> float:
    """Returns the pages programmed for any reason."""
    return sum(float(row[name] or 0.0) for name in _PROGRAMS)


def number_of(row: Row, name: str) -> float:
    """Returns a number that a run may lack: 0 if it does."""
    found = row.get(name)
    return 0.0 if found is None else float(found)


def _per_page(row: Row, value: float) -> float:
    written = float(row["host_units_written"] or 0.0)
    return value / written if written else 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The runs of a policy on one load, beside the baseline's."""

    load: Load
    base: Sample
    run: Sample

    def estimate(self, quantity: Quantity) -> Estimate:
        """Returns a quantity with its interval over the seeds."""
        return over_seeds(quantity, self.run, self.base)


def over_loads(quantity: Quantity, pairs: Sequence[Pair], of: Callable[[list[float]], float] = fmean) -> Estimate:
    """Returns the mean (or another number) of a quantity over loads, seed by seed, with its interval over the seeds."""
    runs = [sample for pair in pairs for sample in (pair.run, pair.base)]
    return over_seeds(lambda *rows: of([quantity(*both) for both in _parts(rows, 2)]), *runs)


def _parts(values: Sequence[Any], length: int) -> list[Any]:
    """Returns the values in parts of one length."""
    return [values[start : start + length] for start in range(0, len(values), length)]


@dataclass(frozen=True, slots=True)
class Line:
    """The runs of one load at several values of a parameter, beside the baseline's."""

    load: Load
    values: tuple[int, ...]
    pairs: tuple[Pair, ...]

    def at(self, value: int) -> Pair:
        """Returns the runs at a value."""
        return self.pairs[self.values.index(value)]

    def starting(self, low: int) -> Line:
        """Returns the part with values of at least `low`."""
        kept = [(value, pair) for value, pair in zip(self.values, self.pairs, strict=True) if value >= low]
        return Line(self.load, tuple(value for value, _ in kept), tuple(pair for _, pair in kept))

    @property
    def is_idle(self) -> bool:
        """True if no write is fast at any value, so that the load shows nothing."""
        return not any(pair.estimate(fast).mean for pair in self.pairs)


def change_along(quantity: Quantity, lines: Sequence[Line], worst: Callable[[list[float]], float]) -> Estimate:
    """Returns the change of a quantity from the first value of a parameter to the last: that of the worst load."""

    def change(values: list[float]) -> float:
        return worst([last - first for first, last in _parts(values, 2)])

    return over_loads(quantity, [pair for line in lines for pair in (line.pairs[0], line.pairs[-1])], change)


def largest_rise(values: Sequence[float]) -> float:
    """Returns the largest increase from one value to the next; negative if all are decreases."""
    return max(after - before for before, after in pairwise(values))


def steps_up(quantity: Quantity, lines: Sequence[Line]) -> Estimate:
    """Returns the largest increase of a quantity from one value of a parameter to the next, over all loads."""
    length = len(lines[0].values)

    def rise(values: list[float]) -> float:
        return max(largest_rise(part) for part in _parts(values, length))

    return over_loads(quantity, [pair for line in lines for pair in line.pairs], rise)


def statement_on(found: Estimate, shown: str, **further: Any) -> Claim:
    """Returns a claim in words (:func:`ssdlab_papers.claim.statement`) on a number with its interval."""
    return statement(found.mean, shown, work=WORK, seeds=found.count, interval=interval_of(found), **further)


def short(value: int) -> str:
    """Formats a value as the paper writes it."""
    return f"{value // 1024}K" if value >= 1024 and value % 1024 == 0 else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measurements of one run."""

    #: Mean response time [ns].
    mean_ns: float
    #: Standard deviation of the response time [ns].
    stddev_ns: float
    #: Pages that the host wrote.
    host: int
    #: Pages programmed for any reason.
    programs: int
    #: Pages programmed for rewrites.
    rewrites: int
    #: Host pages written in the fast mode.
    fast: int
    #: Share of the run's time that the programming units spent writing; 0 without writes.
    utilisation: float
    #: True if the drive could not keep up with the load.
    saturated: bool
    #: Moves of data that was already past its retention limit.
    deadline_misses: int
    #: Statistics of the policy.
    counted: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """Takes the measurements from ``summary.json``."""
        latency = summary["latency"]["all"]
        return cls(
            mean_ns=float(latency["mean_ns"] or 0.0),
            stddev_ns=float(latency["stddev_ns"] or 0.0),
            host=int(summary["host_units_written"]),
            programs=sum(summary["flash"]["programs"].values()),
            rewrites=int(summary["flash"]["programs"].get("rewrite", 0)),
            fast=int(summary["modes"]["host_write"].get("fast", 0)),
            utilisation=float(summary["utilisation"]["dies_writing"]) if summary["commands"]["write"] else 0.0,
            saturated=bool(summary["saturated"]),
            deadline_misses=int(summary["reliability"]["deadline_misses"]),
            counted=dict(summary["policy_stats"]),
        )

    @property
    def fast_share(self) -> float:
        """Share of the host pages that are written fast."""
        return self.fast / self.host if self.host else 0.0

    @property
    def hit_rate(self) -> float:
        """Share of the host page writes that are fast because the current copy of the page is fast.

        The paper does not define its rate [A].
        """
        return self.counted.get("fast_writes_by_hit", 0.0) / self.host if self.host else 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """Run of a policy beside the baseline's."""

    #: The baseline's run.
    base: Run
    #: The policy's run.
    run: Run

    @property
    def mean(self) -> float:
        """Mean response time over the baseline's."""
        return self.run.mean_ns / self.base.mean_ns if self.base.mean_ns else 1.0

    @property
    def stddev(self) -> float:
        """Standard deviation of the response time over the baseline's; 1 where neither varies."""
        if not self.base.stddev_ns:
            return 1.0 if not self.run.stddev_ns else math.inf
        return self.run.stddev_ns / self.base.stddev_ns

    @property
    def rewritten(self) -> float:
        """Rewritten pages per page that the host wrote."""
        return self.run.rewrites / self.run.host if self.run.host else 0.0

    @property
    def extra(self) -> float:
        """Extra writes: programs under the policy less the baseline's, per page that the host wrote (POLICIES 2)."""
        return (self.run.programs - self.base.programs) / self.run.host if self.run.host else 0.0


def shape(units: int) -> dict[str, object]:
    """Returns the settings of the paper's drive with `units` programming units per channel and the same capacity."""
    chips, blocks = SHAPES[units]
    return {"flash.chips_per_channel": chips, "flash.blocks_per_plane": blocks}


def run(
    workload: WorkloadLike,
    policy: str,
    units: int = PAPER_UNITS,
    settings: Mapping[str, object] | None = None,
    *,
    drive: DriveLike = "ofwar-64g",
    precondition: str = "steady",
) -> Run:
    """Runs a workload on the paper's drive, by default from the steady state of uniform overwrites."""
    given = {**shape(units), **(settings or {})}
    return Run.from_summary(simulate(drive, workload, policy, set=given, precondition=precondition).summary)
