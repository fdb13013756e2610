"""Files that are there, and files that are written: checked before a run, made beside, and renamed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
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


def check_new_file(path: Path, force: bool) -> Path:
    """`path`, if a file can be written there.

    Raises:
        InputError: it exists (unless it is a file, and `force`), or its folder is missing or not writable.
    """
    with _refusing(path):
        if path.is_dir():
            raise InputError(f"{path}: a folder; expected the name of a file")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: neither a file nor a folder; expected the name of a file")
        if os.path.lexists(path) and not force:
            raise InputError(f"{path}: it exists; choose another name, or replace it with --force")
        _check_parent(path)
    return path


def check_new_folder(path: Path, force: bool) -> Path:
    """`path` without symbolic links, if a folder can be written there.

    Raises:
        InputError: it is a file, or not empty (unless `force`), or its own folder is missing or not writable.
    """
    with _refusing(path):
        real = path.resolve()
        if real.exists() and not real.is_dir():
            raise InputError(f"{path}: a file; expected the name of a folder")
        if real.is_dir() and not force and any(real.iterdir()):
            raise InputError(f"{path}: not empty; choose another folder, or replace its results with --force")
        _check_parent(real)
    return real


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What the system refuses while `path` is checked is an error of the input, under the name that was given."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def _check_parent(path: Path) -> None:
    parent = path.parent
    if not parent.exists():
        raise InputError(f"{path}: its folder {parent} does not exist")
    if not parent.is_dir():
        raise InputError(f"{path}: {parent} is not a folder")
    # Permissions do not tell: /proc lets root write and takes no file all the same. So one is made, and removed.
    probe = _beside(path, "try")
    try:
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: its folder {parent} takes no new file: {error.strerror}") from None


def _beside(path: Path, what: str) -> Path:
    """A name beside `path`, of this process alone."""
    return path.with_name(f".{path.name}.{os.getpid()}.{what}")


def growing(path: Path) -> Path:
    """Where what :func:`new_file` gives for `path` is while it is written."""
    return _beside(path, "new")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to. What is there afterwards takes `path`'s place, whole or not at all."""
    check_new_file(path, force=True)
    beside = growing(path)
    try:
        with _named(path, beside):
            yield beside
            if beside.exists():
                beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def _named(path: Path, beside: Path) -> Iterator[None]:
    """An error in writing `beside` is one of `path`: the user gave that name, and knows nothing of the other."""
    try:
        yield
    except OSError as error:
        # A full disk is reported without a name.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if not full and not str(error.filename).startswith(str(beside)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_folder(path: Path, force: bool, write: Callable[[Path], None], ours: Callable[[Path], bool]) -> Path:
    """Has `write` fill a folder, which then takes `path`'s place.

    Replacing a folder removes only what is `ours` in it: whatever else a person keeps there moves along.
    """
    real = check_new_folder(path, force)
    beside = _beside(real, "new")
    try:
        with _named(path, beside):
            beside.mkdir()
            write(beside)
        with _undisturbed():
            _take_place(beside, real, ours)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return path


def _take_place(new: Path, real: Path, ours: Callable[[Path], bool]) -> None:
    """Puts the folder `new` in the place of `real`, with what is not `ours` in there."""
    old = _beside(real, "old")
    if real.exists():
        real.rename(old)
    new.rename(real)
    if old.exists():
        for entry in old.iterdir():
            if not ours(entry) and not (real / entry.name).exists():
                entry.rename(real / entry.name)
        shutil.rmtree(old)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, which must not be left half done."""
    if threading.current_thread() is not threading.main_thread():  # which alone hears of Ctrl-C
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
