"""The workload of a point: a file with some of its fields changed, and options for reading it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import fspath
from typing import Any

from ssdlab import toml
from ssdlab.declared import GROUPS
from ssdlab.errors import InputError
from ssdlab.files import content_hash, existing_file, is_pipe, read_text
from ssdlab.workloads import STANDARD_INPUT, Workload, pipe

__all__ = ["Load", "workload_with"]

_INDEX = re.compile(r"(\w+)((?:\[\d+\])*)")
#: Options of traces that are fields of a workload TOML.
_FIELDS = ("replay", "address")


@dataclass(frozen=True, slots=True)
class Load:
    """A workload, as a worker gets it.

    Examples:
        >>> from ssdlab.explore.loads import Load
        >>> load = Load.from_file("examples/randwrite.fio", {"iodepth": 4}, {})
        >>> [line for line in load.text.splitlines() if line.startswith("iodepth")]
        ['iodepth=4']
        >>> Load.from_file("examples/trace.csv.gz", {"iodepth": 4}, {})
        Traceback (most recent call last):
        ssdlab.InputError: workload.iodepth: examples/trace.csv.gz has no fields: expected a fio job or a workload TOML
    """

    #: Path; ``None`` if the text was changed.
    path: str | None
    text: str | None
    #: Options for reading it.
    options: Mapping[str, Any]
    #: Hash of the content.
    digest: str

    @classmethod
    def from_file(cls, path: str, fields: Mapping[str, Any], options: Mapping[str, Any]) -> Load:
        """Returns the workload in a file with these fields changed.

        A field is an option of a workload (docs/reference/options.md), a key of a fio job, set for all of its jobs, or
        a field of a workload TOML.

        Raises:
            InputError: the file cannot be read, or has no such fields.
        """
        known = _options(path)
        read = {**options, **{name: value for name, value in fields.items() if name in known}}
        changed = {name: value for name, value in fields.items() if name not in known}
        if not changed:
            return cls(path, None, read, content_hash(existing_file(path)))
        text = _text_with(_text(path, next(iter(changed))), path, changed)
        return cls(None, text, read, hashlib.sha256(text.encode()).hexdigest())

    def workload(self) -> Workload:
        """Returns the workload."""
        return Workload(self.path, self.text, **self.options)


def workload_with(workload: Workload, fields: Mapping[str, Any]) -> Workload:
    """Returns a workload with these fields changed, as :meth:`Load.from_file` names them; it keeps its name.

    Raises:
        InputError: the workload cannot be read, or has no such fields.

    Examples:
        >>> from ssdlab.explore import loads
        >>> loads.workload_with(ssdlab.Workload("examples/randwrite.fio"), {"iodepth": 4, "repeat": 2})
        <ssdlab.Workload text of 11 lines · repeat=2>
    """
    known = _options("" if workload.path is None else fspath(workload.path))
    options: dict[str, Any] = {**workload.options(), **{name: value for name, value in fields.items() if name in known}}
    inner = {name: value for name, value in fields.items() if name not in known}
    if not inner:
        return Workload(workload.path, workload.text, workload.name, **options)
    text, name = workload.text, workload.name
    if workload.path is not None and (fspath(workload.path) == STANDARD_INPUT or is_pipe(workload.path)):
        read = workload.file or ""
        name = "standard input" if read == STANDARD_INPUT else read
        text = (pipe(read) or b"").decode(errors="replace")
        _check_fields(text, name, next(iter(inner)))
    elif workload.path is not None:
        name = fspath(workload.path)
        text = _text(name, next(iter(inner)))
    return Workload(text=_text_with(text or "", name or "", inner), name=name, **options)


def _options(path: str) -> set[str]:
    """Returns the names that are options for reading a file; some of them are fields of a workload TOML."""
    return {name for name in GROUPS["workload"] if name not in _FIELDS or not path.endswith(".toml")}


def _text(path: str, field: str) -> str:
    try:
        text = read_text(existing_file(path))
    except UnicodeDecodeError:
        text = ""
    _check_fields(text, path, field)
    return text


def _check_fields(text: str, name: str, field: str) -> None:
    """Checks that a text is a workload with fields.

    Raises:
        InputError: it is a trace.
    """
    if not name.endswith(".toml") and re.search(r"^\s*\[[^\]]+\]\s*$", text, re.MULTILINE) is None:
        raise InputError(f"workload.{field}: {name} has no fields: expected a fio job or a workload TOML")


def _text_with(text: str, name: str, fields: Mapping[str, Any]) -> str:
    """Returns the text of a workload with these fields: a workload TOML by its name or content, or else a fio job."""
    return _with_fields(text, fields) if name.endswith(".toml") or _is_toml(text) else _with_keys(text, fields)


def _is_toml(text: str) -> bool:
    try:
        return "kind" in toml.loads(text)
    except ValueError:
        return False


def _with_keys(text: str, fields: Mapping[str, Any]) -> str:
    """Returns a fio job with these keys in every job, and nowhere else."""
    lines = []
    for line in text.splitlines():
        if line.partition("=")[0].strip() in fields:
            continue
        lines.append(line)
        if line.strip().startswith("[") and line.strip() != "[global]":
            lines += [f"{name}={_plain(value)}" for name, value in fields.items()]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _with_fields(text: str, fields: Mapping[str, Any]) -> str:
    """Returns a workload TOML with these fields, such as ``job[0].depth``."""
    try:
        document = toml.loads(text)
    except ValueError as error:
        raise InputError(f"workload.{next(iter(fields))}: the workload is not TOML: {error}") from None
    for name, value in fields.items():
        keys: list[str | int] = []
        for part in name.split("."):
            match = _INDEX.fullmatch(part)
            if match is None:
                raise InputError(f"workload.{name}: expected a field such as job[0].depth")
            keys += [match[1], *(int(index) for index in re.findall(r"\d+", match[2]))]
        inner: Any = document
        try:
            for key in keys[:-1]:
                inner = inner.setdefault(key, {}) if isinstance(key, str) else inner[key]
            inner[keys[-1]] = value
        except (TypeError, AttributeError, IndexError):
            raise InputError(f"workload.{name}: the workload has no such field") from None
    return toml.document(document)
