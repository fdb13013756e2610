"""Rows of a sweep: their columns, known before the first run, and what a run puts into them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from ssdlab import terms, toml
from ssdlab.errors import closest
from ssdlab.explore import design
from ssdlab.explore.design import Point
from ssdlab.explore.names import looked_up
from ssdlab.explore.spec import STREAMS, Spec
from ssdlab.explore.tasks import Task, engine_hash
from ssdlab.results import flat

__all__ = ["cell", "numbers", "row", "schema", "type_of"]

_STATISTICS = ("count", "mean_ns", "stddev_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns")
#: Numbers that a search keeps of each of several workloads.
_OF_EACH_LOAD = (
    *(f"latency.{op}.{name}_ns" for op in ("read", "write") for name in ("mean", "p50", "p99", "p99_9")),
    "throughput.iops",
    "throughput.read_bytes_per_s",
    "throughput.write_bytes_per_s",
    "write_amplification",
)
#: Texts of the summary that every sweep keeps.
TEXTS = ("bottleneck.resource", "bottleneck.next")

_BEFORE: dict[str, pa.DataType] = {
    "index": pa.int64(),
    "drive": pa.string(),
    "workload": pa.string(),
    "policy": pa.string(),
    "precondition": pa.string(),
    "seed": pa.int64(),
}
_AFTER: dict[str, pa.DataType] = {
    "status": pa.string(),
    "error": pa.string(),
    "id": pa.string(),
    "key": pa.string(),
    "drive_hash": pa.string(),
    "workload_hash": pa.string(),
    "engine": pa.string(),
    "wall_s": pa.float64(),
    "setup_s": pa.float64(),
    "cost": pa.float64(),
}


@cache
def kept_always() -> tuple[str, ...]:
    """Returns the dotted names of the numbers of the summary that every sweep keeps; null where a run has none."""
    return (
        "simulated_ns",
        *(f"commands.{op}" for op in ("read", "write", "trim", "flush")),
        *(f"latency.{op}.{name}" for op in ("all", "read", "write") for name in _STATISTICS),
        *(f"throughput.{name}" for name in ("iops", "read_bytes_per_s", "write_bytes_per_s", "most_in_flight")),
        *(f"causes.{op}.{cause}" for op in ("all", "read", "write") for cause in terms.causes()),
        *(f"flash.{what}.{reason}" for what in ("reads", "programs") for reason in terms.reasons()),
        *(f"flash.operations.{kind}" for kind in ("read", "program", "erase", "copyback")),
        "flash.suspensions",
        "host_units_written",
        "write_amplification",
        "write_amplification_bytes",
        "free_blocks.mean",
        "collections",
        "wear.mean",
        "wear.max",
        "wear.stddev",
        "effective_wear.mean",
        "effective_wear.max",
        *(
            f"utilisation.{name}"
            for name in ("channels", "dies", "dies_writing", "decoders", "link", "link_to_device", "link_to_host", "dram")
        ),
        "bottleneck.utilisation",
        "bottleneck.next_utilisation",
        "map_cache.hit_ratio",
        "read_errors.media_errors",
        *(f"reliability.{name}" for name in ("retries", "uncorrectable", "uber", "deadline_misses")),
        "energy.total_j",
        "energy.per_host_byte_j",
        "shutdown_ns",
    )


def columns(spec: Spec) -> tuple[str, ...]:
    """Returns the names of the numbers that are kept of each run of a specification."""
    named = [spec.load_and_number(name)[1] for name in spec.columns]
    return tuple(dict.fromkeys([*kept_always(), *named, *spec.stream_numbers, *spec.lifetime_numbers]))


def columns_of_loads(spec: Spec) -> dict[str, tuple[str, str]]:
    """Returns the columns of the trials of a search, each with the load that it belongs to and its number.

    Of one workload, the columns are the numbers of its runs, and the load has no name. Of several, each has a few
    numbers, and those that the specification names.
    """
    if not spec.loads:
        return {name: ("", name) for name in columns(spec)}
    runs = columns(spec)
    of_all = [name for name in (*_OF_EACH_LOAD, *spec.columns) if spec.load_and_number(name)[0] == ""]
    found = {f"{load.name}.{number}": (load.name, number) for load in spec.loads for number in of_all}
    for name in spec.named_numbers:
        load, number = spec.load_and_number(name)
        if load and number in runs:
            found[name] = (load, number)
    return found


def outcome_columns(spec: Spec) -> tuple[str, ...]:
    """Returns the names of the columns that come from a run, not from its point."""
    return ("status", "error", "wall_s", "setup_s", *TEXTS, *columns(spec))


def schema(spec: Spec, points: Iterable[Point]) -> pa.Schema:
    """Returns the columns of the rows of a specification with these points."""
    values: dict[str, list[Any]] = {name: [] for name in design.varied_names(spec)}
    for point in points:
        for name, value in point.fields.items():
            values[name].append(value)
    fields: dict[str, pa.DataType] = {**_BEFORE, **{name: type_of(given) for name, given in values.items()}, **_AFTER}
    fields |= dict.fromkeys(TEXTS, pa.string())
    fields |= {name: pa.float64() for name in columns(spec) if name not in fields}
    return pa.schema(fields)


def type_of(values: Sequence[Any]) -> pa.DataType:
    """Returns the type of a column with these values."""
    kinds = {type(value) for value in values}
    if kinds <= {bool} and kinds:
        return pa.bool_()
    if kinds <= {int} and kinds:
        return pa.int64()
    if kinds <= {int, float}:
        return pa.float64()
    return pa.string()


def row(task: Task, outcome: Mapping[str, Any], whole: pa.Schema) -> dict[str, Any]:
    """Returns the row of a run: its point, and what a worker says of it."""
    point = task.point
    found: dict[str, Any] = {
        "index": task.index,
        "drive": point.drive,
        "workload": point.workload,
        "policy": point.policy,
        "precondition": point.precondition,
        "seed": task.seed,
        "id": task.id,
        "key": task.key,
        "drive_hash": task.drive_hash,
        "workload_hash": task.workload_hash,
        "engine": engine_hash(),
        "cost": task.cost,
        **{name: cell(value, whole.field(name).type) for name, value in point.fields.items()},
    }
    for name in whole.names:
        found.setdefault(name, outcome.get(name))
    return found


def cell(value: Any, kind: pa.DataType) -> Any:
    """Returns a value as its column takes it."""
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else toml.value(value)
    return float(value) if pa.types.is_floating(kind) else value


def numbers(summary: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Returns the numbers of a summary under these dotted names, and its texts.

    ``near`` has the names that the summary lacks, each with the name in it that was probably meant.
    """
    found = dict(flat(summary, ""))
    found |= {name: _of_stream(summary, name) for name in names if name.startswith(STREAMS)}
    kept: dict[str, Any] = {}
    for name in names:
        value = found.get(name)
        kept[name] = float(value) if isinstance(value, int | float) else None
    kept |= {name: found.get(name) for name in TEXTS}
    known = tuple(found)
    kept["near"] = {name: _name_meant(name, known) for name in names if name not in found and name not in kept_always()}
    return kept


def _of_stream(summary: Mapping[str, Any], name: str) -> Any:
    """Returns the number of a stream; ``None`` if the run has no such stream."""
    try:
        return looked_up(summary, name)
    except KeyError:
        return None


@cache
def _name_meant(name: str, known: tuple[str, ...]) -> str | None:
    """Returns the name that was probably meant. The summaries of a sweep have few different sets of names."""
    return closest(name, list(known))
