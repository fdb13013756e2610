"""Read latency against wear, over runs that differ in the wear of the drive."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.report.latency import time_ticks
from ssdlab.units import duration, significant

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Curves of each group: field of the latency, title, dash.
_CURVES = (("mean_ns", "mean", "solid"), ("p99_ns", "p99", "dash"), ("p99_9_ns", "p99.9", "dot"))


def latency(runs: Sequence[RunData]) -> go.Figure | None:
    """Returns mean and tail of the read latency, and the retries, by mean wear: curves for each group of runs.

    ``None`` if no group has runs at two levels of wear, or no run has reads that can fail.
    """
    found = groups(runs)
    if not any(run.read_errors for run in runs) or not any(len(group) > 1 for group in found):
        return None
    chart = style.panels(620, 2, 1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.62, 0.38])
    names = style.run_names([group[0] for group in found], without={"pe_cycles"})
    heights: list[float] = []
    for index, (name, group) in enumerate(zip(names, found, strict=True)):
        cycles = [_wear(run) for run in group]
        look = {"color": style.run_colour(index), "width": 1.8}
        prefix = f"{name}, " if len(found) > 1 else ""
        for field, title, dash in _CURVES:
            spans = [getattr(run.latency["read"], field) for run in group]
            if any(spans):
                heights += [span for span in spans if span]
                texts = [duration(span) for span in spans]
                _add(chart, 1, (cycles, spans, texts), prefix + title, {**look, "dash": dash})
        retries = [None if run.read_errors is None else run.read_errors.retries_per_1000 for run in group]
        if any(value is not None for value in retries):
            texts = ["–" if value is None else f"{significant(value)} per 1,000" for value in retries]
            _add(chart, 2, (cycles, retries, texts), f"{prefix}retries", look)
    if heights:
        ticks, labels = time_ticks(min(heights), max(heights))
        chart.update_yaxes(type="log", tickvals=ticks, ticktext=labels, row=1, col=1)
    chart.update_yaxes(title_text="read latency", row=1, col=1)
    chart.update_yaxes(title_text="retries per 1,000 reads", rangemode="tozero", row=2, col=1)
    chart.update_xaxes(title_text="mean program/erase cycles of the blocks", row=2, col=1)
    return chart


def groups(runs: Sequence[RunData]) -> list[list[RunData]]:
    """Returns the runs in groups that differ in nothing but the wear at the start, each in order of wear."""
    found: dict[str, list[RunData]] = {}
    for run in runs:
        drive = tomllib.loads(run.drive_toml)
        drive.get("state", {}).pop("pe_cycles", None)
        same = [run.drive, run.workload, run.policy, run.seed, run.workload_toml, drive]
        found.setdefault(json.dumps(same, sort_keys=True, default=str), []).append(run)
    return [sorted(group, key=_wear) for group in found.values()]


def _wear(run: RunData) -> float:
    return float(run.summary["wear"]["mean"])


def _add(
    chart: go.Figure,
    row: int,
    points: tuple[Sequence[float], Sequence[float | None], Sequence[str]],
    name: str,
    line: dict[str, object],
) -> None:
    """Adds a curve; `points` are its abscissas, its values and their texts."""
    cycles, values, texts = points
    chart.add_scatter(
        x=list(cycles),
        y=list(values),
        mode="lines+markers",
        line=line,
        marker={"size": 7},
        name=name,
        customdata=list(texts),
        hovertemplate="%{x:,.4~g} cycles: %{customdata}<extra>" + name + "</extra>",
        row=row,
        col=1,
    )
