"""Why the tail is long: sentences, bars and tables of the report."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from ssdlab.errors import InputError
from ssdlab.report import content
from ssdlab.tails import Why, why_of
from ssdlab.units import count, duration

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ssdlab.results import RunData

#: Share of the latency, in the mean or in a tail, from which a cause is shown.
_LEAST = 0.005
#: Largest number of causes of an operation that are shown.
_MOST = 8


def why_or_none(run: RunData) -> Why | None:
    """Returns why the tails of a run are long; ``None`` for a run without any, and a result of an earlier version."""
    try:
        found = why_of(run)
    except InputError:
        return None
    return found if found.tails else None


def tail_columns(found: Why, op: str) -> list[tuple[float, Mapping[str, float]]]:
    """Returns latency and causes of an operation, in the mean and in each tail."""
    mean = (found.result.latency[op].mean_ns or 0.0, found.result.causes[op])
    return [mean, *((tail.mean_ns, tail.causes) for tail in found.tails[op])]


def tail_causes(found: Why, op: str) -> list[str]:
    """Returns the causes of an operation to be shown, the largest of the slowest commands first."""
    columns = tail_columns(found, op)
    shares: dict[str, float] = {}
    for whole, causes in columns:
        for cause, span in causes.items():
            shares[cause] = max(shares.get(cause, 0.0), span / whole)
    shown = sorted((cause for cause, share in shares.items() if share >= _LEAST), key=lambda cause: -shares[cause])[:_MOST]
    mean, slowest = columns[0][1], columns[-1][1]
    return sorted(shown, key=lambda cause: (-slowest.get(cause, 0.0), -mean.get(cause, 0.0), cause))


def tail_cells(found: Why, op: str, cause: str) -> list[str]:
    """Returns the times of a cause with their shares, in the mean and in each tail."""
    spans = [(causes.get(cause, 0.0), whole) for whole, causes in tail_columns(found, op)]
    return [f"{duration(span, 3)} · {100 * span / whole:.0f} %" if span else "–" for span, whole in spans]


def bars(found: Why) -> go.Figure:
    """Returns the latency of each operation by cause, in the mean and in each tail."""
    # Start-up: the terminal shows no bars, which need plotly.
    from ssdlab.report import causes

    rows = [
        (f"{op}s · {name}", dict(parts))
        for op in reversed([*found.tails])
        for name, (_, parts) in reversed(
            [*zip(["mean", *(tail.name for tail in found.tails[op])], tail_columns(found, op), strict=True)]
        )
    ]
    return causes.stacked_bars(rows)


def tables(found: Why) -> str:
    """Returns the tables: causes of the mean and of the tails of each operation, and the fields that bear on them."""
    parts = []
    for op, tails in found.tails.items():
        head = ["cause", "mean", *(tail.name for tail in tails)]
        rows = [[content.in_words(cause), *tail_cells(found, op, cause)] for cause in tail_causes(found, op)]
        wholes = [duration(whole) for whole, _ in tail_columns(found, op)]
        commands = [count(number) for number in (found.result.latency[op].count, *(tail.count for tail in tails))]
        rows += [["all", *wholes], ["commands", *commands]]
        parts.append(f"<h4>Causes of the {op}s</h4>" + content.table(head, rows, meanings=content.cause_meanings()))
    if found.fields:
        parts.append(f"<h4>Fields of the description that bear on it</h4>{_fields(found)}")
    return "".join(parts)


def _fields(found: Why) -> str:
    """Returns the table of the fields, with a line on how they are tried."""
    head = ["field", "in this drive", "what may help", "for", "meaning"]
    rows = [
        [
            field.name,
            shortened_value(field.value or "–"),
            shortened_value(field.helps),
            content.in_words(field.cause),
            field.meaning,
        ]
        for field in found.fields
    ]
    note = "To run the load with each of them changed, and see what it does: <code>ssdlab why --try</code> with this folder."
    return f'{content.table(head, rows, explained=True)}<p class="caption">{note}</p>'


def paragraphs(found: Why) -> str:
    """Returns the sentences, each as a paragraph."""
    return "".join(f'<p class="finding">{escape(sentence)}</p>' for sentence in found.sentences)


def shortened_value(text: str) -> str:
    """Returns a value without the fields of a table in it."""
    before, brace, _ = text.partition("{")
    return f"{before}{{ ... }}" if brace and len(text) > 40 else text
