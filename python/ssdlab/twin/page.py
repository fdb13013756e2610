"""Report of a twin: one page that works offline, with the measured and the simulated curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ssdlab.report import library, style
from ssdlab.twin.judge import COVERAGE, Judged, Score, scores
from ssdlab.units import percent, significant

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["page"]

#: Points of a curve at least.
_CURVE = 2
#: Titles of the metrics.
_TITLES = {
    "iops": "commands per second",
    "mb_s": "bandwidth [MB/s]",
    "mean_us": "mean latency [us]",
    "p50_us": "median latency [us]",
    "p99_us": "p99 latency [us]",
    "p99_9_us": "p99.9 latency [us]",
    "p99_99_us": "p99.99 latency [us]",
    "write_amplification": "write amplification",
}


def page(document: Mapping[str, Any], rows: Sequence[Judged]) -> str:
    """Returns the page of a fit."""
    held = [row for row in rows if row.use == "held"]
    fitted = [row for row in rows if row.use == "fit"]
    whole = scores(held, "all")
    size = f", simulated as a mock-up of {document['mock_up']}" if document["mock_up"] else ""
    subtitle = (
        f"{len(document['members'])} drives fitted to {len(fitted)} points of {document['base']}{size}; judged by {len(held)} "
        f"points that the fit has not seen, of which {percent(whole[0].coverage if whole else None)} are inside the 90 % "
        f"interval (wanted: {percent(COVERAGE)})"
    )
    body = [
        _scores_section("Points that the fit has not seen", scores(held, "metric"), document),
        _scores_section("The same by group of loads", scores(held, "group"), document),
        _scores_section("Points of the fit", scores(fitted, "metric"), document),
        _left_out_section(fitted),
        *_curves(rows),
        _knowledge_section(document["knowledge"]),
        _points_section(rows),
        f"<p class='caption'>Split of the points, hashed before the fit: {escape(document['split_sha256'])}</p>",
    ]
    title = f"Twin of {document['base']}"
    return library.secured_page(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · ssdlab</title>\n<style>\n{library.css()}</style>\n{library.head()}\n</head>\n<body>\n"
        f"<header>{library.THEME}<p class='eyebrow'>Twin</p><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>\n"
        f"<main>{''.join(body)}</main>\n{library.tail()}\n</body>\n</html>\n"
    )


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Returns a table, whose first column has names."""
    top = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th scope='row'>{escape(line[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in line[1:])}</tr>"
        for line in lines
    )
    return f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _scores_section(title: str, found: Sequence[Score], document: Mapping[str, Any]) -> str:
    nearest = document["nearest"]["name"] if document["nearest"] else "nearest other drive"
    lines = [
        [
            score.name,
            str(score.count),
            percent(score.median),
            percent(score.worst),
            score.worst_name,
            percent(score.coverage),
            percent(score.target),
            percent(score.unfitted),
            percent(score.nearest),
        ]
        for score in found
    ]
    head = ["", "points", "median error", "worst error", "of", "in the interval", "wanted median", "unfitted", nearest]
    return f"<section><h2>{escape(title)}</h2>{_table(head, lines)}</section>"


def _left_out_section(fitted: Sequence[Judged]) -> str:
    groups: dict[str, list[float]] = {}
    for row in fitted:
        if row.left_out is not None:
            groups.setdefault(row.group, []).append(abs(row.left_out))
    lines = [
        [name, str(len(errors)), percent(sorted(errors)[len(errors) // 2]), percent(max(errors))]
        for name, errors in groups.items()
    ]
    caption = (
        "Each group of loads is left out in turn, and the fit without it is one step of least squares from the fit with all "
        "of them."
    )
    table = _table(["group", "points", "median error", "worst error"], lines)
    return f"<section><h2>Groups left out</h2><p class='caption'>{caption}</p>{table}</section>"


def _curves(rows: Sequence[Judged]) -> list[str]:
    """Returns the sections of the curves: a group of loads and a metric each, where there are several points."""
    groups: dict[tuple[str, str, str], list[Judged]] = {}
    for row in rows:
        groups.setdefault((row.group, row.metric, row.op), []).append(row)
    found = []
    for at, ((group, metric, op), own) in enumerate(groups.items()):
        if len(own) >= _CURVE and any(row.simulated is not None for row in own):
            side = "" if op == "all" else f", {op}s"
            title = f"{group}: {_TITLES[metric]}{side}"
            chart = _chart(own, _TITLES[metric])
            drawn = library.keys(chart, f"curve-{at}") + library.place_and_script(chart, f"curve-{at}")
            found.append(f"<section><h2>{escape(title)}</h2>{drawn}</section>")
    return found


def _chart(rows: Sequence[Judged], title: str) -> go.Figure:
    """Returns the measured values of some loads with their intervals, and the simulated ones with theirs."""
    # Start-up: slow.
    import plotly.graph_objects as go

    names = [row.load.removeprefix(f"{row.group}, ") for row in rows]
    chart = style.figure(360)
    known = [(name, row) for name, row in zip(names, rows, strict=True) if row.simulated is not None]
    for label, value in (("before the fit", "unfitted"), ("nearest other drive", "nearest")):
        values = [getattr(row, value) for row in rows]
        if any(one is not None for one in values):
            chart.add_trace(go.Scatter(x=names, y=values, name=label, mode="lines", line={"dash": "dot"}))
    chart.add_trace(
        go.Scatter(
            x=[name for name, _ in known],
            y=[row.simulated for _, row in known],
            name="twin",
            mode="lines+markers",
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [(row.high or 0) - (row.simulated or 0) for _, row in known],
                "arrayminus": [(row.simulated or 0) - (row.low or 0) for _, row in known],
            },
        )
    )
    for use, label, symbol in (("fit", "measured, fitted", "circle"), ("held", "measured, unseen", "diamond-open")):
        own = [(name, row) for name, row in zip(names, rows, strict=True) if row.use == use]
        if own:
            chart.add_trace(
                go.Scatter(
                    x=[name for name, _ in own],
                    y=[row.measured for _, row in own],
                    name=label,
                    mode="markers",
                    marker={"size": 11, "symbol": symbol},
                )
            )
    chart.update_yaxes(title=title, type="log")
    chart.update_xaxes(type="category", categoryorder="array", categoryarray=names)
    return chart


def _knowledge_section(found: Mapping[str, Any]) -> str:
    lines = [
        [
            one["field"],
            one["best"],
            f"{one['low']} to {one['high']}",
            f"{one['range'][0]} to {one['range'][1]}",
            "yes" if one["determined"] else "no",
            one["would_determine"],
        ]
        for one in found["profiles"]
    ]
    head = ["field", "best", "within the noise", "range of the search", "determined", "what would determine it"]
    pairs = [
        f"<li>{escape(pair['fields'][0])} and {escape(pair['fields'][1])} trade against each other: correlation "
        f"{pair['correlation']:.2f}</li>"
        for pair in found["pairs"]
    ]
    traded = f"<ul>{''.join(pairs)}</ul>" if pairs else "<p>No two fields trade against each other.</p>"
    excess = f"<p class='caption'>The errors of the fit are {found['excess']:.2f} times the noise of the points.</p>"
    return f"<section><h2>What the points determine</h2>{excess}{_table(head, lines)}{traded}</section>"


def _points_section(rows: Sequence[Judged]) -> str:
    def shown(value: float | None) -> str:
        return "–" if value is None else significant(value)

    lines = [
        [
            row.id,
            row.use,
            row.load,
            f"{row.metric}{'' if row.op == 'all' else f' ({row.op})'}",
            shown(row.measured),
            shown(row.simulated),
            f"{shown(row.low)} to {shown(row.high)}",
            percent(row.error),
            "yes" if row.is_covered else "no",
        ]
        for row in rows
    ]
    head = ["point", "use", "load", "metric", "measured", "twin", "90 % interval", "error", "inside"]
    return f"<section><h2>All points</h2>{_table(head, lines)}</section>"
