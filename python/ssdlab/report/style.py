"""Common style of the figures: colours, fonts, axes, names of runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

if TYPE_CHECKING:
    from ssdlab.results import Result

INK = "#1f2933"
MUTED = "#66727f"
GRID = "#e6e9ed"
#: Colour of each operation.
OPERATIONS = {"read": "#2b6ea6", "write": "#d0732a", "all": "#5b6470"}
#: Colours of runs that are overlaid.
RUNS = ("#4a5563", "#d0732a", "#2b6ea6", "#2f8f6b", "#a8456b", "#7a62a8", "#9a8432", "#3d97a8")

#: Largest number of settings that a name of a run states.
_MOST_SETTINGS = 3

FONT = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"


@cache
def template() -> go.layout.Template:
    """Returns the common style: defaults of every figure and every axis."""
    axis = {
        "gridcolor": GRID,
        "linecolor": "#b8c0c9",
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        "tickfont": {"size": 12, "color": MUTED},
        "title": {"font": {"size": 12, "color": MUTED}, "standoff": 12},
    }
    legend = {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "font": {"size": 12},
        "traceorder": "normal",
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": "white",
            "plot_bgcolor": "white",
            "margin": {"l": 70, "r": 24, "t": 36, "b": 56},
            "hoverlabel": {"font": {"family": FONT, "size": 12}, "bgcolor": "white", "bordercolor": GRID},
            "legend": legend,
            "xaxis": {**axis, "showgrid": True, "showline": True},
            "yaxis": {**axis, "showgrid": True, "showline": False, "ticklabelstandoff": 6},
        }
    )


def figure(height: int, **layout: Any) -> go.Figure:
    """Returns an empty figure in the common style."""
    return go.Figure(layout={"template": template(), "height": height, **layout})


def panels(height: int, rows: int, columns: int, **arrangement: Any) -> go.Figure:
    """Returns an empty figure of several panels in the common style."""
    chart = make_subplots(rows=rows, cols=columns, **arrangement)
    chart.update_layout(template=template(), height=height)
    return chart


def note(chart: go.Figure, text: str) -> go.Figure:
    """Puts a sentence in the place of data into `chart`, and returns it."""
    chart.update_layout(height=130, showlegend=False)
    chart.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"color": MUTED})
    chart.update_xaxes(visible=False)
    chart.update_yaxes(visible=False)
    return chart


def run_names(runs: Sequence[Result], without: Set[str] = frozenset()) -> list[str]:
    """Returns names that tell the runs apart: those of policy, drive, workload and seed that differ.

    If runs would have one name, up to three settings of their drives that differ are added, except those `without`
    which they are to be named; else a number.
    """
    fields = [[str(getattr(run, field)) for run in runs] for field in ("policy", "drive", "workload", "seed")]
    chosen = [values for values in fields if len(set(values)) > 1] or fields[:1]
    if _repeats(chosen):
        settings = _settings(runs, without)
        chosen += settings if len(settings) <= _MOST_SETTINGS else []
    names = [" · ".join(parts) for parts in zip(*chosen, strict=True)]
    return [f"{name} ({index + 1})" for index, name in enumerate(names)] if _repeats(chosen) else names


def _repeats(columns: Sequence[Sequence[str]]) -> bool:
    """Returns True if two rows are the same."""
    rows = [*zip(*columns, strict=True)]
    return len(set(rows)) < len(rows)


def _settings(runs: Sequence[Result], without: Set[str]) -> list[list[str]]:
    """Returns the settings in which the descriptions of the drives differ: for each, its text in every run."""
    drives = [dict(_leaves(tomllib.loads(run.drive_toml))) for run in runs]
    paths = [path for path in dict.fromkeys(path for drive in drives for path in drive) if path and path[-1] not in without]
    values = {path: [drive.get(path) for drive in drives] for path in paths}
    return [
        [f"{path[-1]} {'–' if value is None else value}" for value in column]
        for path, column in values.items()
        if any(value != column[0] for value in column)
    ]


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the values of nested tables with their paths; a list counts as one value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    else:
        yield path, value


def run_colour(index: int) -> str:
    """Returns the colour of the run at `index`."""
    return RUNS[index % len(RUNS)]
