"""``ssdlab presets``: the drives that come with ssdlab."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, standard_output
from ssdlab.errors import InputError, unknown_name


def presets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this preset's description.")] = None,
    json: options.Json = False,
) -> None:
    """List the drives that come with ssdlab, or print the description of one."""
    from ssdlab import drives

    known = drives.presets()
    if name is not None:
        if json:
            raise InputError("presets NAME prints TOML; give either NAME or --json")
        text = next((preset.text for preset in known if preset.name == name), None)
        if text is None:
            raise unknown_name("preset", name, [preset.name for preset in known])
        sys.stdout.write(text)
    elif json:
        print_json([{"name": preset.name, "title": preset.title} for preset in known])
    else:
        from rich.table import Table

        table = Table("name", "drive", box=None, pad_edge=False, header_style="dim")
        for preset in known:
            table.add_row(preset.name, preset.title)
        standard_output().print(table)
