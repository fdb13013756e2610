"""Runs all fuzz targets of the parsers one after another, and counts their executions.

    python tools/fuzz_parsers.py CARGO_FUZZ SECONDS [TARGET ...]

CARGO_FUZZ is the program; each target has an equal share of SECONDS, the build aside. The exit status is 1 if an input
broke a contract: the command that replays it is printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
#: Folder of the builds, and of what a run finds: the inputs that reach more, and those that fail.
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "fuzz"
#: Name of the specification of sweeps, which Python reads.
SPEC = "sweep_spec"
#: Longest input [bytes], longest time of one [s], and memory of a target [MiB].
LIMITS = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048"]
EXECUTED = re.compile(r"stat::number_of_executed_units: *(\d+)")


def cargo_fuzz(program: str, action: str, *words: str) -> list[str]:
    """Returns a command of cargo-fuzz. All code but that of Zstandard is safe Rust: no sanitizer is needed."""
    return [program, action, "--fuzz-dir", str(FUZZ), "--target-dir", str(BUILT), "--sanitizer", "none", *words]


def environment() -> dict[str, str]:
    """Returns the environment in which a stable compiler instruments code."""
    return {**os.environ, "RUSTC_BOOTSTRAP": "1"}


def run(program: str, target: str, seconds: float) -> tuple[int, str]:
    """Runs a target; returns the number of executions, and the command that replays a failure, if there is one."""
    if target == SPEC:
        command = [sys.executable, str(ROOT / "tests" / "python" / "spec_fuzz.py"), f"{seconds:.0f}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        replay = "" if done.returncode == 0 else f"{done.stdout[-400:]}{done.stderr[-2000:]}"
    else:
        found, failed = BUILT / "corpus" / target, BUILT / "artifacts" / target
        for folder in (found, failed):
            folder.mkdir(parents=True, exist_ok=True)
        before = set(failed.iterdir())
        dictionary = FUZZ / "dictionaries" / f"{target}.dict"
        options = [*LIMITS, f"-max_total_time={seconds:.0f}", "-print_final_stats=1", f"-artifact_prefix={failed}/"]
        options += [f"-dict={dictionary}"] if dictionary.exists() else []
        command = cargo_fuzz(program, "run", target, str(found), str(FUZZ / "corpus" / target), "--", *options)
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, errors="replace")
        new = sorted(set(failed.iterdir()) - before)
        replay = "\n".join(f"cargo run -p fuzzing --example replay {target} {path}" for path in new)
        if done.returncode and not new:
            replay = done.stderr[-2000:]
    executions = EXECUTED.search(done.stdout + done.stderr)
    if executions is None and not replay:
        replay = f"{target} says no number of executions:\n{done.stderr[-2000:]}"
    return int(executions[1]) if executions else 0, replay


def main() -> int:
    """Builds and runs the targets, and prints the executions of each and of all."""
    program, seconds = sys.argv[1], float(sys.argv[2])
    targets = sys.argv[3:] or [*sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")), SPEC]
    subprocess.run(cargo_fuzz(program, "build"), cwd=ROOT, env=environment(), check=True)
    total, failures, start = 0, [], time.monotonic()
    for target in targets:
        executions, replay = run(program, target, max(seconds / len(targets), 1))
        total += executions
        print(f"{target:14} {executions:>14,} executions{'   FAILED' if replay else ''}", flush=True)
        if replay:
            failures.append(replay)
    print(f"{'all':14} {total:>14,} executions in {time.monotonic() - start:.0f} s")
    for replay in failures:
        print(f"\nto replay:\n{replay}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
