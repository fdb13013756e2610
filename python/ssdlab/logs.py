"""What runs wrote while they went on, read again: commands, timelines, physical histories."""

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
    """The commands that ``--log-commands`` wrote: ``op, job, offset, length, submitted_ns, completed_ns`` and a column per cause.

    For a file larger than memory use ``pyarrow.parquet.ParquetFile(path).iter_batches()`` or ``pyarrow.csv.open_csv(path)``.

    Raises:
        InputError: the file cannot be read, or is none of them.
    """
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    name = existing_file(path)
    if not name.endswith(FORMATS):
        raise InputError(f"{name}: expected a name in {', '.join(FORMATS)}")
    try:
        table = parquet.read_table(name) if name.endswith(".parquet") else csv.read_csv(name)
        types = {column: pa.string() if column == "op" else pa.uint64() for column in table.column_names}
        return table.cast(pa.schema(types))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{name}: not a log of commands: {error}") from None


def read_timeline(path: str | PathLike[str]) -> pa.Table:
    """The spans that ``--timeline`` wrote: ``track`` (``die 5``), ``name``, ``reason``, ``begin_ns``, ``end_ns``.

    Raises:
        InputError: the file cannot be read, or is no timeline of ssdlab's.
    """
    from ssdlab.tables import from_columns

    return from_columns(_engine.read_timeline(existing_file(path)))


def read_history(path: str | PathLike[str]) -> pa.Table:
    """The entries that ``--history`` wrote: ``time_ns, event, die, place, mode, reason, job``.

    Raises:
        InputError: the file cannot be read, or is no history.
    """
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
    """The first difference between two histories."""

    #: The line of the first entry that differs; the heading is line 1.
    line: int
    #: The last equal lines before it.
    before: tuple[str, ...]
    #: The lines of the first history from there on, a few; none if it ends there.
    first: tuple[str, ...]
    #: Those of the second one.
    second: tuple[str, ...]


def compare_histories(first: str | PathLike[str], second: str | PathLike[str]) -> tuple[int, HistoryDifference | None]:
    """Compares two histories entry by entry: how many are equal from the start, and the first difference, if there is one.

    Raises:
        InputError: a file that cannot be read.
    """
    paths = [existing_file(path) for path in (first, second)]
    entries, difference = _engine.compare_histories(*paths)
    if difference is None:
        return entries, None
    line, *lines = difference
    return entries, HistoryDifference(line, *map(tuple, lines))
