"""The timeline of channels and dies, in the trace format that Perfetto and Chrome open."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

#: Processes of the trace, by the first word of a track's name.
_PROCESSES = {"channel": (1, "channels"), "die": (2, "dies")}


class _Sink(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int: ...


def write_timeline(spans: pa.Table, path: Path, name: str) -> None:
    """Writes the spans to `path`, packed if `name`, which the file will have in the end, ends in ``.gz``."""
    if name.endswith(".gz"):
        # No name and no time in the header: equal runs give equal bytes.
        with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            _write(spans, packed)
    else:
        with path.open("wb") as plain:
            _write(spans, plain)


def _write(spans: pa.Table, out: _Sink) -> None:
    out.write(b'{"displayTimeUnit":"ns","traceEvents":[')
    separator = "\n"
    for event in _events(spans):
        out.write((separator + event).encode())
        separator = ",\n"
    out.write(b"\n]}\n")


def _events(spans: pa.Table) -> Iterator[str]:
    """The trace's events: names of processes and tracks, then a complete event per span."""
    column: Any = spans.column("track").combine_chunks().dictionary_encode()
    codes, tracks = column.indices, column.dictionary.to_pylist()
    for pid, title in _PROCESSES.values():
        yield json.dumps({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": title}})
    places = [_place(track) for track in tracks]
    for track, (pid, tid) in zip(tracks, places, strict=True):
        yield json.dumps({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": track}})
    for batch_start in range(0, spans.num_rows, 65_536):
        batch: Any = spans.slice(batch_start, 65_536)
        rows = zip(
            codes.slice(batch_start, 65_536).to_pylist(),
            batch.column("name").to_pylist(),
            batch.column("reason").to_pylist(),
            batch.column("begin_ns").to_pylist(),
            batch.column("end_ns").to_pylist(),
            strict=True,
        )
        for code, name, reason, begin, end in rows:
            pid, tid = places[code]
            args = f',"args":{{"reason":"{reason}"}}' if reason else ""
            yield (
                f'{{"ph":"X","name":"{name}","pid":{pid},"tid":{tid},'
                f'"ts":{_microseconds(begin)},"dur":{_microseconds(end - begin)}{args}}}'
            )


def _place(track: str) -> tuple[int, int]:
    """A track's process and thread: ``die 5`` is thread 5 of the dies."""
    kind, _, number = track.partition(" ")
    return _PROCESSES[kind][0], int(number)


def _microseconds(ns: int) -> str:
    """Nanoseconds as microseconds, exactly."""
    return f"{ns // 1000}.{ns % 1000:03d}"
