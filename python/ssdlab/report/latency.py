"""Latency: its distribution on a probability axis, and the percentiles side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from ssdlab import terms
from ssdlab.report import library, style
from ssdlab.units import duration, significant

if TYPE_CHECKING:
    from ssdlab.results import Latency, RunData

#: Number of samples that must lie beyond a percentile for it to be meaningful.
_SAMPLES_BEYOND = 10
_TICKS = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999)
_DASHES = {"read": "solid", "write": "dash"}


def distribution(runs: Sequence[RunData]) -> go.Figure:
    """Returns the share of commands with at most a given latency; a log-normal distribution is a straight line.

    The curve is dotted where fewer than ten samples lie beyond.
    """
    chart = style.figure(460)
    names = style.run_names(runs)
    single = len(runs) == 1
    both = not single and all(any(run.latency[op].count for run in runs) for op in _DASHES)
    curves = []
    for index, run in enumerate(runs):
        for op in ("read", "write"):
            colour = style.OPERATIONS[op] if single else style.run_colour(index)
            line = {"color": colour, "width": 2 if index or single else 3.6, "dash": _DASHES[op] if both else "solid"}
            curves.append((_histogram(run, op), op if single else f"{names[index]}, {op}", line))
    edges = [edge for rows, _, _ in curves for low, high, _ in rows for edge in (low, high) if edge]
    if not edges:
        return style.note(chart, "no read or write that took any time was measured")
    left, right = _margins(min(edges), max(edges))
    for rows, name, line in curves:
        # A latency of zero is drawn at the left edge, since a logarithmic axis has no zero.
        _add_curve(chart, [(max(low, left), max(high, left), count) for low, high, count in rows], name, line, left)
    ticks, labels = time_ticks(left, right)
    chart.update_xaxes(
        type="log",
        title_text="latency (logarithmic)",
        tickvals=ticks,
        ticktext=labels,
        range=[math.log10(left), math.log10(right)],
    )
    chart.update_yaxes(
        title_text="commands no slower (probability axis)",
        tickvals=[_probit(percent / 100) for percent in _TICKS],
        ticktext=[f"{percent:g} %" for percent in _TICKS],
        range=[_probit(0.0008), _probit(0.999_993)],
    )
    return chart


#: Numbers of a latency that are compared: field, title.
_COMPARED = (
    ("mean_ns", "mean"),
    ("p50_ns", "p50"),
    ("p90_ns", "p90"),
    ("p99_ns", "p99"),
    ("p99_9_ns", "p99.9"),
    ("p99_99_ns", "p99.99"),
    ("max_ns", "max"),
)
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross", "star")


def percentiles(runs: Sequence[RunData]) -> go.Figure:
    """Returns mean and percentiles of reads and writes of each run, divided by those of the first run."""
    ops = [op for op in ("read", "write") if runs[0].latency[op].mean_ns and any(run.latency[op].count for run in runs[1:])]
    if not ops:
        return style.note(style.figure(130), "the first run and the others have no operation in common that took any time")
    chart = style.panels(360, 1, len(ops), shared_yaxes=True, horizontal_spacing=0.05)
    names = style.run_names(runs)
    meanings = {title: terms.below(terms.key(f"latency.OP.{field}")) for field, title in _COMPARED}
    ratios: list[float] = [1.0]
    for column, op in enumerate(ops, 1):
        for index, (name, run) in enumerate([*zip(names, runs, strict=True)][1:], 1):
            points = _ratios(run.latency[op], runs[0].latency[op])
            ratios += [quotient for _, quotient, _ in points if quotient]
            chart.add_scatter(
                x=[title for title, _, _ in points],
                y=[quotient for _, quotient, _ in points],
                mode="lines+markers",
                line={"color": style.run_colour(index), "width": 1.4},
                marker={"size": 9, "symbol": _SYMBOLS[index % len(_SYMBOLS)]},
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                customdata=[text + meanings[title] if text else "" for title, _, text in points],
                hovertemplate="%{x}: %{customdata}<extra>" + name + "</extra>",
                row=1,
                col=column,
            )
        order = {"categoryorder": "array", "categoryarray": [title for _, title in _COMPARED]}
        chart.update_xaxes(title_text=f"{op}s", type="category", tickangle=-35, **order, row=1, col=column)
        chart.add_hline(y=1, line={"color": style.run_colour(0), "width": 2}, row=1, col=column)
        chart.add_annotation(text=names[0], x=0, xref="x domain", y=1, **_ABOVE_LINE, row=1, col=column)
    _ratio_axis(chart, min(ratios), max(ratios))
    library.stack_when_narrow(chart, ("", "2")[: len(ops)], 360)
    return chart


_ABOVE_LINE = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"size": 11}}


def _ratios(mine: Latency, base: Latency) -> list[tuple[str, float | None, str]]:
    """Returns the title, ratio and text of each number of a latency; no ratio where a run has too few samples."""
    pairs = [(title, getattr(mine, field), getattr(base, field)) for field, title in _COMPARED]
    return [
        (title, value / old, f"× {significant(value / old, 3)}, {duration(value)} against {duration(old)}")
        if value and old
        else (title, None, "")
        for title, value, old in pairs
    ]


def _ratio_axis(chart: go.Figure, low: float, high: float) -> None:
    """Sets the axis of ratios to the first run: linear, or logarithmic if they are far apart."""
    chart.update_yaxes(title_text="ratio to the first run", col=1, row=1)
    if high < 3 * low:
        margin = max(0.12 * (high - low), 0.02)
        chart.update_yaxes(range=[low - margin, high + margin], tickprefix="× ", nticks=7)
        return
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    ends = [math.log10(low / 1.25), math.log10(high * 1.25)]
    # A line and a text at the ratio 1: the axis takes the logarithm of the text's place.
    chart.for_each_annotation(lambda text: text.update(y=0))
    chart.update_yaxes(type="log", tickvals=ticks, ticktext=[f"× {tick:g}" for tick in ticks], range=ends)


def time_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Returns ticks of a logarithmic time axis from `low` to `high` [ns]: decades, divided 1-2-5 if there are few."""
    first, last = math.floor(math.log10(max(low, 1.0))), math.ceil(math.log10(max(high, 1.0)))
    steps = (1, 2, 5) if last - first <= 5 else (1,)
    ticks = [step * 10.0**decade for decade in range(first, last + 1) for step in steps]
    return ticks, [duration(tick, 1) for tick in ticks]


def _margins(low: float, high: float) -> tuple[float, float]:
    """Returns the ends of an axis from `low` to `high` with a margin, which is larger if they are close together."""
    margin = max(1.1, (16 * low / high) ** 0.5, (high / low) ** 0.04)
    return low / margin, high * margin


def _histogram(run: RunData, op: str) -> list[tuple[float, float, int]]:
    """Returns rows ``(low, high, count)`` of one operation in ascending order, with exact minimum and maximum."""
    table = run.latency_table()
    columns = (table.column(name).to_pylist() for name in ("op", "low_ns", "high_ns", "count"))
    rows = [(float(low), float(high), count) for kind, low, high, count in zip(*columns, strict=True) if kind == op]
    if rows:
        least, most = run.latency[op].min_ns, run.latency[op].max_ns
        rows[0] = (max(rows[0][0], least or 0.0), rows[0][1], rows[0][2])
        rows[-1] = (rows[-1][0], min(rows[-1][1], most or rows[-1][1]), rows[-1][2])
    return rows


def _add_curve(chart: go.Figure, rows: list[tuple[float, float, int]], name: str, line: dict[str, Any], zero_at: float) -> None:
    """Adds one distribution: solid up to the last meaningful percentile, then dotted. Latency 0 is at `zero_at`."""
    total = sum(count for _, _, count in rows)
    if not total:
        return
    xs, ys = _curve(rows, total)
    limit = _probit(1 - _SAMPLES_BEYOND / total) if total > _SAMPLES_BEYOND else -math.inf
    split = next((index for index, y in enumerate(ys) if y > limit), len(ys))
    if 0 < split < len(ys):
        share = (limit - ys[split - 1]) / (ys[split] - ys[split - 1])
        xs.insert(split, xs[split - 1] * (xs[split] / xs[split - 1]) ** share)
        ys.insert(split, limit)
        split += 1
    for part, begin, end in (("solid", 0, split), ("tail", max(split - 1, 0), len(ys))):
        if end - begin < 2:
            continue
        look = line if part == "solid" else {**line, "dash": "dot", "width": 1.2}
        chart.add_scatter(
            x=xs[begin:end],
            y=ys[begin:end],
            mode="lines",
            line=look,
            name=name,
            legendgroup=name,
            showlegend=part == "solid" or split < 2,
            customdata=[
                f"{duration(x if x > zero_at else 0)}<br>{100 * NormalDist().cdf(y):.4f} %"
                for x, y in zip(xs[begin:end], ys[begin:end], strict=True)
            ],
            hovertemplate="%{customdata}<extra>" + name + "</extra>",
        )


def _curve(rows: list[tuple[float, float, int]], total: int) -> tuple[list[float], list[float]]:
    """Returns the corners of the distribution, without those that a screen cannot tell from the last one kept."""
    xs: list[float] = []
    ys: list[float] = []

    def add(x: float, share: float, always: bool) -> None:
        y = _probit(min(max(share, 0.5 / total), 1 - 0.5 / total))
        if always or not xs or abs(math.log10(x / xs[-1])) > 0.002 or abs(y - ys[-1]) > 0.02:
            xs.append(x)
            ys.append(y)

    seen = 0
    previous_high = 0.0
    for index, (low, high, count) in enumerate(rows):
        gap = low > previous_high * 1.005
        add(low, seen / total, gap)
        seen += count
        last = index + 1 == len(rows) or rows[index + 1][0] > high * 1.005
        add(high, seen / total, last)
        previous_high = high
    return xs, ys


def _probit(share: float) -> float:
    return NormalDist().inv_cdf(share)
