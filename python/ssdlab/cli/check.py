"""``ssdlab check``: checks a drive's description."""

from __future__ import annotations

import typer

from ssdlab import drives
from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark


def check(drive: options.DriveArgument, settings: options.Set = None, json: options.Json = False) -> None:
    """Check a drive's description: print all its errors at once, or `ok`."""
    resolved = drives.check(drive, set=settings or ())
    if json:
        print_json({"drive": drive, "ok": True, "resolved": resolved})
        return
    for mode in drives.describe(drive, set=settings or ())["write_modes"]:
        for text in mode["outside"]:
            remark(f"{drive}: write mode {mode['name']}: {text}")
    typer.echo(f"{drive}: ok")
