"""Tables fitted to the width of the terminal: texts are folded, and columns that do not fit go into tables below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

__all__ = ["fits", "put"]

#: Width that a folded text has at least [characters].
_TEXT = 24
#: Width in which a table is measured [characters]: wider than any.
_WIDE = 100_000


def put(console: Console, table: Table, kept: int = 1) -> None:
    """Prints a table in the width of the console.

    If it is wider, columns of texts (those that may wrap) are folded. If the others alone are wider, they are
    distributed over several tables, one below the other, each of which begins with the first `kept` columns.
    """
    for part in _parts(console, table, kept):
        console.print(part)


def fits(console: Console, table: Table) -> bool:
    """Returns True if the table is printed as it is."""
    return _width(console, table) <= console.width


def _parts(console: Console, table: Table, kept: int) -> list[Table]:
    """Returns the tables into which a table is split."""
    if fits(console, table):
        return [table]
    groups: list[list[int]] = []
    first = range(kept)
    for index in range(kept, len(table.columns)):
        if groups and _fits_folded(console, _part(table, [*first, *groups[-1], index])):
            groups[-1].append(index)
        else:
            groups.append([index])
    parts = [_part(table, [*first, *group]) for group in groups]
    for part in parts[1:]:
        part.title = None
    for part in parts:
        if not _fits_folded(console, part):
            for column in part.columns:
                column.no_wrap, column.overflow = False, "fold"
    return parts


def _fits_folded(console: Console, table: Table) -> bool:
    """Returns True if the table fits once its texts are folded to their least width."""
    least = _part(table, range(len(table.columns)))
    for column in least.columns:
        if not column.no_wrap:
            column.max_width = _TEXT
    return fits(console, least)


def _width(console: Console, table: Table) -> int:
    """Returns the width of a table whose texts are not folded."""
    return Measurement.get(console, console.options.update(width=_WIDE), table).maximum


def _part(table: Table, indexes: Sequence[int]) -> Table:
    """Returns some columns of a table, in the style of the whole."""
    part = Table(
        box=table.box,
        pad_edge=table.pad_edge,
        title=table.title,
        title_justify=table.title_justify,
        title_style=table.title_style,
        header_style=table.header_style,
        show_header=table.show_header,
    )
    columns = [table.columns[index] for index in indexes]
    part.columns = [_empty(column, index) for index, column in enumerate(columns)]
    cells = [list(column.cells) for column in columns]
    for index, row in enumerate(table.rows):
        part.add_row(*(each[index] for each in cells), style=row.style, end_section=row.end_section)
    return part


def _empty(column: Column, index: int) -> Column:
    """Returns a column without its cells, at another place of a table."""
    return replace(column, _index=index, _cells=[])
