"""Traces: description, analysis, conversion, and look-alikes fitted to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from ssdlab import _engine
from ssdlab.analyses import Access, Gaps, Retention, access, gaps, retention
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
    """Look-alike of a trace."""

    #: Workload TOML that generates the look-alike, without end.
    toml: str
    #: Statistics of the ``trace`` and of its ``look_alike``, measured in the same way over the same number of requests.
    closeness: dict[str, dict[str, Any]]
    #: Messages for the user about how the trace was read.
    notes: tuple[str, ...] = ()


def trace_info(trace: WorkloadLike) -> dict[str, Any]:
    """Describes a trace: format, requests, span, bytes, footprint, streams.

    Raises:
        InputError: the file cannot be read as a trace.
    """
    source = Workload.open(trace)
    info: dict[str, Any] = json.loads(_engine.trace_info(source.trace_file(), source.options_json()))
    return info


def trace_convert(trace: WorkloadLike, out: str | PathLike[str], format: str) -> dict[str, Any]:
    """Writes a trace in another format to `out` and returns a description of the written trace.

    Raises:
        InputError: the trace cannot be read, the format cannot be written, or the file cannot be made.
    """
    source = Workload.open(trace)
    written: dict[str, Any] = json.loads(_engine.trace_convert(source.trace_file(), format, fspath(out), source.options_json()))
    return written


def trace_fit(trace: WorkloadLike) -> TraceFit:
    """Fits a look-alike to a trace: arrivals, sizes, operations, reuse in space and time.

    Raises:
        InputError: the file cannot be read as a trace.
    """
    source = Workload.open(trace)
    text, closeness = _engine.trace_fit(source.trace_file(), source.options_json())
    measured: dict[str, Any] = json.loads(closeness)
    return TraceFit(text, notes=tuple(measured.pop("notes")), closeness=measured)
