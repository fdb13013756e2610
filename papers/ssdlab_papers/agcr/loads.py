"""Loads of the experiment: volumes of the paper's collection by name, and stand-ins for missing ones."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import MSR_VOLUMES, Load

#: Loads that come with the experiments: look-alikes of parts of MSR Cambridge, the paper's collection, then stand-ins
#: for volumes.
NAMES = (
    "hm_0", "prxy_0", "rsrch_1", "msr_mixed", "msr_reads",
    "financial1", "desktop", "telegram", "vm", "slideshow", "game", "mail",
)  # fmt: skip
#: Loads from the paper's collection.
OF_MSR = (*MSR_VOLUMES, "msr_mixed", "msr_reads")
#: Loads of a quick run: half reads, mostly writes, mostly reads, and bursts.
_QUICK = ("hm_0", "prxy_0", "slideshow", "desktop")
#: Maximum number of requests of a whole trace (more than most volumes have in their week), of any other load, and in a
#: quick run. A look-alike is run no longer than the requests it was fitted to: beyond them it does not keep reads and
#: writes on separate pages as the trace does.
_MOST_WHOLE, _MOST, _MOST_QUICK = 4_000_000, 60_000, 8_000
#: Number of volumes that the paper ran. Their names are lost with its figures; it finds all volumes of the collection
#: alike.
VOLUMES = 12


def loads(setting: Setting) -> list[Load]:
    """Returns the user's volumes of MSR Cambridge and, if they are fewer than the paper's, every other load."""
    names = [name for name in MSR_VOLUMES if setting.traces.find(name) is not None]
    if len(names) < VOLUMES:
        names += [name for name in (_QUICK if setting.quick else NAMES) if name not in names]
    found = (setting.traces.load(name) for name in names)
    return [load for load in found if load is not None]


def length(setting: Setting, load: Load) -> int:
    """Returns the number of requests of a load that are run."""
    most = _MOST_QUICK if setting.quick else _MOST_WHOLE if load.is_whole else _MOST
    return min(load.requests, most)


def is_of_the_paper(setting: Setting, used: Sequence[Load]) -> bool:
    """Returns true if the paper's values may be asserted of the mean of these loads.

    All of them must be volumes of the paper's collection, run whole, and they must be as many as the paper's.
    """
    whole = [load for load in used if load.name in MSR_VOLUMES and load.is_whole and length(setting, load) == load.requests]
    return len(whole) >= VOLUMES and len(whole) == len(used)


def note_of(used: Sequence[Load]) -> str:
    """Returns the reason why a mean of these loads is not asserted."""
    return f"other workload: the mean of {', '.join(load.title for load in used)}; the paper's are 12 volumes of MSR Cambridge"


def note_on(load: Load) -> str:
    """Returns the reason why a value of this load is not asserted; empty for a whole load of the collection."""
    if load.name in OF_MSR:
        return load.note
    return "other workload: in place of the paper's volumes" + (
        f"; {load.note.removeprefix('other workload: ')}" if load.note else ""
    )
