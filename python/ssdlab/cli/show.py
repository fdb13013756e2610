"""``ssdlab show``: shows a drive and the properties that follow from its description."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import drives
from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file


def show(
    drive: options.DriveArgument,
    settings: options.Set = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the complete description instead.")] = False,
    diagram: Annotated[bool, typer.Option("--diagram", help="Draw the drive from the host to the cells instead.")] = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write the drawing of --diagram to a file in .svg.")
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show what follows from a drive's description: capacity, parallelism, bounds, modes, memory."""
    _check_options(toml=toml, diagram=diagram, svg=svg, force=force, json=json)
    if toml:
        sys.stdout.write(drives.check(drive, set=settings or ()))
    elif svg is not None:
        _write_svg(drives.diagram(drive, set=settings or ()), svg, force)
    elif json:
        facts = drives.diagram if diagram else drives.describe
        print_json(facts(drive, set=settings or ()))
    elif diagram:
        _print_drawing(drives.diagram(drive, set=settings or ()))
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import views

        shown = drives.describe(drive, set=settings or ())
        if shown["stated_overprovisioning"] == shown["overprovisioning"]:
            del shown["stated_overprovisioning"]
        views.show_facts(standard_output(), shown)


def _check_options(*, toml: bool, diagram: bool, svg: Path | None, force: bool, json: bool) -> None:
    """Checks that the options can be given together.

    Raises:
        InputError: they cannot.
    """
    if toml and json:
        raise InputError("--toml, --json: give one of them")
    if toml and diagram:
        raise InputError("--toml, --diagram: give one of them")
    if svg is not None and not diagram:
        raise InputError("--svg: writes the drawing of --diagram, which is not given")
    if svg is not None and json:
        raise InputError("--svg, --json: give one of them")
    if svg is not None and svg.suffix != ".svg":
        raise InputError(f"--svg {svg}: expected a name in .svg")
    if force and svg is None:
        raise InputError("--force: replaces what is already there, but no --svg is given")


def _write_svg(parts: dict[str, object], path: Path, force: bool) -> None:
    # Start-up: only a drawing needs it.
    from ssdlab.drawing.svg import svg

    check_new_file(path, force)
    with new_file(path) as beside:
        beside.write_text(svg(parts), encoding="utf-8")
    remark(f"wrote {path}")


def _print_drawing(parts: dict[str, object]) -> None:
    """Prints a drawing, in ASCII on a terminal that has no lines."""
    # Start-up: only a drawing needs it.
    from ssdlab.drawing.terminal import draw, plain

    text, encoding = draw(parts), sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = plain(text).encode(encoding, errors="replace").decode(encoding)
    sys.stdout.write(text)
