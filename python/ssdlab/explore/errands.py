"""Runs of a sweep on the workers of a cluster, which need no file system in common with the machine of the sweep.

A run is sent without its files. A worker that lacks one says so, gets the content once, and keeps it under its hash in
its local folder, which Dask removes with the worker.
"""

from __future__ import annotations

import pickle
import platform
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow

from ssdlab import policy_file, toml
from ssdlab.explore.tasks import Task, engine_hash
from ssdlab.explore.work import execute
from ssdlab.files import content_hash
from ssdlab.memory import free_bytes
from ssdlab.setups import Setups

__all__ = ["Errand", "File"]

#: Fields of a description that name a file.
FILE_FIELDS = ("ecc.errors.file", "flash.measured_code", "ftl.translation.file")

_starting = threading.Lock()
#: Groups whose starting state is there, and a lock for each that is being made.
_made: set[str] = set()
_making: dict[str, threading.Lock] = {}
#: Sweeps that were interrupted.
_stopped: set[str] = set()


@dataclass(frozen=True, slots=True)
class File:
    """A file that a run needs."""

    #: Path on the machine of the sweep.
    path: str
    #: Hash of its content.
    digest: str

    def place(self, folder: Path) -> Path:
        """Returns the path of the copy of a worker, under its own name: formats are recognised by their endings."""
        return folder / self.digest / Path(self.path).name


@dataclass(frozen=True, slots=True)
class Errand:
    """A run and what a worker must know of it.

    Examples:
        >>> from ssdlab.explore.errands import Errand
        >>> from ssdlab.explore.tasks import tasks
        >>> spec = ssdlab.Spec.open({"drive": "tiny", "workload": "examples/randwrite.fio"})
        >>> errand = Errand.for_task(next(tasks(spec)), (), "one")
        >>> {name: file.path for name, file in errand.files.items()}
        {'workload': 'examples/randwrite.fio'}
    """

    task: Task
    #: Names of the numbers to keep.
    names: tuple[str, ...]
    #: Name of the sweep, by which its runs are stopped.
    sweep: str
    #: Memory for starting states [bytes].
    limit: int
    #: Files by what names them: ``workload``, ``faults``, ``policy``, or a field of the description.
    files: Mapping[str, File]

    @classmethod
    def for_task(cls, task: Task, names: tuple[str, ...], sweep: str, limit: int = 0) -> Errand:
        """Returns the errand of a task."""
        return cls(task, names, sweep, limit, {} if task.error is not None else dict(_files(task)))

    def task_in(self, folder: Path) -> Task:
        """Returns the task with the copies of its files in the folder of a worker."""
        at = {name: str(file.place(folder)) for name, file in self.files.items()}
        task = self.task
        if task.load is not None and "workload" in at:
            task = replace(task, load=replace(task.load, path=at.pop("workload")))
        if "faults" in at:
            task = replace(task, options={**task.options, "faults": at.pop("faults")})
        if "policy" in at:
            name = policy_file.split(task.point.policy or "")[1]
            task = replace(task, point=replace(task.point, policy=f"{at.pop('policy')}:{name}"))
        return replace(task, settings=(*task.settings, *(f"{field}={toml.value(path)}" for field, path in at.items())))

    def missing(self, folder: Path) -> list[str]:
        """Returns the names of the files that the folder of a worker lacks."""
        return [name for name, file in self.files.items() if not file.place(folder).is_file()]

    def as_named(self, text: str | None, folder: Path) -> str | None:
        """Returns an error with the files under the names that they have on the machine of the sweep."""
        for file in self.files.values():
            text = text and text.replace(str(file.place(folder)), file.path)
        return text


def _files(task: Task) -> Iterator[tuple[str, File]]:
    """Yields the files of a task, with what names them."""
    if task.load is not None and task.load.path is not None:
        yield "workload", File(task.load.path, task.load.digest)
    if isinstance(script := task.options.get("faults"), str):
        yield "faults", File(script, content_hash(script))
    path, name = policy_file.split(task.point.policy or "")
    if name is not None and Path(path).is_file():
        yield "policy", File(path, content_hash(path))
    given = _field_reader(task)
    for field in FILE_FIELDS:
        named = given(field)
        if isinstance(named, str) and (found := Path(task.drive[0]).parent / named).is_file():
            yield field, File(str(found), content_hash(str(found)))


def _field_reader(task: Task) -> Any:
    """Returns a function from the dotted name of a field to its value in the text and the settings of the drive."""
    document: dict[str, Any] = tomllib.loads(task.drive[1])
    for line in task.settings:
        name, _, text = line.partition("=")
        *above, last = name.strip().split(".")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        inner: Any = document
        for key in above:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else None
        if isinstance(inner, dict):
            inner[last] = value

    def value_of(name: str) -> Any:
        inner: Any = document
        for key in name.split("."):
            inner = inner.get(key) if isinstance(inner, dict) else None
        return inner

    return value_of


def facts(dask_worker: Any = None) -> dict[str, Any]:
    """Returns what decides if a worker may do runs, and its memory [bytes].

    Args:
        dask_worker: The worker, which Dask hands over.
    """
    memory = free_bytes()
    allowed = getattr(getattr(dask_worker, "memory_manager", None), "memory_limit", None)
    return {
        "versions": {"engine": engine_hash(), "Python": platform.python_version(), "pyarrow": pyarrow.__version__},
        "memory": min(memory, allowed or memory),
    }


def store(
    file: File, offset: int, content: bytes, is_last: bool, sweep: str, dask_worker: Any = None, folder: Path | None = None
) -> None:
    """Stores a part of a file. The file is there once its last part has been written.

    Args:
        file: The file.
        offset: Place of the part [bytes].
        content: The part.
        is_last: True for the last part.
        sweep: Name of the sweep: several may send the same file.
        dask_worker: The worker, which Dask hands over.
        folder: Folder for the files; absent: that of the worker.

    Raises:
        OSError: the file cannot be written, or is not what was announced.
    """
    place = file.place(_folder(dask_worker) if folder is None else folder)
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.{sweep}")
    with beside.open("r+b" if offset else "wb") as written:
        written.seek(offset)
        written.write(content)
    if is_last:
        if content_hash(beside) != file.digest:
            raise OSError(f"{file.path}: it has changed since the sweep began")
        beside.replace(place)


def _folder(worker: Any) -> Path:
    return Path(worker.local_directory) / "ssdlab"


def perform(message: bytes, folder: Path | None = None) -> dict[str, Any]:
    """Does a run and returns what its row gets, or the names of the files that are ``missing``.

    Args:
        message: The errand, pickled.
        folder: Folder of the files; absent: that of the worker.
    """
    errand: Errand = pickle.loads(message)
    if folder is None:
        # Only a worker of Dask needs it; it may be missing.
        from distributed import get_worker

        folder = _folder(get_worker())
    if missing := errand.missing(folder):
        return {"missing": missing}
    setups = _setups(errand.limit)
    with one_makes(errand.task.group):
        outcome = execute(errand.task_in(folder), errand.names, setups, lambda _: errand.sweep not in _stopped)
    return {**outcome, "error": errand.as_named(outcome.get("error"), folder)}


@cache
def _setups(limit: int) -> Setups:
    """Returns the set-ups of this process, whose runs share their starting states."""
    return Setups(limit)


@contextmanager
def one_makes(group: str) -> Iterator[None]:
    """Lets the first run of a group go alone, since it makes the starting state from which the others begin.

    A run that has no starting state to be kept has a group of its seed only, which begins with a slash.
    """
    if group.startswith("/"):
        yield
        return
    with _starting:
        lock = _making.setdefault(group, threading.Lock())
    with lock:
        if group not in _made:
            yield
            _made.add(group)
            return
    yield


def stop(sweep: str) -> None:
    """Ends the runs of a sweep that was interrupted; their outcomes are not awaited."""
    _stopped.add(sweep)
