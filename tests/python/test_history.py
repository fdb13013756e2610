"""The history of speed: its files can be read, and its last line can be compared with an earlier one."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    """The program that compares."""
    spec = importlib.util.spec_from_file_location("compare", ROOT / "bench/compare.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(commit: str, rate: float, cores: int = 2, digest: str = "a") -> dict:
    """Returns a line of the history with one scenario."""
    line = {"scenario": "read-qd32", "commands_per_s": rate, "hash": digest}
    return {"commit": commit, "processor": "one", "cores": cores, "results": [line]}


def test_every_line_of_the_history_has_what_is_compared(compare):
    entries = [json.loads(line) for line in compare.HISTORY.read_text(encoding="utf-8").splitlines()]
    assert len(entries) >= 6
    assert {*entries[0]} >= {"commit", "processor", "cores", "results"}
    assert [*compare.compared(entries[0], entries[-1])]
    benched = (ROOT / "bench/run.py").read_text(encoding="utf-8")
    assert 'ROOT / "bench" / "history" / "runs.jsonl"' in benched


def test_the_last_line_is_compared_with_the_last_of_the_same_machine(compare):
    entries = [entry("a", 1e6), entry("b-dirty", 2e6), entry("c", 3e6, cores=4), entry("d", 3e6)]
    assert compare.earlier(entries, None)["commit"] == "b-dirty"
    assert compare.earlier(entries, "b")["commit"] == "b-dirty"
    assert compare.earlier(entries, "x") is None
    assert compare.earlier(entries[2:], None) is None
    (line,) = compare.compared(entries[0], entries[3])
    assert line.split() == ["read-qd32", "1,000,000", "3,000,000", "3.00"]
    (line,) = compare.compared(entries[0], entry("e", 1e6, digest="b"))
    assert line.endswith("1.00  other results")


def test_the_figures_of_versions_name_versions_of_the_change_log():
    versions = set(re.findall(r"^## ([\d.]+),", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE))
    with (ROOT / "bench/history/versions.csv").open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) > 20
    for row in rows:
        assert row["version"] in versions
        assert re.fullmatch(r"-?[\d.]+( to [\d.]+)?", row["figure"]), row
        assert None not in row
