"""The file of the runs of a fit: an interrupted fit goes on from it.

Its first line names the format. Each further line is a run: a key of all that decides it, the engine included, and its
numbers or its error. A line is written once its run is done. What another fit, another drive or another engine has
written stays in the file, and is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias

from ssdlab import _engine, drives
from ssdlab.drives import Drive
from ssdlab.errors import InputError

__all__ = ["Numbers", "Runs", "kept_runs"]

#: Numbers of a run by their names, or its error.
Numbers: TypeAlias = dict[str, float | None] | str
_FIRST = {"ssdlab": "runs of a twin's fit", "version": 1}


class Runs:
    """The runs in a file, and the file to which further ones are written."""

    def __init__(self, path: Path, file: TextIO, found: dict[str, Numbers]) -> None:
        self._path, self._file, self._found = path, file, found

    def of(self, drive: Drive) -> OfDrive:
        """Returns the runs of a drive by this engine."""
        described = [_engine.build(), drives.check(drive)]
        return OfDrive(self, hashlib.sha256(json.dumps(described).encode()).hexdigest())

    def get(self, key: str) -> Numbers | None:
        """Returns the outcome of a run; ``None`` if there is none."""
        return self._found.get(key)

    def put(self, key: str, numbers: Numbers) -> None:
        """Writes the outcome of a run.

        Raises:
            InputError: the file cannot be written.
        """
        try:
            self._file.write(json.dumps({"run": key, "outcome": numbers}) + "\n")
            self._file.flush()
        except OSError as error:
            raise _unusable(self._path, error) from error
        self._found[key] = numbers


class OfDrive:
    """The runs of one drive in a file."""

    def __init__(self, runs: Runs, drive: str) -> None:
        self._runs, self._drive = runs, drive

    def _key(self, key: str) -> str:
        return hashlib.sha256((self._drive + key).encode()).hexdigest()[:32]

    def get(self, key: str) -> Numbers | None:
        """Returns the outcome of a run; ``None`` if the file has none."""
        return self._runs.get(self._key(key))

    def put(self, key: str, numbers: Numbers) -> None:
        """Writes the outcome of a run."""
        self._runs.put(self._key(key), numbers)


@contextmanager
def kept_runs(path: Path) -> Iterator[Runs]:
    """Opens the file of runs at `path`, which is made if it is not there.

    Raises:
        InputError: the file is no such file, or cannot be read or written.
    """
    try:
        text = path.read_bytes() if path.exists() else b""
        found, whole = _read(path, text)
        if whole < len(text):
            # A process that was killed has left a part of a line.
            os.truncate(path, whole)
        file = path.open("a", encoding="utf-8", newline="\n")
    except OSError as error:
        raise _unusable(path, error) from error
    with file:
        if not whole:
            file.write(json.dumps(_FIRST) + "\n")
            file.flush()
        yield Runs(path, file, found)


def _unusable(path: Path, error: OSError) -> InputError:
    return InputError(f"--runs: {path}: {error.strerror}: expected a file that can be written")


def _read(path: Path, text: bytes) -> tuple[dict[str, Numbers], int]:
    """Returns the runs in the text of a file, and the length of its whole lines: a part of a line ends it at most.

    Raises:
        InputError: it is no such file.
    """
    first = json.dumps(_FIRST).encode()
    if first.startswith(text):
        return {}, 0
    *lines, rest = text.split(b"\n")
    if not lines or lines[0] != first:
        raise _no_run(path, 1)
    found = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            one = json.loads(line)
            found[str(one["run"])] = _checked(one["outcome"])
        except (ValueError, KeyError, TypeError):
            raise _no_run(path, number) from None
    return found, len(text) - len(rest)


def _no_run(path: Path, number: int) -> InputError:
    return InputError(f"--runs: {path}:{number}: no run of a fit: expected a file that an earlier fit has written, or a new one")


def _checked(outcome: object) -> Numbers:
    """Returns the outcome of a run.

    Raises:
        ValueError: it is none.
    """
    if isinstance(outcome, str):
        return outcome
    if not isinstance(outcome, dict) or not all(value is None or isinstance(value, int | float) for value in outcome.values()):
        raise ValueError
    return outcome
