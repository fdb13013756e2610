"""Names of numbers and sections that a specification may use, as the engine declares them."""

from __future__ import annotations

import json
from functools import cache

from ssdlab import _engine
from ssdlab.terms import definitions

__all__ = ["life_numbers", "sections", "stream_numbers"]

#: Sections of the summary that each stream has of its own.
_OF_STREAMS = ("commands", "latency", "throughput", "causes")


@cache
def life_numbers() -> tuple[str, ...]:
    """Returns the names of the numbers of a lifetime: keys of ``lifetime.json``, after `lifetime.` in dotted names.

    ``MODE`` stands for the name of any mode.

    Examples:
        >>> from ssdlab.explore.known import life_numbers
        >>> [name in life_numbers() for name in ("cycles_mean", "erase_modes.MODE", "intervals.*.erases")]
        [True, True, False]
    """
    keys = definitions()["keys"]["lifetime.json"]
    return tuple(key["name"] for key in keys if key["unit"] and "*" not in key["name"])


@cache
def stream_numbers() -> tuple[str, ...]:
    """Returns the names of the numbers of a stream, after `streams[N].` in dotted names.

    Examples:
        >>> from ssdlab.explore.known import stream_numbers
        >>> [name in stream_numbers() for name in ("latency.read.p99_ns", "throughput.iops", "wear.mean")]
        [True, True, False]
    """
    found = []
    for key in definitions()["keys"]["summary.json"]:
        own = key["name"].removeprefix("streams.*.")
        if own == key["name"] and own.partition(".")[0] not in _OF_STREAMS:
            continue
        ops = ("all", "read", "write", "trim", "flush") if ".OP" in own else ("",)
        causes = [cause["name"] for cause in definitions()["causes"]] if own.endswith("CAUSE") else [""]
        found += [own.replace("OP", op).replace("CAUSE", cause) for op in ops for cause in causes]
    return tuple(dict.fromkeys(name for name in found if name != "name"))


@cache
def sections() -> frozenset[str]:
    """Returns the first parts of the dotted names of a summary, and of the fields of a drive.

    Examples:
        >>> from ssdlab.explore.known import sections
        >>> {"latency", "flash", "reads"} & sections() == {"latency", "flash"}
        True
    """
    numbers = (key["name"].partition(".")[0] for key in definitions()["keys"]["summary.json"])
    return frozenset([*numbers, *json.loads(_engine.schema("drive"))["properties"], "lifetime"])
