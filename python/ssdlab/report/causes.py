"""Latency of commands by cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.drawing.causes import COLOURS, LOOKS
from ssdlab.report import library, style
from ssdlab.report.content import in_words
from ssdlab.units import duration, time_unit

if TYPE_CHECKING:
    from ssdlab.results import RunData, Stream


def look(cause: str) -> dict[str, Any]:
    """Returns the look of a cause's bars: its colour and pattern."""
    pattern = {"shape": LOOKS.get(cause, ("grey", ""))[1], "fgcolor": "white", "fillmode": "overlay", "size": 7, "solidity": 0.2}
    return {"color": COLOURS.get(cause, style.MUTED), "pattern": pattern, "line": {"color": "white", "width": looks.EDGE}}


def stacked(runs: Sequence[RunData]) -> go.Figure:
    """Returns the mean latency of reads and writes, every nanosecond charged to a cause: as time and as shares."""
    return _stacked(_bars(runs))


def stacked_streams(streams: Sequence[Stream]) -> go.Figure:
    """Returns the mean latency of reads and writes of each stream, like :func:`stacked`."""
    bars = [
        (style.wrapped_name(f"{stream.name} · {op}s"), dict(stream.causes[op]))
        for stream in reversed(streams)
        for op in ("write", "read")
        if stream.causes.get(op)
    ]
    return _stacked(bars)


def stacked_bars(bars: list[tuple[str, dict[str, float]]]) -> go.Figure:
    """Returns bars of a title and a time by cause, from the bottom up, like :func:`stacked`."""
    return _stacked(bars)


def _stacked(bars: list[tuple[str, dict[str, float]]]) -> go.Figure:
    height = 110 + 46 * max(1, len(bars))
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
        words, meaning = in_words(cause), terms.below(terms.causes().get(cause, ""))
        texts = [f"{100 * share:.0f} %" if share > 0.07 else "" for share in shares]
        facts = [f"{words} {duration(span)}, {100 * share:.2f} %" for span, share in zip(spans, shares, strict=True)]
        for column, lengths in enumerate(([span / size for span in spans], [100 * share for share in shares]), 1):
            chart.add_bar(
                orientation="h",
                y=titles,
                x=lengths,
                name=words,
                legendgroup=cause,
                showlegend=column == 1,
                marker=look(cause),
                text=texts if column == 2 else None,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"size": 11},
                constraintext="none",
                customdata=facts,
                hovertemplate="%{y}: %{customdata}" + meaning + "<extra></extra>",
                row=1,
                col=column,
            )
    for title, total in zip(titles, totals, strict=True):
        place = {"showarrow": False, "xanchor": "left", "font": {"size": 12}, "row": 1, "col": 1}
        chart.add_annotation(x=total / size, y=title, text=f" {duration(total)}", **place)
    chart.update_xaxes(
        title_text="mean latency", ticksuffix=f" {unit}", nticks=5, range=[0, 1.25 * max(totals) / size], row=1, col=1
    )
    chart.update_xaxes(title_text="share of the latency", ticksuffix=" %", nticks=6, range=[0, 100], row=1, col=2)
    chart.update_yaxes(showgrid=False)
    library.stack_when_narrow(chart, ("", "2"), height)
    return chart


def _bars(runs: Sequence[RunData]) -> list[tuple[str, dict[str, float]]]:
    """Returns a bar for each run and operation that was measured, from the bottom up: title and mean time by cause."""
    names = style.run_names(runs)
    return [
        (f"{op}s" if len(runs) == 1 else style.wrapped_name(f"{name} · {op}s"), run.causes[op])
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
