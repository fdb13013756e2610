"""The list of the licences of dependencies has every one, and the version is the same wherever it is stated."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import ssdlab

ROOT = Path(__file__).parents[2]
#: Version in the one place from which the crates, the wheel and `ssdlab --version` have it.
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def rows(heading: str) -> dict[str, tuple[str, str]]:
    """Returns the rows of a section: licence and use by name."""
    text = (ROOT / "LICENSES.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| ([\w.-]+) \| (.+) \| (.+) \|$", text, re.MULTILINE)
    return {name: (licence, use) for name, licence, use in found if name not in ("package", "---")}


def test_every_crate_is_listed():
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    assert {package["name"] for package in packages if "source" in package} == {*rows("Rust")}


def test_every_python_package_is_listed_with_the_licence_that_it_states():
    spec = importlib.util.spec_from_file_location("licenses", ROOT / "tools/licenses.py")
    licenses = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licenses)
    locked = {"run time": "requirements.lock", "tests, optional parts": "requirements-dev.lock"}
    names = {name: use for use, lock in locked.items() for name in re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text(), re.M)}
    found = rows("Python")
    assert {name: use for name, (_, use) in found.items()} == names
    assert {name: licence for name, (licence, _) in found.items()} == {name: licenses._python_licence(name) for name in names}


def test_every_licence_is_known_and_none_of_the_engine_asks_for_more_than_a_notice():
    found = {**rows("Rust"), **rows("Python")}
    assert len(found) > 150
    for name, (licence, use) in found.items():
        assert licence not in ("", "unknown", "None"), name
        if use == "engine":
            assert re.search(r"MIT|Apache|BSD|Zlib|0BSD|Unlicense", licence), (name, licence)


def test_the_version_is_stated_once():
    assert ssdlab.__version__.partition("+")[0] == VERSION
    papers = tomllib.loads((ROOT / "papers/pyproject.toml").read_text())["project"]
    assert papers["version"] == VERSION
    assert f"ssdlab=={VERSION.rpartition('.')[0]}.*" in papers["dependencies"]
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
