"""Traffic, queue depth, slowest commands and free blocks over simulated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.units import time_unit

if TYPE_CHECKING:
    from ssdlab.results import Result

#: Largest number of steps that a figure shows; a screen cannot tell more apart.
_STEPS = 1024


@dataclass(frozen=True, slots=True)
class Steps:
    """Timeline of at most :data:`_STEPS` steps."""

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


def traffic(runs: Sequence[Result]) -> go.Figure:
    """Returns bandwidth, commands, queue depth, slowest command and free blocks, step by step."""
    timelines = [steps(run) for run in runs]
    if not any(len(timeline.start) for timeline in timelines):
        return style.note(style.figure(130), "nothing was measured")
    longest = max(run.simulated_ns for run in runs)
    size, unit = time_unit(max(longest, 1))
    slowest = max(float(timeline.columns["latency_max_ns"].max(initial=0)) for timeline in timelines)
    slow_size, slow_unit = time_unit(max(slowest, 1))
    titles = ["bandwidth (B/s)", "commands/s", "queue depth", f"slowest ({slow_unit})"]
    # A drive without a page map has no account of its free blocks.
    has_blocks = not all(np.isnan(timeline.columns["free_blocks"]).all() for timeline in timelines)
    titles += ["free blocks"] * has_blocks
    chart = style.panels(90 + 135 * len(titles), len(titles), 1, shared_xaxes=True, vertical_spacing=0.03)
    chart.update_layout(hovermode="x unified", margin_t=40)
    names = style.run_names(runs)
    single = len(runs) == 1
    both = all(any(timeline.columns[f"{op}s"].any() for timeline in timelines) for op in ("read", "write"))
    for index, timeline in enumerate(timelines):
        seconds = timeline.length * 1e-9
        colour = style.OPERATIONS["all"] if single else style.run_colour(index)
        for op, dash in (("read", "solid"), ("write", "dot" if both and not single else "solid")):
            name = op if single else f"{names[index]}, {op}"
            line = {"color": style.OPERATIONS[op] if single else colour, "width": 1.3, "dash": dash}
            moved, done = timeline.columns[f"{op}_bytes"], timeline.columns[f"{op}s"]
            if done.any():
                _add(chart, 1, timeline.start / size, moved / seconds, name, line)
                _add(chart, 2, timeline.start / size, done / seconds, name, line)
        levels = [timeline.columns["queue_depth"], timeline.columns["latency_max_ns"] / slow_size]
        levels += [timeline.columns["free_blocks"]] * has_blocks
        for row, values in enumerate(levels, 3):
            line = {"color": colour, "width": 1.3}
            _add(
                chart,
                row,
                timeline.start / size,
                values,
                "all" if single else names[index],
                line,
                legend=False,
            )
    for row, title in enumerate(titles, 1):
        chart.update_yaxes(title_text=title, rangemode="tozero", tickformat="~s", row=row, col=1)
    chart.update_xaxes(title_text=f"simulated time ({unit})", row=len(titles), col=1)
    return chart


def steps(run: Result) -> Steps:
    """Returns the timeline of a run, with neighbouring rows merged so that at most :data:`_STEPS` steps remain."""
    table = run.timeline_table()
    rows: dict[str, np.ndarray[Any, Any]] = {
        name: np.asarray(table.column(name).to_numpy(), dtype=float) for name in ("time_ns", *_MERGE)
    }
    # The state is sampled when a command completes: a row without completions has no sample.
    idle = (rows["reads"] == 0) & (rows["writes"] == 0) & (rows["free_blocks"] == 0)
    rows["free_blocks"] = np.where(idle, np.nan, rows["free_blocks"])
    start = rows.pop("time_ns")
    merge = -(-len(start) // _STEPS)
    edges = [*range(0, len(start), max(merge, 1))]
    end = max(float(run.simulated_ns), float(start[-1]) + 1.0) if len(start) else 0.0
    if len(edges) > 1 and end - start[edges[-1]] < (start[edges[-1]] - start[edges[-2]]) / 2:
        edges.pop()  # the rate of a much shorter last step would mislead
    groups = np.split(np.arange(len(start)), edges[1:])
    columns = {name: np.array([_merged(name, values[group]) for group in groups]) for name, values in rows.items()}
    start = start[edges]
    return Steps(start, np.diff(start, append=end), columns)


def _merged(name: str, values: np.ndarray[Any, Any]) -> float:
    """Merges several rows of a column into one number; not a number if none of them is known."""
    known = values[~np.isnan(values)]
    return float(_MERGE[name](known)) if len(known) else float("nan")


def _add(
    chart: go.Figure,
    row: int,
    times: np.ndarray[Any, Any],
    values: np.ndarray[Any, Any],
    name: str,
    line: dict[str, object],
    *,
    legend: bool = True,
) -> None:
    """Adds one series of steps."""
    chart.add_scatter(
        x=times,
        y=values,
        mode="lines",
        line={**line, "shape": "hv"},
        connectgaps=True,
        name=name,
        legendgroup=name,
        showlegend=legend and row == 1,
        hovertemplate="%{y:.4~s}",
        row=row,
        col=1,
    )
