"""``ssdlab schema``: the fields of a drive's description."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ssdlab.cli.console import print_json


def schema(
    form: Annotated[
        Literal["json", "markdown"],
        typer.Option("--format", help="json: the JSON Schema; markdown: the reference page."),
    ] = "json",
) -> None:
    """Print the fields of a drive's description, as a JSON Schema or as a reference page."""
    from ssdlab import drives

    if form == "markdown":
        typer.echo(drives.reference(), nl=False)
    else:
        print_json(drives.schema())
