"""Common style of the figures of plotly: their template, made from the table of looks, and names of runs."""

from __future__ import annotations

from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ssdlab.drawing import looks
from ssdlab.drawing.looks import GRID, INK, MUTED, OPERATIONS, RUNS
from ssdlab.report.picture import Figure
from ssdlab.run_names import run_names

if TYPE_CHECKING:
    from ssdlab.report.picture import Figure

__all__ = [
    "GRID",
    "INK",
    "MUTED",
    "OPERATIONS",
    "RUNS",
    "divisor_and_unit",
    "figure",
    "note",
    "panels",
    "run_colour",
    "run_names",
    "template",
    "wrapped_name",
]


@cache
def template() -> go.layout.Template:
    """Returns the common style: defaults of every figure and every axis."""
    axis = {
        "gridcolor": GRID,
        "linecolor": INK,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "tickfont": {"size": looks.AXIS_TEXT, "color": INK},
        "title": {"font": {"size": looks.AXIS_TEXT, "color": INK}, "standoff": 12},
    }
    legend = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "font": {"size": looks.AXIS_TEXT},
        "traceorder": "normal",
    }
    return go.layout.Template(
        layout={
            "font": {"family": looks.FONT, "size": looks.TEXT, "color": INK},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "margin": {"l": 70, "r": 24, "t": 36, "b": 56},
            "hoverlabel": {"font": {"family": looks.FONT, "size": looks.AXIS_TEXT}, "bgcolor": "white", "bordercolor": GRID},
            "legend": legend,
            "xaxis": {**axis, "showgrid": True, "showline": True},
            "yaxis": {**axis, "showgrid": True, "showline": False, "ticklabelstandoff": 6},
        }
    )


def figure(height: int, **layout: Any) -> Figure:
    """Returns an empty figure in the common style."""
    return Figure(layout={"template": template(), "height": height, **layout})


def panels(height: int, rows: int, columns: int, **arrangement: Any) -> Figure:
    """Returns an empty figure of several panels in the common style."""
    chart = figure(height)
    make_subplots(rows=rows, cols=columns, figure=chart, **arrangement)
    return chart


def note(chart: go.Figure, text: str) -> go.Figure:
    """Puts a sentence in the place of data into `chart`, and returns it."""
    chart.update_layout(height=130, showlegend=False)
    chart.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"color": MUTED})
    chart.update_xaxes(visible=False)
    chart.update_yaxes(visible=False)
    return chart


def run_colour(index: int) -> str:
    """Returns the colour of the run at `index`."""
    return RUNS[index % len(RUNS)]


def divisor_and_unit(largest: float, unit: str) -> tuple[float, str]:
    """Returns the divisor and the unit with a decimal prefix for an axis whose largest value is `largest`."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if largest >= size:
            return size, f"{prefix}{unit}"
    return 1.0, unit


def wrapped_name(name: str, width: int = 20) -> str:
    """Returns the name of a bar in lines of about `width` letters, so that a narrow window has room for the bar."""
    return "<br>".join(wrap(name, width, break_long_words=False) or [name])
