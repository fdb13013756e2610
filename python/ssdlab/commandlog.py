"""One row per command, as Parquet or CSV, written while the run goes on."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.errors import InputError

if TYPE_CHECKING:
    from ssdlab._engine import Columns

__all__ = ["FORMATS", "CommandLog", "check_name"]

#: The formats, by the end of a name.
FORMATS = (".parquet", ".csv", ".csv.gz")


def check_name(path: Path) -> None:
    """Refuses a name that says of no format."""
    if not path.name.endswith(FORMATS):
        raise InputError(f"--log-commands {path}: expected a name in {', '.join(FORMATS)}")


class CommandLog:
    """Writes commands to a file, batch by batch; what it holds in memory does not grow.

    A file that cannot be written ends the log and not the run: :attr:`error` then says why.
    """

    def __init__(self, path: Path, name: str) -> None:
        """`name`, which the file at `path` will have in the end, says in which format."""
        #: Why the log ended early.
        self.error: OSError | None = None
        self._path = path
        self._name = name
        self._files = ExitStack()
        self._writer: Any = None

    def take(self, columns: Columns) -> None:
        """Adds a batch of commands; the first one says which columns there are, and may be empty."""
        from ssdlab.tables import from_columns

        if self.error is not None:
            return
        table = from_columns(columns)
        try:
            if self._writer is None:
                self._writer = self._open(table.schema)
            self._writer.write_table(table)
        except OSError as error:
            self.error = error

    def _open(self, schema: Any) -> Any:
        if self._name.endswith(".parquet"):
            import pyarrow.parquet as parquet

            # Every setting that shapes the bytes is stated.
            settings: dict[str, Any] = {"version": "2.6", "compression": "zstd", "compression_level": 3}
            return self._files.enter_context(parquet.ParquetWriter(self._path, schema, **settings))
        import pyarrow.csv as csv

        out: Any = self._files.enter_context(self._path.open("wb"))
        if self._name.endswith(".gz"):
            # No name and no time in the header: equal runs give equal bytes.
            out = self._files.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0))
        return self._files.enter_context(csv.CSVWriter(out, schema))

    def close(self) -> None:
        """Ends the file."""
        try:
            self._files.close()
        except OSError as error:
            self.error = self.error or error
