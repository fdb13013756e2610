"""Figures of the report as pictures for a paper: plotly describes them, matplotlib draws them, without a browser.

It draws what our figures use: lines, markers, bars and maps in panels that share a page, linear, logarithmic and named
axes, lines across a panel, and texts. A pixel of the figure is 0.72 points, so that its text has 9 points.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import plotly.graph_objects as go

from ssdlab.drawing import looks
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.report import library
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

__all__ = ["SUFFIXES", "Figure", "save"]

#: Endings of the names of pictures.
SUFFIXES = (".svg", ".pdf", ".png")
#: Width of a picture [px], and pixels of a figure in an inch.
_WIDTH, _PER_INCH = 960, 100
_MARGIN = {"l": 80, "r": 24, "t": 40, "b": 56}
_ACROSS = {"left": "left", "right": "right", "center": "center", "auto": "center", None: "center"}
_ALONG = {"top": "top", "bottom": "bottom", "middle": "center", "auto": "center", None: "center"}


class Figure(go.Figure):  # type: ignore[misc]
    """Figure of plotly that is also written as a picture.

    Examples:
        >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").plot_causes()
        >>> figure.save("causes.pdf").name
        'causes.pdf'
    """

    @in_own_words
    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes a picture (``.svg``, ``.pdf``, ``.png``) or an interactive page (``.html``), and returns its path.

        Raises:
            InputError: the name has another ending, or the file is there and `force` is false.

        Examples:
            >>> figure = ssdlab.run("tiny", "examples/trace.csv.gz").plot_latency()
            >>> figure.save("latency.svg").name
            'latency.svg'
            >>> figure.save("latency.jpg")
            Traceback (most recent call last):
            ssdlab.InputError: latency.jpg: expected a name in .svg, .pdf, .png, .html
        """
        return save(self, Path(path), force=force)


def save(figure: go.Figure, path: Path, *, title: str = "", force: bool = False) -> Path:
    """Writes a figure as a picture or as a page, and returns the path of the file.

    Raises:
        InputError: the name has another ending, or the file is there and `force` is false.
    """
    if path.suffix not in (*SUFFIXES, ".html"):
        raise InputError(f"{path}: expected a name in {', '.join((*SUFFIXES, '.html'))}")
    check_new_file(path, force)
    with new_file(path) as beside:
        if path.suffix == ".html":
            beside.write_text(library.page_of_figure(figure, title or path.stem), encoding="utf-8")
        else:
            _draw(figure, beside, path.suffix[1:], title)
    return path


def _draw(figure: go.Figure, path: Path, kind: str, title: str) -> None:
    # Start-up: pages need no matplotlib.
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    height = figure.layout.height or 450
    with matplotlib.rc_context(looks.picture()), warnings.catch_warnings():
        # An axis without a point that it can show causes a warning; it is drawn all the same.
        warnings.simplefilter("ignore")
        canvas = Canvas(figsize=(_WIDTH / _PER_INCH, height / _PER_INCH), dpi=_PER_INCH)
        panels = _Panels(figure, canvas, height)
        panels.draw()
        if title:
            top = canvas.get_tightbbox().y1 * _PER_INCH / height
            place: dict[str, Any] = {"x": panels.margin["l"] / _WIDTH, "y": top + 10 / height, "ha": "left", "va": "bottom"}
            canvas.text(s=title, **place, fontsize=looks.TITLE_TEXT * looks.POINT, fontweight="bold")
        # Without the time of day: equal figures give equal files.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        canvas.savefig(path, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.08, dpi=160)


class _Panels:
    """Panels of a figure as they are drawn."""

    def __init__(self, figure: go.Figure, canvas: Canvas, height: int) -> None:
        self.figure, self.canvas, self.height = figure, canvas, height
        margin = figure.layout.margin
        self.margin = {side: getattr(margin, side) if getattr(margin, side) is not None else _MARGIN[side] for side in "lrtb"}
        self.axes: dict[tuple[str, str], Axes] = {}
        #: Names of the positions of an axis with names instead of numbers.
        self.names: dict[str, list[str]] = {}
        #: Ends of the bars that are stacked, by panel and place, above and below zero.
        self.stacks: dict[tuple[str, str, Any, bool], float] = {}

    def draw(self) -> None:
        data = list(self.figure.data)
        for trace in data:
            self._panel(trace.xaxis or "x", trace.yaxis or "y")
            self._note_names(trace)
        labelled: dict[str, Any] = {}
        for trace in data:
            axes = self._panel(trace.xaxis or "x", trace.yaxis or "y")
            handle = {"scatter": self._line, "bar": self._bars, "heatmap": self._map}[trace.type](axes, trace)
            if handle is not None and trace.name and trace.showlegend is not False:
                labelled.setdefault(_text(trace.name), handle)
        if not data:
            self._panel("x", "y")
        for (x, y), axes in self.axes.items():
            self._scale(axes, x, "x")
            self._scale(axes, y, "y")
        self._share()
        for shape in self.figure.layout.shapes:
            self._shape(shape)
        for text in self.figure.layout.annotations:
            self._annotate(text)
        if len(labelled) > 1 and self.figure.layout.showlegend is not False:
            self._legend(labelled)

    def _panel(self, x: str, y: str) -> Axes:
        if (x, y) not in self.axes:
            across, along = (self._axis(name).domain or (0.0, 1.0) for name in (x, y))
            wide = _WIDTH - self.margin["l"] - self.margin["r"]
            high = self.height - self.margin["t"] - self.margin["b"]
            left, right = (self.margin["l"] + wide * end for end in across)
            bottom, top = (self.margin["b"] + high * end for end in along)
            place = (left / _WIDTH, bottom / self.height, (right - left) / _WIDTH, (top - bottom) / self.height)
            axes = self.canvas.add_axes(place)
            axes.set_axisbelow(True)
            for side in ("top", "right", "left"):
                axes.spines[side].set_visible(False)
            axes.tick_params(length=0, labelsize=looks.AXIS_TEXT * looks.POINT)
            self.axes[x, y] = axes
        return self.axes[x, y]

    def _axis(self, name: str) -> Any:
        return self.figure.layout[f"{name[0]}axis{name[1:]}"]

    def _note_names(self, trace: Any) -> None:
        for name, values in ((trace.xaxis or "x", trace.x), (trace.yaxis or "y", trace.y)):
            axis = self._axis(name)
            texts = [value for value in ([] if values is None else values) if isinstance(value, str)]
            if texts or axis.type == "category":
                known = self.names.setdefault(name, list(axis.categoryarray if axis.categoryarray is not None else ()))
                known.extend(value for value in dict.fromkeys(texts) if value not in known)

    def _places(self, name: str, values: Any) -> list[float]:
        """Returns the positions of values on an axis: numbers as they are, names by their order."""
        known = self.names.get(name)
        if known is not None:
            return [float(known.index(value)) if value in known else math.nan for value in values]
        return [math.nan if value is None else float(value) for value in values]

    # Traces.

    def _line(self, axes: Axes, trace: Any) -> Any:
        mode = trace.mode or "lines+markers"
        x, y = self._places(trace.xaxis or "x", trace.x), self._places(trace.yaxis or "y", trace.y)
        if trace.connectgaps:
            kept = [(a, b) for a, b in zip(x, y, strict=True) if not (math.isnan(a) or math.isnan(b))]
            x, y = [a for a, _ in kept], [b for _, b in kept]
        colour = trace.line.color or _first_of(trace.marker.color) or looks.INK
        style_of: dict[str, Any] = {"color": colour, "linestyle": "none"}
        if "lines" in mode:
            style_of |= {"linestyle": _dash(trace.line.dash), "linewidth": (trace.line.width or looks.CURVE) * looks.POINT}
            if trace.line.shape == "hv":
                style_of["drawstyle"] = "steps-post"
        if "markers" in mode:
            size = _first_of(trace.marker.size) or looks.MARK
            style_of |= {
                "marker": looks.MARKS.get(_first_of(trace.marker.symbol) or "circle", "o"),
                "markersize": size * looks.POINT,
            }
            if _first_of(trace.marker.color):
                looks["markerfacecolor"] = _first_of(trace.marker.color)
        (handle,) = axes.plot(x, y, **style_of)
        if mode == "lines":
            axes.margins(x=0)
        if "text" in mode and trace.text is not None:
            for at, to, text in zip(x, y, trace.text, strict=False):
                axes.annotate(
                    _text(text), (at, to), (0, 4), textcoords="offset points", ha="center", fontsize=looks.FINE_TEXT * looks.POINT
                )
        return handle

    def _bars(self, axes: Axes, trace: Any) -> Any:
        flat = trace.orientation == "h"
        x, y = trace.xaxis or "x", trace.yaxis or "y"
        at = self._places(y, trace.y) if flat else self._places(x, trace.x)
        lengths = [0.0 if math.isnan(value) else value for value in self._places(*((x, trace.x) if flat else (y, trace.y)))]
        wide = _first_of(trace.width) or (1 - (self.figure.layout.bargap or 0.2))
        if trace.offset is not None:
            at = [place + _first_of(trace.offset) + wide / 2 for place in at]
        elif self.figure.layout.barmode not in ("stack", "relative", "overlay"):
            beside = [
                other
                for other in self.figure.data
                if other.type == "bar" and (other.xaxis, other.yaxis) == (trace.xaxis, trace.yaxis)
            ]
            wide /= len(beside)
            own = next(index for index, other in enumerate(beside) if other is trace)
            at = [place + (own - (len(beside) - 1) / 2) * wide for place in at]
        starts = self._starts(trace, x, y, at, lengths)
        marker = trace.marker
        hatch = looks.HATCHES.get(marker.pattern.shape or "") if marker.pattern is not None else None
        colour = _first_of(marker.color) or looks.RUNS[0]
        style_of: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": looks.EDGE * looks.POINT}
        handle = (
            axes.barh(at, lengths, wide, left=starts, **style_of)
            if flat
            else axes.bar(at, lengths, wide, bottom=starts, **style_of)
        )
        texts = [trace.text] * len(at) if isinstance(trace.text, str) else trace.text
        span = (self._axis(x if flat else y).range or (0, max(map(abs, lengths), default=1.0)))[1] or 1.0
        for place, start, length, text in zip(at, starts, lengths, texts if texts is not None else [], strict=False):
            # A short bar has its text behind it.
            inside = trace.textposition == "inside" or length / span > 0.3
            end = start + length / 2 if inside else start + length
            aligned: dict[str, Any] = {
                "ha": "center" if inside or not flat else "left",
                "va": "center" if inside or flat else "bottom",
            }
            offset = (0, 0) if inside else (3, 0) if flat else (0, 2)
            colours: dict[str, Any] = {"color": _readable(colour) if inside else looks.INK}
            where = (end, place) if flat else (place, end)
            axes.annotate(
                _text(text),
                where,
                offset,
                textcoords="offset points",
                fontsize=looks.FINE_TEXT * looks.POINT,
                **aligned,
                **colours,
            )
        return handle[0] if len(handle) else None

    def _starts(self, trace: Any, x: str, y: str, at: Sequence[float], lengths: Sequence[float]) -> list[float]:
        """Returns where each bar begins: at its base, or at the end of those below it."""
        if trace.base is not None:
            given = trace.base if isinstance(trace.base, Sequence) or hasattr(trace.base, "__len__") else [trace.base] * len(at)
            return [float(base) for base in given]
        if self.figure.layout.barmode not in ("stack", "relative"):
            return [0.0] * len(at)
        starts = []
        for place, length in zip(at, lengths, strict=True):
            key = (x, y, place, length >= 0)
            starts.append(self.stacks.get(key, 0.0))
            self.stacks[key] = starts[-1] + length
        return starts

    def _map(self, axes: Axes, trace: Any) -> None:
        # Start-up: pages need no matplotlib.
        from matplotlib.colors import LinearSegmentedColormap

        grid = [[math.nan if value is None else float(value) for value in row] for row in trace.z]
        if not grid or not grid[0]:
            return
        scale = LinearSegmentedColormap.from_list("scale", [(float(at), colour) for at, colour in trace.colorscale])
        x, y = (
            ([*range(len(grid[0]))] if trace.x is None else self._places(trace.xaxis or "x", trace.x)),
            self._places(trace.yaxis or "y", trace.y),
        )
        edges = [[place - 0.5 for place in [*places, places[-1] + 1]] for places in (x, y)]
        mesh = axes.pcolormesh(*edges, grid, cmap=scale, vmin=trace.zmin, vmax=trace.zmax, edgecolor="white", linewidth=1)
        place = axes.get_position()
        bar = self.canvas.colorbar(mesh, cax=self.canvas.add_axes((place.x1 + 0.012, place.y0, 0.011, place.height)))
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelsize=looks.FINE_TEXT * looks.POINT)
        bar.set_label(_text(trace.colorbar.title.text or ""))
        if trace.texttemplate:
            for row, values in zip(y, grid, strict=True):
                for column, value in zip(x, values, strict=True):
                    if not math.isnan(value):
                        colour = _readable(_hex(scale((value - trace.zmin) / (trace.zmax - trace.zmin))))
                        axes.annotate(
                            f"{value:.0f}",
                            (column, row),
                            ha="center",
                            va="center",
                            fontsize=looks.FINE_TEXT * looks.POINT,
                            color=colour,
                        )

    # Axes.

    def _scale(self, axes: Axes, name: str, which: Literal["x", "y"]) -> None:
        # Start-up: pages need no matplotlib.
        from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator, NullFormatter, NullLocator

        given = self._axis(name)
        place = axes.xaxis if which == "x" else axes.yaxis
        if given.visible is False:
            place.set_visible(False)
            axes.spines["bottom"].set_visible(False)
            return
        log = given.type == "log"
        known = self.names.get(name)
        if log:
            # A bar begins at zero, which has no place on the axis: it begins at its edge.
            below = "clip" if axes.patches else "mask"
            (axes.set_xscale if which == "x" else axes.set_yscale)("log", nonpositive=below)
        if known is not None:
            place.set_ticks(range(len(known)), [_text(text) for text in known])
            (axes.set_xlim if which == "x" else axes.set_ylim)(-0.5, len(known) - 0.5)
        elif given.tickvals is not None:
            place.set_ticks(list(given.tickvals), [_text(text) for text in given.ticktext or map(str, given.tickvals)])
            place.set_minor_locator(NullLocator())
            place.set_minor_formatter(NullFormatter())
        elif not log:
            dense = len({names[0] for names in self.axes}) > 1 and which == "x"
            most = given.nticks or (6 if dense else 8)
            steps = (
                MultipleLocator(given.dtick)
                if isinstance(given.dtick, int | float)
                else MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
            )
            place.set_major_locator(steps)
        if given.range is not None and known is None:
            ends = [10.0**end for end in given.range] if log else list(given.range)
            (axes.set_xlim if which == "x" else axes.set_ylim)(*ends)
        elif given.rangemode == "tozero":
            (axes.set_xlim if which == "x" else axes.set_ylim)(0, None)
        if known is None and given.tickvals is None and (given.ticksuffix or "," in (given.tickformat or "")):
            suffix, comma = _text(given.ticksuffix or ""), "," if "," in (given.tickformat or "") else ""
            place.set_major_formatter(
                FuncFormatter(lambda value, _: f"{float(f'{value:.10g}'):{comma}}".removesuffix(".0") + suffix)
            )
        if given.autorange == "reversed":
            (axes.invert_xaxis if which == "x" else axes.invert_yaxis)()
        if given.showticklabels is False:
            axes.tick_params(axis=which, labelbottom=False, labelleft=False)
        if given.showgrid is not False:
            axes.grid(axis=which, color=looks.GRID, linewidth=looks.GRID_LINE * looks.POINT)
        if given.title.text:
            place.set_label_text(_text(given.title.text))

    def _share(self) -> None:
        """Gives axes that match each other the same ends."""
        for at, which in enumerate("xy"):
            groups: dict[str, list[Axes]] = {}
            for names, axes in self.axes.items():
                groups.setdefault(self._axis(names[at]).matches or names[at], []).append(axes)
            for panels in groups.values():
                ends = [axes.get_xlim() if which == "x" else axes.get_ylim() for axes in panels]
                if len({*ends}) > 1:
                    both = min(low for low, _ in ends), max(high for _, high in ends)
                    for axes in panels:
                        (axes.set_xlim if which == "x" else axes.set_ylim)(*both)

    # Lines and texts of the layout.

    def _reference(self, reference: str | None, default: str) -> tuple[str, bool]:
        """Returns the axis that a reference names, or `paper`; and whether it means the axis' length, no value."""
        name, _, domain = (reference or default).partition(" ")
        return name, bool(domain)

    def _shape(self, shape: Any) -> None:
        (x, along_x), (y, along_y) = self._reference(shape.xref, "x"), self._reference(shape.yref, "y")
        axes = next((axes for (own_x, own_y), axes in self.axes.items() if x in (own_x, "paper") and y in (own_y, "paper")), None)
        if axes is None or shape.type != "line":
            return
        style_of: dict[str, Any] = {
            "color": shape.line.color,
            "linewidth": (shape.line.width or 1) * looks.POINT,
            "linestyle": _dash(shape.line.dash),
        }
        if along_y or y == "paper":
            axes.axvline(self._places(x, [shape.x0])[0], **style_of)
        elif along_x or x == "paper":
            axes.axhline(self._places(y, [shape.y0])[0], **style_of)

    def _annotate(self, note: Any) -> None:
        (x, along_x), (y, along_y) = self._reference(note.xref, "x"), self._reference(note.yref, "y")
        axes = next((axes for (own_x, own_y), axes in self.axes.items() if x in (own_x, "paper") and y in (own_y, "paper")), None)
        if axes is None or note.text is None:
            return
        transform = self._transform(axes, x == "paper" or along_x, y == "paper" or along_y)
        at = [
            float(value) if free else self._value(name, value)
            for name, free, value in ((x, x == "paper" or along_x, note.x), (y, y == "paper" or along_y, note.y))
        ]
        style_of: dict[str, Any] = {
            "ha": _ACROSS[note.xanchor],
            "va": _ALONG[note.yanchor],
            "fontsize": (note.font.size or looks.AXIS_TEXT) * looks.POINT,
            "color": note.font.color or looks.INK,
            "fontweight": "bold" if "<b>" in note.text and " · " not in note.text else "normal",
        }
        if note.bgcolor:
            style_of["bbox"] = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
        axes.text(at[0], at[1], _text(note.text), transform=transform, **style_of)

    def _value(self, name: str, value: Any) -> float:
        if isinstance(value, str):
            return self._places(name, [value])[0]
        return 10.0**value if self._axis(name).type == "log" else float(value)

    def _transform(self, axes: Axes, free_x: bool, free_y: bool) -> Any:
        # Start-up: pages need no matplotlib.
        from matplotlib.transforms import blended_transform_factory

        return blended_transform_factory(
            axes.transAxes if free_x else axes.transData, axes.transAxes if free_y else axes.transData
        )

    def _legend(self, labelled: dict[str, Any]) -> None:
        longest = max(map(len, labelled))
        columns = max(1, min(len(labelled), (_WIDTH - 60) // (longest * 6.5 + 46).__ceil__()))
        titles = any(note.yanchor == "bottom" for note in self.figure.layout.annotations)
        above = 1 - (self.margin["t"] - (24 if titles else 4)) / self.height
        self.canvas.legend(
            [*labelled.values()],
            [*labelled],
            loc="lower left",
            bbox_to_anchor=(self.margin["l"] / _WIDTH - 0.01, above),
            ncols=columns,
            frameon=False,
            fontsize=looks.AXIS_TEXT * looks.POINT,
            handlelength=1.6,
            columnspacing=1.4,
            borderaxespad=0,
        )


def _dash(name: str | None) -> Any:
    """Returns the line of matplotlib for a dash of plotly."""
    return looks.DASHES.get(name or "solid", looks.DASHES["dash"])[0]


def _first_of(value: Any) -> Any:
    """Returns a value that may be given for each point: that of the first."""
    return value[0] if isinstance(value, list | tuple) and value else value


def _text(text: str | None) -> str:
    """Returns a text of plotly without its tags; its line breaks stay."""
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br ?/?>", "\n", text or ""))).replace("$", r"\$")


def _hex(colour: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour[:3])


def _readable(colour: str) -> str:
    """Returns black or white, whichever is easier to read on a colour."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", colour):
        return looks.INK
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return looks.INK if 0.3 * red + 0.59 * green + 0.11 * blue > 140 else "white"
