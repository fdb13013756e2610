"""``ssdlab show``: shows a drive and the properties that follow from its description."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, standard_output
from ssdlab.errors import InputError


def show(
    drive: options.DriveArgument,
    settings: options.Set = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the complete description instead.")] = False,
    json: options.Json = False,
) -> None:
    """Show what follows from a drive's description: capacity, parallelism, bounds, modes, memory."""
    from ssdlab import drives

    if toml and json:
        raise InputError("--toml, --json: give one of them")
    if toml:
        sys.stdout.write(drives.check(drive, set=settings or ()))
        return
    facts = drives.describe(drive, set=settings or ())
    if json:
        print_json(facts)
    else:
        from ssdlab.cli import views

        views.show_facts(standard_output(), facts)
