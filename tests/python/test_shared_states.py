"""Starting states that the processes of a sweep share: made once, by whoever lives, and removed."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

import ssdlab
from ssdlab.explore import pool
from ssdlab.explore.states import SharedStates

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=300\n"
#: Runs with one starting state.
SPEC = {
    "drive": "tiny",
    "workload": "job.fio",
    "precondition": "steady",
    "vary": {"workload.iodepth": [1, 2, 3, 4, 5, 6, 7, 8]},
}
TIMES = ["wall_s", "setup_s"]
#: Claims a state, says whether it is there, and waits.
CLAIM = """
import pathlib, sys
from ssdlab.explore.states import SharedStates
states = SharedStates()
states.folder = pathlib.Path(sys.argv[1])
print(states.claim("state")[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job, in which the test works, and an empty one for temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "job.fio").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def states(tmp_path):
    """Two processes' parts in one folder."""
    both = SharedStates(), SharedStates()
    for one in both:
        one.folder = tmp_path
    return both


class Seeing(pool.Pool):
    """A pool that notes the files of states as each run ends."""

    seen: list[list[str]]

    def _end(self, worker, *others):
        files = (path.name for path in self.folders.root.glob("*/*"))
        self.seen.append(sorted("state" if len(name) == 32 else name[33:] for name in files))
        return super()._end(worker, *others)


def test_processes_share_one_state_and_leave_no_file(here, monkeypatch):
    monkeypatch.setattr("ssdlab.explore.pool.Pool", Seeing)
    monkeypatch.setattr(Seeing, "seen", [], raising=False)
    done = ssdlab.sweep(SPEC, "out", jobs=3)
    assert (done.failed, done.table.num_rows) == (0, 8)
    # Whoever made the state has renamed it before the last run ends.
    assert Seeing.seen[-1] == ["lock", "state"]
    assert list((here / "temporary").iterdir()) == []


def test_rows_do_not_depend_on_the_number_of_processes(here):
    one, two, three = (ssdlab.sweep(SPEC, f"jobs{jobs}", jobs=jobs).table.drop(TIMES) for jobs in (1, 2, 3))
    assert one.num_rows == 8
    assert two.equals(one)
    assert three.equals(one)


def test_another_process_takes_over_from_one_that_was_killed(tmp_path, states):
    first, second = states

    def claiming():
        command = [sys.executable, "-c", CLAIM, str(tmp_path)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    maker = claiming()
    assert maker.stdout.readline() == "False\n"
    with (tmp_path / "state.lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    waiter = claiming()
    maker.kill()
    maker.communicate()
    assert waiter.stdout.readline() == "False\n"
    waiter.communicate()
    path, is_there = first.claim("state")
    assert not is_there
    Path(path).write_text("whole")
    first.done("state", True)
    path, is_there = second.claim("state")
    assert is_there
    assert Path(path).read_text() == "whole"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state", "state.lock"]


def test_nobody_waits_for_a_state_that_cannot_be_written(tmp_path, states):
    first, second = states
    first.claim("state")
    assert second.is_usable()
    first.done("state", False)
    assert not second.is_usable()
    assert second.claim("state") is None
    assert second.claim("another") == (str(tmp_path / "another.part"), False)
    second.done("another", False)
    second.folder = None
    assert second.claim("third") is None
    assert not second.is_usable()
    second.folder = tmp_path / "gone"
    assert not second.is_usable()
    assert second.claim("third") is None


def test_a_group_of_runs_has_a_folder_until_its_last_run_has_ended(here, monkeypatch):
    folders = pool._Folders()
    folders.left.update({"a": 2, "b": 2, "c": 1})
    task = namedtuple("Task", "group memory")
    folder = folders.folder_for(task("a", 1000))
    assert folder.is_dir()
    assert folders.folder_for(task("a", 1000)) == folder
    assert folders.folder_for(task("c", 1000)) is None, "no other run needs its state"
    assert folders.folder_for(task("b", 10**30)) is None, "the disk has no room"
    folders.end_run("a")
    assert folder.is_dir()
    assert folders.folder_for(task("a", 1000)) == folder
    folders.end_run("a")
    assert not folder.exists()
    folders.close()
    assert list((here / "temporary").iterdir()) == []
    monkeypatch.setattr("tempfile.tempdir", str(here / "gone"))
    assert folders.folder_for(task("b", 1000)) is None
    folders.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_sweep_that_is_ended_leaves_no_file(here, number, code):
    """By Ctrl-C, or by a signal that its process cannot handle; the processes that do the runs hold the pipe."""
    text = (
        "import os, ssdlab\n"
        f"end = lambda done: done.done < 2 or os.kill(os.getpid(), {int(number)})\n"
        f"ssdlab.sweep({SPEC!r}, 'out', jobs=2, progress=end)\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, env=os.environ, check=False)
    assert ended.returncode == code, ended.stderr
    assert list((here / "temporary").iterdir()) == []
