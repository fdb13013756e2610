"""Measures the fixed scenarios, each in a process of its own, and appends one line to the history.

    python bench/run.py [SCENARIO ...] [--runs N] [--floor DIR]

The figure of a scenario is the median of its runs. A line of the history names the machine and the commit; the hash of
a scenario's result must be the same on every machine. A scenario of a drive with a detailed controller runs in turns
with the same load on the ideal drive, and the line has the ratio of their median rates. With `--floor`, the engine runs
in turns with the prototype in a folder, and the ratio of their best rates is added.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import floor

ROOT = Path(__file__).resolve().parent.parent
HISTORY = ROOT / "bench" / "history" / "runs.jsonl"
#: Least rate of each scenario [1/s], in commands, or in trace lines, tables, table look-ups, cells or codewords.
LEAST = {
    "read-qd32": 3.3e6,
    "write-qd32": 1.2e6,
    "mixed-70-30-qd32": 1.8e6,
    "parse-msr": 5.0e6,
    # A drive's four tables in a second, and a look-up in 50 ns.
    "cell-table": 4.0,
    "cell-look": 20.0e6,
}
#: A scenario whose name has this word is compared with the one without it.
DETAILED = "detailed-"
#: So is one of a drive with an NVMe link and nothing else.
LINKED = "nvme-"
#: Times by which a drive with a detailed controller may be slower than the ideal one.
DETAILED_RATIO_MOST = 4.0
#: Limits of set-up time [s] and of memory [MiB], for small and for large capacities.
LIMITS = (2.0, 1.6 * 1024)
LARGE_LIMITS = (4.0, 12.0 * 1024)
#: Those of scenarios that measure nothing else.
SETUP_LIMITS = {"2t": (2.0, 1024.0), "8t": (4.0, 2048.0)}


def processor() -> str:
    """Returns the name of the machine's processor, as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def commit() -> str:
    """Returns the commit that is measured, marked if there are changes on top of it."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def missed(line: dict[str, Any]) -> list[str]:
    """Returns the limits that a run misses."""
    found = []
    if line["commands_per_s"] < LEAST.get(line["scenario"], 0.0):
        found.append("commands/s")
    if line.get("times_slower", 0.0) > DETAILED_RATIO_MOST:
        found.append("ratio")
    name = line["scenario"]
    setup_s, memory_mib = LARGE_LIMITS if name.endswith("-4t") else LIMITS
    if name.startswith("set-up-"):
        setup_s, memory_mib = SETUP_LIMITS[name.split("-")[2]]
    if line["setup_s"] > setup_s:
        found.append("set-up")
    if line["peak_memory_mib"] > memory_mib:
        found.append("memory")
    return found


def run(program: Path, scenario: str) -> dict[str, Any]:
    """Runs a scenario once."""
    done = subprocess.run([program, scenario], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{scenario}: {done.stderr.strip()}")
    line: dict[str, Any] = json.loads(done.stdout)
    return line


def median(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the median of the runs of a scenario."""
    if len({line["hash"] for line in lines}) > 1:
        sys.exit(f"{lines[0]['scenario']}: its runs differ")
    middle = statistics.median_low(line["commands_per_s"] for line in lines)
    return next(line for line in lines if line["commands_per_s"] == middle)


def measure(program: Path, scenario: str, runs: int) -> dict[str, Any]:
    """Returns the median run of a scenario, with the ratio to its ideal twin if it has one."""
    twin = next((scenario.replace(word, "") for word in (DETAILED, LINKED) if word in scenario), None)
    lines, twins = [], []
    for _ in range(runs):
        lines.append(run(program, scenario))
        if twin is not None:
            twins.append(run(program, twin))
    line = median(lines)
    if twin is not None:
        ideal = median(twins)["commands_per_s"]
        line["ideal"] = {"scenario": twin, "commands_per_s": ideal}
        line["times_slower"] = round(ideal / line["commands_per_s"], 2)
    return line


def main() -> None:
    """Measures the named scenarios, or all of them, and appends the results to the history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="which ones; all when none is named")
    parser.add_argument("--runs", type=int, default=3, help="runs of each scenario, of which the median counts")
    parser.add_argument("--floor", type=Path, help="folder of the prototype to compare with")
    options = parser.parse_args()
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "bench"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / "release" / "bench"
    names = options.scenario or subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    results = []
    print(f"{'scenario':<20} {'commands/s':>12} {'least':>10} {'flash ops/s':>12} {'set-up s':>9} {'MiB':>7} {'WAF':>6}")
    for name in names:
        line = measure(program, name, options.runs)
        results.append(line)
        least, waf = LEAST.get(name), line.get("write_amplification")
        ratio = f"  {line['times_slower']} times slower than {line['ideal']['scenario']}" if "ideal" in line else ""
        verdict = ratio + "".join(f"  MISSED: {what}" for what in missed(line))
        print(
            f"{name:<20} {line['commands_per_s']:>12,.0f} {f'{least:,.0f}' if least else '':>10} "
            f"{line['flash_operations_per_s']:>12,.0f} {line['setup_s']:>9.2f} "
            f"{line['peak_memory_mib']:>7,} {'' if waf is None else f'{waf:.3f}':>6}{verdict}",
            flush=True,
        )
    entry = {"commit": commit(), "processor": processor(), "cores": os.cpu_count(), "results": results}
    if options.floor:
        entry["floor"] = floor.compare(options.floor, target / "floor", program, options.runs)
        for line in entry["floor"]:
            print("{scenario:<20} floor {floor:,.0f}/s, engine {engine:,.0f}/s: {ratio} times slower".format(**line))
    with HISTORY.open("a") as history:
        history.write(json.dumps(entry) + "\n")
    print("To compare with an earlier line of the history: python bench/compare.py [COMMIT]")


if __name__ == "__main__":
    main()
