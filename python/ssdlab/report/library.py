"""The charting library in a page, and the figures that it draws.

A page holds the cartesian bundle of plotly.js (version 4.1.1, that of the Python package; Copyright Plotly, Inc., MIT
licence), compressed with gzip: about 0.66 MB in base64, where the complete library has 4.8 MB. The page decompresses it
when it opens. It has every kind of trace that our figures use: scatter, bar and heatmap.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from plotly.io.json import to_json_plotly

from ssdlab.drawing import looks
from ssdlab.plain import visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: File of the bundle beside this module. Its kinds of traces are `KINDS`.
BUNDLE = "plotly-cartesian-4.1.1.min.js.gz"
#: Kinds of traces of our figures.
KINDS = frozenset({"bar", "heatmap", "scatter"})


#: Button of a page that makes it dark, or light again. The script of the page connects it.
THEME = '<button type="button" id="theme" aria-pressed="false">Dark</button>'


@cache
def head() -> str:
    """Returns the script that precedes a page: its figures wait until the library is there, and it is light or dark."""
    return f"<script>\n{files('ssdlab.report').joinpath('head.js').read_text(encoding='utf-8')}</script>"


@cache
def css() -> str:
    """Returns the style sheet of all pages."""
    return files("ssdlab.report").joinpath("style.css").read_text(encoding="utf-8")


@cache
def tail() -> str:
    """Returns the library and the script that draws the figures; both follow the figures of a page."""
    folder = files("ssdlab.report")
    bundle = b64encode(folder.joinpath(BUNDLE).read_bytes()).decode("ascii")
    script = folder.joinpath("draw.js").read_text(encoding="utf-8")
    return f'<script type="application/gzip" id="library">{bundle}</script>\n<script>\n{script}</script>'


#: Place of the policy in a page: behind the encoding, before anything that it governs.
_CHARSET = '<meta charset="utf-8">'
#: The element that holds the policy of a page.
_POLICY = re.compile(r'\n<meta http-equiv="Content-Security-Policy" content="[^"]*">')
#: Scripts of a page, without the compressed library, which is data.
_SCRIPTS = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def secured_page(page: str) -> str:
    """Returns a page with a Content-Security-Policy, in the place of the one that it may have.

    The page runs its own scripts as they are now, each known by its hash, and loads nothing: what stands in a name that
    it shows can neither run nor send anything. Characters that would change what is around them are shown as numbers.
    """
    page = visible(page)
    scripts = " ".join(f"'{_hash(script.encode())}'" for script in dict.fromkeys(_SCRIPTS.findall(page)))
    rules = (
        "default-src 'none'",
        f"script-src {scripts} '{_hash_of_library()}'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    policy = f'\n<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'
    return _POLICY.sub("", page, count=1).replace(_CHARSET, _CHARSET + policy, 1)


@cache
def _hash_of_library() -> str:
    """Returns the hash of the library as the page runs it, decompressed."""
    return _hash(gzip.decompress(files("ssdlab.report").joinpath(BUNDLE).read_bytes()))


def _hash(script: bytes) -> str:
    return f"sha256-{b64encode(hashlib.sha256(script).digest()).decode('ascii')}"


def place_and_script(chart: go.Figure, name: str, *, bar: bool = False) -> str:
    """Returns the place of a figure, ``figure-NAME``, and the script that draws it; `bar` adds plotly's buttons."""
    strange = {trace.type for trace in chart.data} - KINDS
    assert not strange, f"the page's library has no traces of the kinds {sorted(strange)}"
    config = f'{{"displayModeBar": {"true" if bar else "false"}, "displaylogo": false, "responsive": true}}'
    data, layout = (_script(text) for text in _parts(chart))
    place = f'<div id="figure-{escape(name)}" class="figure" style="min-height:{chart.layout.height or 450}px"></div>'
    return f'{place}<script>figures.push(() => Plotly.newPlot("figure-{name}", {data}, {layout}, {config}));</script>'


def _parts(chart: go.Figure) -> tuple[Any, Any]:
    """Returns the traces and the layout of a figure."""
    whole = chart.to_plotly_json()
    return _rounded(whole["data"]), whole["layout"]


def _rounded(value: Any) -> Any:
    """Returns traces with numbers of single precision or six digits: a screen shows no more."""
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return _packed_array(value)
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) and math.isfinite(value) else value


def _packed_array(values: np.ndarray[Any, Any]) -> Any:
    """Returns an array of one dimension in the form of plotly.js: bytes in base64, with their type."""
    if values.dtype.kind != "f" or values.ndim != 1:
        return _rounded(values.tolist())
    return {"dtype": "f4", "bdata": b64encode(values.astype("<f4").tobytes()).decode("ascii")}


def _script(value: Any) -> str:
    """Returns a value as JSON that can stand in a script of a page."""
    text: str = to_json_plotly(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def keys(chart: go.Figure, name: str, meanings: dict[str, str] | None = None) -> str:
    """Returns the legend of a figure as buttons that hide and show its traces.

    A button shows the meaning of its name when the pointer or the focus is on it. Empty for a figure with fewer than
    two names. The buttons wrap, so that no width clips them.
    """
    found: dict[str, Any] = {}
    for trace in chart.data:
        if trace.name and trace.showlegend is not False:
            found.setdefault(trace.name, trace)
    if len(found) < 2 or chart.layout.showlegend is False:
        return ""
    items = "".join(_key(title, trace, (meanings or {}).get(title, "")) for title, trace in found.items())
    return f'<div class="keys" data-figure="figure-{escape(name)}">{items}</div>'


def _key(title: str, trace: Any, meaning: str) -> str:
    """Returns one entry of a legend: a swatch that looks as the trace does, and its name."""
    said = f' title="{escape(meaning)}"' if meaning else ""
    return f'<button type="button" aria-pressed="true" data-name="{escape(title)}"{said}>{_swatch(trace)}{escape(title)}</button>'


def _swatch(trace: Any) -> str:
    """Returns a picture of a trace's look: a square of its colour and pattern, or a line of its colour and dash."""
    if trace.type == "bar":
        colour, shape = trace.marker.color, trace.marker.pattern.shape
        lines = _PATTERNS.get(shape or "", "")
        square = f'<rect width="14" height="12" rx="2" fill="{colour}"/>{lines}'
        return f'<svg width="14" height="12" aria-hidden="true">{square}</svg>'
    colour = trace.line.color or trace.marker.color
    dashes = looks.DASHES[trace.line.dash or "solid"][1]
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    line = f'<line x1="0" x2="22" y1="6" y2="6" stroke="{colour}" stroke-width="2.4"{dash}/>'
    return f'<svg width="22" height="12" aria-hidden="true">{line}</svg>'


_STROKE = 'stroke="white" stroke-width="1.4"'
_PATTERNS = {
    "/": f'<path d="M0 8 L8 0 M3 12 L14 1 M9 12 L14 7" {_STROKE}/>',
    "x": f'<path d="M0 6 L6 12 M2 0 L14 12 M0 6 L6 0 M2 12 L14 0" {_STROKE}/>',
    ".": "".join(f'<circle cx="{x}" cy="{y}" r="1.3" fill="white"/>' for x in (3, 8, 12) for y in (3, 9)),
}


def page_of_figure(chart: go.Figure, title: str) -> str:
    """Returns a page that holds one figure called ``figure-chart``."""
    return secured_page(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css()}</style>\n{head()}\n</head>\n"
        f'<body>\n<header class="chart">{THEME}<h1>{escape(title)}</h1></header>\n'
        f"<main>\n<section>{place_and_script(chart, 'chart', bar=True)}</section>\n</main>\n{tail()}\n</body>\n</html>\n"
    )


def stack_when_narrow(chart: go.Figure, columns: Sequence[str], height: int, gap: int = 70) -> None:
    """Lets the columns of a figure of one row stand one below the other where the window is narrow.

    Args:
        chart: Figure of one row.
        columns: Suffixes of its axes from left to right: "", "2", "3".
        height: Height of the figure while its columns stand beside each other [px]; each keeps it when narrow.
        gap: Space for tick labels and a title between two panels [px].
    """
    total = len(columns) * height
    share, between = 1.0 / len(columns), gap / total
    narrow: dict[str, Any] = {"height": total}
    wide: dict[str, Any] = {"height": height}
    for at, suffix in enumerate(columns):
        top = 1.0 - at * share
        x, y = f"xaxis{suffix}", f"yaxis{suffix}"
        narrow |= {f"{x}.domain": [0.0, 1.0], f"{y}.domain": [top - share + (between if at + 1 < len(columns) else 0.0), top]}
        narrow |= {f"{y}.showticklabels": True}
        wide |= {f"{x}.domain": list(chart.layout[x].domain), f"{y}.domain": list(chart.layout[y].domain)}
        wide |= {f"{y}.showticklabels": chart.layout[y].showticklabels is not False}
    chart.update_layout(meta={"narrow": narrow, "wide": wide})
