"""Locks against concurrent writers: each name that is written is locked by a file beside it (``flock``)."""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ssdlab.errors import InputError

#: Error numbers of a file system without locks, or without locks through a descriptor opened for reading.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)
#: Number of attempts to open a lock file that other processes keep removing.
_ATTEMPTS = 100
#: Number of bytes that are read of the holder's description of itself.
_WORDS = 1024


class _Held(threading.local):
    """Names that this thread has locked."""

    def __init__(self) -> None:
        self.names: set[Path] = set()


_held = _Held()


@contextmanager
def locked(*paths: Path) -> Iterator[None]:
    """Locks `paths` against all other callers of this function; a thread may lock a name again that it holds.

    The lock is the system's (``flock``), on a file ``.NAME.lock`` beside the path, which is removed at the end. It is
    released when the process ends, in whatever way: a lock file that was left behind locks nothing. On a file system
    without locks no caller is kept out.

    Raises:
        InputError: a path is locked by another process or thread, or its folder takes no file.
    """
    with ExitStack() as stack:
        for path in paths:
            # A folder is locked under its resolved name, whichever link leads to it. A file would replace a link.
            name = path.resolve() if path.is_dir() else path.parent.resolve() / path.name
            if name not in _held.names:
                stack.enter_context(_locked(path, name))
        yield


@contextmanager
def _locked(path: Path, name: Path) -> Iterator[None]:
    lock = name.with_name(f".{name.name}.lock")
    descriptor = _locked_descriptor(path, lock)
    _held.names.add(name)
    try:
        with suppress(OSError):  # on a full disk, or if the file belongs to another user
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _who().encode(errors="replace"), 0)
        yield
    finally:
        _held.names.discard(name)
        # Removed while it is locked: a process that has opened it meanwhile finds it gone and makes a new one.
        with suppress(OSError):
            if _is_there(descriptor, lock):
                lock.unlink()
        os.close(descriptor)


def _locked_descriptor(path: Path, lock: Path) -> int:
    """Returns a descriptor of the file `lock`, which exists and is locked through that descriptor."""
    for _ in range(_ATTEMPTS):
        try:
            descriptor = _open_descriptor(lock)
        except OSError as error:
            raise InputError(f"{path}: its folder {lock.parent} takes no new file: {error.strerror}") from None
        with ExitStack() as refused:
            refused.callback(os.close, descriptor)
            _lock(path, descriptor)
            if _is_there(descriptor, lock):
                refused.pop_all()
                return descriptor
    raise InputError(f"{path}: in use: others lock and unlock it all the time; choose another name")


def _lock(path: Path, descriptor: int) -> None:
    """Locks the file that `descriptor` has open, if the file system has locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Another user may have written this text: only printable characters are shown, no control sequences for the
        # terminal.
        words = os.pread(descriptor, _WORDS, 0).decode(errors="replace")
        holder = "".join(filter(str.isprintable, words)) or "another process"
        raise InputError(f"{path}: in use by {holder}; wait until it has ended, or choose another name") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise InputError(f"{path}: cannot be locked: {error.strerror}") from None


def _open_descriptor(lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except PermissionError:
        # The file was left behind by another user: reading permission suffices to lock it.
        return os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)


def _is_there(descriptor: int, lock: Path) -> bool:
    """Returns True if the file that `descriptor` has open is still the one called `lock`, not one that was removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _who() -> str:
    """Describes this process for other processes that are refused the lock: number, host, time and command."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    # Start-up: only a folder that is locked needs it.
    import platform

    command = shlex.join([name, *sys.argv[1:]])
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"process {os.getpid()} on {platform.node()} since {since} ({command})"
