"""Cuts the power of a drive at every event while SQLite commits or littlefs writes files, under each policy.

    python tools/cut_software.py [--commits N] [--files N] [--policy NAME,...] [--client NAME,...]

After every event of the drive a copy of it loses power and recovers; the client opens what is there, and every commit
or file that had been acknowledged must be whole. One line for each policy and client has the cuts that were made. The
exit status is 1 if anything was lost. Needs apsw and littlefs-python.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import ssdlab

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "software"))

import littlefs_on_drive
import sqlite_on_drive

#: A small drive with the modes of all policies, whose retention is so short that data is moved during the commits.
DRIVE = """\
base = "tiny"
[flash]
channels = 1
blocks_per_plane = 32
pages_per_block = 16
[[flash.write_mode]]
name = "normal"
retention = "3s"
[[flash.write_mode]]
name = "fast"
program_scale = 0.5
retention = "800ms"
[[flash.write_mode]]
name = "fine"
program_scale = 1.3
retention = "3s"
[[flash.write_mode]]
name = "gentle"
program_scale = 1.6
retention = "3s"
erase_level = 1
[[flash.erase_mode]]
name = "deep"
[[flash.erase_mode]]
name = "gentle"
level = 1
wear = 0.7
[buffer]
policy = "write_back"
capacity = "128KiB"
flush_after = "1ms"
[ftl]
overprovisioning = 0.9
retention_margin = "40ms"
[policy.ofwar]
write_threshold = 4
rewrite_threshold = 8
queue_depth = 32
[policy.agcr]
low = "normal"
medium = "normal"
queue_depth = 4
[policy.queue_driven]
low = "normal"
[policy.lcw_hcr]
low = "normal"
[policy.slc_cache]
cache = "fast"
"""
CLIENTS = ("sqlite-delete", "sqlite-wal", "littlefs")
#: Policies that do not support a loss of power, and the one that is made of others.
LEFT_OUT = ("clairvoyant", "combine")
#: Bytes of the file that littlefs writes anew in each step, one of so many.
FILE_BYTES, FILES = 6_000, 20


class LostError(Exception):
    """Data that had been acknowledged is not there."""


def cut_sqlite(device: ssdlab.Device, journal: str, commits: int) -> int:
    """Commits to a ledger, with a cut after every event; returns the number of cuts."""
    connection, vfs = sqlite_on_drive.opened(device, journal, f"main-{journal}")
    # The log must fit into its part of the small drive.
    connection.pragma("wal_autocheckpoint", 100)
    sqlite_on_drive.create(connection)
    names, cuts, done = (f"cut-{number}" for number in count()), 0, 0

    def look(other: ssdlab.Device, recovery: dict[str, int]) -> None:
        nonlocal cuts
        cuts += 1
        found = sqlite_on_drive.commits_in(other, journal, next(names))
        if recovery["durable_lost"] or found not in (done, done + 1):
            raise LostError(f"cut {cuts}: {found} commits of {done} acknowledged; {recovery}")

    device.watch(look)
    for number in range(commits):
        sqlite_on_drive.commit(connection, number)
        done = number + 1
    device.watch(None)
    connection.close()
    vfs.unregister()
    return cuts


def cut_littlefs(device: ssdlab.Device, writes: int) -> int:
    """Writes files, with a cut after every event; returns the number of cuts."""
    files = littlefs_on_drive.mounted(device, is_new=True)
    promised: dict[str, bytes] = {}
    cuts, under_way = 0, ("", b"")

    def look(other: ssdlab.Device, recovery: dict[str, int]) -> None:
        nonlocal cuts
        cuts += 1
        found = littlefs_on_drive.mounted(other)
        for name, text in promised.items():
            with found.open(name, "rb") as file:
                if file.read() not in (text, *([under_way[1]] if name == under_way[0] else [])):
                    raise LostError(f"cut {cuts}: {name}; {recovery}")
        if recovery["durable_lost"]:
            raise LostError(f"cut {cuts}: {recovery}")

    device.watch(look)
    for number in range(writes):
        name = f"{number % FILES}.txt"
        under_way = (name, f"{number} ".encode() * (FILE_BYTES // (1 + len(str(number)))))
        with files.open(name, "wb") as file:
            file.write(under_way[1])
        promised[name] = under_way[1]
    device.watch(None)
    return cuts


def main() -> int:
    """Cuts under each policy and client that is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n", maxsplit=1)[0])
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--policy", default=",".join(one for one in ssdlab.policies() if one not in LEFT_OUT))
    parser.add_argument("--client", default=",".join(CLIENTS))
    asked = parser.parse_args()
    clients: dict[str, Callable[[ssdlab.Device], int]] = {
        "sqlite-delete": lambda device: cut_sqlite(device, "delete", asked.commits),
        "sqlite-wal": lambda device: cut_sqlite(device, "wal", asked.commits),
        "littlefs": lambda device: cut_littlefs(device, asked.files),
    }
    all_cuts, is_lost = 0, False
    for policy in asked.policy.split(","):
        for client in asked.client.split(","):
            start = time.monotonic()
            device = ssdlab.Device(ssdlab.Drive.from_text(DRIVE), policy=policy)
            try:
                cuts = clients[client](device)
            except LostError as lost:
                print(f"{policy:14} {client:14} LOST: {lost}", flush=True)
                is_lost = True
                continue
            all_cuts += cuts
            print(f"{policy:14} {client:14} {cuts:>9,} cuts, nothing lost, {time.monotonic() - start:.0f} s", flush=True)
    print(f"{'all':29} {all_cuts:>9,} cuts")
    return int(is_lost)


if __name__ == "__main__":
    sys.exit(main())
