"""The golden runs through the wheel: the release build must give the bytes that the test build gave."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from ssdlab import _engine

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
RUNS = tomllib.loads((GOLDEN / "runs.toml").read_text())["run"]
HASHES = dict(line.split() for line in (GOLDEN / "hashes.txt").read_text().splitlines())


def fnv1a(text: str) -> str:
    """The 64-bit hash that `runs.toml` describes."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["name"])
def test_the_release_build_gives_the_blessed_bytes(run: dict[str, object]) -> None:
    request = {"drive": {"name": "golden", "text": 'base = "tiny"'}, "set": run["set"], "seed": 1}
    outcome = _engine.run(json.dumps(request), {"workload": None, "text": run["workload"], "load": None, "save": None}, None)
    # As the hash wants it: compact. The engine writes one key a line.
    text = re.sub(r"\n *", "", outcome.summary_json).replace('": ', '":')
    for key in ("wall_s", "drive", "workload"):
        text, count = re.subn(rf'"{key}":("[^"]*"|[-+.e\d]+),', "", text, count=1)
        assert count == 1, key
    assert fnv1a(text) == HASHES[str(run["name"])]
