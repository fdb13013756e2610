"""Power over time, and energy by part of the drive, operation and reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.report import content, style
from ssdlab.run_names import run_names
from ssdlab.units import physical, time_unit

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Largest number of steps of a curve.
_STEPS = 600
#: Rows of the table of energy and power: title, key of ``summary["energy"]``, unit.
_ROWS = (
    ("energy", "total_j", "J"),
    ("flash", "flash_j", "J"),
    ("memory", "dram_j", "J"),
    ("encoders and decoders", "ecc_j", "J"),
    ("cores", "core_j", "J"),
    ("interconnect", "interconnect_j", "J"),
    ("host link", "link_j", "J"),
    ("rest", "static_j", "J"),
    ("dies at rest", "idle_j", "J"),
    ("all parts: mean power", "mean_w", "W"),
    ("flash: mean power", "flash_mean_w", "W"),
    ("flash: median power of a window", "p50_w", "W"),
    ("flash: 99.9 % of the windows", "p99_9_w", "W"),
    ("flash: peak power of a window", "flash_peak_w", "W"),
    ("for each byte of the host", "per_host_byte_j", "J"),
    ("flash, for each read command", "read_command_j", "J"),
    ("flash, for each write command", "write_command_j", "J"),
    ("flash, for each 4 KiB written", "written_4k_j", "J"),
    ("flash at rest and not, for each unit written", "written_unit_j", "J"),
)
#: Names and colours of the parts of a drive in the figure, by their names in ``energy.parts``.
_PARTS = {
    "flash": ("flash", looks.DISTINCT["blue"]),
    "dram": ("memory", looks.DISTINCT["orange"]),
    "ecc": ("encoders and decoders", looks.DISTINCT["purple"]),
    "core": ("cores", looks.DISTINCT["green"]),
    "interconnect": ("interconnect", looks.DISTINCT["sky"]),
    "link": ("host link", looks.DISTINCT["red"]),
    "static": ("rest", looks.DISTINCT["rest"]),
}


def is_known(runs: Sequence[RunData]) -> bool:
    """Returns True if the power of any run was computed."""
    return any(run.summary["energy"]["total_j"] is not None for run in runs)


def rows(run: RunData) -> list[tuple[str, str, str]]:
    """Returns energy and power of a run: title, value, definition; those that are known."""
    energy = run.summary["energy"]
    found = [
        (title, physical(energy[key], unit), terms.key(f"energy.{key}")) for title, key, unit in _ROWS if energy[key] is not None
    ]
    for group, key in (("by_operation", "energy.by_operation.NAME"), ("by_reason", "energy.by_reason.REASON")):
        for name, joules in energy[group].items():
            title = f"{name.replace('_', ' ')}s" if group == "by_operation" else f"for {name}"
            found.append((title, physical(joules, "J"), terms.key(key)))
    return found


def table(runs: Sequence[RunData]) -> str:
    """Returns a table of energy and power, with a column for each run."""
    columns = [{title: (value, meaning) for title, value, meaning in rows(run)} for run in runs]
    titles = list(dict.fromkeys(title for column in columns for title in column))
    meanings = {title: meaning for column in columns for title, (_, meaning) in column.items()}
    cells = [[title, *(column.get(title, ("–", ""))[0] for column in columns)] for title in titles]
    return content.table(["", *run_names(runs)], cells, meanings=meanings)


def has_parts(runs: Sequence[RunData]) -> bool:
    """Returns True if the energy of any run contains more than that of the flash."""
    return any(len(run.summary["energy"]["parts"]) > 1 for run in runs)


def by_component(runs: Sequence[RunData]) -> go.Figure:
    """Returns a bar for each run whose length is its mean power, divided by the parts of the drive."""
    names = [style.wrapped_name(name) for name in run_names(runs)]
    chart = style.figure(150 + 46 * len(runs), barmode="stack", bargap=0.35)
    watts = [_mean_by_part(run) for run in runs]
    longest = max(sum(parts.values()) for parts in watts)
    if not longest:
        return style.note(chart, "no time has passed")
    order = range(len(runs) - 1, -1, -1)
    for part, (title, colour) in _PARTS.items():
        values = [watts[index].get(part, 0.0) for index in order]
        if not any(values):
            continue
        joules = [physical(runs[index].summary["energy"][f"{part}_j"] or 0.0, "J") for index in order]
        chart.add_bar(
            orientation="h",
            y=[names[index] for index in order],
            x=values,
            name=title,
            marker={"color": colour, "line": {"color": "white", "width": looks.EDGE}},
            text=[f"{title} {physical(value, 'W')}" if value > 0.12 * longest else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 11},
            customdata=joules,
            hovertemplate="%{y}: " + title + " %{x:.4g} W (%{customdata})<extra></extra>",
        )
    chart.update_xaxes(title_text="mean power", ticksuffix=" W", range=[0, 1.05 * longest])
    chart.update_yaxes(showgrid=False)
    return chart


def _mean_by_part(run: RunData) -> dict[str, float]:
    """Returns the mean power of each part of a drive whose energy is known."""
    seconds = run.simulated_ns * 1e-9
    parts = run.summary["energy"]["by_component"]
    return {name: joules / seconds for name, joules in parts.items()} if seconds > 0 else {}


def over_time(runs: Sequence[RunData]) -> go.Figure:
    """Returns mean power and the peak of its windows over simulated time, with a strip for each run."""
    tables = [(name, table) for name, run in zip(run_names(runs), runs, strict=True) if (table := run.power_table()) is not None]
    curves = [(name, *_merged_steps(table.to_pydict())) for name, table in tables]
    if not any(times for _, times, _, _ in curves):
        return style.note(style.figure(130), "no window of power has passed")
    size, unit = time_unit(max(run.simulated_ns for run in runs))
    height = 150 * len(curves) + 70
    chart = style.panels(height, len(curves), 1, shared_xaxes=True, vertical_spacing=0.16 if len(curves) > 1 else 0.0)
    most = max(max(peak, default=0.0) for _, _, _, peak in curves)
    for row, (name, times, mean, peak) in enumerate(curves, 1):
        look: dict[str, Any] = {"row": row, "col": 1}
        for title, values, colour in (("peak of a window", peak, looks.DISTINCT["red"]), ("mean", mean, looks.DISTINCT["blue"])):
            chart.add_scatter(
                x=[time / size for time in times],
                y=values,
                mode="lines",
                line={"shape": "hv", "width": 1.5, "color": colour},
                name=title,
                showlegend=row == 1,
                hovertemplate=f"%{{x:.4g}} {unit}: %{{y:.4g}} W<extra>{title}</extra>",
                **look,
            )
        heading = name if len(curves) > 1 else None
        chart.update_yaxes(range=[0, 1.08 * most], ticksuffix=" W", nticks=4, title_text=heading, **look)
    chart.update_xaxes(ticksuffix=f" {unit}")
    chart.update_xaxes(title_text="simulated time", row=len(curves), col=1)
    return chart


def _merged_steps(columns: dict[str, list[float]]) -> tuple[list[float], list[float], list[float]]:
    """Returns start, mean and peak of at most :data:`_STEPS` steps; neighbouring rows, all of one width, are merged."""
    times, mean, peak = columns["time_ns"], columns["mean_w"], columns["peak_w"]
    group = -(-len(times) // _STEPS) or 1
    edges = range(0, len(times), group)
    means = [sum(mean[edge : edge + group]) / len(mean[edge : edge + group]) for edge in edges]
    return [times[edge] for edge in edges], means, [max(peak[edge : edge + group]) for edge in edges]
