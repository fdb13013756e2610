"""Servers: a drive with contents as a block device of other programs, and the control of one."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab import _engine
from ssdlab.device import made
from ssdlab.drives import DriveLike, Settings
from ssdlab.errors import InputError
from ssdlab.files import FailedFiles, new_run_file

__all__ = ["Control", "Served", "control", "serve"]

#: Longest wait for an answer [s]: a loss of power of a large drive reads all its blocks.
_PATIENCE = 600.0
#: Largest answer [bytes].
_LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Served:
    """The end of a server."""

    #: Summary of what the clients did, as ``summary.json`` of a run has it, with a section ``server``.
    summary: dict[str, Any]
    #: True if Ctrl-C ended the server.
    interrupted: bool
    #: Notes for the user, one line each.
    notes: list[str]
    #: Number of entries and hash of the physical history, with a record.
    history: tuple[int, str] | None
    #: Files that could not be written, each with its error.
    not_written: FailedFiles = field(default_factory=list)


def serve(
    drive: DriveLike,
    at: str | PathLike[str],
    *,
    remark: Callable[[str], object],
    tcp: str | None = None,
    clock: str = "simulated",
    think: str | None = None,
    depth: int | None = None,
    set: Settings = (),
    policy: str | None = None,
    seed: int = 1,
    precondition: str | None = None,
    load: str | PathLike[str] | None = None,
    save: str | PathLike[str] | None = None,
    record: str | PathLike[str] | None = None,
    max_memory: str | int | None = None,
    contents_folder: str | PathLike[str] | None = None,
) -> Served:
    """Serves a drive as a network block device until Ctrl-C, or :func:`control`, ends that.

    Args:
        drive: The drive, which must have a page map.
        at: Path of the Unix socket. That of the control has ``.ctl`` at its end.
        remark: Takes texts for people.
        tcp: A port of this machine, or an address of the loopback, at which the server listens, too.
        clock: ``simulated``, or ``dilated:N``.
        think: Simulated time from the reading of a request to its arrival.
        depth: Requests in flight for which the simulated clock waits.
        set: Fields to override.
        policy: Mode policy in place of the description's.
        seed: Seed of all random streams.
        precondition: Starting state in place of the description's.
        load: Drive with contents that an earlier server or a device has saved.
        save: File for the drive and its contents at the end.
        record: File for a trace of the commands, in the format ``blkparse``.
        max_memory: Most memory for the contents.
        contents_folder: Folder of a file for the contents, in place of memory; `max_memory` is then most space of it.

    Raises:
        InputError: the server could not begin, or could not go on.
    """
    failed: FailedFiles = []
    with ExitStack() as files:
        beside = {
            name: None if path is None else files.enter_context(new_run_file(Path(path), failed))
            for name, path in (("record", record), ("save", save))
        }
        serving = {"socket": Path(at), "tcp": tcp, "clock": clock, "think": think, "depth": depth, **beside}
        of_drive = made(
            drive,
            set=set,
            policy=policy,
            seed=seed,
            precondition=precondition,
            load=load,
            max_memory=max_memory,
            contents_folder=contents_folder,
        )
        ended = _engine.serve(of_drive, serving, remark)
        named = {"--record": record, "--save": save}
        failed += [(str(named[option]), OSError(errno.EIO, said)) for option, said in ended.unwritten]
    return Served(json.loads(ended.summary_json), ended.interrupted, ended.notes, ended.history, failed)


def control(at: str | PathLike[str], do: str, **keys: Any) -> dict[str, Any]:
    """Asks the server at a socket to do something, and returns its answer.

    Args:
        at: Path of the socket of the server, without ``.ctl``.
        do: ``stats``, ``sample``, ``power-cut``, ``faults``, ``snapshot``, ``restore``, ``save`` or ``stop``.
        keys: What else the request has.

    Raises:
        InputError: no server listens there, or it refuses the request.
    """
    with Control(at) as link:
        return link.ask(do, **keys)


class Control:
    """A connection to the control of a server."""

    def __init__(self, at: str | PathLike[str], *, patience: float = _PATIENCE) -> None:
        """Connects to the control of the server at a socket.

        Raises:
            InputError: no server listens there.
        """
        self._path = f"{os.fspath(at)}.ctl"
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._link.settimeout(patience)
        try:
            self._link.connect(self._path)
        except OSError as error:
            self._link.close()
            raise self._expected_server(error) from None

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *raised: object) -> None:
        self._link.close()

    def ask(self, do: str, **keys: Any) -> dict[str, Any]:
        """Asks the server to do something, and returns its answer.

        Raises:
            InputError: it refuses the request, it has gone, or it is no server of a drive.
        """
        answer = bytearray()
        try:
            self._link.sendall(json.dumps({"do": do, **keys}).encode() + b"\n")
            while not answer.endswith(b"\n") and (part := self._link.recv(1 << 16)):
                answer += part
                if len(answer) > _LARGEST:
                    raise InputError(f"{self._path}: its answer does not end: expected the socket of a server")
        except OSError as error:
            raise self._expected_server(error) from None
        if not answer.endswith(b"\n"):
            raise InputError(f"{self._path}: the server has ended without an answer")
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not {"ok", "error"} & found.keys():
            raise InputError(f"{self._path}: its answer is none of ssdlab: expected the socket of a server")
        if "error" in found:
            raise InputError(found["error"])
        result: dict[str, Any] = found["ok"]
        return result

    def _expected_server(self, error: OSError) -> InputError:
        return InputError(f"{self._path}: {error.strerror or error}: expected the socket of a server")
