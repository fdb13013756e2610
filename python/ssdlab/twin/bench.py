"""Simulated values of the points: one run for each load, from which all of its metrics come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab import drives
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore import design
from ssdlab.explore.loads import Load as Job
from ssdlab.explore.tasks import Task, starting_state
from ssdlab.twin.loads import Load
from ssdlab.twin.points import PERCENTILES, Point
from ssdlab.twin.runs import Numbers, OfDrive

__all__ = ["LONGEST", "NAMES", "Bench", "Request", "value_of"]

#: Commands that must lie beyond a percentile; the engine states none with fewer.
_BEYOND = 10
#: Share by which a run is longer than that, so that the share of an operation, which is drawn, suffices.
_RESERVE = 1.25
#: Least and largest number of commands of a run at full length.
_SHORTEST, LONGEST = 20_000, 400_000
#: Commands in flight, each of which a run needs several times.
_ROUNDS = 20
_STATISTICS = ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns")
#: Numbers that are kept of each run.
NAMES = (
    "throughput.iops",
    "throughput.read_bytes_per_s",
    "throughput.write_bytes_per_s",
    "write_amplification",
    *(f"latency.{op}.{name}" for op in ("all", "read", "write") for name in _STATISTICS),
)
#: Memory of a run beside the tables of the drive [bytes].
_BESIDE = 64 << 20


@dataclass(frozen=True, slots=True)
class Request:
    """A drive to be simulated under some loads."""

    settings: tuple[str, ...]
    loads: tuple[Load, ...]
    #: Share of the full length of the runs.
    share: float = 1.0
    #: Seed of the runs, from that of the bench on.
    further_seed: int = 0


@dataclass(slots=True)
class Bench:
    """Makes the runs of requests, and keeps what they gave."""

    drive: Drive
    points: Sequence[Point]
    seed: int = 1
    #: Most commands of a run at full length.
    longest: int = LONGEST
    #: Numbers of a run, by its key; an error instead of numbers.
    known: dict[str, Numbers] = field(default_factory=dict)
    #: Runs of this drive in a file, from which they are taken and to which they are written.
    kept: OfDrive | None = None
    #: Number of runs, those from the file included.
    runs: int = 0
    _facts: dict[tuple[str, ...], dict[str, Any] | str] = field(default_factory=dict)
    _groups: dict[tuple[str, ...], str] = field(default_factory=dict)

    def commands(self, load: Load, share: float) -> int:
        """Returns the commands of a run of a load: enough for the percentiles of its points at full length."""
        most = _SHORTEST
        for point in self.points:
            if point.load == load and point.metric in PERCENTILES:
                beyond = PERCENTILES[point.metric] * load.share(point.op)
                most = max(most, round(_BEYOND * _RESERVE / beyond))
        full = min(max(most, _ROUNDS * load.depth), self.longest)
        return max(round(full * share), 10 * load.depth, 1000)

    def key(self, request: Request, load: Load) -> str:
        """Returns a hash of all that decides a run."""
        decides = [request.settings, repr(load), self.commands(load, request.share), self.seed + request.further_seed]
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:32]

    def tasks(self, request: Request, index: int) -> list[Task]:
        """Returns the runs of a request that are not known yet."""
        found = []
        for load in request.loads:
            key = self.key(request, load)
            if key in self.known:
                continue
            if self.kept is not None and (numbers := self.kept.get(key)) is not None:
                self.runs += 1
                self.known[key] = numbers
                continue
            try:
                found.append(self._task(request, load, key, index))
            except InputError as error:
                self.known[key] = str(error)
        return found

    def _task(self, request: Request, load: Load, key: str, index: int) -> Task:
        settings = (*request.settings, *load.settings())
        facts = self.described(settings)
        text = load.job(self.commands(load, request.share), facts["user_bytes"])
        units = (facts["user_bytes"] + facts["physical_bytes"]) // 4096
        point = design.Point(self.drive.name, "load", None, None, {})
        if settings not in self._groups:
            self._groups[settings] = starting_state(self.drive, settings, point)
        job = Job(None, text, {}, hashlib.sha256(text.encode()).hexdigest())
        seed = self.seed + request.further_seed
        return Task(
            index,
            key,
            key,
            point,
            seed,
            (self.drive.name, self.drive.text),
            settings,
            job,
            {},
            drive_hash="",
            workload_hash="",
            group=f"{self._groups[settings]}/{seed}",
            memory=_BESIDE + 10 * units,
        )

    def described(self, settings: tuple[str, ...]) -> dict[str, Any]:
        """Returns what follows from the description of a drive.

        Raises:
            InputError: the description is invalid.
        """
        if settings not in self._facts:
            try:
                self._facts[settings] = drives.describe(self.drive, set=settings)
            except InputError as error:
                self._facts[settings] = str(error)
        found = self._facts[settings]
        if isinstance(found, str):
            raise InputError(found)
        return found

    def take(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Keeps the outcome of a run."""
        self.runs += 1
        ok = outcome.get("status") == "ok"
        self.known[key] = {name: outcome.get(name) for name in NAMES} if ok else str(outcome.get("error"))
        if self.kept is not None:
            self.kept.put(key, self.known[key])

    def errors(self, request: Request) -> list[str]:
        """Returns the errors of the runs of a request."""
        found = [self.known[self.key(request, load)] for load in request.loads]
        return [each for each in found if isinstance(each, str)]

    def values(self, request: Request, points: Iterable[Point]) -> list[float | None]:
        """Returns the simulated values of points; ``None`` where a run failed or is too short for a percentile."""
        found = []
        for point in points:
            numbers = self.known.get(self.key(request, point.load))
            found.append(value_of(numbers, point.load, point.op, point.metric) if isinstance(numbers, dict) else None)
        return found


def value_of(numbers: Mapping[str, float | None], load: Load, op: str, metric: str) -> float | None:
    """Returns the value of a metric from the numbers of a run; ``None`` if it has none."""
    sides = {"read": ("read",), "write": ("write",), "all": ("read", "write")}[op]
    moved = sum(numbers.get(f"throughput.{side}_bytes_per_s") or 0.0 for side in sides)
    if metric == "iops":
        value = numbers.get("throughput.iops") if op == "all" else moved / load.block
    elif metric == "mb_s":
        value = moved / 1e6
    elif metric == "write_amplification":
        value = numbers.get("write_amplification")
    else:
        nanoseconds = numbers.get(f"latency.{op}.{metric.removesuffix('_us')}_ns")
        value = None if nanoseconds is None else nanoseconds / 1e3
    return value if value else None
