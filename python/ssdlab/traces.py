"""Traces: description, analysis, conversion, and look-alikes fitted to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from ssdlab import _engine
from ssdlab.analysis.answers import Access, Gaps, Retention, access, gaps, retention
from ssdlab.memory import limit_bytes
from ssdlab.workloads import Workload, WorkloadLike

__all__ = [
    "Access",
    "Gaps",
    "Retention",
    "TraceFit",
    "access",
    "gaps",
    "retention",
    "trace_convert",
    "trace_fit",
    "trace_info",
]


@dataclass(frozen=True, slots=True)
class TraceFit:
    """Look-alike of a trace.

    Examples:
        >>> fit = ssdlab.trace_fit("examples/trace.csv.gz")
        >>> fit.closeness["trace"]["read_share"], fit.closeness["look_alike"]["read_share"]
        (0.03, 0.024)
    """

    #: Workload TOML that generates the look-alike, without end.
    toml: str
    #: Statistics of the ``trace`` and of its ``look_alike``, measured in the same way over the same number of requests.
    closeness: dict[str, dict[str, Any]]
    #: Messages for the user about how the trace was read.
    notes: tuple[str, ...] = ()


def trace_info(trace: WorkloadLike, *, max_memory: str | int | None = None) -> dict[str, Any]:
    """Describes a trace: format, requests, span, bytes, footprint, streams.

    Args:
        trace: A trace.
        max_memory: Most memory: a size, or a share of what is free; absent: ``90%``. Above it the trace is refused.

    Raises:
        InputError: the file cannot be read as a trace.

    Examples:
        >>> info = ssdlab.trace_info("examples/trace.csv.gz")
        >>> info["format"], info["reads"], info["writes"], info["footprint_bytes"]
        ('msr', 60, 1940, 4210688)
    """
    source = Workload.open(trace)
    info: dict[str, Any] = json.loads(_engine.trace_info(source.trace_file(), source.options_json(), limit_bytes(max_memory)))
    return info


def trace_convert(
    trace: WorkloadLike, out: str | PathLike[str], format: str, *, max_memory: str | int | None = None
) -> dict[str, Any]:
    """Writes a trace in another format to `out`, and returns a description of what was read.

    The description is that of :func:`trace_info`: the format that was read, and numbers before `time_scale` and
    `repeat` apply. Its notes also state how many requests the written format cannot express.
    `max_memory` is as for :func:`trace_info`.

    Raises:
        InputError: the trace cannot be read, the format cannot be written, or the file cannot be made.

    Examples:
        >>> first = ssdlab.Workload("examples/trace.csv.gz", slice="0..100")
        >>> ssdlab.trace_convert(first, "first.ascii", "disksim")["requests"]
        100
        >>> ssdlab.trace_info("first.ascii")["format"]
        'disksim'
    """
    source = Workload.open(trace)
    text = _engine.trace_convert(source.trace_file(), format, fspath(out), source.options_json(), limit_bytes(max_memory))
    written: dict[str, Any] = json.loads(text)
    return written


def trace_fit(trace: WorkloadLike, *, max_memory: str | int | None = None) -> TraceFit:
    """Fits a look-alike to a trace: arrivals, sizes, operations, reuse in space and time.

    `max_memory` is as for :func:`trace_info`.

    Raises:
        InputError: the file cannot be read as a trace.

    Examples:
        >>> fit = ssdlab.trace_fit("examples/trace.csv.gz")
        >>> look_alike = ssdlab.Workload.from_text(fit.toml)
        >>> ssdlab.run("tiny", look_alike).commands
        {'read': 48, 'write': 1952, 'trim': 0, 'flush': 0}
    """
    source = Workload.open(trace)
    text, closeness = _engine.trace_fit(source.trace_file(), source.options_json(), limit_bytes(max_memory))
    measured: dict[str, Any] = json.loads(closeness)
    return TraceFit(text, notes=tuple(measured.pop("notes")), closeness=measured)
