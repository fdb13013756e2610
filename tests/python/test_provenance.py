"""Provenance of results, and runs repeated from their folders."""

from __future__ import annotations

import json
import tomllib

import pytest

import ssdlab
from ssdlab import provenance

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n"
SYNTHETIC = """\
kind = "synthetic"
[[job]]
name = "hot"
pattern = { kind = "zipf", theta = 0.9 }
read_share = 0.5
sizes = [{ size = "4KiB" }]
depth = 8
requests = 1500
"""
POLICY = """\
import ssdlab

class Plain(ssdlab.Policy):
    def write_mode(self, write, view):
        return "normal"
"""


@pytest.fixture
def here(tmp_path, cli):
    """The folder in which `cli` works, with loads."""
    folder = tmp_path / "here"
    (folder / "job.fio").write_text(JOB)
    (folder / "hot.toml").write_text(SYNTHETIC)
    (folder / "trace.csv").write_text("".join(f"{i * 1000},0,{'RW'[i % 2]},{i * 4096},4096\n" for i in range(500)))
    return folder


RUNS = {
    "fio": ["tiny", "job.fio", "--precondition", "steady", "--set", "ftl.victim=fifo", "--seed", "7"],
    "synthetic": ["tiny", "hot.toml", "--precondition", "fill", "--policy", "ofwar"],
    "trace": ["tiny", "trace.csv", "--columns", "time=1:us,op=3,offset=4:B,size=5:B", "--time-scale", "2", "--address", "wrap"],
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_folder_says_how_it_was_made_and_its_run_can_be_repeated(cli, here, kind):
    assert cli("run", *RUNS[kind], "--out", "first").returncode == 0
    run = json.loads((here / "first" / "manifest.json").read_text())["run"]
    assert run["command_line"].startswith("ssdlab run tiny ")
    assert run["engine"] == ssdlab.__version__ or run["engine"].startswith("0.")
    assert (run["drive"], run["workload"]) == ("tiny", RUNS[kind][1])
    assert run["overrides"] == (["ftl.victim=fifo"] if kind == "fio" else [])
    again = cli("rerun", "first", "--out", "second")
    assert (again.returncode, "the same result" in again.stdout) == (0, True), again.stdout + again.stderr
    for name in ("drive.toml", "workload.toml", "latency.parquet", "timeline.parquet", "report.html"):
        assert (here / "first" / name).read_bytes() == (here / "second" / name).read_bytes(), name
    # A repeated run can be repeated, too, from a folder that was moved.
    (here / "second").rename(here / "moved")
    assert cli("rerun", "moved").returncode == 0


@pytest.mark.parametrize("kind", RUNS)
def test_a_resolved_workload_can_be_run_again(cli, here, kind):
    drive, load, *options = RUNS[kind]
    assert cli("run", drive, load, *options, "--out", "first").returncode == 0
    kept = [word for at, word in enumerate(options) if not {"--columns", "--time-scale", "--address"} & {word, options[at - 1]}]
    again = cli("run", drive, "first/workload.toml", *kept, "--out", "second")
    assert again.returncode == 0, again.stderr
    assert (here / "first" / "workload.toml").read_bytes() == (here / "second" / "workload.toml").read_bytes()
    old, new = (json.loads((here / name / "summary.json").read_text()) for name in ("first", "second"))
    assert {**old, "wall_s": 0} == {**new, "wall_s": 0}


def test_another_result_is_told(cli, here):
    assert cli("run", *RUNS["fio"], "--out", "first").returncode == 0
    summary = here / "first" / "summary.json"
    summary.write_text(summary.read_text().replace('"collections": ', '"collections": 1'))
    again = cli("rerun", "first")
    assert again.returncode == 1
    assert "another result" in again.stdout
    assert "collections: " in again.stdout
    found = json.loads(cli("rerun", "first", "--json").stdout)
    assert (found["same"], len(found["differences"])) == (False, 1)


def test_a_changed_trace_is_refused(cli, here):
    assert cli("run", *RUNS["trace"], "--out", "first").returncode == 0
    with (here / "trace.csv").open("a") as file:
        file.write("999000,0,R,0,4096\n")
    again = cli("rerun", "first")
    assert (again.returncode, again.stdout) == (2, "")
    assert "first/workload.toml: [source]: trace.csv is another file than that of the run" in again.stderr
    (here / "trace.csv").unlink()
    assert "trace.csv: no such file" in cli("rerun", "first").stderr


def test_what_cannot_be_repeated_is_refused(cli, here):
    assert cli("run", *RUNS["fio"], "--out", "first").returncode == 0
    manifest = here / "first" / "manifest.json"
    document = json.loads(manifest.read_text())
    del document["run"]
    manifest.write_text(json.dumps(document))
    refused = cli("rerun", "first")
    assert refused.returncode == 2
    assert "its manifest does not say how it was made" in refused.stderr
    assert cli("rerun", "nowhere").returncode == 2


def test_a_policy_of_a_file_is_found_again(cli, here):
    (here / "mine.py").write_text(POLICY)
    assert cli("run", "tiny", "job.fio", "--policy", "mine.py:Plain", "--out", "first").returncode == 0
    assert json.loads((here / "first" / "manifest.json").read_text())["run"]["policy"] == "mine.py:Plain"
    assert cli("rerun", "first").returncode == 0


PARTS = """\
[j]
; the size of a block
bs=${BS}
size=${SIZE}
include common.inc
number_ios=500
"""


def test_variables_and_included_files_are_kept(cli, here, monkeypatch):
    (here / "parts.fio").write_text(PARTS)
    (here / "common.inc").write_text("rw=${RW}\niodepth=4\n")
    monkeypatch.setenv("SIZE", "8m")
    monkeypatch.setenv("RW", "randrw")
    first = cli("run", "tiny", "parts.fio", "--var", "BS=8k", "--ignore", "iodepth", "--out", "first")
    assert first.returncode == 0, first.stderr
    source = tomllib.loads((here / "first" / "workload.toml").read_text())["source"]
    assert source["text"] == "[j]\n; the size of a block\nbs=8k\nsize=8m\nrw=randrw\niodepth=4\nnumber_ios=500\n"
    assert source["options"] == {"ignore": ["iodepth"]}
    monkeypatch.setenv("SIZE", "16m")
    monkeypatch.delenv("RW")
    (here / "common.inc").unlink()
    (here / "parts.fio").unlink()
    again = cli("rerun", "first", "--out", "second")
    assert again.returncode == 0, again.stdout + again.stderr
    for name in ("drive.toml", "workload.toml", "latency.parquet", "timeline.parquet", "report.html"):
        assert (here / "first" / name).read_bytes() == (here / "second" / name).read_bytes(), name
    assert cli("run", "tiny", "first/workload.toml").returncode == 0


def test_the_run_of_a_comparison_keeps_its_variables(cli, here, monkeypatch):
    (here / "parts.fio").write_text("[j]\nrw=randwrite\nbs=${BS}\nnumber_ios=300\n")
    monkeypatch.setenv("BS", "8k")
    assert cli("compare", "tiny", "parts.fio", "--policy", "baseline,all_fast", "--out", "both").returncode == 0
    monkeypatch.delenv("BS")
    assert cli("rerun", "both/all_fast").returncode == 0


def test_from_python_a_text_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "command_line", None)
    load = ssdlab.Workload(text=JOB, name="mine")
    first = ssdlab.run("tiny", load, precondition="fill")
    assert first.workload == "mine"
    first.save("first")
    source = tomllib.loads((tmp_path / "first" / "workload.toml").read_text())["source"]
    assert source == {"name": "mine", "text": JOB}
    again = ssdlab.rerun("first")
    assert (again.is_same, again.result.workload) == (True, "mine")
    assert json.loads((tmp_path / "first" / "manifest.json").read_text())["run"]["command_line"] is None


def test_each_run_of_a_comparison_can_be_repeated(cli, here):
    assert cli("compare", "tiny", "job.fio", "--policy", "baseline,all_fast", "--out", "both").returncode == 0
    again = cli("rerun", "both/all_fast")
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_run_from_standard_input_is_kept(cli, here):
    assert cli("run", "tiny", "-", "--out", "job", input=JOB).returncode == 0
    assert tomllib.loads((here / "job" / "workload.toml").read_text())["source"]["text"] == JOB
    assert cli("rerun", "job").returncode == 0
    trace = (here / "trace.csv").read_text()
    done = cli("run", "tiny", "-", *RUNS["trace"][2:], "--out", "trace", input=trace)
    assert done.returncode == 0, done.stderr
    refused = cli("rerun", "trace")
    assert (refused.returncode, "came from standard input" in refused.stderr) == (2, True)


def test_a_comparison_and_a_partial_run_are_not_run_again(cli, job, tmp_path):
    out = tmp_path / "both"
    cli("compare", "tiny", job, "--policy", "baseline,all_fast", "--stop-after", 50, "--out", out)
    done = cli("rerun", out)
    assert done.returncode == 2
    assert "expected that of one of its runs: all_fast, baseline" in done.stderr
    text = (out / "baseline" / "summary.json").read_text()
    (out / "baseline" / "summary.json").write_text(text.replace('"status": "complete"', '"status": "partial"'))
    done = cli("rerun", out / "baseline")
    assert done.returncode == 2
    assert "stopped before its end" in done.stderr
