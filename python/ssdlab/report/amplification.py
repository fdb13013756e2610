"""Write amplification, by the reason of the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.report import style
from ssdlab.units import count, significant

if TYPE_CHECKING:
    from ssdlab.results import RunData

COLOURS = {
    "host": looks.BLUE,
    "gc": looks.ORANGE,
    "rewrite": looks.PLUM,
    "padding": looks.PALE,
    "rmw": looks.LIGHT,
    "wear": looks.OLIVE,
    "reprogram": looks.VIOLET,
    "scrub": looks.TEAL,
    "evacuate": looks.WINE,
    "map": looks.GREEN,
    "journal": looks.MINT,
    "parity": looks.MUTED,
    "backup": looks.MUTED,
}


def by_reason(runs: Sequence[RunData]) -> go.Figure:
    """Returns a bar for each run whose length is its write amplification, divided by the reason of the programs."""
    names = [style.wrapped_name(name) for name in style.run_names(runs)]
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
            marker={"color": COLOURS[reason], "line": {"color": "white", "width": looks.EDGE}},
            text=[f"{reason} {significant(value, 3)}" if value > 0.08 * longest else "" for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": looks.FINE_TEXT},
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
