"""Files written during a run (commands, timelines, physical histories) and their readers."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ssdlab
from conftest import JOB, SSDLAB
from ssdlab.cli import progress

pytestmark = pytest.mark.slow

COLUMNS = ["time_ns", "event", "die", "place", "mode", "reason", "job"]


def commands(count: int) -> str:
    """Returns a job of `count` commands, which may write more than the drive holds."""
    return JOB.replace("20000", str(count)) + "io_size=100g\n"


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Reads a protobuf varint; returns its value and the position after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields the fields of a protobuf message: numbers and values, uninterpreted."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            yield key >> 3, data[at : at + value]
            at += value
        else:
            assert key & 7 == 0, "only varints and bytes are used"
            yield key >> 3, value


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.csv.gz"])
def test_the_log_has_a_row_per_command(cli, job, tmp_path, name):
    path = tmp_path / name
    done = cli("run", "tiny", job, "--log-commands", path)
    assert done.returncode == 0, done.stderr
    table = ssdlab.read_commands(path)
    assert table.num_rows == 20_000
    assert table.column_names[:6] == ["op", "job", "offset", "length", "submitted_ns", "completed_ns"]
    assert set(table.column("op").to_pylist()) == {"read", "write"}
    assert table.column_names[-8:-3] == ["queue", "stream", "flags", "media_error", "status"]
    assert table.column_names[-3:] == ["request", "trace_offset", "stream_name"]
    assert sorted(table.column("request").to_pylist()) == list(range(20_000))
    assert set(table.column("trace_offset").to_pylist()) == {None}
    assert set(table.column("media_error").to_pylist()) == {False}
    assert set(table.column("status").to_pylist()) == {"success"}
    causes = list(table.column_names[6:-8])
    for row in table.slice(0, 100).to_pylist():
        assert sum(row[cause] for cause in causes) == row["completed_ns"] - row["submitted_ns"]


def test_the_log_has_the_stream_of_each_command(tmp_path):
    lines = [f"{1 + 10_000 * at},src,{disk},Write,4096,4096,100\n" for at, disk in enumerate([7, 7, 2, 7])]
    ssdlab.run("tiny", ssdlab.Workload.from_text("".join(lines)), log_commands=tmp_path / "log.csv")
    table = ssdlab.read_commands(tmp_path / "log.csv").sort_by("submitted_ns")
    assert table.column("stream").to_pylist() == [0, 0, 1, 0]
    assert set(table.column("queue").to_pylist()) == set(table.column("flags").to_pylist()) == {0}


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_log_joins_the_trace(tmp_path, form):
    """Each command names its request in the trace, the recorded address, and the label of the stream."""
    size = 64 << 30
    lines = [
        "  8,0 0 1 0.000000000 1 Q WS 2048 + 8 [x]",
        "  8,16 0 1 0.001000000 1 Q FWFS 134217728 + 16 [x]",
        "  8,16 0 1 0.002000000 1 Q R 134217728 + 16 [x]",
    ]
    trace = tmp_path / "t.txt"
    trace.write_text("\n".join(lines) + "\n")
    found = ssdlab.Workload(trace, repeat=2, address="compact")
    ssdlab.run("tiny", found, log_commands=tmp_path / f"log.{form}")
    table = ssdlab.read_commands(tmp_path / f"log.{form}").sort_by([("submitted_ns", "ascending"), ("op", "ascending")])
    rows = [(row["op"], row["request"], row["trace_offset"], row["stream_name"], row["flags"]) for row in table.to_pylist()]
    once = [
        ("write", 0, 2048 * 512, "8.0", 0),
        ("flush", 1, size, "8.16", 0),
        ("write", 1, size, "8.16", 1),
        ("read", 2, size, "8.16", 0),
    ]
    assert rows == once * 2
    assert max(table.column("offset").to_pylist()) < size


def test_a_log_of_several_batches_is_that_kept_in_memory(tmp_path):
    job = ssdlab.Workload.from_text(commands(150_000))
    result = ssdlab.run("tiny", job, record_commands=True, log_commands=tmp_path / "log.parquet")
    table = result.command_table()
    assert table is not None
    assert table.num_rows == 150_000
    assert ssdlab.read_commands(tmp_path / "log.parquet").to_pylist() == table.to_pylist()


def test_a_run_without_commands_logs_the_columns(tmp_path):
    nothing = ssdlab.Workload.from_text("[job]\nrw=trim\nbs=4k\nnumber_ios=1\nramp_time=10s\n")
    ssdlab.run("tiny", nothing, log_commands=tmp_path / "log.parquet")
    table = ssdlab.read_commands(tmp_path / "log.parquet")
    assert table.num_rows == 0
    assert "completed_ns" in table.column_names


def test_columns_have_the_same_types_in_every_form_and_run(tmp_path):
    logs, histories = [], []
    for count, form in ((100, "parquet"), (100, "csv.gz"), (0, "csv")):
        text = f"[job]\nrw=randwrite\nbs=4k\nnumber_ios={count}\n" if count else "[job]\nrw=trim\nnumber_ios=1\nramp_time=10s\n"
        log, history = tmp_path / f"log.{form}", tmp_path / f"history{count}.csv.zst"
        ssdlab.run("tiny", ssdlab.Workload.from_text(text), log_commands=log, history=history)
        logs.append(ssdlab.read_commands(log))
        histories.append(ssdlab.read_history(history))
    assert [table.num_rows for table in logs] == [100, 100, 0]
    assert len({table.schema.to_string() for table in logs}) == 1
    assert len({table.schema.to_string() for table in histories}) == 1


@pytest.mark.parametrize("name", ["t.pftrace", "t.pftrace.gz", "t.pftrace.zst"])
def test_a_timeline_has_what_dies_and_channels_did(cli, job, tmp_path, name):
    path = tmp_path / name
    assert cli("run", "tiny", job, "--timeline", path).returncode == 0
    known = ssdlab.run("tiny", job, record_spans=True).span_table()
    assert known is not None
    assert ssdlab.read_timeline(path).to_pylist() == known.to_pylist()
    assert {"channel 0", "die 0"} <= set(known.column("track").to_pylist())


def test_a_timeline_is_a_stream_of_perfetto_packets(cli, job, tmp_path):
    """The field numbers are those of Perfetto's `TracePacket`, `TrackDescriptor` and `TrackEvent`."""
    path = tmp_path / "t.gz"
    assert cli("run", "tiny", job, "--timeline", path, "--timeline-for", "20ms").returncode == 0
    tracks, slices, open_slices = {}, 0, []
    for number, packet in fields(gzip.decompress(path.read_bytes())):
        assert number == 1
        content = dict(fields(packet))
        assert content[10] == 1
        if 60 in content:
            track = dict(fields(content[60]))
            tracks[track[1]] = (track[2].decode(), track.get(5))
            continue
        event = dict(fields(content[11]))
        if event[9] == 1:
            assert event[23].decode() in {"read", "program", "erase", "command", "data out"}
            open_slices.append((event[11], content[8]))
        else:
            track, begin = open_slices.pop()
            assert event[9] == 2
            assert event[11] == track
            assert content[8] >= begin
            slices += 1
    assert slices == ssdlab.read_timeline(path).num_rows > 100
    assert not open_slices
    assert {name for name, _ in tracks.values()} >= {"channels", "dies", "channel 0", "die 0"}
    assert all(parent in tracks for _, parent in tracks.values() if parent is not None)


def test_a_window_is_a_part_of_the_timeline(job, tmp_path):
    for name, window in (("whole", {}), ("part", {"timeline_from": "10ms", "timeline_for": "5ms"})):
        ssdlab.run("tiny", job, timeline=tmp_path / name, **window)
    whole, part = (ssdlab.read_timeline(tmp_path / name).to_pylist() for name in ("whole", "part"))
    assert part == [row for row in whole if row["end_ns"] >= 10_000_000 and row["begin_ns"] < 15_000_000]
    assert 0 < len(part) < len(whole)


@pytest.mark.parametrize("name", ["h.csv", "h.csv.gz", "h.csv.zst"])
def test_a_history_has_every_command_and_operation(cli, job, tmp_path, name):
    path = tmp_path / name
    done = cli("run", "tiny", job, "--history", path, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    table = ssdlab.read_history(path)
    assert table.column_names == COLUMNS
    events = table.column("event").to_pylist()
    for op in ("read", "write"):
        assert events.count(f"{op} completed") == summary["commands"][op]
    for kind in ("read", "program", "erase"):
        assert events.count(f"{kind} started") == summary["flash"]["operations"][kind]
        assert events.count(f"{kind} started") - events.count(f"{kind} ended") in range(20)
    times = table.column("time_ns").to_pylist()
    assert times == sorted(times)


def test_histories_are_compared(cli, job, tmp_path):
    for name, seed in (("one.csv.zst", 1), ("same.csv.gz", 1), ("other.csv", 2)):
        ssdlab.run("tiny", job, seed=seed, history=tmp_path / name)
    one, same, other = (tmp_path / name for name in ("one.csv.zst", "same.csv.gz", "other.csv"))
    equal = cli("history", one, same)
    assert (equal.returncode, equal.stdout.split()[0]) == (0, "equal:")
    different = cli("history", one, other)
    assert different.returncode == 3
    lines = different.stdout.splitlines()
    assert "equal entries" in lines[0]
    assert any(line.startswith("- ") for line in lines)
    assert any(line.startswith("+ ") for line in lines)
    whole = other.read_text().splitlines()
    (tmp_path / "short.csv").write_text("\n".join(whole[:100]) + "\n")
    entries, difference = ssdlab.compare_histories(other, tmp_path / "short.csv")
    assert difference is not None
    assert (entries, difference.line) == (99, 101)
    assert difference.before == tuple(whole[97:100])
    assert (difference.first, difference.second) == (tuple(whole[100:103]), ())


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (ssdlab.read_timeline, "t"),
        (ssdlab.read_history, "h.csv"),
        (ssdlab.read_commands, "c.parquet"),
        (ssdlab.read_commands, "c"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, read, name):
    path = tmp_path / name
    path.write_text("op,latency\nread,5\n")
    with pytest.raises(ssdlab.InputError, match=name):
        read(path)
    with pytest.raises(ssdlab.InputError, match="no such file"):
        read(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--timeline-for", "1ms"], ["--timeline-for", "--timeline, which is not given"]),
        (["--timeline", "t", "--timeline-from", "5"], ["--timeline-from", "without a unit"]),
        (["--timeline", "t", "--timeline-for", "0s"], ["--timeline-for", "above zero"]),
        (["--history", "h.txt"], ["h.txt", ".csv.zst"]),
        (["--history", "same.csv", "--log-commands", "same.csv"], ["name the same file"]),
    ],
)
def test_bad_options_are_refused(cli, job, options, said):
    done = cli("run", "tiny", job, *options)
    assert done.returncode == 2
    assert all(word in done.stderr for word in said), done.stderr
    assert not [*(job.parent / "here").iterdir()], "nothing is written"


def peak_memory(job: str, tmp_path: Path, *options: str) -> int:
    """Returns the peak memory of a run of a job [KiB]."""
    (tmp_path / "big.fio").write_text(job)
    script = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", script, SSDLAB, "run", "tiny", str(tmp_path / "big.fio"), "--quiet", "--force", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"})
    status, memory = map(int, done.stdout.split())
    assert status == 0
    return memory


def test_what_is_written_is_not_held(tmp_path):
    """A command and its spans would take well over a kilobyte if they were held in memory."""
    files = [str(tmp_path / name) for name in ("c.parquet", "t.pftrace", "h.csv.zst")]
    options = ("--log-commands", files[0], "--timeline", files[1], "--history", files[2])
    few, many = (peak_memory(commands(count), tmp_path, *options) for count in (150_000, 450_000))
    assert many - few < 40 * 1024, f"{few} KiB for 150,000 commands, {many} KiB for 450,000"


def test_a_large_file_is_remarked_on_once(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(progress, "LARGE_BYTES", 1 << 20)
    monkeypatch.setattr("time.monotonic", iter(range(100)).__next__)
    path = tmp_path / "t"
    watch = progress.watch_size(None, [path], path, False)
    assert watch is not None
    now = ssdlab.Progress("run", 1, 7_000, None)
    watch(now)
    assert capfd.readouterr().err == ""
    (tmp_path / ".t.1234.new").write_bytes(bytes(1 << 20))
    for _ in range(3):
        watch(now)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "1 MiB after 7,000 commands" in said
    assert "--timeline-from" in said
    assert progress.watch_size(None, [path], path, True) is None


@pytest.mark.parametrize("option", ["--log-commands", "--timeline", "--history", "--save"])
def test_a_file_that_cannot_be_written_costs_nothing_else(tmp_path, job, option):
    """The disk is full after 64 KiB: the results are printed nevertheless, and no half-written file is left."""
    name = tmp_path / "big.csv"

    def limited() -> None:
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))

    done = subprocess.run(
        [SSDLAB, "run", "tiny", str(job), "--json", option, str(name)],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["status"] == "complete"
    assert str(name) in done.stderr
    assert "File too large" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.fio"]
