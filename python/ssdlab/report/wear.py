"""Program/erase cycles of the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.units import significant

if TYPE_CHECKING:
    from ssdlab.results import Result


def spread(runs: Sequence[Result]) -> go.Figure:
    """For each run the least, mean (with its deviation) and most worn block."""
    names = style.run_names(runs)
    chart = style.figure(130 + 46 * len(runs))
    known = [(name, run.summary["wear"]) for name, run in zip(names, runs, strict=True)]
    known = [(name, wear) for name, wear in known if wear.get("max")]
    if not known:
        return style.note(chart, "no block has been erased since the drive was new")
    for name, wear in reversed(known):
        chart.add_scatter(
            x=[wear["min"], wear["max"]],
            y=[name, name],
            mode="lines+markers",
            line={"color": "#b8c0c9", "width": 3},
            marker={"size": 9, "color": "#8b93a0", "symbol": "line-ns-open", "line": {"width": 2}},
            showlegend=False,
            hovertemplate="%{x:,.4~g} cycles<extra>least, most</extra>",
        )
        chart.add_scatter(
            x=[wear["mean"]],
            y=[name],
            mode="markers+text",
            marker={"size": 11, "color": style.OPERATIONS["read"]},
            error_x={
                "type": "data",
                "array": [wear["stddev"]],
                "color": style.OPERATIONS["read"],
                "thickness": 1.5,
            },
            text=[f"mean {significant(wear['mean'])} ± {significant(wear['stddev'], 3)}"],
            textposition="top center",
            textfont={"size": 12},
            showlegend=False,
            hovertemplate="%{text} cycles<extra></extra>",
        )
    top = max(wear["max"] for _, wear in known)
    chart.update_xaxes(
        title_text="program/erase cycles of a block: least, mean ± deviation, most",
        range=[0, 1.08 * top or 1],
    )
    chart.update_yaxes(showgrid=False, tickfont={"size": 13, "color": style.INK}, range=[-0.6, len(known) - 0.3])
    return chart
