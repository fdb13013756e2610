"""Exchange of the names of two folders, in one step where the system supports it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

#: Linux: paths are relative to the working directory; exchange (`linux/fcntl.h`, `linux/fs.h`).
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
#: macOS: exchange (`sys/stdio.h`).
_RENAME_SWAP = 2
#: Error numbers of a system or file system without such an exchange.
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> None:
    """Exchanges the names of two folders with the same parent.

    Where the system supports it (Linux, macOS), the exchange is atomic: at every moment both names refer to a complete
    folder. Elsewhere three renames do it: for an instant there is no folder called `other`, and a process that is
    killed between the renames leaves the old folder behind, under a name that begins with a dot and ends in ``.old``.

    Raises:
        OSError: the exchange failed; both folders keep their names.
    """
    if _at_once(one, other):
        return
    aside = other.with_name(f".{other.name}.{os.urandom(4).hex()}.old")
    other.rename(aside)
    try:
        one.rename(other)
        try:
            aside.rename(one)
        except BaseException:
            other.rename(one)
            raise
    except BaseException:
        aside.rename(other)
        raise


def _at_once(one: Path, other: Path) -> bool:
    """Exchanges the two names in one step. Returns False if the system or the file system cannot do so."""
    # Start-up: only a folder that is replaced needs it.
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux" and hasattr(system, "renameat2"):
        failed = system.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    elif sys.platform == "darwin" and hasattr(system, "renamex_np"):
        failed = system.renamex_np(names[0], names[1], _RENAME_SWAP)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))
