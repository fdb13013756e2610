"""Result folders, read back."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from ssdlab import toml
from ssdlab.comparison import Comparison
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, is_file, read_text
from ssdlab.manifest import check_format, version_of
from ssdlab.presentation import Result
from ssdlab.provenance import Kept, workload_and_source


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
    # Start-up: most commands read no folder.
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = Path(folder)
    streams, power = path / "stream_latency.parquet", path / "power.parquet"
    if is_file(path / "compare.json"):
        runs = sorted(run.parent.name for run in path.glob("*/summary.json"))
        raise InputError(f"{path}: the folder of a comparison: expected that of one of its runs: {', '.join(runs)}")
    if not is_file(path / "summary.json"):
        raise InputError(f"{path}: not a result folder: no summary.json in it")
    check_format(path)
    try:
        workload, source = workload_and_source(read_text(path / "workload.toml", RESULT_MAX))
        result = Result(
            read_text(path / "summary.json", RESULT_MAX),
            drive_toml=read_text(path / "drive.toml", RESULT_MAX),
            workload_toml=workload,
            latency=parquet.read_table(path / "latency.parquet"),
            stream_latency=parquet.read_table(streams) if streams.is_file() else None,
            power=parquet.read_table(power) if power.is_file() else None,
            timeline=parquet.read_table(path / "timeline.parquet"),
            version=version_of(path),
        )
        result.origin = Kept.from_folder(path, source)
        result.folder = path
        version = result.summary.get("schema_version")
        for name, text in (("drive.toml", result.drive_toml), ("workload.toml", workload + source)):
            _check_toml(path / name, text)
    except InputError:
        raise
    except (OSError, ValueError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise InputError(f"{path}: a damaged result folder: {error}") from None
    if version != 1:
        raise InputError(f"{path}/summary.json: schema_version {version}: expected 1")
    return result


def _check_toml(path: Path, text: str) -> None:
    """Checks that a text that was read from a file is TOML.

    Raises:
        InputError: it is not.
    """
    try:
        if not toml.loads(text) and path.name == "drive.toml":
            raise InputError(f"{path}: damaged: it has no field: expected the description of a drive")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged: {error}: expected the TOML that a run wrote") from None


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
    check_format(path)
    try:
        document = json.loads(read_text(path / "compare.json", RESULT_MAX))
        names, labels = document["folders"], [str(label) for label in document.get("labels", [])]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: not a comparison folder: no readable compare.json in it") from None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}/compare.json: folders: {names!r}: expected a list of names")
    comparison = Comparison([load_result(path / name) for name in names])
    for run, label in zip(comparison.runs, labels, strict=False):
        run.label = label
    return comparison
