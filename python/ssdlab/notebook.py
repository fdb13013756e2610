"""Results as short tables of HTML, which notebooks show in place of the text form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from ssdlab.report.content import LATENCY_COLUMNS, comparison_rows, latency_rows, value_text, warnings
from ssdlab.units import ratio, scaled, significant

if TYPE_CHECKING:
    import pyarrow as pa

    from ssdlab.results import RunData

__all__ = ["comparison_table", "result_table", "sweep_table"]

#: Largest number of rows of a sweep that are shown.
_ROWS = 20
#: Columns of a sweep that are shown besides those that differ between its points.
_NUMBERS = ("status", "throughput.iops", "latency.all.mean_ns", "latency.all.p99_ns", "write_amplification")


def result_table(result: RunData) -> str:
    """Returns the main numbers of a run: latency, throughput and write amplification."""
    head = ["latency", "commands", *(title for _, title in LATENCY_COLUMNS)]
    numbers = [
        [
            scaled(result.iops, "IOPS"),
            scaled(result.read_bytes_per_s, "B/s"),
            scaled(result.write_bytes_per_s, "B/s"),
            ratio(result.write_amplification),
        ]
    ]
    return _block(
        repr(result),
        warnings(result),
        _table(head, latency_rows(result)),
        _table(["throughput", "read", "write", "write amplification"], numbers),
    )


def comparison_table(title: str, runs: Sequence[RunData]) -> str:
    """Returns the main numbers of the runs side by side, with their ratios to those of the first."""
    rows = []
    for group, members in comparison_rows(runs):
        rows.append([group, *("" for _ in runs)])
        for row in members:
            base = row.values[0]
            cells = [row.texts[0]]
            for text, value in zip(row.texts[1:], row.values[1:], strict=True):
                cells.append(f"{text} (×{significant(value / base, 3)})" if value is not None and base else text)
            rows.append([row.title, *cells])
    found = [f"{run.policy}: {warning}" for run in runs for warning in warnings(run)]
    return _block(title, found, _table(["", *(run.policy for run in runs)], rows))


def sweep_table(title: str, table: pa.Table, varied: Sequence[str]) -> str:
    """Returns the first rows of a sweep: what differs between its points, and the numbers used most often."""
    names = [*varied, "seed", *(name for name in _NUMBERS if name in table.column_names)]
    rows = [[value_text(name, row[name]) for name in names] for row in table.slice(0, _ROWS).select(names).to_pylist()]
    more = [f"{table.num_rows - _ROWS} more rows in .table"] if table.num_rows > _ROWS else []
    return _block(title, more, _table(names, rows))


def _block(title: str, remarks: Iterable[str], *tables: str) -> str:
    lines = "".join(f"<p><strong>{escape(remark)}</strong></p>" for remark in remarks)
    return f"<div><p>{escape(title.strip('<>'))}</p>{lines}{''.join(tables)}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f'<th scope="col">{escape(title)}</th>' if title else "<td></td>" for title in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
