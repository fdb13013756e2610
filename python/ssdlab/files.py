"""Files that are there, and files that are written: checked before a run, made beside, and renamed."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from ssdlab.errors import InputError
from ssdlab.exchange import exchange
from ssdlab.locks import locked
from ssdlab.manifest import strangers, write_manifest

#: Files that could not be written, and why.
FailedFiles: TypeAlias = list[tuple[str, OSError]]

#: How many of the files that stand in the way a message names.
_NAMED = 10


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
        InputError: it is a file; or not empty, unless `force` and all in it was written by ssdlab; or the working directory, or
            one that holds it; or its own folder is missing or not writable.
    """
    with _refusing(path):
        try:
            real = path.resolve()
        except RuntimeError:  # Python 3.13 and later say nothing of it.
            real = path
        if real.is_symlink():
            raise InputError(f"{path}: cannot be written: a symbolic link that leads to itself")
        if real.exists():
            _check_replaceable(path, real, force)
        _check_parent(real)
    return real


def _check_replaceable(path: Path, real: Path, force: bool) -> None:
    """Refuses a folder `real`, named `path`, that must not or cannot be replaced as a whole."""
    if not real.is_dir():
        raise InputError(f"{path}: a file; expected the name of a folder")
    holders = _working_directory()
    for folder in holders:
        if real.samefile(folder):
            what = "the working directory" if folder == holders[0] else "it holds the working directory"
            raise InputError(f"{path}: {what}, which is never replaced; expected another folder, such as results")
    if real.is_mount():
        raise InputError(f"{path}: a file system is mounted there, which cannot be replaced; expected a folder in it")
    if not any(real.iterdir()):
        return
    if not force:
        raise InputError(f"{path}: not empty; choose another folder, or replace its results with --force")
    _check_ours(path, real)
    for folder in (real, *(entry for entry in real.rglob("*") if entry.is_dir())):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"{path}: {folder} cannot be removed: {os.strerror(errno.EACCES)}")


def _working_directory() -> tuple[Path, ...]:
    """The working directory and those that hold it; none if it has been removed."""
    try:
        working = Path.cwd()
    except FileNotFoundError:
        return ()
    return (working, *working.parents)


def _check_ours(path: Path, real: Path) -> None:
    """Refuses a folder `real`, named `path`, with anything in it that ssdlab did not write there."""
    found = strangers(real)
    if found:
        # A name may hold anything, even the end of a line.
        shown = ", ".join(name if name.isprintable() else repr(name) for name in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        what = f"{path}: --force replaces results and nothing else, and these are not part of one: {shown}{more}"
        raise InputError(f"{what}; move them away, or choose another folder")


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
    """A name beside `path` that nobody else uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{what}")


def size_so_far(path: Path) -> int:
    """Bytes of what is being written beside `path` to take its place."""
    sizes = [0]
    for beside in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        with suppress(OSError):
            sizes.append(beside.stat().st_size)
    return max(sizes)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to. What is there afterwards takes `path`'s place, whole or not at all."""
    check_new_file(path, force=True)
    beside = _beside(path, "new")
    try:
        with _named(path, beside):
            yield beside
            beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def new_run_file(path: Path, failed: FailedFiles) -> Iterator[Path]:
    """As :func:`new_file`, for a file that a run writes: where that fails, it costs the run nothing else.

    Args:
        path: The file.
        failed: Gets `path` if it cannot be put in place. If the block has added it, what was written is dropped.
    """
    check_new_file(path, force=True)
    beside = _beside(path, "new")
    try:
        yield beside
        if str(path) not in (name for name, _ in failed):
            try:
                beside.replace(path)
            except OSError as error:
                failed.append((str(path), error))
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


@contextmanager
def _named(path: Path, beside: Path) -> Iterator[None]:
    """An error in writing `beside` is one of `path`: the user gave that name, and knows nothing of the other."""
    try:
        yield
    except OSError as error:
        # A full disk is reported without a name.
        full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if not full and not str(error.filename).startswith(str(beside)):
            raise
        # What pyarrow says of it names functions of its own.
        said = os.strerror(error.errno) if error.errno else error.strerror
        raise OSError(error.errno, said, str(path)) from error


def write_folder(path: Path, kind: str, write: Callable[[Path], None], *, force: bool) -> Path:
    """Has `write` fill a folder of this `kind`, which then, with its manifest, takes `path`'s place.

    At no moment is there less than a whole folder under that name. What was there is removed last, and only if all of it was
    written by ssdlab.

    Raises:
        InputError: as for :func:`check_new_folder`, or another process writes there; nothing has changed.
        OSError: it cannot be written; nothing has changed.
    """
    real = check_new_folder(path, force)
    beside = _beside(real, "new")
    #: Removed in the end: what is known to be ours.
    spare = [beside]
    try:
        with locked(path), _named(path, beside):
            beside.mkdir()
            write(beside)
            write_manifest(beside, kind)
            with undisturbed():
                check_new_folder(path, force)
                if force and real.exists() and any(real.iterdir()):
                    _exchange_if_ours(beside, path, real, spare)
                else:
                    beside.rename(real)  # This replaces an empty folder, and none that is filled meanwhile.
                _remove(spare)
    finally:
        _remove(spare)
    return path


def _exchange_if_ours(new: Path, path: Path, real: Path, spare: list[Path]) -> None:
    """Exchanges the folders `new` and `real`, named `path`; undoes it if `real` held a file that ssdlab did not write."""
    exchange(new, real)
    spare.remove(new)
    try:
        # A last look: nobody else knows the name that it has now.
        _check_ours(path, new)
    except BaseException:
        exchange(new, real)
        spare.append(new)
        raise
    spare.append(new)


def _remove(folders: list[Path]) -> None:
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block, which must not be left half done."""
    heard: list[int] = []
    # Only the main thread hears of signals. A handler that is not of Python is none here, and could not be put back.
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    found = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in found.items() if handler is not None}
    try:
        for number in before:
            signal.signal(number, lambda number, _: heard.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        while heard:
            signal.raise_signal(heard.pop(0))
