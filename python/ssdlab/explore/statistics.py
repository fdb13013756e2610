"""Means over seeds with their confidence intervals, and differences between points over the same seeds.

The runs of a point with different seeds are independent: an interval from their values holds for means and percentiles
alike, whatever the correlation of the commands within a run. Points are compared seed by seed (common random numbers):
the difference of two points varies less than either of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any

from ssdlab.errors import InputError, unknown_name

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Difference", "Estimate", "differences", "estimate", "estimates", "quantile_of_t"]

#: Probability that an interval contains the value, unless another one is given.
CONFIDENCE = 0.95


def quantile_of_t(probability: float, freedom: int) -> float:
    """Returns a quantile of Student's t distribution.

    Exact for one and two degrees of freedom; else by the expansion of Hill (1970, algorithm 396), which is within 1e-4
    of it from three on.

    Examples:
        >>> from ssdlab.explore.statistics import quantile_of_t
        >>> [round(quantile_of_t(0.975, freedom), 3) for freedom in (1, 2, 4, 30)]
        [12.706, 4.303, 2.776, 2.042]
    """
    if probability < 0.5:
        return -quantile_of_t(1.0 - probability, freedom)
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        centred = 2.0 * probability - 1.0
        return centred * math.sqrt(2.0 / max(1.0 - centred * centred, 1e-300))
    both = 2.0 * (1.0 - probability)
    a = 1.0 / (freedom - 0.5)
    b = 48.0 / (a * a)
    c = ((20700.0 * a / b - 98.0) * a - 16.0) * a + 96.36
    d = ((94.5 / (b + c) - 3.0) / b + 1.0) * math.sqrt(a * math.pi / 2.0) * freedom
    y = (d * both) ** (2.0 / freedom)
    if y > 0.05 + a:
        x = NormalDist().inv_cdf(both / 2.0)
        y = x * x
        if freedom < 5:
            c += 0.3 * (freedom - 4.5) * (x + 0.6)
        c = (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b + c
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (1.0 / (((freedom + 6.0) / (freedom * y) - 0.089 * d - 0.822) * (freedom + 2.0) * 3.0) + 0.5 / (freedom + 4.0)) * y
            - 1.0
        ) * (freedom + 1.0) / (freedom + 2.0) + 1.0 / y
    return math.sqrt(freedom * y)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, with its confidence interval.

    Examples:
        >>> from ssdlab.explore.statistics import estimate
        >>> found = estimate([10.0, 11.0, 12.0])
        >>> found.mean, round(found.low, 2), round(found.high, 2)
        (11.0, 8.52, 13.48)
    """

    #: Number of seeds.
    count: int
    mean: float
    #: Bounds of the interval; ``None`` with one seed, which says nothing about the others.
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        """Half of the width of the interval, as a share of the mean."""
        if self.low is None or self.high is None or self.mean == 0:
            return None
        return (self.high - self.low) / 2.0 / abs(self.mean)


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Returns the mean of independent values with its interval, by Student's t."""
    count, mean = len(values), fmean(values)
    if count < 2:
        return Estimate(count, mean, None, None)
    half = quantile_of_t(0.5 + confidence / 2.0, count - 1) * stdev(values) / math.sqrt(count)
    return Estimate(count, mean, mean - half, mean + half)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two points over the same seeds, as a share of the first."""

    #: The fields in which the points agree, and the two values of the field in which they differ.
    point: Mapping[str, Any]
    first: Any
    second: Any
    #: Mean over the seeds of second / first - 1.
    change: Estimate

    @property
    def is_supported(self) -> bool:
        """True if the seeds support a difference: its interval does not contain zero."""
        low, high = self.change.low, self.change.high
        return low is not None and high is not None and (low > 0.0 or high < 0.0)


def _groups(table: pa.Table, varied: Sequence[str], metric: str) -> dict[tuple[Any, ...], dict[int, float]]:
    """Returns the values of a metric by point, and by seed."""
    if metric not in table.column_names:
        raise unknown_name("number", metric, [name for name in table.column_names if name not in varied])
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in table.select([*varied, "seed", "status", metric]).to_pylist():
        if row["status"] == "ok" and row[metric] is not None:
            found.setdefault(tuple(row[name] for name in varied), {})[row["seed"]] = row[metric]
    return found


def estimates(
    table: pa.Table, varied: Sequence[str], metric: str, confidence: float = CONFIDENCE
) -> list[tuple[dict[str, Any], Estimate]]:
    """Returns each point of a table with the mean of a metric over its seeds.

    Args:
        table: Rows of a sweep.
        varied: Names of the columns that make a point.
        metric: Name of a number.
        confidence: Probability that an interval contains the value.
    """
    groups = _groups(table, varied, metric)
    named = ((dict(zip(varied, point, strict=True)), values) for point, values in groups.items())
    return [(point, estimate([*values.values()], confidence)) for point, values in named]


def differences(
    table: pa.Table, varied: Sequence[str], metric: str, field: str, first: Any, confidence: float = CONFIDENCE
) -> list[Difference]:
    """Returns the differences between the points with one value of a field and those with its other values.

    Points that agree in all other fields are compared seed by seed; seeds that only one of them has, or at which the
    first is zero, are left out.

    Raises:
        InputError: the field is not varied, or never has the value.
    """
    if field not in varied:
        raise unknown_name("field", field, list(varied))
    at = list(varied).index(field)
    groups = _groups(table, varied, metric)
    if not any(point[at] == first for point in groups):
        raise InputError(f"{field}: no run has the value {first!r}")
    found = []
    for point, values in groups.items():
        base = groups.get((*point[:at], first, *point[at + 1 :]))
        if point[at] == first or base is None:
            continue
        seeds = [seed for seed in sorted(values.keys() & base.keys()) if base[seed] != 0]
        if not seeds:
            continue
        change = estimate([values[seed] / base[seed] - 1.0 for seed in seeds], confidence)
        others = {name: value for name, value in zip(varied, point, strict=True) if name != field}
        found.append(Difference(others, first, point[at], change))
    return found
