"""``ssdlab run``: one drive, one workload, one policy."""

from __future__ import annotations

import sys
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
            help="Mode policy: a name, or a class of a Python file; absent: the drive's own.",
        ),
    ] = None,
    chosen: options.RunOptions,
    reading: options.RunReading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload on a drive."""
    as_fio = reading["format"] == "fio"
    if as_fio and json:
        raise InputError("--format fio, --json: each prints a document on standard output; give one of them")
    targets = options.Targets(
        out,
        force,
        save=chosen["save"],
        timeline=chosen["timeline"],
        log_commands=chosen["log_commands"],
        history=chosen["history"],
        record_firmware=chosen["record_firmware"],
        load=chosen["load"],
        reads=(drive, workload, policy and policy_file.split(policy)[0]),
    )
    with targets.reserved():
        policy_like = None if policy is None else policy_file.chosen(policy)
        source = options.workload(workload, {**reading, "format": None} if as_fio else reading)
        result, ending = measured(
            lambda start: simulate.run(
                drive,
                source,
                policy_like,
                progress=watch_size(start("run"), targets.streamed(), targets.timeline, quiet),
                **options.arguments(chosen),
            ),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        folder = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.summary_json)
        meaning = "the results are partial" if result.status == "partial" else "the results are complete"
        conclude(lambda: _show(result, as_fio, json), folder, ending, meaning)


def _show(result: Result, as_fio: bool, json: bool) -> None:
    """Prints the result in the requested form."""
    if as_fio:
        print_json(result.fio())
    elif json:
        sys.stdout.write(result.summary_json.rstrip("\n") + "\n")
    else:
        from ssdlab.cli import views

        views.show_run(standard_output(), result)
