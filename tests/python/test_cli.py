"""The command line."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

import ssdlab
from conftest import PATIENCE, SSDLAB, wait_for_work


def test_help_names_every_command(cli):
    done = cli("--help")
    assert done.returncode == 0
    for name in ("run", "compare", "lifetime", "cell", "trace", "presets", "show", "check", "schema", "report"):
        assert f" {name} " in done.stdout


def test_run_prints_the_numbers_one_wants_first(cli, job):
    done = cli("run", "tiny", job)
    assert done.returncode == 0, done.stderr
    for word in (
        "latency",
        "p99.99",
        "IOPS",
        "mean time by cause",
        "write amplification",
        "units programmed",
    ):
        assert word in done.stdout


def test_run_writes_nothing_unless_asked(cli, job, tmp_path):
    assert cli("run", "tiny", job, "--json").returncode == 0
    assert [*(tmp_path / "here").iterdir()] == []


def test_json_is_one_document_and_nothing_else(cli, job):
    done = cli("run", "tiny", job, "--json", "--quiet")
    summary = json.loads(done.stdout)
    assert (summary["status"], summary["policy"], summary["seed"]) == ("complete", "baseline", 1)
    assert done.stderr == ""


def test_causes_sum_to_the_mean_latency(cli, job):
    summary = json.loads(cli("run", "tiny", job, "--json").stdout)
    for op in ("all", "read", "write"):
        total = sum(summary["causes"][op].values())
        assert abs(total - summary["latency"][op]["mean_ns"]) < 1e-6 * total


def test_command_line_and_python_give_the_same_numbers(cli, job):
    typed = json.loads(cli("run", "tiny", job, "--seed", 7, "--set", "flash.channels=4", "--json").stdout)
    called = ssdlab.run("tiny", job, seed=7, set={"flash.channels": 4}).summary
    del typed["wall_s"], called["wall_s"]
    assert typed == called


def test_a_setting_reaches_the_drive(cli):
    before = json.loads(cli("show", "tiny", "--json").stdout)
    after = json.loads(cli("show", "tiny", "--json", "--set", "flash.channels=8").stdout)
    assert before != after
    assert "channels = 8" in cli("show", "tiny", "--toml", "--set", "flash.channels=8").stdout


def test_compare_prints_runs_and_ratios(cli, job):
    done = cli("compare", "tiny", job, "--policy", "baseline,ofwar", "--json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert set(document) == {"names", "runs", "ratios"}
    assert [run["policy"] for run in document["runs"]] == ["baseline", "ofwar"]
    first, second = (run["latency"]["write"]["mean_ns"] for run in document["runs"])
    assert document["ratios"][0]["latency"]["write"]["mean_ns"] == 1.0
    assert document["ratios"][1]["latency"]["write"]["mean_ns"] == second / first
    assert document["runs"][0]["starting_state"] == document["runs"][1]["starting_state"]


def test_compare_shows_a_table(cli, job):
    done = cli("compare", "tiny", job, "--policy", "baseline,ofwar")
    assert done.returncode == 0, done.stderr
    assert "baseline" in done.stdout
    assert "×" in done.stdout


def test_presets_are_listed_and_printed(cli):
    listed = cli("presets")
    assert all(name in listed.stdout for name in ("tiny", "ideal-512g", "ofwar-64g", "tlc-1tb", "qlc-2tb"))
    names = [preset["name"] for preset in json.loads(cli("presets", "--json").stdout)]
    assert set(names) >= {"tiny", "ideal-512g", "ofwar-64g", "tlc-1tb", "qlc-2tb"}
    assert "[flash]" in cli("presets", "tiny").stdout


def test_a_printed_preset_is_a_drive(cli, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(cli("presets", "tiny").stdout)
    done = cli("check", path)
    assert (done.returncode, done.stdout) == (0, f"{path}: ok\n"), done.stderr


def test_the_schema_is_json_schema(cli):
    schema = json.loads(cli("schema").stdout)
    assert "flash" in schema["properties"]


def test_the_reference_page_names_every_section(cli):
    page = cli("schema", "--format", "markdown").stdout
    assert all(f"\n## [{section}]\n" in page for section in ("host", "buffer", "flash", "ftl", "policy", "state"))


def test_an_aged_drive_is_saved_and_loaded(cli, job, tmp_path):
    aged = tmp_path / "aged.state"
    done = cli("run", "tiny", job, "--precondition", "random", "--save", aged)
    assert done.returncode == 0, done.stderr
    assert aged.stat().st_size > 0
    again = cli("run", "tiny", job, "--load", aged, "--json")
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aged.state", "here", "mixed.fio"]


@pytest.mark.slow
def test_ctrl_c_ends_a_run_cleanly_and_marks_it(start, tmp_path):
    running = start("run", "tiny", "LONG", "--json", "--out", "out", lock=tmp_path / ".out.lock")
    wait_for_work(running, 1.5)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "ending the run" in stderr
    assert json.loads(stdout)["status"] == "partial"
    assert ssdlab.load_result(tmp_path / "out").status == "partial"


@pytest.mark.slow
def test_ctrl_c_leaves_whole_files_with_what_was_measured(start, tmp_path):
    log, spans, history = (tmp_path / name for name in ("log.parquet", "spans.gz", "history.csv.zst"))
    options = ("--log-commands", log, "--timeline", spans, "--history", history)
    running = start("run", "tiny", "LONG", "--json", *options, lock=tmp_path / ".history.csv.zst.lock")
    wait_for_work(running, 1.5)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    done = json.loads(stdout)["commands"]["write"]
    assert ssdlab.read_commands(log).num_rows == done
    assert ssdlab.read_history(history).column("event").to_pylist().count("write completed") == done
    assert ssdlab.read_timeline(spans).num_rows > 1000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.csv.zst", "log.parquet", "long.fio", "spans.gz"]


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(tmp_path):
    job = tmp_path / "long.fio"
    job.write_text("[long]\nrw=randwrite\nbs=4k\niodepth=8\ntime_based=1\nruntime=600s\nnorandommap=1\n")
    command = [sys.executable, "-m", "ssdlab", "run", "tiny", str(job), "--json"]
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave) as running:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:
                break
            if not part:
                break
            shown += part
        assert running.stdout is not None
        json.loads(running.stdout.read())
    os.close(master)
    assert b"simulated" in shown


@pytest.mark.slow
def test_the_report_of_a_folder_is_written_again(cli, comparison, tmp_path):
    folder = comparison.save(tmp_path / "out")
    one = folder / "baseline" / "report.html"
    before = one.read_bytes()
    one.unlink()
    assert cli("report", folder / "baseline").returncode == 0
    assert one.read_bytes() == before
    both = tmp_path / "both.html"
    assert cli("report", folder / "baseline", folder / "ofwar", "--out", both).returncode == 0
    assert both.read_text() == (folder / "report.html").read_text()


def test_the_module_is_the_command(cli):
    for command in ([SSDLAB], [sys.executable, "-m", "ssdlab"]):
        environment = {**os.environ, "COLUMNS": "140"}
        done = subprocess.run([*command, "presets"], capture_output=True, text=True, check=True, env=environment)
        assert done.stdout == cli("presets").stdout
