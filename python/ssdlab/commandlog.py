"""One row per command, as Parquet or CSV."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pyarrow as pa


def write_commands(table: pa.Table, path: Path, name: str) -> None:
    """Writes the commands to `path`; `name`, which the file will have in the end, says in which format."""
    import pyarrow.csv as csv

    from ssdlab.folder import write_parquet

    if name.endswith(".parquet"):
        write_parquet(table, path)
    elif name.endswith(".gz"):
        with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            csv.write_csv(table, cast(IO[bytes], packed))
    else:
        csv.write_csv(table, path)
