"""Drawing of a drive as SVG, with the utilisation of its resources after a run.

Equal diagrams and results give equal bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from ssdlab.drawing import looks
from ssdlab.drawing.layout import Box, Flow, arrange
from ssdlab.units import percent

#: Width of the grid [columns], and the size of its cells [pixels].
_COLUMNS, _CELL_WIDTH, _CELL_HEIGHT = 120, 8, 20

#: Largest number of resources that a box shows one by one in a row, and of a kind in all: of more, each cell shows the
#: busiest of several.
_IN_ROW, _IN_ALL = 32, 256

#: Largest number of resources that the text of a part lists one by one.
_IN_WORDS = 8

#: Width of a letter of small text, at most on average [pixels].
_LETTER = 7

#: Width of the name of a kind of resources before its cells [pixels].
_NAME_WIDTH = 112

#: Utilisation from which a resource is called the bottleneck. A convention: with random arrivals and services (M/M/1),
#: commands spend nine tenths of their time at it waiting.
SATURATED = 0.9

#: Colours of utilisations, darker as they rise: red, green, blue.
_COLOURS = tuple((share, looks.parts(colour)) for share, colour in looks.HEAT)


def svg(
    diagram: Mapping[str, Any],
    utilisation: Mapping[str, float] | None = None,
    bottleneck: Mapping[str, Any] | None = None,
) -> str:
    """Returns a diagram as SVG.

    Args:
        diagram: Parts and flows, as the engine returns them.
        utilisation: Section `utilisation` of a summary, by which resources are coloured; none: the drive alone.
        bottleneck: Section `bottleneck` of the summary.
    """
    shares = utilisation or {}
    layout = arrange(diagram, _COLUMNS, lambda node: _rows_of_cells(node, shares))
    width, rows = _COLUMNS * _CELL_WIDTH, layout.height
    parts = [*(_flow(flow) for flow in layout.flows), *(_box(box, shares, bottleneck) for box in layout.boxes)]
    for note in layout.notes:
        rows += 1
        parts.append(_text(0, rows * _CELL_HEIGHT - 5, note, looks.MUTED))
    if utilisation is not None:
        rows += 2
        parts.append(_scale(width, (rows - 1) * _CELL_HEIGHT))
    height = rows * _CELL_HEIGHT + 2
    name = escape(f"Diagram of the drive {diagram['drive']}")
    about = escape(" ".join(_in_words(box, shares, bottleneck) for box in layout.boxes))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {width + 2} {height}" width="{width + 2}" height="{height}" '
        f'role="img" font-family="{looks.FONT}" font-size="{looks.TEXT}" style="max-width:100%;height:auto">\n'
        f'<title>{name}</title>\n<desc>{about}</desc>\n<rect x="-1" y="-1" width="{width + 2}" height="{height}" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def busiest(shares: Mapping[str, float], names: Sequence[str]) -> str:
    """Returns the name with the highest value, the first among equals."""
    return max(names, key=lambda name: shares.get(name, 0.0))


def resource_name(key: str) -> str:
    """Returns the name of a resource for people, from that of its value: ``channel 3`` for ``channel_3``."""
    return key.replace("_", " ")


def _kinds(node: Mapping[str, Any], shares: Mapping[str, float]) -> list[list[str]]:
    """Returns the names of a part's values that a summary has, those that differ by a number together."""
    kinds: dict[str, list[str]] = {}
    for name in node["utilisation"]:
        if name in shares and not node["is_ideal"]:
            kinds.setdefault(name.rstrip("0123456789"), []).append(name)
    return list(kinds.values())


def _groups(names: Sequence[str]) -> list[Sequence[str]]:
    """Returns the resources of each cell of a kind."""
    size = -(-len(names) // _IN_ALL)
    return [names[first : first + size] for first in range(0, len(names), size)]


def _rows_of_cells(node: Mapping[str, Any], shares: Mapping[str, float]) -> int:
    """Returns the rows that the cells of a part take. A text on the busiest has the last row of the box."""
    return sum(-(-len(_groups(names)) // _IN_ROW) for names in _kinds(node, shares))


def colour(share: float) -> str:
    """Returns the colour of a utilisation."""
    return "#{:02x}{:02x}{:02x}".format(*_heat_parts(share))


def _heat_parts(share: float) -> tuple[int, ...]:
    share = min(max(share, 0.0), 1.0)
    for (low, light), (high, dark) in pairwise(_COLOURS):
        if share <= high:
            part = (share - low) / (high - low)
            return tuple(round(a + part * (b - a)) for a, b in zip(light, dark, strict=True))
    return _COLOURS[-1][1]


def _pale(share: float) -> str:
    """Returns a pale colour of a utilisation, on which dark text is readable."""
    return "#{:02x}{:02x}{:02x}".format(*(round(255 - 0.4 * (255 - value)) for value in _heat_parts(share)))


def _text(x: float, y: float, text: str, fill: str = looks.INK, extra: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}"{extra}>{escape(text)}</text>'


def _flow(flow: Flow) -> str:
    corners = " ".join(f"{x * _CELL_WIDTH + _CELL_WIDTH // 2},{y * _CELL_HEIGHT + _CELL_HEIGHT // 2}" for x, y in flow.points)
    line = f'<polyline points="{corners}" fill="none" stroke="{looks.RULE}" stroke-width="1.5"/>'
    if flow.at is None:
        return line
    x, y = flow.at
    # A text at the right of its line begins near it; one at the left ends near it.
    is_left = x < flow.points[1][0]
    place, anchor = ((x + len(flow.text)) * _CELL_WIDTH, ' text-anchor="end"') if is_left else (x * _CELL_WIDTH, "")
    return line + _text(place, y * _CELL_HEIGHT + 14, flow.text, looks.MUTED, f'{anchor} font-size="12"')


def _box(box: Box, shares: Mapping[str, float], bottleneck: Mapping[str, Any] | None) -> str:
    x, y = box.x * _CELL_WIDTH, box.y * _CELL_HEIGHT
    width, height = box.width * _CELL_WIDTH, box.height * _CELL_HEIGHT
    if box.is_thin:
        rect = f'<rect x="{x}" y="{y + 1}" width="{width}" height="{height - 2}" rx="9" fill="white" '
        rect += f'stroke="{looks.RULE}" stroke-dasharray="3 3"/>'
        return rect + _text(x + width / 2, y + 14, box.title, looks.MUTED, ' text-anchor="middle" font-size="12"')
    kinds = _kinds(box.node, shares)
    names = [name for kind in kinds for name in kind]
    fill = _pale(shares[busiest(shares, names)]) if names else "white"
    is_bottleneck = bottleneck is not None and _is_bottleneck(bottleneck, names)
    border = f'stroke="{looks.ALERT}" stroke-width="3"' if is_bottleneck else f'stroke="{looks.RULE}"'
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{fill}" {border}/>']
    parts.append(_text(x + 12, y + 15, box.title, extra=' font-weight="600"'))
    if is_bottleneck:
        extra = ' text-anchor="end" font-weight="600"'
        parts.append(_text(x + width - 12, y + 15, "bottleneck", looks.ALERT, extra))
    parts += [_text(x + 12, y + 15 + _CELL_HEIGHT * number, line) for number, line in enumerate(box.lines, 1)]
    top = y + _CELL_HEIGHT * (1 + len(box.lines)) + 1
    for kind in kinds:
        before = _NAME_WIDTH if len(kinds) > 1 else 0
        if before:
            parts.append(_text(x + 12, top + 12, resource_name(kind[0].rstrip("0123456789_")), looks.MUTED, ' font-size="12"'))
        parts += _cells(x + 12 + before, top, width - 24 - before, kind, shares)
        top += _CELL_HEIGHT * -(-len(_groups(kind)) // _IN_ROW)
    if names:
        parts.append(_text(x + 12, top + 11, _busiest_text(names, len(kinds), shares, width - 24), extra=' font-size="12"'))
    return "\n".join(parts)


def _in_words(box: Box, shares: Mapping[str, float], bottleneck: Mapping[str, Any] | None) -> str:
    """Returns a sentence on a part, for those who do not see the diagram, with how busy its resources are."""
    kinds = _kinds(box.node, shares)
    names = [name for kind in kinds for name in kind]
    busy = [f"{resource_name(name)} {percent(shares[name])} busy" for name in names]
    if len(names) > _IN_WORDS:
        busy = [_busiest_text(names, len(kinds), shares, 10_000)]
    limit = ["the bottleneck"] if bottleneck is not None and _is_bottleneck(bottleneck, names) else []
    return f"{box.title}: {', '.join([*box.lines, *limit, *busy])}." if box.lines or busy else f"{box.title}."


def _is_bottleneck(bottleneck: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Returns true if one of these resources limits the drive."""
    return bottleneck["resource"] in names and bottleneck["utilisation"] >= SATURATED


def _busiest_text(names: Sequence[str], kinds: int, shares: Mapping[str, float], width: int) -> str:
    """Returns a text on the busiest of some resources; with their mean if there is room for it."""
    busy = busiest(shares, names)
    share = percent(shares[busy])
    if len(names) == 1:
        return f"{resource_name(busy)}: {share} of the time"
    said = f"busiest: {resource_name(busy)}, {share}"
    mean = f" of the time; mean {percent(sum(shares[name] for name in names) / len(names))}" if kinds == 1 else " of the time"
    return said + mean if len(said + mean) * _LETTER <= width else said


def _cells(x: int, y: int, width: int, names: Sequence[str], shares: Mapping[str, float]) -> list[str]:
    """Returns a cell for each resource of a kind."""
    groups = _groups(names)
    in_row = min(len(groups), _IN_ROW)
    step = min(width / in_row, 64.0)
    parts = []
    for number, group in enumerate(groups):
        name = busiest(shares, group)
        share = shares[name]
        left, top = x + number % in_row * step, y + number // in_row * _CELL_HEIGHT
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{step - 2:.1f}" height="16" rx="2" fill="{colour(share)}" '
            f'stroke="{looks.RULE}" stroke-width="0.5"><title>{escape(resource_name(name))}: {percent(share)} busy</title></rect>'
        )
        if step >= 48:
            ink = "white" if share > 0.9 else looks.INK
            parts.append(_text(left + step / 2 - 1, top + 12, percent(share), ink, ' text-anchor="middle" font-size="11"'))
    return parts


def _scale(width: int, y: int) -> str:
    """Returns the scale of the colours."""
    steps, step = 20, 9
    left = width - steps * step - 40
    parts = [_text(left - 8, y + 12, "busy: 0 %", looks.MUTED, ' text-anchor="end" font-size="12"')]
    for number in range(steps):
        share = number / (steps - 1)
        parts.append(f'<rect x="{left + number * step}" y="{y}" width="{step}" height="16" fill="{colour(share)}"/>')
    parts.append(_text(width, y + 12, "100 %", looks.MUTED, ' text-anchor="end" font-size="12"'))
    return "\n".join(parts)
