"""``ssdlab why``: why the tail of a run is long, and what a change of the fields behind it does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.measure import answering
from ssdlab.cli.progress import progress_bar
from ssdlab.files import damaged
from ssdlab.tails import Why
from ssdlab.trying import why as explain
from ssdlab.units import counted


def why(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder: of `run --out`, or of one run of a comparison.")],
    attempt: Annotated[
        bool,
        typer.Option(
            "--try",
            help="Run the load again with each of the fields changed, from the same seed, and show what it does.",
        ),
    ] = False,
    commands: Annotated[
        int,
        typer.Option("--commands", metavar="N", min=1, help="Commands of each job after which a trial of --try stops."),
    ] = 200_000,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say why the tail of a run is long: causes of the slowest commands, and the fields that bear on them."""
    if not attempt:
        with damaged(folder):
            _show(folder, explain(folder), json)
        return
    with answering(quiet), progress_bar(quiet) as start:
        found = explain(folder, trials=True, commands=commands, progress=start)
    if not quiet:
        remark(f"{counted(len(found.trials), 'run')} of at most {counted(commands, 'command')} of each job")
    _show(folder, found, json)


def _show(folder: Path, found: Why, json: bool) -> None:
    """Prints the answer in the requested form."""
    if json:
        print_json({"folder": str(folder), **found.to_dict()})
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli import tail_views

    tail_views.show(standard_output(), found)
