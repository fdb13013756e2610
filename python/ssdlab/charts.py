"""Charts: one description, drawn by plotly (a page that works offline) or by matplotlib (a picture for a paper)."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ssdlab.drawing import looks
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Axis", "Chart", "Mark", "Series", "check_chart_file", "has_matplotlib"]

#: Size of a picture [inches], and its resolution [dots per inch].
_SIZE, _DPI = (7.2, 4.5), 160
#: Letters of the title in one line of a picture.
_TITLE_LETTERS = 66
_AXIS_LETTERS = {"x": 72, "y": 44}


@dataclass(frozen=True, slots=True)
class Axis:
    """Axis of a chart.

    Examples:
        >>> ssdlab.charts.Axis("latency [us]", log=True).counts
        False
    """

    title: str
    log: bool = False
    #: Positions and texts of the tick labels; empty: chosen by the plotting library.
    ticks: tuple[tuple[float, str], ...] = ()
    #: True if the values are counts, shown with thousands separators.
    counts: bool = False
    #: Lowest and highest value shown; ``None``: chosen by the plotting library.
    span: tuple[float, float] | None = None
    #: The better values: ``lower`` or ``higher``; empty if neither are.
    better: str = ""

    def text(self) -> str:
        """Returns the title with the better values.

        Examples:
            >>> ssdlab.charts.Axis("mean latency [us]", better="lower").text()
            'mean latency [us], lower is better'
        """
        return f"{self.title}, {self.better} is better" if self.better else self.title


@dataclass(frozen=True, slots=True)
class Series:
    """Curve, or in a chart of stacked bars the share of one name in each bar. Points that are not numbers are gaps.

    Examples:
        >>> curve = ssdlab.charts.Series("reads", x=[1, 8, 32], y=[14, 90, 320])
        >>> curve.dashed
        False
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float]
    #: Bounds of each point, drawn as error bars.
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    points: bool = True
    dashed: bool = False
    #: False: points without a curve through them.
    joined: bool = True
    #: Index of the colour (and marker), or a colour; ``None``: the index of the series.
    colour: int | str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Line across the chart at one value of an axis.

    Examples:
        >>> ssdlab.charts.Mark(3000, "rated").on
        'y'
    """

    at: float
    text: str
    #: Axis of the value: ``x`` or ``y``.
    on: str = "y"


@dataclass(frozen=True, slots=True)
class Chart:
    """Description of a chart.

    Examples:
        >>> chart = ssdlab.cell.rber("ofwar-mlc", pe=[3_000, 10_000], age=["1d", "1y"]).chart()
        >>> chart.title, [one.name for one in chart.series]
        ('ofwar-mlc: error rate of the worst page, step 0.2 V', ['3,000 cycles', '10,000 cycles'])
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()
    #: True for stacked bars; `x` of every series holds the names of the bars.
    stacked: bool = False
    #: True if `x` of every series holds names of cases in no order: points are drawn without a curve through them.
    cases: bool = False
    #: True if the name of each series stands beside its last point instead of in a legend.
    labelled: bool = False
    #: True if the series are ordered by a quantity: their colours then follow a ramp.
    ordered: bool = False
    #: Title of the legend.
    legend: str = ""
    #: Caveat without which the chart would mislead, in one line.
    note: str = ""

    @in_own_words
    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Draws the chart into a file: a page (``.html``), or a picture (``.png``, ``.svg``, ``.pdf``).

        Raises:
            InputError: the name has another ending, the file exists (unless `force`), or matplotlib is missing for a
                picture.

        Examples:
            >>> chart = ssdlab.cell.rber("ofwar-mlc", pe=[3_000, 10_000], age=["1d", "1y"]).chart()
            >>> chart.save("rber.html")
            PosixPath('rber.html')
        """
        target = check_chart_file(Path(path), force)
        with new_file(target) as beside:
            _BACK_ENDS[target.suffix](self, beside, target.suffix[1:])
        return target

    def looks(self) -> list[tuple[str, tuple[str, str]]]:
        """Returns for each series its colour and the marker of its points (names in plotly and in matplotlib).

        Examples:
            >>> curve = ssdlab.charts.Series("reads", x=[1, 8, 32], y=[14, 90, 320])
            >>> depth, rate = ssdlab.charts.Axis("depth", log=True), ssdlab.charts.Axis("kIOPS")
            >>> chart = ssdlab.charts.Chart(title="Random reads", x=depth, y=rate, series=(curve,))
            >>> [marker for colour, marker in chart.looks()]
            [('circle', 'o')]
        """
        places = [at if one.colour is None else one.colour for at, one in enumerate(self.series)]
        last = max((place for place in places if isinstance(place, int)), default=0)
        marks = [*looks.MARKS.items()]
        return [
            (place, marks[0]) if isinstance(place, str) else (self._colour(place, last), marks[place % len(marks)])
            for place in places
        ]

    def _colour(self, place: int, last: int) -> str:
        return _ramp(place / max(last, 1)) if self.ordered else looks.RUNS[place % len(looks.RUNS)]

    def has_legend(self) -> bool:
        """Returns True if the chart needs a legend to tell its series apart.

        Examples:
            >>> curve = ssdlab.charts.Series("reads", x=[1, 8, 32], y=[14, 90, 320])
            >>> depth, rate = ssdlab.charts.Axis("depth", log=True), ssdlab.charts.Axis("kIOPS")
            >>> chart = ssdlab.charts.Chart(title="Random reads", x=depth, y=rate, series=(curve,))
            >>> chart.has_legend()
            False
        """
        return len(self.series) > 1 and not self.labelled

    def cases_named(self) -> list[str]:
        """Returns the names of the cases or bars along the x axis; none for other charts.

        Examples:
            >>> curve = ssdlab.charts.Series("reads", x=[1, 8, 32], y=[14, 90, 320])
            >>> depth, rate = ssdlab.charts.Axis("depth", log=True), ssdlab.charts.Axis("kIOPS")
            >>> chart = ssdlab.charts.Chart(title="Random reads", x=depth, y=rate, series=(curve,))
            >>> chart.cases_named()
            []
        """
        return [str(name) for name in self.series[0].x] if self.series and (self.cases or self.stacked) else []

    def labels(self, which: str) -> tuple[tuple[float, str], ...]:
        """Returns positions and texts of the tick labels of axis ``x`` or ``y``; empty: the plotting library chooses.

        A logarithmic axis gets plain numbers ("100 us", not a power of ten), and if it has less than two decades, also
        between them, where the libraries have no labels. Numbers below 0.001 or above a million remain powers of ten.

        Examples:
            >>> curve = ssdlab.charts.Series("reads", x=[1, 8, 32], y=[14, 90, 320])
            >>> depth, rate = ssdlab.charts.Axis("depth", log=True), ssdlab.charts.Axis("kIOPS")
            >>> chart = ssdlab.charts.Chart(title="Random reads", x=depth, y=rate, series=(curve,))
            >>> [text for at, text in chart.labels("x")]
            ['1', '2', '5', '10', '20']
        """
        axis = self.x if which == "x" else self.y
        if axis.ticks or not axis.log:
            return axis.ticks
        shown = [value for one in self.series for value in getattr(one, which)]
        shown += [mark.at for mark in self.marks if mark.on == which] + list(axis.span or ())
        positive = [value for value in shown if isinstance(value, float | int) and value > 0 and math.isfinite(value)]
        if not positive:
            return ()
        low, high = min(positive), max(positive)
        if high >= 100 * low and (low < 1e-3 or high > 1e6):
            return ()
        digits = (1,) if high >= 100 * low else (1, 2, 3, 4, 5, 6, 7, 8, 9) if high < 10 * low else (1, 2, 5)
        decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        values = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        return tuple((value, _plain(value, axis.title)) for value in values if low <= value <= high)


#: Unit of time at the end of an axis title.
_TIME_UNIT = re.compile(r"[(\[](ns|us|ms|s)[)\]]$")


def _plain(value: float, title: str) -> str:
    """Returns the text of a tick: a plain number, of a time with the unit in which the axis is."""
    number = f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    unit = _TIME_UNIT.search(title)
    return f"{number} {unit[1]}" if unit else number


def _ramp(share: float) -> str:
    """Returns the colour at position `share`, from 0 to 1, of the ramp."""
    at = share * (len(looks.RAMP) - 1)
    first = min(int(at), len(looks.RAMP) - 2)
    parts = []
    for place in (1, 3, 5):
        low, high = (int(looks.RAMP[first + step][place : place + 2], 16) for step in (0, 1))
        parts.append(round(low + (high - low) * (at - first)))
    return "#" + "".join(f"{part:02x}" for part in parts)


def check_chart_file(path: Path, force: bool) -> Path:
    """Returns `path` if a chart can be drawn there.

    Raises:
        InputError: the name has an unknown ending, matplotlib is missing, or no file can be written there.

    Examples:
        >>> from pathlib import Path
        >>> ssdlab.charts.check_chart_file(Path("reads.html"), force=False).name
        'reads.html'
    """
    if path.suffix not in _BACK_ENDS:
        raise InputError(f"{path}: expected a name in {', '.join(_BACK_ENDS)}")
    if path.suffix != ".html":
        _needs_matplotlib(path)
    return check_new_file(path, force)


def has_matplotlib() -> bool:
    """Returns True if matplotlib, which pictures need, is installed.

    Examples:
        >>> ssdlab.charts.has_matplotlib() in (True, False)
        True
    """
    return find_spec("matplotlib") is not None


def _needs_matplotlib(path: Path) -> None:
    if not has_matplotlib():
        raise InputError(f"{path}: pictures need matplotlib: pip install matplotlib; a page in .html does not")


# Back end for pages: plotly.


def _page(chart: Chart, path: Path, _: str) -> None:
    # Start-up: pages need plotly, a chart as such does not.
    from ssdlab.report import library, style

    figure = style.figure(620, margin={"l": 80, "r": 160, "t": 40, "b": 60})
    for one, (colour, (mark_shape, _)) in zip(chart.series, chart.looks(), strict=True):
        _trace(figure, chart, one, colour, mark_shape)
    if chart.stacked:
        figure.update_layout(barmode="relative", bargap=0.35)
    legend = {"title": {"text": chart.legend}, "orientation": "v", "x": 1.01, "y": 1.0, "yanchor": "top"}
    figure.update_layout(showlegend=chart.has_legend(), legend=legend)
    # On a narrow window the legend stands below the chart.
    beside = {"height": 620, "margin.r": 160, "legend.orientation": "v", "legend.x": 1.01, "legend.y": 1.0}
    below = {"height": 620, "margin.r": 16, "legend.orientation": "h", "legend.x": 0.0, "legend.y": -0.16}
    figure.update_layout(meta={"wide": beside, "narrow": below})
    figure.update_xaxes(**_plotly_axis(chart.x, chart.labels("x")), **({"type": "category"} if chart.cases_named() else {}))
    figure.update_yaxes(**_plotly_axis(chart.y, chart.labels("y")))
    for mark in chart.marks:
        _plotly_mark(figure, chart, mark)
    if chart.note:
        place = {"x": 0, "y": 1.0, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(text=chart.note, showarrow=False, font={"size": looks.AXIS_TEXT, "color": looks.WARNING}, **place)
    path.write_text(library.page_of_figure(figure, chart.title), encoding="utf-8")


def _trace(figure: Any, chart: Chart, one: Series, colour: str, shape: str) -> None:
    if chart.stacked:
        figure.add_bar(x=list(one.x), y=list(one.y), name=one.name, marker={"color": colour})
        return
    errors: dict[str, Any] = {}
    if one.low is not None and one.high is not None:
        up = [high - y for high, y in zip(one.high, one.y, strict=True)]
        down = [y - low for low, y in zip(one.low, one.y, strict=True)]
        errors = {"error_y": {"array": up, "arrayminus": down, "symmetric": False, "thickness": looks.ERROR, "width": 3}}
    figure.add_scatter(
        x=list(one.x),
        y=list(one.y),
        name=one.name,
        mode="+".join(_plotly_mode(chart, one)) or "none",
        text=[""] * (len(one.x) - 1) + [one.name] if chart.labelled else None,
        textposition="top center",
        cliponaxis=not chart.labelled,
        line={"color": colour, "width": looks.CURVE, "dash": "dash" if one.dashed else "solid"},
        marker={"size": looks.MARK_ALONE if chart.cases or chart.labelled else looks.MARK, "symbol": shape, "color": colour},
        **errors,
    )


def _plotly_mode(chart: Chart, one: Series) -> Iterator[str]:
    if one.joined and not chart.cases:
        yield "lines"
    if one.points or chart.cases:
        yield "markers"
    if chart.labelled:
        yield "text"


def _plotly_mark(figure: Any, chart: Chart, mark: Mark) -> None:
    """Adds a line and its text. On a log axis plotly takes the value for the line, its logarithm for the text."""
    line = {"color": looks.INK, "width": looks.MARK_LINE, "dash": "dot"}
    axis, across = (chart.x, "y") if mark.on == "x" else (chart.y, "x")
    place = math.log10(mark.at) if axis.log else mark.at
    ends = {f"{mark.on}0": mark.at, f"{mark.on}1": mark.at, f"{across}0": 0, f"{across}1": 1}
    figure.add_shape(type="line", line=line, **ends, **{f"{mark.on}ref": mark.on, f"{across}ref": f"{across} domain"})
    text = {
        "text": mark.text,
        "showarrow": False,
        "bgcolor": "rgba(255,255,255,0.75)",
        "font": {"size": looks.FINE_TEXT, "color": looks.MUTED},
    }
    anchor = {"xanchor": "left", "yanchor": "top"} if mark.on == "x" else {"xanchor": "right", "yanchor": "bottom"}
    where = {mark.on: place, across: 1, f"{mark.on}ref": mark.on, f"{across}ref": f"{across} domain"}
    figure.add_annotation(**text, **anchor, **where)


def _plotly_axis(axis: Axis, labels: Sequence[tuple[float, str]]) -> dict[str, Any]:
    settings: dict[str, Any] = {"title_text": axis.text()}
    if axis.log:
        settings |= {"type": "log", "exponentformat": "power", "dtick": 1}
    if axis.counts:
        settings["tickformat"] = ","
    if labels:
        settings |= {"tickvals": [at for at, _ in labels], "ticktext": [text for _, text in labels]}
        settings.pop("dtick", None)
    if axis.span is not None:
        settings["range"] = [math.log10(end) for end in axis.span] if axis.log else list(axis.span)
    return settings


# Back end for pictures: matplotlib.


def _picture(chart: Chart, path: Path, kind: str) -> None:
    # Start-up: matplotlib, which pages do not need.
    import matplotlib
    from matplotlib.figure import Figure

    fine = looks.FINE_TEXT * looks.POINT
    with matplotlib.rc_context(looks.picture()), warnings.catch_warnings():
        # Axes with one point, or with no point that they can show, cause warnings; they are drawn all the same.
        warnings.simplefilter("ignore")
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        axes = figure.subplots()
        axes.set_title(
            "\n".join(wrap(chart.title, _TITLE_LETTERS)), loc="left", fontsize=looks.TITLE_TEXT * looks.POINT, fontweight="bold"
        )
        draw = _bars if chart.stacked else _curves
        draw(axes, chart)
        _matplotlib_axis(axes, "x", chart.x, chart.labels("x"))
        _matplotlib_axis(axes, "y", chart.y, chart.labels("y"))
        _slant(axes, [text for _, text in chart.labels("x")] or chart.cases_named())
        for mark in chart.marks:
            _mark(axes, mark)
        axes.grid(color=looks.GRID, linewidth=looks.GRID_LINE * looks.POINT, axis="y" if chart.stacked else "both")
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if chart.note:
            figure.supxlabel(chart.note, x=0.01, ha="left", fontsize=fine, color=looks.WARNING)
        if chart.has_legend():
            # Beside the axes, not under the title, which may be as wide as the picture.
            beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
            axes.legend(title=chart.legend or None, **beside, fontsize=fine, title_fontsize=fine, frameon=False)
        # Without the time of day: equal charts give equal files.
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
        figure.savefig(path, format=kind, metadata=metadata)


def _curves(axes: Axes, chart: Chart) -> None:
    for one, (colour, (_, shape)) in zip(chart.series, chart.looks(), strict=True):
        curve = "none" if chart.cases or not one.joined else looks.DASHES["dash" if one.dashed else "solid"][0]
        style: dict[str, Any] = {"color": colour, "linewidth": looks.CURVE * looks.POINT, "linestyle": curve}
        alone = chart.cases or chart.labelled
        marker: dict[str, Any] = (
            {"marker": shape, "markersize": (looks.MARK_ALONE if alone else looks.MARK) * looks.POINT}
            if one.points or alone
            else {}
        )
        x: Any = list(one.x)
        if one.low is not None and one.high is not None:
            up = [max(high - y, 0.0) for high, y in zip(one.high, one.y, strict=True)]
            down = [max(y - low, 0.0) for low, y in zip(one.low, one.y, strict=True)]
            axes.errorbar(
                x,
                list(one.y),
                yerr=(down, up),
                label=one.name,
                capsize=2,
                elinewidth=looks.ERROR * looks.POINT,
                **style,
                **marker,
            )
        else:
            axes.plot(x, list(one.y), label=one.name, **style, **marker)
        if chart.labelled and x:
            place: dict[str, Any] = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center", "va": "bottom"}
            axes.annotate(one.name, (x[-1], one.y[-1]), **place, fontsize=looks.FINE_TEXT * looks.POINT, color=colour)
    if chart.labelled:
        axes.margins(x=0.12, y=0.1)


def _bars(axes: Axes, chart: Chart) -> None:
    """Draws stacked bars; negative values are stacked downwards from zero."""
    names = chart.cases_named()
    above, below = [0.0] * len(names), [0.0] * len(names)
    for one, (colour, _) in zip(chart.series, chart.looks(), strict=True):
        bottom = [up if y >= 0 else down for y, up, down in zip(one.y, above, below, strict=True)]
        axes.bar(names, list(one.y), bottom=bottom, color=colour, label=one.name, width=0.62)
        above = [up + max(y, 0.0) for y, up in zip(one.y, above, strict=True)]
        below = [down + min(y, 0.0) for y, down in zip(one.y, below, strict=True)]


def _slant(axes: Axes, labels: Sequence[str]) -> None:
    """Slants the labels of the x axis if they would overlap."""
    letter, width = 5.5, 330.0  # in points: width of a letter, and of the axes beside a legend
    if labels and max(map(len, labels)) * letter > width / len(labels):
        axes.tick_params(axis="x", labelsize=looks.FINE_TEXT * looks.POINT, labelrotation=45.0)
        for label in axes.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def _matplotlib_axis(axes: Axes, which: str, axis: Axis, labels: Sequence[tuple[float, str]]) -> None:
    # Start-up: matplotlib, which pages do not need.
    from matplotlib.ticker import NullFormatter, NullLocator, StrMethodFormatter

    place = axes.xaxis if which == "x" else axes.yaxis
    place.set_label_text("\n".join(wrap(axis.text(), _AXIS_LETTERS[which])))
    if axis.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log", nonpositive="mask")
    if axis.counts:
        place.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if labels:
        place.set_ticks([at for at, _ in labels], [text for _, text in labels])
        place.set_minor_locator(NullLocator())
        place.set_minor_formatter(NullFormatter())
    if axis.span is not None:
        (axes.set_xlim if which == "x" else axes.set_ylim)(*axis.span)


def _mark(axes: Axes, mark: Mark) -> None:
    line: dict[str, Any] = {
        "color": looks.INK,
        "linewidth": looks.MARK_LINE * looks.POINT,
        "linestyle": looks.DASHES["dot"][0],
    }
    if mark.on == "x":
        axes.axvline(mark.at, **line)
        axes.annotate(
            mark.text,
            (mark.at, 0.99),
            xycoords=("data", "axes fraction"),
            xytext=(3, 0),
            textcoords="offset points",
            va="top",
            fontsize=looks.FINE_TEXT * looks.POINT,
            color=looks.MUTED,
        )
    else:
        axes.axhline(mark.at, **line)
        axes.annotate(
            mark.text,
            (0.995, mark.at),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="right",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
            va="bottom",
            fontsize=looks.FINE_TEXT * looks.POINT,
            color=looks.MUTED,
            zorder=1.5,  # behind curves and points
        )


_BACK_ENDS: dict[str, Callable[[Chart, Path, str], None]] = {
    ".html": _page,
    ".png": _picture,
    ".svg": _picture,
    ".pdf": _picture,
}
