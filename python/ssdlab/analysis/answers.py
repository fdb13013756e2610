"""Trace analyses for mode policies: lifetimes of data, classes of pages by access, times between arrivals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ssdlab import _engine, numbers
from ssdlab.analysis import charts
from ssdlab.memory import limit_bytes
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
    """Writes in one class of lifetimes."""

    #: Name of the class: ``below a minute``, ``a minute to an hour``, ..., ``unknown (trace ended)``.
    name: str
    #: Shortest lifetime of the class [ns]; ``None`` for data that did not end.
    from_ns: int | None
    #: Upper bound of the lifetimes [ns], excluded; ``None`` for the longest class, and for data that did not end.
    to_ns: int | None
    #: Number of writes of sectors or units.
    writes: int
    #: Number of these writes that a trim ended.
    trimmed: int
    #: Share of all writes; ``None`` without writes.
    share: float | None


@dataclass(frozen=True, slots=True)
class Mark:
    """Share of data with a lifetime below a given time."""

    #: Name of the time: ``a minute``, ``an hour``, ``a day``, ``a week``.
    name: str
    #: Time [ns].
    ns: int
    #: Number of writes that were seen to end before; for :attr:`Retention.longest`, all that were seen to end.
    ended: int
    #: Share of all writes; ``None`` without writes.
    share: float | None
    #: Kaplan-Meier estimate of the share of data with a shorter lifetime; ``None`` if no data was observed for that
    #: long.
    kaplan_meier: float | None
    #: Upper bound of the estimate that exact lifetimes would give; here they are counted in bins 0.4 % wide.
    kaplan_meier_max: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Retention:
    """Lifetimes of written data: from each write of a sector or mapping unit until it is overwritten or trimmed.

    Examples:
        >>> answer = ssdlab.traces.retention("examples/trace.csv.gz")
        >>> answer.writes, answer.overwritten, answer.unknown
        (10351, 4803, 5548)
        >>> answer.marks[0].name, answer.marks[0].share, answer.marks[0].kaplan_meier
        ('a minute', 0.4556, 0.6415)
    """

    #: File name of the trace, without its folder.
    name: str
    format: str
    #: Grain that was counted: ``sector`` (512 bytes) or ``unit`` (4 KiB).
    by: str
    span_ns: int
    write_requests: int
    #: Writes of sectors or units; a grain that is written again counts again.
    writes: int
    overwritten: int
    trimmed: int
    #: Writes whose data was still present when the trace ended: it lived at least until then.
    unknown: int
    classes: tuple[Lifetimes, ...]
    marks: tuple[Mark, ...]
    #: Longest time for which any data was observed, with all writes that were seen to end.
    longest: Mark
    #: Times of the Kaplan-Meier curve [ns].
    curve_ns: NDArray[np.int64]
    #: Estimated share of data that lives at least this long.
    curve_survives: NDArray[np.float64]
    #: Share of all writes that were seen to end before.
    curve_ended: NDArray[np.float64]
    #: Messages for the user about how the trace was read.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the engine's answer, as ``ssdlab trace retention --json`` prints it.

        Examples:
            >>> ssdlab.traces.retention("examples/trace.csv.gz").to_dict()["ends"]
            {'overwritten': 4803, 'trimmed': 0, 'unknown': 5548}
        """
        return self._document

    def chart(self) -> Chart:
        """Returns a chart of the share of data with a shorter lifetime, by Kaplan-Meier and as seen to end.

        Examples:
            >>> ssdlab.traces.retention("examples/trace.csv.gz").chart().save("retention.html")
            PosixPath('retention.html')
        """
        return charts.retention(self)


@dataclass(frozen=True, slots=True)
class AccessClass:
    """Accesses to the pages of one class. A share is ``None`` if its total is zero."""

    pages: int
    page_share: float | None
    #: Reads of the pages of the class: a request counts once for each page that it touches.
    read_accesses: int
    read_access_share: float | None
    write_accesses: int
    write_access_share: float | None
    #: Share of the read requests; a request that touches pages of several classes counts for each class in proportion
    #: to its pages.
    read_request_share: float | None
    write_request_share: float | None


@dataclass(frozen=True, slots=True)
class Window:
    """Accuracy with which the last accesses to a page, including the upcoming one, give its class."""

    window: int
    #: Share of accesses whose window gives the class of the page; a window that is not yet full holds the accesses so
    #: far.
    accuracy: float | None
    read_accuracy: float | None
    write_accuracy: float | None
    #: Share of accesses whose window was full.
    full_share: float | None
    #: Among accesses with a full window, share of those whose window gives the class of the page.
    full_accuracy: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Classes of pages (read-only, write-only, interleaved), and the accuracy with which a short history gives them.

    Examples:
        >>> answer = ssdlab.traces.access("examples/trace.csv.gz")
        >>> answer.pages, answer.classes["write_only"].pages
        (1028, 764)
        >>> answer.windows[1].window, answer.windows[1].accuracy
        (2, 0.9755)
    """

    #: File name of the trace, without its folder.
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
    #: Statistics of each class of pages: ``read_only``, ``write_only``, ``interleaved``.
    classes: dict[str, AccessClass]
    #: Accuracy of windows of 1 to 8 accesses.
    windows: tuple[Window, ...]
    #: Messages for the user about how the trace was read.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the engine's answer, as ``ssdlab trace access --json`` prints it.

        Examples:
            >>> ssdlab.traces.access("examples/trace.csv.gz").to_dict()["windows"][0]["accuracy"]
            0.9734
        """
        return self._document

    def chart(self) -> Chart:
        """Returns a chart of the shares of the classes in pages, reads and writes.

        Examples:
            >>> ssdlab.traces.access("examples/trace.csv.gz").chart().save("access.html")
            PosixPath('access.html')
        """
        return charts.access(self)

    def accuracy_chart(self) -> Chart:
        """Returns a chart of the accuracy by size of the window.

        Examples:
            >>> ssdlab.traces.access("examples/trace.csv.gz").accuracy_chart().save("accuracy.html")
            PosixPath('accuracy.html')
        """
        return charts.accuracy(self)


@dataclass(frozen=True, slots=True)
class GapBin:
    """Times between arrivals, in units of ``T_effective``: longer than `above`, at most `to`."""

    #: Range of the bin as text: ``t <= 1``, ``1/8 < t <= 1/4``; ``t = 0`` is the bin of simultaneous arrivals.
    name: str
    above: float
    #: ``None`` for the last bin.
    to: float | None
    gaps: int
    share: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Times between arrivals, relative to the time in which a drive takes a write (``T_effective``).

    Examples:
        >>> answer = ssdlab.traces.gaps("examples/trace.csv.gz")
        >>> answer.gaps, answer.mean_ns
        (1939, 41949518.2)
        >>> [(one.name, one.share) for one in answer.bins]
        [('t <= 1', 0.2017), ('1 < t <= 2', 0.05209), ('t > 2', 0.7463)]
    """

    #: File name of the trace, without its folder.
    name: str
    format: str
    #: Operations whose arrivals were analysed: ``write``, ``read`` or ``all`` (reads and writes).
    of: str
    requests: int
    #: Number of times between consecutive arrivals: one less than `requests`.
    gaps: int
    #: Program time [ns]; ``None`` if ``T_effective`` was given itself.
    program_time_ns: int | None
    #: Number of dies that program at once; ``None`` if ``T_effective`` was given itself.
    dies: int | None
    effective_ns: float
    time_scale: float
    span_ns: int
    mean_ns: float | None
    longest_ns: int
    #: The three bins of autoFTL's table 4.
    bins: tuple[GapBin, ...]
    #: Finer bins, with edges at powers of two of ``T_effective``; the first bin counts gaps of zero.
    histogram: tuple[GapBin, ...]
    #: Messages for the user about how the trace was read.
    notes: tuple[str, ...]
    _document: dict[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the engine's answer, as ``ssdlab trace gaps --json`` prints it.

        Examples:
            >>> ssdlab.traces.gaps("examples/trace.csv.gz").to_dict()["bins"][0]
            {'name': 't <= 1', 'above': 0.0, 'to': 1.0, 'gaps': 391, 'share': 0.2017}
        """
        return self._document

    def chart(self) -> Chart:
        """Returns a chart of the share of gaps up to each length, with the edges of table 4 of autoFTL.

        Examples:
            >>> ssdlab.traces.gaps("examples/trace.csv.gz").chart().save("gaps.html")
            PosixPath('gaps.html')
        """
        return charts.gaps(self)


def retention(trace: WorkloadLike, *, by: str = "sector", max_memory: str | int | None = None) -> Retention:
    """Analyses the lifetimes of written data, each from its write until it is overwritten or trimmed.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one.
        by: Grain that is written and overwritten: ``sector`` (512 bytes) or ``unit`` (the mapping unit, 4 KiB).
        max_memory: As for :func:`ssdlab.trace_info`.

    Raises:
        InputError: the file cannot be read as a trace, or has no times.

    Examples:
        >>> answer = ssdlab.traces.retention("examples/trace.csv.gz", by="unit")
        >>> for one in answer.classes:
        ...     print(f"{one.name}: {one.writes}")
        below a minute: 1818
        a minute to an hour: 11
        an hour to a day: 0
        a day to a week: 0
        a week and longer: 0
        unknown (trace ended): 770
    """
    # Start-up: other commands on traces need no numpy.
    import numpy as np

    name, found = _ask("retention", trace, max_memory, by=by)
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


def access(trace: WorkloadLike, *, max_memory: str | int | None = None) -> Access:
    """Classifies pages as only read, only written (more than 95 %) or interleaved.

    Reports the accuracy with which windows of 1 to 8 accesses give the class of a page.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one.
        max_memory: As for :func:`ssdlab.trace_info`.

    Raises:
        InputError: the file cannot be read as a trace.

    Examples:
        >>> answer = ssdlab.traces.access("examples/trace.csv.gz")
        >>> for name, one in answer.classes.items():
        ...     print(f"{name}: {one.page_share:.3f} of the pages, {one.write_request_share:.3f} of the write requests")
        read_only: 0.251 of the pages, 0.000 of the write requests
        write_only: 0.743 of the pages, 0.971 of the write requests
        interleaved: 0.006 of the pages, 0.029 of the write requests
    """
    name, found = _ask("access", trace, max_memory)
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
    max_memory: str | int | None = None,
) -> Gaps:
    """Compares times between arrivals with ``T_effective``: program time over the number of dies that program at once.

    Args:
        trace: A trace, or a :class:`ssdlab.Workload` that says how to read one (and its `time_scale`).
        of: Operations whose arrivals are analysed: ``write`` (default), ``read``, or ``all`` (reads and writes).
        program_time: Program time of a page, such as ``"1300us"``; default: that of autoFTL's evaluation.
        dies: Number of dies that program at once; default: 32, as in the enterprise drive of autoFTL.
        effective: ``T_effective`` itself, such as ``"40us"``, instead of `program_time` and `dies`.
        max_memory: As for :func:`ssdlab.trace_info`.

    Raises:
        InputError: the file cannot be read as a trace, or has no times.

    Examples:
        >>> answer = ssdlab.traces.gaps("examples/trace.csv.gz", of="all", program_time="600us", dies=4)
        >>> answer.effective_ns, answer.bins[0].share
        (150000.0, 0.2951)
    """
    if dies is not None:
        numbers.whole("dies", dies, 32)
    name, found = _ask("gaps", trace, max_memory, of=of, program_time=program_time, dies=dies, effective=effective)
    fields = ("format", "of", "requests", "gaps", "program_time_ns", "dies", "effective_ns", "time_scale")
    return Gaps(
        name=name,
        **{key: found[key] for key in (*fields, "span_ns", "mean_ns", "longest_ns")},
        bins=tuple(GapBin(**one) for one in found["bins"]),
        histogram=tuple(GapBin(**one) for one in found["histogram"]),
        notes=tuple(found["notes"]),
        _document=found,
    )


def _ask(what: str, trace: WorkloadLike, max_memory: str | int | None, **question: object) -> tuple[str, dict[str, Any]]:
    """Returns the file name of the trace, without its folder, and the engine's answer to the question `what`."""
    source = Workload.open(trace)
    file = source.trace_file()
    given = {name: value for name, value in question.items() if value is not None}
    limit = limit_bytes(max_memory)
    answer: dict[str, Any] = json.loads(_engine.trace_analysis(what, file, source.options_json(), json.dumps(given), limit))
    return PurePath(file).name, answer


def _mark(found: Mapping[str, Any]) -> Mark:
    estimate = found["kaplan_meier"] or {"share": None, "share_max": None}
    plain = {name: found[name] for name in ("name", "ns", "ended", "share")}
    return Mark(**plain, kaplan_meier=estimate["share"], kaplan_meier_max=estimate["share_max"])
