"""``ssdlab watch``: a live page of a served drive."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.statuses import INTERRUPTED
from ssdlab.cli.watching import following, live_page
from ssdlab.errors import InputError

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(ms|s|min)", re.ASCII)
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
#: Shortest and longest time between two samples [s].
_SHORTEST, _LONGEST = 0.1, 3600.0


def watch(
    socket: Annotated[Path, typer.Argument(metavar="PATH", help="The socket of the server (ssdlab serve).")],
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port of this machine for the page; 0: any that is free.")
    ] = 0,
    every: Annotated[str, typer.Option(metavar="TIME", help="Real time between two samples, 100ms to 60min.")] = "500ms",
) -> None:
    """Show a served drive on a live page in a browser of this machine, until Ctrl-C."""
    # Start-up: the help of all commands needs no server.
    from ssdlab.watching.served import check

    seconds = _seconds(every)
    check(socket)
    try:
        with live_page(port, "the watch has ended; this is its last state") as feed, following(feed, socket, seconds) as work:
            work.join()
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _seconds(text: str) -> float:
    """Returns a span of real time [s].

    Raises:
        InputError: it is none, or too short or too long.
    """
    found = _TIME.fullmatch(text)
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not _SHORTEST <= seconds <= _LONGEST:
        raise InputError(f"--every {text}: expected a time from 100ms to 60min, such as 500ms")
    return seconds
