"""Result folders, written byte for byte the same for equal runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import parquet

from ssdlab.files import write_folder
from ssdlab.manifest import MANIFEST, write_manifest
from ssdlab.report import page
from ssdlab.run_names import labels

if TYPE_CHECKING:
    import pyarrow as pa

    from ssdlab.results import RunData

#: The kind of a result folder in its manifest.
_RESULT = "result"
#: Most characters and bytes of the name of a run's folder in a comparison, to which a number may be added.
_LONGEST, _LONGEST_BYTES = 100, 200


def save_result(result: RunData, folder: str | PathLike[str], *, force: bool = False) -> Path:
    """Writes a result folder and returns its path.

    Raises:
        InputError: the folder exists and is not empty (unless `force` is set and ssdlab wrote everything in it), or
            cannot be made.
    """
    return write_folder(Path(folder), _RESULT, lambda path: _write_result(result, path), force=force)


def save_comparison(
    runs: Sequence[RunData], document: Mapping[str, Any], folder: str | PathLike[str], *, force: bool = False
) -> Path:
    """Writes a comparison (``compare.json``, ``report.html``, a result folder per run) and returns the folder's path.

    Raises:
        InputError: the folder exists and is not empty (unless `force` is set and ssdlab wrote everything in it), or
            cannot be made.
    """

    def write(path: Path) -> None:
        names = _folder_names(runs)
        for name, run in zip(names, runs, strict=True):
            (path / name).mkdir()
            _write_result(run, path / name)
            write_manifest(path / name, _RESULT)
        given = [run.label for run in runs]
        named = {"labels": given} if any(given) else {}
        text = json.dumps({**document, "folders": names, **named}, indent=2)
        (path / "compare.json").write_text(text + "\n", encoding="utf-8")
        (path / "report.html").write_text(page.several(runs), encoding="utf-8")

    return write_folder(Path(folder), "comparison", write, force=force)


def _write_result(result: RunData, path: Path) -> None:
    (path / "drive.toml").write_text(result.drive_toml, encoding="utf-8")
    workload = result.workload_toml
    if result.origin is not None:
        workload = f"{workload}\n{result.origin.source()}"
        record = result.origin.record(result.drive_toml, workload, result.summary)
        # `write_manifest` adds the files.
        (path / MANIFEST).write_text(json.dumps({"run": record}), encoding="utf-8")
    (path / "workload.toml").write_text(workload, encoding="utf-8")
    (path / "summary.json").write_text(result.summary_json, encoding="utf-8")
    write_parquet(result.latency_table(), path / "latency.parquet")
    if (streams := result.stream_latency_table()) is not None:
        write_parquet(streams, path / "stream_latency.parquet")
    if (power := result.power_table()) is not None:
        write_parquet(power, path / "power.parquet")
    write_parquet(result.timeline_table(), path / "timeline.parquet")
    (path / "report.html").write_text(page.single(result), encoding="utf-8")


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes `table`, with every setting stated that affects the bytes of the file."""
    parquet.write_table(table, path, version="2.6", compression="zstd", compression_level=3, row_group_size=1 << 20)


def _folder_names(runs: Sequence[RunData]) -> list[str]:
    """Returns the names of the runs' folders: what differs between the runs, with a number where that occurs again."""
    names: list[str] = []
    for run, parts in zip(runs, labels(runs), strict=True):
        plain = "-".join(re.sub(r"[^\w.+-]+", "_", part).strip("_") for part in ((run.label,) if run.label else parts))
        name = base = plain.lstrip(".")[:_LONGEST].encode()[:_LONGEST_BYTES].decode(errors="ignore") or "run"
        number = 1
        while name in names:
            number += 1
            name = f"{base}-{number}"
        names.append(name)
    return names
