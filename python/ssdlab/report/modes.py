"""Shares of the write, read and erase modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.report import style
from ssdlab.units import count

if TYPE_CHECKING:
    from ssdlab.results import RunData


def shares(runs: Sequence[RunData]) -> go.Figure:
    """Returns the share of each mode among writes, reads and erases."""
    names = style.run_names(runs)
    single = len(runs) == 1
    bars: list[tuple[str, dict[str, int]]] = []
    meanings: list[str] = []
    for kind in _kinds(runs):
        for name, run in reversed([*zip(names, runs, strict=True)]):
            used = {mode: number for mode, number in run.summary["modes"].get(kind, {}).items() if number}
            if used:
                bars.append((kind if single else style.wrapped_name(f"{name} · {kind}"), used))
                meanings.append(terms.below(terms.key(f"modes.{kind}.MODE")))
    chart = style.figure(130 + 40 * max(1, len(bars)), barmode="stack", bargap=0.35)
    if not bars:
        return style.note(chart, "no mode was used")
    modes = list(dict.fromkeys(mode for _, used in reversed(bars) for mode in used))
    for index, mode in enumerate(modes):
        parts = [100 * used.get(mode, 0) / sum(used.values()) for _, used in bars]
        chart.add_bar(
            orientation="h",
            y=[title for title, _ in bars],
            x=parts,
            name=mode,
            marker={"color": looks.MODES[index % len(looks.MODES)], "line": {"color": "white", "width": looks.EDGE}},
            text=[f"{mode} {part:.1f} %" if part > 8 else "" for part in parts],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 11},
            customdata=[f"({count(used.get(mode, 0))}){meaning}" for (_, used), meaning in zip(bars, meanings, strict=True)],
            hovertemplate="%{y}: " + mode + " %{x:.3f} % %{customdata}<extra></extra>",
        )
    chart.update_xaxes(title_text="share of operations", ticksuffix=" %", range=[0, 100])
    chart.update_yaxes(showgrid=False)
    return chart


def _kinds(runs: Sequence[RunData]) -> list[str]:
    """Returns the kinds of modes to show, from the bottom up.

    For several runs, read and erase modes are shown only if several were used.
    """
    used = {
        kind: {mode for run in runs for mode, number in run.summary["modes"].get(kind, {}).items() if number}
        for kind in ("erase", "read", "write")
    }
    return [kind for kind, modes in used.items() if len(modes) > 1 or kind == "write" or len(runs) == 1]
