"""Measures the start of the command and of the package: the median of ten processes, and of runs within one.

    python bench/start.py

Each line has the time from the start of a process to its end [ms], of a job of a hundred reads on `tiny`; the last two
lines have the first run within a process, without the import of the package, and the median of a hundred later ones.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 10
JOB = "[reads]\nrw=randread\nbs=4k\nsize=8m\nnumber_ios=100\niodepth=4\n"
#: Prints the time of the first run and the median of a hundred later ones [ms].
WITHIN = """
import statistics, sys, time
import ssdlab

def run():
    began = time.perf_counter()
    ssdlab.run("tiny", sys.argv[1]).iops
    return (time.perf_counter() - began) * 1e3

print(run(), statistics.median(run() for _ in range(100)))
"""


def median_ms(command: list[str]) -> float:
    """Returns the median time of a process [ms], after one that is not counted."""
    spans = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        spans.append((time.perf_counter() - began) * 1e3)
    return statistics.median(spans[1:])


def main() -> None:
    """Prints the times."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "reads.fio"
        job.write_text(JOB)
        command = [sys.executable, "-m", "ssdlab"]
        for name, words in (
            ("python", [sys.executable, "-c", "pass"]),
            ("import ssdlab", [sys.executable, "-c", "import ssdlab"]),
            ("ssdlab --version", [*command, "--version"]),
            ("ssdlab run tiny JOB --json", [*command, "run", "tiny", str(job), "--json"]),
            ("ssdlab run tiny JOB", [*command, "run", "tiny", str(job)]),
            ("ssdlab presets", [*command, "presets"]),
            ("ssdlab run --help", [*command, "run", "--help"]),
        ):
            print(f"{name:<28} {median_ms(words):7.1f} ms")
        done = subprocess.run([sys.executable, "-c", WITHIN, str(job)], capture_output=True, text=True, check=True)
        for name, number in zip(("ssdlab.run, the first", "ssdlab.run, a later one"), done.stdout.split(), strict=True):
            print(f"{name:<28} {float(number):7.1f} ms")


if __name__ == "__main__":
    main()
