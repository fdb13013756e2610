"""Charts of the trace analyses."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from ssdlab.charts import Axis, Chart, Series
from ssdlab.charts import Mark as Line
from ssdlab.units import YEAR_S, duration, percent

if TYPE_CHECKING:
    from ssdlab.analysis.answers import Access, Gaps, Retention

#: Positions [s] and texts of the labels on an axis of lifetimes.
_TICKS = (
    (1e-9, "1 ns"),
    (1e-6, "1 us"),
    (1e-3, "1 ms"),
    (1.0, "1 s"),
    (60.0, "1 min"),
    (3_600.0, "1 h"),
    (86_400.0, "1 d"),
    (604_800.0, "1 w"),
    (YEAR_S, "1 y"),
)
_CLASSES = {"read_only": "read-only", "write_only": "write-only", "interleaved": "interleaved"}


def retention(answer: Retention) -> Chart:
    """Returns the share of data with a lifetime below each time, estimated (Kaplan-Meier) and seen to end."""
    points = [
        (ns / 1e9, 1 - survives, ended)
        for ns, survives, ended in zip(answer.curve_ns, answer.curve_survives, answer.curve_ended, strict=True)
        if ns > 0
    ]
    last = answer.longest
    if last.kaplan_meier is not None and last.share is not None and last.ns > 0:
        points.append((last.ns / 1e9, last.kaplan_meier, last.share))
    times = [time for time, _, _ in points]
    low, high = min(times, default=1.0), max(times, default=1.0)
    ticks = tuple(tick for tick in _TICKS if low / 2 <= tick[0] <= high * 2)
    marks = tuple(Line(one.ns / 1e9, one.name, "x") for one in answer.marks if low <= one.ns / 1e9 <= high)
    grain = "sectors (512 B)" if answer.by == "sector" else "units (4 KiB)"
    return Chart(
        title=f"{_short(answer.name)}: how long data lives",
        x=Axis("time from a write to its end", log=True, ticks=ticks if len(ticks) > 1 else ()),
        y=Axis(f"share of {grain} written that live shorter", span=(0.0, 1.0)),
        series=(
            Series("Kaplan-Meier", times, [share for _, share, _ in points], points=False),
            Series("seen to end", times, [share for _, _, share in points], points=False, dashed=True),
        ),
        marks=marks,
        note="" if answer.overwritten + answer.trimmed else "no data was seen to end",
    )


def access(answer: Access) -> Chart:
    """Returns the shares of the classes in pages, reads and writes."""
    bars = {
        "pages": "page_share",
        "read requests": "read_request_share",
        "reads of pages": "read_access_share",
        "write requests": "write_request_share",
        "writes of pages": "write_access_share",
    }
    series = tuple(
        Series(title, list(bars), [getattr(answer.classes[name], field) or 0.0 for field in bars.values()])
        for name, title in _CLASSES.items()
    )
    return Chart(
        title=f"{_short(answer.name)}: who accesses what",
        x=Axis(""),
        y=Axis("share", span=(0.0, 1.0)),
        series=series,
        stacked=True,
        legend="pages that are",
    )


def accuracy(answer: Access) -> Chart:
    """Returns the accuracy by size of the window."""
    sizes = [one.window for one in answer.windows]

    def series(name: str, field: str, *, dashed: bool = False) -> Series:
        return Series(name, sizes, [_or_gap(getattr(one, field)) for one in answer.windows], dashed=dashed)

    return Chart(
        title=f"{_short(answer.name)}: what a window tells",
        x=Axis("accesses in the window, the upcoming one included", ticks=tuple((size, str(size)) for size in sizes)),
        y=Axis("accuracy", span=(0.0, 1.0), better="higher"),
        series=(
            series("all accesses", "accuracy"),
            series("reads", "read_accuracy"),
            series("writes", "write_accuracy"),
            series("full windows only", "full_accuracy", dashed=True),
        ),
    )


def gaps(answer: Gaps) -> Chart:
    """Returns the share of gaps up to each length, with the edges of table 4 of autoFTL."""
    lengths, so_far = [], []
    counted = 0
    for one in answer.histogram:
        counted += one.gaps
        if one.to:
            lengths.append(one.to)
            so_far.append(counted / answer.gaps if answer.gaps else 0.0)
    inside = bool(lengths) and lengths[0] <= 2 and lengths[-1] >= 1
    edges = (Line(1.0, "", "x"), Line(2.0, "1 and 2 T_effective", "x"))
    shares = ", ".join(f"{one.name}: {percent(one.share)}" for one in answer.bins)
    scale = f", {answer.time_scale:g} times as fast" if answer.time_scale != 1 else ""
    whose = "requests" if answer.of == "all" else f"{answer.of}s"
    return Chart(
        title=f"{_short(answer.name)}: times between {whose}{scale}",
        x=Axis(f"t, in units of T_effective = {duration(answer.effective_ns)} ({shares})", log=True),
        y=Axis("share of gaps up to t", span=(0.0, 1.0)),
        series=(Series("gaps", lengths, so_far),),
        marks=edges if inside else (),
        note="" if answer.gaps else "there are no gaps",
    )


def _short(name: str) -> str:
    """Returns the name of a trace without its file endings."""
    return PurePath(name.removesuffix(".gz").removesuffix(".zst")).stem


def _or_gap(value: float | None) -> float:
    return float("nan") if value is None else value
