"""Command log: one row per command, written as Parquet or CSV during the run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.errors import InputError

if TYPE_CHECKING:
    from ssdlab._engine import Columns

__all__ = ["FORMATS", "CommandLog", "check_name"]

#: Formats, by the ending of the file name.
FORMATS = (".parquet", ".csv", ".csv.gz")


def check_name(path: Path) -> None:
    """Checks that a file name ends in one of :data:`FORMATS`.

    Raises:
        InputError: it does not.
    """
    if not path.name.endswith(FORMATS):
        raise InputError(f"--log-commands {path}: expected a name in {', '.join(FORMATS)}")


class CommandLog:
    """Command log that is written to a file batch by batch, in constant memory.

    If the file cannot be written, the log ends and the run goes on: :attr:`error` then holds the reason.
    """

    def __init__(self, path: Path, name: str) -> None:
        """Creates the log at `path`. `name` is the final name of the file; its ending selects the format."""
        #: Error that ended the log early; ``None`` if there was none.
        self.error: OSError | None = None
        self._path = path
        self._name = name
        self._files = ExitStack()
        self._writer: Any = None

    def take(self, columns: Columns) -> None:
        """Adds a batch of commands. The first batch, which may be empty, defines the columns."""
        # Start-up: few runs have a log, which needs pyarrow.
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
            # Start-up: pyarrow, which few runs need.
            import pyarrow.parquet as parquet

            # Every setting that affects the bytes of the file is stated.
            settings: dict[str, Any] = {"version": "2.6", "compression": "zstd", "compression_level": 3}
            return self._files.enter_context(parquet.ParquetWriter(self._path, schema, **settings))
        # Start-up: pyarrow, which few runs need.
        import pyarrow.csv as csv

        out: Any = self._files.enter_context(self._path.open("wb"))
        if self._name.endswith(".gz"):
            # Header without name and time, so that equal runs give equal bytes.
            import gzip

            out = self._files.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0))
        return self._files.enter_context(csv.CSVWriter(out, schema))

    def close(self) -> None:
        """Closes the file."""
        try:
            self._files.close()
        except OSError as error:
            self.error = self.error or error
