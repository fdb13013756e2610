"""``ssdlab schema``: the fields of a drive's description, and the names in results."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab.cli.console import print_json


def schema(
    of: Annotated[
        Literal["drive", "results"],
        typer.Argument(
            metavar="[drive|results]",
            help="drive: the fields of a description; results: keys, causes, reasons and columns, with definitions.",
        ),
    ] = "drive",
    form: Annotated[
        Literal["json", "markdown"],
        typer.Option("--format", help="json: the JSON Schema, or the definitions; markdown: the reference page."),
    ] = "json",
) -> None:
    """Print the fields of a drive's description, or the definitions of the names in results."""
    from ssdlab import drives, terms

    if form == "markdown":
        typer.echo(drives.reference(of), nl=False)
    else:
        print_json(drives.schema() if of == "drive" else terms.definitions())
