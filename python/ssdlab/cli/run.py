"""``ssdlab run``: one drive, one workload, one policy."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.errors import InputError

if TYPE_CHECKING:
    from ssdlab.results import Result


def run(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME", help="The mode policy; the drive's own when absent."),
    ] = None,
    settings: options.Set = None,
    seed: options.Seed = 1,
    precondition: options.Precondition = None,
    load: options.Load = None,
    save: options.Save = None,
    steady_state: options.SteadyState = False,
    steady_round: options.SteadyRound = None,
    format: options.RunFormat = None,
    columns: options.Columns = None,
    address: options.Address = None,
    layout: options.Layout = None,
    streams: options.Streams = None,
    time_scale: options.TimeScale = None,
    repeat: options.Repeat = None,
    slice: options.Slice = None,
    replay: options.Replay = None,
    strict_time: options.StrictTime = False,
    max_requests: options.MaxRequests = None,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write what each channel and die did, for Perfetto; packed if it ends in .gz.",
            rich_help_panel="Output",
        ),
    ] = None,
    log_commands: Annotated[
        Path | None,
        typer.Option(
            "--log-commands",
            metavar="FILE",
            help="Write a row per command with its causes (.parquet, .csv, .csv.gz).",
            rich_help_panel="Output",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload on a drive."""
    as_fio = format == "fio"
    if as_fio and json:
        raise InputError("--format fio, --json: each prints a document on standard output; give one of them")
    targets = options.Targets(out, force, save, timeline, log_commands)
    targets.check()

    from ssdlab import simulate
    from ssdlab.cli.progress import progress_bar
    from ssdlab.errors import Interrupted
    from ssdlab.results import Result
    from ssdlab.workloads import Workload

    source = Workload(
        workload,
        format=None if as_fio else format,
        columns=columns,
        address=address,
        layout=layout,
        streams=options.labels(streams),
        time_scale=time_scale,
        repeat=repeat,
        slice=slice,
        replay=replay,
        strict_time=strict_time or None,
        max_requests=max_requests,
    )
    interrupted = False
    try:
        with progress_bar(quiet) as start:
            result = simulate.run(
                drive,
                source,
                policy,
                set=settings or (),
                seed=seed,
                precondition=precondition,
                load=load,
                save=save,
                record_commands=log_commands is not None,
                record_spans=timeline is not None,
                steady_state=steady_state,
                steady_round=steady_round,
                progress=start("run"),
            )
    except Interrupted as stopped:
        result, interrupted = cast(Result, stopped.result), True
    if not quiet:
        for line in result.notes:
            remark(line)
        remark(f"set up in {result.setup_s:.2f} s, ran for {result.wall_s:.2f} s")
    _write(result, targets)
    if as_fio:
        print_json(result.fio())
    elif json:
        sys.stdout.write(result.summary_json.rstrip("\n") + "\n")
    else:
        from ssdlab.cli import views

        views.show_run(standard_output(), result)
    if interrupted:
        remark("interrupted: the results are partial")
        raise typer.Exit(130)


def _write(result: Result, targets: options.Targets) -> None:
    """Writes what was asked for."""
    from ssdlab.files import new_file

    if targets.log_commands is not None:
        from ssdlab.commandlog import write_commands

        table = result.command_table()
        assert table is not None, "commands were recorded"
        with new_file(targets.log_commands) as path:
            write_commands(table, path, targets.log_commands.name)
    if targets.timeline is not None:
        from ssdlab.perfetto import write_timeline

        spans = result.span_table()
        assert spans is not None, "spans were recorded"
        with new_file(targets.timeline) as path:
            write_timeline(spans, path, targets.timeline.name)
    if targets.out is not None:
        result.save(targets.out, force=targets.force)
