"""Runs whose results cannot be written: the results are shown, and kept elsewhere if possible."""

from __future__ import annotations

import json
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import ssdlab
import ssdlab_papers as papers
from conftest import PATIENCE, SSDLAB, wait_for_work
from ssdlab.cli import keeping
from ssdlab.cli.given import Targets

pytestmark = pytest.mark.slow

#: Commands that may be interrupted, each with a function that finds the status in its JSON document.
LONG_COMMANDS = {
    "run": (["run", "tiny", "LONG"], lambda document: document["status"]),
    "compare": (["compare", "tiny", "LONG", "--policy", "baseline"], lambda document: document["runs"][0]["status"]),
    "lifetime": (["lifetime", "tiny", "LONG", "--wear-limit", "4000000"], lambda document: document["status"]),
}


NOT_SAVED = "aged: File too large; it was not written, and cost the run nothing else\n"


def limit_files(size: int):
    """Returns a function for a child process that limits its files to `size` bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """The temporary folder of the commands."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


@pytest.mark.parametrize("command", ["run", "compare", "lifetime"])
def test_without_room_anywhere_the_summary_is_in_the_terminal(cli, job, temporary, tmp_path, command):
    given = {
        "run": ("run", "tiny", job),
        "compare": ("compare", "tiny", job, "--policy", "baseline,ofwar"),
        "lifetime": ("lifetime", "tiny", job, "--max-passes", "1"),
    }[command]
    done = cli(*given, "--out", "out", preexec_fn=limit_files(1000))
    assert done.returncode == 1
    assert "write amplification" in done.stdout
    said, document = done.stderr.split("\n{", 1)
    assert "ssdlab: error: out: File too large\n" in said
    assert "the same command gives the same bytes again" in said
    found = json.loads("{" + document)
    assert "wall_s" in (found["runs"][0] if command == "compare" else found)
    assert [*temporary.iterdir(), *(tmp_path / "here").iterdir()] == []


@pytest.mark.parametrize("command", LONG_COMMANDS)
def test_what_cannot_be_put_in_place_is_kept(start, temporary, tmp_path, command):
    (tmp_path / "gone").mkdir()
    out = tmp_path / "gone" / "my out"
    arguments, status = LONG_COMMANDS[command]
    running = start(*arguments, "--json", "--out", out, lock=tmp_path / "gone" / ".my out.lock")
    wait_for_work(running, 1.5)
    shutil.rmtree(tmp_path / "gone")
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1
    assert status(json.loads(stdout)) == "partial"
    (kept,) = temporary.glob("ssdlab-*/my out")
    assert (kept / "manifest.json").is_file()
    assert f"{out}: its folder {out.parent} does not exist" in stderr
    assert f"the results are kept in {kept}" in stderr
    assert "the same bytes" not in stderr
    # The printed command moves the results into place.
    out.parent.mkdir()
    line = next(line for line in stderr.splitlines() if " mv " in line)
    subprocess.run(shlex.split(line[line.index("mv ") :]), check=True)
    assert (out / "manifest.json").is_file()
    if command == "run":
        assert ssdlab.load_result(out).status == "partial"


@pytest.fixture
def write(result, temporary, capsys):
    """Shows and writes the results of a run as the command does; returns the exit status and the messages."""

    def call(targets: Targets, show=lambda: None) -> tuple[int, str]:
        status = 0
        try:
            save = lambda path: result.save(path, force=targets.force)  # noqa: E731
            keeping.conclude(show, keeping.Results(targets.out, save, lambda: result.summary_json), keeping.Ending(), "")
        except SystemExit as end:
            status = end.code
        return status, capsys.readouterr().err

    return call


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system with space for half a result folder; without the right to mount one, the test is skipped."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        not shutil.which("mount")
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_keeps_the_old_folder_and_the_new_results(write, result, tiny_disk, temporary):
    (tiny_disk / "notes.txt").write_text("old")
    status, said = write(Targets(tiny_disk / "out", True, None))
    assert status == 1
    assert f"error: {tiny_disk}/out: No space left on device\n" in said
    (kept,) = temporary.glob("ssdlab-*/out")
    assert ssdlab.load_result(kept).summary == result.summary
    assert [path.name for path in tiny_disk.iterdir()] == ["notes.txt"]
    assert (tiny_disk / "notes.txt").read_text() == "old"


def test_a_note_that_appears_during_the_run_stays(write, result, temporary, tmp_path):
    out = result.save(tmp_path / "out")
    (out / "notes.txt").write_text("ten years of work")
    status, said = write(Targets(out, True, None))
    assert status == 1
    assert "notes.txt;" in said
    (kept,) = temporary.glob("ssdlab-*/out")
    assert f"when {out} has been moved away: mv {kept} {out}" in said
    assert ssdlab.load_result(kept).summary == result.summary


def test_a_log_that_is_too_large_is_said_and_the_rest_is_written(cli, temporary, tmp_path):
    job = tmp_path / "job.fio"
    job.write_text("[job]\nrw=randrw\nbs=4k\niodepth=8\ntime_based=1\nruntime=10s\nnorandommap=1\n")
    arguments = ("--out", "out", "--log-commands", "log.csv", "--timeline", "spans.pftrace.gz")
    done = cli("run", "tiny", job, *arguments, preexec_fn=limit_files(9_000_000))
    assert done.returncode == 1
    assert "ssdlab: error: log.csv: File too large; it was not written" in done.stderr
    assert '"wall_s"' not in done.stderr
    assert ssdlab.load_result(tmp_path / "here" / "out").status == "complete"
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["out", "spans.pftrace.gz"]
    assert [*temporary.iterdir()] == []


@pytest.mark.parametrize("command", ["run", "compare", "lifetime"])
def test_a_drive_that_cannot_be_saved_is_one_line(cli, job, tmp_path, command):
    more = {"run": (), "compare": ("--policy", "baseline,ofwar"), "lifetime": ("--max-passes", "1")}[command]
    for kind in ("none", "random"):
        given = (command, "tiny", job, *more, "--precondition", kind, "--save", "aged", "--quiet")
        done = cli(*given, preexec_fn=limit_files(1000))
        assert done.returncode == 1
        assert "write amplification" in done.stdout, "what was measured is shown all the same"
        assert command != "compare" or "ofwar" in done.stdout
        assert done.stderr == f"ssdlab: error: {NOT_SAVED}"
    assert [*(tmp_path / "here").iterdir()] == []
    with pytest.raises(ssdlab.InputError):
        ssdlab.run("tiny", job, save=tmp_path / "none" / "aged")


@pytest.mark.parametrize("command", LONG_COMMANDS)
def test_a_drive_that_cannot_be_saved_is_named_after_an_interruption(start, tmp_path, command):
    arguments, status = LONG_COMMANDS[command]
    options = {"preexec_fn": limit_files(1000), "lock": tmp_path / ".aged.lock"}
    running = start(*arguments, "--json", "--save", "aged", **options)
    wait_for_work(running, 1.5)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert (running.returncode, status(json.loads(stdout))) == (1, "partial")
    assert NOT_SAVED in stderr


def test_a_drive_that_cannot_be_saved_is_named_although_nothing_can_be_shown(cli, job):
    command = shlex.join([SSDLAB, "run", "tiny", str(job), "--save", "aged", "--quiet"])
    for shown in ("/dev/full", ">(true)"):
        script = f"ulimit -f 1; {command} > {shown}"
        done = subprocess.run(["bash", "-c", script], cwd=job.parent, capture_output=True, text=True)
        assert done.returncode == 1
        assert NOT_SAVED in done.stderr
    assert not (job.parent / "aged").exists()


@pytest.mark.parametrize("option", ["save", "history", "timeline", "log_commands", "record_firmware"])
@pytest.mark.parametrize("hindrance", ["its folder is gone", "a folder has its name"])
def test_a_file_that_cannot_be_put_in_place_costs_nothing_else(tmp_path, option, hindrance):
    """The path is checked before the run; changes during the run are found only at its end."""
    path = tmp_path / "sub" / "file.csv"
    path.parent.mkdir()

    def hinder(progress: ssdlab.Progress) -> bool:
        if path.parent.exists() and not path.is_dir():
            if hindrance == "its folder is gone":
                shutil.rmtree(path.parent)
            else:
                path.mkdir()
        return True

    job = ssdlab.Workload.from_text("[job]\nrw=randwrite\nbs=4k\nnumber_ios=200000\nnorandommap=1\nio_size=10g\n")
    with pytest.raises(ssdlab.NotWrittenError, match="directory") as failed:
        ssdlab.run("tiny", job, progress=hinder, **{option: path})
    assert failed.value.result.status == "complete"
    assert [name for name, _ in failed.value.files] == [str(path)]
    assert [found.name for found in tmp_path.rglob("*") if found.is_file()] == []


def test_a_comparison_that_is_interrupted_between_runs_has_those_before(job):
    class Late(ssdlab.Policy):
        def setup(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.compare("tiny", job, ["baseline", Late])
    assert [(run.policy, run.status) for run in stopped.value.result.runs] == [("baseline", "complete")]
    with pytest.raises(KeyboardInterrupt) as alone:
        ssdlab.compare("tiny", job, [Late])
    assert not isinstance(alone.value, ssdlab.Interrupted)


def test_a_policy_that_cannot_run_the_drive_is_refused_before_the_first_run(job, tmp_path):
    seen = []
    with pytest.raises(ssdlab.InputError, match=r"policy\.agcr\.high"):
        ssdlab.compare("tiny", job, ["baseline", "agcr"], save=tmp_path / "aged", progress=seen.append)
    assert (seen, (tmp_path / "aged").exists()) == ([], False)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_results_are_written_although_they_cannot_be_shown(cli, job, tmp_path, options):
    command = shlex.join([str(Path(sys.executable).with_name("ssdlab")), "run", "tiny", str(job), *options, "--quiet"])
    full = subprocess.run(f"{command} --out full > /dev/full", shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (1, "ssdlab: error: standard output: No space left on device\n")
    assert ssdlab.load_result(tmp_path / "full").status == "complete"
    script = f"set -o pipefail; {command} --out closed | true"
    closed = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (1, "")
    assert ssdlab.load_result(tmp_path / "closed").status == "complete"


def test_results_are_written_although_nothing_can_be_said(cli, job, tmp_path):
    with Path("/dev/full").open("w") as full:
        command = [str(Path(sys.executable).with_name("ssdlab")), "run", "tiny", str(job), "--out", str(tmp_path / "out")]
        assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full).returncode == 0
    assert ssdlab.load_result(tmp_path / "out").status == "complete"


def test_results_are_written_although_showing_them_is_interrupted(write, tmp_path):
    def show() -> None:
        raise KeyboardInterrupt

    status, _ = write(Targets(tmp_path / "out", False, None), show)
    assert status == 130
    assert ssdlab.load_result(tmp_path / "out").status == "complete"


def test_results_are_written_although_showing_them_fails(cli, write, job, tmp_path, monkeypatch):
    def show() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(Targets(tmp_path / "one", False, None), show)
    assert ssdlab.load_result(tmp_path / "one").status == "complete"
    # A terminal whose encoding lacks the characters of the table.
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert cli("run", "tiny", job, "--out", tmp_path / "two", process=True).returncode == 1
    assert ssdlab.load_result(tmp_path / "two").status == "complete"


def test_ctrl_c_waits_for_the_folder(write, tmp_path, monkeypatch):
    monkeypatch.setattr("ssdlab.report.page.single", lambda run: signal.raise_signal(signal.SIGINT) or "a page")
    status, _ = write(Targets(tmp_path / "out", False, None))
    assert status == 130
    assert ssdlab.load_result(tmp_path / "out").status == "complete"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "temporary"]


def test_experiments_that_cannot_be_written_are_kept(temporary, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from ssdlab.cli import app

    def small(setting):
        """Does little."""
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("ten years of work")
        yield papers.Entry(work="W", where="1", what="it", published="1", standing="stated", ours=1.0, shown="1")

    monkeypatch.setattr(papers, "EXPERIMENTS", {"small": small})
    done = CliRunner().invoke(app, ["paper", "small", "--json", "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["experiment"] == "small"
    (kept,) = temporary.glob("ssdlab-*/out")
    assert (kept / "RESULTS.md").is_file()
    assert f"the results are kept in {kept}" in done.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_experiments_before_an_interruption_are_written(tmp_path, monkeypatch, options):
    from typer.testing import CliRunner

    from ssdlab.cli import app

    def small(setting):
        """Does little."""
        yield papers.Entry(work="W", where="1", what="it", published="1", standing="stated", ours=1.0, shown="1")

    def long(setting):
        """Is interrupted."""
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(papers, "EXPERIMENTS", {"small": small, "long": long})
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["paper", "small", "long", *options, "--out", str(out)])
    assert done.exit_code == 130
    assert f"wrote {out}\n" in done.stderr
    assert "interrupted: 1 of 2 experiments are complete" in done.stderr
    assert "no result" not in done.stderr
    assert (out / "RESULTS.md").is_file()
    if options:
        assert json.loads(done.stdout)["experiment"] == "small"
    nothing = CliRunner().invoke(app, ["paper", "long", "--out", str(tmp_path / "nothing")])
    assert (nothing.exit_code, (tmp_path / "nothing").exists()) == (130, False)


@pytest.mark.parametrize("words", ["--help", "--version", "run --help", "presets"])
def test_a_text_that_cannot_be_printed_is_an_error_in_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([SSDLAB, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (1, "ssdlab: error: standard output: No space left on device\n")
