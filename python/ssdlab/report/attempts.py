"""Attempts at reads that can fail: how many are made, how many fail, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.drawing import looks
from ssdlab.report import library, style
from ssdlab.report.causes import look
from ssdlab.report.content import in_words
from ssdlab.report.read_errors import causes_of, share
from ssdlab.units import count, duration, time_unit

if TYPE_CHECKING:
    from ssdlab.read_errors import Attempt, ReadErrors
    from ssdlab.results import RunData

_MADE, _FAILED = looks.LIGHT, looks.WINE


def made_and_failed(runs: Sequence[RunData]) -> go.Figure:
    """Returns the attempts by number: how many were made and failed, and their mean time, for one run by cause."""
    able = [(name, run.read_errors) for name, run in zip(style.run_names(runs), runs, strict=True) if run.read_errors]
    if not any(found.first_attempts for _, found in able):
        return style.note(style.figure(130), "no read of the flash was measured")
    chart = style.panels(380, 1, 2, horizontal_spacing=0.1)
    most = max(len(found.attempts) for _, found in able)
    longest = max(one.mean_ns or 0.0 for _, found in able for one in found.attempts)
    size, unit = time_unit(max(longest, 1.0))
    if len(runs) == 1:
        _counts(chart, able[0][1].attempts)
        _times(chart, able[0][1].attempts, size)
    else:
        colours = {name: style.run_colour(index) for index, name in enumerate(style.run_names(runs))}
        for name, found in able:
            _curves(chart, name, found, size, colours[name])
    made = "attempts" if len(runs) == 1 else "attempts per 1,000 reads"
    chart.update_yaxes(title_text=made, type="log", dtick=1, exponentformat="power", row=1, col=1)
    chart.update_yaxes(title_text="mean time", ticksuffix=f" {unit}", rangemode="tozero", row=1, col=2)
    chart.update_xaxes(title_text="attempt", showgrid=False, range=[0.4, most + 0.6], dtick=max(1, most // 16))
    library.stack_when_narrow(chart, ("", "2"), 380)
    return chart


def _counts(chart: go.Figure, attempts: Sequence[Attempt]) -> None:
    """Adds the attempts of one run, and those of them that failed, on a logarithmic axis."""
    for name, colour, numbers in (
        ("made", _MADE, [one.reads for one in attempts]),
        ("failed", _FAILED, [one.failed for one in attempts]),
    ):
        chart.add_bar(
            x=[one.number for one in attempts],
            y=[number or None for number in numbers],
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            customdata=[f"{count(one.reads)} made, {share(one.failed_share)} failed" for one in attempts],
            hovertemplate="attempt %{x}: %{customdata}<extra></extra>",
            row=1,
            col=1,
        )
    chart.update_layout(bargap=0.3)


def _times(chart: go.Figure, attempts: Sequence[Attempt], size: float) -> None:
    """Adds the mean times of one run: the first attempt as a whole, the others by cause."""
    parts = {"first attempt, all causes": [0.0 if one.causes else one.mean_ns or 0.0 for one in attempts]}
    for cause in causes_of(attempts):
        parts[cause] = [one.causes.get(cause, 0.0) for one in attempts]
    base = [0.0] * len(attempts)
    for name, spans in parts.items():
        words, meaning = in_words(name), terms.below(terms.causes().get(name, ""))
        chart.add_bar(
            x=[one.number for one in attempts],
            y=[span / size for span in spans],
            base=[below / size for below in base],
            offset=-0.35,
            width=0.7,
            name=words,
            marker=look(name),
            customdata=[duration(span) for span in spans],
            hovertemplate="attempt %{x}: " + words + " %{customdata}" + meaning + "<extra></extra>",
            row=1,
            col=2,
        )
        base = [below + span for below, span in zip(base, spans, strict=True)]


def _curves(chart: go.Figure, name: str, found: ReadErrors, size: float, colour: str) -> None:
    """Adds the attempts of one of several runs, for 1,000 reads, and their mean times."""
    numbers = [one.number for one in found.attempts]
    first = max(found.first_attempts, 1)
    made = [1000 * one.reads / first for one in found.attempts]
    times = [(one.mean_ns or 0.0) / size for one in found.attempts]
    for column, values, form in ((1, made, "%{y:.4~g} per 1,000 reads"), (2, times, "%{y:.4~g}")):
        chart.add_scatter(
            x=numbers,
            y=values,
            mode="lines+markers",
            line={"color": colour, "width": 1.8},
            marker={"size": 6},
            name=name,
            legendgroup=name,
            showlegend=column == 1,
            hovertemplate="attempt %{x}: " + form + "<extra>" + name + "</extra>",
            row=1,
            col=column,
        )
