"""Searches for a drive that exists: targets, several workloads, numbers of streams, ranges of times and sizes."""

from __future__ import annotations

import json
import math
import re

import jsonschema
import pytest

import ssdlab
from ssdlab.explore.choices import first_point
from ssdlab.explore.ranges import Range
from ssdlab.explore.spec import Spec

READS = "[reads]\nrw=randread\nbs=4k\niodepth=1\nnumber_ios=600\n"
WRITES = "[writes]\nrw=randwrite\nbs=4k\niodepth=4\nnorandommap=1\nnumber_ios=600\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with jobs, in which the test works."""
    (tmp_path / "reads.fio").write_text(READS)
    (tmp_path / "writes.fio").write_text(WRITES)
    (tmp_path / "both.fio").write_text(READS + WRITES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec_of(**more: object) -> dict:
    spec = {"drive": "tiny", "workload": "reads.fio", "precondition": "fill"}
    return {**spec, "optimise": {"comparison": False}, **more}


def test_ranges_of_quantities_have_texts_as_values():
    times = Range.of({"low": "600us", "high": "2ms"})
    assert (times.low, times.high, times.is_whole) == (600e3, 2e6, False)
    assert [times.at(share) for share in (0.0, 0.5, 1.0)] == ["600000ns", "1300000ns", "2000000ns"]
    assert times.rounded(600000.4) == "600000ns"
    assert Range.of({"low": "1MiB", "high": "4MiB", "step": "4KiB"}).rounded(1.5e6) == "1499136B"
    assert Range.of({"low": "100us", "high": "10ms", "log": True, "count": 3}).values() == ["100000ns", "1000000ns", "10000000ns"]
    assert Range.of({"low": "5%", "high": "10%"}).at(1.0) == 0.1
    assert Range.of({"low": "400MT/s", "high": "1.6GT/s"}).at(0.0) == "400MT/s"


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"low": "600us", "high": 2000}, "expected one kind of quantity, not ns and a number"),
        ({"low": "600us", "high": "2MiB"}, "expected one kind of quantity, not ns and B"),
        ({"low": "600us", "high": "2ms", "step": 5}, "expected one kind of quantity, not ns and a number"),
        ({"low": "2ms", "high": "600us"}, "expected low below high"),
        ({"low": "0us", "high": "600us", "log": True}, "expected low below high, with `log` above 0"),
        ({"low": "600usec", "high": "2ms"}, 'expected numbers low and high, and low, or quantities such as "600us"'),
        ({"low": "600us"}, "expected numbers low and high"),
        ({"low": "600us", "high": "2ms", "log": "yes"}, "log = 'yes': expected true or false"),
    ],
)
def test_a_bad_range_is_refused_by_its_place(here, table, complaint):
    (here / "spec.toml").write_text(
        'drive = "tiny"\nworkload = "reads.fio"\n[search]\n"flash.read_time" = { '
        + ", ".join(f"{name} = {json.dumps(value)}" for name, value in table.items())
        + ' }\n[[objective]]\nkey = "cost"\n'
    )
    with pytest.raises(ssdlab.InputError, match=r"spec.toml:4: search.flash.read_time: .*" + re.escape(complaint)):
        Spec.open("spec.toml")


def test_a_search_over_times_finds_the_shortest_and_draws_numbers(here):
    spec = spec_of(
        search={"flash.read_time": {"low": "40us", "high": "0.09ms"}, "flash.channels": [1, 2]},
        objective=[{"key": "latency.read.p50_ns"}],
    )
    done = ssdlab.optimise(spec, "out", trials=12, jobs=1)
    rows = done.table.to_pylist()
    assert done.failed == 0
    for row in rows:
        found = re.fullmatch(r"(\d+)ns", row["flash.read_time"])
        assert 40_000 <= int(found[1]) <= 90_000
        alone = ssdlab.run("tiny", "reads.fio", precondition="fill", set={name: row[name] for name in spec["search"]})
        assert alone.latency["read"].p50_ns == row["latency.read.p50_ns"]
    best = min(rows, key=lambda row: int(row["flash.read_time"][:-2]))
    assert done.front[0]["latency.read.p50_ns"] == best["latency.read.p50_ns"]
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert '"name":"flash.read_time [us]","number":true' in page


def test_sizes_and_times_of_a_sweep_are_in_a_grid(here):
    spec = {"drive": "tiny", "workload": "reads.fio", "precondition": "fill", "options": {"stop_after": 50}}
    done = ssdlab.sweep(spec | {"vary": {"flash.read_time": {"low": "20us", "high": "80us", "count": 3}}}, "swept", jobs=1)
    assert done.table["flash.read_time"].to_pylist() == ["20000ns", "50000ns", "80000ns"]
    means = done.table["latency.read.mean_ns"].to_pylist()
    assert means == sorted(means)
    assert means[2] - means[0] == pytest.approx(60_000, rel=1e-6)


def test_targets_lead_to_the_drive_that_has_them(here, cli):
    hidden = {"flash.read_time": "62us", "flash.program_time": "480us"}
    summaries = {name: ssdlab.run("tiny", f"{name}.fio", precondition="fill", set=hidden).summary for name in ("reads", "writes")}
    targets = [
        {"key": "reads.latency.read.p50_ns", "value": f"{summaries['reads']['latency']['read']['p50_ns']}ns", "tolerance": "2%"},
        {"key": "writes.throughput.iops", "value": summaries["writes"]["throughput"]["iops"]},
    ]
    spec = spec_of(
        workload={"reads": "reads.fio", "writes": "writes.fio"},
        search={"flash.read_time": {"low": "30us", "high": "120us"}, "flash.program_time": {"low": "200us", "high": "1ms"}},
        target=targets,
    )
    done = ssdlab.optimise(spec, "out", trials=60, jobs=1)
    assert [objective.key for objective in done.spec.objectives] == ["misfit"]
    for row in done.table.to_pylist():
        far = [
            math.log(row[one["key"]] / float(str(one["value"]).removesuffix("ns"))) / math.log(1 + tolerance)
            for one, tolerance in zip(targets, (0.02, 0.05), strict=True)
        ]
        assert row["misfit"] == pytest.approx(math.sqrt(sum(one**2 for one in far) / 2), rel=1e-9)
    best = done.front[0]
    assert best["misfit"] == min(done.table["misfit"].to_pylist())
    assert int(best["flash.read_time"][:-2]) == pytest.approx(62_000, rel=0.1)
    assert int(best["flash.program_time"][:-2]) == pytest.approx(480_000, rel=0.2)
    # The command tells the targets, and the drive of the front has them in its head.
    (here / "spec.toml").write_text((here / "out" / "optimise.toml").read_text())
    shown = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "60")
    assert shown.returncode == 0, shown.stderr
    assert "against the targets" in shown.stdout
    assert re.search(r"writes.throughput.iops +[\d,.]+ +[\d,.]+ +[-+]\d+\.\d %", shown.stdout)
    printed = json.loads(cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "60", "--json").stdout)
    assert [one["found"] for one in printed["targets"]] == [best[one["key"]] for one in targets]
    assert "(wanted: " in done.drives[0].read_text()


def test_a_target_that_no_run_has_says_nothing_beside_another_objective(here, cli):
    """A percentile of writes under reads alone."""
    target = [{"key": "latency.write.p99_ns", "value": "1ms"}]
    spec = spec_of(search={"flash.channels": [1, 2]}, objective=[{"key": "cost"}], target=target)
    done = ssdlab.optimise(spec, "out", trials=2, jobs=1)
    assert done.table["misfit"].to_pylist() == [None, None]
    (here / "spec.toml").write_text((here / "out" / "optimise.toml").read_text())
    words = ("optimise", here / "spec.toml", "--out", here / "out", "--trials", "2")
    printed = cli(*words, "--json")
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["targets"] == []
    assert "against the targets" not in cli(*words).stdout


def test_each_workload_of_a_trial_has_the_numbers_of_its_own_run(here):
    spec = spec_of(
        workload={"reads": "reads.fio", "writes": {"file": "writes.fio", "precondition": "steady"}},
        seeds=2,
        search={"flash.channels": [1, 2]},
        objective=[{"key": "ratio"}, {"key": "cost"}],
        columns=["wear.max", "reads.flash.operations.read"],
        measure={
            "ratio": "writes.latency.write.mean_ns / reads.latency.read.mean_ns",
            "more": "reference.writes.throughput.iops",
        },
        reference={"ftl.overprovisioning": 0.5},
        constraint="writes.write_amplification < 100",
    )
    done = ssdlab.optimise(spec, "out", trials=3, jobs=2)
    assert done.failed == 0
    for row in done.table.to_pylist():
        own = {"flash.channels": row["flash.channels"]}
        runs = {
            name: [ssdlab.run("tiny", f"{name}.fio", precondition=state, seed=seed, set=own).summary for seed in (1, 2)]
            for name, state in (("reads", "fill"), ("writes", "steady"))
        }
        other = [
            ssdlab.run("tiny", "writes.fio", precondition="steady", seed=seed, set={**own, "ftl.overprovisioning": 0.5}).summary[
                "throughput"
            ]["iops"]
            for seed in (1, 2)
        ]
        reads = [one["latency"]["read"]["mean_ns"] for one in runs["reads"]]
        writes = [one["latency"]["write"]["mean_ns"] for one in runs["writes"]]
        assert row["reads.latency.read.mean_ns"] == sum(reads) / 2
        assert row["writes.latency.write.mean_ns"] == sum(writes) / 2
        assert row["ratio"] == pytest.approx(sum(writes) / sum(reads), rel=1e-12)
        assert row["more"] == sum(other) / 2
        assert row["writes.wear.max"] == sum(one["wear"]["max"] for one in runs["writes"]) / 2
        assert row["reads.flash.operations.read"] == sum(one["flash"]["operations"]["read"] for one in runs["reads"]) / 2
        assert row["workload"] == "reads, writes"
        assert row["writes.write_amplification"] > 1.0
        assert "latency.read.mean_ns" not in row


def test_numbers_of_streams_are_goals(here):
    spec = spec_of(
        workload="both.fio",
        precondition="steady",
        search={"flash.channels": [1, 2, 4]},
        objective=[{"key": "streams[0].latency.read.mean_ns"}],
        constraint="streams[1].throughput.iops > 1",
    )
    done = ssdlab.optimise(spec, "out", trials=4, jobs=1)
    for row in done.table.to_pylist():
        streams = ssdlab.run("tiny", "both.fio", precondition="steady", set={"flash.channels": row["flash.channels"]}).summary[
            "streams"
        ]
        assert [one["name"] for one in streams] == ["reads", "writes"]
        assert row["streams[0].latency.read.mean_ns"] == streams[0]["latency"]["read"]["mean_ns"]
        assert row["streams[1].throughput.iops"] == streams[1]["throughput"]["iops"]
    swept = ssdlab.sweep(
        {
            "drive": "tiny",
            "workload": "both.fio",
            "columns": ["streams[1].latency.write.p50_ns"],
            "vary": {"flash.channels": [2]},
        },
        "swept",
        jobs=1,
    )
    alone = ssdlab.run("tiny", "both.fio", set={"flash.channels": 2}).summary["streams"][1]
    assert swept.table["streams[1].latency.write.p50_ns"].to_pylist() == [alone["latency"]["write"]["p50_ns"]]


SPEC = """\
drive = "tiny"
precondition = "fill"

[workload]
reads = "reads.fio"
writes = "writes.fio"

[search]
"flash.read_time" = { low = "30us", high = "120us" }

[[target]]
key = "reads.latency.read.p50_ns"
value = "71us"

[[target]]
key = "writes.throughput.iops"
value = 8000
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('value = "71us"', "value = 0", r"spec.toml:13: target.value: 0: expected a number above 0, or a quantity"),
        ('value = "71us"', 'valu = "71us"', r"spec.toml:13: target.valu: unknown key: expected key, value, tolerance"),
        ('value = "71us"', "", r"spec.toml:11: target.value: missing"),
        ("value = 8000", "value = 8000\ntolerance = 0", r"spec.toml:18: target.tolerance: 0: expected a share above 0"),
        ('"reads.latency', '"latency', r"target.key: latency.read.p50_ns: .*did you mean `reads.latency.read.p50_ns`"),
        ('"writes.thr', '"write.thr', r"spec.toml:16: target.key: write.throughput.iops: .*did you mean `writes.throughput"),
        ('"writes.throughput.iops"', '"reads.latency.read.p50_ns"', r"spec.toml:16: target.key: .*: given twice"),
        ('"writes.throughput.iops"', '"writes.latency.read.p50_ns"', r"spec.toml:16: target.key: the run has no writes.latency"),
        ('"writes.throughput.iops"', '"writes.streams[0].wear.mean"', r"spec.toml:16: target.key: unknown number of a stream"),
        ('"writes.throughput.iops"', '"writes.streams[x].begin_ns"', r"spec.toml:16: target.key: unknown number of a stream"),
        ('reads = "reads.fio"', 'flash = "reads.fio"', r"spec.toml:5: workload.flash: the name of a load is the prefix"),
        ('reads = "reads.fio"', "reads = 3", r"spec.toml:5: workload.reads: 3: expected a file, or \{ file"),
        ('reads = "reads.fio"', 'reads = { file = "reads.fio", seed = "1" }', r"spec.toml:5: workload.reads: .*expected a file"),
        ('reads = "reads.fio"', 'reads = "nothing.fio"', r"spec.toml:5: workload.reads: .*nothing.fio: no such file"),
        ("[search]", '[reference]\nworkload = "reads.fio"\n[search]', r"spec.toml:9: reference.workload: each trial has several"),
        ("[search]", '[search]\nworkload = ["reads.fio"]', r"workload: given in \[search\], too"),
        ('"fill"', '"fill"\ncolumns = "lifetime.cycles_mean"', r"spec.toml: lifetime: a life has one workload"),
    ],
)
def test_a_bad_specification_is_refused_by_its_place(here, cli, old, new, complaint):
    assert old in SPEC
    (here / "spec.toml").write_text(SPEC.replace(old, new, 1))
    done = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "2", "--jobs", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(complaint, done.stderr), done.stderr
    assert not (here / "out").exists()


def test_what_belongs_to_searches_is_refused_in_sweeps(here, cli):
    (here / "spec.toml").write_text('drive = "tiny"\n[workload]\nreads = "reads.fio"\n[vary]\n"flash.channels" = [1]\n')
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert done.returncode == 2
    assert "spec.toml:2: workload: a table: for `ssdlab optimise`" in done.stderr
    (here / "spec.toml").write_text('drive = "tiny"\nworkload = "reads.fio"\n[[target]]\nkey = "cost"\nvalue = 1\n')
    assert "spec.toml:3: target: a key of `ssdlab optimise`" in cli("sweep", here / "spec.toml", "--out", here / "out").stderr


def test_the_schema_knows_targets_loads_and_quantities(here):
    schema = ssdlab.schema("optimise")
    document = {
        "drive": "tiny",
        "workload": {"reads": "reads.fio", "writes": {"file": "writes.fio", "precondition": "steady"}},
        "search": {"flash.read_time": {"low": "30us", "high": "120us"}},
        "target": [{"key": "reads.throughput.iops", "value": 8000, "tolerance": "5%"}],
    }
    jsonschema.validate(document, schema)
    assert first_point(Spec.open(document)).fields == {"flash.read_time": "30000ns"}
    for bad in ({"target": [{"key": "cost"}]}, {"target": []}, {"workload": {"reads": 3}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document | bad, schema)
    del document["target"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)
