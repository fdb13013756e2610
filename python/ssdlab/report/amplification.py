"""Write amplification, by the reason of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.report import style
from ssdlab.units import count, significant

if TYPE_CHECKING:
    from ssdlab.results import Result

COLOURS = {
    "host": "#2b6ea6",
    "gc": "#d0732a",
    "rewrite": "#a8456b",
    "padding": "#b8c0c9",
    "rmw": "#9cc4e4",
    "wear": "#9a8432",
    "reprogram": "#7a62a8",
    "scrub": "#3d97a8",
    "evacuate": "#8c2f45",
    "map": "#2f8f6b",
    "journal": "#5aa884",
    "parity": "#66727f",
}


def by_reason(runs: Sequence[Result]) -> go.Figure:
    """Returns a bar for each run whose length is its write amplification, divided by the reason of the programs."""
    names = [style.wrapped(name) for name in style.run_names(runs)]
    chart = style.figure(150 + 46 * len(runs), barmode="stack", bargap=0.35)
    shares = [run.write_amplification_by_reason for run in runs]
    if not any(shares):
        return style.note(chart, "the host wrote nothing")
    reasons = [reason for reason in COLOURS if any(share.get(reason) for share in shares)]
    longest = max(sum(share.values()) for share in shares)
    order = range(len(runs) - 1, -1, -1)
    for reason in reasons:
        values = [shares[index].get(reason, 0.0) for index in order]
        meaning = terms.below(terms.reasons().get(reason, ""))
        programs = [runs[index].summary["flash"]["programs"].get(reason, 0) for index in order]
        chart.add_bar(
            orientation="h",
            y=[names[index] for index in order],
            x=values,
            name=reason,
            marker={"color": COLOURS[reason], "line": {"color": "white", "width": 0.5}},
            text=[f"{reason} {significant(value, 3)}" if value > 0.08 * longest else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 11},
            customdata=[count(number) for number in programs],
            hovertemplate="%{y}: " + reason + " %{x:.4f} (%{customdata} units)" + meaning + "<extra></extra>",
        )
    for index in order:
        total = sum(shares[index].values())
        if total:
            chart.add_annotation(x=total, y=names[index], text=f" {significant(total)}", showarrow=False, xanchor="left")
    chart.update_xaxes(title_text="programmed per unit written by the host", range=[0, 1.1 * longest])
    chart.update_yaxes(showgrid=False)
    return chart
