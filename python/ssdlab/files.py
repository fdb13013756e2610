"""Files that are there, and files that are written: checked before a run, made beside, and renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from ssdlab.errors import InputError


def existing_file(path: str | PathLike[str]) -> str:
    """`path` as a string, if it is a file that can be read.

    Raises:
        InputError: it is not.
    """
    name = os.fspath(path)
    try:
        name.encode()
        if Path(name).is_dir():
            raise InputError(f"{name}: a folder, not a file")
        with Path(name).open("rb"):
            return name
    except UnicodeEncodeError:
        raise InputError(f"{name!r}: a name that is not UTF-8") from None
    except FileNotFoundError:
        raise InputError(f"{name}: no such file" if name else "an empty name is no file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: {getattr(error, 'strerror', error)}") from None


def check_new_file(path: Path) -> Path:
    """`path`, if a file can be written there; an existing file would be replaced.

    Raises:
        InputError: its folder is missing or not writable, or it is a folder itself.
    """
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file")
    _check_parent(path)
    return path


def check_new_folder(path: Path, force: bool) -> Path:
    """`path` without symbolic links, if a folder can be written there.

    Raises:
        InputError: it is a file, or not empty (unless `force`), or its own folder is missing or not writable.
    """
    real = path.resolve()
    if real.exists() and not real.is_dir():
        raise InputError(f"{path}: a file; expected the name of a folder")
    if real.is_dir() and not force and any(real.iterdir()):
        raise InputError(f"{path}: not empty; choose another folder, or replace its results with --force")
    _check_parent(real)
    return real


def _check_parent(path: Path) -> None:
    parent = path.parent
    if not parent.exists():
        raise InputError(f"{path}: its folder {parent} does not exist")
    if not parent.is_dir():
        raise InputError(f"{path}: {parent} is not a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise InputError(f"{path}: its folder {parent} is not writable")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to. What is there afterwards takes `path`'s place."""
    check_new_file(path)
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield beside
        if beside.exists():
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_folder(path: Path, force: bool, write: Callable[[Path], None], ours: Callable[[Path], bool]) -> Path:
    """Has `write` fill a folder, which then takes `path`'s place.

    Replacing a folder removes only what is `ours` in it: whatever else a person keeps there moves along.
    """
    real = check_new_folder(path, force)
    beside = real.with_name(f".{real.name}.{os.getpid()}.new")
    old = real.with_name(f".{real.name}.{os.getpid()}.old")
    try:
        beside.mkdir()
        write(beside)
        if real.exists():
            real.rename(old)
        beside.rename(real)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    if old.exists():
        for entry in old.iterdir():
            if not ours(entry) and not (real / entry.name).exists():
                entry.rename(real / entry.name)
        shutil.rmtree(old)
    return path
