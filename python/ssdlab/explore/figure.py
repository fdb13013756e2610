"""A number of a sweep over one of its fields, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssdlab.charts import Axis, Chart, Series
from ssdlab.errors import InputError, unknown_name
from ssdlab.explore.statistics import Estimate
from ssdlab.units import counted, time_unit

if TYPE_CHECKING:
    from ssdlab.explore.sweep import Sweep

#: Ends of names of numbers: the divisor of the axis, and its unit.
_UNITS = {"_bytes_per_s": (1e6, "MB/s"), "_bytes": (2**20, "MiB")}


def chart(done: Sweep, number: str, over: str | None) -> Chart:
    """Returns a number over the values of a field, with a curve for each combination of the other varied fields.

    Raises:
        InputError: the sweep has no such number or field, or varies nothing.
    """
    varied = done.varied
    if not varied:
        raise InputError(f"{done.folder}: varies no field: expected one for the axis of the chart")
    field = over or varied[0]
    if field not in varied:
        raise unknown_name("varied field", field, varied)
    curves: dict[str, list[tuple[Any, Estimate]]] = {}
    for point, found in done.estimates(number):
        others = ", ".join(f"{name.rpartition('.')[2]} {value}" for name, value in point.items() if name != field)
        curves.setdefault(others, []).append((point[field], found))
    if not curves:
        raise InputError(f"{number}: no run has a value: expected a number that the runs have, such as throughput.iops")
    values = [value for curve in curves.values() for value, _ in curve]
    is_number = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    scale, title = _axis(number, [found.mean for curve in curves.values() for _, found in curve])
    seeds = len(set(done.table["seed"].to_pylist()))
    return Chart(
        title=f"{done.folder.name}: {number}",
        x=Axis(field, log=is_number and min(values) > 0 and max(values) >= 50 * min(values)),
        y=Axis(title),
        series=tuple(_series(name or number, points, scale, is_number) for name, points in curves.items()),
        cases=not is_number,
        note=f"means over {counted(seeds, 'seed')}, with intervals that hold with 95 %" if seeds > 1 else "",
    )


def _axis(number: str, means: list[float]) -> tuple[float, str]:
    """Returns the divisor of the values, and the title of their axis."""
    if number.endswith("_ns"):
        size, unit = time_unit(max(means, default=0.0))
        return size, f"{number.removesuffix('_ns')} ({unit})"
    for ending, (size, unit) in _UNITS.items():
        if number.endswith(ending):
            return size, f"{number.removesuffix(ending)} ({unit})"
    return 1.0, number


def _series(name: str, points: list[tuple[Any, Estimate]], scale: float, is_number: bool) -> Series:
    ordered = sorted(points, key=lambda point: point[0]) if is_number else points
    has_bounds = all(found.low is not None and found.high is not None for _, found in ordered)
    return Series(
        name,
        x=[value if is_number else str(value) for value, _ in ordered],
        y=[found.mean / scale for _, found in ordered],
        low=[(found.low or 0.0) / scale for _, found in ordered] if has_bounds else None,
        high=[(found.high or 0.0) / scale for _, found in ordered] if has_bounds else None,
        joined=is_number,
    )
