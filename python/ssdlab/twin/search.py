"""Searches for drives that give the measured values: a global one from several starts, then least squares.

Runs of all drives have the same seed (common random numbers), so that two drives differ by their fields alone, and the
residuals are smooth enough for derivatives. Searches begin with short runs, and end with those of full length.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ssdlab.explore.pool import Pool
from ssdlab.explore.tasks import Task
from ssdlab.twin.bench import NAMES, Bench, Request
from ssdlab.twin.loads import Load
from ssdlab.twin.points import CLASSES, Point
from ssdlab.twin.space import Space

__all__ = [
    "Array",
    "Found",
    "Problem",
    "Steps",
    "derivatives",
    "loss_of",
    "refined",
    "run_all",
    "search",
    "sensitivities",
    "spreads_of",
]

Array: TypeAlias = npt.NDArray[np.float64]
Outcome = TypeVar("Outcome")
#: Work that asks for runs: it yields requests, goes on when they are done, and returns its outcome.
Steps: TypeAlias = Generator[Sequence[Request], None, Outcome]

#: Relative spread of a simulated value between seeds that is expected before it is measured [A].
_EXPECTED = {
    "iops": 0.005,
    "mb_s": 0.005,
    "mean_us": 0.005,
    "p50_us": 0.01,
    "write_amplification": 0.005,
    "p99_us": 0.03,
    "p99_9_us": 0.06,
    "p99_99_us": 0.10,
}
#: Classes of metrics that say the same of a run.
_ALIKE = ("rate", "typical latency")
#: Seeds by which the spread is measured, and the number of seeds that the expectation counts as.
_SEEDS, _EXPECTED_SEEDS = 4, 2
#: Residual from which a point counts by its size, not by its square, so that a few outliers do not decide.
_HUBER = 3.0
#: Step of a derivative, and longest step of an iteration, as shares of a field's range.
_STEP, _LONGEST_STEP = 0.06, 0.3
#: Step of a derivative that says what is known, and noise from which it counts [standard deviations].
_WIDE_STEP, _CLEAR = 0.1, 2.0
#: Dampings that an iteration tries.
_DAMPINGS = (1e-3, 0.1, 10.0)
#: Improvement below which the iterations end.
_ENOUGH = 0.01
#: Share of the full length: of the runs of the global search, and of the iterations.
SHORT, MIDDLE = 0.15, 0.4
#: Trials of the global search that are chosen at random.
_STARTUP = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """Fields of a drive, and the points that they are fitted to."""

    bench: Bench
    space: Space
    points: tuple[Point, ...]
    #: Relative spread of the simulated value of a point between seeds, by load, operation and metric.
    spreads: Mapping[tuple[Load, str, str], float]

    @property
    def loads(self) -> tuple[Load, ...]:
        """Loads of the points, each once."""
        return tuple(dict.fromkeys(point.load for point in self.points))

    def part(self, points: Sequence[Point]) -> Problem:
        """Returns the problem with some of its points."""
        return Problem(self.bench, self.space, tuple(points), self.spreads)

    def request(self, shares: Sequence[float], length: float) -> Request:
        """Returns the request of a drive under all loads."""
        return Request(self.space.settings(shares), self.loads, length)

    def sigmas(self) -> Array:
        """Returns the spread of each point and of its simulation together, of the logarithm."""
        return np.array([self.sigma(point) for point in self.points])

    def sigma(self, point: Point) -> float:
        """Returns the spread of a point and of its simulation together, of the logarithm."""
        return math.hypot(point.sigma, self.spread(point))

    def spread(self, point: Point) -> float:
        """Returns the spread of the simulated value of a point between seeds, of the logarithm."""
        return self.spreads.get((point.load, point.op, point.metric), _EXPECTED[point.metric])

    def scales(self) -> Array:
        """Returns the errors that count as one: the spreads, larger where several points of a run say the same.

        Rate, mean and median of a closed loop are one number (Little's law), and have their noise in common.
        """
        kinds = [(point.load, CLASSES[point.metric] in _ALIKE, point.metric) for point in self.points]
        counts = [sum(load == other and is_alike for other, is_alike, _ in kinds) for load, _, _ in kinds]
        shared = [count if is_alike else 1 for count, (_, is_alike, _) in zip(counts, kinds, strict=True)]
        return np.asarray(self.sigmas() * np.sqrt(np.array(shared)), dtype=np.float64)

    def errors(self, shares: Sequence[float], length: float) -> Array:
        """Returns the logarithm of simulated over measured for each point; NaN where nothing is known."""
        values = self.bench.values(self.request(shares, length), self.points)
        return np.array(
            [
                math.nan if value is None else math.log(value / point.value)
                for value, point in zip(values, self.points, strict=True)
            ]
        )

    def residuals(self, shares: Sequence[float], length: float) -> Array:
        """Returns the errors in units of those that count as one."""
        return self.errors(shares, length) / self.scales()


def loss_of(residuals: Array) -> float:
    """Returns the mean of the squared residuals, of large ones their size; infinite where nothing is known."""
    known = np.abs(residuals[~np.isnan(residuals)])
    if not known.size:
        return math.inf
    return float(np.mean(np.where(known <= _HUBER, known**2, 2 * _HUBER * known - _HUBER**2)))


def spreads_of(bench: Bench, settings: tuple[str, ...], points: Sequence[Point]) -> Steps[dict[tuple[Load, str, str], float]]:
    """Returns the spread of the simulated values of a drive between seeds, drawn towards the expected one."""
    loads = tuple(dict.fromkeys(point.load for point in points))
    requests = [Request(settings, loads, 1.0, seed) for seed in range(_SEEDS)]
    yield requests
    found = {}
    for point in points:
        values = [bench.values(request, [point])[0] for request in requests]
        known = np.log([value for value in values if value is not None])
        expected = _EXPECTED[point.metric] ** 2
        squares = float(np.sum((known - known.mean()) ** 2)) if len(known) > 1 else 0.0
        weight = max(len(known) - 1, 0)
        found[point.load, point.op, point.metric] = math.sqrt((squares + _EXPECTED_SEEDS * expected) / (weight + _EXPECTED_SEEDS))
    return found


@dataclass(frozen=True, slots=True)
class Found:
    """Outcome of a search."""

    shares: tuple[float, ...]
    #: Loss at full length.
    loss: float
    #: Way in which the search began.
    start: str


def search(problem: Problem, number: int, trials: int, seed: int) -> Steps[Found]:
    """Searches from one start: the base in stages for number 0, otherwise a global search with some trials."""
    if number == 0:
        shares = yield from _staged(problem)
        start = "stages"
    else:
        shares = yield from _sampled(problem, trials, seed + number)
        start = f"TPE {number}"
    shares = yield from refined(problem, shares, MIDDLE, 4)
    yield [problem.request(shares, 1.0)]
    return Found(tuple(shares), loss_of(problem.residuals(shares, 1.0)), start)


def _sampled(problem: Problem, trials: int, seed: int) -> Steps[list[float]]:
    """Searches the whole space with short runs; returns the best shares."""
    # Start-up: optional, and slow to start.
    import optuna

    best: tuple[float, list[float]] = (math.inf, list(problem.space.start))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_STARTUP, multivariate=True)
        study = optuna.create_study(sampler=sampler)
        optuna.logging.set_verbosity(level)
    for _ in range(trials):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = study.ask()
            shares = [trial.suggest_float(field.name, 0.0, 1.0) for field in problem.space.fields]
        yield [problem.request(shares, SHORT)]
        loss = loss_of(problem.residuals(shares, SHORT))
        if math.isfinite(loss):
            # The logarithm: losses of distant drives are thousands of times those of near ones.
            study.tell(trial, math.log(loss + 1e-3))
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        best = min(best, (loss, shares))
    return best[1]


#: Stages of the first search: name, points that the stage looks at, and beginnings of the names of its fields.
_STAGES: tuple[tuple[str, Callable[[Point], bool], tuple[str, ...]], ...] = (
    ("amplification", lambda point: point.metric == "write_amplification", ("ftl.overprovisioning",)),
    (
        "reads at depth 1",
        lambda point: point.load.rw.endswith("read") and point.load.depth == 1,
        ("flash.read_time", "host.cpu", "controller.firmware.cycles"),
    ),
    (
        "saturated writes",
        lambda point: point.load.share("read") == 0 and point.metric in ("iops", "mb_s", "mean_us", "p50_us"),
        ("flash.program_time", "flash.erase_time", "buffer", "policy.slc_cache"),
    ),
    (
        "reads at depth",
        lambda point: point.load.rw.endswith("read") and point.load.depth > 1,
        ("flash.transfer_rate", "controller.firmware.cycles"),
    ),
    (
        "mixed loads",
        lambda point: point.load.is_mixed and point.metric != "write_amplification",
        ("flash.suspension", "flash.erase_time", "flash.program_time"),
    ),
    ("aged data", lambda point: bool(point.load.age or point.load.cycles), ("ecc.plan",)),
)


def _staged(problem: Problem) -> Steps[list[float]]:
    """Fits the fields of each stage to the points that depend on them, from the base; returns the shares."""
    shares = list(problem.space.start)
    for _, wanted, names in _STAGES:
        points = [point for point in problem.points if wanted(point)]
        free = [at for at, field in enumerate(problem.space.fields) if field.name.startswith(names)]
        if points and free:
            shares = yield from refined(problem.part(points), shares, SHORT, 3, free)
    return shares


def step_of(space: Space, shares: Sequence[float], at: int) -> float:
    """Returns the step of the derivative by a field: towards the middle, and large enough to change its value."""
    sign = 1.0 if shares[at] <= 0.5 else -1.0
    step, field = _STEP, space.fields[at]
    while field.value(shares[at] + sign * step) == field.value(shares[at]) and step < 0.5:
        step *= 1.5
    return sign * step


def sensitivities(problem: Problem, shares: Sequence[float], length: float) -> Steps[tuple[Array, Array]]:
    """Returns the residuals at some shares, and their derivatives by all fields that stand out of the noise.

    A drive that collects is chaotic: a change of any field changes each value by as much as another seed does. Such a
    change is no information on the field. A derivative comes from a step to both sides, and is 0 where it is within
    twice of that noise.
    """
    sides: list[tuple[list[float], list[float]]] = []
    for at in range(len(shares)):
        ends = [min(max(shares[at] + sign * _WIDE_STEP, 0.0), 1.0) for sign in (-1, 1)]
        sides.append(([*shares[:at], ends[0], *shares[at + 1 :]], [*shares[:at], ends[1], *shares[at + 1 :]]))
    yield [problem.request(one, length) for one in (shares, *(end for pair in sides for end in pair))]
    residuals = problem.residuals(shares, length)
    noise = np.array([problem.spread(point) for point in problem.points]) / problem.scales()
    columns = []
    for at, (low, high) in enumerate(sides):
        width = high[at] - low[at]
        slope = (problem.residuals(high, length) - problem.residuals(low, length)) / width
        is_clear = np.abs(slope) > _CLEAR * math.sqrt(2) * noise / width
        columns.append(np.where(is_clear, np.nan_to_num(slope, nan=0.0), 0.0))
    return residuals, np.array(columns, dtype=float).T


def derivatives(problem: Problem, shares: Sequence[float], length: float, free: Sequence[int]) -> Steps[tuple[Array, Array]]:
    """Returns the residuals at some shares, and their derivatives by the free fields; 0 where one is not known."""
    steps = {at: step_of(problem.space, shares, at) for at in free}
    moved = {at: [share + (steps[at] if at == other else 0) for other, share in enumerate(shares)] for at in free}
    yield [problem.request(shares, length), *(problem.request(one, length) for one in moved.values())]
    residuals = problem.residuals(shares, length)
    columns = [(problem.residuals(moved[at], length) - residuals) / steps[at] for at in free]
    slopes = np.nan_to_num(np.array(columns, dtype=float).T, nan=0.0) if columns else np.zeros((len(residuals), 0))
    return residuals, slopes


def refined(
    problem: Problem, shares: Sequence[float], length: float, iterations: int, free: Sequence[int] | None = None
) -> Steps[list[float]]:
    """Fits the free fields by damped least squares (Levenberg and Marquardt) in their ranges; returns the shares."""
    now = list(shares)
    where = [*range(len(now))] if free is None else [*free]
    for _ in range(iterations):
        residuals, slopes = yield from derivatives(problem, now, length, where)
        before = loss_of(residuals)
        if not math.isfinite(before):
            break
        tried = [_stepped(now, where, residuals, slopes, damping) for damping in _DAMPINGS]
        yield [problem.request(one, length) for one in tried]
        losses = [loss_of(problem.residuals(one, length)) for one in tried]
        best = int(np.argmin(losses))
        if not losses[best] < before:
            break
        now = tried[best]
        if losses[best] > (1 - _ENOUGH) * before:
            break
    return now


def _stepped(shares: Sequence[float], free: Sequence[int], residuals: Array, slopes: Array, damping: float) -> list[float]:
    """Returns the shares after one damped step, of which those at an end of their range that it would leave stay."""
    known = ~np.isnan(residuals)
    size = np.abs(residuals[known])
    weights = np.where(size <= _HUBER, 1.0, _HUBER / np.maximum(size, 1e-12))
    jacobian = slopes[known] * np.sqrt(weights)[:, None]
    target = residuals[known] * np.sqrt(weights)
    active = [*range(len(free))]
    now = np.array(shares, dtype=float)
    step = np.zeros(len(free))
    while active:
        inner = jacobian[:, active]
        normal = inner.T @ inner
        scale = np.maximum(np.diag(normal), 1e-6 * max(float(np.max(np.diag(normal))), 1e-12))
        step[active] = np.linalg.solve(normal + damping * np.diag(scale), -inner.T @ target)
        outside = [at for at in active if not 0 <= now[free[at]] + 1e-9 * np.sign(step[at]) <= 1]
        if not outside:
            break
        for at in outside:
            step[at] = 0.0
        active = [at for at in active if at not in outside]
    longest = float(np.max(np.abs(step))) if len(step) else 0.0
    if longest > _LONGEST_STEP:
        step *= _LONGEST_STEP / longest
    for at, place in enumerate(free):
        now[place] = min(max(now[place] + step[at], 0.0), 1.0)
    return [float(share) for share in now]


class _Runner(Generic[Outcome]):
    """Does the runs that several works ask for, in processes; the works go on as their runs end."""

    def __init__(self, bench: Bench, works: Sequence[Steps[Outcome]], progress: Callable[[int], object] | None) -> None:
        self.bench, self.works, self.progress = bench, works, progress
        self.waiting: list[set[str]] = [set() for _ in works]
        self.under_way: set[str] = set()
        self.outcomes: list[Outcome | None] = [None] * len(works)

    def advance(self, at: int) -> list[Task]:
        """Lets a work go on until it needs runs; returns those that nobody has begun."""
        while True:
            try:
                requests = next(self.works[at])
            except StopIteration as end:
                self.outcomes[at] = end.value
                return []
            tasks = {task.key: task for request in requests for task in self.bench.tasks(request, at)}
            if tasks:
                self.waiting[at] = set(tasks)
                new = [task for key, task in tasks.items() if key not in self.under_way]
                self.under_way |= set(tasks)
                return new

    def done(self, task: Task, outcome: dict[str, object]) -> list[Task]:
        """Keeps the outcome of a run; returns the runs that the works need next."""
        self.bench.take(task.key, outcome)
        self.under_way.discard(task.key)
        if self.progress is not None:
            self.progress(self.bench.runs)
        more: list[Task] = []
        for at, keys in enumerate(self.waiting):
            if task.key in keys:
                keys.discard(task.key)
                if not keys:
                    more += self.advance(at)
        return more


def run_all(
    bench: Bench,
    works: Sequence[Steps[Outcome]],
    *,
    jobs: int,
    memory: str | int | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[Outcome]:
    """Does works side by side; returns the outcome of each. The outcomes do not depend on the number of processes."""
    runner = _Runner(bench, works, progress)
    tasks = [task for at in range(len(works)) for task in runner.advance(at)]
    Pool(jobs, NAMES, memory).run(tasks, runner.done)
    return [outcome for outcome in runner.outcomes if outcome is not None]
