"""Choices of a search: the point that the parameters of a trial stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ssdlab import toml
from ssdlab.explore.design import Point
from ssdlab.explore.ranges import Range
from ssdlab.explore.spec import PARTS, Spec

__all__ = ["first_point", "is_ordered", "labels", "point_of"]


def labels(values: Sequence[Any]) -> dict[Any, Any]:
    """Returns the choices as Optuna takes them, each with its value."""
    if is_ordered(values):
        return dict(enumerate(values))
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        return {value: value for value in values}
    return {toml.value(value): value for value in values}


def is_ordered(values: Sequence[Any]) -> bool:
    """Returns True for rising numbers: their places are chosen, so that the sampler knows which are neighbours."""
    if len(values) < 3 or not {type(value) for value in values} <= {int, float}:
        return False
    return all(one < other for one, other in pairwise(values))


def point_of(spec: Spec, params: Mapping[str, Any]) -> Point:
    """Returns the point of a trial, before its derived fields."""
    fields: dict[str, Any] = {}
    for name, values in spec.search.items():
        chosen = params[name]
        fields[name] = values.rounded(chosen) if isinstance(values, Range) else labels(values)[chosen]
    given = {"drive": spec.drives, "workload": spec.workloads, "policy": spec.policies, "precondition": spec.preconditions}
    parts: dict[str, Any] = {name: fields.pop(name) if name in fields else next(iter(given[name]), None) for name in PARTS}
    return Point(**parts, fields=fields)


def _least(values: Sequence[Any] | Range) -> Any:
    return values.low if isinstance(values, Range) else next(iter(labels(values)))


def first_point(spec: Spec) -> Point:
    """Returns the point with the first choice, or the least value, of each field."""
    first = {name: _least(values) for name, values in spec.search.items()}
    return point_of(spec, first)
