"""``ssdlab serve``: a drive as a network block device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import complain, print_json, remark, standard_output
from ssdlab.cli.statuses import INTERRUPTED
from ssdlab.cli.watching import served
from ssdlab.errors import InputError
from ssdlab.files import check_new_file
from ssdlab.locks import locked

if TYPE_CHECKING:
    from ssdlab.serving import Served

_FILES = "Output"


def serve(
    drive: options.DriveArgument,
    *,
    socket: Annotated[Path, typer.Option(help="Path of the Unix socket; its control is at PATH.ctl.", metavar="PATH")],
    tcp: Annotated[
        str | None,
        typer.Option(help="Listen at a port of this machine, too, which other machines cannot reach.", metavar="PORT"),
    ] = None,
    clock: Annotated[
        str,
        typer.Option(
            help="simulated: as fast as possible, figures are those of the simulated clock; "
            "dilated:N: latencies take N times as long in real time.",
            metavar="NAME",
        ),
    ] = "simulated",
    think: Annotated[
        str | None,
        typer.Option(help="Simulated time from the reading of a request to its arrival, such as 2us.", metavar="TIME"),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(help="Requests in flight for which the simulated clock waits, up to 2 ms; 1 if absent.", metavar="NUMBER"),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Mode policy; absent: the drive's own.", metavar="NAME")] = None,
    settings: options.Set = None,
    seed: Annotated[int, typer.Option(help="Seed of all random streams.", metavar="NUMBER", min=0)] = 1,
    precondition: Annotated[
        str | None, typer.Option(help="Starting state: none, fill, random or steady; its data is zeroes.", metavar="STATE")
    ] = None,
    load: Annotated[
        Path | None, typer.Option(help="Drive with contents to start from, saved by --save, ctl or a device.", metavar="FILE")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="File for the drive and its contents at the end.", metavar="FILE", rich_help_panel=_FILES)
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="File for a trace of the commands (blkparse), to replay.", metavar="FILE", rich_help_panel=_FILES),
    ] = None,
    force: options.Force = False,
    max_memory: options.MaxMemory = None,
    contents_folder: Annotated[
        Path | None,
        typer.Option(help="Folder of a file for the contents, in place of memory.", metavar="FOLDER", rich_help_panel=_FILES),
    ] = None,
    watch: options.Watch = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Serve a drive as a network block device (NBD), until Ctrl-C or ssdlab ctl PATH stop."""
    asked = {
        "tcp": tcp,
        "clock": clock,
        "think": think,
        "depth": depth,
        "set": settings or (),
        "policy": policy,
        "seed": seed,
        "precondition": precondition,
        "load": load,
        "max_memory": max_memory,
        "contents_folder": contents_folder,
    }
    with served(watch, socket):
        _serve(drive, socket, asked, save, record, force, json, quiet)


def _serve(
    drive: str,
    at: Path,
    asked: dict[str, Any],
    save: Path | None,
    record: Path | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Serves a drive until that ends, and shows the summary.

    Raises:
        InputError: the server could not begin, or could not go on.
        SystemExit: a file could not be written, or Ctrl-C ended the server.
    """
    # Start-up: the help of all commands needs no server.
    from ssdlab import serving

    files = [path for path in (save, record) if path is not None]
    if force and not files:
        raise InputError("--force: replaces what is already there, but no --save or --record is given")
    if save is not None and record is not None and save.resolve() == record.resolve():
        raise InputError("--save, --record: both name the same file")
    for path in files:
        check_new_file(path, force)
    with locked(*files):
        ended = serving.serve(drive, at, remark=_ignore if quiet else remark, save=save, record=record, **asked)
    if not quiet:
        for note in ended.notes:
            remark(note)
    _show(ended, as_json)
    for name, error in ended.not_written:
        complain(f"{name}: {error.strerror}")
    if ended.not_written:
        raise SystemExit(1)
    if ended.interrupted:
        raise SystemExit(INTERRUPTED)


def _ignore(text: str) -> None:
    """Takes a remark that nobody reads."""


def _show(ended: Served, as_json: bool) -> None:
    """Prints the summary: all of it as JSON, or what clients saw as a table."""
    if as_json:
        history = {} if ended.history is None else {"history": {"entries": ended.history[0], "hash": ended.history[1]}}
        print_json({**ended.summary, **history})
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli import views

    views.show_served(standard_output(), ended.summary)
