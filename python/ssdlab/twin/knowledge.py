"""Knowledge that the points give: the freedom of each field, fields that trade against each other, the ensemble."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ssdlab.twin.bench import Request
from ssdlab.twin.loads import Load
from ssdlab.twin.points import METRICS, Z90, Point
from ssdlab.twin.search import MIDDLE, Array, Problem, Steps, loss_of, refined, sensitivities, step_of

__all__ = ["Knowledge", "Profile", "learned", "left_out"]

#: Standard deviation of a share that is only known to be in its range.
_PRIOR = 1 / math.sqrt(12)
#: Width of a profile from which a field counts as not determined, as a share of its range.
_OPEN_WIDTH = 0.6
#: Correlation from which two fields trade against each other.
_TRADE = 0.8
#: Draws of the ensemble, in each of at most so many rounds; members that it has at least and at most.
_DRAWS, _ROUNDS, _FEWEST, _MOST = 8, 3, 5, 12
#: Iterations at full length.
_POLISH = 3
#: Changes of chi-squared at the end of a profile between which the straight line holds, in those of a 90 % interval;
#: attempts to find the end, and the factor by which each goes further or nearer.
_HOLDS, _ATTEMPTS, _FACTOR = (0.4, 2.5), 4, 1.7
#: Spread between seeds below which a point tells two drives apart, in errors that count as one.
_STEADY = 0.5
#: Loads of the measuring plan (`examples/twin`), of which one may determine what the points leave open.
PLAN = (
    (Load("randread", 4096, 1), ("p50_us", "p99_us")),
    (Load("randread", 4096, 32), ("iops", "p99_us")),
    (Load("randread", 4096, 256), ("iops", "p99_us")),
    (Load("read", 131072, 32), ("mb_s", "p99_us")),
    (Load("randwrite", 4096, 1, state="steady"), ("p50_us", "p99_us", "p99_9_us")),
    (Load("randwrite", 4096, 32, state="steady"), ("iops", "p99_us", "write_amplification")),
    (Load("write", 131072, 32), ("mb_s", "p99_us")),
    (Load("randrw", 4096, 4, mix=70, state="steady"), ("mean_us", "p99_us", "p99_9_us")),
    (Load("randrw", 4096, 32, mix=70, state="steady"), ("iops", "p99_us", "p99_9_us")),
)


@dataclass(slots=True)
class Profile:
    """Range in which a field can move while the fit stays within the noise, the other fields following."""

    name: str
    #: Values, as a description has them: the best one, and the ends of the 90 % interval.
    best: str
    low: str
    high: str
    #: The same as shares of the range.
    shares: tuple[float, float, float]
    #: Ends of the range.
    range: tuple[str, str]
    #: Change of chi-squared at the two ends, simulated, in those of a 90 % interval; ``None`` where a run failed.
    changes: tuple[float | None, float | None] = (None, None)
    #: Measurement that would determine the field, where the points do not.
    would: str = ""

    @property
    def is_determined(self) -> bool:
        """True if the points leave less than most of the range."""
        return self.shares[2] - self.shares[0] < _OPEN_WIDTH


@dataclass(slots=True)
class Knowledge:
    """Outcome of :func:`learned`."""

    best: tuple[float, ...]
    loss: float
    #: Factor by which the errors of the best drive exceed the noise of the points.
    excess: float
    members: list[tuple[float, ...]]
    profiles: list[Profile] = field(default_factory=list)
    #: Pairs of fields with their correlation.
    pairs: list[tuple[str, str, float]] = field(default_factory=list)
    #: Errors of each point when its group is left out, as logarithms.
    left_out: list[float] = field(default_factory=list)


def learned(problem: Problem, starts: Sequence[Sequence[float]], seed: int) -> Steps[Knowledge]:
    """Polishes the best of some drives at full length, and says what the points leave open.

    Args:
        problem: Fields and points.
        starts: Drives of the searches, the best one first.
        seed: Seed of the draws.
    """
    best = list(starts[0])
    best = yield from refined(problem, best, 1.0, _POLISH)
    yield [problem.request(one, 1.0) for one in (best, *starts)]
    best = min((best, *(list(one) for one in starts)), key=lambda one: loss_of(problem.residuals(one, 1.0)))
    residuals, slopes = yield from sensitivities(problem, best, 1.0)
    loss = loss_of(residuals)
    excess = max(1.0, math.sqrt(loss * len(residuals) / max(len(residuals) - len(best), 1)))
    covariance, ends = yield from _profiled(problem, best, covariance_of(slopes, excess), excess)
    members = yield from _ensemble(problem, best, [list(one) for one in starts], covariance, excess, slopes, seed)
    found = Knowledge(tuple(best), loss, excess, members, _profiles(problem, best, members, ends))
    found.pairs = _pairs(problem, covariance)
    found.left_out = left_out(problem, residuals, slopes, excess)
    yield from _measurements(problem, found)
    return found


def covariance_of(slopes: Array, excess: float) -> Array:
    """Returns the covariance of the shares, given the derivatives of the residuals, and that each is in its range."""
    fisher = slopes.T @ slopes / excess**2
    return np.asarray(np.linalg.inv(fisher + np.eye(len(fisher)) / _PRIOR**2), dtype=np.float64)


def _chi(problem: Problem, shares: Sequence[float]) -> float:
    """Returns the sum that corresponds to chi-squared, of the points whose simulated value hardly depends on the seed.

    The others change with any field as with another seed, which would hide what the field does.
    """
    residuals = problem.residuals(shares, 1.0)
    steady = np.array([problem.spread(point) for point in problem.points]) < _STEADY * problem.scales()
    known = ~np.isnan(residuals) & (steady if bool(np.any(steady)) else True)
    return loss_of(residuals[known]) * int(np.sum(known)) if bool(np.any(known)) else math.inf


def _limit(freedom: float) -> float:
    """Returns the 90 % quantile of chi-squared (Wilson and Hilferty, 1931)."""
    degrees = max(freedom, 1.0)
    return degrees * (1 - 2 / (9 * degrees) + 1.2816 * math.sqrt(2 / (9 * degrees))) ** 3


def _ensemble(
    problem: Problem,
    best: list[float],
    starts: Sequence[list[float]],
    covariance: Array,
    excess: float,
    slopes: Array,
    seed: int,
) -> Steps[list[tuple[float, ...]]]:
    """Returns drives that fit about as well as the best one: draws from the covariance that the runs confirm."""
    generator = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance)
    # Directions that the points determine; the others are free, and no test of the fit.
    freedom = float(np.trace(slopes.T @ slopes / excess**2 @ covariance))
    most = _chi(problem, best) + excess**2 * _limit(freedom)
    found: list[tuple[float, list[float]]] = []
    for one in starts:
        chi = _chi(problem, one)
        if chi <= most and one != best:
            found.append((chi, one))
    scale = 1.0
    for _ in range(_ROUNDS):
        drawn = [_folded(np.array(best) + scale * root @ generator.standard_normal(len(best))) for _ in range(_DRAWS)]
        yield [problem.request(one, 1.0) for one in drawn]
        chis = [_chi(problem, one) for one in drawn]
        found += [(chi, one) for chi, one in zip(chis, drawn, strict=True) if chi <= most]
        if len(found) + 1 >= _FEWEST:
            break
        # The surface is more curved than the derivatives say: draws nearer to the best drive.
        scale *= 0.6
    kept = [one for _, one in sorted(found, key=lambda pair: pair[0])][: _MOST - 1]
    return [tuple(best), *(tuple(one) for one in kept)]


def _folded(shares: Array) -> list[float]:
    """Returns shares reflected at the ends of their ranges."""
    inside = np.abs(np.mod(shares + 1, 2) - 1)
    return [float(share) for share in np.where(shares < 0, np.minimum(-shares, 1), np.where(shares > 1, inside, shares))]


def _profiled(
    problem: Problem, best: list[float], covariance: Array, excess: float
) -> Steps[tuple[Array, dict[tuple[int, int], tuple[float, float | None]]]]:
    """Returns the covariance with the widths that runs confirm, and the ends of the profiles with their changes.

    The ends that the derivatives give are simulated, the other fields following; where the fit is lost there, or hardly
    changes, the end is drawn in or moved out.
    """
    width = {(at, side): 1.0 for at in range(len(best)) for side in (-1, 1)}
    ends: dict[tuple[int, int], tuple[float, float | None]] = {}
    chi = _chi(problem, best)
    for _ in range(_ATTEMPTS):
        open_ends = [key for key in width if key not in ends or not _is_settled(ends[key][1])]
        tried = {(at, side): _profile_end(best, covariance, at, side * width[at, side] * Z90) for at, side in open_ends}
        if not tried:
            break
        yield [problem.request(end, 1.0) for end in tried.values()]
        for (at, side), end in tried.items():
            change = (_chi(problem, end) - chi) / excess**2 / Z90**2
            ends[at, side] = end[at], change if math.isfinite(change) else None
            if not change < _HOLDS[1]:
                width[at, side] /= _FACTOR
            elif change < _HOLDS[0]:
                if end[at] in (0.0, 1.0):
                    # The whole rest of the range fits as well.
                    ends[at, side] = end[at], 1.0
                width[at, side] *= _FACTOR
    scale = np.array([max(abs(ends[at, side][0] - best[at]) for side in (-1, 1)) / Z90 for at in range(len(best))])
    scale = np.maximum(scale, 1e-3) / np.sqrt(np.diag(covariance))
    # An end of the range may be near: the field is then no better known than its other side says.
    return covariance * np.outer(scale, scale), ends


def _is_settled(change: float | None) -> bool:
    return change is not None and _HOLDS[0] <= change < _HOLDS[1]


def _profiles(
    problem: Problem,
    best: list[float],
    members: Sequence[tuple[float, ...]],
    ends: Mapping[tuple[int, int], tuple[float, float | None]],
) -> list[Profile]:
    """Returns the profile of each field: the ends that were simulated, and those of the members."""
    found = []
    for at, one in enumerate(problem.space.fields):
        among = [member[at] for member in members]
        low, high = min(ends[at, -1][0], *among, best[at]), max(ends[at, 1][0], *among, best[at])
        shown = [one.shown(share) for share in (best[at], low, high, 0.0, 1.0)]
        changes = ends[at, -1][1], ends[at, 1][1]
        found.append(Profile(one.name, shown[0], shown[1], shown[2], (low, best[at], high), (shown[3], shown[4]), changes))
    return found


def _profile_end(best: Sequence[float], covariance: Array, at: int, deviations: float) -> list[float]:
    """Returns the shares where one field is so many standard deviations away, and the others follow it."""
    spread = math.sqrt(covariance[at, at])
    target = min(max(best[at] + deviations * spread, 0.0), 1.0)
    moved = np.array(best) + covariance[:, at] / covariance[at, at] * (target - best[at])
    return [float(share) for share in np.clip(moved, 0.0, 1.0)]


def _pairs(problem: Problem, covariance: Array) -> list[tuple[str, str, float]]:
    """Returns the fields that trade against each other, with their correlation."""
    spread = np.sqrt(np.diag(covariance))
    names = [one.name for one in problem.space.fields]
    found = []
    for at in range(len(names)):
        for other in range(at + 1, len(names)):
            correlation = float(covariance[at, other] / spread[at] / spread[other])
            if abs(correlation) >= _TRADE:
                found.append((names[at], names[other], correlation))
    return found


def left_out(problem: Problem, residuals: Array, slopes: Array, excess: float) -> list[float]:
    """Returns the error of each point when the group of its load is left out of the fit, as a logarithm.

    The fit without a group is one step of least squares from the fit with all of them: it needs no further runs.
    """
    scales = problem.scales()
    groups = [point.load.group for point in problem.points]
    errors = np.full(len(groups), math.nan)
    if len(set(groups)) < 2:
        # A single curve: its loads are left out one by one.
        groups = [point.load.name for point in problem.points]
    for group in dict.fromkeys(groups):
        out = np.array([one == group for one in groups])
        rest = ~out & ~np.isnan(residuals)
        inner = slopes[rest]
        normal = inner.T @ inner / excess**2 + np.eye(inner.shape[1]) / _PRIOR**2
        step = -np.linalg.solve(normal, inner.T @ residuals[rest] / excess**2)
        errors[out] = (residuals[out] + slopes[out] @ step) * scales[out]
    return [float(error) for error in errors]


def _measurements(problem: Problem, found: Knowledge) -> Steps[None]:
    """Says for each field that is not determined which load of the measuring plan depends on it most."""
    wanted = [at for at, profile in enumerate(found.profiles) if not profile.is_determined]
    if not wanted:
        return
    space, bench, loads = problem.space, problem.bench, tuple(load for load, _ in PLAN)
    center = Request(space.settings(found.best), loads, MIDDLE)
    moved = {}
    for at in wanted:
        step = step_of(space, found.best, at) * 5
        shares = [min(max(share + (step if other == at else 0), 0), 1) for other, share in enumerate(found.best)]
        moved[at] = Request(space.settings(shares), loads, MIDDLE)
    yield [center, *moved.values()]
    for at, request in moved.items():
        largest, best = 0.0, ""
        for load, metrics in PLAN:
            for metric in metrics:
                point = Point("plan", "plan", load, "all", metric, 1.0, 1.0, 1.0, "")
                before, after = bench.values(center, [point])[0], bench.values(request, [point])[0]
                if before is None or after is None:
                    continue
                change = abs(math.log(after / before)) / METRICS[metric]
                if change > largest:
                    largest, best = change, f"{metric} of {load.name}"
        profile = found.profiles[at]
        if largest >= 1:
            profile.would = f"{best}: a fifth of the range changes it by {largest:.1f} times its usual spread"
        else:
            profile.would = "no load of the measuring plan depends on it"


def summary(found: Knowledge) -> dict[str, Any]:
    """Returns what the points give, for JSON."""
    return {
        "loss": found.loss,
        "excess": found.excess,
        "members": len(found.members),
        "profiles": [
            {
                "field": one.name,
                "best": one.best,
                "low": one.low,
                "high": one.high,
                "range": list(one.range),
                "share_of_range": one.shares[2] - one.shares[0],
                "determined": one.is_determined,
                "chi_squared_change": list(one.changes),
                "would_determine": one.would,
            }
            for one in found.profiles
        ],
        "pairs": [{"fields": [one, other], "correlation": value} for one, other, value in found.pairs],
    }
