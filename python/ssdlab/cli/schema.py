"""``ssdlab schema``: the fields of a drive's description or of a workload, and the names in results."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab.cli.console import print_json
from ssdlab.errors import InputError


def schema(
    of: Annotated[
        Literal["drive", "workload", "results"],
        typer.Argument(
            metavar="[drive|workload|results]",
            help="drive: the fields of a description; workload: those of a workload in TOML; results: keys, causes, reasons "
            "and columns, with definitions.",
        ),
    ] = "drive",
    form: Annotated[
        Literal["json", "markdown"],
        typer.Option("--format", help="json: the JSON Schema, or the definitions; markdown: the reference page."),
    ] = "json",
) -> None:
    """Print a JSON Schema, with which editors check and complete TOML, or the definitions of the names in results."""
    from ssdlab import drives, terms

    if form == "markdown":
        if of == "workload":
            raise InputError("workload: has no reference page in this form: docs/reference/workloads.md describes its fields")
        typer.echo(drives.reference(of), nl=False)
    else:
        print_json(terms.definitions() if of == "results" else drives.schema(of))
