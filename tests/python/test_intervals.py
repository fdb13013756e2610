"""Confidence intervals within one run, from batches of its commands."""

from __future__ import annotations

import json
import math
import os
from statistics import fmean

import pytest

import ssdlab
from ssdlab.report import content
from ssdlab.units import percent

#: Random writes in an open loop: a command that comes while its die collects garbage waits, and so do those after it.
OPEN_LOOP = """\
kind = "synthetic"
[[job]]
name = "writes"
pattern = "random"
read_share = 0.0
sizes = [{ size = "4KiB" }]
arrival = { kind = "poisson", mean_gap = "833us" }
requests = 1_000_000
"""


def test_intervals_from_batches_contain_the_value_and_those_of_independent_commands_do_not(tmp_path):
    load = tmp_path / "writes.toml"
    load.write_text(OPEN_LOOP)
    session = ssdlab.Session()

    def write(seed: int, commands: int) -> tuple[ssdlab.Latency, dict]:
        # The start, at which the drive still has the backlog of its preconditioning, is left out.
        options = {"precondition": "steady", "rest_after": 20_000, "stop_after": commands, "batches": 20}
        result = session.run("tiny", load, seed=seed, **options)
        return result.latency["write"], result.summary["intervals"]["write"]

    long = [write(1000 + seed, 300_000)[0] for seed in range(4)]
    runs = [write(seed, 50_000) for seed in range(40)]
    for number in ("mean_ns", "p90_ns", "p99_ns"):
        true = fmean(getattr(latency, number) for latency in long)
        hits = sum(found[number]["low"] <= true <= found[number]["high"] for _, found in runs)
        assert 0.8 * len(runs) <= hits <= len(runs), f"{number}: {hits} of {len(runs)} intervals contain {true}"
    true = fmean(latency.mean_ns for latency in long)
    half = [1.96 * latency.stddev_ns / math.sqrt(latency.count) for latency, _ in runs]
    naive = sum(abs(latency.mean_ns - true) <= width for (latency, _), width in zip(runs, half, strict=True))
    assert naive <= 0.6 * len(runs), f"{naive} of {len(runs)}: the commands seem to be independent"


def test_the_table_and_the_report_show_the_widths(cli, job, tmp_path):
    arguments = ("run", "tiny", job, "--precondition", "steady", "--batches", "20")
    printed = cli(*arguments, "--json")
    summary = json.loads(printed.stdout)
    section = summary["intervals"]["write"]
    mean = section["mean_ns"]
    assert mean["low"] < summary["latency"]["write"]["mean_ns"] < mean["high"]
    width = "±" + percent((mean["high"] - mean["low"]) / 2 / summary["latency"]["write"]["mean_ns"])
    lines = cli(*arguments, "--out", tmp_path / "out").stdout.splitlines()
    at = next(index for index, line in enumerate(lines) if line.split()[:1] == ["write"])
    assert lines[at + 1].split()[:2] == ["95", "%"]
    assert f"{section['batches']} × {section['batch_commands']}" in lines[at + 1]
    assert width in lines[at + 1]
    assert width in (tmp_path / "out" / "report.html").read_text()
    assert "±" not in cli(*arguments[:-2]).stdout


def test_batches_that_are_too_short_are_a_warning(job):
    result = ssdlab.run("tiny", job, precondition="steady", batches=20)
    section = result.summary["intervals"]["write"]
    for number in section.values():
        if isinstance(number, dict):
            number["autocorrelation"] = 0.0
    section["p90_ns"]["autocorrelation"] = 2.1 / math.sqrt(section["batches"])
    (warning,) = [text for text in content.warnings(result) if "intervals of write" in text]
    assert "(p90) are too narrow" in warning
    section["p90_ns"]["autocorrelation"] = 1.9 / math.sqrt(section["batches"])
    assert not [text for text in content.warnings(result) if "intervals of write" in text]


@pytest.mark.parametrize("count", [0, 1, 101])
def test_a_number_of_batches_outside_the_range_is_refused(job, count):
    with pytest.raises(ssdlab.InputError, match=rf"batches: {count}: expected 2\.\.=100"):
        ssdlab.run("tiny", job, batches=count)


def test_rows_of_a_sweep_have_intervals_that_are_named(job, tmp_path):
    columns = ["intervals.all.mean_ns.low", "intervals.all.mean_ns.high", "intervals.write.batches"]
    options = {"batches": 20, "stop_after": 5000}
    spec = {"drive": "tiny", "workload": os.fspath(job), "options": options, "columns": columns}
    (row,) = ssdlab.sweep(spec, tmp_path / "out", jobs=1).table.to_pylist()
    assert row["intervals.all.mean_ns.low"] < row["latency.all.mean_ns"] < row["intervals.all.mean_ns.high"]
    assert 20 <= row["intervals.write.batches"] < 40
