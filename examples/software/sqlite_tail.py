"""The slowest commits of a database on a worn drive: where their milliseconds go, cause by cause.

    python examples/software/sqlite_tail.py [COMMITS]

A ledger of SQLite, larger than its cache, is kept on a QLC drive for half a year and then used. The drive is new, then
worn: its blocks have seen 2,000 program/erase cycles, twice the rated ones.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

import sqlite_on_drive

import ssdlab

#: Rows of the ledger, 200 B each, and the pages of SQLite's cache.
ACCOUNTS = 20_000
CACHE_PAGES = 64
#: Time for which the ledger lies on the drive before it is used.
AGE = "180d"


class Timed(ssdlab.Device):
    """A device that adds up the time of its calls by cause."""

    def begin(self) -> None:
        """Begins to add up anew."""
        self.causes: Counter[str] = Counter()
        self.since = self.now

    def read(self, offset: int, length: int) -> ssdlab.Answer:
        return self._added(super().read(offset, length))

    def write(self, offset: int, data: bytes, **marks: bool) -> ssdlab.Answer:
        return self._added(super().write(offset, data, **marks))

    def flush(self) -> ssdlab.Answer:
        return self._added(super().flush())

    def _added(self, answer: ssdlab.Answer) -> ssdlab.Answer:
        self.causes.update({cause: ns for cause, ns in answer.causes.items() if ns})
        return answer


def device_of(cycles: int, seed: int = 1) -> Timed:
    """Returns a QLC drive of 16 GiB whose blocks have been erased so often."""
    drive = ssdlab.Drive.from_text(ssdlab.shrink("qlc-2tb", "16GiB"))
    return Timed(drive, precondition="steady", set={"state.pe_cycles": cycles}, seed=seed, call="5us")


def commits_of(device: Timed, commits: int, name: str) -> list[tuple[int, Counter[str]]]:
    """Returns the time of each commit, and what it is made of: causes of the drive, and `application` [ns]."""
    device.begin()
    connection, vfs = sqlite_on_drive.opened(device, "wal", name)
    connection.pragma("cache_size", CACHE_PAGES)
    with connection:
        connection.execute("create table account (id integer primary key, balance integer, note text)")
        rows = ((number, 0, f"account {number} " * 12) for number in range(ACCOUNTS))
        connection.executemany("insert into account values (?, ?, ?)", rows)
    connection.pragma("wal_checkpoint(truncate)")
    device.flush()
    device.spend(AGE)
    draw, found = random.Random(1), []
    for _ in range(commits):
        device.begin()
        with connection:
            for account in draw.choices(range(ACCOUNTS), k=2):
                connection.execute("update account set balance = balance + 1 where id = ?", (account,))
        took = device.now - device.since
        found.append((took, device.causes + Counter(application=took - device.causes.total())))
    connection.close()
    vfs.unregister()
    return found


def shares(found: list[tuple[int, Counter[str]]]) -> str:
    """Returns the mean time of some commits, and its three largest causes."""
    total = sum((causes for _, causes in found), Counter())
    largest = ", ".join(f"{cause} {ns / total.total():.0%}" for cause, ns in total.most_common(3))
    return f"{total.total() / len(found) / 1e6:.3f} ms: {largest}"


def main(commits: int) -> None:
    for cycles in (0, 2000):
        found = sorted(commits_of(device_of(cycles), commits, f"at{cycles}"), key=lambda one: one[0])
        print(f"{cycles:,} cycles, data of {AGE}: all {commits:,} commits {shares(found)}")
        print(f"  the slowest hundredth {shares(found[-max(1, commits // 100) :])}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
