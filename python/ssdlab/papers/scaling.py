"""How fast a load must be replayed to keep a drive so busy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, TypeVar

#: How close the write utilisation should come to the one that is asked for, and how many runs may be spent on it.
_TOLERANCE = 0.03
_MOST_STEPS = 5


class Loaded(Protocol):
    """A run that knows how busy the drive was."""

    @property
    def utilisation(self) -> float:
        """Share of the run's time that the dies spent writing."""
        ...


Found = TypeVar("Found", bound=Loaded)


def scale_to(measure: Callable[[float], Found], target: float, start: tuple[float, Found]) -> tuple[float, Found]:
    """The time scale at which the baseline's write utilisation comes closest to the target, and that run.

    Utilisation is not proportional to speed: what is still queued after the last arrival lengthens the run. Where more
    speed brings no more utilisation, the channels or the reads are the limit and the target is out of reach.

    Args:
        measure: Runs the baseline at a time scale.
        target: The write utilisation asked for.
        start: A time scale that is known to be too slow, or 1, and the baseline's run at it.
    """
    best_scale, best = start
    low_scale, low = best_scale, best.utilisation
    high_scale: float | None = None
    growth = 1.0
    for _ in range(_MOST_STEPS):
        # Below the target, by the power of the scale with which utilisation grew last; between two scales, by halves.
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
