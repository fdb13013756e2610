"""Result folders, read back."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from ssdlab.comparison import Comparison
from ssdlab.errors import InputError
from ssdlab.manifest import version_of
from ssdlab.results import Result


def load_result(folder: str | PathLike[str]) -> Result:
    """Reads a result folder.

    Raises:
        InputError: `folder` is not a result folder, or it is damaged.

    Examples:
        >>> ssdlab.run("tiny", "examples/trace.csv.gz").save("out")
        PosixPath('out')
        >>> ssdlab.load_result("out")
        <ssdlab.Result tiny · examples/trace.csv.gz · baseline · complete>
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from ssdlab.provenance import Kept, divided

    path = Path(folder)
    streams, power = path / "stream_latency.parquet", path / "power.parquet"
    if (path / "compare.json").is_file():
        runs = sorted(run.parent.name for run in path.glob("*/summary.json"))
        raise InputError(f"{path}: the folder of a comparison: expected that of one of its runs: {', '.join(runs)}")
    if not (path / "summary.json").is_file():
        raise InputError(f"{path}: not a result folder: no summary.json in it")
    try:
        workload, source = divided((path / "workload.toml").read_text(encoding="utf-8"))
        result = Result(
            (path / "summary.json").read_text(encoding="utf-8"),
            drive_toml=(path / "drive.toml").read_text(encoding="utf-8"),
            workload_toml=workload,
            latency=parquet.read_table(path / "latency.parquet"),
            stream_latency=parquet.read_table(streams) if streams.is_file() else None,
            power=parquet.read_table(power) if power.is_file() else None,
            timeline=parquet.read_table(path / "timeline.parquet"),
            version=version_of(path),
        )
        result.origin = Kept.of(path, source)
        result.folder = path
        version = result.summary.get("schema_version")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{path}: a damaged result folder: {error}") from None
    if version != 1:
        raise InputError(f"{path}/summary.json: schema_version {version}: expected 1")
    return result


def load_comparison(folder: str | PathLike[str]) -> Comparison:
    """Reads a folder that :meth:`ssdlab.Comparison.save` wrote.

    Raises:
        InputError: `folder` is not the folder of a comparison, or it is damaged.

    Examples:
        >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "ofwar"])
        >>> comparison.save("both")
        PosixPath('both')
        >>> ssdlab.load_comparison("both")
        <ssdlab.Comparison baseline, ofwar>
    """
    path = Path(folder)
    try:
        document = json.loads((path / "compare.json").read_text(encoding="utf-8"))
        names, labels = document["folders"], [str(label) for label in document.get("labels", [])]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not a comparison folder: no readable compare.json in it") from None
    comparison = Comparison([load_result(path / str(name)) for name in names])
    for run, label in zip(comparison.runs, labels, strict=False):
        run.label = label
    return comparison
