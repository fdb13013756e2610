"""Report of a sweep: one page that works offline, whose charts and table show the same selection."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ssdlab.drawing import looks
from ssdlab.explore import statistics
from ssdlab.explore.expression import magnitude, plain_unit
from ssdlab.explore.folder import varied_columns
from ssdlab.explore.shared import TRIALS
from ssdlab.report import library
from ssdlab.units import counted, time_unit

if TYPE_CHECKING:
    from ssdlab.explore.optimise import Optimisation
    from ssdlab.explore.sweep import Sweep

__all__ = ["page", "search_page"]

#: Numbers that the page offers, where a sweep has them: column, name, and the unit by which it is divided.
_NUMBERS = (
    *(
        (f"latency.{op}.{name}_ns", f"{op} {label} latency", 1e3, "us")
        for op in ("all", "read", "write")
        for name, label in (("mean", "mean"), ("p99", "p99"), ("p99_9", "p99.9"), ("p99_99", "p99.99"))
    ),
    ("throughput.iops", "commands per second", 1e3, "k/s"),
    ("throughput.read_bytes_per_s", "read bandwidth", 1e6, "MB/s"),
    ("throughput.write_bytes_per_s", "write bandwidth", 1e6, "MB/s"),
    ("write_amplification", "write amplification", 1.0, ""),
    ("write_amplification_bytes", "write amplification by bytes", 1.0, ""),
    ("bottleneck.utilisation", "utilisation of the bottleneck", 0.01, "%"),
    ("cost", "cost", 1.0, ""),
)
#: Column that tells the front of a search from its other trials: an axis like a field, but an outcome.
_FRONT = "front"
#: Units of sizes on an axis, the largest first.
_SIZES = (("GiB", 1024.0**3), ("MiB", 1024.0**2), ("KiB", 1024.0))
#: Runs whose errors the page shows.
_ERRORS = 20


def page(done: Sweep, title: str, spec: str) -> str:
    """Returns the page of a sweep."""
    data = _data(done.table, _NUMBERS)
    seeds = len(set(done.table["seed"].to_pylist()))
    subtitle = " · ".join([counted(len(data["points"]), "point"), counted(done.table.num_rows, "run"), counted(seeds, "seed")])
    return _filled_page(
        data, title or f"sweep {done.folder.name}", subtitle, _errors(done.table, "run", "runs.parquet"), spec, "runs.parquet"
    )


def search_page(done: Optimisation) -> str:
    """Returns the page of a search: its trials, with an axis that tells the front from the others."""
    known = {entry[0] for entry in _NUMBERS}
    wanted = [one.key for one in done.spec.objectives] + [one.key for one in done.spec.targets]
    goals = [(key, key, 1.0, "") for key in wanted if key not in known]
    runs = _as_runs(done.table)
    first = [entry for key in wanted for entry in (*_NUMBERS, *goals) if entry[0] == key]
    data = _data(runs, [*first, *(entry for entry in _NUMBERS if entry not in first)])
    data["chosen"] = [one.key for one in done.spec.objectives][:2]
    subtitle = f"{counted(done.table.num_rows, 'trial')} · {len(done.front)} on the front"
    title = done.spec.title or f"search {done.folder.name}"
    return _filled_page(data, title, subtitle, _errors(runs, "trial", TRIALS), done.spec.text, TRIALS)


def _as_runs(table: pa.Table) -> pa.Table:
    """Returns the trials of a search as runs of a sweep, with the front as a field."""
    count = table.num_rows
    front = pa.array(["front" if on else "others" for on in table["is_on_front"].to_pylist()], pa.string())
    found = table.rename_columns(["index" if name == "trial" else name for name in table.column_names])
    at = found.column_names.index("precondition") + 1
    found = found.add_column(at, "seed", pa.array([0] * count, pa.int64()))
    return found.add_column(found.column_names.index("status"), _FRONT, front)


def _filled_page(data: dict[str, Any], name: str, subtitle: str, errors: str, spec: str, rows: str) -> str:
    """Returns the page with its parts."""
    own = files("ssdlab.explore").joinpath("page.css").read_text(encoding="utf-8")
    script = files("ssdlab.explore").joinpath("page.js").read_text(encoding="utf-8")
    frame = files("ssdlab.explore").joinpath("page.html").read_text(encoding="utf-8")
    # `<` would end the script element.
    embedded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "HEAD": library.head(),
        "THEME": library.THEME,
        "LIBRARY": library.tail(),
        "CSS": library.css() + own,
        "SCRIPT": script,
        "ERRORS": errors,
        "ROWS": rows,
        "LOOKS": json.dumps(looks.script()),
        "SUBTITLE": escape(subtitle),
        "DATA": embedded,
        "SPEC": escape(spec),
        "TITLE": escape(name),
    }
    # In one pass: what users wrote is not searched for names of parts.
    return library.secured_page(re.sub(r"@@(\w+)@@", lambda found: parts[found[1]], frame))


def _data(table: pa.Table, numbers: Sequence[tuple[str, str, float, str]]) -> dict[str, Any]:
    """Returns what the page shows: fields, numbers, and each point with the intervals of its numbers."""
    varied = varied_columns(table)
    offered = [entry for entry in numbers if entry[0] in table.column_names and table[entry[0]].null_count < table.num_rows]
    points: dict[tuple[Any, ...], dict[str, Any]] = {}
    for column, _, unit, _ in offered:
        for point, found in statistics.estimates(table, varied, column):
            values = tuple(point.values())
            entry = points.setdefault(values, {"fields": [*values], "numbers": {}})
            bounds = [None if bound is None else _rounded(bound / unit) for bound in (found.low, found.high)]
            entry["numbers"][column] = [_rounded(found.mean / unit), *bounds, found.count]
    fields = []
    for at, name in enumerate(varied):
        kind, divisor = _unit_of([point["fields"][at] for point in points.values()])
        if kind:
            name = f"{name} [{kind}]"
            for point in points.values():
                point["fields"][at] = _rounded((magnitude(point["fields"][at]) or 0.0) / divisor)
        levels = [*dict.fromkeys(point["fields"][at] for point in points.values())]
        is_number = all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)
        ordered = sorted(levels) if is_number else levels
        fields.append({"name": name, "number": is_number, "values": ordered, "outcome": name == _FRONT})
    return {
        "fields": fields,
        "numbers": [{"column": column, "name": name, "unit": unit} for column, name, _, unit in offered],
        "points": [*points.values()],
    }


def _unit_of(values: Sequence[Any]) -> tuple[str, float]:
    """Returns the unit in which quantities are drawn, and its size; an empty one if the values are not of one kind."""
    kinds = {plain_unit(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    if not kind:
        return "", 1.0
    largest = max(magnitude(value) or 0.0 for value in values)
    if kind == "ns":
        each, name = time_unit(largest)
        return name, each
    if kind == "B":
        return next((one for one in _SIZES if largest >= 2 * one[1]), ("B", 1.0))
    return kind, magnitude(f"1{kind}") or 1.0


def _rounded(number: float) -> float:
    """Returns a number with six digits: the page shows no more."""
    return float(f"{number:.6g}")


def _errors(table: pa.Table, what: str, rows: str) -> str:
    """Returns a section with the runs, or trials, that failed; nothing if none did."""
    failed = [row for row in table.select(["index", "status", "error"]).to_pylist() if row["status"] == "failed"]
    if not failed:
        return ""
    lines = "".join(
        f"<tr><th scope='row'>{row['index']}</th><td class='error'>{escape(row['error'] or '')}</td></tr>"
        for row in failed[:_ERRORS]
    )
    more = len(failed) - _ERRORS
    rest = f"<p class='caption'>{more} more are in {rows}.</p>" if more > 0 else ""
    head = f"<thead><tr><th scope='col'>{what}</th><th scope='col' class='error'>error</th></tr></thead>"
    shown = f"<table>{head}<tbody>{lines}</tbody></table>"
    return f"<section><h2>{what.capitalize()}s that failed: {len(failed)}</h2>{shown}{rest}</section>"
