"""Result folders."""

from __future__ import annotations

import errno
import json
import random
import tomllib
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import ssdlab
from ssdlab.files import new_file

FILES = ["drive.toml", "latency.parquet", "manifest.json", "report.html", "summary.json", "timeline.parquet", "workload.toml"]


def without_wall_time(folder: Path) -> dict[str, object]:
    """Returns the files of a folder as bytes, `summary.json` without `wall_s`, the only number that may differ."""
    content: dict[str, object] = {path.name: path.read_bytes() for path in folder.iterdir()}
    summary = json.loads((folder / "summary.json").read_text())
    assert summary.pop("wall_s") >= 0
    # The command line names the folder.
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["run"].pop("command_line")
    return {**content, "summary.json": json.dumps(summary), "manifest.json": json.dumps(manifest)}


def test_a_folder_holds_what_the_design_says(result, tmp_path):
    folder = result.save(tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert json.loads((folder / "summary.json").read_text()) == result.summary
    assert "flash" in tomllib.loads((folder / "drive.toml").read_text())
    tomllib.loads((folder / "workload.toml").read_text())
    assert parquet.read_table(folder / "latency.parquet").column_names == ["op", "low_ns", "high_ns", "count"]
    assert 0 < parquet.read_table(folder / "timeline.parquet").num_rows <= 4096


def test_equal_runs_give_equal_bytes(cli, job, tmp_path):
    for name in ("one", "two"):
        assert cli("run", "tiny", job, "--policy", "ofwar", "--out", tmp_path / name).returncode == 0
    assert without_wall_time(tmp_path / "one") == without_wall_time(tmp_path / "two")
    ssdlab.run("tiny", job, policy="ofwar").save(tmp_path / "three")
    assert without_wall_time(tmp_path / "one") == without_wall_time(tmp_path / "three")


def test_another_seed_gives_another_history(job):
    one, two = (ssdlab.run("tiny", job, seed=seed) for seed in (1, 2))
    assert one.latency_table() != two.latency_table()


def test_a_folder_is_read_back(result, tmp_path):
    again = ssdlab.load_result(result.save(tmp_path / "out"))
    assert again.summary == result.summary
    assert again.latency_table().equals(result.latency_table())
    assert again.timeline_table().equals(result.timeline_table())
    assert again.report() == result.report()


def test_a_comparison_is_read_back(comparison, tmp_path):
    folder = comparison.save(tmp_path / "out")
    again = ssdlab.load_comparison(folder)
    assert again.to_dict() == comparison.to_dict()
    assert again.report() == (folder / "report.html").read_text()


def test_the_stored_drive_repeats_the_run(job, tmp_path):
    first = ssdlab.run("tiny", job, policy="ofwar", set={"flash.channels": 4})
    again = ssdlab.run(first.save(tmp_path / "out") / "drive.toml", job)
    assert again.policy == "ofwar"
    assert again.summary["latency"] == first.summary["latency"]


def test_the_histogram_counts_every_command(result):
    rows = result.latency_table().to_pylist()
    for op in ("read", "write"):
        assert sum(row["count"] for row in rows if row["op"] == op) == result.latency[op].count
    assert all(row["low_ns"] <= row["high_ns"] for row in rows)


def test_the_timeline_counts_every_command(result):
    table = result.timeline_table()
    assert sum(table.column("reads").to_pylist()) == result.commands["read"]
    assert sum(table.column("writes").to_pylist()) == result.commands["write"]


def test_a_damaged_folder_is_refused(result, tmp_path):
    folder = result.save(tmp_path / "out")
    (folder / "latency.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ssdlab.InputError, match="damaged"):
        ssdlab.load_result(folder)
    (folder / "summary.json").unlink()
    with pytest.raises(ssdlab.InputError, match="not a result folder"):
        ssdlab.load_result(folder)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with new_file(path) as beside:
            beside.write_text("half")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert path.read_text() == "old"
    with new_file(path) as beside:
        beside.write_text("new")
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_an_error_in_writing_has_the_name_that_was_given(tmp_path):
    path = tmp_path / "file"

    def fill_the_disk(beside: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for write in (fill_the_disk, Path.rmdir):
        with pytest.raises(OSError, match=f"'{path}'"), new_file(path) as beside:
            write(beside)


def places_in(document, path=()):
    """Yields the paths of all values of a document."""
    inner = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places_in(value, (*path, key))


def test_numbers_that_no_run_writes_are_refused_in_every_use(result, tmp_path):
    folder = result.save(tmp_path / "out")
    whole = (folder / "summary.json").read_text()
    places, rng = [*places_in(json.loads(whole))], random.Random(1)
    always = [(("latency",), {}), (("causes_tail",), []), (("throughput",), None), (("latency", "write"), "x")]
    drawn = [(rng.choice(places), rng.choice([None, "x", [], {}, 1e300])) for _ in range(40)]
    complaints = []
    for place, value in [*always, *drawn]:
        document = json.loads(whole)
        inner = document
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        (folder / "summary.json").write_text(json.dumps(document))
        for use in (lambda run: str(run.why()), lambda run: run.why().to_dict(), lambda run: run.report(), lambda run: run.fio()):
            try:
                use(ssdlab.load_result(folder))
            except ssdlab.InputError as error:
                complaints.append(str(error))
    assert len(complaints) > 20
    assert all(complaint.startswith(str(folder)) for complaint in complaints), complaints


def test_a_folder_of_another_format_is_refused(result, comparison, tmp_path):
    folders = {ssdlab.load_result: result.save(tmp_path / "one"), ssdlab.load_comparison: comparison.save(tmp_path / "both")}
    for load, folder in folders.items():
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
        with pytest.raises(ssdlab.InputError, match=r"manifest\.json: format 99: expected 1; a newer ssdlab may know it"):
            load(folder)
