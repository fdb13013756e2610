"""The golden runs through the wheel: the release build must give the same results as the test build."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssdlab import _engine

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RUNS = tomllib.loads((GOLDEN / "runs.toml").read_text())


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yields the differences between two documents, key by key."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if key not in old:
                yield f"{path}/{key}: new, {new[key]}"
            elif key not in new:
                yield f"{path}/{key}: gone, it was {old[key]}"
            else:
                yield from differences(old[key], new[key], f"{path}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}/{index}")
    elif old != new or type(old) is not type(new):
        yield f"{path}: {old} -> {new}"


def test_differences_are_found() -> None:
    old, new = {"a": [1, 2.0], "b": 0, "c": None}, {"a": [1, 2], "c": 0, "d": 1}
    assert list(differences(old, new)) == ["/a/1: 2.0 -> 2", "/b: gone, it was 0", "/c: None -> 0", "/d: new, 1"]


@pytest.mark.parametrize("run", RUNS["run"], ids=lambda run: run["name"])
def test_the_release_build_gives_the_blessed_results(run: dict[str, object]) -> None:
    request = {
        "drive": {"name": "golden", "text": 'base = "tiny"'},
        "setup": {"set": run["set"], "seed": 1},
        "history": True,
    }
    paths = {"workload": None, "text": run["workload"], "load": None, "save": None}
    outcome = _engine.run(json.dumps(request), paths, {"progress": None, "commands": None, "spans": None})
    summary = json.loads(outcome.summary_json)
    for key in ("wall_s", "drive", "workload"):
        del summary[key]
    assert outcome.history is not None
    entries, digest = outcome.history
    now = {"history": {"entries": entries, "hash": digest}, "summary": summary}
    blessed = json.loads((GOLDEN / f"{run['name']}.json").read_text())
    new = [f"{key}: new, " for key in RUNS["new_keys"]]
    assert [found for found in differences(blessed, now) if not found.startswith(tuple(new))] == []
