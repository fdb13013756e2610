"""Result folders: written byte for byte the same for equal runs, and read back."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab.comparison import Comparison
from ssdlab.errors import InputError
from ssdlab.files import write_folder
from ssdlab.manifest import write_manifest
from ssdlab.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["load_comparison", "load_result", "save_comparison", "save_result"]

#: The kind of a result folder in its manifest.
_RESULT = "result"


def save_result(result: Result, folder: str | PathLike[str], *, force: bool = False) -> Path:
    """Writes a result folder and returns its path.

    Raises:
        InputError: the folder exists and is not empty (unless `force` is set and ssdlab wrote everything in it), or
            cannot be made.
    """
    return write_folder(Path(folder), _RESULT, lambda path: _write_result(result, path), force=force)


def save_comparison(comparison: Comparison, folder: str | PathLike[str], *, force: bool = False) -> Path:
    """Writes a comparison (``compare.json``, ``report.html``, a result folder per run) and returns the folder's path.

    Raises:
        InputError: the folder exists and is not empty (unless `force` is set and ssdlab wrote everything in it), or
            cannot be made.
    """

    def write(path: Path) -> None:
        names = _folder_names(comparison)
        for name, run in zip(names, comparison.runs, strict=True):
            (path / name).mkdir()
            _write_result(run, path / name)
            write_manifest(path / name, _RESULT)
        text = json.dumps({**comparison.to_dict(), "folders": names}, indent=2)
        (path / "compare.json").write_text(text + "\n", encoding="utf-8")
        (path / "report.html").write_text(comparison.report(), encoding="utf-8")

    return write_folder(Path(folder), "comparison", write, force=force)


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

    path = Path(folder)
    if not (path / "summary.json").is_file():
        raise InputError(f"{path}: not a result folder: no summary.json in it")
    try:
        result = Result(
            (path / "summary.json").read_text(encoding="utf-8"),
            drive_toml=(path / "drive.toml").read_text(encoding="utf-8"),
            workload_toml=(path / "workload.toml").read_text(encoding="utf-8"),
            latency=parquet.read_table(path / "latency.parquet"),
            timeline=parquet.read_table(path / "timeline.parquet"),
        )
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
        names = json.loads((path / "compare.json").read_text(encoding="utf-8"))["folders"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path}: not a comparison folder: no readable compare.json in it") from None
    return Comparison([load_result(path / str(name)) for name in names])


def _write_result(result: Result, path: Path) -> None:
    (path / "drive.toml").write_text(result.drive_toml, encoding="utf-8")
    (path / "workload.toml").write_text(result.workload_toml, encoding="utf-8")
    (path / "summary.json").write_text(result.summary_json, encoding="utf-8")
    write_parquet(result.latency_table(), path / "latency.parquet")
    write_parquet(result.timeline_table(), path / "timeline.parquet")
    (path / "report.html").write_text(result.report(), encoding="utf-8")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes `table`, with every setting stated that affects the bytes of the file."""
    import pyarrow.parquet as parquet

    parquet.write_table(table, path, version="2.6", compression="zstd", compression_level=3, row_group_size=1 << 20)


def _folder_names(comparison: Comparison) -> list[str]:
    """Returns the names of the runs' folders: the policy, with a number where it occurs again."""
    names: list[str] = []
    for run in comparison.runs:
        repeats = sum(run.policy == earlier.policy for earlier in comparison.runs[: len(names)])
        names.append(f"{run.policy}-{repeats + 1}" if repeats else run.policy)
    return names
