"""``ssdlab run``: one drive, one workload, one policy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import policy_file, simulate
from ssdlab.cli import options
from ssdlab.cli.console import print_json, standard_output
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import measured, remark_on
from ssdlab.cli.progress import watch_size
from ssdlab.cli.spread import spread
from ssdlab.errors import InputError
from ssdlab.results import Result


@spread()
def run(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME|FILE.py:CLASS",
            help="The mode policy: a name, or a class of a Python file; the drive's own when absent.",
        ),
    ] = None,
    setup: options.Setup,
    reading: options.RunReading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    log_commands: Annotated[
        Path | None,
        typer.Option(
            "--log-commands",
            metavar="FILE",
            help="Write a row per command with its causes (.parquet, .csv, .csv.gz).",
            rich_help_panel="Output",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write what each channel and die did, for Perfetto; packed if it ends in .gz or .zst.",
            rich_help_panel="Output",
        ),
    ] = None,
    timeline_from: Annotated[
        str | None,
        typer.Option(
            "--timeline-from",
            metavar="TIME",
            help="When the timeline begins, as 10ms after the start of the run.",
            rich_help_panel="Output",
        ),
    ] = None,
    timeline_for: Annotated[
        str | None,
        typer.Option("--timeline-for", metavar="TIME", help="For how long it goes on, as 1ms.", rich_help_panel="Output"),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="FILE",
            help="Write every completion and every start and end of a flash operation (.csv, .csv.gz, .csv.zst).",
            rich_help_panel="Output",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload on a drive."""
    as_fio = reading.format == "fio"
    if as_fio and json:
        raise InputError("--format fio, --json: each prints a document on standard output; give one of them")
    reads = (drive, workload, policy and policy_file.split(policy)[0])
    targets = options.Targets(out, force, setup.save, timeline, log_commands, history, setup.load, reads)
    with targets.reserved():
        policy_like = None if policy is None else policy_file.chosen(policy)
        source = (replace(reading, format=None) if as_fio else reading).workload(workload)
        result, ending = measured(
            lambda start: simulate.run(
                drive,
                source,
                policy_like,
                **setup.arguments(),
                log_commands=log_commands,
                timeline=timeline,
                timeline_from=timeline_from,
                timeline_for=timeline_for,
                history=history,
                progress=watch_size(start("run"), targets.streamed(), timeline, quiet),
            ),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        folder = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.summary_json)
        meaning = "the results are partial" if result.status == "partial" else "the results are complete"
        conclude(lambda: _show(result, as_fio, json), folder, ending, meaning)


def _show(result: Result, as_fio: bool, json: bool) -> None:
    """Prints the result in the form that was asked for."""
    if as_fio:
        print_json(result.fio())
    elif json:
        sys.stdout.write(result.summary_json.rstrip("\n") + "\n")
    else:
        from ssdlab.cli import views

        views.show_run(standard_output(), result)
