"""Remarks of commands beside their results: before a run, after it, and where nothing was asked for."""

from __future__ import annotations

import pytest

import ssdlab
from ssdlab.cli.running import EMPTY
from ssdlab.units import counted

READS = "[job]\nrw=randread\nbs=4k\nnumber_ios=100\n"


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.fio"
    path.write_text(READS)
    return path


@pytest.mark.parametrize("words", [[], ["cell"], ["trace"]])
def test_a_group_alone_shows_its_help_and_succeeds(cli, words):
    done = cli(*words)
    assert done.returncode == 0
    assert "Usage: ssdlab" in done.stdout
    assert done.stderr == ""


def test_a_command_without_its_arguments_is_an_error(cli):
    assert cli("run").returncode == 2
    assert cli("cell", "rber").returncode == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], True),
        (["--precondition", "fill"], False),
        (["--precondition", "none"], False),
        (["--set", "state.precondition=none"], False),
        (["--set", "ftl.translation=waf"], False),
        (["--quiet"], False),
    ],
)
def test_a_run_says_before_it_begins_that_the_drive_is_empty(cli, job, words, said):
    done = cli("run", "tiny", job, *words)
    assert done.returncode == 0
    assert (f"ssdlab: {EMPTY}" in done.stderr) == said
    if said:
        assert done.stderr.index(EMPTY) < done.stderr.index("units were read that were never written")


def test_a_comparison_says_it_too_unless_it_varies_the_state(cli, job):
    assert EMPTY in cli("compare", "tiny", job, "--policy", "baseline,all_fast").stderr
    assert EMPTY not in cli("compare", "tiny", job, "--vary", "precondition=none,fill").stderr


def test_a_drive_with_a_state_of_its_own_is_not_called_empty(cli, job, tmp_path):
    drive = tmp_path / "drive.toml"
    drive.write_text('base = "tiny"\n[state]\nprecondition = "fill"\n')
    assert EMPTY not in cli("run", drive, job).stderr
    wrong = cli("run", "tiny", job, "--set", "flash.channels=0")
    assert (wrong.returncode, EMPTY in wrong.stderr) == (2, False)


def test_a_folder_that_was_written_is_named(cli, job, tmp_path):
    out = tmp_path / "out"
    assert f"ssdlab: wrote {out}\n" in cli("run", "tiny", job, "--out", out).stderr
    assert f"ssdlab: wrote {out}\n" in cli("run", "tiny", job, "--out", out, "--force").stderr
    assert "wrote" not in cli("run", "tiny", job, "--out", out, "--force", "--quiet").stderr
    both = tmp_path / "both"
    done = cli("compare", "tiny", job, "--policy", "baseline,all_fast", "--out", both)
    assert f"ssdlab: wrote {both}\n" in done.stderr
    again = tmp_path / "again"
    assert f"ssdlab: wrote {again}\n" in cli("rerun", out, "--out", again).stderr


def test_a_run_that_ends_in_its_ramp_says_that_nothing_was_measured(cli, tmp_path):
    job = tmp_path / "ramp.fio"
    job.write_text(f"{READS}ramp_time=1s\n")
    done = cli("run", "tiny", job, "--precondition", "fill")
    assert "nothing was measured: the run ended before the ramp of its jobs was over" in done.stderr
    assert "nothing was measured" in done.stdout
    result = ssdlab.run("tiny", job, precondition="fill")
    assert result.latency["all"].count == 0
    assert "nothing was measured" in result.report()
    job.write_text(f"{READS}ramp_time=1ms\n")
    done = cli("run", "tiny", job, "--precondition", "fill")
    assert "nothing was measured" not in done.stderr + done.stdout


def test_one_of_a_thing_is_in_the_singular():
    assert [counted(number, "seed") for number in (0, 1, 2, 2000)] == ["0 seeds", "1 seed", "2 seeds", "2,000 seeds"]


def test_the_page_of_a_sweep_counts_in_words(tmp_path):
    job = tmp_path / "job.fio"
    job.write_text(READS)
    spec = {"drive": "tiny", "workload": str(job), "vary": {"flash.channels": [1, 2]}}
    done = ssdlab.sweep(spec, tmp_path / "out")
    assert "2 points · 2 runs · 1 seed<" in done.report()


def test_the_report_says_why_a_queue_depth_may_exceed_that_of_the_job(job):
    page = ssdlab.run("tiny", job, precondition="fill").report()
    assert "may show more than were in flight at a time" in page
    columns = {column["name"]: column for column in ssdlab.definitions()["columns"]["timeline.parquet"]}
    assert "A command counts where it completes" in columns["queue_depth"]["definition"]
