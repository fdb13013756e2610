"""Utilisation of channels, decoders and dies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.report import library, style
from ssdlab.units import percent

if TYPE_CHECKING:
    from ssdlab.results import RunData

_COLOURS = {"channel": looks.SKY, "decoders": looks.MOSS}
_SCALE = [[*step] for step in looks.BUSY]


def busy(runs: Sequence[RunData]) -> go.Figure:
    """Returns the utilisation of channels, decoders and dies.

    For one run, bars of each channel and its decoders stand beside a map of its dies; several runs have them sorted.
    """
    return _map(runs[0]) if len(runs) == 1 else _sorted(runs)


def meanings() -> dict[str, str]:
    """Returns the definitions of the kinds of resources, by their names in the legend."""
    return {kind: terms.key(f"utilisation.{kind}_N") for kind in _COLOURS}


def resources(run: RunData, kind: str) -> list[float]:
    """Returns the busy fractions of all resources of a kind (``channel``, ``die``), ordered by their numbers."""
    found = {
        int(match[1]): float(fraction)
        for name, fraction in run.summary["utilisation"].items()
        if (match := re.fullmatch(rf"{kind}[ _](\d+)", name))
    }
    return [found[number] for number in sorted(found)]


def decoders(run: RunData) -> list[float]:
    """Returns the busy fraction of each group of decoders: of each channel, or one for the drive; none without any."""
    shared = run.summary["utilisation"].get("decoders")
    return resources(run, "decoders") or ([] if shared is None else [float(shared)])


def _map(run: RunData) -> go.Figure:
    channels, dies = resources(run, "channel"), resources(run, "die")
    if not channels or not dies:
        return style.note(style.figure(130), "no utilisation was recorded")
    per_channel = max(1, len(dies) // len(channels))
    grid = [dies[first : first + per_channel] for first in range(0, len(dies), per_channel)]
    groups = decoders(run)
    own = len(groups) == len(channels)
    height = 170 + (44 if own else 26) * len(channels)
    chart = style.panels(height, 1, 2, shared_yaxes=True, column_widths=[0.32, 0.68], horizontal_spacing=0.04)
    chart.update_layout(showlegend=bool(groups), bargap=0.25, margin_t=40 if groups else 20)
    labels = [f"channel {number}" for number in range(len(channels))]
    _bars(chart, "channel", labels, channels)
    if groups:
        _bars(chart, "decoders", labels if own else ["decoders"], groups)
    few = per_channel <= 16
    chart.add_heatmap(
        z=[[100 * fraction for fraction in row] for row in grid],
        y=labels,
        x=list(range(per_channel)),
        colorscale=_SCALE,
        zmin=0,
        zmax=100,
        xgap=2,
        ygap=2,
        texttemplate="%{z:.0f}" if few else None,
        textfont={"size": 11},
        colorbar={"title": {"text": "busy, %", "font": {"size": 12}}, "thickness": 10, "outlinewidth": 0},
        hovertemplate="%{y}, die %{x} of it: %{z:.2f} %" + _meaning("die") + "<extra></extra>",
        row=1,
        col=2,
    )
    chart.update_yaxes(autorange="reversed", showgrid=False)
    chart.update_xaxes(title_text="busy" if groups else "channel busy", ticksuffix=" %", range=[0, 100], row=1, col=1)
    step = max(1, per_channel // 16)
    chart.update_xaxes(title_text="die of the channel", dtick=step, showgrid=False, showline=False, row=1, col=2)
    library.stack_when_narrow(chart, ("", "2"), height)
    return chart


def _meaning(kind: str) -> str:
    """Returns the definition of a kind of resource as further lines of a hover text."""
    return terms.below(terms.key(f"utilisation.{'decoders' if kind == 'decoder' else kind}_N"))


def _bars(chart: go.Figure, name: str, labels: Sequence[str], fractions: Sequence[float]) -> None:
    """Adds a bar for each of the resources of one kind."""
    chart.add_bar(
        orientation="h",
        y=list(labels),
        x=[100 * fraction for fraction in fractions],
        name=name,
        marker_color=_COLOURS[name],
        text=[percent(fraction) for fraction in fractions],
        textposition="auto",
        textangle=0,
        hovertemplate="%{y}: %{x:.2f} %" + _meaning(name) + "<extra>" + name + "</extra>",
        row=1,
        col=1,
    )


def _sorted(runs: Sequence[RunData]) -> go.Figure:
    kinds = ["channel", "die"]
    if any(decoders(run) for run in runs):
        kinds.insert(1, "decoder")
    chart = style.panels(340, 1, len(kinds), horizontal_spacing=0.09)
    for index, (name, run) in enumerate(zip(style.run_names(runs), runs, strict=True)):
        for column, kind in enumerate(kinds, 1):
            fractions = sorted(decoders(run) if kind == "decoder" else resources(run, kind), reverse=True)
            chart.add_scatter(
                x=list(range(1, len(fractions) + 1)),
                y=[100 * fraction for fraction in fractions],
                mode="lines+markers",
                # A later run with the same values leaves the edges of the first to be seen.
                marker={"size": (4 if len(fractions) > 16 else 7) + (0 if index else 3)},
                line={"color": style.run_colour(index), "width": 1.6 if index else 4},
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                hovertemplate="%{y:.2f} %" + _meaning(kind) + "<extra>" + name + "</extra>",
                row=1,
                col=column,
            )
            few = len(fractions) <= 16
            title = "groups of decoders" if kind == "decoder" else f"{kind}s"
            chart.update_xaxes(title_text=f"{title}, the busiest first", dtick=1 if few else None, row=1, col=column)
    chart.update_yaxes(rangemode="tozero", ticksuffix=" %")
    chart.update_yaxes(title_text="busy", row=1, col=1)
    library.stack_when_narrow(chart, ["", "2", "3"][: len(kinds)], 340)
    return chart
