"""Fixtures shared by the tests: the installed command, a small job, and one run of it."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner

import ssdlab
from ssdlab.cli import app

if TYPE_CHECKING:
    from ssdlab_papers.claim import Claim

# Random cases are the same in each run, and no case fails because the machine is busy.
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

#: Reads and writes at depth 8, enough of them for a 99.9th percentile.
JOB = """\
[mixed]
rw=randrw
rwmixread=50
bs=4k
iodepth=8
number_ios=20000
norandommap=1
"""

#: A job that runs until it is interrupted.
LONG = "[long]\nrw=randwrite\nbs=4k\niodepth=8\ntime_based=1\nruntime=10d\nnorandommap=1\n"

#: Longest wait for a process [s]: far more than any needs on a busy machine, for those that hang.
PATIENCE = 900

#: The installed command.
SSDLAB = str(Path(sys.executable).with_name("ssdlab"))

Command = Callable[..., subprocess.CompletedProcess[str]]


def pytest_configure() -> None:
    """Restores the default handler of Ctrl-C, which some tests send.

    A shell lets its background processes ignore the signal, and their children inherit this.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A fio job file."""
    path = tmp_path / "mixed.fio"
    path.write_text(JOB)
    return path


@pytest.fixture
def examples() -> Path:
    """The folder with the examples."""
    return Path(__file__).parents[2] / "examples"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `ssdlab ARGUMENTS` in an empty folder of its own.

    The command is called within the process of the tests, which saves its start. With `process`, or with options of
    `subprocess.run`, it is a process of its own.
    """
    folder = tmp_path / "here"
    folder.mkdir()
    environment = {"NO_COLOR": "1", "COLUMNS": "140"}

    def call(*arguments: object, process: bool = False, **options: object) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        if not process and not options:
            return within(words, folder, environment, monkeypatch)
        return subprocess.run(
            [SSDLAB, *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=folder,
            env={**os.environ, **environment},
            **options,
        )

    return call


def within(
    words: list[str], folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> subprocess.CompletedProcess[str]:
    """Calls the command in a folder and returns its exit status and output."""
    with monkeypatch.context() as patched:
        patched.chdir(folder)
        done = CliRunner().invoke(app, words, env=environment, prog_name="ssdlab")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(["ssdlab", *words], done.exit_code, done.stdout, done.stderr)


def wait_for(condition: Callable[[], object], complaint: str) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.05)


def wait_for_work(running: subprocess.Popen[str], seconds: float) -> None:
    """Waits until a process has taken `seconds` more of processor time, so that a busy machine changes nothing."""

    def processor_time() -> float:
        fields = Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    end = processor_time() + seconds
    wait_for(lambda: running.poll() is not None or processor_time() >= end, f"{running.args}: it does nothing")


def wait_until_heard(running: subprocess.Popen[str]) -> None:
    """Waits until a process handles SIGTERM."""

    def is_heard() -> bool:
        lines = Path(f"/proc/{running.pid}/status").read_text().splitlines()
        (caught,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:"))
        return bool(caught >> (signal.SIGTERM - 1) & 1)

    wait_for(lambda: running.poll() is not None or is_heard(), f"{running.args}: it does not handle signals")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `ssdlab ARGUMENTS`, with a long job in place of ``LONG``.

    Returns the process once it holds `lock`, and kills it at the end of the test.
    """
    started: list[subprocess.Popen[str]] = []
    (tmp_path / "long.fio").write_text(LONG)

    def call(*arguments: object, lock: Path | None = None, prefix: tuple[str, ...] = (), **options: object):
        words = [str(tmp_path / "long.fio") if word == "LONG" else str(word) for word in arguments]
        command = [*prefix, sys.executable, "-m", "ssdlab", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
        running = subprocess.Popen(command, **{**pipes, **options})
        started.append(running)
        if lock is not None:
            wait_for(lambda: lock.exists() and lock.read_text(), f"{lock}: it did not appear")
        return running

    yield call
    for running in started:
        running.kill()
        running.communicate()


@pytest.fixture(scope="session")
def result() -> ssdlab.Result:
    """One run, with its commands and spans recorded."""
    workload = ssdlab.Workload.from_text(JOB)
    return ssdlab.run("tiny", workload, record_commands=True, record_spans=True)


@pytest.fixture(scope="session")
def comparison() -> ssdlab.Comparison:
    """A comparison of two policies under the same job."""
    return ssdlab.compare("tiny", ssdlab.Workload.from_text(JOB), ["baseline", "ofwar"])


def wrong(claim: Claim) -> Iterator[Claim]:
    """Yields the claim with a value beyond each side of its range on which it can fail."""
    for bound, sign in ((claim.low, -1.0), (claim.high, 1.0)):
        if bound is not None and math.isfinite(bound):
            yield replace(claim, ours=bound + sign * max(1e-6, 1e-6 * abs(bound)))


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The accessibility checker axe-core, as a script; skips the test where npm cannot bring it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here, which brings axe-core")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "axe-core@4"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    script = folder / "node_modules/axe-core/axe.min.js"
    if not script.exists():
        pytest.skip(f"npm cannot bring axe-core: {done.stderr.strip()[-200:]}")
    return script.read_text(encoding="utf-8")
