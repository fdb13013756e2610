"""Provenance of a result: its inputs and options, kept in its folder, and the run repeated from there.

``workload.toml`` ends with a table ``[source]``: the text of a fio job or a workload TOML, or path and hash of a trace,
with the options of its reading. A file with such a table is a workload: it can be run again.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _engine, toml
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, TEXT_MAX, content_hash, read_bytes, read_text
from ssdlab.workloads import STANDARD_INPUT, Workload, pipe

if TYPE_CHECKING:
    from ssdlab.drives import Drive
    from ssdlab.results import Result
    from ssdlab.simulate import PolicyLike

__all__ = ["Kept", "Origin", "Request", "Rerun", "divided", "request_of", "request_of_folder", "rerun", "sourced"]

#: Heading of the table in ``workload.toml``.
_SOURCE = "[source]"
#: Options of a run that name files or rows beside its result, which are not written again.
_RECORDS = ("save", "log_commands", "timeline", "history", "record_firmware", "record_commands", "record_spans")
#: Name of standard input in messages and results.
_NAME_OF_INPUT = "standard input"
#: Times of a run, which differ between equal runs.
_TIMES = ("wall_s",)

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
    def of(cls, drive: str, workload: Workload, policy: str | None, overrides: list[str], options: Mapping[str, Any]) -> Origin:
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
                **({"sha256": _hash_of(path)} if text is None else {"text": text}),
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
                "loaded": None if load is None else _hash_of(fspath(load)),
            },
        }


@dataclass(frozen=True, slots=True)
class Kept:
    """Origin of a result that was read from a folder, in the form in which the folder has it."""

    text: str
    run: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path, source: str) -> Kept | None:
        """Returns the origin in a folder; ``None`` for one that an earlier version wrote."""
        from ssdlab.manifest import MANIFEST

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


def divided(text: str) -> tuple[str, str]:
    """Returns the resolved workload in the text of a ``workload.toml``, and its table ``[source]``, if there is one."""
    before, heading, after = text.rpartition(f"\n{_SOURCE}\n")
    return (before, f"{_SOURCE}\n{after}") if heading else (text, "")


def sourced(workload: Workload) -> Workload:
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
        source = tomllib.loads(text.decode())["source"]
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
            found = _hash_of(str(place))
            if found != wanted:
                raise InputError(
                    f"{path}: [source]: {place} is another file than that of the run: sha256 {found}, expected {wanted}"
                )
            return Workload(str(place), **options)
    raise InputError(f"{path}: [source]: {name}: no such file, from here or beside it")


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that was repeated from its folder.

    Examples:
        >>> folder = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").save("out")
        >>> again = ssdlab.rerun(folder)
        >>> again.is_same, again.differences
        (True, [])
    """

    #: The new result.
    result: Result
    #: Numbers and files in which it differs from that in the folder.
    differences: list[str]
    #: Build of the engine that made the result in the folder.
    engine: str

    @property
    def is_same(self) -> bool:
        """True if the results agree in everything but the time that the run took."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a run, with which it can be done again."""

    #: The drive, complete.
    drive: Drive
    workload: Workload
    policy: PolicyLike | None
    #: Options, the seed included.
    options: Mapping[str, Any]
    #: Build of the engine that made the result.
    engine: str


def request_of(result: Result) -> Request:
    """Returns the request of a result of this process.

    Raises:
        InputError: the result was read from a folder, or ran under a policy given as a Python object.
    """
    from ssdlab import policy_file
    from ssdlab.drives import Drive

    origin = result.origin
    if not isinstance(origin, Origin):
        raise InputError("the result was read from a folder: expected the folder itself")
    if origin.policy is not None and origin.policy.startswith("class "):
        raise InputError(
            f"the run was under a policy given as a Python object ({origin.policy}), which only its program can repeat"
        )
    policy = None if origin.policy is None else policy_file.chosen(origin.policy)
    options = {**origin.options, "seed": result.seed}
    return Request(Drive(origin.drive, result.drive_toml), origin.workload, policy, options, _engine.build())


def request_of_folder(path: Path) -> Request:
    """Returns the request of the run of a result folder.

    Raises:
        InputError: the folder is none of a result, or does not say how it was made; or an input is missing or changed.
    """
    from ssdlab import policy_file
    from ssdlab.drives import Drive
    from ssdlab.folder import load_result
    from ssdlab.manifest import MANIFEST

    before = load_result(path)
    try:
        record = json.loads(read_text(path / MANIFEST, RESULT_MAX))["run"]
        policy = None if record["policy"] is None else str(record["policy"])
        options = {**record["options"], "seed": int(record["seed"])}
        drive, engine, loaded = str(record["drive"]), str(record["engine"]), record["sha256"]["loaded"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: its manifest does not say how it was made: it was written by an earlier version") from None
    if policy is not None and policy.startswith("class "):
        raise InputError(f"{path}: ran under a policy given as a Python object ({policy}), which only its program can repeat")
    if loaded is not None and _hash_of(str(options["load"])) != loaded:
        raise InputError(f"{path}: started from {options['load']}, which is another file now")
    chosen = None if policy is None else policy_file.chosen(policy)
    return Request(Drive(drive, before.drive_toml), Workload(path / "workload.toml"), chosen, options, engine)


def rerun(folder: str | PathLike[str], **hooks: Any) -> Rerun:
    """Does the run of a result folder again, and compares the results.

    Args:
        folder: A folder that ``--out`` or :meth:`ssdlab.Result.save` wrote.
        **hooks: `session` and `progress` of :func:`ssdlab.run`.

    Raises:
        InputError: the folder is none of a result, or does not say how it was made; or an input is missing or changed.

    Examples:
        >>> folder = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").save("out")
        >>> ssdlab.rerun(folder).result.write_amplification
        1.0
    """
    from ssdlab import simulate
    from ssdlab.folder import damaged, load_result

    path = Path(folder)
    with damaged(path):
        before = load_result(path)
        is_complete = before.status == "complete"
    if not is_complete:
        raise InputError(f"{path}: its run was stopped before its end, and a whole run gives another result")
    asked = request_of_folder(path)
    result = simulate.run(asked.drive, asked.workload, asked.policy, **{**asked.options, **hooks})
    with damaged(path):
        return Rerun(result, _differences(before, result), asked.engine)


def _differences(before: Result, after: Result) -> list[str]:
    """Returns where two results differ, numbers of the summary first."""
    from ssdlab.explore.rows import flat

    old, new = (dict(flat(each.summary, "")) for each in (before, after))
    names = [name for name in {**old, **new} if name not in _TIMES and old.get(name) != new.get(name)]
    found = [f"{name}: {old.get(name)!r}, now {new.get(name)!r}" for name in names]
    if before.drive_toml != after.drive_toml:
        found.append("drive.toml")
    for name, tables in (
        ("latency.parquet", (before.latency_table(), after.latency_table())),
        ("timeline.parquet", (before.timeline_table(), after.timeline_table())),
    ):
        if not tables[0].equals(tables[1]):
            found.append(name)
    return found


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


def _hash_of(path: str) -> str:
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
