#!/usr/bin/env python3
"""Measures a drive with fio for a twin, in about an hour: python measure.py /dev/nvme1n1 [--minutes 25] [--yes].

It prints its plan, refuses a device that is mounted or in use, and asks before it writes. ALL DATA ON THE DEVICE IS
LOST.
The results are fio's files in JSON, for `ssdlab twin points *.json`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Steps: job file, state of the drive while it is measured, and what the step is for.
STEPS = (
    ("fill.fio", "", "write the whole drive once, in order"),
    ("read.fio", "fill", "random reads, 7 loads"),
    ("age.fio", "", "overwrite the drive at random, towards its steady state"),
    ("write.fio", "steady", "random writes, 4 loads"),
    ("mixed.fio", "steady", "reads and writes, 5 loads"),
)
#: Seconds of a load, with its ramp.
LOAD_S = 70
#: Loads of the job files that are measured.
LOADS = 16


class RefusedError(Exception):
    """The device must not be written, or cannot be."""


def users_of(device: str, mounts: str, swaps: str, holders: Callable[[str], Sequence[str]]) -> list[str]:
    """Returns the uses of a device or one of its partitions: mounts, swap, and devices on top of it.

    Args:
        device: The device, such as `/dev/nvme1n1`.
        mounts: Content of `/proc/self/mounts`.
        swaps: Content of `/proc/swaps`.
        holders: Returns the names of the devices that stand on a device.
    """
    found = []
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) > 1 and is_part(os.path.realpath(parts[0]), device):
            found.append(f"{parts[0]} is mounted at {parts[1]}")
    areas = [line.split()[0] for line in swaps.splitlines()[1:] if line.strip()]
    found += [f"{area} is swap space" for area in areas if is_part(os.path.realpath(area), device)]
    return found + [f"{name} stands on it" for name in holders(device)]


def is_part(name: str, device: str) -> bool:
    """Returns true if a name is that of a device, or of one of its partitions."""
    # The partitions of nvme1n1 are nvme1n1p1, ...; those of sdb are sdb1, ...
    end = r"p\d+" if device[-1:].isdigit() else r"\d+"
    return name == device or re.fullmatch(re.escape(device) + end, name) is not None


def holders_of(device: str) -> list[str]:
    """Returns the names of the devices that stand on a device or on one of its partitions."""
    block = Path("/sys/class/block") / Path(device).name
    return [entry.name for folder in (block, *block.glob(f"{block.name}*")) for entry in (folder / "holders").glob("*")]


def check(device: str) -> None:
    """Checks that a device is one, and that nobody uses it.

    Raises:
        RefusedError: it is none, or it is in use.
    """
    try:
        mode = Path(device).stat().st_mode
    except OSError as error:
        raise RefusedError(f"{device}: {error.strerror}: expected a block device, such as /dev/nvme1n1") from None
    if not stat.S_ISBLK(mode):
        raise RefusedError(f"{device}: no block device: expected one, such as /dev/nvme1n1")
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    swaps = Path("/proc/swaps").read_text(encoding="utf-8") if Path("/proc/swaps").exists() else ""
    if uses := users_of(device, mounts, swaps, holders_of):
        raise RefusedError(f"{device}: {'; '.join(uses)}: expected a device that nobody uses")
    try:
        # The kernel refuses an exclusive use where a file system, a volume or a swap area has the device.
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        raise RefusedError(f"{device}: {error.strerror}: expected a device that nobody uses") from None
    if shutil.which("fio") is None:
        raise RefusedError("fio: not found: expected version 3 on the search path")


def plan(device: str, minutes: int) -> str:
    """Returns the steps in words, with their time."""
    lines = [f"plan for {device}:"]
    lines += [f"  {at}. {job}: {what}" for at, (job, _, what) in enumerate(STEPS, 1)]
    whole = LOADS * LOAD_S / 60 + minutes
    lines.append(f"time: {whole:.0f} minutes, and that of writing the drive once; overwriting takes {minutes} of them")
    lines.append(f"ALL DATA ON {device} IS LOST")
    return "\n".join(lines)


def measure(device: str, minutes: int, out: Path) -> None:
    """Runs the steps; each that measures leaves a file in JSON."""
    out.mkdir(parents=True, exist_ok=True)
    for job, state, what in STEPS:
        print(f"{job}: {what}", flush=True)
        environment = {**os.environ, "DEVICE": device, "STATE": state, "SECONDS_OF_WRITES": str(60 * minutes)}
        output = ["--output-format=json+", f"--output={out / Path(job).stem}.json"] if state else []
        subprocess.run(["fio", *output, str(HERE / job)], env=environment, check=True)


def main(words: Sequence[str] | None = None) -> int:
    """Measures the device of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", help="the device: ALL ITS DATA IS LOST")
    parser.add_argument("--minutes", type=int, default=25, help="minutes of random overwriting before writes are measured")
    parser.add_argument("--out", type=Path, default=Path("measured"), help="folder of the results")
    parser.add_argument("--plan", action="store_true", help="print the plan, and do nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before the device is written")
    given = parser.parse_args(words)
    print(plan(given.device, given.minutes), flush=True)
    if given.plan:
        return 0
    try:
        check(os.path.realpath(given.device))
    except RefusedError as refused:
        print(f"measure.py: error: {refused}", file=sys.stderr)
        return 2
    if not given.yes and input(f"write the name of the device to go on ({given.device}): ").strip() != given.device:
        print("measure.py: nothing was done", file=sys.stderr)
        return 2
    measure(given.device, given.minutes, given.out)
    print(f"done: ssdlab twin points {given.out}/*.json --out points.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main())
