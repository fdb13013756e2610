"""Two folders exchange their names, in one step where the system can."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import sys
from pathlib import Path

#: Linux: paths are relative to the working directory; exchange (`linux/fcntl.h`, `linux/fs.h`).
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
#: macOS: exchange (`sys/stdio.h`).
_RENAME_SWAP = 2
#: What a system or a file system says that has no exchange.
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> None:
    """Gives each of two folders of one parent the other's name.

    At every moment both names have a whole folder, if the system can exchange them at once (Linux, macOS). Elsewhere three
    renames do it: `other` has no folder for an instant, and a process that is killed within it leaves the old folder beside,
    under a name that begins with a dot and ends in ``.old``.

    Raises:
        OSError: it cannot be done; both are as they were.
    """
    if _at_once(one, other):
        return
    aside = other.with_name(f".{other.name}.{secrets.token_hex(4)}.old")
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
    """Exchanges the two in one step; whether system and file system can."""
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
