"""``ssdlab ctl``: control of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json
from ssdlab.cli.group import Group
from ssdlab.errors import InputError
from ssdlab.files import TEXT_MAX

app = typer.Typer(cls=Group, help="Control a server (ssdlab serve): its power, its faults, its state.")

_Socket = Annotated[Path, typer.Argument(metavar="PATH", help="The socket of the server.")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the state.")]


def _ask(at: Path, do: str, **keys: object) -> None:
    """Asks a server to do something, and prints its answer."""
    # Start-up: the help of all commands needs no server.
    from ssdlab import serving

    print_json(serving.control(at, do, **keys))


@app.command()
def stats(at: _Socket) -> None:
    """Print the summary so far."""
    _ask(at, "stats")


@app.command(name="power-cut")
def power_cut(
    at: _Socket,
    down: Annotated[str, typer.Option(help="Time without power.", metavar="TIME")] = "1s",
    after_events: Annotated[
        int | None,
        typer.Option(help="Number of further events of the drive after which it loses power; absent: now.", metavar="NUMBER"),
    ] = None,
) -> None:
    """Cut the power. Requests in flight fail with EIO; the drive recovers, and connections stay."""
    if after_events is not None and after_events < 0:
        raise InputError(f"--after-events {after_events}: expected a number from 0 on")
    _ask(at, "power-cut", down=down, after_events=after_events)


@app.command()
def faults(at: _Socket, script: Annotated[Path, typer.Argument(metavar="FILE", help="A script of faults (TOML).")]) -> None:
    """Have the faults of a script happen, whose times count from now."""
    try:
        text = script.read_bytes()[: TEXT_MAX + 1].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{script}: {getattr(error, 'strerror', None) or error}") from None
    _ask(at, "faults", name=str(script), text=text)


@app.command()
def snapshot(at: _Socket, name: _Name) -> None:
    """Keep the state of the drive, with its contents, in the memory of the server."""
    _ask(at, "snapshot", name=name)


@app.command()
def restore(at: _Socket, name: _Name) -> None:
    """Return to a state that snapshot kept. The measurement begins anew."""
    _ask(at, "restore", name=name)


@app.command()
def save(
    at: _Socket,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: options.Force = False,
) -> None:
    """Save the drive with its contents, for serve --load."""
    _ask(at, "save", file=str(file.resolve()), force=force)


@app.command()
def stop(at: _Socket) -> None:
    """End the server: requests in flight are completed first."""
    _ask(at, "stop")
