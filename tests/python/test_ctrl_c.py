"""Ctrl-C in each phase of a command: its documented status, no traceback, and nothing half written.

The phase decides, not a clock: the process waits for input that does not come, or sends itself the signal in a function
that is called in that phase alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import ssdlab
from conftest import JOB, LONG, PATIENCE
from ssdlab import _engine
from ssdlab.manifest import strangers
from ssdlab.waiting import interruptible

INT = signal.SIGINT
#: Error rates of a drive, by wear and time.
RATES = "pe_cycles,days,rate\n0,0,1e-3\n0,3650,1e-3\n3000,0,2e-3\n3000,3650,2e-3\n"
#: Calls the command; `NAME` in `MODULE` sends Ctrl-C, once, when `TEST` of its arguments holds.
DRIVER = """
import importlib, signal, sys
module, _, name = sys.argv.pop(1).rpartition(":")
test = eval(sys.argv.pop(1))
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
called, sent = getattr(owner, last), []
def interrupting(*arguments, **named):
    if not sent and test(*arguments):
        sent.append(True)
        signal.raise_signal(signal.SIGINT)
    return called(*arguments, **named)
setattr(owner, last, interrupting)
from ssdlab.cli import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a short job, a long one, and the results of a run."""
    (tmp_path / "job.fio").write_text(JOB)
    (tmp_path / "long.fio").write_text(LONG)
    ssdlab.run("tiny", tmp_path / "job.fio").save(tmp_path / "before")
    return tmp_path


def names(folder: Path) -> set[str]:
    """Returns what is in a folder, with the hidden, beside what was there before."""
    return {path.name for path in folder.iterdir()} - {"job.fio", "long.fio", "before", "pipe"}


def interrupted_in(folder: Path, function: str, test: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that is interrupted where it calls a function."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, function, test, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 130, done.stderr
    return done


@pytest.mark.parametrize(
    ("job", "given"),
    [("pipe", "[j]\nrw=read\n"), ("including.fio", "rw=read\n"), ("pipe", "1000,0,R,0,4096\n" * 1000)],
    ids=["a job", "an included file", "a trace"],
)
def test_while_the_input_is_read(folder: Path, job: str, given: str) -> None:
    (folder / "including.fio").write_text("[j]\ninclude pipe\n")
    os.mkfifo(folder / "pipe")
    running = subprocess.Popen(
        [sys.executable, "-c", "from ssdlab.cli import main; main()", "run", "tiny", job, "--out", "out", "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opens once the command has opened it for reading, too; it waits for the rest, which does not come.
    with (folder / "pipe").open("w") as pipe:
        pipe.write(given)
        pipe.flush()
        running.send_signal(INT)
        stdout, stderr = running.communicate(timeout=PATIENCE)
    assert (running.returncode, stdout) == (130, ""), stderr
    assert stderr.endswith("ssdlab: interrupted: there is no result\n")
    assert "Traceback" not in stderr
    assert names(folder) == {"including.fio"}


def test_a_signal_that_does_not_end_the_wait_itself() -> None:
    """It interrupts another thread, as one that arrives just before the main thread waits interrupts no call."""

    def work() -> None:
        time.sleep(0.2)  # For the main thread to begin its wait; the test holds if it has not.
        signal.pthread_kill(threading.get_ident(), INT)
        threading.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("run", ["run", "tiny", "long.fio"]),
        ("run", ["compare", "tiny", "long.fio", "--policy", "baseline,ofwar"]),
        ("lifetime", ["lifetime", "tiny", "long.fio", "--wear-limit", "4000000"]),
    ],
    ids=["run", "compare", "lifetime"],
)
def test_while_the_engine_works(folder: Path, stage: str, words: list[str]) -> None:
    test = f"lambda _, progress: progress.stage == {stage!r}"
    done = interrupted_in(folder, "ssdlab.cli.progress:Lines.report", test, *words, "--json", "--out", "out")
    assert names(folder) == {"out"}
    assert strangers(folder / "out") == []
    found = json.loads(done.stdout)
    assert (found["runs"][-1] if words[0] == "compare" else found)["status"] == "partial"
    assert "interrupted: " in done.stderr


def test_while_the_drive_is_set_up(folder: Path) -> None:
    """Nothing has been measured."""
    words = ["run", "pcie4-tlc-2tb", "long.fio", "--precondition", "steady", "--json", "--out", "out"]
    test = "lambda _, progress: progress.stage == 'precondition'"
    done = interrupted_in(folder, "ssdlab.cli.progress:Lines.report", test, *words)
    assert done.stdout == ""
    assert "interrupted: " in done.stderr
    assert names(folder) == set()


@pytest.mark.parametrize("command", ["run", "compare", "rerun"])
@pytest.mark.parametrize(
    ("function", "test"),
    [
        ("ssdlab.saving:write_parquet", "lambda table, path: path.name == 'timeline.parquet'"),
        ("ssdlab.report.page:single", "lambda *_: True"),
        ("ssdlab.files:write_manifest", "lambda *_: True"),
    ],
    ids=["tables", "report", "manifest"],
)
def test_while_results_are_written(folder: Path, command: str, function: str, test: str) -> None:
    """A folder that is being written is written whole; the run had ended, and stays complete."""
    if command == "compare" and "report" in function:
        function = "ssdlab.report.page:several"
    words = {"run": ["tiny", "job.fio"], "rerun": ["before"], "compare": ["tiny", "job.fio", "--policy", "baseline,ofwar"]}[
        command
    ]
    interrupted_in(folder, function, test, command, *words, "--out", "out")
    assert names(folder) == {"out"}
    assert strangers(folder / "out") == []
    run = folder / "out" / ("ofwar" if command == "compare" else "")
    assert ssdlab.load_result(run).status == "complete"


@pytest.mark.parametrize("function", ["ssdlab.files:exchange", "ssdlab.files:_check_ours"])
def test_while_a_folder_is_replaced(folder: Path, function: str) -> None:
    interrupted_in(folder, function, "lambda *_: True", "run", "tiny", "job.fio", "--seed", "2", "--out", "before", "--force")
    assert names(folder) == set()
    assert ssdlab.load_result(folder / "before").seed in (1, 2)
    assert strangers(folder / "before") == []


@pytest.mark.parametrize("function", ["ssdlab.presentation:Result.report", "ssdlab.files:_temporary", "pathlib:Path.replace"])
def test_while_a_report_is_written(folder: Path, function: str) -> None:
    kept = (folder / "before" / "report.html").read_bytes()
    done = interrupted_in(folder, function, "lambda *_: True", "report", "before", "--out", "page.html")
    assert "interrupted" in done.stderr
    assert names(folder) == set()
    assert (folder / "before" / "report.html").read_bytes() == kept


def test_while_results_are_shown(folder: Path) -> None:
    interrupted_in(folder, "sys:stdout.flush", "lambda *_: True", "run", "tiny", "job.fio", "--json", "--out", "out")
    assert names(folder) == {"out"}
    assert ssdlab.load_result(folder / "out").status == "complete"


def test_a_signal_while_a_starting_state_is_named(tmp_path: Path) -> None:
    """A search names one for each trial: an interruption there must not be lost."""
    pipe = tmp_path / "rates.csv"
    os.mkfifo(pipe)
    drive = tmp_path / "worn.toml"
    text = 'base = "tiny"\necc.errors = { kind = "table", file = "rates.csv" }\n'

    def give() -> None:
        # Opens once the engine has opened it for reading.
        with pipe.open("w") as rates:
            signal.pthread_kill(threading.main_thread().ident or 0, INT)
            rates.write(RATES)

    giving = threading.Thread(target=give)
    giving.start()
    request = json.dumps({"drive": {"name": str(drive), "text": text}, "setup": {"precondition": "fill"}})
    with pytest.raises(KeyboardInterrupt):
        _engine.starting_state_key(request, dict.fromkeys(("workload", "text", "load", "save")))
    giving.join()


@pytest.mark.parametrize("function", ["ssdlab.explore.folder:Folder.add", "ssdlab.explore.sweep:_State.count_row"])
def test_while_a_row_of_a_sweep_is_kept(folder: Path, function: str) -> None:
    """A row that is in the folder is one of those that the command counts."""
    (folder / "spec.toml").write_text('drive = "tiny"\nworkload = "job.fio"\nseeds = 4\n')
    words = ("sweep", "spec.toml", "--out", "out", "--jobs", "1", "--json")
    printed = json.loads(interrupted_in(folder, function, "lambda *_: True", *words).stdout)
    assert (printed["status"], printed["runs"], printed["new"], printed["missing"]) == ("partial", 1, 1, 3)
    assert ssdlab.load_sweep(folder / "out").table.num_rows == 1
    last = ssdlab.sweep(folder / "spec.toml", folder / "out", jobs=1)
    assert (last.new, last.table.num_rows) == (3, 4)


@pytest.mark.parametrize(
    "function",
    [
        "ssdlab.explore.shared:SearchFolder.add",
        "ssdlab.explore.study:Study.complete",
        "ssdlab.explore.optimise:_State.count_row",
    ],
)
def test_while_a_trial_of_a_search_ends(folder: Path, function: str) -> None:
    (folder / "spec.toml").write_text(
        'drive = "tiny"\nworkload = "job.fio"\nsearch."ftl.overprovisioning" = { low = 0.1, high = 0.5 }\n'
        '[[objective]]\nkey = "latency.all.mean_ns"\n[optimise]\ncomparison = false\ntrials = 4\n'
    )
    words = ("optimise", "spec.toml", "--out", "out", "--jobs", "1", "--json")
    printed = json.loads(interrupted_in(folder, function, "lambda *_: True", *words).stdout)
    assert (printed["status"], printed["trials"], printed["new"], printed["missing"]) == ("partial", 1, 1, 3)
    last = ssdlab.optimise(folder / "spec.toml", folder / "out", jobs=1)
    assert (last.new, last.table.num_rows) == (3, 4)
