"""Traffic, queue depth, slowest commands and free blocks over simulated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.report import style
from ssdlab.units import time_unit

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Largest number of steps of a run that is shown alone; a screen cannot tell more apart.
_STEPS = 1024
#: Largest number of steps in a figure of several runs, and the least that each run keeps.
_STEPS_OF_ALL, _FEWEST = 1024, 128
#: Height of a strip and of the title above it [px].
_STRIP, _TITLE = 92, 24


@dataclass(frozen=True, slots=True)
class Steps:
    """Timeline of a limited number of steps."""

    #: Start of each step [ns].
    start: np.ndarray[Any, Any]
    #: Length of each step [ns].
    length: np.ndarray[Any, Any]
    #: Sums, means or maxima of each step, by column of the table.
    columns: dict[str, np.ndarray[Any, Any]]


#: Columns that are shown, each with the function that merges several rows into one.
_MERGE: dict[str, Callable[..., Any]] = {
    "reads": np.sum,
    "writes": np.sum,
    "read_bytes": np.sum,
    "write_bytes": np.sum,
    "queue_depth": np.mean,
    "latency_max_ns": np.max,
    "free_blocks": np.max,
}


@dataclass(frozen=True, slots=True)
class _Measure:
    """Quantity that is shown over time."""

    title: str
    #: Column of the timeline; with braces, that of each operation, as a rate.
    column: str
    #: Divisor and unit of the values, from the largest of them.
    unit: Callable[[float], tuple[float, str]]

    def curves(self, timeline: Steps) -> dict[str, np.ndarray[Any, Any]]:
        """Returns the curves of a timeline: name of the operation or ``all``, and its values."""
        return _per_second(timeline, self.column) if "{}" in self.column else {"all": timeline.columns[self.column]}


def _per_second(timeline: Steps, column: str) -> dict[str, np.ndarray[Any, Any]]:
    """Returns a column of reads and one of writes as rates; those of operations that the run has."""
    names = {op: column.format(op) for op in ("read", "write") if timeline.columns[f"{op}s"].any()}
    return {op: timeline.columns[name] / (timeline.length * 1e-9) for op, name in names.items()}


def _rate(unit: str) -> Callable[[float], tuple[float, str]]:
    return lambda largest: style.divisor_and_unit(largest, unit)


_MEASURES = (
    _Measure("bandwidth", "{}_bytes", _rate("B/s")),
    _Measure("commands", "{}s", _rate("IOPS")),
    _Measure("queue depth", "queue_depth", lambda _: (1.0, "")),
    _Measure("slowest command", "latency_max_ns", lambda most: time_unit(max(most, 1))),
    _Measure("free blocks", "free_blocks", lambda _: (1.0, "")),
)


def traffic(runs: Sequence[RunData]) -> go.Figure:
    """Returns bandwidth, commands, queue depth, slowest command and free blocks, step by step.

    Every run has a strip of its own for each of them, on one scale, so that no run hides another. Events of a run are
    marked in its strips.
    """
    limit = _STEPS if len(runs) == 1 else max(_FEWEST, _STEPS_OF_ALL // len(runs))
    timelines = [steps(run, limit) for run in runs]
    if not any(len(timeline.start) for timeline in timelines):
        return style.note(style.figure(130), "nothing was measured")
    size, unit = time_unit(max(*(run.simulated_ns for run in runs), 1))
    measures = [one for one in _MEASURES if any(_has_measure(one, timeline) for timeline in timelines)]
    rows = len(measures) * len(runs)
    height = rows * (_STRIP + _TITLE) + 56
    inner = height - 56 - _TITLE
    chart = style.panels(height, rows, 1, shared_xaxes=True, vertical_spacing=_TITLE / inner)
    chart.update_layout(margin={"t": _TITLE, "b": 56, "l": 40})
    names = style.run_names(runs)
    row = 0
    for measure in measures:
        curves = [measure.curves(timeline) for timeline in timelines]
        most = max((float(np.nanmax(values, initial=0.0)) for each in curves for values in each.values()), default=0.0)
        divisor, suffix = measure.unit(most)
        for run, name, timeline, each in zip(runs, names, timelines, curves, strict=True):
            row += 1
            for op, values in each.items():
                meaning = terms.below(terms.column("timeline.parquet", measure.column.format(op)))
                _add(chart, row, (timeline.start / size, values / divisor), op, suffix, meaning)
            title = f"<b>{measure.title}</b>" + (f" · {name}" if len(runs) > 1 else "")
            _title(chart, row, title)
            marks = [(at / size, text) for at, text in events(run)]
            _mark(chart, row, marks, run.simulated_ns / size if measure is measures[0] else None)
        ends = [0, 1.06 * most / divisor or 1.0]
        for place in range(row - len(runs) + 1, row + 1):
            chart.update_yaxes(range=ends, ticksuffix=f" {suffix}".rstrip(), nticks=4, tickformat=",~f", row=place, col=1)
    chart.update_xaxes(ticksuffix=f" {unit}")
    chart.update_xaxes(title_text="simulated time", row=rows, col=1)
    return chart


def events(run: RunData) -> list[tuple[float, str]]:
    """Returns the events of a run that its timeline marks: instant [ns] and text, in order of time."""
    found: list[tuple[float, str]] = []
    failure = run.summary.get("power_failure") or {}
    if failure.get("failed_at_ns") is not None:
        found.append((float(failure["failed_at_ns"]), "power fails"))
    timeline = steps(run)
    slowest = timeline.columns["latency_max_ns"]
    if len(slowest) and np.nanmax(slowest) > 0:
        found.append((float(timeline.start[int(np.nanargmax(slowest))]), "slowest command"))
    return sorted(found)


def _has_measure(measure: _Measure, timeline: Steps) -> bool:
    """Returns True if a run has the measure: a drive without a page map has no account of its free blocks."""
    return any(len(values) and not np.isnan(values).all() for values in measure.curves(timeline).values())


def _title(chart: go.Figure, row: int, text: str) -> None:
    """Writes the title of a strip above it, where no width clips it."""
    place: dict[str, Any] = {"x": 0, "y": 1, "xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
    chart.add_annotation(text=text, showarrow=False, font={"size": 12}, row=row, col=1, **place)


def _mark(chart: go.Figure, row: int, found: Sequence[tuple[float, str]], end: float | None) -> None:
    """Marks events in a strip by lines; with the `end` of the run, their texts stand within it one below the other."""
    for place, (at, text) in enumerate(found):
        chart.add_vline(x=at, line={"color": style.INK, "width": 1, "dash": "dot"}, row=row, col=1)
        if end is None:
            continue
        side = "left" if at < end / 2 else "right"
        look: dict[str, Any] = {"bgcolor": "rgba(255,255,255,0.75)", "font": {"size": 11}, "borderpad": 1}
        where: dict[str, Any] = {"x": at, "y": 1 - 0.24 * place, "yref": "y domain", "xanchor": side, "yanchor": "top"}
        chart.add_annotation(text=text, showarrow=False, row=row, col=1, **look, **where)


def steps(run: RunData, limit: int = _STEPS) -> Steps:
    """Returns the timeline of a run, with neighbouring rows merged so that at most `limit` steps remain."""
    table = run.timeline_table()
    rows: dict[str, np.ndarray[Any, Any]] = {
        name: np.asarray(table.column(name).to_numpy(), dtype=float) for name in ("time_ns", *_MERGE)
    }
    # The state is sampled when a command completes: a row without completions has no sample.
    idle = (rows["reads"] == 0) & (rows["writes"] == 0) & (rows["free_blocks"] == 0)
    rows["free_blocks"] = np.where(idle, np.nan, rows["free_blocks"])
    start = rows.pop("time_ns")
    merge = -(-len(start) // limit)
    edges = [*range(0, len(start), max(merge, 1))]
    end = max(float(run.simulated_ns), float(start[-1]) + 1.0) if len(start) else 0.0
    if len(edges) > 1 and end - start[edges[-1]] < (start[edges[-1]] - start[edges[-2]]) / 2:
        edges.pop()  # the rate of a much shorter last step would mislead
    groups = np.split(np.arange(len(start)), edges[1:])
    columns = {name: np.array([_merged_value(name, values[group]) for group in groups]) for name, values in rows.items()}
    start = start[edges]
    return Steps(start, np.diff(start, append=end), columns)


def _merged_value(name: str, values: np.ndarray[Any, Any]) -> float:
    """Merges several rows of a column into one number; not a number if none of them is known."""
    known = values[~np.isnan(values)]
    return float(_MERGE[name](known)) if len(known) else float("nan")


def _add(
    chart: go.Figure,
    row: int,
    points: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    name: str,
    unit: str,
    meaning: str,
) -> None:
    """Adds one series of steps; `points` are their times and values, `meaning` further lines of the hover text."""
    chart.add_scatter(
        x=points[0],
        y=points[1],
        mode="lines",
        line={"color": style.OPERATIONS[name], "width": 1.2, "shape": "hv"},
        connectgaps=True,
        name=name,
        legendgroup=name,
        showlegend=row == 1,
        hovertemplate=f"%{{y:.4~g}} {unit} at %{{x}}".replace("  ", " ") + meaning,
        row=row,
        col=1,
    )
