"""``ssdlab presets``: the drives that come with ssdlab."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import drives
from ssdlab.cli import completion, options
from ssdlab.cli.console import print_json, standard_output
from ssdlab.errors import InputError, unknown_name

if TYPE_CHECKING:
    from ssdlab.drives import Preset


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this preset's description.", autocompletion=completion.presets)
    ] = None,
    json: options.Json = False,
) -> None:
    """List the drives that come with ssdlab, or print the description of one."""
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
        # Start-up: JSON needs no rich.
        from ssdlab.cli.views import name_list

        standard_output().print(name_list("name", "drive", {preset.name: _without_name(preset) for preset in known}))


def _without_name(preset: Preset) -> str:
    """Returns the title of a preset without its name, with which most begin."""
    return preset.title.removeprefix(f"{preset.name}: ")
