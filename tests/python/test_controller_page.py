"""The worked example of docs/guide/controller.md: each row of its table is run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import ssdlab

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "controller.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| [A-D] \|.*\|$", PAGE, re.MULTILINE)]


def settings(change: str, before: list[str]) -> list[str]:
    own = [f"{key}={value}" for key, value in re.findall(r"`([a-z._]+) = (.+?)`(?= |$)", change)]
    return [*(before if change.startswith("C and") else []), *own]


@pytest.mark.slow
def test_the_example_is_what_the_drive_does(tmp_path):
    (text,) = re.findall(r"```ini\n(.*?)```", PAGE, flags=re.DOTALL)
    job = ssdlab.Workload.from_text(text)
    sets: dict[str, list[str]] = {}
    for name, change, *figures in ROWS:
        sets[name] = settings(change, sets.get("C", []))
        log = tmp_path / f"{name}.parquet"
        done = ssdlab.run("explorer-c3", job, precondition="steady", set=sets[name], log_commands=log)
        read, write = done.latency["read"], done.latency["write"]
        reads = ssdlab.read_commands(log)
        reads = reads.filter(np.array(reads["op"]) == "read")
        latency = np.array(reads["completed_ns"]) - np.array(reads["submitted_ns"])
        slowest = latency >= np.quantile(latency, 0.9999)
        charged = set(reads.schema.names) - {"submitted_ns", "completed_ns"}
        causes = {column: np.array(reads[column])[slowest].mean() for column in charged if column.endswith("_ns")}
        largest = max(causes, key=causes.__getitem__)
        found = done.summary["bottleneck"]
        assert figures == [
            f"{read.mean_ns / 1e6:.2f} ms",
            f"{read.p99_99_ns / 1e6:.2f} ms",
            f"`{largest.removesuffix('_ns')}`, {100 * causes[largest] / latency[slowest].mean():.0f} %",
            f"{write.p99_99_ns / 1e6:.2f} ms",
            f"{round(done.summary['throughput']['iops'], -1):,.0f}",
            f"{found['resource'].split('_')[0]}s, {100 * found['utilisation']:.0f} %",
        ], name
    assert [bool(one) for one in sets.values()] == [False, True, True, True]
