"""Generated jobs, replayed and run by fio itself: the same requests, or a refusal.

fio draws other random numbers. What a job determines must be the same, request by request; of what is drawn, alignment,
range, coverage, mix and sizes must agree. Nothing depends on speed: a busy machine changes no sequence.
Most jobs access a sparse file of the drive's size, which holds at most 64 MiB; trims access nothing (engine null).
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
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

    #: Its keys; `@` stands for the number of the job.
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
    #: True if fio's job accesses a file of the drive's size, false if it accesses nothing, in a region that ends where
    #: its file ends.
    on_file: bool = True
    #: True if time ends the job, so that only the beginnings are compared.
    is_timed: bool = False
    #: True if the job stands after another one.
    has_other: bool = False
    #: True if the number of requests is determined.
    is_counted: bool = True
    #: True if the job may be refused here.
    may_be_refused: bool = False

    @property
    def text(self) -> str:
        """The job, for ssdlab."""
        other = ["[a@]", "rw=read", "size=4k"] if self.has_other else []
        return "".join(f"{line}\n" for line in [*other, "[j]", *self.keys]).replace("@", "0")

    def sections(self, number: int) -> str:
        """The job, for fio."""
        # As threads of one process, jobs do not break the lines of each other.
        engine = f"thread\nioengine={'psync' if self.on_file else 'null'}"
        other = [f"[a{number}]", "stonewall", "ioengine=null", "rw=read", "size=4k"] if self.has_other else []
        return "\n".join([*other, f"[j{number}]", "stonewall", engine, *self.keys]).replace("@", str(number))


def fio_runs(cases: list[Case], drive_file: Path, folder: Path) -> list[list[list[Io]] | None]:
    """Returns the requests of each clone of each job; ``None`` for a job that fio refuses."""
    for number, case in enumerate(cases):
        # Clone N of job `j` has the file `j.N.0`.
        for clone in range(case.clones):
            link = folder / f"j{number}.{clone}.0"
            link.unlink(missing_ok=True)
            if case.on_file:
                link.symlink_to(drive_file)
    path = folder / "jobs.fio"
    path.write_text("\n".join(case.sections(number) for number, case in enumerate(cases)) + "\n")
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
    jobs: list[list[tuple[int, Io]]] = [[] for _ in range(case.clones + case.has_other)]
    for job, request, *io in zip(*columns, strict=True):
        jobs[job].append((request, Io(*io)))
    return [[io for _, io in sorted(job)] for job in jobs[case.has_other :]]


KINDS = {
    "sequential": 4,
    "random": 4,
    "zoned": 1,
    "split": 1,
    "distribution": 1,
    "percentage": 1,
    "pairs": 1,
    "clones": 1,
    "suffix": 2,
    "amounts": 3,
    "uneven": 2,
    "passes": 2,
}
#: Keys that are accepted and change no request, with the values that are accepted.
WITHOUT_EFFECT = """
    verify=0 verify_only=0 verify_state_load=0 experimental_verify=0 buffer_compress_percentage=0 dedupe_percentage=0
    sync=0 buffered=0 atomic=0 readfua=0 write_barrier=0 fsync_on_close=0 bs_unaligned=0 blocksize_unaligned=0
    bs_is_seq_rand=0 nrfiles=1 nr_files=1 file_append=0 fill_device=0 fill_fs=0 pre_read=0 random_generator=tausworthe
    iodepth_batch=1 iodepth_batch_submit=1 iodepth_batch_complete=1 iodepth_batch_complete_min=1 serialize_overlap=0
    rate_ignore_thinktime=0 max_latency=0 latency_target=0 latency_run=0 trim_percentage=0 trim_backlog=0
    cmdprio_percentage=0 fdp=0 dataplacement=none write_mode=write kb_base=1024 read_beyond_wp=0 max_open_zones=0
    job_max_open_zones=0 ignore_zone_limits=0 zone_reset_threshold=0 zone_reset_frequency=0 do_verify=1 verifysort=1
    verifysort_nr=4 verify_interval=4k verify_offset=64 verify_pattern=0xff verify_pattern_interval=1 verify_fatal=0
    verify_dump=0 verify_async=0 verify_async_cpus=0 verify_backlog=0 verify_backlog_batch=0 verify_state_save=0
    verify_write_sequence=1 verify_header_seed=1 trim_verify_zero=1 trim_backlog_batch=0 replay_no_stall=0
    replay_redirect=x replay_scale=1 replay_align=512 replay_time_scale=100 replay_skip=read read_iolog_chunked=0
    merge_blktrace_file=x merge_blktrace_scalars=100 merge_blktrace_iters=1 exit_what=all rate_cycle=1000
    latency_window=1s latency_percentile=100 steadystate_duration=0 ss_dur=0 steadystate_ramp_time=0 ss_ramp=0
    steadystate_check_interval=1 dedupe_mode=repeat dedupe_working_set_percentage=5 dedupe_global=0 cmdprio_class=1
    cmdprio=1 rwmixcycle=500 fdp_pli_select=random plid_select=random continue_on_error=none ignore_error=EIO
    error_dump=0 exitall_on_error=0 allrandrepeat=1 use_os_rand=0 softrandommap=0 zero_buffers=1 refill_buffers=1
    scramble_buffers=1 buffer_compress_chunk=512
""".split()  # noqa: SIM905
#: Keys that are accepted and not drawn.
NOT_DRAWN = {
    "writefua": "an option of fio's engine sg alone, which needs a SCSI device",
    "verify_async": "fio starts threads, and what they do depends on the machine",
    "replay_redirect": "acts on a log, in whose place fio looks for the file that it names",
    "merge_blktrace_file": "acts on logs, which fio reads at once",
    "rwmixcycle": "fio 3.33 refuses it, as it has no meaning any more",
    "verify_pattern": "fio refuses it for reads of data that it has not written",
}


def accepted_keys() -> set[str]:
    """Returns the keys, with aliases, that a job may have here, except those that concern the host or reports."""
    page = (Path(__file__).parents[2] / "docs/reference/workloads.md").read_text()
    page = page.split("<!-- keys of fio")[1].split("<!-- end of the keys")[0]
    honoured, ignored, refused = [*page.split("| --- | --- |")[1:3], page.rsplit("| --- |", 1)[1]]
    names = re.findall(r"^\| (`[^|]*`) \|", honoured.split("\n\n")[0], re.MULTILINE)
    names += [
        keys
        for reason, keys in re.findall(r"^\| (.*?) \| (.*) \|$", ignored.split("\n\n")[0], re.MULTILINE)
        if not reason.startswith("Concerns ")
    ]
    names += [keys for keys, values in re.findall(r"^\| (.*?) \| (.*?) \|", refused, re.MULTILINE) if values != "none"]
    return {key for cell in names for key in re.findall(r"`([^`]+)`", cell)}


def unknown(keys: Iterable[str], folder: Path) -> set[str]:
    """Returns those of the keys, with or without values, that the installed fio does not know."""
    path = folder / "keys.fio"
    path.write_text("\n".join(["[j]", "size=1m", "ioengine=null", *keys]) + "\n")
    done = subprocess.run(["fio", "--parse-only", str(path)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return set(re.findall(r"Bad option <([^>]*)>", done.stdout + done.stderr))


def draw(rng: random.Random, user_bytes: int, idle: list[str]) -> Case:
    """Returns a job, with a few of the keys that change nothing."""
    case: Case = globals()[f"_{rng.choices(list(KINDS), list(KINDS.values()))[0]}"](rng, user_bytes)
    case.keys += rng.sample(idle, 2)
    return case


def _common(rng: random.Random) -> list[str]:
    """Keys that change neither the order nor the addresses of requests."""
    # In fio, jobs of a flow that have not begun hold back the others: each has a flow of its own.
    flow = "flow=3\nflow_id=@"
    choices = [
        "iodepth=4",
        "thinktime=1",
        "thinktime=1\nthinktime_blocks=5",
        "thinktime=1\nthinktime_iotime=1s",
        "thinktime=1\nthinktime_blocks=3\nthinktime_blocks_type=issue",
        "rate_iops=1000000",
        "rate=4g\nio_submit_mode=inline",
        "rate_iops=20000\nrate_process=poisson",
        flow,
        f"{flow}\nflow_sleep=10",
        "startdelay=1us",
        "wait_for_previous",
        "stonewall",
        "ramp_time=0",
        "invalidate=0",
        "group_reporting",
        "runtime=1h",
        "timeout=1h",
        "filename=j@.0.0",
        "randseed=17",
        "randrepeat=1",
        "percentage_random=100",
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
    region, first, size, is_share = _region(rng, block, user_bytes)
    if is_share:
        rw = "read"
    is_mixed = rw in {"rw", "readwrite"}
    keys = [f"{rng.choice(['rw', 'readwrite'])}={rw}", f"{rng.choice(['bs', 'blocksize'])}={block}", *region, *_common(rng)]
    keys += [f"number_ios={rng.randrange(1, 300)}"] if is_share else _limits(rng, size, block)
    if is_mixed:
        keys += [rng.choice(["rwmixread=30", "rwmixwrite=20", "rwmixread=100"])]
    elif rw == "write" and rng.random() < 0.6 and "rate_process=poisson" not in keys:  # fio 3.33 divides by zero
        keys += rng.choice([["fsync=3"], ["fdatasync=4"], ["end_fsync=1"], ["fsync=5", "end_fsync=1"]])
    return Case(keys, is_mixed=is_mixed, region=(first, first + size), on_file=rw != "trim")


def _random(rng: random.Random, user_bytes: int) -> Case:
    rw = rng.choice(["randread", "randwrite", "randrw", "randtrim"])
    block = _block(rng)
    region, first, size, is_share = _region(rng, block, user_bytes)
    if is_share:
        rw = "randread"
    keys = [f"rw={rw}", f"bs={block}", *region, *_common(rng)]
    keys += [f"number_ios={rng.randrange(1, 300)}"] if is_share else _limits(rng, size, block)
    align = block
    is_covering = rng.random() < 0.6
    if not is_covering:
        keys.append(rng.choice(["norandommap", "norandommap=1"]))
        if rng.random() < 0.3:
            align = rng.choice([512, block, 2 * block])
            keys.append(f"{rng.choice(['blockalign', 'ba'])}={align}")
    elif rng.random() < 0.2:
        keys.append(f"blockalign={block}")
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
        on_file=rw != "randtrim",
    )


def _zoned(rng: random.Random, user_bytes: int) -> Case:
    block = 4 * KIB
    zone = rng.choice([2, 4, 8]) * block
    spread = rng.choice([1, 1, 2]) * zone
    skip = rng.choice([0, block, zone])
    size = rng.randrange(1, 24) * (spread + skip)
    # Zones follow one another up to the drive's end, which cuts the last.
    offset = rng.choice([0, (user_bytes - size) // block * block])
    is_random = rng.random() < 0.3
    keys = [f"rw={'rand' * is_random}{rng.choice(['read', 'write'])}", f"bs={block}", f"size={size}", "zonemode=strided"]
    keys += [f"zonesize={zone}", f"zonerange={spread}", f"zoneskip={skip}", f"offset={offset}"]
    # Where the last zone is cut, a random job ends at a request that is drawn.
    keys += rng.choice([[], [f"number_ios={rng.randrange(4, 100)}"], [f"io_size={3 * size}"]]) if not is_random else []
    return Case(
        keys + _common(rng),
        is_determined=not is_random,
        region=(offset, user_bytes),
        align=dict.fromkeys(OPERATIONS.values(), block),
    )


def _split(rng: random.Random, _user_bytes: int) -> Case:
    keys = [f"bssplit={rng.choice(['4k/50:16k/50', '4k/20:8k/30:64k/', '4k/90:12k/10'])}", "size=4m", "number_ios=1500"]
    if rng.random() < 0.5:
        return Case(
            [f"rw={rng.choice(['read', 'write'])}", *keys, *_common(rng)],
            is_determined=False,
            is_counted=False,
            region=(0, 4096 * KIB),
        )
    align = dict.fromkeys(OPERATIONS.values(), 4 * KIB)
    keys += ["norandommap", f"rw={rng.choice(['randread', 'randwrite'])}"]
    return Case(keys + _common(rng), is_determined=False, is_counted=False, region=(0, 4096 * KIB), align=align)


def _distribution(rng: random.Random, _user_bytes: int) -> Case:
    kind = rng.choice(["random", "zoned:60/10:30/20:10/70", "normal:20", "zipf:1.2", "pareto:0.2"])
    keys = ["rw=randread", "bs=4k", "size=4m", f"random_distribution={kind}", "number_ios=3000", "norandommap", *_common(rng)]
    return Case(keys, is_determined=False, region=(0, 4096 * KIB), align={"read": 4 * KIB})


def _percentage(rng: random.Random, _user_bytes: int) -> Case:
    # A pass ends where a request would follow one at the region's end, after a number of requests that is drawn.
    keys = ["rw=randread", "bs=4k", "size=4m", "io_size=8m", "norandommap"]
    keys.append(f"percentage_random={rng.choice([0, 20, 50, 90])}")
    keys += [key for key in _common(rng) if not key.startswith("percentage")]
    return Case(keys, is_determined=False, region=(0, 4096 * KIB), align={"read": 4 * KIB})


def _pairs(rng: random.Random, _user_bytes: int) -> Case:
    rw = rng.choice(["trimwrite", "randtrimwrite"])
    size = rng.randrange(4, 40) * 8 * KIB
    limits = [[], [f"number_ios={rng.randrange(1, 30)}"], ["loops=2"], [f"io_size={2 * size}"], ["io_size=20k"]]
    keys = [f"rw={rw}", "bs=8k", f"size={size}", *rng.choice(limits)]
    is_random = rw.startswith("rand")
    return Case(
        keys,
        is_determined=not is_random,
        is_covering=is_random,
        region=(0, size),
        align=dict.fromkeys(OPERATIONS.values(), 8 * KIB),
        on_file=False,
    )


def _clones(rng: random.Random, _user_bytes: int) -> Case:
    clones = rng.randrange(2, 4)
    keys = [
        f"rw={rng.choice(['read', 'write'])}",
        "bs=4k",
        "size=64k",
        f"numjobs={clones}",
        f"offset_increment={rng.choice(['64k', '32k', '4k', '10%'])}",
    ]
    return Case(keys, clones=clones)


def _suffix(rng: random.Random, user_bytes: int) -> Case:
    """Jobs with a suffix of `rw`."""
    block = rng.choice([4, 8]) * KIB
    size = rng.randrange(4, 40) * block
    first = rng.choice([0, 64 * KIB, (user_bytes - size) // block * block])
    keys = [f"bs={block}", f"size={size}", f"offset={first}", *_common(rng), *_limits(rng, size, block)]
    if rng.random() < 0.6:
        step = rng.choice([-3 * block, -2 * block, -block, block, 2 * block, 512])
        return Case([f"rw={rng.choice(['read', 'write'])}:{step}", *keys], region=(first, user_bytes))
    keys = [key for key in keys if not key.startswith(("io_", "loops", "number", "percentage"))]
    keys += [f"rw={rng.choice(['randread', 'randwrite'])}:{rng.randrange(2, 9)}", f"io_size={4 * size}"]
    keys += rng.choice([[], ["norandommap"], ["rw_sequencer=identical"], ["rw_sequencer=sequential"]])
    return Case(keys, is_determined=False, region=(first, first + size), align=dict.fromkeys(OPERATIONS.values(), block))


def _amounts(rng: random.Random, _user_bytes: int) -> Case:
    """Shares of `offset`, `size` and `io_size`, also beyond the drive's end."""
    rw = rng.choice(["read", "read", "randread"])
    keys = [f"rw={rw}", f"bs={rng.choice([64 * KIB, 256 * KIB, 200 * 512])}"]
    shares = [1, 7, 25, 33, 50, 75, 90, 99, 100, 100]
    keys += rng.choice([[], [f"offset={rng.choice(shares[:-2])}%"]])
    # A size in bytes that does not fit makes fio's file longer.
    keys += rng.choice([[], [f"size={rng.choice([*shares, 101, 150, 200])}%"], ["size=500k"]])
    keys += rng.choice([[], [f"io_size={rng.choice(shares)}%"]])
    return Case(keys, is_determined=rw == "read", is_covering=True, may_be_refused=True)


def _uneven(rng: random.Random, user_bytes: int) -> Case:
    """Regions that hold no whole number of blocks, within the drive and at its end."""
    rw = rng.choice(["read", "write", "rw", "randread", "randwrite", "randrw"])
    block = rng.choice([4, 12, 20]) * KIB
    size = rng.randrange(2 * block // 512, 20 * block // 512) * 512
    first = rng.choice([0, 64 * KIB, user_bytes - size])
    keys = [f"rw={rw}", f"bs={block}", f"offset={first}", *rng.choice([[f"size={size}"], [f"size={size}"], []])]
    if len(keys) == 3:
        first = user_bytes - size
        keys[2] = f"offset={first}"
    is_random = rw.startswith("rand")
    keys += ["norandommap"] if is_random and rng.random() < 0.5 else []
    keys += rng.choice([[], [f"io_size={rng.randrange(size // 512, 3 * size // 512) * 512}"], ["loops=2"], ["io_size=70%"]])
    aligns = dict.fromkeys(OPERATIONS.values(), block) if is_random else {}
    end = min(first + -(-size // block) * block, user_bytes)
    return Case(
        keys,
        is_determined=not is_random,
        is_mixed=rw.endswith("rw"),
        # At the drive's end, a pass of a mixed job ends once the next of either operation would pass it.
        is_counted=rw != "rw" or first + size < user_bytes,
        is_covering=is_random and "norandommap" not in keys,
        region=(first, end),
        align=aligns,
    )


def _passes(rng: random.Random, _user_bytes: int) -> Case:
    """Jobs that go over their region more than once, by number, bytes or time; some wait for another."""
    block = rng.choice([4, 8]) * KIB
    size = rng.randrange(3, 30) * block
    rw = rng.choice(["read", "write", "randread", "randwrite", "randread"])
    keys = [f"rw={rw}", f"bs={block}", f"size={size}"]
    is_timed = rng.random() < 0.2
    if is_timed:
        keys += ["time_based", "runtime=1", "rate_iops=64"]
    else:
        keys += rng.choice([[], ["loops=3"], [f"number_ios={rng.randrange(1, 40)}"]])
        keys += rng.choice([[], [f"io_size={rng.randrange(1, 4 * size // block) * block}"]])
        keys += rng.choice([[], [], ["randrepeat=0"]])
        keys += rng.choice([[], ["fsync=7", "end_fsync=1"]]) if "write" in rw else []
    has_other = rng.random() < 0.3
    keys += ["wait_for=a@"] if has_other else []
    is_random = rw.startswith("rand")
    return Case(
        keys,
        is_determined=not is_random,
        is_covering=is_random and not is_timed,
        region=(0, size),
        align=dict.fromkeys(OPERATIONS.values(), block) if is_random else {},
        is_timed=is_timed,
        has_other=has_other,
    )


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
    if case.is_timed:
        # Both make 64 requests a second, unless the machine is busy.
        both = min(len(ours), len(theirs))
        ours, theirs = ours[:both], theirs[:both]
    # At the start of a repetition, fio 3.33 repeats a flush.
    ours, theirs = without_repeated_flushes(ours), without_repeated_flushes(theirs)
    if case.is_determined and not case.is_mixed:
        return [] if ours == theirs else [first_difference(ours, theirs)]
    found = []
    if case.is_counted and "bssplit" not in case.text and len(ours) != len(theirs):
        found.append(f"{len(ours)} requests, fio has {len(theirs)}")
    if case.is_counted and sum(io.length for io in ours) != sum(io.length for io in theirs):
        found.append("other bytes in all")
    for op in {io.op for io in ours + theirs}:
        own, other = [io for io in ours if io.op == op], [io for io in theirs if io.op == op]
        if not is_close(len(own), len(other)):
            found.append(f"{len(own)} of {op}, fio has {len(other)}")
    if case.is_determined:
        found += [f"{who}: {what}" for who, run in (("ours", ours), ("fio's", theirs)) for what in irregular(case, run)]
    else:
        found += compare_drawn(case, ours, theirs)
        found += [] if repetition(ours) == repetition(theirs) or not case.is_covering else ["passes repeat each other otherwise"]
    return found


def without_repeated_flushes(sequence: list[Io]) -> list[Io]:
    """Returns a sequence without the flushes that follow a flush."""
    return [io for before, io in pairwise([None, *sequence]) if io is not None and not (before and before.op == io.op == "flush")]


def irregular(case: Case, sequence: list[Io]) -> list[str]:
    """Returns where a mixed sequence is none: each operation goes on, until one has none left, and both begin anew."""
    assert case.region is not None
    first, end = case.region
    places: dict[str, int] = {}
    for number, io in enumerate(sequence):
        if io.offset != places.get(io.op, first):
            at_end = any(place + io.length > end for place in places.values())
            if io.offset != first or not at_end:
                return [f"request {number}: {io}, after {places}"]
            places = {}
        places[io.op] = io.offset + io.length
    return []


def repetition(sequence: list[Io]) -> bool | None:
    """Returns true if the second pass over the blocks repeats the first; ``None`` if there is none."""
    starts = [io.offset for io in sequence if io.op != "flush"]
    blocks = len(set(starts))
    # Few blocks have the same order by chance.
    return None if blocks < 8 or len(starts) < 2 * blocks else starts[:blocks] == starts[blocks : 2 * blocks]


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
    """Compares 360 jobs, each with what fio makes of it, and draws each key that is accepted."""
    user_bytes = ssdlab.describe("tiny", set=DRIVE)["user_bytes"]
    assert user_bytes <= 64 << 20
    rng = random.Random(1)
    strange = unknown(WITHOUT_EFFECT, tmp_path)
    idle = [key for key in WITHOUT_EFFECT if key.split("=")[0] not in NOT_DRAWN and key not in strange]
    cases = [draw(rng, user_bytes, idle) for _ in range(360)]
    drawn = {key.split("=")[0] for case in cases for key in case.keys}
    missing = sorted(accepted_keys() - drawn - set(NOT_DRAWN))
    missing = sorted(set(missing) - unknown(missing, tmp_path))
    assert not missing, f"accepted, and compared with fio by no job: draw them, or list them with a reason: {missing}"
    drive_file = tmp_path / "drive"
    with drive_file.open("wb") as file:
        file.truncate(user_bytes)
    theirs = [run for first in range(0, len(cases), 30) for run in fio_runs(cases[first : first + 30], drive_file, tmp_path)]
    assert drive_file.stat().st_size == user_bytes, "no job reaches past the drive's end"
    faults, refused, unexplained = [], [], []
    for case, runs in zip(cases, theirs, strict=True):
        try:
            ours = our_runs(case)
        except ssdlab.InputError as error:
            if not case.may_be_refused:
                refused.append(f"{case.text}{error}")
            unexplained += [] if "expected" in str(error) else [str(error)]
            continue
        if runs is None:
            faults.append(f"fio refuses\n{case.text}")
            continue
        found = [what for own, other in zip(ours, runs, strict=True) for what in compare(case, own, other)]
        if found:
            faults.append("\n".join([*found, case.text]))
    assert not faults, f"{len(faults)} of {len(cases)} jobs differ:\n\n" + "\n".join(faults)
    assert not unexplained
    assert len(refused) < len(cases) // 20, refused


class Paced(NamedTuple):
    """A job that is held to a pace."""

    keys: str
    #: Requests per second of simulated time, as the keys have it, by operation.
    per_second: dict[str, int]
    #: Longest gap between two requests, as the keys have it [ms].
    gap_ms: float
    #: True if the gaps are drawn.
    is_drawn: bool = False


PACED = {
    "rate_iops": Paced("rw=read rate_iops=200", {"read": 200}, 5),
    "rate_iops of two": Paced("rw=rw rate_iops=100,300", {"read": 100, "write": 300}, 10),
    "rate_iops of writes": Paced("rw=randwrite rate_iops=,250 iodepth=4", {"write": 250}, 4),
    "rate": Paced("rw=randread rate=2m", {"read": 512}, 2),
    "rate of two": Paced("rw=randrw rate=1m,2m", {"read": 256, "write": 512}, 4),
    "poisson": Paced("rw=randread rate_iops=400 rate_process=poisson", {"read": 400}, 30, is_drawn=True),
    "thinktime": Paced("rw=randread thinktime=50ms", {"read": 20}, 50),
    "thinktime_blocks": Paced("rw=randread thinktime=50ms thinktime_blocks=10", {"read": 200}, 50),
    "in flight": Paced("rw=randread thinktime=50ms thinktime_blocks=8 iodepth=4", {"read": 160}, 50),
    "issued": Paced("rw=read thinktime=100ms thinktime_blocks=20 thinktime_blocks_type=issue", {"read": 200}, 100),
    "thinktime_iotime": Paced("rw=randread rate_iops=400 thinktime=15ms thinktime_iotime=100ms", {"read": 400}, 18),
    "both": Paced("rw=randread rate_iops=200 thinktime=50ms thinktime_blocks=10", {"read": 200}, 50),
}


@pytest.fixture(scope="module")
def paced_by_fio(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, str]]]:
    """Runs all paced jobs for 2 s, at the same time; returns time [ms] and operation of the requests of each."""
    folder = tmp_path_factory.mktemp("paced")
    lines = ["[global]", "ioengine=null", "size=64m", "bs=4k", "time_based", "runtime=2", "thread"]
    for number, paced in enumerate(PACED.values()):
        lines += [f"[j{number}]", *paced.keys.split(), f"write_lat_log=j{number}"]
    (folder / "jobs.fio").write_text("\n".join(lines) + "\n")
    try:
        subprocess.run(["fio", "jobs.fio"], cwd=folder, capture_output=True, timeout=PATIENCE, check=True)
    except subprocess.TimeoutExpired:
        pytest.skip(f"fio did not end within {PATIENCE} s")
    found = {}
    for number, name in enumerate(PACED):
        rows = [line.split(",") for line in (folder / f"j{number}_lat.{number + 1}.log").read_text().splitlines()]
        found[name] = [(int(row[0]), OPERATIONS[int(row[2])]) for row in rows]
    return found


def per_second(requests: list[tuple[int, str]]) -> Counter[tuple[int, str]]:
    """Returns the requests in each of two seconds, by operation, from times in ms."""
    return Counter((at // 1000, op) for at, op in requests if at < 2000)


@pytest.mark.parametrize("name", PACED)
def test_paced_jobs_have_the_counts_per_second_of_fio(name: str, paced_by_fio: dict[str, list[tuple[int, str]]]) -> None:
    """Compares each second of simulated time with one of fio's, where fio kept the pace itself."""
    paced, theirs = PACED[name], per_second(paced_by_fio[name])
    text = "\n".join(["[j]", "size=64k", "bs=4k", "time_based", "runtime=2", *paced.keys.split()]) + "\n"
    result = ssdlab.run("tiny", ssdlab.Workload(text=text), record_commands=True)
    table = result.command_table()
    times, ops = table.column("submitted_ns").to_pylist(), table.column("op").to_pylist()
    ours = per_second([(at // 1_000_000, op) for at, op in zip(times, ops, strict=True)])

    def agrees(found: int, expected: int) -> bool:
        return is_close(found, expected) if paced.is_drawn else abs(found - expected) <= 0.04 * expected + 2

    seconds = [(second, op) for second in (0, 1) for op in paced.per_second]
    assert all(agrees(ours[at], paced.per_second[at[1]]) for at in seconds), ours
    begun = sorted(at for at, _ in paced_by_fio[name])
    longest = max(two - one for one, two in pairwise([*begun, 2000]))
    # On a busy machine fio falls behind at once, or by a little at each request.
    behind = [theirs[at] < ours[at] and not agrees(ours[at], theirs[at]) for at in seconds]
    is_slow = longest > paced.gap_ms + 2 or all(theirs[at] >= 0.8 * paced.per_second[at[1]] for at in seconds)
    if any(behind) and is_slow:
        pytest.skip(f"fio fell behind its own pace: {longest} ms from one request to the next, {paced.gap_ms:g} ms by its keys")
    assert all(agrees(ours[at], theirs[at]) for at in seconds), (ours, theirs)


#: Why an example of fio does not run here, in the order in which the reasons are looked for; the first group of each is
#: what is refused.
REASONS = (
    ("engine", r"ioengine: `([\w-]+(?::[^`]*)?)` is refused"),
    ("engine", r"unknown ioengine `([^`]+)`"),
    ("variable", r"variable `(\w+)` has no value"),
    ("key", r"fio key `([\w-]+)` is refused"),
    ("zones", r"zonemode=(zbd): the drive has no zones"),
    ("value", r"\.fio:\d+: (?:\[[^\]]+\]: )?(\w+): "),
    ("file", r"(include|filename): "),
)


def test_examples_of_fio_run_or_say_what_would_be_right() -> None:
    """Runs the examples that come with fio on a drive of 1 TB, and prints why the others do not run."""
    examples = sorted(Path("/usr/share/doc/fio/examples").glob("*.fio"))
    if not examples:
        pytest.skip("fio's examples are not installed (Debian and Ubuntu: fio-examples)")
    reasons: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    for path in examples:
        try:
            ssdlab.run("tlc-1tb", path, stop_after=1)
            kinds["runs"] += 1
            continue
        except ssdlab.InputError as error:
            said = str(error)
        lines = [line for line in said.splitlines() if "keys that are honoured" not in line]
        assert all("expected" in line or "is refused: " in line or "did you mean" in line for line in lines), said
        kind, names = next((kind, re.findall(pattern, said)) for kind, pattern in REASONS if re.search(pattern, said))
        kinds[kind] += 1
        reasons.update({(kind, name) for name in names})
    print(dict(kinds))  # noqa: T201
    for (kind, name), count in sorted(reasons.items()):
        print(f"{kind:9} {name:24} {count}")  # noqa: T201
    assert kinds["runs"] > len(examples) // 4, kinds
