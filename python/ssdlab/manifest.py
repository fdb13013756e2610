"""Which files of a folder ssdlab wrote: ``manifest.json`` in it says so, and ``--force`` removes no other.

It is made of the folder's content and the version of ssdlab alone: of one version, equal folders have equal manifests.
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
#: Version of the manifest's fields.
FORMAT = 1

#: What a result folder held before there were manifests.
_OLD_RESULT = ("drive.toml", "workload.toml", "summary.json", "latency.parquet", "timeline.parquet", "report.html")
#: How a page of published results begins.
_PAGE = "# Published results\n\nWhat `ssdlab paper "
#: A picture or a table that a page of results shows, by its name relative to the page.
_SHOWN = re.compile(r"\]\(((?:pictures|tables)/[^/)]+)\)")


def write_manifest(folder: Path, kind: str) -> None:
    """Writes into `folder`, a folder of this `kind`, the names of all its files, the manifest's own among them."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]
    document = {
        "written_by": "ssdlab",
        "kind": kind,
        "format": FORMAT,
        "version": _engine.build(),
        "files": sorted({*names, MANIFEST}),
    }
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def strangers(folder: Path) -> list[str]:
    """What `folder` holds that ssdlab did not write there, by its name relative to `folder`; folders end in a slash.

    Ours are the files that the manifest lists. They may be missing, but they must be files: a link is not.

    Raises:
        InputError: the manifest is of a later version.
        OSError: `folder` cannot be read.
    """
    files = _listed(folder) or _listed_before_manifests(folder)
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    return [*_unlisted(folder, "", files, folders)]


def _unlisted(folder: Path, prefix: str, files: set[str], folders: set[str]) -> Iterator[str]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            if name in folders:
                yield from _unlisted(folder / entry.name, name + "/", files, folders)
            else:
                yield name + "/"
        elif name not in files or not entry.is_file(follow_symlinks=False):
            yield name


def _listed(folder: Path) -> set[str]:
    """The files that the manifest of `folder` lists; none without one."""
    manifest = _document(folder / MANIFEST)
    names = manifest.get("files")
    if manifest.get("written_by") != "ssdlab" or not isinstance(names, list):
        return set()
    if manifest.get("format") != FORMAT:
        raise InputError(f"{folder / MANIFEST}: format {manifest.get('format')}: expected {FORMAT}; a newer ssdlab may know it")
    return {name for name in names if isinstance(name, str)}


def _listed_before_manifests(folder: Path) -> set[str]:
    """The files that folders had before there were manifests, of the kind that the document in `folder` shows."""
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


def _document(path: Path) -> dict[str, Any]:
    """The JSON document at `path`; an empty one if there is none."""
    try:
        # Nothing else is opened: a pipe would be waited for.
        document = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
