"""Starting states that the processes of a sweep share, as files in a folder of the runs that need them."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["SharedStates"]


class SharedStates:
    """A process's part in the starting states of a folder.

    The first process that needs a state locks it (``flock``), makes it and writes it; others wait for the lock. The
    system releases the lock of a process that ends in whatever way, and the next one makes the state. A state is
    written under another name and then renamed, so that its file is whole.
    """

    def __init__(self) -> None:
        """Begins without a folder: nothing is shared."""
        #: Folder of the runs that share their states; ``None``: nobody else needs them.
        self.folder: Path | None = None
        #: Descriptors of the locks that this process holds, with the folders of their states.
        self._held: dict[str, tuple[int, Path]] = {}

    def is_usable(self) -> bool:
        """Returns true if there is a folder, to which states can be written."""
        return self.folder is not None and self.folder.is_dir() and not any(self.folder.glob("*.none"))

    def claim(self, key: str) -> tuple[str, bool] | None:
        """Waits until a state is there, or is this process's to make.

        Args:
            key: Hash of everything that decides the state.

        Returns:
            ``None`` if the process makes the state for itself alone. Otherwise a file and ``True`` if it has the state,
            or the file to which the process writes it, and ``False``: :meth:`done` must follow.
        """
        folder = self.folder
        if folder is None or (folder / f"{key}.none").exists():
            return None
        state = folder / key
        try:
            descriptor = os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            os.close(descriptor)
            return None
        if state.exists() or (folder / f"{key}.none").exists():
            os.close(descriptor)
            return (str(state), True) if state.exists() else None
        self._held[key] = (descriptor, folder)
        return str(folder / f"{key}.part"), False

    def done(self, key: str, is_kept: bool) -> None:
        """Ends the claim of a state.

        Args:
            key: That of :meth:`claim`.
            is_kept: True if the state has been written as a whole. Otherwise nobody waits for it any more.
        """
        descriptor, folder = self._held.pop(key)
        with suppress(OSError):
            if is_kept:
                (folder / f"{key}.part").replace(folder / key)
            else:
                (folder / f"{key}.part").unlink(missing_ok=True)
                (folder / f"{key}.none").touch()
        os.close(descriptor)
