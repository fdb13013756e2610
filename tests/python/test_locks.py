"""Two commands that would write the same name: the second is refused before it runs."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from pathlib import Path

import pytest

import ssdlab
from conftest import LONG, PATIENCE
from ssdlab import cell, locks

pytestmark = pytest.mark.slow


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("option", ["--out", "--save", "--log-commands", "--timeline"])
def test_the_second_of_two_runs_is_refused(cli, start, tmp_path, option):
    target = tmp_path / "target.csv"
    long = ("run", "tiny", tmp_path / "long.fio", "--json")
    first = start(*long, option, "../target.csv", lock=tmp_path / ".target.csv.lock", cwd=tmp_path / "here")
    second = cli(*long, option, target, "--force", process=True)
    assert (second.returncode, second.stdout) == (2, "")
    assert f"target.csv: in use by process {first.pid} on " in second.stderr
    assert "ssdlab run tiny" in second.stderr
    first.send_signal(signal.SIGINT)
    assert first.communicate(timeout=PATIENCE)[0]
    assert first.returncode == 130
    assert target.exists()
    assert entries(tmp_path) == ["here", "long.fio", "target.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "tiny", "LONG", "--policy", "baseline"),
        ("lifetime", "tiny", "LONG", "--wear-limit", "4000000"),
        ("paper", "cell"),
        ("cell", "code", "--code", "bch-8/512B"),
    ],
)
def test_every_command_that_takes_long_is_refused(cli, tmp_path, arguments):
    (tmp_path / "long.fio").write_text(LONG)
    command = [str(tmp_path / "long.fio") if word == "LONG" else word for word in arguments]
    with locks.locked(tmp_path / "target.json"):
        done = cli(*command, "--out", tmp_path / "target.json", process=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"in use by process {os.getpid()} on " in done.stderr
    assert entries(tmp_path) == ["here", "long.fio"]


def test_a_killed_run_holds_nothing(cli, job, start, tmp_path):
    lock = tmp_path / ".out.lock"
    killed = start("run", "tiny", tmp_path / "long.fio", "--out", tmp_path / "out", lock=lock)
    killed.kill()
    killed.communicate()
    assert lock.exists()
    done = cli("run", "tiny", job, "--out", tmp_path / "out", process=True)
    assert done.returncode == 0, done.stderr
    assert entries(tmp_path) == ["here", "long.fio", "mixed.fio", "out"]


def test_what_was_written_meanwhile_is_seen_under_the_lock(result, tmp_path, monkeypatch):
    from ssdlab.cli.given import Targets

    taken = locks.locked

    def slow(*names: Path):
        result.save(tmp_path / "out")  # by another command, just before the lock is taken
        return taken(*names)

    monkeypatch.setattr("ssdlab.cli.given.locked", slow)
    with pytest.raises(ssdlab.InputError, match="not empty"), Targets(tmp_path / "out", False, None).reserved():
        pytest.fail("it was reserved")


def elsewhere(work) -> list[BaseException]:
    """Returns the exceptions that `work` raises in another thread."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised


def test_a_result_is_not_saved_where_another_is_written(result, tmp_path):
    with locks.locked(tmp_path / "out"):
        raised = elsewhere(lambda: result.save(tmp_path / "out"))
        assert [type(error) for error in raised] == [ssdlab.InputError]
        assert "out: in use by process" in str(raised[0])
        # The holder of the lock may write.
        result.save(tmp_path / "out")
    assert elsewhere(lambda: result.save(tmp_path / "out", force=True)) == []
    assert entries(tmp_path) == ["out"]


def test_a_folder_has_one_lock_under_all_its_names(result, tmp_path):
    result.save(tmp_path / "out")
    (tmp_path / "link").symlink_to("out")
    with locks.locked(tmp_path / "out"):
        raised = elsewhere(lambda: result.save(tmp_path / "link", force=True))
    assert "link: in use by" in str(raised[0])


def test_a_measurement_is_not_counted_where_another_is(tmp_path):
    with locks.locked(tmp_path / "code.json"):
        raised = elsewhere(lambda: cell.code("bch-8/512B", rber=[1e-3], frames=10, out=tmp_path / "code.json"))
    assert "code.json: in use by" in str(raised[0])


def test_a_lock_that_its_holder_has_removed_is_taken_anew(tmp_path, monkeypatch):
    name, lock = tmp_path / "out", tmp_path / ".out.lock"
    flock, calls = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            lock.unlink()  # removed by its previous holder, after it was opened here
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with locks.locked(name):
        assert os.fstat(calls[-1]).st_ino == lock.stat().st_ino
        assert elsewhere(lambda: locks.locked(name).__enter__())
    assert len(calls) == 3
    assert not lock.exists()


def test_the_lock_of_another_is_not_removed(tmp_path):
    lock = tmp_path / ".out.lock"
    with locks.locked(tmp_path / "out"):
        lock.unlink()
        lock.write_text("another's")
    assert lock.read_text() == "another's"


def test_without_a_word_of_its_holder_a_lock_is_one(tmp_path):
    with locks.locked(tmp_path / "out"):
        (tmp_path / ".out.lock").write_text("")
        raised = elsewhere(lambda: locks.locked(tmp_path / "out").__enter__())
    assert "out: in use by another process;" in str(raised[0])


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_written_all_the_same(result, tmp_path, monkeypatch, number):
    def missing(descriptor: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", missing)
    result.save(tmp_path / "out")
    assert entries(tmp_path) == ["out"]


def test_a_lock_left_by_another_user_is_read_only(tmp_path, monkeypatch):
    (tmp_path / ".out.lock").write_text("left behind")
    opened = os.open

    def guarded(path: object, flags: int, *mode: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", guarded)
    with locks.locked(tmp_path / "out"):
        assert "out: in use by" in str(elsewhere(lambda: locks.locked(tmp_path / "out").__enter__())[0])
