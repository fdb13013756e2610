"""Drawing of a drive for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any

from ssdlab.drawing.layout import Box, Layout, arrange

#: Width of a drawing [columns].
WIDTH = 80

#: Directions in which a line leaves a cell.
_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
#: Character of each set of directions.
_LINES = " │─└││┌├─┘─┴┐┤┬┼"
#: Characters for a terminal that has no others.
_PLAIN = str.maketrans(dict(zip("│─└┌├┘┴┐┤┬┼–", "|-++++++++++-", strict=False)))


def draw(diagram: Mapping[str, Any]) -> str:
    """Returns a diagram as text of at most 80 columns."""
    layout = arrange(diagram, WIDTH)
    head = wrap(diagram["title"] or diagram["drive"], WIDTH)
    notes = [part for note in layout.notes for part in wrap(note, WIDTH)]
    return "\n".join([*head, "", *_rows(layout), *([""] if notes else []), *notes]) + "\n"


def plain(text: str) -> str:
    """Returns a drawing in ASCII."""
    return text.translate(_PLAIN)


def _rows(layout: Layout) -> list[str]:
    cells = [[0] * layout.width for _ in range(layout.height)]
    texts: list[tuple[int, int, str]] = []
    for box in layout.boxes:
        texts += _box(cells, box)
    for flow in layout.flows:
        _line(cells, flow.points)
        if flow.at is not None:
            texts.append((*flow.at, flow.text))
    rows = [[_LINES[cell] for cell in row] for row in cells]
    for x, y, text in texts:
        rows[y][x : x + len(text)] = text
    return ["".join(row).rstrip() for row in rows]


def _box(cells: list[list[int]], box: Box) -> list[tuple[int, int, str]]:
    """Draws the border of a box, and returns its texts with their places."""
    right = box.x + box.width - 1
    if box.is_thin:
        _line(cells, [(box.x, box.y), (right, box.y)])
        return [(box.middle - len(box.title) // 2 - 1, box.y, f" {box.title} ")]
    corners = [(box.x, box.y), (right, box.y), (right, box.last), (box.x, box.last), (box.x, box.y)]
    _line(cells, corners)
    title = [(box.x + 2, box.y, f" {box.title} "[: box.width - 3])]
    return title + [(box.x + 2, box.y + 1 + number, line) for number, line in enumerate(box.lines)]


def _line(cells: list[list[int]], points: Sequence[tuple[int, int]]) -> None:
    """Draws a line through points, each on a level or straight above or below the one before."""
    for (x, y), (to_x, to_y) in pairwise(points):
        step_x, step_y = (to_x > x) - (to_x < x), (to_y > y) - (to_y < y)
        ahead, back = {(1, 0): (_RIGHT, _LEFT), (-1, 0): (_LEFT, _RIGHT), (0, 1): (_DOWN, _UP), (0, -1): (_UP, _DOWN)}.get(
            (step_x, step_y), (0, 0)
        )
        while (x, y) != (to_x, to_y):
            cells[y][x] |= ahead
            x, y = x + step_x, y + step_y
            cells[y][x] |= back
