"""Ranges of the numbers that a sweep or a search chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.errors import InputError
from ssdlab.explore.expression import alike, magnitude, plain_unit

__all__ = ["Range"]


def _end(value: Any) -> float:
    """Returns an end of a range as a number; a whole one stays whole."""
    return value if isinstance(value, int) else magnitude(value) or 0.0


@dataclass(frozen=True, slots=True)
class Range:
    """A range of numbers, or of quantities such as times and sizes.

    Examples:
        >>> from ssdlab.explore.ranges import Range
        >>> Range(1, 256, count=9, log=True, step=1).values()
        [1, 2, 4, 8, 16, 32, 64, 128, 256]
        >>> Range(0.07, 0.5).at(0.5)
        0.285
        >>> Range.of({"low": "600us", "high": "1.2ms"}).at(0.5)
        '900000ns'
    """

    #: Least and largest value; of a quantity in the plain unit of its kind: ns, B, B/s, T/s, ...
    low: float
    high: float
    #: Number of values in a grid.
    count: int | None = None
    #: Values are spaced evenly by their logarithm.
    log: bool = False
    #: Values are rounded to multiples of this; with a whole number they are whole.
    step: float | None = None
    #: A value of a quantity, which tells its kind; ``None`` for numbers.
    example: str | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Range:
        """Returns the range that a table with `low` and `high` describes; `count` and `log` are not checked.

        Raises:
            InputError: an end or the step is no number, they are quantities of different kinds, or out of order.
        """
        given = {name: table.get(name) for name in ("low", "high", "step")}
        units = {name: plain_unit(value) for name, value in given.items() if value is not None}
        bad = [name for name, unit in units.items() if unit is None]
        if bad or not {"low", "high"} <= units.keys():
            raise InputError(f'expected numbers low and high{", and " + bad[0] if bad else ""}, or quantities such as "600us"')
        kinds = [*dict.fromkeys(unit or "a number" for unit in units.values())]
        if len(kinds) > 1:
            raise InputError(f"expected one kind of quantity, not {' and '.join(kinds)}")
        low, high = _end(given["low"]), _end(given["high"])
        step = None if given["step"] is None else _end(given["step"])
        is_log = table.get("log", False)
        if not low < high or (is_log and low <= 0) or (step is not None and step <= 0):
            raise InputError("expected low below high, with `log` above 0, and a step above 0")
        return cls(low, high, table.get("count"), is_log, step, given["low"] if units["low"] else None)

    def at(self, share: float) -> Any:
        """Returns the value at a share of the range, 0 to 1."""
        value = self.low * (self.high / self.low) ** share if self.log else self.low + (self.high - self.low) * share
        return self.rounded(value)

    @property
    def is_whole(self) -> bool:
        """True if a search takes whole numbers: both ends are, and so is the step, if there is one."""
        if self.example is not None:
            return False
        return type(self.low) is int and type(self.high) is int and (self.step is None or float(self.step).is_integer())

    def rounded(self, value: float) -> Any:
        """Returns the nearest multiple of the step in the range; without a step the value itself.

        A quantity is a text, without a step of whole nanoseconds, bytes, or whatever the plain unit of its kind is.
        """
        step = 1 if self.step is None and self.example is not None else self.step
        if step is None:
            return value
        rounded = min(max(round(value / step) * step, self.low), self.high)
        if float(step).is_integer() and float(rounded).is_integer():
            rounded = int(rounded)
        return rounded if self.example is None else alike(rounded, self.example)

    def values(self) -> list[Any]:
        """Returns the values of a grid, each once."""
        count = self.count or 1
        return list(dict.fromkeys(self.at(index / max(count - 1, 1)) for index in range(count)))
