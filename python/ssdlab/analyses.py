"""What a trace says about the policies: how long data lives, who reads what is written, how close writes come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ssdlab import _engine, numbers
from ssdlab.workloads import Workload, WorkloadLike

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ssdlab.charts import Chart

__all__ = [
    "Access",
    "AccessClass",
    "GapBin",
    "Gaps",
    "Lifetimes",
    "Mark",
    "Retention",
    "Window",
    "access",
    "gaps",
    "retention",
]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Writes whose data lived so long."""

    #: In words: ``below a minute``, ``a minute to an hour``, ..., ``unknown (trace ended)``.
    name: str
    #: The shortest lifetime [ns]; ``None`` for what did not end.
    from_ns: int | None
    #: The lifetime that is too long [ns]; ``None`` for the longest, and for what did not end.
    to_ns: int | None
    #: Sectors or units written.
    writes: int
    #: Of them, those that a trim ended.
    trimmed: int
    #: Their share of all writes; ``None`` without writes.
    share: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    """How much data lives shorter than a time."""

    #: The time in words: ``a minute``, ``an hour``, ``a day``, ``a week``.
    name: str
    #: The time [ns].
    ns: int
    #: Writes that were seen to end before it.
    ended: int
    #: Their share of all writes; ``None`` without writes.
    share: float | None
    #: The share of data that lives shorter, by Kaplan and Meier; ``None`` where nothing was watched for so long.
    kaplan_meier: float | None
    #: What it may be at most: lifetimes are counted in bins 0.4 % wide.
    kaplan_meier_max: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Retention:
    """From each write of a sector or mapping unit until it is overwritten or trimmed."""

    #: Whose retention it is, in short.
    name: str
    format: str
    #: ``sector`` (512 bytes) or ``unit`` (4 KiB).
    by: str
    span_ns: int
    write_requests: int
    #: Sectors or units written, each time anew.
    writes: int
    overwritten: int
    trimmed: int
    #: Still there when the trace ended: it lived at least until then.
    unknown: int
    classes: tuple[Lifetimes, ...]
    marks: tuple[Mark, ...]
    #: The longest time for which any data was watched, with all that was seen to end.
    longest: Mark
    #: Times of the Kaplan-Meier curve [ns].
    curve_ns: NDArray[np.int64]
    #: The share of data that lives at least so long.
    curve_survives: NDArray[np.float64]
    #: The share of all writes that were seen to end before.
    curve_ended: NDArray[np.float64]
    #: What the user should know.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The engine's answer, as ``ssdlab trace retention --json`` prints it."""
        return self._document

    def chart(self) -> Chart:
        """The share of data that lives shorter, by Kaplan and Meier and as seen."""
        from ssdlab import analysis_charts

        return analysis_charts.retention(self)


@dataclass(frozen=True, slots=True)
class AccessClass:
    """What goes to the pages of one class. A share is ``None`` where there is nothing to share."""

    pages: int
    page_share: float | None
    #: Reads of its pages: a request counts once for each page that it touches.
    read_accesses: int
    read_access_share: float | None
    write_accesses: int
    write_access_share: float | None
    #: Its share of the read requests; one that touches pages of several classes counts for each by the share of its pages.
    read_request_share: float | None
    write_request_share: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """How well the last accesses to a page, the upcoming one included, tell its class: shares of accesses."""

    window: int
    #: Accesses whose window says what the page is; a window that is not yet full holds what there is.
    accuracy: float | None
    read_accuracy: float | None
    write_accuracy: float | None
    #: Accesses whose window was full.
    full_share: float | None
    #: Among them, those whose window says what the page is.
    full_accuracy: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Which pages are only read, which only written, and how well a short history tells."""

    #: Whose accesses they are, in short.
    name: str
    format: str
    #: Read requests.
    reads: int
    #: Write requests.
    writes: int
    read_accesses: int
    write_accesses: int
    #: Distinct 4 KiB pages.
    pages: int
    #: ``read_only``, ``write_only``, ``interleaved``.
    classes: dict[str, AccessClass]
    #: For windows of 1 to 8 accesses.
    windows: tuple[Window, ...]
    #: What the user should know.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The engine's answer, as ``ssdlab trace access --json`` prints it."""
        return self._document

    def chart(self) -> Chart:
        """The shares of the classes in pages, reads and writes."""
        from ssdlab import analysis_charts

        return analysis_charts.access(self)

    def accuracy_chart(self) -> Chart:
        """The accuracy against the size of the window."""
        from ssdlab import analysis_charts

        return analysis_charts.accuracy(self)


@dataclass(frozen=True, slots=True)
class GapBin:
    """Times between arrivals, in units of ``T_effective``: longer than `above`, at most `to`."""

    #: In words: ``t <= 1``, ``1/8 < t <= 1/4``; ``t = 0`` are those of no time.
    name: str
    above: float
    #: ``None`` for the last.
    to: float | None
    gaps: int
    share: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Times between arrivals against the time in which a drive takes a write."""

    #: Whose arrivals they are, in short.
    name: str
    format: str
    #: ``write``, ``read`` or ``all`` (reads and writes).
    of: str
    requests: int
    #: Times between two of them: one less than requests.
    gaps: int
    #: The program time [ns]; ``None`` where ``T_effective`` was given itself.
    program_time_ns: int | None
    #: Dies that program at once; ``None`` likewise.
    dies: int | None
    effective_ns: float
    time_scale: float
    span_ns: int
    mean_ns: float | None
    longest_ns: int
    #: The three bins of autoFTL's table 4.
    bins: tuple[GapBin, ...]
    #: Powers of two of ``T_effective``, after the gaps of no time.
    histogram: tuple[GapBin, ...]
    #: What the user should know.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The engine's answer, as ``ssdlab trace gaps --json`` prints it."""
        return self._document

    def chart(self) -> Chart:
        """The finer bins, coloured by those of table 4."""
        from ssdlab import analysis_charts

        return analysis_charts.gaps(self)


def retention(trace: WorkloadLike, *, by: str = "sector") -> Retention:
    """How long written data lives until it is overwritten or trimmed.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one.
        by: What is written and overwritten: ``sector`` (512 bytes) or ``unit`` (the mapping unit, 4 KiB).

    Raises:
        InputError: the file cannot be read as a trace, or has no times.
    """
    import numpy as np

    name, found = _ask("retention", trace, by=by)
    ends = found["ends"]
    curve = found["curve"]
    return Retention(
        name=name,
        **{key: found[key] for key in ("format", "by", "span_ns", "write_requests", "writes")},
        overwritten=ends["overwritten"],
        trimmed=ends["trimmed"],
        unknown=ends["unknown"],
        classes=tuple(Lifetimes(**one) for one in found["classes"]),
        marks=tuple(_mark(one) for one in found["marks"]),
        longest=_mark(found["longest"]),
        curve_ns=np.array([point["ns"] for point in curve], dtype=np.int64),
        curve_survives=np.array([point["survives"] for point in curve], dtype=np.float64),
        curve_ended=np.array([point["ended"] for point in curve], dtype=np.float64),
        notes=tuple(found["notes"]),
        _document=found,
    )


def access(trace: WorkloadLike) -> Access:
    """Which pages are only read, which only written (more than 95 %), and how well windows of 1 to 8 accesses tell.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one.

    Raises:
        InputError: the file cannot be read as a trace.
    """
    name, found = _ask("access", trace)
    fields = ("format", "reads", "writes", "read_accesses", "write_accesses", "pages")
    return Access(
        name=name,
        **{key: found[key] for key in fields},
        classes={one["class"]: AccessClass(**{key: one[key] for key in one if key != "class"}) for one in found["classes"]},
        windows=tuple(Window(**one) for one in found["windows"]),
        notes=tuple(found["notes"]),
        _document=found,
    )


def gaps(
    trace: WorkloadLike,
    *,
    of: str | None = None,
    program_time: str | None = None,
    dies: int | None = None,
    effective: str | None = None,
) -> Gaps:
    """Times between arrivals against ``T_effective``, the program time over the number of dies that program at once.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one (and its `time_scale`).
        of: Whose arrivals: ``write`` (when left out), ``read``, or ``all`` (reads and writes).
        program_time: Program time of a page, as ``"1300us"``; that of autoFTL's evaluation when left out.
        dies: Dies that program at once; the 32 of its enterprise drive when left out.
        effective: ``T_effective`` itself, as ``"40us"``, instead of the two.

    Raises:
        InputError: the file cannot be read as a trace, or has no times.
    """
    if dies is not None:
        numbers.whole("dies", dies, 32)
    name, found = _ask("gaps", trace, of=of, program_time=program_time, dies=dies, effective=effective)
    fields = ("format", "of", "requests", "gaps", "program_time_ns", "dies", "effective_ns", "time_scale")
    return Gaps(
        name=name,
        **{key: found[key] for key in (*fields, "span_ns", "mean_ns", "longest_ns")},
        bins=tuple(GapBin(**one) for one in found["bins"]),
        histogram=tuple(GapBin(**one) for one in found["histogram"]),
        notes=tuple(found["notes"]),
        _document=found,
    )


def _ask(what: str, trace: WorkloadLike, **question: object) -> tuple[str, dict[str, Any]]:
    """The trace's name in short, and the engine's answer."""
    source = Workload.open(trace)
    file = source.trace_file()
    given = {name: value for name, value in question.items() if value is not None}
    answer: dict[str, Any] = json.loads(_engine.trace_analysis(what, file, source.options_json(), json.dumps(given)))
    return PurePath(file).name, answer


def _mark(found: Mapping[str, Any]) -> Mark:
    estimate = found["kaplan_meier"] or {"share": None, "share_max": None}
    plain = {name: found[name] for name in ("name", "ns", "ended", "share")}
    return Mark(**plain, kaplan_meier=estimate["share"], kaplan_meier_max=estimate["share_max"])
