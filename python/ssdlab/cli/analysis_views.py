"""Answers of the trace analyses as tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ssdlab.cli.fitting import put
from ssdlab.cli.views import new_table
from ssdlab.units import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from ssdlab.traces import Access, Gaps, Retention

_CLASSES = {"read_only": "read-only", "write_only": "write-only", "interleaved": "interleaved"}
#: Smallest difference of shares that a table shows.
_VISIBLE = 0.0005


def show_retention(console: Console, found: Retention) -> None:
    """Prints the classes of lifetimes, with the share that ended by each class's upper bound, as seen and estimated."""
    grain, size = ("sectors", "512 B") if found.by == "sector" else ("units", "4 KiB")
    written = f"{count(found.writes)} {grain} of {size} written by {count(found.write_requests)} requests"
    _heading(console, found.name, found.format, written, f"{duration(found.span_ns)}")
    table = new_table("data lived", grain, "trimmed", "share", "ended by then", "Kaplan-Meier")
    marks = {mark.ns: mark for mark in found.marks}
    for one in found.classes:
        mark = marks.get(one.to_ns or 0)
        by_then = ("", "") if mark is None else (percent(mark.share), _estimate(mark.kaplan_meier, mark.kaplan_meier_max))
        table.add_row(one.name, count(one.writes), count(one.trimmed), percent(one.share), *by_then)
    last = found.longest
    table.add_section()
    table.add_row(
        f"any time up to {duration(last.ns)}, the longest watched",
        count(last.ended),
        count(found.trimmed),
        "",
        percent(last.share),
        _estimate(last.kaplan_meier, last.kaplan_meier_max),
    )
    put(console, table)


def show_access(console: Console, found: Access) -> None:
    """Prints the shares of the classes of pages, then the accuracy of windows."""
    facts = (f"{count(found.pages)} pages of 4 KiB", f"{count(found.reads)} reads, {count(found.writes)} writes")
    _heading(console, found.name, found.format, *facts)
    table = new_table("pages that are", "pages", "", "read requests", "reads of pages", "write requests", "writes of pages")
    for name, title in _CLASSES.items():
        one = found.classes[name]
        shares = (one.read_request_share, one.read_access_share, one.write_request_share, one.write_access_share)
        table.add_row(title, count(one.pages), percent(one.page_share), *map(percent, shares))
    put(console, table)
    table = new_table("window tells the class", "accuracy", "of reads", "of writes", "full windows", "accuracy of full ones")
    for window in found.windows:
        accuracies = (window.accuracy, window.read_accuracy, window.write_accuracy)
        accesses = "1 access" if window.window == 1 else f"{window.window} accesses"
        table.add_row(accesses, *map(percent, accuracies), percent(window.full_share), percent(window.full_accuracy))
    put(console, table)


def show_gaps(console: Console, found: Gaps) -> None:
    """Prints the bins of table 4 of autoFTL, then the finer bins."""
    whose = "requests" if found.of == "all" else f"{found.of}s"
    unit = f"T_effective {duration(found.effective_ns)}"
    if found.dies is not None:
        unit += f" ({duration(found.program_time_ns)} over {count(found.dies)} dies)"
    scale = f"{found.time_scale:g} times as fast as recorded" if found.time_scale != 1 else "as recorded"
    _heading(console, found.name, found.format, f"{count(found.requests)} {whose} in {duration(found.span_ns)}", scale, unit)
    table = new_table("t, in units of T_effective", "that is up to", "gaps", "share", "so far")
    for rows in (found.bins, found.histogram):
        so_far = 0
        for one in rows:
            so_far += one.gaps
            up_to = "" if one.to is None else duration(one.to * found.effective_ns)
            by_then = percent(so_far / found.gaps if found.gaps else None)
            table.add_row(one.name, up_to, count(one.gaps), percent(one.share), by_then)
        table.add_section()
    put(console, table)
    console.print(Text(f"mean {duration(found.mean_ns)}, longest {duration(found.longest_ns)}", style="dim"))


def _heading(console: Console, title: str, *facts: str) -> None:
    """Prints the subject of the analysis as the first line."""
    console.print(Text.assemble((title, "bold"), ("".join(f" · {fact}" for fact in facts), "dim")))
    console.print()


def _estimate(share: float | None, share_max: float | None) -> str:
    """Formats an estimate, as a range of both bounds where they differ visibly because of the bins."""
    if share is None or share_max is None:
        return "–"
    if share_max - share < _VISIBLE:
        return percent(share)
    return f"{percent(share).removesuffix(' %')} to {percent(share_max)}"
