"""The folder of a sweep: its specification, and a Parquet data set that grows run by run.

``runs.parquet`` is a folder, which every reader of Parquet takes as one table. Each run adds a file of one row, written
elsewhere and renamed; at the end, and when a sweep is taken up again, they are replaced by one file, in the order of
the design. A process that is killed at any moment leaves whole rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ssdlab.errors import InputError
from ssdlab.exchange import exchange
from ssdlab.files import damaged, is_folder, naming, read_own_text, undisturbed
from ssdlab.locks import locked
from ssdlab.manifest import check_format, write_manifest

__all__ = ["Folder", "read_rows"]

RUNS = "runs.parquet"
#: Rows of other inputs or of another engine than those of the design now.
OTHERS = "other_runs.parquet"
SPEC = "sweep.toml"
_REPORT = "report.html"
#: Rows that were added, kept as one table.
_ROWS_OF_A_TABLE = 256


class Folder:
    """Folder of a sweep. One process at a time writes to it.

    Examples:
        >>> from ssdlab.explore.folder import Folder
        >>> from ssdlab.explore import rows
        >>> spec = ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio"})
        >>> with Folder.opened("sweep", spec.text, rows.schema(spec, [])) as folder:
        ...     folder.done
        {}
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        #: Status of each row that is there, by its id.
        self.done: dict[str, str] = {}
        #: Rows that this process has added, which need not be read again: the last ones, and tables of the earlier.
        self._last: list[dict[str, Any]] = []
        self._tables: list[pa.Table] = []

    @classmethod
    @contextmanager
    def opened(cls, path: str | PathLike[str], text: str, schema: pa.Schema) -> Iterator[Folder]:
        """Opens a folder for the sweep with the specification `text`: a new one, or one with rows of this sweep.

        Raises:
            InputError: the folder has something else in it, or rows of another sweep, or another process writes there.
        """
        folder = cls(Path(path), schema)
        folder._check(text)
        with locked(folder.path):
            folder._check(text)
            folder.path.mkdir(exist_ok=True)
            # First: without it, what a killed process has left would be taken for something else.
            if not (folder.path / SPEC).exists():
                beside = folder.path / f".{SPEC}.new"
                beside.write_text(text, encoding="utf-8")
                beside.replace(folder.path / SPEC)
            (folder.path / RUNS).mkdir(exist_ok=True)
            folder._tidy()
            found = read_rows(folder.path, ["id", "status"])
            folder.done = {row["id"]: row["status"] for row in found.to_pylist()}
            yield folder

    def _check(self, text: str) -> None:
        """Checks that the folder can be written, and is that of this sweep or empty."""
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise InputError(f"{self.path}: its folder {self.path.parent} does not exist")
            return
        if not self.path.is_dir():
            raise InputError(f"{self.path}: a file; expected the name of a folder")
        spec = self.path / SPEC
        if not spec.is_file():
            content = [entry.name for entry in self.path.iterdir() if not entry.name.startswith(".")]
            if content:
                raise InputError(f"{self.path}: not the folder of a sweep, and not empty: expected another name")
            return
        check_format(self.path)
        if read_own_text(spec) != text:
            raise InputError(
                f"{self.path}: has the runs of another specification, {spec}: expected another folder for this one; "
                f"--reuse {self.path} takes over the runs that both have"
            )

    def _tidy(self) -> None:
        """Removes what a killed process left half written."""
        for left in self.path.glob(".*.new"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                with suppress(OSError):
                    left.unlink()

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row: complete or not at all. One that is there already is replaced."""
        name = str(row["id"])
        beside = self.path / f".{name}.new"
        table = pa.Table.from_pylist([dict(row)], schema=self.schema)
        with naming(self.path / RUNS):
            # One row needs neither compression nor an index; the file that replaces it at the end has both.
            parquet.write_table(table, beside, compression="none", use_dictionary=False, write_statistics=False)
            beside.replace(self.path / RUNS / f"{name}.parquet")
        self.done[name] = str(row["status"])
        self._last.append(dict(row))
        # A table of one row takes as much memory as hundreds of rows of a longer one.
        if len(self._last) == _ROWS_OF_A_TABLE:
            self._make_table()

    def _make_table(self) -> None:
        self._tables.append(pa.Table.from_pylist(self._last, schema=self.schema))
        self._last = []

    def compact(self, order: Mapping[str, int]) -> pa.Table:
        """Puts all rows into one file, in the order of the design, and returns them.

        Args:
            order: Place of each row in the design, by its id. Other rows go to a file of their own.
        """
        self._make_table()
        whole = read_rows(self.path, added=self._tables)
        own: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for row in whole.to_pylist():
            (own if row["id"] in order else others).append(row)
        for row in own:
            row["index"] = order[row["id"]]
        table = pa.Table.from_pylist(sorted(own, key=lambda row: row["index"]), schema=self.schema)
        with undisturbed(), naming(self.path / RUNS):
            if others:
                self._keep_others(pa.Table.from_pylist(others, schema=whole.schema))
            beside = self.path / f".{RUNS}.new"
            beside.mkdir()
            parquet.write_table(table, beside / "runs.parquet", compression="zstd")
            # In one step: a reader finds the old files or the new one, and never both.
            exchange(beside, self.path / RUNS)
            shutil.rmtree(beside, ignore_errors=True)
            write_manifest(self.path, "sweep")
        self.done = {row["id"]: row["status"] for row in own}
        self._tables = []
        return table

    @property
    def has_report(self) -> bool:
        """True if there is a report."""
        return (self.path / _REPORT).is_file()

    def write_report(self, text: str) -> None:
        """Writes the report beside the rows."""
        beside = self.path / f".{_REPORT}.new"
        with undisturbed(), naming(self.path / _REPORT):
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path / _REPORT)
            write_manifest(self.path, "sweep")

    def _keep_others(self, table: pa.Table) -> None:
        path = self.path / OTHERS
        if path.exists():
            table = pa.concat_tables([parquet.read_table(path), table], promote_options="default")
        beside = self.path / f".{OTHERS}.new"
        parquet.write_table(table, beside, compression="zstd")
        beside.replace(path)


def read_rows(path: str | PathLike[str], columns: Sequence[str] | None = None, added: Sequence[pa.Table] = ()) -> pa.Table:
    """Returns the rows in the folder of a sweep; of one that is there twice, that which was written last.

    Args:
        path: The folder.
        columns: Columns to be read; absent: all.
        added: Rows that were written last, whose files are not read.

    Raises:
        InputError: the folder is not that of a sweep.
    """
    runs = Path(path) / RUNS
    if not is_folder(runs):
        raise InputError(f"{path}: not the folder of a sweep: it has no {RUNS}")
    known = {f"{name}.parquet" for table in added for name in table["id"].to_pylist()}
    files = [file for file in runs.glob("*.parquet") if file.name not in known]
    files.sort(key=lambda file: file.stat().st_mtime_ns)
    tables = [*(_read(file, columns) for file in files), *added]
    if not tables:
        return pa.table({name: pa.array([], pa.string()) for name in columns or ("id", "status", "index")})
    with damaged(runs):
        whole = pa.concat_tables(tables, promote_options="default")
        last = {name: number for number, name in enumerate(whole["id"].to_pylist())}
        return whole.take(sorted(last.values())) if len(last) < whole.num_rows else whole


def _read(file: Path, columns: Sequence[str] | None) -> pa.Table:
    """Returns the rows of a file.

    Raises:
        InputError: it is damaged.
    """
    try:
        return parquet.read_table(file, columns=None if columns is None else list(columns))
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        raise InputError(f"{file}: damaged: {error}; remove it, and its run is done again") from None


def rows_with(path: str | PathLike[str], keys: Iterable[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the rows with these keys in the folder of another sweep, if it has these columns."""
    table = read_rows(path)
    if not set(columns) <= set(table.column_names):
        return
    wanted = set(keys)
    for row in table.select(["key", *columns]).to_pylist():
        if row["key"] in wanted and row["status"] == "ok":
            yield row


def varied_columns(table: pa.Table) -> list[str]:
    """Returns the names of the columns that make a point: the varied fields, and what else has several values."""
    columns = table.column_names
    fields = columns[columns.index("seed") + 1 : columns.index("status")]
    parts = [name for name in ("drive", "workload", "policy", "precondition") if len(set(table[name].to_pylist())) > 1]
    return [*parts, *fields]
