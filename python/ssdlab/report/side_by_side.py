"""The table of a comparison: the main numbers of every run, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from ssdlab.report import content, streams
from ssdlab.report.content import Row, comparison_rows, measures
from ssdlab.report.verdict import judgement, marked_html
from ssdlab.run_names import varied_settings
from ssdlab.units import ratio

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Largest number of runs whose ratios stand beside the numbers; those of more stand below them.
_BESIDE = 3
#: Largest number of settings that the page lists.
_MOST_SETTINGS = 24


def table(runs: Sequence[RunData], names: Sequence[str]) -> str:
    """Returns the table. On a narrow window each number names its run, and the numbers of a row wrap."""
    body = []
    meanings = measures()
    for group, rows in [*comparison_rows(runs), *streams.compared_rows(runs)]:
        body.append(content.group(group, len(names) + 1))
        body += [_row(row, names, meanings, runs) for row in rows]
    kind = "wraps compare" if len(runs) <= _BESIDE else "wraps compare many"
    return content.framed_table(content.headings(("", *names), {}), body, kind)


def settings(runs: Sequence[RunData], names: Sequence[str]) -> str:
    """Returns a table of the settings in which the runs differ, by their full names; empty if they differ in none."""
    rows = [[".".join(path), *values] for path, values in varied_settings(runs).items()]
    more = len(rows) - _MOST_SETTINGS
    if more > 1:
        rows = [*rows[:_MOST_SETTINGS], [f"and {more} more", *("" for _ in names)]]
    return content.table(["field", *names], rows) if rows else ""


def _row(row: Row, names: Sequence[str], meanings: Mapping[str, str], runs: Sequence[RunData]) -> str:
    cells = [content.row_heading(row.title, meanings.get(row.title, ""))]
    for index, (name, text, value) in enumerate(zip(names, row.texts, row.values, strict=True)):
        base = row.values[0]
        said = ""
        if index and value and base:
            quotient = value / base
            said = f"<small>{marked_html(f'× {ratio(quotient, 3)}', judgement(quotient, row.better, runs[index]))}</small>"
        elif index and value and base == 0 and row.better < 0:
            said = f"<small>{marked_html('from none', 'worse')}</small>"
        cells.append(f'<td data-column="{escape(name)}">{escape(text)}{said}</td>')
    return f"<tr>{''.join(cells)}</tr>"
