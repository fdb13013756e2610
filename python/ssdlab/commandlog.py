"""One row per command, as Parquet or CSV."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa


#: Rows that are written in one go: a fraction of a second.
_ROWS = 1 << 18


def write_commands(table: pa.Table, path: Path, name: str) -> None:
    """Writes the commands to `path`; `name`, which the file will have in the end, says in which format."""
    from ssdlab.folder import write_parquet

    if name.endswith(".parquet"):
        write_parquet(table, path)
    elif name.endswith(".gz"):
        with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            _write_csv(table, cast(IO[bytes], packed))
    else:
        with path.open("wb") as plain:
            _write_csv(table, plain)


def _write_csv(table: pa.Table, out: IO[bytes]) -> None:
    """Writes `table` piece by piece, so that Ctrl-C is heard in between."""
    import pyarrow.csv as csv

    with csv.CSVWriter(out, table.schema) as writer:
        for start in range(0, table.num_rows, _ROWS):
            writer.write_table(table.slice(start, _ROWS))
