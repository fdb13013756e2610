"""``ssdlab doctor``: examines the machine and the installation."""

from __future__ import annotations

from typing import Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import complain, print_json, standard_output
from ssdlab.units import size


def doctor(json: options.Json = False) -> None:
    """Show machine, versions, memory for the presets, and optional parts: what is missing, and what it would add."""
    # Start-up: the help of all commands needs no list of the installed packages.
    from ssdlab.doctor import findings

    found = findings()
    if json:
        print_json(found)
    else:
        _show(found)
    for problem in found["problems"]:
        complain(problem)
    if not found["ok"]:
        raise typer.Exit(1)


def _show(found: dict[str, Any]) -> None:
    # Start-up: JSON needs no rich.
    from rich.table import Table
    from rich.text import Text

    console = standard_output()
    rows = Table(box=None, pad_edge=False, show_header=False)
    rows.add_column(no_wrap=True, style="dim")
    rows.add_column()
    for name, text in _lines(found):
        rows.add_row(name, Text(text))
    console.print(rows)
    parts = Table("optional part", "found", "adds", "install", box=None, pad_edge=False, header_style="dim")
    for part in found["optional"]:
        is_there = part["found"] is not None
        state = Text(part["found"], style="green") if is_there else Text("missing", style="yellow")
        parts.add_row(Text(part["name"]), state, Text(part["adds"]), Text("" if is_there else part["install"]))
    console.print()
    console.print(parts)


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns what is said of the machine, the versions and the presets."""
    machine, versions = found["machine"], found["versions"]
    memory = "unknown"
    if machine["memory_bytes"] is not None:
        memory = f"{size(machine['memory_bytes'])}, {size(machine['memory_available_bytes'])} of it available"
    packages = ", ".join(f"{name} {version or 'missing'}" for name, version in versions["packages"].items())
    return [
        ("state", "sound" if found["ok"] else "broken: the problems are at the end"),
        ("ssdlab", f"{versions['engine']}, Python {versions['python']}"),
        ("packages", packages),
        ("system", f"{machine['system']} ({machine['architecture']}), {machine['cores']} cores"),
        ("memory", memory),
        ("huge pages", machine["huge_pages"] or "unknown"),
        ("presets", _fit(found["presets"])),
    ]


def _fit(presets: list[dict[str, Any]]) -> str:
    """Returns which drives fit into memory when all of their data has been overwritten."""
    sized = [preset for preset in presets if preset["map_bytes"] is not None]
    largest = max(sized, key=lambda preset: int(preset["map_bytes"]))
    too_large = [f"{preset['name']} ({size(preset['map_bytes'])})" for preset in sized if preset["fits"] is False]
    if too_large:
        return f"too large for the memory once all is overwritten: {', '.join(too_large)}; `ssdlab shrink` makes smaller ones"
    return f"every one fits into memory, all of it overwritten; the largest is {largest['name']} ({size(largest['map_bytes'])})"
