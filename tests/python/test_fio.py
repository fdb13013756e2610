"""Generated jobs, replayed and run by fio itself: the same requests, or a refusal.

fio draws other random numbers. What a job determines must be the same, request by request; of what is drawn, alignment,
range, coverage, mix and sizes must agree. Nothing depends on speed: a busy machine changes no sequence.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

import ssdlab

pytestmark = [
    pytest.mark.fio,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed: its jobs are compared with it"),
]

#: Longest wait for fio [s]; it needs seconds.
PATIENCE = 100
#: Fewer blocks than the preset, so that a sparse file of the same size stays small.
DRIVE = {"flash.blocks_per_plane": 64}
KIB = 1024
OPERATIONS = {0: "read", 1: "write", 2: "trim"}
COMPLETE = re.compile(r"^io +\d+ +complete: io_u \w+: off=(\w+),len=(\w+),ddir=(\d+),file=.*?(j\d+\.\d+)\.0$", re.MULTILINE)


class Io(NamedTuple):
    """One request."""

    op: str
    offset: int
    length: int


@dataclass
class Case:
    """A job, and how its requests are compared."""

    keys: list[str]
    #: True if the sequence of each operation is determined; otherwise addresses or lengths are drawn.
    is_determined: bool = True
    #: True if the operation of each request is drawn.
    is_mixed: bool = False
    #: True if each pass visits each block once.
    is_covering: bool = False
    #: Range of the offsets, and their alignment by operation.
    region: tuple[int, int] | None = None
    align: dict[str, int] = field(default_factory=dict)
    #: Number of clones.
    clones: int = 1
    #: True if the job refers to a file of the drive's size.
    on_file: bool = False

    @property
    def text(self) -> str:
        """The job, for ssdlab."""
        return "[j]\n" + "".join(f"{key}\n" for key in self.keys)


def fio_runs(cases: list[Case], drive_file: Path, folder: Path) -> list[list[list[Io]] | None]:
    """Returns the requests of each clone of each job; ``None`` for a job that fio refuses."""
    sections = []
    for number, case in enumerate(cases):
        # Unless a job names files, clone N of job `j` has the file `j.N.0`.
        if case.on_file:
            (folder / f"j{number}.0.0").unlink(missing_ok=True)
            (folder / f"j{number}.0.0").symlink_to(drive_file)
        sections.append("\n".join([f"[j{number}]", "stonewall", f"ioengine={'psync' if case.on_file else 'null'}", *case.keys]))
    path = folder / "jobs.fio"
    path.write_text("\n".join(sections) + "\n")
    done = subprocess.run(
        ["fio", "--debug=io", str(path)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if done.returncode != 0:
        if len(cases) == 1:
            return [None]
        half = len(cases) // 2
        return fio_runs(cases[:half], drive_file, folder) + fio_runs(cases[half:], drive_file, folder)
    by_clone: dict[str, list[Io]] = defaultdict(list)
    for offset, length, direction, clone in COMPLETE.findall(done.stdout):
        op = OPERATIONS.get(int(direction), "flush")
        by_clone[clone].append(Io(op, 0 if op == "flush" else int(offset, 16), int(length, 16)))
    return [[by_clone[f"j{number}.{clone}"] for clone in range(case.clones)] for number, case in enumerate(cases)]


def our_runs(case: Case) -> list[list[Io]]:
    """Returns the requests of each clone of a job."""
    result = ssdlab.run("tiny", ssdlab.Workload(text=case.text), set=DRIVE, record_commands=True)
    table = result.command_table()
    columns = [table.column(name).to_pylist() for name in ("job", "request", "op", "offset", "length")]
    jobs: list[list[tuple[int, Io]]] = [[] for _ in range(case.clones)]
    for job, request, *io in zip(*columns, strict=True):
        jobs[job].append((request, Io(*io)))
    return [[io for _, io in sorted(job)] for job in jobs]


def draw(rng: random.Random, user_bytes: int) -> Case:
    """Returns a job."""
    kind = rng.choice(["sequential"] * 4 + ["random"] * 4 + ["zoned", "split", "distribution", "percentage", "pairs", "clones"])
    return globals()[f"_{kind}"](rng, user_bytes)


def _common(rng: random.Random) -> list[str]:
    """Keys that change neither the order nor the addresses of requests."""
    # In fio, jobs of a flow that have not begun hold back the others: each has a flow of its own.
    flow = f"flow=3\nflow_id={rng.randrange(1 << 20)}"
    choices = [
        "iodepth=4",
        "thinktime=1",
        "thinktime=1\nthinktime_blocks=5",
        "thinktime=1\nthinktime_iotime=1s",
        "thinktime=1\nthinktime_blocks=3\nthinktime_blocks_type=issue",
        "rate_iops=1000000",
        "rate=4g\nio_submit_mode=inline",
        "rate_iops=1000000\nrate_process=poisson",
        flow,
        f"{flow}\nflow_sleep=10",
        "startdelay=1us",
        "ramp_time=0",
        "direct=1",
        "invalidate=0",
        "group_reporting",
        "runtime=1h",
        "randseed=17",
    ]
    picked = rng.sample(choices, rng.choice([0, 0, 1, 2, 3]))
    keys = [line for choice in picked for line in choice.split("\n")]
    names = [key.split("=")[0] for key in keys]
    kept = [key for place, key in enumerate(keys) if key.split("=")[0] not in names[:place]]
    return kept if not {"rate", "rate_iops"} <= set(names) else [key for key in kept if not key.startswith("rate=")]


def _block(rng: random.Random) -> int:
    return rng.choice([512, 4 * KIB, 4 * KIB, 8 * KIB, 12 * KIB, 64 * KIB])


def _limits(rng: random.Random, size: int, block: int) -> list[str]:
    choices = [
        [],
        [],
        [f"number_ios={rng.randrange(1, 300)}"],
        [f"io_size={rng.randrange(1, 3 * size // block) * block}"],
        [f"io_limit={rng.randrange(1, size // block + 1) * block}"],
        [f"loops={rng.randrange(1, 4)}"],
        ["io_size=50%"],
    ]
    return rng.choice(choices)


def _region(rng: random.Random, block: int, user_bytes: int) -> tuple[list[str], int, int, bool]:
    """Returns keys, first byte, size and whether it is a share of the drive."""
    if rng.random() < 0.25:
        offset, size = rng.choice([(0, 1), (50, 1), (99, 1), (33, 2)])
        align = rng.choice([[], [], [f"offset_align={64 * KIB}"]])
        grid = 64 * KIB if align else block
        first = -(-(user_bytes * offset // 100) // grid) * grid
        share = min(user_bytes * size // 100, user_bytes - first) // block * block
        return [f"offset={offset}%", f"size={size}%", *align], first, share, True
    offset = rng.choice([0, 0, 64 * KIB, rng.randrange(0, 64) * 4 * KIB])
    size = rng.randrange(2, 30) * 2 * block
    return [f"size={size}", *([f"offset={offset}"] if offset else [])], offset, size, False


def _sequential(rng: random.Random, user_bytes: int) -> Case:
    rw = rng.choice(["read", "write", "rw", "readwrite", "trim"])
    block = _block(rng)
    region, first, size, on_file = _region(rng, block, user_bytes)
    if on_file:
        rw = "read"
    is_mixed = rw in {"rw", "readwrite"}
    keys = [f"{rng.choice(['rw', 'readwrite'])}={rw}", f"{rng.choice(['bs', 'blocksize'])}={block}", *region, *_common(rng)]
    keys += [f"number_ios={rng.randrange(1, 300)}"] if on_file else _limits(rng, size, block)
    if is_mixed:
        # fio begins anew at both positions once the requests of both have moved `size`.
        keys = [key for key in keys if not key.startswith(("io_size", "io_limit"))]
        keys += [rng.choice(["rwmixread=30", "rwmixwrite=20", "rwmixread=100"])]
    elif rw == "write" and rng.random() < 0.6:
        keys += rng.choice([["fsync=3"], ["fdatasync=4"], ["end_fsync=1"], ["fsync=5", "end_fsync=1"]])
        keys = [key for key in keys if not key.startswith("loops")]
    return Case(keys, is_mixed=is_mixed, region=(first, first + size), on_file=on_file)


def _random(rng: random.Random, user_bytes: int) -> Case:
    rw = rng.choice(["randread", "randwrite", "randrw", "randtrim"])
    block = _block(rng)
    region, first, size, on_file = _region(rng, block, user_bytes)
    if on_file:
        rw = "randread"
    keys = [f"rw={rw}", f"bs={block}", *region, *_common(rng)]
    keys += [f"number_ios={rng.randrange(1, 300)}"] if on_file else _limits(rng, size, block)
    align = block
    is_covering = rng.random() < 0.6
    if not is_covering:
        keys.append(rng.choice(["norandommap", "norandommap=1"]))
        if rng.random() < 0.3:
            align = rng.choice([512, block, 2 * block])
            keys.append(f"{rng.choice(['blockalign', 'ba'])}={align}")
    is_mixed = rw == "randrw"
    if is_mixed:
        keys.append(rng.choice(["rwmixread=30", "rwmixread=75"]))
    aligns = dict.fromkeys(OPERATIONS.values(), align)
    return Case(
        keys,
        is_determined=False,
        is_mixed=is_mixed,
        is_covering=is_covering,
        region=(first, first + size),
        align=aligns,
        on_file=on_file,
    )


def _zoned(rng: random.Random, _user_bytes: int) -> Case:
    block = 4 * KIB
    zone = rng.choice([2, 4, 8]) * block
    spread = rng.choice([1, 1, 2]) * zone
    skip = rng.choice([0, block, zone])
    # fio ends a job in a zone that the region cuts; here the first zone follows the last that is whole.
    size = rng.randrange(6, 24) * (spread + skip)
    is_random = rng.random() < 0.3
    keys = [f"rw={'rand' * is_random}{rng.choice(['read', 'write'])}", f"bs={block}", f"size={size}", "zonemode=strided"]
    keys += [f"zonesize={zone}", f"zonerange={spread}", f"zoneskip={skip}", f"number_ios={rng.randrange(4, 100)}"]
    return Case(
        keys + _common(rng), is_determined=not is_random, region=(0, size), align=dict.fromkeys(OPERATIONS.values(), block)
    )


def _split(rng: random.Random, _user_bytes: int) -> Case:
    keys = [f"bssplit={rng.choice(['4k/50:16k/50', '4k/20:8k/30:64k/', '4k/90:12k/10'])}", "size=4m", "number_ios=1500"]
    if rng.random() < 0.5:
        return Case([f"rw={rng.choice(['read', 'write'])}", *keys, *_common(rng)], is_determined=False, region=(0, 4096 * KIB))
    align = dict.fromkeys(OPERATIONS.values(), 4 * KIB)
    keys += ["norandommap", f"rw={rng.choice(['randread', 'randwrite'])}"]
    return Case(keys + _common(rng), is_determined=False, region=(0, 4096 * KIB), align=align)


def _distribution(rng: random.Random, _user_bytes: int) -> Case:
    kind = rng.choice(["random", "zoned:60/10:30/20:10/70", "normal:20", "zipf:1.2", "pareto:0.2"])
    keys = ["rw=randread", "bs=4k", "size=4m", f"random_distribution={kind}", "number_ios=3000", "norandommap", *_common(rng)]
    return Case(keys, is_determined=False, region=(0, 4096 * KIB), align={"read": 4 * KIB})


def _percentage(rng: random.Random, _user_bytes: int) -> Case:
    keys = ["rw=randread", "bs=4k", "size=4m", "number_ios=2000", "norandommap"]
    keys.append(f"percentage_random={rng.choice([0, 20, 50, 90])}")
    return Case(keys + _common(rng), is_determined=False, region=(0, 4096 * KIB), align={"read": 4 * KIB})


def _pairs(rng: random.Random, _user_bytes: int) -> Case:
    rw = rng.choice(["trimwrite", "randtrimwrite"])
    size = rng.randrange(4, 40) * 8 * KIB
    keys = [f"rw={rw}", "bs=8k", f"size={size}", *rng.choice([[], [f"number_ios={rng.randrange(1, 30)}"]])]
    is_random = rw.startswith("rand")
    return Case(
        keys,
        is_determined=not is_random,
        is_covering=is_random,
        region=(0, size),
        align=dict.fromkeys(OPERATIONS.values(), 8 * KIB),
    )


def _clones(rng: random.Random, _user_bytes: int) -> Case:
    clones = rng.randrange(2, 4)
    keys = [
        f"rw={rng.choice(['read', 'write'])}",
        "bs=4k",
        "size=64k",
        f"numjobs={clones}",
        f"offset_increment={rng.choice(['64k', '32k', '4k'])}",
    ]
    return Case(keys, region=(0, 512 * KIB), clones=clones)


def is_close(ours: int, theirs: int) -> bool:
    """Returns true if two counts of independent draws are no further apart than chance makes them."""
    return abs(ours - theirs) <= 6 * (ours + theirs + 1) ** 0.5 + 3


def shares(sequence: list[Io], case: Case) -> Counter[int]:
    """Returns how many requests fall in each of 16 parts of the region."""
    assert case.region is not None
    first, end = case.region
    return Counter((io.offset - first) * 16 // (end - first) for io in sequence if io.op != "flush")


def compare(case: Case, ours: list[Io], theirs: list[Io]) -> list[str]:
    """Returns what differs between two runs of one job."""
    if case.is_determined and not case.is_mixed:
        return [] if ours == theirs else [first_difference(ours, theirs)]
    found = (
        []
        if sum(io.length for io in ours) == sum(io.length for io in theirs) or "bssplit" in case.text
        else ["other bytes in all"]
    )
    if "bssplit" not in case.text and len(ours) != len(theirs):
        found.append(f"{len(ours)} requests, fio has {len(theirs)}")
    for op in {io.op for io in ours + theirs}:
        own, other = [io for io in ours if io.op == op], [io for io in theirs if io.op == op]
        if case.is_determined:
            both = min(len(own), len(other))
            found += [] if own[:both] == other[:both] else [f"{op}: {first_difference(own[:both], other[:both])}"]
        if not is_close(len(own), len(other)):
            found.append(f"{len(own)} of {op}, fio has {len(other)}")
    if not case.is_determined:
        found += compare_drawn(case, ours, theirs)
    return found


def compare_drawn(case: Case, ours: list[Io], theirs: list[Io]) -> list[str]:
    """Returns what differs between two runs of a job whose addresses or lengths are drawn."""
    found = []
    for who, sequence in (("ours", ours), ("fio's", theirs)):
        for io in sequence:
            if case.region and not case.region[0] <= io.offset <= io.offset + io.length <= case.region[1]:
                found.append(f"{who} leave the region: {io}")
                break
            align = case.align.get(io.op, 1)
            if case.align and (io.offset - (case.region or (0, 0))[0]) % align:
                found.append(f"{who} are not aligned to {align}: {io}")
                break
    lengths = [Counter(io.length for io in sequence) for sequence in (ours, theirs)]
    found += [
        f"{n} bytes: {lengths[0][n]}, fio has {lengths[1][n]}"
        for n in lengths[0] | lengths[1]
        if not is_close(lengths[0][n], lengths[1][n])
    ]
    if case.is_covering:
        # The last pass may be a part of one; each pass before it has each block once.
        most = [max(Counter(io.offset for io in sequence).values(), default=0) for sequence in (ours, theirs)]
        blocks = [len({io.offset for io in sequence}) for sequence in (ours, theirs)]
        found += [] if most == most[::-1] and blocks == blocks[::-1] else [f"visits {most}, blocks {blocks} (ours, fio's)"]
    elif "zipf" not in case.text and "pareto" not in case.text:
        parts = [shares(sequence, case) for sequence in (ours, theirs)]
        # Requests that follow one another are not independent. At the edges, fio's `normal` has more than ours.
        compared = range(0) if "percentage_random" in case.text else range(4, 12) if "normal" in case.text else range(16)
        found += [
            f"part {n} of 16: {parts[0][n]}, fio has {parts[1][n]}" for n in compared if not is_close(parts[0][n], parts[1][n])
        ]
    else:
        tops = [sum(count for _, count in Counter(io.offset for io in sequence).most_common(20)) for sequence in (ours, theirs)]
        found += [] if abs(tops[0] - tops[1]) < 0.1 * max(tops) else [f"popular blocks: {tops} (ours, fio's)"]
    follow = [sum(one.offset + one.length == two.offset for one, two in pairwise(sequence)) for sequence in (ours, theirs)]
    if "zone" not in case.text and not is_close(*follow):
        found.append(f"{follow[0]} requests follow the one before, fio has {follow[1]}")
    return found


def first_difference(ours: list[Io], theirs: list[Io]) -> str:
    """Returns the first place at which two sequences differ."""
    place = next((n for n, (one, two) in enumerate(zip(ours, theirs, strict=False)) if one != two), min(len(ours), len(theirs)))
    return f"request {place}: {ours[place : place + 2]}, fio has {theirs[place : place + 2]} ({len(ours)}, {len(theirs)})"


def test_generated_jobs_have_the_requests_of_fio(tmp_path: Path) -> None:
    """Compares 240 jobs, each with what fio makes of it."""
    user_bytes = ssdlab.describe("tiny", set=DRIVE)["user_bytes"]
    assert user_bytes <= 64 << 20
    rng = random.Random(1)
    cases = [draw(rng, user_bytes) for _ in range(240)]
    drive_file = tmp_path / "drive"
    with drive_file.open("wb") as file:
        file.truncate(user_bytes)
    theirs = [run for first in range(0, len(cases), 30) for run in fio_runs(cases[first : first + 30], drive_file, tmp_path)]
    assert drive_file.stat().st_size == user_bytes, "no job reaches past the drive's end"
    faults, refused = [], []
    for case, runs in zip(cases, theirs, strict=True):
        try:
            ours = our_runs(case)
        except ssdlab.InputError as error:
            refused.append(f"{case.text}{error}")
            continue
        if runs is None:
            faults.append(f"fio refuses\n{case.text}")
            continue
        found = [what for own, other in zip(ours, runs, strict=True) for what in compare(case, own, other)]
        if found:
            faults.append("\n".join([*found, case.text]))
    assert not faults, f"{len(faults)} of {len(cases)} jobs differ:\n\n" + "\n".join(faults)
    assert all("expected" in text for text in refused), refused
    assert len(refused) < len(cases) // 20, refused
