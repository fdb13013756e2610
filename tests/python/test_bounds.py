"""Inputs without an end, files that are none, and what a result folder no longer holds: an error, never a crash."""

from __future__ import annotations

import errno
import fcntl
import gzip
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

import ssdlab
from conftest import Command, wait_for_work
from ssdlab import files
from ssdlab.errors import InputError

JOB = "[job]\nrw=randwrite\nbs=4k\nnumber_ios=50\n"


def assert_refused(done, *expected: str) -> None:
    """Asserts that a command ended with status 2 and a message with these words, and nothing else."""
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    assert "Traceback" not in said
    assert "panicked" not in said
    assert all(words in said for words in expected), said


@pytest.mark.parametrize(
    "words",
    [
        ("show", "/dev/zero"),
        ("check", "based.toml"),
        ("sweep", "/dev/zero", "--out", "out"),
        ("optimise", "/dev/zero", "--out", "out"),
        ("cell", "rber", "--cell", "zero.csv"),
        ("cell", "rber", "--cell", "ofwar-mlc", "--code", "zero.json"),
    ],
    ids=" ".join,
)
def test_input_without_end(cli: Command, tmp_path: Path, words: tuple[str, ...]):
    here = tmp_path / "here"
    for name in ("zero.toml", "zero.csv", "zero.json"):
        (here / name).symlink_to("/dev/zero")
    (here / "based.toml").write_text('base = "zero.toml"\n')
    assert_refused(cli(*words), "more than 16 MiB: expected a smaller")


def test_pipe_is_read_once(cli: Command, tmp_path: Path):
    pipe = tmp_path / "job.pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(JOB,))
    writer.start()
    done = cli("run", "tiny", pipe, "--out", "out", process=True)
    writer.join()
    assert done.returncode == 0, done.stderr
    assert ssdlab.load_result(tmp_path / "here" / "out").commands["write"] == 50
    assert cli("rerun", "out").returncode == 0, "the text of the job is kept"


@pytest.mark.parametrize("key", ["seeds = 1000000000", 'vary."flash.channels" = { low = 1, high = 9, count = 1000000000 }'])
def test_numbers_that_make_millions_of_runs(tmp_path: Path, key: str):
    spec = tmp_path / "spec.toml"
    spec.write_text(f'drive = "tiny"\nworkload = "job.fio"\n{key}\n')
    with pytest.raises(InputError, match=r"1 to 10000|2 to 1000000"):
        ssdlab.Spec.open(spec)


def test_product_of_many_values(tmp_path: Path):
    from ssdlab.explore import design

    many = {f"flash.field{number}": {"low": 1, "high": 2000, "count": 1001} for number in range(2)}
    spec = ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio", "vary": many})
    with pytest.raises(InputError, match="1002001 points: expected at most 1000000"):
        next(iter(design.points(spec)))


def test_runs_are_points_times_seeds(cli: Command, tmp_path: Path):
    """Each number alone is one that may be."""
    (tmp_path / "here" / "job.fio").write_text(JOB)
    spec = tmp_path / "here" / "spec.toml"
    many = "{ low = 1, high = 2, count = 5000 }"
    spec.write_text(f'drive = "tiny"\nworkload = "job.fio"\nseeds = 201\nvary."ftl.overprovisioning" = {many}\n')
    assert_refused(cli("sweep", spec, "--out", "out"), "5000 points with 201 seeds are 1005000 runs: expected at most 1000000")
    assert not (tmp_path / "here" / "out").exists()


def test_variants_of_a_comparison_are_bounded(cli: Command, tmp_path: Path):
    (tmp_path / "here" / "job.fio").write_text(JOB)
    values = ",".join(map(str, range(1, 41)))
    vary = [word for field in ("channels", "ways_per_channel") for word in ("--vary", f"flash.{field}={values}")]
    assert_refused(cli("compare", "tiny", "job.fio", *vary), "1600 variants: expected at most 1000", "ssdlab sweep")


def test_line_and_packet_without_end(cli: Command, tmp_path: Path):
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        file.write(b"x" * (8 << 20))
    assert_refused(cli("history", bomb, bomb), "bomb.gz: a line cannot be read: more than 64 KiB")
    timeline = tmp_path / "timeline"
    timeline.write_bytes(bytes.fromhex("0affffffff7f"))
    with pytest.raises(InputError, match="a packet of more than 1 MiB"):
        ssdlab.read_timeline(timeline)


def test_trace_in_the_place_of_a_drive(cli: Command, tmp_path: Path):
    trace = tmp_path / "my.csv"
    trace.write_text("".join(f"{number},disk,0,Read,{number * 4096},4096,7\n" for number in range(200_000)))
    assert_refused(cli("show", trace), "my.csv: ", "this looks like a trace", "in TOML")
    # Errors in every line of what begins as a description: the first are named.
    trace.write_text('title = "x"\n' + "".join(f"{number},disk=7\n" for number in range(20_000)))
    done = cli("show", trace)
    assert_refused(done, "my.csv:2: not TOML")
    assert len(done.stderr.splitlines()) < 10


@pytest.fixture(scope="module")
def long_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace and a history of ten gigabytes each, compressed, whose last lines are faulty: who reads all fails."""
    folder = tmp_path_factory.mktemp("long")
    for name, first, line in (
        ("trace.gz", b"", b"128166372003061629,hm,0,Read,9556705280,4096,1\n"),
        ("history.gz", b"time_ns,event,die,place,mode,reason,job\n", b"128166372003061629,read completed,,,,,0\n"),
    ):
        block = gzip.compress(line * 50_000)
        with (folder / name).open("wb") as file:
            file.write(gzip.compress(first))
            for _ in range(4000):
                file.write(block)
            file.write(gzip.compress(b"no such line"))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("trace", "info", "trace.gz"),
        ("run", "tiny", "trace.gz"),
        ("lifetime", "tiny", "trace.gz"),
        ("history",) + ("history.gz",) * 2,
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_reading_heeds_signals(start, long_inputs: Path, words: tuple[str, ...], number: int):
    running = start(*(long_inputs / word if word.endswith(".gz") else word for word in words))
    wait_for_work(running, 1.0)
    running.send_signal(number)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 128 + number, stderr
    assert "Traceback" not in stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder."""
    return ssdlab.run("tiny", ssdlab.Workload.from_text(JOB)).save(tmp_path_factory.mktemp("whole") / "out")


@pytest.mark.parametrize("name", ["drive.toml", "workload.toml", "summary.json", "latency.parquet", "timeline.parquet"])
@pytest.mark.parametrize("content", [b"", b"[", b"{}", b'{"schema_version": 1}', b"\xff\xfe", b"[[" * 5000], ids=repr)
def test_damaged_result_folder(cli: Command, folder: Path, tmp_path: Path, name: str, content: bytes):
    damaged = tmp_path / "here" / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / name).write_bytes(content)
    for words in (("report", damaged, "--out", "page.html"), ("rerun", damaged), ("report", damaged, folder)):
        done = cli(*words)
        said = done.stdout + done.stderr
        # An empty description of a workload is TOML.
        assert done.returncode in ((0, 2) if name == "workload.toml" and content == b"" else (2,)), said
        assert "Traceback" not in said


def test_damaged_sweep_folder(cli: Command, tmp_path: Path):
    (tmp_path / "here" / "job.fio").write_text(JOB)
    spec = tmp_path / "here" / "spec.toml"
    spec.write_text('drive = "tiny"\nworkload = "job.fio"\nvary."flash.channels" = [1, 2]\n')
    assert cli("sweep", spec, "--out", "out", "--quiet").returncode == 0
    (runs,) = (tmp_path / "here" / "out" / "runs.parquet").glob("*.parquet")
    runs.write_bytes(b"PAR1" + bytes(100))
    assert_refused(cli("report", "out"), "damaged")
    assert_refused(cli("sweep", spec, "--out", "out", "--quiet"), "damaged")


@pytest.mark.parametrize("option", ["--out", "--history"])
def test_output_names_that_are_not_utf_8(cli: Command, tmp_path: Path, option: str):
    job = tmp_path / "job.fio"
    job.write_text(JOB)
    assert_refused(cli("run", "tiny", job, option, "bad\udcff", process=True), "not UTF-8")


def test_what_killed_processes_left_is_removed(tmp_path: Path):
    target = tmp_path / "out"
    left, held, other = (tmp_path / f".out.{name}.new" for name in ("0123abcd", "4567abcd", "mine"))
    (left / "inner").mkdir(parents=True)
    for file in (held, other):
        file.touch()
    descriptor = os.open(held, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with files.new_file(target) as beside:
            beside.write_text("content")
            assert files.size_so_far(target) == len("content")
    finally:
        os.close(descriptor)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.4567abcd.new", ".out.mine.new", "out"]
    with files.new_file(target) as beside:
        beside.write_text("more")
    assert not held.exists()
    assert target.read_text() == "more"


def test_killed_command_leaves_nothing_for_ever(start, cli: Command, tmp_path: Path):
    """The next command with the same name removes what a killed one has left."""
    target = tmp_path / "here" / "history.csv"
    running = start("run", "tiny", "LONG", "--history", target)
    wait_for_work(running, 1.0)
    running.kill()
    running.wait()
    assert list(target.parent.glob(".history.csv.*.new"))
    job = tmp_path / "job.fio"
    job.write_text(JOB)
    assert cli("run", "tiny", job, "--history", target).returncode == 0
    assert [path.name for path in target.parent.iterdir()] == ["history.csv"]


def test_full_device_is_named(cli: Command, tmp_path: Path):
    import subprocess

    from conftest import SSDLAB

    with Path("/dev/full").open("w") as full:
        done = subprocess.run([SSDLAB, "presets", "tiny"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "ssdlab: error: standard output: No space left on device\n")
    with pytest.raises(OSError, match="runs") as named, files.naming(tmp_path / "runs.parquet"):
        raise OSError(errno.ENOSPC, "no file name")
    assert named.value.filename == str(tmp_path / "runs.parquet")


def test_a_saved_drive_that_was_damaged_is_refused(cli: Command, tmp_path: Path):
    """A bit that has changed anywhere in the file, an end that is missing, and one that is too long."""
    job, saved, damaged = tmp_path / "job.fio", tmp_path / "drive.sav", tmp_path / "damaged.sav"
    job.write_text(JOB)
    assert cli("run", "tiny", job, "--save", saved).returncode == 0
    whole = saved.read_bytes()
    changed = []
    for place in (0, 20, len(whole) // 7, len(whole) // 2, len(whole) - 20, len(whole) - 1):
        one = bytearray(whole)
        one[place] ^= 1 << place % 8
        changed.append(bytes(one))
    for content in (*changed, whole[: len(whole) // 2], whole[:-1], whole + b"x", b""):
        damaged.write_bytes(content)
        done = cli("run", "tiny", job, "--load", damaged, "--quiet")
        assert_refused(done, "damaged.sav: ")
        assert done.stdout == ""
    assert cli("run", "tiny", job, "--load", saved, "--quiet").returncode == 0
