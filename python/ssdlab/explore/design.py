"""The points of a design, in their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.declared import GROUPS, Option
from ssdlab.errors import InputError, unknown_name
from ssdlab.explore.ranges import Range
from ssdlab.explore.spec import MOST_POINTS, MOST_RUNS, Spec

__all__ = ["Point", "check_options", "check_values", "combinations", "fields_by_part", "points"]

#: Types of the values of an option in a specification, by its kind, and their name in a message.
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text"),
    "texts": ((str, list), "a text, or a list of texts"),
    "integer": ((int,), "a whole number of at least 0"),
    "number": ((int, float), "a number"),
    "flag": ((bool,), "true or false"),
    "input": ((str,), "the name of a file"),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a design, without its seed.

    Examples:
        >>> from ssdlab.explore import design
        >>> spec = ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio", "vary": {"flash.channels": [1, 2]}})
        >>> [point.fields for point in design.points(spec)]
        [{'flash.channels': 1}, {'flash.channels': 2}]
    """

    drive: str
    workload: str
    #: Policy; ``None``: that of the drive.
    policy: str | None
    #: Starting state; ``None``: that of the drive.
    precondition: str | None
    #: Varied fields with their values, in the order of the specification.
    fields: Mapping[str, Any]


def varied_names(spec: Spec) -> list[str]:
    """Returns the names of the varied fields, the columns of the results, in the order of the specification.

    Drive, workload, policy and starting state have columns of their own. Derived fields come last.
    """
    names = [*spec.vary, *spec.search, *(name for zipped in spec.zips for name in zipped)]
    names += [name for point in spec.points for name in point]
    return [name for name in dict.fromkeys([*names, *spec.derive]) if name not in ("drive", "workload", "policy", "precondition")]


def points(spec: Spec) -> Iterator[Point]:
    """Yields the points of a specification before its conditions and derived fields, in the order of the design.

    Raises:
        InputError: there are too many points or runs; the samples of a design need scipy, which is not installed.
    """
    parts = {
        name: values
        for name, values in (
            ("drive", spec.drives),
            ("workload", spec.workloads),
            ("policy", spec.policies),
            ("precondition", spec.preconditions),
        )
        if values
    }
    axes: list[list[dict[str, Any]]] = [[{name: value} for value in values] for name, values in parts.items()]
    axes += [[dict(zip(zipped, row, strict=True)) for row in zip(*zipped.values(), strict=True)] for zipped in spec.zips]
    if spec.design.kind == "grid":
        for name, values in spec.vary.items():
            listed = values.values() if isinstance(values, Range) else values
            axes.append([{name: value} for value in listed])
    else:
        axes.append(_samples(spec))
    if spec.points:
        axes.append([dict(point) for point in spec.points])
    if (count := math.prod(map(len, axes))) > MOST_POINTS:
        raise spec.error("vary", f"{count} points: expected at most {MOST_POINTS}")
    if (runs := count * len(spec.seeds)) > MOST_RUNS:
        raise spec.error("seeds", f"{count} points with {len(spec.seeds)} seeds are {runs} runs: expected at most {MOST_RUNS}")
    for fields in combinations(axes):
        yield Point(
            fields.pop("drive"), fields.pop("workload"), fields.pop("policy", None), fields.pop("precondition", None), fields
        )


def combinations(axes: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yields the fields of every combination of one entry of each axis, the last axis changing fastest.

    Examples:
        >>> from ssdlab.explore import design
        >>> [*design.combinations([[{"a": 1}, {"a": 2}], [{"b": 3}]])]
        [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    for combination in itertools.product(*axes):
        fields: dict[str, Any] = {}
        for part in combination:
            fields |= part
        yield fields


def fields_by_part(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns the fields of the drive, of the workload (``workload.FIELD``) and the options (``options.NAME``).

    Examples:
        >>> from ssdlab.explore import design
        >>> design.fields_by_part({"flash.channels": 4, "workload.iodepth": 8, "options.stop_after": 100})
        ({'flash.channels': 4}, {'iodepth': 8}, {'stop_after': 100})
    """
    named = {"workload": dict[str, Any](), "options": dict[str, Any]()}
    own = {}
    for name, value in fields.items():
        kind, _, field = name.partition(".")
        if kind in named:
            named[kind][field] = value
        else:
            own[name] = value
    return own, named["workload"], named["options"]


def check_options(names: Iterable[str], refusal: Callable[[str, str], InputError]) -> None:
    """Checks that a run or its workload has options of these names.

    Args:
        names: Names of the options.
        refusal: Makes the error from a name and a complaint.

    Raises:
        InputError: it has none of a name.
    """
    known = {**GROUPS["run"], **GROUPS["workload"]}
    for name in names:
        if name not in known:
            raise refusal(name, str(unknown_name("option", name, [*known])))


def check_values(given: Mapping[str, Any], options: Mapping[str, Option], refusal: Callable[[str, str], InputError]) -> None:
    """Checks that the values of options have their types.

    Args:
        given: Values by name.
        options: The options by name.
        refusal: Makes the error from a name and a complaint.

    Raises:
        InputError: a value has another type.
    """
    for name, value in given.items():
        types, expected = _KINDS[options[name].value]
        fits = isinstance(value, types) and (isinstance(value, bool) == (bool in types))
        fits = fits and not (isinstance(value, list) and not all(isinstance(one, str) for one in value))
        if not fits or (options[name].value == "integer" and value < 0):
            raise refusal(name, f"{value!r}: expected {expected}")


def _samples(spec: Spec) -> list[dict[str, Any]]:
    """Returns the samples of the varied fields."""
    names = list(spec.vary)
    if not names:
        raise spec.error("vary", f"missing: a design of {spec.design.kind} samples needs fields to vary")
    rows = _shares(spec, len(names))
    return [{name: _at(spec.vary[name], share) for name, share in zip(names, row, strict=True)} for row in rows]


def _shares(spec: Spec, width: int) -> list[list[float]]:
    """Returns rows of `width` numbers from 0 to 1, one for each sample."""
    # Start-up: only a sampled design needs it.
    import numpy as np

    kind, count, seed = spec.design.kind, spec.design.samples, spec.design.seed
    if kind == "random":
        drawn: list[list[float]] = np.random.default_rng(seed).random((count, width)).tolist()
        return drawn
    try:
        # It may be missing.
        from scipy.stats import qmc
    except ImportError:
        raise spec.error("design/kind", f"{kind}: needs scipy: pip install 'ssdlab[search]'") from None
    if kind == "latin_hypercube":
        placed: list[list[float]] = qmc.LatinHypercube(d=width, rng=seed).random(count).tolist()
        return placed
    # A Sobol sequence is balanced at powers of two only; a part of the next longer one is taken.
    sobol: list[list[float]] = qmc.Sobol(d=width, rng=seed).random_base2(max(count - 1, 0).bit_length())[:count].tolist()
    return sobol


def _at(values: Sequence[Any] | Range, share: float) -> Any:
    """Returns the value at a share of the range, or of the list."""
    if isinstance(values, Range):
        return values.at(share)
    return values[min(int(share * len(values)), len(values) - 1)]


def check_not_empty(spec: Spec, count: int, before: int) -> None:
    """Checks that a design has points.

    Raises:
        InputError: it has none.
    """
    if count == 0 and before > 0:
        conditions = " and ".join(f"`{where.text}`" for where in spec.where)
        raise spec.error("where", f"none of the {before} points meets {conditions}")
    if count == 0:
        raise InputError(f"{spec.name}: the design has no points")
