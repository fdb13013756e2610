"""Pace of samples: a watch costs a bounded share of what it watches."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Pace"]

#: Real time between two samples, as a multiple of what one costs the drive at work: at most half a percent of its time.
_APART = 200
#: The same for maps of the wear.
_APART_WEAR = 400
#: Samples between two maps of the wear, at least.
_WEAR_EVERY = 4


class Pace:
    """Instants of the samples, and of those with a map of the wear."""

    def __init__(self, every: float, clock: Callable[[], float]) -> None:
        """Takes samples every `every` seconds, or more rarely if they cost much."""
        self._every, self._clock = every, clock
        self._due = self._wear_due = -1.0
        self._cost = 0.0

    def is_due(self) -> bool:
        """Returns true if it is time for a sample."""
        return self._clock() >= self._due

    def is_wear_due(self) -> bool:
        """Returns true if the sample is to have a map of the wear."""
        return self._clock() >= self._wear_due

    def until(self) -> float:
        """Returns the time until the next sample [s]."""
        return max(0.0, self._due - self._clock())

    def taken(self, cost: float, wear: bool) -> None:
        """Notes what a sample has cost [s]."""
        now = self._clock()
        if wear:
            # The cost of the map beyond that of a sample.
            more = max(0.0, cost - self._cost)
            self._wear_due = now + max(_WEAR_EVERY * self._every, _APART_WEAR * more)
        else:
            self._cost = cost
        self._due = now + max(self._every, _APART * self._cost)
