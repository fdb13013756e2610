"""``ssdlab paper``: published experiments, with the simulated value beside each published one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli import given, options
from ssdlab.cli.claims import list_claims, name_of_claim, show_claim
from ssdlab.cli.console import json_text, print_json, remark, standard_output
from ssdlab.cli.keeping import Ending, Results, conclude, write_or_keep
from ssdlab.cli.progress import work_bar
from ssdlab.errors import InputError, unknown_name
from ssdlab.files import undisturbed

if TYPE_CHECKING:
    from rich.console import Console

    from ssdlab.experiments import Experiments, Outcome

#: Width from which a table of values has all its columns [characters].
_NARROW = 110

_COLOURS = {
    "met": "green",
    "missed": "red",
    "shown": "dim",
    "reproduced": "green",
    "direction only": "yellow",
    "holds if": "yellow",
    "differs": "red",
    "contradicts itself": "dim",
    "not testable": "dim",
    "not comparable": "dim",
    "derived": "dim",
    "input": "dim",
    "sanity": "dim",
}
#: First names that are no experiments.
_ABOUT_CLAIMS = ("claim", "claims")
_Names = typer.Argument(
    metavar="NAME|all|claims [WORK]|claim ID",
    help="Experiments, or all of them; claims: their ids, or those of some works; claim ID: one of them.",
)
_Runs = typer.Option(
    "--runs",
    metavar="DIR",
    help="Keep the sweeps of an experiment there, so that an interrupted one goes on.",
    rich_help_panel="Output",
)
_Traces = typer.Option(
    "--traces", metavar="DIR", help="Your trace files, found by name and checked; without them look-alikes are run."
)
_Out = typer.Option(
    "--out", metavar="DIR", help="Write RESULTS.md, its content as JSON, pictures and tables.", rich_help_panel="Output"
)
_Update = typer.Option(
    "--update",
    help="Replace the named experiments in the page of --out, and keep its others.",
    rich_help_panel="Output",
)


def paper(
    names: Annotated[list[str] | None, _Names] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Draw and measure less where the full size takes minutes.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All seeds, the regions in which claims hold, and what must be believed: hours.")
    ] = False,
    traces: Annotated[Path | None, _Traces] = None,
    out: Annotated[Path | None, _Out] = None,
    runs: Annotated[Path | None, _Runs] = None,
    update: Annotated[bool, _Update] = False,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run published experiments: show our value beside each published one, which values are missed, and why.

    `ssdlab paper` lists the experiments; `ssdlab paper NAME ...` runs those named, and `ssdlab paper all` every one.

    `ssdlab paper claims [WORK ...]` lists the claims with their ids and times.

    `ssdlab paper claim ID` runs the part of an experiment behind one claim.
    """
    from ssdlab.experiments import find  # Start-up: it imports what lists the installed packages.

    experiments = find()
    summaries = experiments.summaries()
    if not names:
        if out is not None or traces is not None or update:
            raise InputError(f"no experiment is named: expected one or more of {', '.join(summaries)}, or `all`")
        _list(summaries, json)
        return
    if quick and full:
        raise InputError("--quick, --full: expected one of them")
    if names[0] in _ABOUT_CLAIMS:
        if out is not None or update:
            raise InputError(f"--out, --update: `paper {names[0]}` writes no page")
        _about_claims(experiments, names, json, lambda bar: (quick, traces, bar, runs, full), quiet or json)
        return
    wanted = _chosen_names(names, [*summaries])
    if update and out is None:
        raise InputError("--update: expected --out with the folder of a page")
    with _reservation(out, force or update):
        kept = experiments.load(out) if update and out is not None and out.exists() else ()
        outcomes: list[Outcome] = []
        ending = Ending()

        def write(path: Path) -> None:
            experiments.save(_merged_outcomes(kept, outcomes, [*summaries]), path, force=force or update)
            if path == out and not quiet:
                _say_what_was_written(out, outcomes)

        folder = None if out is None else Results(out, write, lambda: json_text(_document(outcomes)))
        try:
            for name in wanted:
                with work_bar(name, quiet or json) as progress:
                    outcomes.append(experiments.run(name, quick, traces, progress, runs, full))
                if not json:
                    _show(standard_output(), outcomes[-1])
        except KeyboardInterrupt:
            if not outcomes:
                raise
            ending = Ending(interrupted=True)
        except (Exception, SystemExit):  # `rich` exits when a pipe has been closed.
            # The outcomes so far took minutes to compute.
            if folder is not None and outcomes:
                with undisturbed():
                    write_or_keep(folder)
            raise
        meaning = f"{len(outcomes)} of {len(wanted)} experiments are complete"
        conclude(lambda: print_json(_document(outcomes)) if json else None, folder, ending, meaning, quiet=quiet)


def _about_claims(
    experiments: Experiments, names: Sequence[str], json: bool, settings: Callable[[Any], tuple[Any, ...]], quiet: bool
) -> None:
    """Lists claims, or runs one; `settings` are those of the run, with its progress bar."""
    if names[0] == "claims":
        list_claims(experiments.claims(), names[1:], json)
        return
    with work_bar(name_of_claim(names[1:]), quiet) as progress:
        show_claim(experiments.run_claim(names[1], *settings(progress)), json)


def _merged_outcomes(kept: Sequence[Outcome], new: Sequence[Outcome], order: Sequence[str]) -> list[Outcome]:
    """Returns the kept outcomes with the new ones in their places, in the order of the experiments."""
    found = {outcome.name: outcome for outcome in (*kept, *new)}
    return sorted(found.values(), key=lambda outcome: order.index(outcome.name) if outcome.name in order else len(order))


def _document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns the outcomes of the experiments, as ``--json`` prints them."""
    documents = [outcome.as_json() for outcome in outcomes]
    return documents[0] if len(documents) == 1 else {"experiments": documents}


def _list(summaries: Mapping[str, str], json: bool) -> None:
    """Prints the list of experiments."""
    if json:
        print_json({"experiments": [{"name": name, "summary": summary} for name, summary in summaries.items()]})
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli.views import name_list

    standard_output().print(name_list("name", "what", summaries))


def _chosen_names(names: Sequence[str], known: list[str]) -> list[str]:
    """Returns the named experiments, each once, in the given order; `all` stands for every experiment.

    Raises:
        InputError: a name is unknown.
    """
    wrong = [unknown_name("experiment", name, [*known, "all"]) for name in names if name not in (*known, "all")]
    if wrong:
        raise InputError("\n".join(str(each) for each in wrong))
    return known if "all" in names else [*dict.fromkeys(names)]


def _reservation(out: Path | None, force: bool) -> AbstractContextManager[None]:
    """Checks, before anything runs, that the folder can be written, and reserves it against other processes."""
    return nullcontext() if out is None else given.Targets(out, force, None).reserved()


def _say_what_was_written(out: Path, outcomes: Sequence[Outcome]) -> None:
    # Start-up: only pictures need it.
    from ssdlab.charts import has_matplotlib

    remark(f"wrote {out}")
    if not has_matplotlib() and any(outcome.pictures for outcome in outcomes):
        remark("no pictures: they need matplotlib: pip install matplotlib")


def _show(console: Console, outcome: Outcome) -> None:
    """Prints the entries of an outcome as a table, grouped by source work, then its notes."""
    # Start-up: JSON needs no rich.
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    # In a narrow terminal, what the report has as well gives way to the values.
    narrow = console.width < _NARROW
    shown = ("what", "published", "ours") if narrow else ("where", "what", "published", "standing", "ours", "accepted")
    for title in ("", *shown, ""):
        table.add_column(title)
    notes = outcome.notes
    work = ""
    for entry in outcome:
        if entry.work != work:
            work = entry.work
            table.add_row("", f"[bold]{work}[/bold]")
        verdict = f"[{_COLOURS[entry.verdict]}]{entry.verdict}[/]"
        texts = {"where": entry.where, "what": entry.what, "published": entry.published, "standing": entry.standing}
        texts |= {"ours": entry.shown, "accepted": entry.accepted}
        note = f"({notes.index(entry.note) + 1})" if entry.note else ""
        # A bracket in a cell is text, not markup.
        table.add_row(verdict, *(escape(texts[name]) for name in shown), note)
    console.print(table)
    for number, note in enumerate(notes, 1):
        console.print(f"({number}) {note}", style="dim", markup=False)
    # A missed value is said even if there is none.
    counts = ", ".join(f"{count} {verdict}" for verdict, count in outcome.counts.items() if count or verdict == "missed")
    console.print(counts)
