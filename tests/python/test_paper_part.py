"""Boundary between ssdlab and the package of published experiments, which may not be installed."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ssdlab
import ssdlab_papers
from conftest import PATIENCE
from ssdlab import experiments
from ssdlab.cli import app

#: Modules of ssdlab whose `__all__` is public.
PUBLIC = ("ssdlab", "ssdlab.cell", "ssdlab.charts", "ssdlab.policy", "ssdlab.traces")
#: Other names of ssdlab that the experiments use: the contract of the command, and helpers.
SHARED = {
    "ssdlab.experiments": {"Experiments"},
    "ssdlab.cell.pool": {"ProgressHook", "share_out"},
    "ssdlab.errors": {"unknown_name"},
    "ssdlab.explore.front": {"not_beaten"},
    "ssdlab.explore.statistics": {"Estimate", "estimate"},
    "ssdlab.explore.tasks": {"engine_hash"},
    "ssdlab.files": {"write_folder"},
    "ssdlab.manifest": {"MANIFEST"},
    "ssdlab.toml": {"document"},
    "ssdlab.units": {"YEAR_S", "count", "duration", "percent"},
}
#: Imports every module of ssdlab where an import of the experiments fails.
IMPORT_ALL = """\
import importlib, pkgutil, sys
sys.modules["ssdlab_papers"] = None
import ssdlab
for module in pkgutil.walk_packages(ssdlab.__path__, "ssdlab."):
    if module.name != "ssdlab.__main__":
        importlib.import_module(module.name)
        print(module.name)
"""


def registered(monkeypatch, *values: str) -> None:
    """Has ssdlab find these objects in place of the installed experiments."""
    found = EntryPoints(EntryPoint(name="experiments", value=value, group=experiments.GROUP) for value in values)
    monkeypatch.setattr(experiments, "entry_points", found.select)


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the modules that the sources in a folder import, with the imported names (empty for a whole module)."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("arguments", [(), ("--json",), ("cell", "--quick", "--out", "results"), ("all", "--json")])
def test_without_the_experiments_the_command_says_what_to_install(monkeypatch, tmp_path, arguments):
    registered(monkeypatch)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["paper", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the published experiments are not installed" in done.stderr
    assert "pip install ./papers" in done.stderr
    assert not [*tmp_path.iterdir()]


def test_help_needs_no_experiments(monkeypatch):
    registered(monkeypatch)
    done = CliRunner().invoke(app, ["paper", "--help"])
    assert done.exit_code == 0
    assert "--quick" in done.stdout


def test_two_packages_of_experiments_are_refused(monkeypatch):
    registered(monkeypatch, "ssdlab_papers.part:PART", "others:PART")
    with pytest.raises(ssdlab.InputError, match=r"others:PART, ssdlab_papers\.part:PART"):
        experiments.find()


def test_the_installed_experiments_are_found():
    assert experiments.find() is ssdlab_papers


def test_the_core_works_without_the_experiments():
    assert not {name for name, _ in imported(Path(ssdlab.__file__).parent) if name.split(".")[0] == "ssdlab_papers"}
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert {"ssdlab.cli.paper", "ssdlab.experiments"} <= {*done.stdout.split()}


def test_the_experiments_use_what_is_public_and_a_few_helpers():
    core = [(module, name) for module, name in imported(Path(ssdlab_papers.__file__).parent) if module.split(".")[0] == "ssdlab"]
    allowed = {**{module: {"", *importlib.import_module(module).__all__} for module in PUBLIC}, **SHARED}
    assert {(module, name) for module, name in core if name not in allowed.get(module, ())} == set()
    assert {module: {name for where, name in core if where == module} for module in SHARED} == SHARED
