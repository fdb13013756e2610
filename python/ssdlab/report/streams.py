"""Streams of a workload: fio jobs, jobs of a model, devices or volumes of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ssdlab.report.content import Row, in_words, latency_text
from ssdlab.units import count, duration, percent, scaled

if TYPE_CHECKING:
    from ssdlab.results import RunData, Stream

#: Columns of a table of streams, after the name of the stream.
COLUMNS = ("commands", "IOPS", "read", "write", "mean", "p99", "p99.9", "largest cause", "its share")
#: Largest number of streams in a table of one run, and in one of several.
MOST, MOST_COMPARED = 32, 6


def rows(run: RunData) -> list[list[str]]:
    """Returns a row for each stream, the one with most commands first, and one that counts those left out."""
    shown = busiest(run.streams, MOST)
    lines = [_row(stream) for stream in shown]
    left = [stream for stream in run.streams if stream not in shown]
    if left:
        total = sum(stream.latency["all"].count for stream in left)
        lines.append([f"{len(left)} more", count(total), *[""] * (len(COLUMNS) - 1)])
    return lines


def busiest(streams: Sequence[Stream], most: int) -> list[Stream]:
    """Returns at most so many streams: all in their order, or those with most commands, the busiest first."""
    if len(streams) <= most:
        return [*streams]
    return sorted(streams, key=lambda stream: -stream.latency["all"].count)[:most]


def _row(stream: Stream) -> list[str]:
    latency, rates, causes = stream.latency["all"], stream.throughput, stream.causes["all"]
    largest = max(causes, key=lambda cause: causes[cause], default=None)
    reads, writes = (rates[f"{op}_bytes_per_s"] if stream.commands[op] else None for op in ("read", "write"))
    return [
        stream.name,
        count(latency.count),
        scaled(rates["iops"], ""),
        scaled(reads, "B/s"),
        scaled(writes, "B/s"),
        *(latency_text(value, latency.count) for value in (latency.mean_ns, latency.p99_ns, latency.p99_9_ns)),
        in_words(largest) if largest else "–",
        percent(causes[largest] / sum(causes.values())) if largest else "–",
    ]


def compared_rows(runs: Sequence[RunData]) -> list[tuple[str, list[Row]]]:
    """Returns a group of rows for each stream that all runs have, at most :data:`MOST_COMPARED`."""
    if not all(run.streams for run in runs):
        return []
    by_name = [{stream.name: stream for stream in run.streams} for run in runs]
    common = [stream for stream in runs[0].streams if all(stream.name in names for names in by_name)]
    return [_group([names[stream.name] for names in by_name]) for stream in busiest(common, MOST_COMPARED)]


def _group(streams: Sequence[Stream]) -> tuple[str, list[Row]]:
    """Returns the group of one stream in several runs."""

    def row(title: str, number: Callable[[Stream], float | None], text: Callable[[float | None], str], better: int) -> Row:
        values = [number(stream) for stream in streams]
        return Row(title, values, [text(value) for value in values], better)

    return f"stream {streams[0].name}", [
        row("IOPS", lambda stream: stream.throughput["iops"], lambda value: scaled(value, "IOPS"), 1),
        row("mean", lambda stream: stream.latency["all"].mean_ns, duration, -1),
        row("p99", lambda stream: stream.latency["all"].p99_ns, duration, -1),
        row("p99.9", lambda stream: stream.latency["all"].p99_9_ns, duration, -1),
        row("p99.99", lambda stream: stream.latency["all"].p99_99_ns, duration, -1),
    ]
