"""Existing input files, and output files: checked before a run, written under a temporary name beside, then renamed."""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import os
import re
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Protocol, TypeAlias

from ssdlab.errors import InputError
from ssdlab.exchange import exchange
from ssdlab.locks import locked
from ssdlab.manifest import strangers, write_manifest

#: Files that could not be written, each with its error.
FailedFiles: TypeAlias = list[tuple[str, OSError]]

#: Largest number of files that a refusal to replace a folder names.
_NAMED = 10
#: Largest text of a user that is read whole: a description, a job, a specification or a table [bytes].
TEXT_MAX = 16 << 20
#: Largest file of a result folder that is read whole [bytes].
RESULT_MAX = 256 << 20
#: Bytes read at a time, between which signals are handled.
_PIECE = 1 << 20
#: End of the name of what is being written, after the name of what it will replace.
_LEFT = re.compile(r"\.[0-9a-f]{8}\.new")
#: Ends of the names of what is there for an instant, and the age from which the second is a killed process's [s].
_PROBE, _HELD, _HELD_S = re.compile(r"\.[0-9a-f]{8}\.try"), re.compile(r"\.[0-9a-f]{8}\.held"), 600


class Readable(Protocol):
    """Source of bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Returns at most `size` bytes; none at the end."""


def content_hash(path: str | PathLike[str]) -> str:
    """Returns a hash of the content of a file, which is read once for as long as it does not change."""
    found = Path(path).stat()
    return _content_hash(os.fspath(path), found.st_size, found.st_mtime_ns)


@cache
def _content_hash(path: str, size: int, modified: int) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def existing_file(path: str | PathLike[str]) -> str:
    """Returns `path` as a string if it is a readable file.

    Raises:
        InputError: it is not.
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        raise InputError(f"{name!r}: bytes: expected the name of a file as a text")
    try:
        name.encode()
        if Path(name).is_dir():
            raise InputError(f"{name}: a folder, not a file")
        if is_pipe(name):  # Its content is lost to others once it has been opened.
            return name
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


def is_there(path: str | PathLike[str]) -> bool:
    """Returns true if there is a file or folder of this name; false, too, for a name that none can have."""
    return _is(Path.exists, path)


def is_file(path: str | PathLike[str]) -> bool:
    """Returns true if there is a file of this name, like :func:`is_there`."""
    return _is(Path.is_file, path)


def is_folder(path: str | PathLike[str]) -> bool:
    """Returns true if there is a folder of this name, like :func:`is_there`."""
    return _is(Path.is_dir, path)


def _is(what: Callable[[Path], bool], path: str | PathLike[str]) -> bool:
    try:
        return what(Path(path))
    except (OSError, ValueError):  # such as a name that is too long
        return False


def is_pipe(path: str | PathLike[str]) -> bool:
    """Returns true if `path` is a pipe, whose content can be read once: a named one, or that of ``<(command)``."""
    try:
        return stat.S_ISFIFO(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return False


def read_bytes(path: str | PathLike[str], most: int = TEXT_MAX) -> bytes:
    """Returns the content of a file of at most `most` bytes: any larger one is refused before memory ends.

    Raises:
        InputError: it is larger.
        OSError: it cannot be read.
    """
    with Path(path).open("rb", buffering=0) as file:
        return read_all(file, str(path), most)


def read_all(file: Readable, name: str, most: int) -> bytes:
    """Returns all that `file`, which messages call `name`, has to be read, at most `most` bytes.

    Raises:
        InputError: there is more.
    """
    pieces: list[bytes] = []
    left = most + 1
    while left and (piece := file.read(min(_PIECE, left))):
        pieces.append(piece)
        left -= len(piece)
    if not left:
        raise InputError(f"{name}: more than {_words(most)}: expected a smaller file")
    return b"".join(pieces)


def read_text(path: str | PathLike[str], most: int = TEXT_MAX) -> str:
    """Returns the content of a text file (UTF-8) of at most `most` bytes, with plain line feeds as line ends.

    Raises:
        InputError: it is larger.
        OSError: it cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, most).decode().replace("\r\n", "\n").replace("\r", "\n")


def read_own_text(path: str | PathLike[str], most: int = TEXT_MAX) -> str:
    """Returns the content of a text file that ssdlab wrote, like :func:`read_text`.

    Raises:
        InputError: it is larger, or not UTF-8.
        OSError: it cannot be read.
    """
    try:
        return read_text(path, most)
    except UnicodeDecodeError:
        raise InputError(f"{path}: damaged: not UTF-8: expected the text that ssdlab wrote") from None


def _words(size: int) -> str:
    return f"{size >> 30} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def check_new_file(path: Path, force: bool) -> Path:
    """Returns `path` if a file can be written there.

    Raises:
        InputError: `path` exists (unless it is a file and `force` is set), or its folder is missing or not writable.
    """
    _check_name(path)
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
    """Returns `path` with symbolic links resolved if a folder can be written there.

    Raises:
        InputError: `path` is a file; or it is not empty, unless `force` is set and ssdlab wrote everything in it; or it
            is the working directory, or a folder that contains it; or the folder that `path` is in is missing or not
            writable.
    """
    _check_name(path)
    with _refusing(path):
        try:
            real = path.resolve()
        except RuntimeError:  # Python 3.13 and later do not raise it.
            real = path
        if real.is_symlink():
            raise InputError(f"{path}: cannot be written: a symbolic link that leads to itself")
        if real.exists():
            _check_replaceable(path, real, force)
        _check_parent(real)
    return real


def _check_replaceable(path: Path, real: Path, force: bool) -> None:
    """Checks that the folder `real`, which the user named `path`, can and may be replaced as a whole.

    Raises:
        InputError: it cannot, or must not.
    """
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
    """Returns the working directory and all folders above it; none if it has been removed."""
    try:
        working = Path.cwd()
    except FileNotFoundError:
        return ()
    return (working, *working.parents)


def _check_ours(path: Path, real: Path) -> None:
    """Checks that ssdlab wrote everything in the folder `real`, which the user named `path`.

    Raises:
        InputError: it holds another file or folder.
    """
    found = strangers(real)
    if found:
        # A name may hold any character, even a line break.
        shown = ", ".join(name if name.isprintable() else repr(name) for name in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        what = f"{path}: --force replaces results and nothing else, and these are not part of one: {shown}{more}"
        raise InputError(f"{what}; move them away, or choose another folder")


def _check_name(path: Path) -> None:
    """Checks that the name of an output can be shown and kept in a manifest.

    Raises:
        InputError: it is not UTF-8, or has a null character.
    """
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: a name with a null character; expected another")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r}: a name that is not UTF-8; expected another") from None


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turns an error of the system during the checks of `path` into an error of the input that names `path`."""
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
    # Permissions do not tell: in /proc, root may write and yet cannot create files. So a file is created and removed.
    probe = _unused_name_beside(path, "try")
    try:
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: its folder {parent} takes no new file: {error.strerror}") from None


def _unused_name_beside(path: Path, what: str) -> Path:
    """Returns an unused name beside `path`."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.{what}")


@contextmanager
def _temporary(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yields the name of an empty file or folder beside `path`, held while it is written. A file is removed at the end.

    It is locked by this process before it gets a name in ``.new``: one in ``.new`` that is not locked was left behind
    by a process that was killed, and the next that writes `path` removes it.
    """
    _remove_left(path)
    first, beside = _unused_name_beside(path, "held"), _unused_name_beside(path, "new")
    with _naming_target(path, first):
        if folder:
            first.mkdir()
        else:
            first.touch(exist_ok=False)
    descriptor = os.open(first, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # on a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        first.rename(beside)
        yield beside
    finally:
        # After an exchange, a folder of this name may hold what others wrote: its writer removes it, where it may.
        _remove([first] if folder else [])
        for left in () if folder else (first, beside):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        os.close(descriptor)


def _remove_left(path: Path) -> None:
    """Removes what processes that were killed left behind beside `path`."""
    for probe in path.parent.glob(f".{glob.escape(path.name)}.*.try"):
        # Nobody needs the file of a probe: its process takes it for removed.
        if _PROBE.fullmatch(probe.name.removeprefix(f".{path.name}")):
            with suppress(OSError):
                probe.unlink()
    for held in path.parent.glob(f".{glob.escape(path.name)}.*.held"):
        # It is not locked yet, or its process was killed just then: a name is given within milliseconds.
        if _HELD.fullmatch(held.name.removeprefix(f".{path.name}")):
            with suppress(OSError):
                if time.time() - held.stat(follow_symlinks=False).st_mtime > _HELD_S:
                    _remove([held]) if held.is_dir() and not held.is_symlink() else held.unlink()
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        if not _LEFT.fullmatch(left.name.removeprefix(f".{path.name}")) or left.is_symlink():
            continue
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                # Fails if a process holds it, and on a file system without locks.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if left.is_dir():
                    _remove([left])
                else:
                    left.unlink()
            finally:
                os.close(descriptor)


def size_so_far(path: Path) -> int:
    """Returns the size [bytes] of the file that is being written beside `path` to replace it; 0 if there is none."""
    sizes = [0]
    for beside in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        with suppress(OSError):
            sizes.append(beside.stat().st_size)
    return max(sizes)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yields a name beside `path` to write to. The file written there replaces `path`, complete or not at all."""
    check_new_file(path, force=True)
    with _temporary(path) as beside, _naming_target(path, beside):
        yield beside
        beside.replace(path)


@contextmanager
def new_run_file(path: Path, failed: FailedFiles) -> Iterator[Path]:
    """Like :func:`new_file`, but for an output of a run: an error does not end the run.

    Args:
        path: The file.
        failed: Receives `path` with the error if the file cannot be put in place. If the body has already added `path`,
            the written file is discarded.
    """
    check_new_file(path, force=True)
    with _temporary(path) as beside:
        yield beside
        if str(path) not in (name for name, _ in failed):
            try:
                if not beside.stat().st_size:
                    raise FileNotFoundError(errno.ENOENT, "nothing was written")
                beside.replace(path)
            except OSError as error:
                failed.append((str(path), error))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Gives an error in writing `path`, or a file in it, the name of it, which the error of a full disk lacks."""
    with _naming_target(path, path):
        yield


@contextmanager
def _naming_target(path: Path, beside: Path) -> Iterator[None]:
    """Turns an error in writing `beside` into one of `path`: the user gave that name and does not know the other."""
    try:
        yield
    except OSError as error:
        # The error of a full disk carries no file name.
        full = error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        if not full and not str(error.filename).startswith(str(beside)):
            raise
        # The message of pyarrow names its own functions.
        said = os.strerror(error.errno) if error.errno else error.strerror
        raise OSError(error.errno, said, str(path)) from error


def write_folder(path: Path, kind: str, write: Callable[[Path], None], *, force: bool) -> Path:
    """Has `write` fill a folder of this `kind`, adds its manifest, and puts it in the place of `path`.

    The name never leads to an incomplete folder. The old folder is removed last, and only if ssdlab wrote everything in
    it.

    Raises:
        InputError: as for :func:`check_new_folder`, or another process writes there; nothing has changed.
        OSError: the folder cannot be written; nothing has changed.
    """
    real = check_new_folder(path, force)
    #: Folders to be removed in the end; all their content is known to be written by ssdlab.
    spare: list[Path] = []
    try:
        with locked(path), _temporary(real, folder=True) as beside, _naming_target(path, beside):
            spare.append(beside)
            write(beside)
            write_manifest(beside, kind)
            with undisturbed():
                check_new_folder(path, force)
                if force and real.exists() and any(real.iterdir()):
                    _exchange_if_ours(beside, path, real, spare)
                else:
                    beside.rename(real)  # Replaces an empty folder, but not one filled meanwhile.
                _remove(spare)
    finally:
        _remove(spare)
    return path


def _exchange_if_ours(new: Path, path: Path, real: Path, spare: list[Path]) -> None:
    """Exchanges the folders `new` and `real` (`path` to the user); undoes it if ssdlab did not write all of `real`."""
    exchange(new, real)
    spare.remove(new)
    try:
        # Last check, now that no other process knows the name of the folder.
        _check_ours(path, new)
    except BaseException:
        exchange(new, real)
        spare.append(new)
        raise
    spare.append(new)


def _remove(folders: list[Path]) -> None:
    # Start-up: only a folder that is removed needs it.
    import shutil

    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM to the end of the block, which must not be interrupted halfway."""
    heard: list[int] = []
    # Only the main thread handles signals. A handler that was not set by Python appears as None and could not be
    # restored.
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


@contextmanager
def damaged(*folders: Path | None) -> Iterator[None]:
    """Turns an error in the use of what folders hold into one of the input: they are files like any other.

    Without a folder, for what was read from none, errors stay what they are.

    Raises:
        InputError: a folder is damaged.
    """
    try:
        yield
    except (InputError, OSError, MemoryError, ImportError):
        raise
    except Exception as error:
        names = ", ".join(str(folder) for folder in folders if folder is not None)
        if not names:
            raise
        what = f"{error} is missing" if isinstance(error, KeyError) else f"{error or type(error).__name__}"
        raise InputError(f"{names}: damaged, or written by another version: {what}: expected what a run wrote") from error
