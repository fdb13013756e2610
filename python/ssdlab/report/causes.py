"""Latency of commands by cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.units import duration, time_unit

if TYPE_CHECKING:
    from ssdlab.results import Result

#: Colour of each cause, in the order from the host to the cell; causes in one part of the drive have similar colours.
COLOURS = {
    "host": "#4f5b66",
    "host_queue": "#8b93a0",
    "queue_blocked": "#6b7480",
    "link": "#a9b0ba",
    "core_wait": "#5b7f95",
    "firmware": "#86a9bf",
    "interconnect_wait": "#7c6a8e",
    "interconnect": "#a995bd",
    "dram_wait": "#8e7a5b",
    "dram": "#bfa986",
    "map": "#b7a98f",
    "order": "#9d8f75",
    "buffer_full": "#b04a5a",
    "free_space": "#8c2f45",
    "sequencer": "#f0cfc0",
    "die_host_read": "#e3b5a4",
    "die_host_program": "#d98e73",
    "die_relocation": "#c9694a",
    "die_erase": "#a84b2f",
    "die_held": "#7f3722",
    "page_buffer": "#b8873b",
    "bus_wait": "#dcb64e",
    "bus_command": "#c79a2b",
    "transfer": "#eed28a",
    "sense": "#2b6ea6",
    "program": "#5b9bd0",
    "rmw": "#9cc4e4",
    "retry": "#6b4a9e",
    "ecc_wait": "#7fb89f",
    "decode": "#3f8f6d",
}


def stacked(runs: Sequence[Result]) -> go.Figure:
    """Returns the mean latency of reads and writes, every nanosecond charged to a cause: as time and as shares."""
    bars = _bars(runs)
    height = 170 + 46 * max(1, len(bars))
    if not bars:
        return style.note(style.figure(height), "no read or write was measured")
    chart = style.panels(height, 1, 2, shared_yaxes=True, horizontal_spacing=0.06)
    chart.update_layout(barmode="stack", bargap=0.35)
    titles = [title for title, _ in bars]
    totals = [sum(causes.values()) for _, causes in bars]
    size, unit = time_unit(max(totals))
    for cause in _order(bars):
        spans = [causes.get(cause, 0.0) for _, causes in bars]
        shares = [span / (total or 1.0) for span, total in zip(spans, totals, strict=True)]
        texts = [f"{cause}<br>{100 * share:.0f} %" if share > 0.13 else "" for share in shares]
        facts = [f"{cause} {duration(span)}, {100 * share:.2f} %" for span, share in zip(spans, shares, strict=True)]
        for column, lengths in enumerate(([span / size for span in spans], [100 * share for share in shares]), 1):
            chart.add_bar(
                orientation="h",
                y=titles,
                x=lengths,
                name=cause,
                legendgroup=cause,
                showlegend=column == 1,
                marker={"color": COLOURS.get(cause, style.MUTED), "line": {"color": "white", "width": 0.5}},
                text=texts if column == 2 else None,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": 11},
                constraintext="none",
                customdata=facts,
                hovertemplate="%{y}: %{customdata}<extra></extra>",
                row=1,
                col=column,
            )
    for title, total in zip(titles, totals, strict=True):
        place = {"showarrow": False, "xanchor": "left", "font": {"size": 12}, "row": 1, "col": 1}
        chart.add_annotation(x=total / size, y=title, text=f" {duration(total)}", **place)
    chart.update_xaxes(title_text=f"mean latency ({unit})", range=[0, 1.25 * max(totals) / size], row=1, col=1)
    chart.update_xaxes(title_text="share (%)", range=[0, 100], row=1, col=2)
    chart.update_yaxes(showgrid=False, tickfont={"size": 13, "color": style.INK})
    return chart


def _bars(runs: Sequence[Result]) -> list[tuple[str, dict[str, float]]]:
    """Returns a bar for each run and operation that was measured, from the bottom up: title and mean time by cause."""
    names = style.run_names(runs)
    return [
        (f"{op}s" if len(runs) == 1 else f"{name} · {op}s", run.causes[op])
        for op in ("write", "read")
        for name, run in reversed([*zip(names, runs, strict=True)])
        if run.causes.get(op)
    ]


def _order(bars: list[tuple[str, dict[str, float]]]) -> list[str]:
    """Returns the causes that took any time, the largest sum first."""
    sums: dict[str, float] = {}
    for _, causes in bars:
        for cause, span in causes.items():
            sums[cause] = sums.get(cause, 0.0) + span
    return sorted((cause for cause, span in sums.items() if span > 0), key=lambda cause: (-sums[cause], cause))
