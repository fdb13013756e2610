"""Why a tail is long, as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ssdlab.cli.fitting import put
from ssdlab.cli.views import new_table
from ssdlab.report import tail as content
from ssdlab.report.content import in_words, short
from ssdlab.tails import Tail, Why
from ssdlab.trials import summary_of
from ssdlab.units import duration


def show(console: Console, found: Why) -> None:
    """Prints why the tails of a run are long."""
    run = found.result
    # First: a folder may be damaged, and then nothing is printed.
    sentences = found.sentences
    tables = [_causes(found, op, tails) for op, tails in found.tails.items()]
    tables += [_fields(found)] if found.fields else []
    console.print(Text.assemble((f"{short(run.drive)} · {short(run.workload)}", "bold"), (f"   policy {run.policy}", "dim")))
    console.print()
    for sentence in sentences:
        console.print(Text(sentence))
        console.print()
    for table in tables:
        put(console, table)
    if found.trials:
        put(console, _trials(found), kept=2)


def _causes(found: Why, op: str, tails: Sequence[Tail]) -> Table:
    """Returns the causes of an operation's latency, in the mean and in each tail, the largest of the slowest first."""
    table = new_table(f"{op}s by cause", "mean", *(tail.name for tail in tails))
    for cause in content.tail_causes(found, op):
        table.add_row(in_words(cause), *content.tail_cells(found, op, cause))
    table.add_row("all", *(duration(whole) for whole, _ in content.tail_columns(found, op)))
    table.columns[0].no_wrap = False
    return table


def _fields(found: Why) -> Table:
    """Returns the fields that bear on the largest causes."""
    table = new_table("field", "in this drive", "what may help", "for")
    for field in found.fields:
        table.add_row(field.name, content.shortened_value(field.value or "–"), content.shortened_value(field.helps), field.cause)
    for column in table.columns[1:]:
        column.justify = "left"
    return table


def _trials(found: Why) -> Table:
    """Returns what each trial did."""
    effects = found.trials[0].effects
    table = new_table("trial", "cost", *(f"{one.op} {one.measure}" for one in effects))
    for trial in found.trials:
        cells = summary_of(trial)
        table.add_row(content.shortened_value(cells[0]), *cells[1:], *[""] * (len(effects) - len(cells) + 2))
    table.columns[1].justify = "left"
    table.caption = "change with its 95 % interval; (noise): the interval contains no change"
    table.caption_justify = "left"
    for trial in found.trials:
        if trial.refused:
            table.caption += f"\n{content.shortened_value(trial.setting)}: {trial.refused}"
    return table
