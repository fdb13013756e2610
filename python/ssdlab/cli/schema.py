"""``ssdlab schema``: the fields of a description, a workload, a sweep or a search, and the names in results."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab import drives, schemas, terms
from ssdlab.cli.console import print_json
from ssdlab.errors import InputError

#: Pages that are written by hand.
_PAGES = {
    "workload": "docs/reference/workloads.md",
    "sweep": "docs/guide/explore.md",
    "optimise": "docs/guide/explore.md",
}


def schema(
    of: Annotated[
        Literal["drive", "workload", "sweep", "optimise", "results"],
        typer.Argument(
            metavar="[drive|workload|sweep|optimise|results]",
            help="drive: the fields of a description; workload: those of a workload in TOML; sweep, optimise: those of their "
            "specifications; results: keys, causes, reasons and columns, with definitions.",
        ),
    ] = "drive",
    form: Annotated[
        Literal["json", "markdown"],
        typer.Option("--format", help="json: the JSON Schema, or the definitions; markdown: the reference page."),
    ] = "json",
) -> None:
    """Print a JSON Schema, with which editors check and complete TOML, or the definitions of the names in results."""
    if form == "markdown":
        if of == "workload" or of == "sweep" or of == "optimise":
            raise InputError(f"{of}: has no reference page in this form: {_PAGES[of]} describes its fields")
        typer.echo(drives.reference(of), nl=False)
    else:
        print_json(terms.definitions() if of == "results" else schemas.schema(of))
