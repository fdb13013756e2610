"""Manifests: ``manifest.json`` in a folder lists the files that ssdlab wrote there; ``--force`` removes no others.

A manifest depends only on the folder's content, the version of ssdlab and, for a result, on what the run was asked for
(:mod:`ssdlab.provenance`): with one version, the same command gives an equal manifest.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from ssdlab import _engine
from ssdlab.errors import InputError

MANIFEST = "manifest.json"
#: Name of a manifest while it is written.
_BESIDE = f".{MANIFEST}.new"
#: Version of the manifest's fields.
FORMAT = 1

#: Content of a result folder written before manifests were introduced.
_OLD_RESULT = ("drive.toml", "workload.toml", "summary.json", "latency.parquet", "timeline.parquet", "report.html")
#: Beginning of a page of published results.
_PAGE = "# Published results\n\nWhat `ssdlab paper "
#: Link to a picture or a table on a page of results; group 1 is its name relative to the page.
_SHOWN = re.compile(r"\]\(((?:pictures|tables)/[^/)]+)\)")


def write_manifest(folder: Path, kind: str) -> None:
    """Writes the manifest of `folder`, a folder of this `kind`: the names of all its files, including the manifest.

    What a manifest there says of the run is kept.
    """
    run = _document(folder / MANIFEST).get("run")
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() and path.name != _BESIDE]
    document = {
        "written_by": "ssdlab",
        "kind": kind,
        "format": FORMAT,
        "version": _engine.build(),
        "files": sorted({*names, MANIFEST}),
        **({} if run is None else {"run": run}),
    }
    # In one step: a process may be killed while it writes the manifest of a folder that grows.
    beside = folder / _BESIDE
    beside.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    beside.replace(folder / MANIFEST)


def strangers(folder: Path) -> list[str]:
    """Returns the content of `folder` that ssdlab did not write, as names relative to `folder`; folders end in a slash.

    Only the files that the manifest lists count as written by ssdlab. They may be missing, but those present must be
    regular files, not links.

    Raises:
        InputError: the manifest has another version.
        OSError: `folder` cannot be read.
    """
    files = _listed_files(folder) or _listed_before_manifests(folder)
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    return [*_unlisted_files(folder, "", files, folders)]


def check_format(folder: Path) -> None:
    """Checks that the manifest of `folder`, if it has one, is of the version that is known here.

    Raises:
        InputError: it is of another.
    """
    manifest = _document(folder / MANIFEST)
    if manifest.get("written_by") == "ssdlab":
        _check_format(folder, manifest)


def _check_format(folder: Path, manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder / MANIFEST}: format {manifest.get('format')}: expected {FORMAT}; a newer ssdlab may know it")


def version_of(folder: Path) -> str:
    """Returns the version of ssdlab that wrote `folder`, a result folder or one within that of a comparison.

    Empty if no manifest says it.
    """
    for place in (folder, folder.parent):
        version = _document(place / MANIFEST).get("version")
        if isinstance(version, str):
            return version
    return ""


def _unlisted_files(folder: Path, prefix: str, files: set[str], folders: set[str]) -> Iterator[str]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if name in folders:
                yield from _unlisted_files(folder / entry.name, name + "/", files, folders)
            else:
                yield name + "/"
        elif name not in files or not entry.is_file(follow_symlinks=False):
            yield name


def _listed_files(folder: Path) -> set[str]:
    """Returns the files that the manifest of `folder` lists; none without a manifest."""
    manifest = _document(folder / MANIFEST)
    names = manifest.get("files")
    if manifest.get("written_by") != "ssdlab" or not isinstance(names, list):
        return set()
    _check_format(folder, manifest)
    return {name for name in names if isinstance(name, str)}


def _listed_before_manifests(folder: Path) -> set[str]:
    """Returns the files of a folder written before manifests existed; its kind follows from its main document."""
    if "schema_version" in _document(folder / "summary.json"):
        return {*_OLD_RESULT}
    if "ended_by" in _document(folder / "lifetime.json"):
        return {"drive.toml", "workload.toml", "lifetime.json"}
    runs = _document(folder / "compare.json").get("folders")
    if isinstance(runs, list):
        return {"compare.json", "report.html", *(f"{run}/{name}" for run in runs for name in _OLD_RESULT)}
    page = folder / "RESULTS.md"
    text = page.read_text(encoding="utf-8", errors="replace") if page.is_file() else ""
    if text.startswith(_PAGE):
        return {page.name, "results.json", *_SHOWN.findall(text)}
    return set()


def is_plain(path: Path) -> bool:
    """Returns true if `path` is a regular file of a size that ssdlab writes: 256 MiB at most."""
    return path.is_file() and path.stat().st_size <= 256 << 20


def _document(path: Path) -> dict[str, Any]:
    """Returns the JSON document at `path`; an empty one if it is missing or not readable."""
    try:
        # Only regular files are opened: reading a pipe would block.
        document = json.loads(path.read_text(encoding="utf-8")) if is_plain(path) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
