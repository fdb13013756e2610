"""``ssdlab paper``: published experiments, our value beside the published one."""

from __future__ import annotations

from typing import Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, standard_output

_COLOURS = {"met": "green", "missed": "red", "shown": "dim"}


def paper(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The experiment; without it they are listed.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Draw and measure less where the full size takes minutes.")] = False,
    json: options.Json = False,
) -> None:
    """Run a published experiment: our value beside the published one, what was missed, and why."""
    from rich.table import Table

    from ssdlab import papers

    if name is None:
        if json:
            print_json({"experiments": [{"name": each, "summary": papers.summary(each)} for each in papers.EXPERIMENTS]})
            return
        table = Table(box=None, header_style="bold")
        table.add_column("name")
        table.add_column("what")
        for each in papers.EXPERIMENTS:
            table.add_row(each, papers.summary(each))
        standard_output().print(table)
        return
    entries = [*papers.run(name, quick)]
    counts = {verdict: sum(entry.verdict == verdict for entry in entries) for verdict in _COLOURS}
    if json:
        print_json({"experiment": name, "quick": quick, **counts, "entries": [entry.as_json() for entry in entries]})
        return
    console = standard_output()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("", "where", "what", "published", "standing", "ours", "accepted", ""):
        table.add_column(title)
    notes = [*dict.fromkeys(entry.note for entry in entries if entry.note)]
    work = ""
    for entry in entries:
        if entry.work != work:
            work = entry.work
            table.add_row("", f"[bold]{work}[/bold]")
        verdict = f"[{_COLOURS[entry.verdict]}]{entry.verdict}[/]"
        table.add_row(
            verdict,
            entry.where,
            entry.what,
            entry.published,
            entry.standing,
            entry.shown,
            entry.accepted,
            f"({notes.index(entry.note) + 1})" if entry.note else "",
        )
    console.print(table)
    for number, note in enumerate(notes, 1):
        console.print(f"({number}) {note}", style="dim")
    console.print(f"{counts['met']} met, {counts['missed']} missed, {counts['shown']} shown beside what is published")
