"""The folder of a search, which several processes, also of several machines, may fill at the same time.

Each process holds a lock on a file of its own (``flock``), which the system releases when it ends, in whatever way:
trials under way of a process whose lock is free are taken as abandoned. What must not happen twice is done under one
lock of the folder. Rows are files of their own, renamed into place.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ssdlab.errors import InputError
from ssdlab.exchange import exchange
from ssdlab.files import damaged, is_folder, naming, read_own_text, read_text, undisturbed
from ssdlab.manifest import check_format, write_manifest

__all__ = ["SearchFolder", "read_trials"]

TRIALS = "trials.parquet"
SPEC = "optimise.toml"
JOURNAL = "study.journal"
_MEMBERS = ".members"
_LOCK = ".study.lock"


class SearchFolder:
    """Folder of a search.

    Examples:
        >>> import pyarrow
        >>> from ssdlab.explore.shared import SearchFolder
        >>> schema = pyarrow.schema({"study_trial": pyarrow.int64()})
        >>> with SearchFolder.opened("search", "title = 'x'", schema) as folder:
        ...     folder.add({"study_trial": 0})
        ...     folder.is_alone()
        True
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        #: Name of this process among those of the folder.
        self.member = secrets.token_hex(8)

    @classmethod
    @contextmanager
    def opened(cls, path: str | PathLike[str], text: str, schema: pa.Schema) -> Iterator[SearchFolder]:
        """Opens a folder for the search with the specification `text`: a new one, or one of this search.

        Raises:
            InputError: the folder has something else in it, or is that of another specification.
        """
        folder = cls(Path(path), schema)
        check_search_folder(folder.path, text)
        (folder.path / _MEMBERS).mkdir(parents=True, exist_ok=True)
        own = folder.path / _MEMBERS / folder.member
        with own.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                with folder.locked():
                    check_search_folder(folder.path, text)
                    if folder.is_alone():
                        _tidy(folder.path)
                    folder.write(SPEC, text)
                    (folder.path / TRIALS).mkdir(exist_ok=True)
                yield folder
            finally:
                with suppress(OSError):
                    own.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps all other processes of the folder out of such a block, and waits for one that is in it."""
        with (self.path / _LOCK).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def is_alive(self, member: str) -> bool:
        """Returns True if the process of this name is under way."""
        if member == self.member:
            return True
        try:
            with (self.path / _MEMBERS / member).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def is_alone(self) -> bool:
        """Returns True if no other process of the folder is under way. Files of ended ones are removed."""
        others = False
        for path in (self.path / _MEMBERS).iterdir():
            if path.name == self.member:
                continue
            if self.is_alive(path.name):
                others = True
            else:
                with suppress(OSError):
                    path.unlink()
        return not others

    def write(self, name: str, text: str) -> None:
        """Writes a file: complete or not at all. One that has this text is left as it is."""
        path = self.path / name
        with suppress(OSError, UnicodeDecodeError):
            if read_text(path) == text:
                return
        beside = self.path / f".{name}.{self.member}.new"
        with naming(path):
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)

    def replace_folder(self, name: str, files: Mapping[str, str]) -> None:
        """Replaces a folder in the folder by one with these texts, in one step."""
        beside = self.path / f".{name}.{self.member}.new"
        beside.mkdir()
        for file, text in files.items():
            (beside / file).write_text(text, encoding="utf-8")
        self._put(beside, name)

    def _put(self, beside: Path, name: str) -> None:
        """Puts a folder in the place of another, in one step: a reader finds the old files or the new ones."""
        if (self.path / name).exists():
            exchange(beside, self.path / name)
            shutil.rmtree(beside, ignore_errors=True)
        else:
            beside.rename(self.path / name)

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds the row of a trial: complete or not at all."""
        name = f"{row['study_trial']:08}"
        beside = self.path / f".{name}.{self.member}.new"
        table = pa.Table.from_pylist([dict(row)], schema=self.schema)
        with naming(self.path / TRIALS):
            parquet.write_table(table, beside, compression="none", use_dictionary=False, write_statistics=False)
            beside.replace(self.path / TRIALS / f"{name}.parquet")

    def compact(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Puts these rows in the place of all, in one file if no other process is under way, and returns them."""
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=self.schema)
        with undisturbed(), naming(self.path / TRIALS):
            if self.is_alone():
                beside = self.path / f".{TRIALS}.{self.member}.new"
                beside.mkdir()
                parquet.write_table(table, beside / TRIALS, compression="zstd")
                self._put(beside, TRIALS)
            else:
                # The others add rows meanwhile: only files that are there are written again.
                for row in rows:
                    self.add(row)
        return table

    def clear(self) -> None:
        """Removes a folder that was begun for nothing, unless another process has joined."""
        with self.locked():
            if self.is_alone():
                shutil.rmtree(self.path, ignore_errors=True)

    def write_manifest(self) -> None:
        """Writes the manifest of the folder."""
        write_manifest(self.path, "search")


def check_search_folder(path: Path, text: str) -> bool:
    """Checks that a folder can be written, and is that of the search with the specification `text`, or empty.

    Returns True if it is not there, or empty.

    Raises:
        InputError: it cannot, or is not.
    """
    if not path.exists():
        if not path.parent.is_dir():
            raise InputError(f"{path}: its folder {path.parent} does not exist")
        return True
    if not path.is_dir():
        raise InputError(f"{path}: a file; expected the name of a folder")
    spec = path / SPEC
    if not spec.is_file():
        content = [entry.name for entry in path.iterdir() if not entry.name.startswith(".")]
        if content:
            raise InputError(f"{path}: not the folder of a search, and not empty: expected another name")
        return not content
    check_format(path)
    if read_own_text(spec) != text:
        raise InputError(f"{path}: has the trials of another specification, {spec}: expected another folder for this one")
    return False


def _tidy(path: Path) -> None:
    """Removes what a killed process left half written."""
    for left in path.glob(".*.new"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()


def read_trials(path: str | PathLike[str]) -> pa.Table:
    """Returns the rows in the folder of a search, in the order of its trials, each once.

    Raises:
        InputError: the folder is not that of a search.
    """
    trials = Path(path) / TRIALS
    if not is_folder(trials):
        raise InputError(f"{path}: not the folder of a search: it has no {TRIALS}")
    files = sorted(trials.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        return pa.table({"study_trial": pa.array([], pa.int64())})
    with damaged(trials):
        whole = pa.concat_tables([parquet.read_table(file) for file in files], promote_options="default")
        last = {number: at for at, number in enumerate(whole["study_trial"].to_pylist())}
        return whole.take(pa.array(sorted(last.values()), pa.int64())).sort_by("study_trial")


class JournalLock:
    """Lock of Optuna's journal, which a process that is killed does not leave behind.

    A line that a killed process has not ended is removed: the journal would be unreadable after the next one.
    """

    def __init__(self, journal: Path) -> None:
        self.journal = journal
        self.descriptor: int | None = None

    def acquire(self) -> bool:
        """Waits for the lock."""
        self.descriptor = os.open(self.journal.with_name(f".{self.journal.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        self._remove_half_line()
        return True

    def release(self) -> None:
        """Gives the lock back."""
        if self.descriptor is not None:
            os.close(self.descriptor)
        self.descriptor = None

    def repair(self) -> None:
        """Removes a line that a killed process has not ended."""
        self.acquire()
        self.release()

    def _remove_half_line(self) -> None:
        with self.journal.open("rb+") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return
            file.seek(size - 1)
            if file.read(1) == b"\n":
                return
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
