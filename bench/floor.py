"""The yardstick of speed: a throw-away prototype without modes and buffers, about as fast as the machine allows.

Speeds of one machine differ by three times from day to day. Engine and prototype therefore run in turns, and their
ratio is what is compared.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

#: The prototype's arguments for each scenario: share of writes in 128ths, queue depth, commands of a window, binary
#: logarithm of the units, commands looked ahead, huge pages.
ARGUMENTS = {
    "read-qd32": ["0", "32", "2e7", "27", "32", "huge"],
    "write-qd32": ["128", "32", "4e6", "27", "32", "huge"],
}


def build(folder: Path, target: Path) -> Path:
    """Builds the prototype in `folder` and returns its program."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "build", "--release", "--quiet", "-p", "drive"]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return target / "release" / "drive"


def best_window(program: Path, scenario: str) -> float:
    """Returns the commands per second of the prototype's best window."""
    done = subprocess.run([program, *ARGUMENTS[scenario]], capture_output=True, text=True, check=True)
    return 1e6 * max(float(rate) for rate in re.findall(r"^win \d+: ([\d.]+) M cmd/s", done.stdout, re.MULTILINE))


def compare(folder: Path, target: Path, engine: Path, rounds: int) -> list[dict[str, Any]]:
    """Runs engine and prototype in turns; returns the best rate of each, and their ratio, by scenario."""
    program = build(folder, target)
    found = []
    for scenario in ARGUMENTS:
        rates: dict[str, list[float]] = {"floor": [], "engine": []}
        for _ in range(rounds):
            rates["floor"].append(best_window(program, scenario))
            done = subprocess.run([engine, scenario], capture_output=True, text=True, check=True)
            rates["engine"].append(json.loads(done.stdout)["commands_per_s"])
        best = {name: max(of) for name, of in rates.items()}
        found.append({"scenario": scenario, **best, "ratio": round(best["floor"] / best["engine"], 3)})
    return found
