"""``ssdlab ctl``: control of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json
from ssdlab.errors import InputError, unknown_name
from ssdlab.files import TEXT_MAX

#: Requests to a server, and the meaning of the word after each, if it needs one.
REQUESTS = {
    "stats": None,
    "sample": None,
    "power-cut": None,
    "faults": "FILE",
    "snapshot": "NAME",
    "restore": "NAME",
    "save": "FILE",
    "stop": None,
}


def ctl(
    socket: Annotated[Path, typer.Argument(metavar="PATH", help="The socket of the server.")],
    do: Annotated[
        str,
        typer.Argument(
            metavar="DO",
            help="stats, sample, power-cut, faults FILE, snapshot NAME, restore NAME, save FILE or stop.",
            autocompletion=lambda incomplete: [name for name in REQUESTS if name.startswith(incomplete)],
        ),
    ],
    what: Annotated[str | None, typer.Argument(metavar="FILE|NAME", help="The file, or the name of the state.")] = None,
    down: Annotated[str | None, typer.Option(help="power-cut: time without power; 1s if absent.", metavar="TIME")] = None,
    after_events: Annotated[
        int | None,
        typer.Option(
            help="power-cut: number of further events of the drive after which it comes; absent: now.", metavar="NUMBER"
        ),
    ] = None,
    force: options.Force = False,
) -> None:
    """Control a server (ssdlab serve): its summary, its power, its faults, its state. Prints JSON."""
    # Start-up: the help of all commands needs no server.
    from ssdlab import serving

    print_json(serving.control(socket, do, **_keys(do, what, down, after_events, force)))


def _keys(do: str, what: str | None, down: str | None, after_events: int | None, force: bool) -> dict[str, Any]:
    """Returns what a request has beside its name.

    Raises:
        InputError: a word or an option is missing, or belongs to another request.
    """
    if do not in REQUESTS:
        raise unknown_name("ctl", do, [*REQUESTS])
    needed = REQUESTS[do]
    if (needed is None) != (what is None):
        found = "nothing after it" if needed is None else f"{needed} after it"
        raise InputError(f"ctl {do}: expected {found}")
    for name, given, of in (
        ("--down", down, "power-cut"),
        ("--after-events", after_events, "power-cut"),
        ("--force", force or None, "save"),
    ):
        if given is not None and do != of:
            raise InputError(f"{name}: belongs to {of}, not to {do}")
    if do == "power-cut":
        if after_events is not None and after_events < 0:
            raise InputError(f"--after-events {after_events}: expected a number from 0 on")
        return {"down": down or "1s", "after_events": after_events}
    if what is None:
        return {}
    if do == "save":
        return {"file": str(Path(what).resolve()), "force": force}
    return {"name": what, "text": _text(Path(what))} if do == "faults" else {"name": what}


def _text(path: Path) -> str:
    """Returns the text of a script.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(TEXT_MAX).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
