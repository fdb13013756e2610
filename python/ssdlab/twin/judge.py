"""Errors of an ensemble: its value for each point, with an interval, and how often that holds the measured value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ssdlab.twin.points import CLASSES, Z90, Point

__all__ = ["TARGETS", "Judged", "Score", "class_spreads", "judged", "scores"]

#: Median error on points that the fit has not seen, up to which a twin counts as one, by metric.
TARGETS = {
    "iops": 0.05,
    "mb_s": 0.05,
    "mean_us": 0.05,
    "p50_us": 0.05,
    "p99_us": 0.15,
    "p99_9_us": 0.25,
    "write_amplification": 0.05,
}
#: Share of the points that the 90 % interval must hold at least.
COVERAGE = 0.8
#: Share of a class's errors that its spread holds, and errors below which those of all classes count.
_SHARE, _FEWEST = 0.9, 3
#: Ends of the interval of the ensemble's members.
_ENDS = (0.05, 0.95)


@dataclass(slots=True)
class Judged:
    """A point, and what the twin gives for it."""

    id: str
    use: str
    metric: str
    op: str
    group: str
    load: str
    place: str
    measured: float
    measured_low: float
    measured_high: float
    #: Median of the ensemble; ``None`` where no member gives a value.
    simulated: float | None
    #: Ends of the ensemble's 90 % interval for a measurement.
    low: float | None
    high: float | None
    #: Value of the base before the fit, and of the nearest other drive.
    unfitted: float | None = None
    nearest: float | None = None
    #: Error of the twin when the point's group is left out; ``None`` for a point that was not fitted.
    left_out: float | None = None

    @property
    def error(self) -> float | None:
        """Relative error of the twin."""
        return None if self.simulated is None else self.simulated / self.measured - 1

    @property
    def is_covered(self) -> bool:
        """True if the interval holds the measured value."""
        return self.low is not None and self.high is not None and self.low <= self.measured <= self.high

    def document(self) -> dict[str, Any]:
        """Returns the point for JSON."""
        return {**asdict(self), "error": self.error, "covered": self.is_covered}


@dataclass(slots=True)
class Score:
    """Errors of the points of a metric, a group, or all."""

    name: str
    count: int
    median: float | None
    worst: float | None
    worst_name: str
    coverage: float | None
    #: Median errors of the base before the fit and of the nearest other drive.
    unfitted: float | None
    nearest: float | None
    target: float | None = None
    points: list[Judged] = field(default_factory=list)


def class_spreads(points: Sequence[Point], errors: Sequence[float], sigmas: Sequence[float]) -> dict[str, float]:
    """Returns the spread of the errors of each class of metrics beyond the noise, from groups that were left out.

    It is what the drive of the fit, whatever its fields, does not have of the real one.
    """
    whole = [
        (CLASSES[point.metric], abs(error), sigma)
        for point, error, sigma in zip(points, errors, sigmas, strict=True)
        if not math.isnan(error)
    ]
    found = {}
    for name in dict.fromkeys(CLASSES.values()):
        own = [(error, sigma) for kind, error, sigma in whole if kind == name]
        if len(own) < _FEWEST:
            own = [(error, sigma) for _, error, sigma in whole]
        if not own:
            found[name] = 0.0
            continue
        # Units of the noise: points of different spread count alike.
        ratios = sorted(error / sigma for error, sigma in own)
        typical = sorted(sigma for _, sigma in own)[len(own) // 2]
        at = min(math.ceil(_SHARE * (len(ratios) + 1)) - 1, len(ratios) - 1)
        spread = ratios[at] * typical / Z90
        found[name] = math.sqrt(max(spread**2 - typical**2, 0.0))
    return found


def judged(
    points: Iterable[Point],
    members: Sequence[Sequence[float | None]],
    sigmas: Sequence[float],
    spreads: Mapping[str, float],
) -> list[Judged]:
    """Returns what an ensemble gives for points.

    Args:
        points: The points.
        members: Values of each member for them.
        sigmas: Spread of each point and of its simulation, of the logarithm.
        spreads: Those of :func:`class_spreads`.
    """
    found = []
    for at, point in enumerate(points):
        known = sorted(math.log(value) for values in members if (value := values[at]) is not None)
        simulated = low = high = None
        if known:
            middle = _quantile(known, 0.5)
            further = Z90 * math.hypot(sigmas[at], spreads.get(CLASSES[point.metric], 0.0))
            below, above = (abs(_quantile(known, end) - middle) for end in _ENDS)
            simulated = math.exp(middle)
            low, high = math.exp(middle - math.hypot(below, further)), math.exp(middle + math.hypot(above, further))
        found.append(
            Judged(
                point.id,
                point.use,
                point.metric,
                point.op,
                point.load.group,
                point.load.name,
                point.place,
                point.value,
                point.low,
                point.high,
                simulated,
                low,
                high,
            )
        )
    return found


def _quantile(known: Sequence[float], share: float) -> float:
    """Returns a quantile of sorted values, between two of them where it falls there."""
    place = share * (len(known) - 1)
    at = min(int(place), len(known) - 1)
    after = min(at + 1, len(known) - 1)
    return known[at] + (known[after] - known[at]) * (place - at)


def scores(rows: Sequence[Judged], by: str) -> list[Score]:
    """Returns the errors of points by `metric` or `group`, or of all of them (`all`)."""
    groups: dict[str, list[Judged]] = {}
    for row in rows:
        groups.setdefault("all" if by == "all" else str(getattr(row, by)), []).append(row)
    found = []
    for name, own in groups.items():
        known = [row for row in own if row.error is not None]
        worst = max(known, key=lambda row: abs(math.log(1 + (row.error or 0.0))), default=None)
        found.append(
            Score(
                name,
                len(own),
                _median([abs(row.error or 0.0) for row in known]),
                None if worst is None else worst.error,
                "" if worst is None else f"{worst.id} {worst.metric}",
                sum(row.is_covered for row in own) / len(own),
                _median([abs(row.unfitted / row.measured - 1) for row in own if row.unfitted is not None]),
                _median([abs(row.nearest / row.measured - 1) for row in own if row.nearest is not None]),
                TARGETS.get(name) if by == "metric" else None,
                [] if worst is None else [worst],
            )
        )
    return found


def _median(values: Sequence[float]) -> float | None:
    ordered = sorted(values)
    return _quantile(ordered, 0.5) if ordered else None
