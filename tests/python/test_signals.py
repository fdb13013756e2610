"""SIGTERM, as batch schedulers send it, ends a command like Ctrl-C: with the results so far, and exit status 143."""

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
from conftest import PATIENCE, wait_for, wait_for_work, wait_until_heard
from ssdlab import cell
from ssdlab.manifest import strangers

pytestmark = pytest.mark.slow

TERM, INT = signal.SIGTERM, signal.SIGINT

#: Commands that take long, each with a function that finds the status in its JSON document.
PARTIAL = {
    "run": (["run", "tiny", "LONG"], lambda found: found["status"]),
    "compare": (["compare", "tiny", "LONG", "--policy", "baseline,ofwar"], lambda found: found["runs"][-1]["status"]),
    "lifetime": (["lifetime", "tiny", "LONG", "--wear-limit", "4000000"], lambda found: found["status"]),
    "code": (
        ["cell", "code", "--code", "ldpc-256B/1KiB", "--rber", "0.005,0.024", "--frames", "100000000"],
        lambda found: found["status"],
    ),
}


@pytest.fixture
def begin(start, tmp_path, tmp_path_factory):
    """Starts `ssdlab ARGUMENTS` and waits until it is running, and has worked for `wait` seconds more.

    Returns a function that sends it signals and returns its exit status and output.
    """

    said = tmp_path_factory.mktemp("stderr") / "stderr"

    def call(*arguments: str, wait: float = 1.5, prefix: tuple[str, ...] = ()):
        # The signal handlers are installed before the names are locked.
        written = next((arguments[at + 1] for at, word in enumerate(arguments) if word in ("--out", "--log-commands")), None)
        lock = None if written is None else tmp_path / f".{written}.lock"
        with said.open("w") as stderr:
            running = start(*arguments, lock=lock, prefix=prefix, stderr=stderr)
        if lock is None:
            wait_until_heard(running)
        wait_for_work(running, wait)

        def end(*signals: int, pause: float = 0.0, until: str = "") -> tuple[int, str, str]:
            for number in signals:
                if running.poll() is None:
                    running.send_signal(number)
                wait_for(lambda: running.poll() is not None or until in said.read_text(), f"it does not say {until}")
                time.sleep(pause)
            stdout, _ = running.communicate(timeout=PATIENCE)
            stderr = said.read_text()
            assert "Traceback" not in stderr
            return running.returncode, stdout, stderr

        return end

    return call


@pytest.mark.parametrize("command", PARTIAL)
def test_sigterm_ends_a_command_with_what_it_has(begin, tmp_path, command):
    arguments, status = PARTIAL[command]
    code, stdout, stderr = begin(*arguments, "--json", "--out", "out")(TERM)
    assert code == 143, stderr
    assert "interrupted: " in stderr
    assert "partial" in stderr or "so far" in stderr
    assert status(json.loads(stdout)) == "partial"
    if command == "code":
        assert cell.load_code(tmp_path / "out").status == "partial"
    else:
        assert strangers(tmp_path / "out") == []
    if command == "run":
        assert ssdlab.load_result(tmp_path / "out").status == "partial"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.fio", "out"]


def test_sigterm_ends_a_command_that_has_nothing(begin):
    code, stdout, stderr = begin("cell", "monte-carlo", "--cell", "ofwar-mlc", "--cells", "1000000000000")(TERM)
    assert (code, stdout, stderr) == (143, "", "ssdlab: interrupted: there is no result\n")


@pytest.mark.parametrize(
    ("signals", "pause", "status"), [([TERM, TERM], 0.0, 143), ([TERM] * 20, 0.02, 143), ([INT, TERM, TERM], 0.02, 130)]
)
def test_a_sigterm_while_a_run_ends_changes_nothing(begin, tmp_path, signals, pause, status):
    """`timeout` sends SIGTERM to the process and to its group; LSF sends it after an interrupt."""
    # Of two signals that are pending at once, the second may be handled first.
    until = "interrupted: " if signals[0] != signals[1] else ""
    code, stdout, stderr = begin("run", "tiny", "LONG", "--json", "--out", "out")(*signals, pause=pause, until=until)
    assert code in (status, -TERM), stderr  # -TERM: the signal came after the handlers were removed
    assert json.loads(stdout)["status"] == "partial"
    assert ssdlab.load_result(tmp_path / "out").status == "partial"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.fio", "out"]


@pytest.mark.parametrize(("first", "pause"), [(INT, 0.01), (TERM, 0.1), (INT, 0.4)])
def test_a_second_ctrl_c_leaves_nothing_half_written(begin, tmp_path, first, pause):
    code, _, _ = begin("run", "tiny", "LONG", "--out", "out", "--log-commands", "log.csv", wait=0.5)(first, INT, pause=pause)
    assert code in (128 + first, 130)  # of two simultaneous signals, Python handles the interrupt first
    left = {path.name for path in tmp_path.iterdir()} - {"long.fio"}
    assert left <= {"out", "log.csv"}
    if "out" in left:
        assert ssdlab.load_result(tmp_path / "out").status == "partial"
    if "log.csv" in left:
        assert (tmp_path / "log.csv").read_text().endswith("\n")


def test_an_ignored_sigterm_stays_ignored(begin):
    end = begin("run", "tiny", "LONG", "--json", "--out", "out", prefix=("sh", "-c", 'trap "" TERM; exec "$@"', "sh"))
    code, stdout, _ = end(TERM, INT, pause=0.5)
    assert (code, json.loads(stdout)["status"]) == (130, "partial")


def test_the_library_leaves_signals_alone():
    program = (
        "import signal, ssdlab, ssdlab.cli\n"
        "before = signal.getsignal(signal.SIGTERM)\n"
        "ssdlab.run('tiny', ssdlab.Workload.from_text('[one]\\nrw=randread\\nbs=4k\\nnumber_ios=100\\n'))\n"
        "assert before == signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_signal_in_a_destructor_is_not_lost(number):
    program = f"""
import signal, time
from ssdlab.cli import signals
class Closing:
    def __del__(self):
        signal.raise_signal({int(number)})
with signals.installed():
    try:
        Closing()
        time.sleep({PATIENCE})
    except KeyboardInterrupt:
        raise SystemExit(signals.exit_status(signals.INTERRUPTED))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


def test_sigterm_waits_for_a_folder_that_the_library_writes(result, tmp_path):
    folder = result.save(tmp_path / "out")
    program = f"""
import signal, ssdlab, ssdlab.files
swap = ssdlab.files.exchange
ssdlab.files.exchange = lambda one, other: (swap(one, other), signal.raise_signal(signal.SIGTERM))
ssdlab.load_result({str(folder)!r}).save({str(folder)!r}, force=True)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -TERM
    assert strangers(folder) == []
    assert ssdlab.load_result(folder).summary == result.summary
    assert {path.name for path in tmp_path.iterdir()} <= {"out", ".out.lock"}


@pytest.mark.parametrize("command", [("info",), ("fit",), ("convert", "--to", "spc", "--out", "x.spc")])
def test_a_trace_is_read_aside_so_that_signals_are_heard(examples, tmp_path, monkeypatch, command):
    """The engine handles no signals while it reads."""
    from typer.testing import CliRunner

    from ssdlab import _engine
    from ssdlab.cli import app

    read = getattr(_engine, f"trace_{command[0]}")
    threads = []

    def watched(*arguments: object) -> object:
        threads.append(threading.current_thread())
        return read(*arguments)

    monkeypatch.setattr(_engine, read.__name__, watched)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["trace", command[0], str(examples / "trace.csv.gz"), *command[1:]])
    assert done.exit_code == 0, done.stderr
    assert threads
    assert threading.main_thread() not in threads
    assert {path.name for path in Path().iterdir()} <= {"x.spc"}


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.parquet"])
@pytest.mark.parametrize(("number", "wait"), [(TERM, 0.6), (INT, 0.75)])
def test_a_log_ends_with_the_last_command_that_is_counted(begin, tmp_path, name, number, wait):
    status, stdout, _ = begin("run", "tiny", "LONG", "--log-commands", name, "--json", wait=wait)(number)
    counted = sum(json.loads(stdout)["commands"].values())
    assert status == 128 + number
    assert counted > 0
    assert len(ssdlab.read_commands(tmp_path / name)) == counted


@pytest.mark.parametrize("wait", [0.6, 0.75])
def test_a_policy_that_hangs_is_ended_and_its_log_is_whole(begin, tmp_path, wait):
    """A signal is handled during a call of the policy, even while the log is written."""
    (tmp_path / "hanging.py").write_text(
        "import ssdlab\n"
        "class Hanging(ssdlab.Policy):\n"
        "    calls = 0\n"
        "    def write(self, dispatch, view):\n"
        "        self.calls += 1\n"
        "        while self.calls == 100_000: pass\n"
        "        return 'normal'\n"
    )
    options = ("--policy", "hanging.py:Hanging", "--log-commands", "log.csv", "--json")
    status, stdout, stderr = begin("run", "tiny", "LONG", *options, wait=wait + 2)(TERM)
    assert status == 143, stderr
    counted = json.loads(stdout)["commands"]["write"]
    assert len(ssdlab.read_commands(tmp_path / "log.csv")) == counted > 0


def test_a_signal_while_a_run_ends_leaves_it_complete(job, monkeypatch):
    from ssdlab.outputs import Kept

    take = Kept.take

    def signalled(self: Kept, columns: dict) -> None:
        take(self, columns)
        if self.batches[-1].num_rows:  # the last batch is delivered after the run has ended
            os.kill(os.getpid(), INT)

    monkeypatch.setattr(Kept, "take", signalled)
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.run("tiny", job, record_commands=True)
    assert stopped.value.result.status == "complete"
    assert stopped.value.result.command_table().num_rows == 20_000


@pytest.mark.parametrize("at", [0, 1])
def test_rows_that_are_not_taken_make_a_run_partial(job, monkeypatch, at):
    """A receiver of rows that raises KeyboardInterrupt leaves a gap, whether the run goes on after it or not."""
    from ssdlab.outputs import Kept
    from ssdlab.tables import from_columns

    take, calls = Kept.take, []

    def interrupted(self: Kept, columns: dict) -> None:
        calls.append(from_columns(columns).num_rows)
        if len(calls) == at + 1:
            raise KeyboardInterrupt
        take(self, columns)

    monkeypatch.setattr(Kept, "take", interrupted)
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.run("tiny", job, record_commands=True)
    result = stopped.value.result
    assert result.status == "partial"
    assert f"the function that receives rows was interrupted: {calls[at]} rows are missing" in result.notes
    assert result.command_table().num_rows == sum(calls) - calls[at]


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_signal_in_a_text_that_is_executed_ends_with_its_status(tmp_path, number):
    """Data classes execute texts when they are imported; Python would kill itself at the end, whatever the status."""
    program = f"""
import signal, sys
from ssdlab.cli import signals
with signals.installed():
    try:
        exec("signal.raise_signal({int(number)})")
    except KeyboardInterrupt:
        sys.exit(signals.exit_status(signals.INTERRUPTED))
"""
    (tmp_path / "executing.py").write_text(program)
    done = subprocess.run([sys.executable, "-m", "executing"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="`on_exit` is of glibc")
def test_a_command_that_was_interrupted_ends_in_silence_while_the_engine_works(tmp_path):
    """A thread aside goes on in the engine when the interpreter ends, and looks for signals."""
    program = """
import ctypes, os, signal, sys, threading
from ssdlab import traces
from ssdlab.waiting import interruptible
pipe = "trace.csv"
os.mkfifo(pipe)
def give():
    with open(pipe, "w") as file:
        file.write("1,0,R,0,4096\\n")
        file.flush()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        threading.Event().wait()
threading.Thread(target=give, daemon=True).start()
try:
    interruptible(lambda: traces.trace_info(pipe))
except KeyboardInterrupt:
    # Once the interpreter has ended, the process sleeps for as many seconds as its status says.
    system = ctypes.CDLL(None)
    system.on_exit(system.sleep, None)
    sys.exit(1)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
