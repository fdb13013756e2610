"""What the experiment runs: volumes of the paper's collection, by name, and others in place of those that are not at hand."""

from __future__ import annotations

from collections.abc import Sequence

from ssdlab.papers.setting import Setting
from ssdlab.papers.traces import MSR_VOLUMES, Load

#: Loads that come with ssdlab: look-alikes of parts of MSR Cambridge, the paper's collection, then others in place of volumes.
NAMES = (
    "hm_0", "prxy_0", "rsrch_1", "msr_mixed", "msr_reads",
    "financial1", "desktop", "telegram", "vm", "slideshow", "game", "mail",
)  # fmt: skip
#: Those of the paper's collection.
OF_MSR = (*MSR_VOLUMES, "msr_mixed", "msr_reads")
#: Those that are run if there is little time: read and written by halves, mostly written, mostly read, in bursts.
_QUICK = ("hm_0", "prxy_0", "slideshow", "desktop")
#: Requests that are run at most, of a whole trace (more than most volumes have in their week), of anything else, in haste. A
#: look-alike is not run beyond what it was fitted to: it keeps a trace's reads apart from its writes no longer than that.
_MOST_WHOLE, _MOST, _MOST_QUICK = 4_000_000, 60_000, 8_000
#: The paper ran so many volumes; their names are lost with its figures. It finds that all of the collection are alike.
VOLUMES = 12


def loads(setting: Setting) -> list[Load]:
    """What is run: a user's volumes of MSR Cambridge; unless they are as many as the paper's, every other load, too."""
    names = [name for name in MSR_VOLUMES if setting.traces.find(name) is not None]
    if len(names) < VOLUMES:
        names += [name for name in (_QUICK if setting.quick else NAMES) if name not in names]
    found = (setting.traces.load(name) for name in names)
    return [load for load in found if load is not None]


def length(setting: Setting, load: Load) -> int:
    """How many requests of it are run."""
    most = _MOST_QUICK if setting.quick else _MOST_WHOLE if load.is_whole else _MOST
    return min(load.requests, most)


def is_of_the_paper(setting: Setting, used: Sequence[Load]) -> bool:
    """Whether these are enough volumes of the paper's collection, run whole, for its values to be asserted of their mean."""
    whole = [load for load in used if load.name in MSR_VOLUMES and load.is_whole and length(setting, load) == load.requests]
    return len(whole) >= VOLUMES and len(whole) == len(used)


def note_of(used: Sequence[Load]) -> str:
    """Why a mean of these loads is not asserted."""
    return f"other workload: the mean of {', '.join(load.title for load in used)}; the paper's are 12 volumes of MSR Cambridge"


def note_on(load: Load) -> str:
    """Why a value of this load is not asserted; empty for a whole volume of the paper's collection."""
    if load.name in OF_MSR:
        return load.note
    return "other workload: in place of the paper's volumes" + (
        f"; {load.note.removeprefix('other workload: ')}" if load.note else ""
    )
