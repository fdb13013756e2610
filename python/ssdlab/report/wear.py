"""Program and erase cycles of the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.units import significant

if TYPE_CHECKING:
    from ssdlab.results import Result


def spread(runs: Sequence[Result]) -> go.Figure:
    """Returns a histogram of the blocks by their cycles for each run, all on one scale, and their mean."""
    worn = [(name, run) for name, run in zip(style.run_names(runs), runs, strict=True) if run.summary["wear"].get("max")]
    if all(run.summary["wear"].get("mean") is None for run in runs):
        return style.note(style.figure(130), "the translation layer has no blocks of its own: their wear is not modelled")
    if not worn:
        return style.note(style.figure(130), "no block has been erased since the drive was new")
    chart = style.panels(110 + 120 * len(worn), len(worn), 1, shared_xaxes=True, vertical_spacing=0.3 / len(worn))
    for row, (name, run) in enumerate(worn, 1):
        wear, classes = run.summary["wear"], run.summary["wear_histogram"]
        first, width, blocks = classes["first_cycles"], classes["width_cycles"], classes["blocks"]
        ends = [(first + index * width, first + (index + 1) * width - 1) for index in range(len(blocks))]
        chart.add_bar(
            x=[(low + high) / 2 for low, high in ends],
            y=blocks,
            width=width * 0.92,
            marker={"color": style.run_colour(runs.index(run)), "line": {"width": 0}},
            customdata=[str(low) if low == high else f"{low} to {high}" for low, high in ends],
            hovertemplate="%{customdata} cycles: %{y:,} blocks<extra></extra>",
            showlegend=False,
            row=row,
            col=1,
        )
        mean = f"mean {significant(wear['mean'])} ± {significant(wear['stddev'], 3)}"
        chart.add_vline(x=wear["mean"], line={"color": style.INK, "width": 1.2, "dash": "dot"}, row=row, col=1)
        chart.add_annotation(
            text=mean if len(runs) == 1 else f"{name}: {mean}",
            x=0,
            y=1.0,
            xref="x domain",
            yref="y domain",
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"size": 12},
            row=row,
            col=1,
        )
    chart.update_yaxes(title_text="blocks", rangemode="tozero", nticks=4)
    chart.update_xaxes(title_text="program/erase cycles of a block", row=len(worn), col=1)
    return chart
