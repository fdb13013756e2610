"""``ssdlab run``: one drive, one workload, one policy."""

from __future__ import annotations

from typing import Annotated

import typer

from ssdlab.cli import completion, options, running
from ssdlab.cli.spread import spread


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
            autocompletion=completion.policies,
        ),
    ] = None,
    chosen: options.RunOptions,
    reading: options.RunReading,
    profile_firmware: options.ProfileFirmware = False,
    watch: options.Watch = False,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload on a drive."""
    running.run(
        drive,
        workload,
        policy=policy,
        chosen=chosen,
        reading=reading,
        profile_firmware=profile_firmware,
        watch=watch,
        out=out,
        force=force,
        json=json,
        quiet=quiet,
    )
