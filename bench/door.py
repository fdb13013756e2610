"""Measures the C library against the run loop: commands per second, with one call each to submit, advance and take.

    python bench/door.py [--runs N]

Random reads and writes of 4 KiB, 32 in flight, on the small ideal drive. Both sides run in turns; a line has their best
rates and the ratio, which is to be at least 0.7. The status is 1 if it is not. `c_hinted_per_s` is the rate with one
more call for every 32 commands, which tells the drive what comes, as the run loop does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"
#: Least rate of commands through C, as a share of that of the run loop.
LEAST = 0.7


def build(program: Path) -> None:
    """Builds the engine, the fixed scenarios and the program in C."""
    packages = ["-p", "ssdlab-c", "-p", "bench"]
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *packages], cwd=ROOT, check=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    sources = ["-I", ROOT / "crates/capi/include", ROOT / "bench/door.c", RELEASE / "libssdlab.a"]
    subprocess.run([*compiler, *sources, "-lpthread", "-ldl", "-lm", "-o", program], check=True)


def rate(command: list[str | Path]) -> float:
    """Runs a program once, and returns its commands per second."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["commands_per_s"])


def compare(program: Path, op: str, runs: int) -> dict[str, Any]:
    """Runs both sides in turns, and returns the line of an operation."""
    commands: list[list[str | Path]] = [[RELEASE / "bench", f"small-{op}-qd32"], [program, op], [program, op, "hint"]]
    turns = [[rate(command) for command in commands] for _ in range(runs)]
    engine, door, hinted = (max(rates) for rates in zip(*turns, strict=True))
    rates = {"run_loop_per_s": round(engine), "c_per_s": round(door), "c_hinted_per_s": round(hinted)}
    return {"scenario": f"door-{op}-qd32", **rates, "ratio": round(door / engine, 3)}


def main() -> int:
    """Measures reads and writes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each side")
    runs = parser.parse_args().runs
    program = ROOT / "target" / "c" / "door"
    build(program)
    lines = [compare(program, op, runs) for op in ("read", "write")]
    for line in lines:
        print(json.dumps(line))
    slow = [line["scenario"] for line in lines if line["ratio"] < LEAST]
    if slow:
        print(f"less than {LEAST} of the run loop's rate: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
