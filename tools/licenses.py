"""Lists what ssdlab depends on, with the licence of each: `make licenses` writes the file.

The names come from the lock files, the licences from `cargo metadata` and from the metadata of the installed packages.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIST = ROOT / "LICENSES.md"

#: Crates whose dependencies are part of what is built.
_BUILT = ("ssdlab-py", "ssdlab-c")
#: Packages whose metadata name a file instead, with the licence that it states.
_IN_FILE = {"littlefs-python": "BSD-3-Clause"}
#: Names that metadata has in place of the identifiers of SPDX.
_SPDX = {
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD-3-Clause License": "BSD-3-Clause",
    "Dual License": "Apache-2.0 OR BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "ISC License": "ISC",
    "ISC license": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "The MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_HEAD = """\
# Licences of dependencies

Made by `make licenses`; a test compares the names with the lock files. ssdlab itself: Apache-2.0 ([LICENSE](LICENSE)).

## Files within the package

| file | licence | use |
| --- | --- | --- |
| plotly.js (`python/ssdlab/report/plotly-cartesian-*.min.js.gz`) | MIT | charts of reports, embedded in each page |
"""


def page() -> str:
    """Returns the list."""
    crates = rust()
    locked = {"run time": _names("requirements.lock"), "tests, optional parts": _names("requirements-dev.lock")}
    python = [(name, _python_licence(name), use) for use, names in locked.items() for name in names]
    return "\n".join([_HEAD, *_table("Rust", crates), "", *_table("Python", python), ""])


def _table(title: str, rows: Iterable[tuple[str, str, str]]) -> list[str]:
    lines = [f"| {name} | {licence} | {use} |" for name, licence, use in sorted(rows)]
    return [f"## {title}", "", "| package | licence | use |", "| --- | --- | --- |", *lines]


def rust() -> list[tuple[str, str, str]]:
    """Returns the crates that are not ours: name, licence, and whether they are part of what is built."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    built = _reached(packages, found["resolve"]["nodes"])
    rows = {}
    for key, package in packages.items():
        if key not in found["workspace_members"]:
            use = "engine" if key in built else "tests"
            name = package["name"]
            rows[name] = (name, (package["license"] or "").replace("/", " OR "), min(use, rows.get(name, ("", "", use))[2]))
    return [*rows.values()]


def _reached(packages: Mapping[str, Any], nodes: Iterable[Mapping[str, Any]]) -> set[str]:
    """Returns the packages that the built crates depend on, other than for tests."""
    needs = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
        for node in nodes
    }
    reached: set[str] = set()
    left = [key for key, package in packages.items() if package["name"] in _BUILT]
    while left:
        key = left.pop()
        if key not in reached:
            reached.add(key)
            left += needs[key]
    return reached


def _names(lock: str) -> list[str]:
    """Returns the packages in a lock file."""
    return re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)


def _python_licence(name: str) -> str:
    """Returns the licence of an installed package, as its metadata has it."""
    metadata = importlib.metadata.metadata(name)
    classified = [text.split(" :: ")[-1] for text in metadata.get_all("Classifier") or () if text.startswith("License ::")]
    classified = [text for text in classified if text != "OSI Approved"]
    stated = metadata.get("License-Expression") or (metadata.get("License") or "").strip()
    # Some packages state the whole text of their licence.
    licence = stated if stated and "\n" not in stated and len(stated) < 80 else " OR ".join(classified)
    return _SPDX.get(licence, licence) or _IN_FILE.get(name, "unknown")


if __name__ == "__main__":
    LIST.write_text(page(), encoding="utf-8")
    print(LIST)
