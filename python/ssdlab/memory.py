"""Memory of the machine, and the limit of what a call may take of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ssdlab import _engine
from ssdlab.numbers import plain

__all__ = ["free_bytes", "limit_bytes", "machine"]

#: Files of a control group, by its version: the limit, what is in use, and how the last is divided.
_FILES = {2: ("memory.max", "memory.current"), 1: ("memory.limit_in_bytes", "memory.usage_in_bytes")}
_ROOT = Path("/sys/fs/cgroup")


def limit_bytes(limit: str | int | None, free: int | None = None) -> int:
    """Returns the limit that an option names [bytes]: a size, or a share of what is free; absent: of the memory.

    Raises:
        InputError: it names neither.

    Examples:
        >>> from ssdlab.memory import limit_bytes
        >>> limit_bytes("2GiB"), limit_bytes(4096)
        (2147483648, 4096)
    """
    given = plain(limit)
    return _engine.memory_limit(f"{given}B" if isinstance(given, int) else given, free_bytes() if free is None else free)


def free_bytes() -> int:
    """Returns the memory that new processes may take without the machine swapping, or a control group ending them."""
    total, available = machine()
    if available is not None:
        return available
    return total or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def machine() -> tuple[int | None, int | None]:
    """Returns the memory of the machine, or of the control groups that limit it, and what is available of it [bytes].

    ``None`` where the system does not tell.
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kibibytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        total, available = kibibytes["MemTotal"] * 1024, kibibytes["MemAvailable"] * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return None, None
    for most, used in _groups():
        total, available = min(total, most), min(available, max(most - used, 0))
    return total, available


def _groups() -> Iterator[tuple[int, int]]:
    """Yields the limit of each control group that this process is in, and what is in use, files in memory aside."""
    for version, group in _folders():
        with suppress(OSError, ValueError):
            most, used = (int((group / name).read_text(encoding="ascii")) for name in _FILES[version])
            yield most, max(used - _of_files(group), 0)


def _folders() -> Iterator[tuple[int, Path]]:
    """Yields the folders of the control groups of this process, from its own to the outermost, with their version."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        version = 2 if not controllers else 1
        if version == 1 and "memory" not in controllers.split(","):
            continue
        root = _ROOT if version == 2 else _ROOT / "memory"
        own = Path(name.lstrip("/"))
        # In a container the name may be that outside of it: its own group is the root then.
        yield from ((version, root / each) for each in (own, *own.parents))


def _of_files(group: Path) -> int:
    """Returns the memory of a group that holds files that were not used of late, which gives way to programs."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name in ("total_inactive_file", "inactive_file"):
                return int(value)
    return 0
