"""``ssdlab compare``: one drive, one workload, several policies."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.errors import InputError


def compare(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    policy: Annotated[
        str,
        typer.Option("--policy", metavar="A,B,C", help="The mode policies; ratios are taken to the first."),
    ],
    settings: options.Set = None,
    seed: options.Seed = 1,
    precondition: options.Precondition = None,
    load: options.Load = None,
    save: options.Save = None,
    steady_state: options.SteadyState = False,
    steady_round: options.SteadyRound = None,
    format: options.Format = None,
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
    quiet: options.Quiet = False,
) -> None:
    """Run a workload under several policies, from the same state and seed, side by side."""
    policies = [name.strip() for name in policy.split(",")]
    if "" in policies:
        raise InputError(f"--policy {policy}: expected names between the commas")
    targets = options.Targets(out, force, save)
    targets.check()

    from ssdlab import simulate
    from ssdlab.cli.progress import progress_bar
    from ssdlab.comparison import Comparison
    from ssdlab.errors import Interrupted
    from ssdlab.workloads import Workload

    source = Workload(
        workload,
        format=format,
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
            comparison = simulate.compare(
                drive,
                source,
                policies,
                set=settings or (),
                seed=seed,
                precondition=precondition,
                load=load,
                save=save,
                steady_state=steady_state,
                steady_round=steady_round,
                progress=start,
            )
    except Interrupted as stopped:
        comparison, interrupted = cast(Comparison, stopped.result), True
    if not quiet:
        for line in dict.fromkeys(line for run in comparison.runs for line in run.notes):
            remark(line)
        setup, wall = (sum(getattr(run, part) for run in comparison.runs) for part in ("setup_s", "wall_s"))
        remark(f"set up in {setup:.2f} s, ran for {wall:.2f} s")
    if out is not None:
        comparison.save(out, force=force)
    if json:
        print_json(comparison.to_dict())
    else:
        from ssdlab.cli import views

        views.show_comparison(standard_output(), comparison)
    if interrupted:
        remark("interrupted: the last run is partial")
        raise typer.Exit(130)
