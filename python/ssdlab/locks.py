"""One writer at a time: a lock on each name that is written, a file beside it that the system lets one process hold."""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ssdlab.errors import InputError

#: What a file system says that has no locks, or none through a descriptor that only reads.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)
#: How often a lock is opened that its last holder removes at that moment.
_ATTEMPTS = 100
#: Bytes that are read of what a holder says of itself.
_WORDS = 1024


class _Held(threading.local):
    """The names that this thread has locked."""

    def __init__(self) -> None:
        self.names: set[Path] = set()


_held = _Held()


@contextmanager
def locked(*paths: Path) -> Iterator[None]:
    """Keeps all others that ask for it from writing `paths`; a thread may lock a name again that it holds.

    The lock is the system's (``flock``) on a file beside, ``.NAME.lock``, that is removed in the end. It ends with the process,
    however that ends: a file that was left behind locks nothing. On a file system without locks nobody is kept out.

    Raises:
        InputError: one of them is locked by another process or thread, or its folder takes no file.
    """
    with ExitStack() as stack:
        for path in paths:
            # A folder is locked under its own name, whatever link leads to it; a file takes the place of a link.
            name = path.resolve() if path.is_dir() else path.parent.resolve() / path.name
            if name not in _held.names:
                stack.enter_context(_locked(path, name))
        yield


@contextmanager
def _locked(path: Path, name: Path) -> Iterator[None]:
    lock = name.with_name(f".{name.name}.lock")
    descriptor = _taken(path, lock)
    _held.names.add(name)
    try:
        with suppress(OSError):  # on a full disk, or in a file of another user
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _who().encode(errors="replace"), 0)
        yield
    finally:
        _held.names.discard(name)
        # Removed while it is held: whoever opened it meanwhile sees that it is no longer there, and makes a new one.
        with suppress(OSError):
            if _is_there(descriptor, lock):
                lock.unlink()
        os.close(descriptor)


def _taken(path: Path, lock: Path) -> int:
    """A descriptor of the file `lock`, which is there and locked through it."""
    for _ in range(_ATTEMPTS):
        try:
            descriptor = _opened(lock)
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
    """Locks the file that `descriptor` has open, where there are locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # What another user wrote there is shown on this one's terminal: letters, no commands to it.
        words = os.pread(descriptor, _WORDS, 0).decode(errors="replace")
        holder = "".join(filter(str.isprintable, words)) or "another process"
        raise InputError(f"{path}: in use by {holder}; wait until it has ended, or choose another name") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise InputError(f"{path}: cannot be locked: {error.strerror}") from None


def _opened(lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except PermissionError:
        # Another user left it behind: what may be read may be locked.
        return os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)


def _is_there(descriptor: int, lock: Path) -> bool:
    """Whether the file that `descriptor` has open is the one of this name, not one that was removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _who() -> str:
    """This process, its host, the time and its command, as a command that is refused shows them."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    command = shlex.join([name, *sys.argv[1:]])
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return f"process {os.getpid()} on {platform.node()} since {since} ({command})"
