"""``ssdlab shrink``: makes a smaller drive of the same architecture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import drives
from ssdlab.cli import options
from ssdlab.cli.console import remark
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.units import size


def shrink(
    drive: options.DriveArgument,
    to: Annotated[str, typer.Option(help="User capacity of the mock-up, such as 16GiB.", metavar="SIZE")],
    settings: options.Set = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the description; absent: standard output.", metavar="FILE", dir_okay=False),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace the file, if it is there.")] = False,
) -> None:
    """Make a mock-up of a drive: fewer and smaller blocks, with the same dies, planes, times and ratios."""
    if force and out is None:
        raise InputError("--force: replaces what is already there, but no --out is given")
    if out is not None:
        check_new_file(out, force)
    mock = drives.mock_up(drive, to, set=settings or (), beside=out)
    text = mock.text
    if out is None:
        sys.stdout.write(text)
    else:
        with new_file(out) as beside:
            beside.write_text(text, encoding="utf-8")
        remark(f"wrote {out}")
    for field, old, new, why in mock.changes:
        remark(f"{field}: {old or 'absent'} -> {new}: {why}")
    made = drives.describe(drives.Drive.from_text(text, str(out or "mock-up.toml")))
    remark(
        f"{size(made['user_bytes'])} of user capacity in {made['blocks']} blocks of {size(made['block_bytes'])}; with a map "
        "write amplification depends on their number and size (ftl.translation=waf keeps it)"
    )
