"""Readers of the files that a run writes: command logs, timelines, physical histories."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from ssdlab import _engine
from ssdlab.commandlog import FORMATS
from ssdlab.errors import InputError
from ssdlab.files import existing_file

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["HistoryDifference", "compare_histories", "read_commands", "read_history", "read_timeline"]


def read_commands(path: str | PathLike[str]) -> pa.Table:
    """Reads a command log written by ``--log-commands``.

    Its columns are ``op, job, offset, length, submitted_ns, completed_ns``, one for each cause of latency, and
    ``queue, stream, flags, media_error, status, request, trace_offset, stream_name``; ``request`` and ``trace_offset``
    join the log with the trace (docs/reference/results.md). For a file larger than memory use
    ``pyarrow.parquet.ParquetFile(path).iter_batches()`` or ``pyarrow.csv.open_csv(path)``.

    Raises:
        InputError: the file cannot be read, or is not a command log.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", log_commands="commands.parquet")
        >>> table = ssdlab.read_commands("commands.parquet")
        >>> table.num_rows, table.column_names[:3]
        (2000, ['op', 'job', 'offset'])
    """
    # Start-up: the command that compares histories needs no pyarrow.
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    name = existing_file(path)
    if not name.endswith(FORMATS):
        raise InputError(f"{name}: expected a name in {', '.join(FORMATS)}")
    words = ("op", "status", "stream_name")
    # A stream may be called `007`.
    texts = csv.ConvertOptions(column_types=dict.fromkeys(words, pa.string()))
    try:
        table = parquet.read_table(name) if name.endswith(".parquet") else csv.read_csv(name, convert_options=texts)
        others: dict[str, pa.DataType] = {"media_error": pa.bool_()} | dict.fromkeys(words, pa.string())
        types = {column: others.get(column, pa.uint64()) for column in table.column_names}
        return table.cast(pa.schema(types))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{name}: not a log of commands: {error}") from None


def read_timeline(path: str | PathLike[str]) -> pa.Table:
    """Reads the spans written by ``--timeline``: ``track`` (``die 5``), ``name``, ``reason``, ``begin_ns``, ``end_ns``.

    Raises:
        InputError: the file cannot be read, or is not a timeline of ssdlab.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", timeline="timeline.gz", timeline_for="2s")
        >>> ssdlab.read_timeline("timeline.gz").slice(2, 1).to_pylist()
        [{'track': 'die 0', 'name': 'program', 'reason': 'host', 'begin_ns': 1424597200, 'end_ns': 1425200975}]
    """
    # Start-up: the command that compares histories needs no pyarrow.
    from ssdlab.tables import from_columns

    return from_columns(_engine.read_timeline(existing_file(path)))


def read_history(path: str | PathLike[str]) -> pa.Table:
    """Reads the entries written by ``--history``: ``time_ns, event, die, place, mode, reason, job``.

    Raises:
        InputError: the file cannot be read, or is not a history.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", history="history.csv")
        >>> table = ssdlab.read_history("history.csv")
        >>> table["event"].value_counts().to_pylist()[0]
        {'values': 'read completed', 'counts': 60}
    """
    # Start-up: the command that compares histories needs no pyarrow.
    import pyarrow as pa
    import pyarrow.csv as csv

    texts = ("event", "mode", "reason")
    columns = ("time_ns", "event", "die", "place", "mode", "reason", "job")
    types = {column: pa.string() if column in texts else pa.uint64() for column in columns}
    name = existing_file(path)
    try:
        table = csv.read_csv(name)
        if table.column_names != [*types]:
            raise InputError(f"{name}: not a history: its columns are {', '.join(table.column_names)}")
        return table.cast(pa.schema(types))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{name}: not a history: {error}") from None


@dataclass(frozen=True, slots=True)
class HistoryDifference:
    r"""First difference between two histories.

    Examples:
        >>> for seed in (1, 2):
        ...     result = ssdlab.run("tiny", "examples/randwrite.fio", seed=seed, stop_after=100, history=f"{seed}.csv")
        >>> entries, difference = ssdlab.compare_histories("1.csv", "2.csv")
        >>> difference.line
        6
        >>> print(difference.before[-1], difference.first[0], difference.second[0], sep="\n")
        0,program started,3,24576,normal,host,
        603775,write completed,,36495360,,,0
        603775,write completed,,44650496,,,0
    """

    #: Line number of the first entry that differs; the heading is line 1.
    line: int
    #: Last equal lines before it.
    before: tuple[str, ...]
    #: First lines of the first history from there on; none if it ends there.
    first: tuple[str, ...]
    #: First lines of the second history from there on; none if it ends there.
    second: tuple[str, ...]


def compare_histories(first: str | PathLike[str], second: str | PathLike[str]) -> tuple[int, HistoryDifference | None]:
    """Compares two histories. Returns the number of equal entries at the start, and the first difference, if any.

    Raises:
        InputError: a file cannot be read.

    Examples:
        >>> for policy in ("baseline", "all_fast"):
        ...     result = ssdlab.run("tiny", "examples/trace.csv.gz", policy, history=f"{policy}.csv")
        >>> ssdlab.compare_histories("baseline.csv", "baseline.csv")
        (9588, None)
        >>> entries, difference = ssdlab.compare_histories("baseline.csv", "all_fast.csv")
        >>> entries, difference.first[0], difference.second[0]
        (22, '1424597200,program started,0,0,normal,host,', '1424597200,program started,0,0,fast,host,')
    """
    paths = [existing_file(path) for path in (first, second)]
    entries, difference = _engine.compare_histories(*paths)
    if difference is None:
        return entries, None
    line, *lines = difference
    return entries, HistoryDifference(line, *map(tuple, lines))
