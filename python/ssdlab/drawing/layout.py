"""Places the parts of a drive on a grid of characters: a row for each stage, flows between the rows.

The terminal draws the grid as it is; the SVG has a rectangle for each cell of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

#: Columns between two boxes of a row, and between two flows beside the rows.
_BETWEEN, _BESIDE = 3, 3


@dataclass(slots=True)
class Box:
    """Part of a drive: its place, with the border, and its text."""

    node: Mapping[str, Any]
    #: Number of its row.
    row: int
    title: str = ""
    lines: list[str] = field(default_factory=list)
    x: int = 0
    #: First row of the stage. A thin part beside others is one lower.
    top: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    #: Numbers of flows that end at its left and at its right side.
    sides: dict[str, int] = field(default_factory=lambda: {"left": 0, "right": 0})

    @property
    def is_thin(self) -> bool:
        """True if the part costs nothing and is drawn as a line."""
        return bool(self.node["is_ideal"])

    @property
    def middle(self) -> int:
        """Column in the middle."""
        return self.x + self.width // 2

    @property
    def last(self) -> int:
        """Last row."""
        return self.y + self.height - 1

    def side(self, side: str) -> tuple[int, int]:
        """Returns the next point at which a flow ends at a side."""
        number = self.sides[side]
        self.sides[side] += 1
        y = self.y if self.is_thin else self.y + min(1 + number, self.height - 2)
        return (self.x if side == "left" else self.x + self.width - 1), y


@dataclass(frozen=True, slots=True)
class Flow:
    """Flow between two parts: corners of its line, text, and the place of the text."""

    points: list[tuple[int, int]]
    text: str
    at: tuple[int, int] | None


@dataclass(slots=True)
class Layout:
    """Drawing on a grid."""

    width: int
    height: int
    boxes: list[Box]
    flows: list[Flow]
    #: Flows for which the drawing has no place, and parts that the drive does not have, as sentences.
    notes: list[str]


#: Edge of a diagram with its boxes, the upper one first.
_Pair = tuple[Box, Box, str]


def arrange(diagram: Mapping[str, Any], width: int, extra: Callable[[Mapping[str, Any]], int] = lambda _: 0) -> Layout:
    """Places a diagram in `width` columns; a box has `extra` rows beside those of its text."""
    present = [node for node in diagram["nodes"] if node["count"] > 0]
    stages = list(dict.fromkeys(node["stage"] for node in present))
    boxes = [Box(node, stages.index(node["stage"])) for node in present]
    rows = [[box for box in boxes if box.row == row] for row in range(len(stages))]
    near, far, notes = _sorted(diagram, boxes, rows)
    sides = _sides(far, rows)
    lanes = {side: sum(chosen == side for chosen in sides) for side in ("left", "right")}
    for row in rows:
        _place_row(row, lanes["left"] * _BESIDE, width - lanes["right"] * _BESIDE)
    top = 0
    for row in rows:
        lower = 0 if all(box.is_thin for box in row) else 1
        for box in row:
            box.top, box.y = top, top + lower if box.is_thin else top
            box.height = 1 if box.is_thin else 2 + len(box.lines) + extra(box.node)
        # Between two rows is one for the flows and their texts.
        top = max(box.last for box in row) + 2
    texts = _Texts(width)
    flows = [_near(upper, lower, text, texts) for upper, lower, text in near]
    flows = [texts.with_fitting_text(flow) for flow in flows] + _far(far, sides, rows, width, texts)
    if absent := [node["name"] for node in diagram["nodes"] if node["count"] == 0]:
        notes.append(f"without {', '.join(absent)}")
    return Layout(width, top - 1, boxes, flows, notes)


def _sorted(
    diagram: Mapping[str, Any], boxes: Sequence[Box], rows: Sequence[Sequence[Box]]
) -> tuple[list[_Pair], list[_Pair], list[str]]:
    """Returns the flows between neighbours, those that pass other parts, and those that cannot be drawn."""
    by_id = {box.node["id"]: box for box in boxes}
    near: list[_Pair] = []
    far: list[_Pair] = []
    notes = []
    for edge in diagram["edges"]:
        pair = (by_id[edge["from"]], by_id[edge["to"]])
        upper, lower = sorted(pair, key=lambda box: (box.row, rows[box.row].index(box)))
        apart = lower.row - upper.row
        row = rows[upper.row]
        if apart == 1 or (apart == 0 and row.index(lower) - row.index(upper) == 1):
            near.append((upper, lower, edge["carries"]))
        elif apart > 1 and _open_sides(upper, lower, rows):
            far.append((upper, lower, edge["carries"]))
        else:
            notes.append(f"{edge['carries']}: {upper.node['name']} – {lower.node['name']}")
    return near, far, notes


def _open_sides(upper: Box, lower: Box, rows: Sequence[Sequence[Box]]) -> list[str]:
    """Returns the sides at which no other part of its row is beside either box."""
    outermost = {"left": 0, "right": -1}
    return [side for side, index in outermost.items() if all(rows[box.row][index] is box for box in (upper, lower))]


def _sides(far: Sequence[_Pair], rows: Sequence[Sequence[Box]]) -> list[str]:
    """Returns the side at which each flow passes other parts: the only one that is open, or the emptier one."""
    options = [_open_sides(upper, lower, rows) for upper, lower, _ in far]
    taken = [sides[0] for sides in options if len(sides) == 1]
    chosen = []
    for sides in options:
        if len(sides) == 1:
            chosen.append(sides[0])
        else:
            chosen.append(min(("right", "left"), key=taken.count))
            taken.append(chosen[-1])
    return chosen


def _place_row(row: Sequence[Box], left: int, right: int) -> None:
    """Places the boxes of a row from column `left` to before `right`; thin ones are as narrow as their text."""
    titles = [f"{box.node['name']}: {box.node['kind'].replace('_', ' ')}" for box in row]
    free = right - left - _BETWEEN * (len(row) - 1)
    least = [len(title) + 4 if box.is_thin else 0 for title, box in zip(titles, row, strict=True)]
    # The others share the columns that thin parts leave; if all are thin, each has a share.
    sharing = sum(not box.is_thin for box in row) or len(row)
    share = (free - sum(least)) // sharing
    widths = [needed if box.is_thin and sharing < len(row) else needed + share for needed, box in zip(least, row, strict=True)]
    widths[-1] += free - sum(widths)
    x = left
    for box, title, width in zip(row, titles, widths, strict=True):
        box.x, box.width = x, width
        fits = box.is_thin or len(title) <= width - 6
        box.title = title if fits else box.node["name"]
        said = box.node["lines"] if fits else [box.node["kind"].replace("_", " "), *box.node["lines"]]
        box.lines = [part for line in said for part in wrap(line, max(8, width - 4), break_on_hyphens=False)]
        x += width + _BETWEEN


class _Texts:
    """Places of texts and lines in the rows between the stages."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.taken: dict[int, list[tuple[int, int]]] = {}

    def take(self, y: int, first: int, last: int) -> None:
        """Takes the columns from `first` to `last` of a row."""
        self.taken.setdefault(y, []).append((first, last))

    def is_free(self, y: int, first: int, last: int) -> bool:
        """Returns True if the columns from `first` to `last` of a row are in the drawing and not taken."""
        beside = all(last < start or first > end for start, end in self.taken.get(y, []))
        return first >= 0 and last < self.width and beside

    def with_fitting_text(self, flow: Flow) -> Flow:
        """Returns the flow with its text only if there is room for it."""
        if flow.at is None:
            return flow
        x, y = flow.at
        first, last = x - 1, x + len(flow.text)
        if not self.is_free(y, first, last):
            return Flow(flow.points, flow.text, None)
        self.take(y, first, last)
        return flow


def _near(upper: Box, lower: Box, text: str, texts: _Texts) -> Flow:
    """Returns the flow between neighbours, in a row or in two."""
    if upper.row == lower.row:
        y = upper.y if upper.is_thin else lower.y if lower.is_thin else upper.y + 1
        return Flow([(upper.x + upper.width - 1, y), (lower.x, y)], text, None)
    between = lower.top - 1
    first, last = max(upper.x, lower.x) + 1, min(upper.x + upper.width, lower.x + lower.width) - 2
    if first <= last:
        x = (first + last) // 2
        texts.take(between, x, x)
        return Flow([(x, upper.last), (x, lower.y)], text, (x + 2, between))
    x = lower.x + 1 if upper.x < lower.x else lower.x + lower.width - 2
    texts.take(between, *sorted((upper.middle, x)))
    corners = [(upper.middle, upper.last), (upper.middle, between), (x, between), (x, lower.y)]
    return Flow(corners, text, None)


def _far(far: Sequence[_Pair], sides: Sequence[str], rows: Sequence[Sequence[Box]], width: int, texts: _Texts) -> list[Flow]:
    """Returns the flows that pass other parts, each in a column of its own beside the rows."""
    lanes = {side: [pair for pair, chosen in zip(far, sides, strict=True) if chosen == side] for side in ("left", "right")}
    flows = []
    for side, pairs in lanes.items():
        for number, (upper, lower, text) in enumerate(pairs):
            outside = number * _BESIDE
            x = outside if side == "left" else width - 1 - outside
            start, end = upper.side(side), lower.side(side)
            gaps = [row[0].top - 1 for row in rows[upper.row + 1 : lower.row + 1]]
            at = [(x + 2 if side == "left" else x - 1 - len(text), gap) for gap in gaps]
            points = [start, (x, start[1]), (x, end[1]), end]
            flow = next((placed for place in at if (placed := texts.with_fitting_text(Flow(points, text, place))).at), None)
            flows.append(flow or Flow(points, text, None))
    return flows
