"""``ssdlab history``: the first difference between two physical histories."""

from __future__ import annotations

from typing import Annotated

import typer

from ssdlab.cli.console import standard_output
from ssdlab.cli.statuses import DIFFERENT
from ssdlab.units import count


def history(
    first: Annotated[str, typer.Argument(metavar="FILE", help="A history that `run --history` wrote.")],
    second: Annotated[str, typer.Argument(metavar="OTHER", help="The one that it is compared with.")],
) -> None:
    """Compare two physical histories, and show the first entry that differs. The exit status is 3 if they differ."""
    # Start-up: the help of all commands needs it not.
    from ssdlab.logs import compare_histories

    entries, difference = compare_histories(first, second)
    console = standard_output()
    if difference is None:
        console.print(f"equal: {count(entries)} entries")
        return
    console.print(f"{count(entries)} equal entries, then, from line {difference.line} on:")
    for mark, lines in (("  ", difference.before), ("- ", difference.first), ("+ ", difference.second)):
        for line in lines:
            console.print(mark + line, markup=False, highlight=False, soft_wrap=True)
    for name, mark, lines in ((first, "-", difference.first), (second, "+", difference.second)):
        if not lines:
            console.print(f"{mark} (the end of {name})", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(DIFFERENT)
