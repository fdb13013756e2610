"""Workloads: traces, fio jobs, synthetic models and look-alikes, with options for reading and replaying them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias, Unpack, cast

from ssdlab import _engine, toml
from ssdlab._declared import WorkloadFields, WorkloadKeywords
from ssdlab.declared import checked
from ssdlab.errors import InputError
from ssdlab.files import Readable, existing_file, is_pipe, read_all, read_bytes, read_text
from ssdlab.numbers import plain
from ssdlab.waiting import interruptible

__all__ = ["Workload", "WorkloadLike"]

#: Name of standard input in the place of a file.
STANDARD_INPUT = "-"
#: Largest content of standard input or of a pipe, which is kept in memory [bytes].
_PIPE_MAX = 4 << 30
#: Line of a fio job file that includes another one.
_INCLUDE = re.compile(r"^[ \t]*include[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
#: Content of standard input, once it has been read.
_kept = b""
#: Contents of the pipes that have been read, by their names.
_pipes: dict[str, bytes] = {}


def _standard_input() -> str:
    """Reads standard input for the engine, once for all workloads that name it; returns its name.

    Raises:
        InputError: standard input is closed, or cannot be read.
    """
    try:
        buffer = sys.stdin.buffer
        # Unbuffered: a thread that still reads must hold no lock when the process ends.
        raw = cast(Readable, getattr(buffer, "raw", buffer))
        content = interruptible(lambda: read_all(raw, "standard input", _PIPE_MAX))
    except (AttributeError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"standard input: cannot be read: {error}") from None
    # A second reading finds nothing: the first remains.
    if content:
        global _kept
        _kept = content
        _engine.keep_pipe(STANDARD_INPUT, content)
    return STANDARD_INPUT


def _pipe(name: str) -> str:
    """Reads a pipe for the engine, once for all workloads that name it; returns its name.

    Raises:
        InputError: it has more than the limit, or cannot be read.
    """
    if name not in _pipes:
        try:
            _pipes[name] = interruptible(lambda: read_bytes(name, _PIPE_MAX))
        except OSError as error:
            raise InputError(f"{name}: cannot be read: {error.strerror}") from None
        _engine.keep_pipe(name, _pipes[name])
    return name


def pipe(path: str) -> bytes | None:
    """Returns what a run has read from standard input or a pipe of this name; ``None`` if that is none."""
    return _kept if path == STANDARD_INPUT else _pipes.get(path)


def included(path: str) -> list[str]:
    """Returns the files that a fio job file includes, directly or through others."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        job = waiting.pop()
        try:
            text = read_text(job) if Path(job).is_file() else ""
        except (OSError, ValueError):  # a trace
            continue
        names = (str(Path(path).parent / name) for name in _INCLUDE.findall(text))
        new = [name for name in names if name not in found]
        found += new
        waiting += new
    return found


@dataclass(frozen=True, slots=True, repr=False)
class Workload(WorkloadFields):
    """Workload that has not been read yet. Options that are left out take the engine's defaults.

    docs/reference/options.md has all of them.

    Examples:
        >>> workload = ssdlab.Workload("examples/trace.csv.gz", replay="closed:4", max_requests=500)
        >>> workload
        <ssdlab.Workload examples/trace.csv.gz · replay='closed:4' · max_requests=500>
        >>> ssdlab.run("tiny", workload).commands
        {'read': 22, 'write': 478, 'trim': 0, 'flush': 0}
    """

    #: File: a trace (``.gz`` and ``.zst`` are decompressed while reading), a fio job file, or a workload TOML; ``-``:
    #: standard input.
    path: str | PathLike[str] | None = None
    #: Text of a fio job or of a workload TOML, instead of a file.
    text: str | None = None
    #: Name of the text in messages and results.
    name: str | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.text is None):
            raise InputError("workload: give either a path or a text")
        if isinstance(self.streams, str):
            raise InputError(f"streams: expected a list of labels, got the string {self.streams!r}")
        checked("workload", self.options(), lambda option: option.name)

    def __repr__(self) -> str:
        source = f"text of {len(self.text.splitlines())} lines" if self.text is not None else str(self.path)
        options = [f"{name}={value!r}" for name, value in self.options().items()]
        return f"<ssdlab.Workload {' · '.join([source, *options])}>"

    @classmethod
    def from_text(cls, text: str, **options: Unpack[WorkloadKeywords]) -> Workload:
        r"""Returns a workload from the text of a fio job or of a workload TOML.

        Examples:
            >>> job = ssdlab.Workload.from_text("[reads]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=1000")
            >>> ssdlab.run("tiny", job, precondition="fill").latency["read"].p50_ns / 1000
            110.8
        """
        return cls(text=text, **options)

    @classmethod
    def from_dict(cls, model: Mapping[str, object], **options: Unpack[WorkloadKeywords]) -> Workload:
        """Returns a workload from a dictionary with the fields of a workload TOML.

        Examples:
            >>> job = {"name": "hot", "pattern": {"kind": "zipf", "theta": 0.9}, "read_share": 0.5}
            >>> job |= {"sizes": [{"size": "4KiB"}], "depth": 8, "requests": 1000}
            >>> workload = ssdlab.Workload.from_dict({"kind": "synthetic", "job": [job]})
            >>> ssdlab.run("tiny", workload, precondition="fill").commands
            {'read': 506, 'write': 494, 'trim': 0, 'flush': 0}
        """
        return cls(text=toml.document(model), **options)

    @classmethod
    def open(cls, workload: WorkloadLike) -> Workload:
        """Returns a workload from a path or a dictionary (:meth:`from_dict`); a workload is returned as it is.

        Examples:
            >>> ssdlab.Workload.open("examples/trace.csv.gz").path
            'examples/trace.csv.gz'
        """
        if isinstance(workload, Workload):
            return workload
        if isinstance(workload, Mapping):
            return cls.from_dict(workload)
        return cls(path=workload)

    @property
    def file(self) -> str | None:
        """Path of the file, checked to be a readable file; ``None`` for a text. ``-`` is standard input.

        Raises:
            InputError: there is no such file, or it is not a file.
        """
        if self.path is None:
            return None
        if fspath(self.path) == STANDARD_INPUT:
            return _standard_input()
        name = existing_file(self.path)
        return _pipe(name) if is_pipe(name) else name

    def trace_file(self) -> str:
        r"""Returns the path of the file, where a trace is expected.

        Raises:
            InputError: the workload is a text, or there is no such file, or it is not a file.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz").trace_file()
            'examples/trace.csv.gz'
            >>> ssdlab.Workload.from_text("[job]\nrw=read").trace_file()
            Traceback (most recent call last):
            ssdlab.InputError: a trace is a file, not a text
        """
        file = self.file
        if file is None:
            raise InputError("a trace is a file, not a text")
        return file

    def options(self) -> dict[str, object]:
        """Returns the options that were given.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz", address="wrap", repeat=2).options()
            {'address': 'wrap', 'repeat': 2}
        """
        given = {field.name: getattr(self, field.name) for field in fields(WorkloadFields)}
        return {name: plain(value) for name, value in given.items() if value is not None}

    def options_json(self) -> str:
        """Returns the options that were given as JSON text, as the engine takes them.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz", address="wrap", repeat=2).options_json()
            '{"address": "wrap", "repeat": 2}'
        """
        return json.dumps(self.options())


#: Workload as an argument: a path, a :class:`Workload`, or a dictionary with the fields of a workload TOML.
WorkloadLike: TypeAlias = str | PathLike[str] | Workload | Mapping[str, object]
