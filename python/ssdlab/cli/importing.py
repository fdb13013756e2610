"""``ssdlab import``: turns the drive of another simulator into a description."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import drives
from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.units import counted, size

if TYPE_CHECKING:
    from ssdlab.imports import ImportedDrive

FileArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="MQSim's ssdconfig.xml, SimpleSSD's .cfg, a run script of FEMU, NVMeVirt's ssd_config.h, SSDsim's "
        "page.parameters, or a .parv of DiskSim.",
    ),
]


def importing(
    file: FileArgument,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="Simulator: mqsim, simplessd, femu, nvmevirt, ssdsim or disksim; absent: recognised from the content.",
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Configuration, where the file has several (NVMeVirt's BASE_SSD).")
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Size of the flash, where the file does not have it (NVMeVirt's memmap_size)."),
    ] = None,
    occupancy: Annotated[
        float | None,
        typer.Option(metavar="PERCENT", help="MQSim's Initial_Occupancy_Percentage of the workload; absent: the drive is full."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the description; absent: standard output.", metavar="FILE", dir_okay=False),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace the file, if it is there.")] = False,
    json: options.Json = False,
) -> None:
    """Turn the drive of MQSim, SimpleSSD, FEMU, NVMeVirt, SSDsim or DiskSim into a description (TOML)."""
    # Start-up: the help of all commands needs no reader of other descriptions.
    from ssdlab.imports import import_drive

    if force and out is None:
        raise InputError("--force: replaces what is already there, but no --out is given")
    if out is not None:
        check_new_file(out, force)
    imported = import_drive(file, source, variant=variant, capacity=capacity, occupancy=occupancy)
    if out is not None:
        with new_file(out) as beside:
            beside.write_text(imported.text, encoding="utf-8")
    if json:
        print_json(imported.document())
    elif out is None:
        sys.stdout.write(imported.text)
    _remark_on(imported, out)


def _remark_on(imported: ImportedDrive, out: Path | None) -> None:
    """Says what was made, and what has no counterpart."""
    # Start-up: the help of all commands needs no reader of other descriptions.
    from ssdlab.imports import SOURCES

    if out is not None:
        remark(f"wrote {out}")
    made = drives.describe(imported.drive)
    standings = [field.standing for field in imported.fields]
    counts = (
        f"{counted(standings.count('file'), 'field')} from the file, {standings.count('default')} from defaults of "
        f"{SOURCES[imported.source].TITLE}, {standings.count('ssdlab')} that it does not have"
    )
    remark(f"{imported.name}: {SOURCES[imported.source].TITLE}, {size(made['user_bytes'])} of user capacity; {counts}")
    for each in imported.not_mapped:
        remark(f"no counterpart: {each.name} = {each.value}: {each.why}")
