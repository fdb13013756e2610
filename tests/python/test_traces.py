"""The `ssdlab trace` commands."""

from __future__ import annotations

import gzip
import json
import struct
import tomllib

import pytest

import ssdlab

KEYS = {
    "format",
    "requests",
    "reads",
    "writes",
    "trims",
    "flushes",
    "span_ns",
    "read_bytes",
    "write_bytes",
    "footprint_bytes",
    "streams",
}


@pytest.fixture
def trace(tmp_path):
    """A small MSR trace: 200 writes, then 100 reads of the data written."""
    start = 128_166_372_000_000_000
    rows = [f"{start + 10_000 * i},host,0,Write,{i % 40 * 8192},8192,100" for i in range(200)]
    rows += [f"{start + 10_000 * i},host,0,Read,{i % 40 * 8192},4096,100" for i in range(200, 300)]
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_info_counts(cli, trace):
    done = cli("trace", "info", trace, "--json")
    assert done.returncode == 0, done.stderr
    info = json.loads(done.stdout)
    assert set(info) >= KEYS
    assert (info["requests"], info["reads"], info["writes"]) == (300, 100, 200)
    assert (info["read_bytes"], info["write_bytes"]) == (100 * 4096, 200 * 8192)
    assert info["footprint_bytes"] == 40 * 8192
    assert info["span_ns"] == 299 * 1_000_000
    assert "requests" in cli("trace", "info", trace).stdout


def test_info_of_a_table_by_its_columns(cli, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("".join(f"{i} w {8 * i} 8\n" for i in range(50)))
    done = cli("trace", "info", path, "--columns", "time=1:us,op=2,offset=3:sector,size=4:sector,sep=blank", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["writes"] == 50


def test_a_converted_trace_is_the_same_trace(cli, trace, tmp_path):
    out = tmp_path / "copy.csv"
    done = cli("trace", "convert", trace, "--to", "msr", "--out", out)
    assert done.returncode == 0, done.stderr
    ours, theirs = (ssdlab.trace_info(path) for path in (trace, out))
    for key in KEYS - {"streams"}:
        assert ours[key] == theirs[key], key


def test_a_conversion_says_what_is_lost(cli, tmp_path):
    """MSR has no trims: the note appears with and without --json."""
    table, out = tmp_path / "table.csv", tmp_path / "copy.csv"
    table.write_text("".join(f"{i},{'trim' if i % 5 == 0 else 'write'},{4096 * i},4096\n" for i in range(50)))
    columns = "time=1:us,op=2,offset=3:B,size=4:B"
    as_json = cli("trace", "convert", table, "--columns", columns, "--to", "msr", "--out", out, "--json")
    assert as_json.returncode == 0, as_json.stderr
    notes = json.loads(as_json.stdout)["notes"]
    assert any("10" in note and "msr" in note for note in notes), notes
    plain = cli("trace", "convert", table, "--columns", columns, "--to", "msr", "--out", out, "--force")
    assert all(note in plain.stderr for note in notes), plain.stderr


def test_a_trace_is_not_converted_onto_itself(cli, trace):
    before = trace.read_bytes()
    assert cli("trace", "convert", trace, "--to", "msr", "--out", trace).returncode == 2
    assert trace.read_bytes() == before


def test_a_look_alike_is_a_workload(cli, trace, tmp_path):
    out = tmp_path / "like.toml"
    done = cli("trace", "fit", trace, "--out", out)
    assert done.returncode == 0, done.stderr
    tomllib.loads(out.read_text())
    assert cli("trace", "fit", trace).stdout == out.read_text()
    fit = ssdlab.trace_fit(trace)
    assert fit.toml == out.read_text()
    assert fit.closeness["trace"]["requests"] == fit.closeness["look_alike"]["requests"] == 300
    assert cli("run", "tiny", out).returncode == 0


@pytest.mark.parametrize("command", [("convert", "--to", "msr"), ("fit",)])
def test_a_file_is_replaced_only_with_force(cli, trace, tmp_path, command):
    name, *options = command
    out = tmp_path / "thesis.tex"
    out.write_text("ten years of work")
    refused = cli("trace", name, trace, *options, "--out", out)
    assert refused.returncode == 2
    assert "thesis.tex: it exists" in refused.stderr
    assert "--force" in refused.stderr
    assert out.read_text() == "ten years of work"
    assert cli("trace", name, trace, *options, "--out", out, "--force").returncode == 0
    assert out.read_text() != "ten years of work"
    assert cli("trace", name, trace, *options, "--out", trace, "--force").returncode == 2


def test_force_without_a_file_to_replace(cli, trace):
    done = cli("trace", "fit", trace, "--force")
    assert done.returncode == 2
    assert "--force" in done.stderr


def test_the_start_may_be_left_out_of_the_statistics(trace):
    drive = {"base": "tiny"}

    def counted(workload):
        commands = ssdlab.run(drive, workload).summary["commands"]
        return commands["read"], commands["write"]

    # One request per millisecond: the first hundred milliseconds hold a hundred writes.
    assert counted(ssdlab.Workload(trace)) == (100, 200)
    assert counted(ssdlab.Workload(trace, ramp_time="100ms")) == (100, 100)
    assert counted(ssdlab.Workload(trace, repeat=3, ramp_time="600ms")) == (100, 200)
    alike = ssdlab.traces.trace_fit(trace).toml
    whole = counted(ssdlab.Workload.from_text(alike))
    ramped = counted(ssdlab.Workload.from_text(f'ramp_time = "150ms"\n{alike}'))
    assert sum(whole) == 300
    assert 100 < sum(ramped) < 200


def test_a_ramp_is_given_where_the_workload_is_described(trace):
    with pytest.raises(ssdlab.InputError, match="ramp_time: applies to traces: expected `ramp_time` in"):
        ssdlab.run("tiny", ssdlab.Workload.from_text("[a]\nrw=write\nsize=1m", ramp_time="1s"))


def _block_trace(times):
    """Returns a binary blktrace: writes of 4 KiB that are queued at these times [us]."""
    magic, write, queued = 0x65617407, 1 << 17, 1 | 1 << 20
    records = (
        struct.pack("<IIQQIIIIIHH", magic, 1, 1000 * at, 8 * at, 4096, queued | write | 1 << 24, 9, 8 << 20, 0, 0, 0)
        for at in times
    )
    return b"".join(records)


def _packed(path, content, kind):
    """Writes a file, compressed or not, and returns its path."""
    import pyarrow

    if not kind:
        path.write_bytes(content)
    elif kind == "gz":
        path.write_bytes(gzip.compress(content))
    else:
        with pyarrow.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(content)
    return path


@pytest.mark.parametrize("kind", ["", "gz", "zst"])
def test_one_file_of_a_block_trace_stands_for_those_of_all_cpus(cli, tmp_path, kind):
    ending = f".{kind}" if kind else ""
    first = _packed(tmp_path / f"disk.blktrace.0{ending}", _block_trace(range(0, 100, 2)), kind)
    _packed(tmp_path / f"disk.blktrace.1{ending}", _block_trace(range(1, 100, 2)), kind)
    info = ssdlab.trace_info(first)
    assert (info["format"], info["writes"], info["reordered"], info["span_ns"]) == ("blkparse", 100, 0, 99_000)
    assert "100" in cli("trace", "info", first).stdout
    assert ssdlab.run("tiny", first).summary["commands"]["write"] == 100


@pytest.mark.parametrize("kind", ["", "gz", "zst"])
def test_traces_of_a_cache_are_read_fitted_and_converted(cli, tmp_path, kind):
    records = (struct.pack("<IQIq", index // 10, 8 * (index * 7 % 100), 4096, -1) for index in range(500))
    path = _packed(tmp_path / "cache.bin", b"".join(records), kind)
    info = cli("trace", "info", path, "--json")
    assert info.returncode == 0, info.stderr
    found = json.loads(info.stdout)
    assert (found["format"], found["reads"], found["footprint_bytes"]) == ("oraclegeneral", 500, 100 * 4096)
    assert any("all requests are reads" in note for note in found["notes"])
    copy, like = tmp_path / "copy.csv", tmp_path / "like.toml"
    assert cli("trace", "convert", path, "--to", "msr", "--out", copy, "--object-id", "page").returncode == 0
    assert ssdlab.trace_info(copy)["max_address_bytes"] == (8 * 99 + 1) * 4096
    assert cli("trace", "fit", path, "--out", like, "--object-id", "name").returncode == 0
    done = cli("trace", "info", path, "--object-id", "block")
    assert done.returncode == 2
    assert "object_id" in done.stderr.replace("-", "_")
    assert "expected one of sector, page, byte, name" in done.stderr
