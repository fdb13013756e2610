"""``ssdlab lifetime``: a workload repeated until the drive is worn out."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ssdlab import lifetimes
from ssdlab.cli import completion, given, options
from ssdlab.cli.console import remark, standard_output
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import outcome_of, remark_on
from ssdlab.cli.running import EMPTY, begins_empty
from ssdlab.cli.spread import spread


@spread()
def lifetime(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="Mode policy; absent: the drive's own.",
            autocompletion=completion.policies,
        ),
    ] = None,
    chosen: options.LifeOptions,
    reading: options.Reading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat a workload until the drive is worn out."""
    reads, sets = (drive, workload, policy), tuple(chosen["set"] or ())
    targets = given.Targets(out, force, save=chosen["save"], load=chosen["load"], reads=reads, sets=sets)
    with targets.reserved():
        if not quiet and begins_empty(drive, chosen):
            remark(EMPTY)
        source = given.workload(workload, reading)
        result, ending = outcome_of(
            lambda start: lifetimes.lifetime(drive, source, policy, progress=start("lifetime"), **given.arguments(chosen)),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        folder = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.report_json)
        meaning = "the results are those of the life so far" if result.status == "partial" else "the results are complete"
        conclude(lambda: _show(result, json), folder, ending, meaning, quiet=quiet)


def _show(result: lifetimes.Lifetime, json: bool) -> None:
    """Prints the lifetime in the requested form."""
    if json:
        sys.stdout.write(result.report_json.rstrip("\n") + "\n")
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import lifetime_views

        lifetime_views.show_lifetime(standard_output(), result)
