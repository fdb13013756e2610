"""Loads of the experiment: volumes of the paper's collection by name, and stand-ins for missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ssdlab import InputError
from ssdlab.traces import trace_info
from ssdlab_papers.real_first import Loads
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import KNOWN, MSR_VOLUMES, Known, Load, Traces, files_in

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
#: Maximum number of requests of a whole trace (in the full form more than most volumes have in their week; in the usual
#: form), of any other load, and in a quick run. A look-alike is run no longer than the requests it was fitted to:
#: beyond them it does not keep reads and writes on separate pages as the trace does.
_MOST_WHOLE, _MOST_WHOLE_USUAL, _MOST, _MOST_QUICK = 4_000_000, 400_000, 60_000, 8_000
#: Number of volumes that the paper ran. Their names are lost with its figures; it finds all volumes of the collection
#: alike.
VOLUMES = 12


def loads(setting: Setting) -> Loads:
    """Returns the loads of a setting.

    Real traces are the user's volumes of MSR Cambridge and, if they are fewer than the paper's, those of the other
    loads that the user has. Beside them are their look-alikes; without any trace, all look-alikes.
    """
    names = [name for name in MSR_VOLUMES if setting.traces.find(name) is not None]
    if len(names) < VOLUMES:
        names += [name for name in (_QUICK if setting.quick else NAMES) if name not in names]
    real = tuple(load for name in names if (load := setting.traces.find(name)) is not None)
    known, own = {load.name for load in real}, Traces()
    wanted = [name for name in (_QUICK if setting.quick else NAMES) if name in known or not known]
    alike = tuple(load for name in wanted if (load := own.load(name)) is not None)
    return Loads(real, alike)


def every_trace(setting: Setting) -> Loads:
    """Returns every trace with times in the user's folder that can be read, whatever it is.

    There are none without a folder, and in a quick run.
    """
    found: list[Load] = []
    folder = None if setting.quick else setting.traces.folder
    for path in [] if folder is None else files_in(folder):
        name = path.name.split(".")[0]
        with suppress(InputError):
            info = trace_info(path)
            known = Known(name=name, title=name, pattern=name)
            # A trace without times cannot be played at recorded speed.
            if info["span_ns"]:
                found.append(Load(known=known, path=path, is_trace=True, requests=int(info["requests"])))
    return Loads(tuple(found), ())


def length(setting: Setting, load: Load) -> int:
    """Returns the number of requests of a load that are run."""
    whole = _MOST_WHOLE if setting.full else _MOST_WHOLE_USUAL
    most = _MOST_QUICK if setting.quick else whole if load.is_whole and load.name in KNOWN else _MOST
    return min(load.requests, most)


def is_of_the_paper(setting: Setting, used: Sequence[Load]) -> bool:
    """Returns true if these loads are at least as many volumes of the paper's collection as it ran, each run whole."""
    whole = [load for load in used if load.name in MSR_VOLUMES and load.is_whole and length(setting, load) == load.requests]
    return len(whole) >= VOLUMES and len(whole) == len(used)
