"""Provenance of a result: its inputs and options, kept in its folder.

``workload.toml`` ends with a table ``[source]``: the text of a fio job or a workload TOML, or path and hash of a trace,
with the options of its reading. A file with such a table is a workload: it can be run again.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

from ssdlab import _engine, toml
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, TEXT_MAX, content_hash, read_bytes, read_text
from ssdlab.manifest import MANIFEST
from ssdlab.workloads import STANDARD_INPUT, Workload, pipe

__all__ = ["Kept", "Origin", "original_workload", "workload_and_source"]

#: Heading of the table in ``workload.toml``.
_SOURCE = "[source]"
#: Options of a run that name files or rows beside its result, which are not written again, or that change no result.
_RECORDS = ("save", "log_commands", "timeline", "history", "record_firmware", "record_commands", "record_spans", "max_memory")
#: Name of standard input in messages and results.
_NAME_OF_INPUT = "standard input"
#: Words of the command under way, set by the command line.
command_line: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Request that a run answered."""

    #: Name of the drive, as messages and the summary have it.
    drive: str
    workload: Workload
    #: Name of the policy; ``None``: the drive's own.
    policy: str | None
    #: ``KEY=VALUE`` lines.
    overrides: tuple[str, ...]
    #: Options that were given, without the overrides and the files that the run writes.
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Words of the command; ``None`` for a run from Python.
    command: tuple[str, ...] | None = None
    #: Fields that the comparison of the run varied, with the values of this run.
    varied: Mapping[str, Any] = field(default_factory=dict)
    #: Text of a fio job with its variables and includes in their places, if it has any.
    standalone: str | None = None

    @classmethod
    def from_options(
        cls, drive: str, workload: Workload, policy: str | None, overrides: list[str], options: Mapping[str, Any]
    ) -> Origin:
        """Returns the origin of a run with the options that were given."""
        kept = {
            name: value
            for name, value in options.items()
            if value not in (None, False) and name not in ("set", "seed", *_RECORDS)
        }
        return cls(drive, workload, policy, tuple(overrides), kept, command_line)

    def source(self) -> str:
        """Returns the table ``[source]`` of ``workload.toml``."""
        given = self.workload.options()
        table: dict[str, Any] = {}
        if self.standalone is not None:
            # The text has the values from the environment, the options and other files.
            given = {name: value for name, value in given.items() if name != "var"}
            path = fspath(self.workload.path or "")
            name = _NAME_OF_INPUT if path == STANDARD_INPUT else path
            table |= {"name": self.workload.name or name or "text", "text": self.standalone}
        elif self.workload.text is not None:
            table |= {"name": self.workload.name or "text", "text": self.workload.text}
        else:
            path = fspath(self.workload.path or "")
            text = _text_of(path)
            table |= {
                "name": _NAME_OF_INPUT if path == STANDARD_INPUT else path,
                **({"sha256": input_hash(path)} if text is None else {"text": text}),
            }
        return toml.document({"source": {**table, **({"options": given} if given else {})}})

    def record(self, drive_toml: str, workload_toml: str, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what the manifest says of the run."""
        load = self.options.get("load")
        return {
            "command_line": None if self.command is None else shlex.join(self.command),
            "engine": _engine.build(),
            "drive": self.drive,
            "overrides": list(self.overrides),
            "workload": self.workload.name or (None if self.workload.path is None else fspath(self.workload.path)),
            "policy": self.policy,
            "seed": summary.get("seed"),
            "options": {name: _plain(value) for name, value in self.options.items()},
            **({"varied": {name: _plain(value) for name, value in self.varied.items()}} if self.varied else {}),
            "sha256": {
                "drive.toml": _hash(drive_toml),
                "workload.toml": _hash(workload_toml),
                "loaded": None if load is None else input_hash(fspath(load)),
            },
        }


@dataclass(frozen=True, slots=True)
class Kept:
    """Origin of a result that was read from a folder, in the form in which the folder has it."""

    text: str
    run: Mapping[str, Any]

    @classmethod
    def from_folder(cls, folder: Path, source: str) -> Kept | None:
        """Returns the origin in a folder; ``None`` for one that an earlier version wrote."""
        try:
            run = json.loads(read_text(folder / MANIFEST, RESULT_MAX)).get("run")
        except (OSError, ValueError, AttributeError, RecursionError):
            return None
        return cls(source, run) if source and isinstance(run, dict) else None

    @property
    def varied(self) -> Mapping[str, Any]:
        """Fields that the comparison of the run varied, with the values of this run."""
        found = self.run.get("varied")
        return found if isinstance(found, Mapping) else {}

    def source(self) -> str:
        """Returns the table ``[source]`` of ``workload.toml``."""
        return self.text

    def record(self, drive_toml: str, workload_toml: str, summary: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns what the manifest says of the run."""
        return self.run


def workload_and_source(text: str) -> tuple[str, str]:
    """Returns the resolved workload in the text of a ``workload.toml``, and its table ``[source]``, if there is one."""
    before, heading, after = text.rpartition(f"\n{_SOURCE}\n")
    return (before, f"{_SOURCE}\n{after}") if heading else (text, "")


def original_workload(workload: Workload) -> Workload:
    """Returns the workload that a ``workload.toml`` names in its table ``[source]``; any other as it is.

    Raises:
        InputError: the table is damaged; or the trace that it names is missing, or is another one.
    """
    path = None if workload.path is None else fspath(workload.path)
    if path is None or not path.endswith(".toml") or not Path(path).is_file():
        return workload
    text = read_bytes(path, RESULT_MAX)
    if f"\n{_SOURCE}\n".encode() not in text:
        return workload
    try:
        source = toml.loads(text.decode())["source"]
        name, inner = str(source["name"]), source.get("text")
        options = {**source.get("options", {}), **workload.options()}
        if inner is not None:
            return Workload(text=str(inner), name=name, **options)
        wanted = str(source["sha256"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: [source]: damaged: {error}") from None
    if name == _NAME_OF_INPUT:
        raise InputError(f"{path}: [source]: the trace came from standard input, of which only the hash is kept")
    for place in (Path(name), Path(path).parent / name):
        if place.is_file():
            found = input_hash(str(place))
            if found != wanted:
                raise InputError(
                    f"{path}: [source]: {place} is another file than that of the run: sha256 {found}, expected {wanted}"
                )
            return Workload(str(place), **options)
    raise InputError(f"{path}: [source]: {name}: no such file, from here or beside it")


def _text_of(path: str) -> str | None:
    """Returns the text of a fio job or workload TOML; ``None`` for a trace."""
    try:
        kept = pipe(path)
        if kept is None and Path(path).stat().st_size > TEXT_MAX:
            return None
        text = (read_bytes(path) if kept is None else kept).decode()
    except (OSError, UnicodeDecodeError, InputError):
        return None
    is_job = any(line.startswith("[") and line.endswith("]") for line in map(str.strip, text[:100_000].splitlines()))
    return text if is_job and "\0" not in text else None


def input_hash(path: str) -> str:
    kept = pipe(path)
    if kept is not None:
        return hashlib.sha256(kept).hexdigest()
    try:
        return content_hash(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Returns an option's value as JSON has it."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, bool | int | float | str) else fspath(value)
