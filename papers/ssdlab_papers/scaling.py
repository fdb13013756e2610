"""Search for the time scale at which a load causes a target write utilisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

#: Relative tolerance of the write utilisation, and maximum number of runs of a search.
_TOLERANCE = 0.03
_MOST_STEPS = 5


class Loaded(Protocol):
    """A run that reports the drive's write utilisation."""

    @property
    def utilisation(self) -> float:
        """Share of the run's time that the dies spent writing."""
        ...


Found = TypeVar("Found", bound=Loaded)


def scale_to(measure: Callable[[float], Found], target: float, start: tuple[float, Found]) -> tuple[float, Found]:
    """Returns the time scale at which the baseline's write utilisation comes closest to the target, and the run at it.

    Utilisation is not proportional to speed: commands still queued after the last arrival lengthen the run. If a higher
    speed brings no higher utilisation, the channels or the reads are the bottleneck and the target is out of reach.

    Args:
        measure: Runs the baseline at a given time scale.
        target: Target write utilisation.
        start: A time scale that is known to be too slow, or 1, and the baseline's run at it.
    """
    best_scale, best = start
    low_scale, low = best_scale, best.utilisation
    high_scale: float | None = None
    growth = 1.0
    for _ in range(_MOST_STEPS):
        # Until a scale is too fast, extrapolate with the exponent by which utilisation last grew with the scale; then
        # bisect geometrically.
        scale = low_scale * (target / low) ** (1.0 / growth) if high_scale is None else math.sqrt(low_scale * high_scale)
        tried = measure(scale)
        if abs(tried.utilisation - target) < abs(best.utilisation - target):
            best_scale, best = scale, tried
        if abs(tried.utilisation / target - 1.0) < _TOLERANCE:
            break
        if tried.utilisation >= target:
            high_scale = scale
        elif tried.utilisation <= low:
            break
        else:
            growth = max(0.25, math.log(tried.utilisation / low) / math.log(scale / low_scale))
            low_scale, low = scale, tried.utilisation
    return best_scale, best
