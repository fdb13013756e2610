"""Fixtures shared by the tests: the installed command, a small job, and one run of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ssdlab

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
def cli(tmp_path: Path) -> Command:
    """Runs `ssdlab ARGUMENTS` in an empty folder of its own."""
    folder = tmp_path / "here"
    folder.mkdir()

    def call(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SSDLAB, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "140"},
            **options,
        )

    return call


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
        for _ in range(600):
            if lock is None or (lock.exists() and lock.read_text()):
                return running
            time.sleep(0.05)
        raise AssertionError(f"{lock}: it did not appear")

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
