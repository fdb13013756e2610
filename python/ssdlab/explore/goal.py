"""Goals of a search: its objectives, its constraints, and how it is done."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ssdlab.errors import InputError, closest
from ssdlab.explore.expression import Expression, Names, magnitude

__all__ = ["MISFIT", "Constraint", "Method", "Objective", "Target"]

#: Error at a key of a specification.
Complaint = Callable[[str, str], InputError]

DIRECTIONS = ("minimise", "maximise")
#: Deviation from a target that counts as 1, where none is given [A].
_TOLERANCE = 0.05
#: Number of a trial that says how far its numbers are from the targets.
MISFIT = "misfit"
SAMPLERS = ("tpe", "nsga2", "gp", "random")
_SIGN = re.compile(r"<=|>=|==|!=|<|>")
#: Most trials, so that a misplaced number does not make millions of them.
MOST_TRIALS = 1_000_000
#: Least and largest value of each number of ``[optimise]``.
BOUNDS = {"trials": (1, MOST_TRIALS), "seed": (0, 2**32 - 1), "pruning": (1, 2**63 - 1), "population": (2, 10_000)}


@dataclass(frozen=True, slots=True)
class Objective:
    """A number that a search makes as small, or as large, as it can.

    Examples:
        >>> from ssdlab.explore.goal import Objective
        >>> Objective("throughput.iops", is_maximised=True).loss(2000.0)
        -2000.0
    """

    #: Dotted name of a number of the runs, or ``cost``.
    key: str
    is_maximised: bool = False

    @property
    def direction(self) -> str:
        """Direction, as a specification has it."""
        return "maximise" if self.is_maximised else "minimise"

    def loss(self, value: float) -> float:
        """Returns a number that is smaller for a better value."""
        return -value if self.is_maximised else value

    @classmethod
    def read(cls, table: Mapping[str, Any], number: int, short: Mapping[str, str], error: Complaint) -> Objective:
        """Returns the objective that a table ``[[objective]]`` describes.

        Args:
            table: The table.
            number: Its place among the tables, from 0.
            short: Short names of numbers.
            error: Makes an error at a key of the specification.

        Raises:
            InputError: the table has an unknown key, no `key`, or another direction.
        """
        at = f"objective#{number}"
        for name in table:
            if name not in ("key", "direction"):
                raise error(f"{at}/{name}", "unknown key: expected key, direction")
        key, direction = table.get("key"), table.get("direction", "minimise")
        if not isinstance(key, str) or not key:
            raise error(
                f"{at}/key", f'{"missing" if key is None else repr(key)}: expected a name, such as "latency.all.p99_99_ns"'
            )
        if direction not in DIRECTIONS:
            raise error(f"{at}/direction", f"{direction!r}: expected minimise or maximise")
        return cls(short.get(key, key), direction == "maximise")


@dataclass(frozen=True, slots=True)
class Target:
    """A value that a number of the runs is to have.

    Examples:
        >>> from ssdlab.explore.goal import Target
        >>> Target("throughput.iops", 1000.0, tolerance=0.1).distance(1210.0)
        2.0
    """

    #: Dotted name of the number.
    key: str
    #: Wanted value, above 0 [the unit of the number].
    value: float
    #: Deviation that counts as 1, as a share.
    tolerance: float = _TOLERANCE

    def distance(self, value: float) -> float:
        """Returns how far a value above 0 is from the wanted one, on a logarithmic scale, in tolerances."""
        return math.log(value / self.value) / math.log1p(self.tolerance)

    @classmethod
    def read(cls, table: Mapping[str, Any], number: int, short: Mapping[str, str], error: Complaint) -> Target:
        """Returns the target that a table ``[[target]]`` describes; the arguments are those of :meth:`Objective.read`.

        Raises:
            InputError: the table has an unknown key, or lacks `key` or `value`, or a value is not above 0.
        """
        at = f"target#{number}"
        for name in table:
            if name not in ("key", "value", "tolerance"):
                raise error(f"{at}/{name}", "unknown key: expected key, value, tolerance")
        key, value, tolerance = table.get("key"), table.get("value"), table.get("tolerance", _TOLERANCE)
        if not isinstance(key, str) or not key:
            what = "missing" if key is None else repr(key)
            raise error(f"{at}/key", f'{what}: expected a name, such as "latency.read.p99_ns"')
        wanted, share = magnitude(value), magnitude(tolerance)
        if wanted is None or not 0 < wanted < math.inf:
            what = "missing" if value is None else repr(value)
            raise error(f"{at}/value", f'{what}: expected a number above 0, or a quantity such as "71us"')
        if share is None or not 0 < share < math.inf:
            raise error(f"{at}/tolerance", f'{tolerance!r}: expected a share above 0, such as 0.05 or "5%"')
        return cls(short.get(key, key), wanted, share)


def misfit(targets: Sequence[Target], values: Sequence[float]) -> float:
    """Returns the root mean square of the distances of values above 0 from their targets, in tolerances."""
    distances = [target.distance(value) for target, value in zip(targets, values, strict=True)]
    return math.sqrt(sum(distance**2 for distance in distances) / len(distances))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A comparison that the drives of a front meet.

    Examples:
        >>> from ssdlab.explore.goal import Constraint
        >>> enough = Constraint.parse("throughput.write_bytes_per_s >= 250MB/s")
        >>> enough.violation({"throughput.write_bytes_per_s": 200e6})
        0.2
        >>> enough.violation({"throughput.write_bytes_per_s": 300e6})
        0.0
    """

    text: str
    #: Side that is to be the smaller one, and the other.
    less: Expression
    more: Expression
    #: True if the sides must not be equal.
    is_strict: bool

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Returns the constraint of a text with one of ``<``, ``<=``, ``>`` and ``>=``.

        Raises:
            InputError: it is none.
        """
        sides = _SIGN.split(text)
        sign = next(iter(_SIGN.findall(text)), "")
        whole = Expression.parse(text)
        if len(sides) != 2 or sign in ("==", "!="):
            raise InputError(f"`{text}`: expected one comparison by <, <=, > or >=; several constraints are a list")
        try:
            left, right = (Expression.parse(side) for side in sides)
        except InputError:
            raise InputError(f"`{whole.text}`: expected a comparison, with nothing around it") from None
        less, more = (left, right) if sign.startswith("<") else (right, left)
        return cls(text, less, more, len(sign) == 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the numbers and fields in it."""
        return (*self.less.names, *self.more.names)

    def violation(self, names: Mapping[str, object] | Names) -> float:
        """Returns by how much the constraint is violated, as a share of the larger side; 0 if it is met.

        Raises:
            InputError: a side is no number.
        """
        less, more = self.less.value(names), self.more.value(names)
        for side in (less, more):
            if isinstance(side, bool) or not isinstance(side, int | float):
                raise InputError(f"`{self.text}`: expected numbers on both sides, not {side!r}")
        if less < more or (less == more and not self.is_strict):
            return 0.0
        share: float = (less - more) / max(abs(less), abs(more), 1e-300)
        return max(share, 1e-12)


@dataclass(frozen=True, slots=True)
class Method:
    """Settings of a search: the table ``[optimise]``.

    Examples:
        >>> from ssdlab.explore.goal import Method
        >>> Method(trials=100).sampler
        'tpe'
    """

    #: Rule by which points are chosen: ``tpe``, ``nsga2``, ``gp`` or ``random``.
    sampler: str = "tpe"
    #: Number of trials; 0: that of the call.
    trials: int = 0
    #: Seed of the choice of points.
    seed: int = 1
    #: Commands of the short run after which a trial may be given up; 0: none is.
    pruning: int = 0
    #: True: a random search of equal cost is done for comparison.
    comparison: bool = True
    #: Size of a generation of NSGA-II.
    population: int = 50

    @classmethod
    def read(cls, table: Mapping[str, Any], objectives: Sequence[Objective], error: Complaint) -> Method:
        """Returns the settings that the table ``[optimise]`` describes.

        Raises:
            InputError: it has an unknown key or a bad value, or its settings do not go together.
        """
        known = [field.name for field in fields(cls)]
        for name in table:
            if name not in known:
                near = closest(name, known)
                hint = f" (did you mean `{near}`?)" if near else ""
                raise error(f"optimise/{name}", f"unknown key: expected one of {', '.join(known)}{hint}")
        found = cls(**table)
        if found.sampler not in SAMPLERS:
            raise error("optimise/sampler", f"{found.sampler!r}: expected one of {', '.join(SAMPLERS)}")
        if type(found.comparison) is not bool:
            raise error("optimise/comparison", f"{found.comparison!r}: expected true or false")
        for name, (low, high) in BOUNDS.items():
            value = getattr(found, name)
            if name in table and (type(value) is not int or not low <= value <= high):
                raise error(f"optimise/{name}", f"{value!r}: expected a whole number, {low} to {high}")
        if found.pruning and len(objectives) > 1:
            raise error("optimise/pruning", f"applies to a single objective, and there are {len(objectives)}")
        if "population" in table and found.sampler != "nsga2":
            raise error("optimise/population", f'applies to sampler = "nsga2", not "{found.sampler}"')
        return found
