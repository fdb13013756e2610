"""Output for other tools: fio's JSON, and the spans of dies and channels."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest


def test_fio_json_has_fios_shape(cli, job):
    done = cli("run", "tiny", job, "--format", "fio", "--quiet")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["fio version"].startswith("fio-3")
    (only,) = document["jobs"]
    read = only["read"]
    assert read["total_ios"] + only["write"]["total_ios"] == 20_000
    assert read["io_bytes"] == 4096 * read["total_ios"]
    assert read["lat_ns"]["min"] <= read["lat_ns"]["mean"] <= read["lat_ns"]["max"]
    percentiles = [*read["clat_ns"]["percentile"].items()]
    assert [name for name, _ in percentiles][-3:] == ["99.900000", "99.950000", "99.990000"]
    assert sorted(value for _, value in percentiles) == [value for _, value in percentiles]
    assert only["trim"]["total_ios"] == 0


def test_fio_json_agrees_with_the_summary(result):
    read = result.fio()["jobs"][0]["read"]
    assert read["lat_ns"]["mean"] == result.latency["read"].mean_ns
    assert read["clat_ns"]["percentile"]["99.000000"] == result.latency["read"].p99_ns
    assert read["clat_ns"]["percentile"]["50.000000"] == result.latency["read"].p50_ns


def test_fio_json_has_the_bins_of_json_plus(result):
    job = result.fio()["jobs"][0]
    for op in ("read", "write"):
        bins = {int(at): count for at, count in job[op]["clat_ns"]["bins"].items()}
        assert list(bins) == sorted(bins)
        assert sum(bins.values()) == job[op]["total_ios"]
        assert max(bins) == result.latency[op].max_ns
        assert job[op]["clat_ns"]["percentile"]["99.000000"] in bins
    # Trims have none, as no command of theirs was measured: so does fio.
    assert "bins" not in job["trim"]["clat_ns"]


@pytest.mark.skipif(shutil.which("fio_jsonplus_clat2csv") is None, reason="fio's tool is not installed")
def test_fios_own_tool_reads_the_bins(result, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(result.fio()))
    for check in ([], ["--validate"]):
        command = ["fio_jsonplus_clat2csv", "run.json", "run.csv", *check]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    rows = (tmp_path / "run_job0.csv").read_text().splitlines()
    bins = result.fio()["jobs"][0]
    edges = {edge for op in ("read", "write") for edge in bins[op]["clat_ns"]["bins"]}
    assert len(rows) == 1 + len(edges)


def test_spans_of_one_resource_do_not_overlap(result):
    ends: dict[str, int] = {}
    table = result.span_table()
    assert table is not None
    for row in sorted(table.to_pylist(), key=lambda row: (row["track"], row["begin_ns"])):
        assert row["begin_ns"] >= ends.get(row["track"], 0), row
        ends[row["track"]] = row["end_ns"]


def test_fio_json_names_the_only_job_and_its_options(cli, job):
    (only,) = json.loads(cli("run", "tiny", job, "--format", "fio").stdout)["jobs"]
    assert only["jobname"] == "mixed"
    expected = {"name": "mixed", "rw": "randrw", "bs": "4k", "iodepth": "8", "number_ios": "20000", "norandommap": "1"}
    assert expected.items() <= only["job options"].items()


def test_fio_json_has_one_entry_for_each_job(cli, tmp_path):
    path = tmp_path / "two.fio"
    path.write_text("[global]\nnumber_ios=100\n[reader]\nrw=randread\n[writer]\nrw=randwrite\nbs=8k\nnumjobs=2\n")
    jobs = json.loads(cli("run", "tiny", path, "--format", "fio", "--precondition", "fill").stdout)["jobs"]
    assert [job["jobname"] for job in jobs] == ["reader", "writer.0", "writer.1"]
    assert [job["read"]["total_ios"] for job in jobs] == [100, 0, 0]
    assert [job["write"]["total_ios"] for job in jobs] == [0, 100, 100]
    assert [job["job options"]["rw"] for job in jobs] == ["randread", "randwrite", "randwrite"]
    assert jobs[1]["write"]["io_bytes"] == 100 * 8192
    reads, writes = (job[op]["clat_ns"]["percentile"] for job, op in zip(jobs, ("read", "write"), strict=False))
    assert reads["50.000000"] < writes["50.000000"]
    # A read is over before the first write is: each has the time of its own commands.
    assert jobs[0]["job_runtime"] < jobs[1]["job_runtime"]


def test_fio_json_of_a_trace_has_its_name(cli, examples):
    done = cli("run", "ofwar-64g", examples / "trace.csv.gz", "--format", "fio")
    (only,) = json.loads(done.stdout)["jobs"]
    assert only["jobname"].endswith("trace.csv.gz")
    assert only["job options"] == {}
