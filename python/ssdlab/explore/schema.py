"""JSON Schemas of the specifications of sweeps and searches, with which editors check and complete them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssdlab.declared import GROUPS, Option
from ssdlab.explore.cost import Cost
from ssdlab.explore.goal import BOUNDS, DIRECTIONS, SAMPLERS, Method
from ssdlab.explore.spec import DESIGN_KINDS, KEYS, MOST_POINTS, MOST_SEEDS, SEARCH_KEYS, SWEEP_KEYS

__all__ = ["PURPOSES", "schema"]

#: Commands whose specifications have a schema.
PURPOSES = ("sweep", "optimise")

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TABLE = {"type": "object"}
_VALUES = {"type": "array", "minItems": 1}
_SEED = {"type": "integer", "minimum": 0}


def _texts(most: int | None = None) -> dict[str, Any]:
    """Returns the schema of a text, or of a list of texts."""
    several = {"type": "array", "items": _TEXT, "minItems": 1, **({} if most is None else {"maxItems": most})}
    return {"anyOf": [_TEXT, several]}


def _table(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """Returns the schema of a table with these keys alone."""
    closed = {"type": "object", "additionalProperties": False, "properties": dict(properties)}
    return {**closed, "required": [*required]} if required else closed


def _table_of_any(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of a table whose keys are fields, with a value of one shape for each."""
    return {"type": "object", "additionalProperties": shape}


def _with_description(shape: Mapping[str, Any], about: str) -> dict[str, Any]:
    return {**shape, "description": about}


#: A number, or a quantity such as ``600us``.
_END = {"type": ["number", "string"]}
_RANGE = {
    "low": _with_description(_END, "Least value."),
    "high": _with_description(_END, "Largest value."),
    "log": _with_description({"type": "boolean"}, "Values are spaced evenly by their logarithm."),
    "step": _with_description({**_END, "exclusiveMinimum": 0}, "Values are rounded to multiples of this."),
}
_COUNT = _with_description({"type": "integer", "minimum": 2, "maximum": MOST_POINTS}, "Number of values in a grid.")
_GRID = {"anyOf": [_VALUES, _table({**_RANGE, "count": _COUNT}, "low", "high")]}
_CHOICES = {"anyOf": [_VALUES, _table({"choices": _VALUES}, "choices"), _table(_RANGE, "low", "high")]}
_SEEDS = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS},
        {"type": "array", "items": _SEED, "minItems": 1, "maxItems": MOST_SEEDS, "uniqueItems": True},
    ]
}
_DESIGN = _table(
    {
        "kind": _with_description({"enum": [*DESIGN_KINDS]}, "grid: all combinations; the others draw samples of [vary]."),
        "samples": _with_description({"type": "integer", "minimum": 1, "maximum": MOST_POINTS}, "Number of samples."),
        "seed": _with_description(_SEED, "Seed of the samples."),
    }
)
_OBJECTIVE = _table(
    {
        "key": _with_description(
            {"type": "string", "minLength": 1}, "Number of the runs by its dotted name, a measure, or cost."
        ),
        "direction": {"enum": [*DIRECTIONS], "default": "minimise"},
    },
    "key",
)
_TARGET = _table(
    {
        "key": _with_description({"type": "string", "minLength": 1}, "Number of the runs by its dotted name, or a measure."),
        "value": _with_description(_END, "Wanted value, above 0."),
        "tolerance": _with_description(_END, "Deviation that counts as 1, as a share."),
    },
    "key",
    "value",
)
#: Workloads of each trial of a search, by their names.
_LOADS = _table_of_any({"anyOf": [_TEXT, _table({"file": _TEXT, "precondition": _TEXT}, "file")]})
#: Meaning of each coefficient of a cost.
_COST = {
    "die": "Cost of each die.",
    "channel": "Cost of each channel with its controller.",
    "buffer_mib": "Cost of each MiB of write buffer.",
    "page_buffer": "Cost of each page buffer of the channel controllers.",
    "dram_mib": "Cost of each MiB of DRAM whose size the description states.",
    "core": "Cost of each core of the controller.",
    "lane": "Cost of each lane of the host's link.",
    "formula": "Expression over the fields of the description that replaces the sum of all these.",
}
#: Meaning of each setting of a search.
_METHOD = {
    "sampler": "Rule by which points are chosen. gp needs torch.",
    "trials": "Number of trials; absent: that of the command.",
    "seed": "Seed of the choice of points.",
    "pruning": "Commands of the short run after which a trial may be given up, for a single objective.",
    "comparison": "Do a random search of equal cost for comparison.",
    "population": "Size of a generation of nsga2.",
}


def _cost() -> dict[str, Any]:
    default = Cost()
    coefficients = {
        name: _with_description({"type": "number", "minimum": 0, "default": getattr(default, name)}, about)
        for name, about in _COST.items()
        if name != "formula"
    }
    return _table({**coefficients, "formula": _with_description(_TEXT, _COST["formula"])})


def _method() -> dict[str, Any]:
    default = Method()
    shapes: dict[str, dict[str, Any]] = {"sampler": {"enum": [*SAMPLERS]}, "comparison": {"type": "boolean"}}
    shapes |= {name: {"type": "integer", "minimum": low, "maximum": high} for name, (low, high) in BOUNDS.items()}
    defaults = {name: {"default": value} for name in _METHOD if (value := getattr(default, name)) != 0}
    return _table({name: _with_description({**shapes[name], **defaults.get(name, {})}, about) for name, about in _METHOD.items()})


def _option(option: Option) -> dict[str, Any]:
    """Returns the schema of an option of a run, a workload or a life."""
    shapes: dict[str, dict[str, Any]] = {
        "text": _TEXT,
        "texts": _texts(),
        "integer": {"type": "integer", "minimum": 0},
        "number": _NUMBER,
        "flag": {"type": "boolean"},
    }
    return _with_description(shapes.get(option.value, _TEXT), " ".join(option.about[0].split()))


def _options(*groups: str) -> dict[str, Any]:
    return _table({name: _option(option) for group in groups for name, option in GROUPS[group].items()})


def _keys(one: int | None) -> dict[str, dict[str, Any]]:
    """Returns the schema of each key; `one` is 1 where drive, workload, policy and state are one each."""
    parts = _texts(one)
    return {
        "title": _with_description(_TEXT, "A title."),
        "drive": _with_description(parts, "Preset, or file of a description."),
        "workload": _with_description(
            parts if one is None else {"anyOf": [*parts["anyOf"], _LOADS]},
            "Trace, fio job, or workload in TOML; of a search also a table of several, by name.",
        ),
        "policy": _with_description(parts, "Policy; absent: that of the drive."),
        "precondition": _with_description(parts, "Starting state; absent: that of the drive."),
        "seeds": _with_description(_SEEDS, "Seeds of each point, or their number."),
        "set": _with_description(_TABLE, 'Fields of all drives; "" removes one of the preset.'),
        "options": _with_description(_options("run", "workload"), "Options of all runs and workloads."),
        "vary": _with_description(_table_of_any(_GRID), "Values of each field, combined with each other: a list, or a range."),
        "zip": _with_description(
            {"type": "array", "items": _table_of_any(_VALUES)}, "Fields that change together: lists of one length."
        ),
        "points": _with_description({"type": "array", "items": _TABLE}, "Points one by one, each a table of fields."),
        "design": _with_description(_DESIGN, "Rule by which points are chosen."),
        "where": _with_description(_texts(), "Condition, or a list of them, which a point must meet."),
        "derive": _with_description(_table_of_any(_TEXT), "Fields that follow from others, as expressions."),
        "columns": _with_description(_texts(), "Further numbers of the summary, by their dotted names."),
        "until": _with_description(
            _TEXT, 'Stopping rule, such as "p99.99 within 5 %": each point gets further seeds until it holds.'
        ),
        "most_seeds": _with_description(
            {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS}, "Most seeds of a point with `until`."
        ),
        "search": _with_description(
            _table_of_any(_CHOICES), "What may be chosen for each field: a list, { choices = [..] }, or a range."
        ),
        "reference": _with_description(
            _TABLE, "What is different in further runs of each point, with which its own are compared."
        ),
        "measure": _with_description(_table_of_any(_TEXT), "Numbers that follow from others, as expressions."),
        "objective": _with_description(
            {"type": "array", "items": _OBJECTIVE, "minItems": 1}, "Numbers that are made small, or large."
        ),
        "target": _with_description(
            {"type": "array", "items": _TARGET, "minItems": 1},
            "Values that numbers are to have; their distance is the number `misfit`, the objective unless others are given.",
        ),
        "constraint": _with_description(_texts(), "Comparison, or a list of them, that the drives of the front meet."),
        "optimise": _with_description(_method(), "Settings of the search."),
        "cost": _with_description(_cost(), "Coefficients of the cost of an architecture. The unit is one die."),
        "lifetime": _with_description(_options("life"), "Options of the lifetimes, where a number of them is kept."),
    }


def schema(purpose: str) -> dict[str, Any]:
    """Returns the JSON Schema (draft 7) of the specification of a ``sweep``, or of a search (``optimise``).

    Whatever it rejects, the command rejects. Names and values of the drive's fields are checked by the command alone.
    """
    is_sweep = purpose == "sweep"
    others = SEARCH_KEYS if is_sweep else SWEEP_KEYS
    shapes = _keys(None if is_sweep else 1)
    own = {name: shapes[name] for name in KEYS if name not in others}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"ssdlab {purpose}",
        **_table(own, *(() if is_sweep else ("search",))),
        **({} if is_sweep else {"anyOf": [{"required": ["objective"]}, {"required": ["target"]}]}),
    }
