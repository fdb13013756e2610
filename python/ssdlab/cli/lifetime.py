"""``ssdlab lifetime``: a workload repeated until the drive is worn out."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ssdlab import lifetimes
from ssdlab.cli import options
from ssdlab.cli.console import standard_output
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import measured, remark_on
from ssdlab.cli.spread import spread

_LIFE = "Life"


@spread(without=("steady_state", "steady_round", "power_cut", "power_down", "skip_commands", "stop_after", "rest_after"))
def lifetime(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    *,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME", help="The mode policy; the drive's own when absent."),
    ] = None,
    until: Annotated[
        str,
        typer.Option(
            "--until",
            metavar="END",
            help="What ends the drive: mean_wear, first_block, error_rate or spare.",
            rich_help_panel=_LIFE,
        ),
    ] = "mean_wear",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="HOW",
            help="full: every erase is simulated; extrapolate: a steady round in each interval of wear.",
            rich_help_panel=_LIFE,
        ),
    ] = "full",
    wear_limit: Annotated[
        float | None,
        typer.Option(
            "--wear-limit",
            metavar="CYCLES",
            help="Effective wear of a worn-out block, in nominal erases; the rated cycles when absent.",
            rich_help_panel=_LIFE,
        ),
    ] = None,
    retention: Annotated[
        str | None,
        typer.Option(
            "--retention",
            metavar="TIME",
            help="For error_rate: how long data must be kept; what the mode `normal` promises when absent.",
            rich_help_panel=_LIFE,
        ),
    ] = None,
    max_passes: Annotated[
        int | None,
        typer.Option("--max-passes", metavar="N", help="End a full run after so many passes.", rich_help_panel=_LIFE),
    ] = None,
    intervals: Annotated[
        int | None,
        typer.Option(
            "--intervals",
            metavar="N",
            help="Parts of the rated endurance that are told apart; six when absent.",
            rich_help_panel=_LIFE,
        ),
    ] = None,
    round_cycles: Annotated[
        float | None,
        typer.Option(
            "--round-cycles",
            metavar="X",
            help="Least mean cycles of a block in a round of extrapolation; four or more when absent.",
            rich_help_panel=_LIFE,
        ),
    ] = None,
    agreement: Annotated[
        float | None,
        typer.Option(
            "--agreement",
            metavar="SHARE",
            help="By which share two rounds of extrapolation may differ and count as steady; 0.01 when absent.",
            rich_help_panel=_LIFE,
        ),
    ] = None,
    setup: options.Setup,
    reading: options.Reading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat a workload until the drive is worn out."""
    with options.Targets(out, force, setup.save, load=setup.load, reads=(drive, workload, policy)).reserved():
        source = reading.workload(workload)
        result, ending = measured(
            lambda start: lifetimes.lifetime(
                drive,
                source,
                policy,
                set=setup.settings or (),
                seed=setup.seed,
                precondition=setup.precondition,
                load=setup.load,
                save=setup.save,
                until=until,
                method=method,
                wear_limit=wear_limit,
                retention=retention,
                max_passes=max_passes,
                intervals=intervals,
                round_cycles=round_cycles,
                agreement=agreement,
                progress=start("lifetime"),
            ),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        folder = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.report_json)
        meaning = "the results are those of the life so far" if result.status == "partial" else "the results are complete"
        conclude(lambda: _show(result, json), folder, ending, meaning)


def _show(result: lifetimes.Lifetime, json: bool) -> None:
    """Prints the life in the form that was asked for."""
    if json:
        sys.stdout.write(result.report_json.rstrip("\n") + "\n")
    else:
        from ssdlab.cli import lifetime_views

        lifetime_views.show_lifetime(standard_output(), result)
