"""Looks of figures: the one table of colours, widths and fonts, for plotly, matplotlib, SVG and the scripts of pages.

Lengths are in pixels of a page. A picture for a paper has :data:`POINT` points for each of them.
"""

from __future__ import annotations

from typing import Any

# Colours.

INK, MUTED, GRID = "#1f2933", "#66727f", "#e6e9ed"
#: Borders of boxes, what is over its limit, and caveats.
RULE, ALERT, WARNING = "#8a94a0", "#a3201a", "#b3261e"
#: Colours of the background: error bars and padding, reads that were repaired, parts that are free.
PALE, LIGHT, FREE = "#b8c0c9", "#9cc4e4", "#dfe3e8"
#: Colours of equal weight.
BLUE, ORANGE, GREEN, PLUM = "#2b6ea6", "#d0732a", "#2f8f6b", "#a8456b"
VIOLET, OLIVE, TEAL, SLATE = "#7a62a8", "#9a8432", "#3d97a8", "#4a5563"
WINE, MINT, SKY, MOSS = "#8c2f45", "#5aa884", "#5b9bd0", "#3f8f6d"
#: Colour of each operation.
OPERATIONS = {"read": BLUE, "write": ORANGE, "all": "#5b6470"}
#: Colours of runs that are overlaid, and of curves in no order.
RUNS = (SLATE, ORANGE, BLUE, GREEN, PLUM, VIOLET, OLIVE, TEAL)
#: Colours of write modes, and of the levels of a cell.
MODES = (BLUE, ORANGE, GREEN, VIOLET, OLIVE, PLUM, TEAL, MUTED)
LEVELS = (MUTED, BLUE, GREEN, ORANGE, VIOLET, OLIVE, PLUM, TEAL)
#: Colours that people with a colour vision deficiency tell apart (after Okabe and Ito), for what is stacked.
DISTINCT = {
    "blue": "#0072b2",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#e6d230",
    "orange": "#e69f00",
    "red": "#d55e00",
    "purple": "#cc79a7",
    "black": "#3b3b3b",
    "grey": "#b4bac1",
    "rest": "#999999",
}
#: Colours of curves that are ordered by a quantity, dark to light: as viridis, but each with a contrast of at least 3
#: with white.
RAMP = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#1f8a86", "#259062", "#5a8f2b", "#8f8a1c")
#: Scale of how busy the resources of a map are, by share.
BUSY = ((0.0, "#f3f6f9"), (0.35, "#b9d2e6"), (0.7, SKY), (1.0, "#174a75"))
#: Scale of how busy the boxes of a diagram are, by share.
HEAT = ((0.0, "#f4f6f8"), (0.5, "#fae4b0"), (0.8, "#eea65c"), (1.0, "#b22820"))
#: Scales of the points of a sweep: of lines, and of a map.
POINTS = ((0.0, BLUE), (0.5, "#c9c27a"), (1.0, "#b22820"))
MAP = ((0.0, "#f3f6f9"), (0.5, "#e9b872"), (1.0, "#b22820"))
#: Points of a sweep that are not selected, and those without a number.
UNSELECTED, UNKNOWN = "#e3e7eb", "#9fb3c8"

# Fonts.

FONT = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
#: Font of pictures, which comes with matplotlib: the same picture on every machine.
PICTURE_FONT = "DejaVu Sans"
#: Heights of letters [px]: of a page, of axes, of legends and notes within a picture, of a picture's title.
TEXT, AXIS_TEXT, FINE_TEXT, TITLE_TEXT = 13, 12, 11, 14

# Lines and marks.

#: Points in a picture for a pixel of a page.
POINT = 0.72
#: Widths [px]: of a curve, of error bars, of a line across a chart, of the grid, of the edge of a bar.
CURVE, ERROR, MARK_LINE, GRID_LINE, EDGE = 2.0, 1.2, 1.4, 1.0, 0.5
#: Sizes of marks on a curve, and of those that stand alone [px].
MARK, MARK_ALONE = 5.5, 7.5
#: Shapes of marks, as plotly and as matplotlib name them. With eight colours and nine shapes, a pair repeats after 72
#: series.
MARKS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "pentagon": "p",
    "cross": "P",
    "star": "*",
    "x": "X",
}
#: Dashes as plotly names them: in matplotlib, and in SVG.
DASHES: dict[str, tuple[Any, str]] = {
    "solid": ("-", ""),
    "dash": ((0, (5, 3)), "7 4"),
    "dot": ((0, (1.2, 2)), "2 3"),
}
#: Patterns of bars as plotly names them, in matplotlib.
HATCHES = {"/": "///", "x": "xxx", ".": "..."}


def parts(colour: str) -> tuple[int, ...]:
    """Returns red, green and blue of a colour."""
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def picture() -> dict[Any, Any]:
    """Returns the settings of matplotlib for a picture."""
    inked = ("axes.edgecolor", "text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        "font.family": PICTURE_FONT,
        "font.size": AXIS_TEXT * POINT,
        "svg.fonttype": "none",  # text remains text, not outlines
        "pdf.fonttype": 42,
        "svg.hashsalt": "ssdlab",
        "hatch.linewidth": 0.8,
        "hatch.color": "white",
        **dict.fromkeys(inked, INK),
    }


def script() -> dict[str, Any]:
    """Returns what the script of a sweep's page draws with."""
    return {
        "font": FONT,
        "text": TEXT,
        "axisText": AXIS_TEXT,
        "ink": INK,
        "grid": GRID,
        "pale": PALE,
        "unselected": UNSELECTED,
        "unknown": UNKNOWN,
        # A single curve is blue, as those of the other pages are.
        "curves": [BLUE, ORANGE, GREEN, PLUM, VIOLET, OLIVE, TEAL, SLATE],
        "points": [parts(colour) for _, colour in POINTS],
        "map": MAP,
        "error": ERROR,
        "curve": CURVE,
        "mark": MARK,
        "markAlone": MARK_ALONE,
    }
