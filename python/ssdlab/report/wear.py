"""Program and erase cycles of the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ssdlab.report import style
from ssdlab.units import significant

if TYPE_CHECKING:
    from ssdlab.results import RunData


def spread(runs: Sequence[RunData]) -> go.Figure:
    """Returns the share of the blocks with at most a number of cycles as a curve for each run, and their mean."""
    worn = [(name, run) for name, run in zip(style.run_names(runs), runs, strict=True) if run.summary["wear"].get("max")]
    if all(run.summary["wear"].get("mean") is None for run in runs):
        return style.note(style.figure(130), "the translation layer has no blocks of its own: their wear is not modelled")
    if not worn:
        return style.note(style.figure(130), "no block has been erased since the drive was new")
    chart = style.figure(340)
    for name, run in worn:
        index = runs.index(run)
        wear = run.summary["wear"]
        mean = f"mean {significant(wear['mean'])} ± {significant(wear['stddev'], 3)} cycles"
        cycles, shares = cumulative(run)
        chart.add_scatter(
            x=cycles,
            y=shares,
            mode="lines",
            # A later curve that equals an earlier one leaves its edges to be seen.
            line={"color": style.run_colour(index), "width": 2 if index or len(runs) == 1 else 4, "shape": "hv"},
            name=mean if len(runs) == 1 else f"{name}: {mean}",
            hovertemplate="%{y:.1f} % of the blocks have at most %{x:,} cycles<extra></extra>",
        )
        if len(runs) == 1:
            place: dict[str, Any] = {"x": 0, "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
            chart.add_annotation(text=f" {mean}", showarrow=False, font={"size": 12}, **place)
    chart.update_yaxes(title_text="blocks with at most so many", ticksuffix=" %", range=[0, 103])
    chart.update_xaxes(title_text="program/erase cycles of a block", tickformat=",")
    return chart


def cumulative(run: RunData) -> tuple[list[int], list[float]]:
    """Returns numbers of cycles, and the share of the blocks [%] that have at most so many."""
    classes = run.summary["wear_histogram"]
    first, width, blocks = classes["first_cycles"], classes["width_cycles"], classes["blocks"]
    sums = [*accumulate(blocks)]
    cycles = [first + (index + 1) * width - 1 for index in range(len(blocks))]
    return [first, *cycles], [0.0, *(100 * number / sums[-1] for number in sums)]
