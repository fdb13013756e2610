"""Real software on a simulated drive: SQLite and littlefs, with power lost at every event."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

import ssdlab

apsw = pytest.importorskip("apsw", reason="apsw is not installed: no SQLite with file systems in Python")

sys.path.insert(0, str(Path(__file__).parents[2] / "examples/software"))

import sqlite_on_drive as example  # noqa: E402

DRIVE = {"buffer.policy": "write_back", "buffer.capacity": "256KiB", "buffer.flush_after": "1ms"}


def check(device: ssdlab.Device, journal: str, name: str, acknowledged: int) -> int:
    """Opens the database of a device that has recovered, and returns the number of its commits."""
    count = example.commits_in(device, journal, name)
    assert count >= acknowledged, "what was acknowledged is lost"
    return count


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_no_commit_of_sqlite_is_lost_at_any_event(journal):
    device = ssdlab.Device("tiny", set=DRIVE)
    connection, vfs = example.opened(device, journal, "main")
    example.create(connection)
    names, found, done = (f"fork{number}" for number in itertools.count()), [], 0

    def look(other: ssdlab.Device, recovery: dict[str, int]) -> None:
        assert recovery["durable_lost"] == 0
        found.append(check(other, journal, next(names), done) - done)

    device.watch(look)
    for number in range(12):
        example.commit(connection, number)
        done = number + 1
    device.watch(None)
    assert len(found) > 100
    assert set(found) == {0, 1}, "the commit that is under way is there, or it is not"
    connection.close()
    vfs.unregister()


def test_the_check_of_sqlite_finds_a_drive_that_ignores_flushes(monkeypatch):
    device = ssdlab.Device("tiny", set={**DRIVE, "buffer.flush_after": "1s"})
    connection, vfs = example.opened(device, "delete", "unsound")
    example.create(connection)
    monkeypatch.setattr(example.Area, "sync", lambda area: area.write_head() if area.is_head_new else None)
    done = 0

    names, problems = (f"unsound{number}" for number in itertools.count()), []

    def look(other: ssdlab.Device, recovery: dict[str, int]) -> None:
        try:
            check(other, "delete", next(names), done)
        except (AssertionError, apsw.Error) as problem:
            problems.append(problem)

    device.watch(look, every=20)
    for number in range(12):
        example.commit(connection, number)
        done = number + 1
    device.watch(None)
    assert len(problems) > 5
    connection.close()
    vfs.unregister()


def test_a_commit_is_made_of_its_causes_and_wear_is_in_its_tail():
    import sqlite_tail

    means = []
    for cycles in (0, 2000):
        device = sqlite_tail.device_of(cycles)
        found = sqlite_tail.commits_of(device, 60, f"tail{cycles}")
        for took, causes in found:
            assert took == causes.total()
            # 5 us of the program come before each call.
            assert causes["application"] % 5_000 == 0
            assert causes["application"] > 0
        slowest = max(found, key=lambda one: one[0])[1]
        means.append((sum(took for took, _ in found) / len(found), slowest["retry"] / slowest.total()))
    (new, none), (worn, retried) = means
    assert worn > 1.1 * new
    assert none == 0
    assert retried > 0.2


def test_littlefs_mounts_and_has_what_it_promised_after_a_loss_at_any_event():
    pytest.importorskip("littlefs", reason="littlefs-python is not installed")
    import littlefs_on_drive

    device = ssdlab.Device("tiny", set=DRIVE)
    files = littlefs_on_drive.mounted(device, is_new=True)
    promised: dict[str, bytes] = {}
    looks = []

    def look(other: ssdlab.Device, recovery: dict[str, int]) -> None:
        assert recovery["durable_lost"] == 0
        found = littlefs_on_drive.mounted(other)
        names = found.listdir("/")
        for name, text in promised.items():
            with found.open(name, "rb") as file:
                assert file.read() == text
        looks.append(len(names) - len(promised))

    device.watch(look)
    for number in range(12):
        name, text = f"{number}.txt", f"{number} ".encode() * 700
        with files.open(name, "wb") as file:
            file.write(text)
        promised[name] = text
    device.watch(None)
    assert len(looks) > 50
    assert set(looks) == {0, 1}, "the file that is being written is there, or it is not"
