"""``ssdlab doctor``: what it finds on this machine, and what it says of an installation with faults."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import tomllib
from pathlib import Path

import pytest

import ssdlab
from ssdlab import doctor, memory

ROOT = Path(__file__).parents[2]


def test_it_shows_machine_versions_presets_and_parts(cli):
    done = cli("doctor")
    assert done.returncode == 0, done.stderr
    for text in ("sound", ssdlab.__version__, "cores", "huge pages", "optuna", "SystemC"):
        assert text in done.stdout
    assert done.stderr == ""


def test_its_document_has_every_preset_and_package(cli):
    found = json.loads(cli("doctor", "--json").stdout)
    assert (found["ok"], found["problems"]) == (True, [])
    assert [one["name"] for one in found["presets"]] == [preset.name for preset in ssdlab.presets()]
    by_name = {one["name"]: one for one in found["presets"]}
    assert by_name["tlc-1tb"]["map_bytes"] == ssdlab.describe("tlc-1tb")["simulator_map_bytes"]
    assert by_name["zns-1tb"] == {"name": "zns-1tb", "map_bytes": None, "fits": None}
    assert found["machine"]["cores"] <= os.cpu_count()
    assert 0 < found["machine"]["memory_available_bytes"] <= found["machine"]["memory_bytes"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [*found["versions"]["packages"]] == [need.partition(">")[0] for need in project["dependencies"]]


def test_extras_that_it_names_exist_and_hold_what_they_are_named_for():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = [(name, install) for name, _, install in doctor.PACKAGES if "ssdlab[" in install]
    assert len(named) >= 4
    for name, install in named:
        extra = install.partition("[")[2].partition("]")[0]
        assert any(need.startswith(name) for need in extras[extra]), name
    # Names of earlier versions.
    assert extras["optimise"] == extras["explore"] == ["ssdlab[search]"]


def test_a_preset_that_does_not_fit_is_named(cli, monkeypatch):
    monkeypatch.setattr(memory, "machine", lambda: (4 << 30, 1 << 30))
    found = json.loads(cli("doctor", "--json").stdout)
    fits = {one["name"]: one["fits"] for one in found["presets"]}
    assert (fits["tiny"], fits["tlc-1tb"], found["ok"]) == (True, False, True)
    done = cli("doctor")
    assert "too large for the memory once all is overwritten" in done.stdout
    assert "pcie5-enterprise-8tb (15.59 GiB)" in done.stdout


def test_a_part_that_is_missing_is_shown_with_what_installs_it(cli, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    parts = {part["name"]: part for part in json.loads(cli("doctor", "--json").stdout)["optional"]}
    assert (parts["fio"]["found"], parts["fio"]["install"], parts["SystemC"]["found"]) == (None, "apt install fio", None)
    lines = [line for line in cli("doctor").stdout.splitlines() if line.startswith("fio")]
    assert len(lines) == 1
    assert "missing" in lines[0]
    assert "apt install fio" in lines[0]


FAULTS = {
    "not installed": ("version", importlib.metadata.PackageNotFoundError("rich"), "rich: not installed: pip install"),
    "too old": ("version", "1.0", "rich 1.0: too old: expected 13 or later"),
    "broken": ("import", OSError("no such library"), "rich: cannot be imported (OSError: no such library)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_package_that_is_needed_and_broken_is_a_problem(cli, monkeypatch, fault):
    where, answer, said = FAULTS[fault]
    version, imported = importlib.metadata.version, importlib.import_module

    def answered(name: str, before):
        if name != "rich":
            return before(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    if where == "version":
        monkeypatch.setattr(importlib.metadata, "version", lambda name: answered(name, version))
    else:
        monkeypatch.setattr(importlib, "import_module", lambda name, package=None: answered(name, imported))
    done = cli("doctor", "--json")
    assert done.returncode == 1
    assert said in done.stderr
    found = json.loads(done.stdout)
    assert not found["ok"]
    assert len(found["problems"]) == 1


def test_a_run_that_fails_is_a_problem(cli, monkeypatch):
    def fails(*_, **__):
        raise ValueError("no")

    monkeypatch.setattr("ssdlab.doctor.run", fails)
    done = cli("doctor", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["problems"] == ["a short run fails: ValueError: no"]
