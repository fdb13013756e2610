"""Mock-ups of drives (``ssdlab shrink``), and firmware traces (``--record-firmware``, ``translation = replay``)."""

from __future__ import annotations

import json
import tomllib

import pytest

import ssdlab

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n"
#: The write buffer of `tiny` is in the record, as the firmware sees it; without it all commands reach the flash.
DRIVE = ["tiny", "job.fio", "--precondition", "steady", "--set", "buffer.policy=none"]


@pytest.fixture
def here(tmp_path, cli):
    """The folder in which `cli` works, with a job."""
    folder = tmp_path / "here"
    (folder / "job.fio").write_text(JOB)
    return folder


def replay(file: str) -> list[str]:
    return ["--set", f'ftl.translation={{kind="replay",file="{file}"}}']


def measured(text: str) -> dict:
    """Returns a summary without the names of its inputs, the wall time and what the layer reports of itself."""
    return {name: value for name, value in json.loads(text).items() if name not in ("wall_s", "translation", "starting_state")}


def test_a_replay_has_the_results_of_its_record(cli, here):
    first = cli("run", *DRIVE, "--record-firmware", "trace.fw", "--json")
    assert first.returncode == 0, first.stderr
    assert (here / "trace.fw").read_text().startswith("ssdlab firmware trace 1\n")
    second = cli("run", *DRIVE, *replay("trace.fw"), "--json")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["translation"]["kind"] == "replay"
    assert measured(second.stdout)["latency"] == measured(first.stdout)["latency"]
    assert measured(second.stdout)["flash"] == measured(first.stdout)["flash"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text: text.replace(" program ", " programm "), "unknown operation `programm`"),
        (lambda text: text[: text.rindex("end ")], "the file is truncated"),
        (lambda text: text.replace("trace 1\n", "trace 9\n", 1), "broken.fw:1: "),
        (lambda text: "", "broken.fw:1: "),
    ],
)
def test_a_broken_firmware_trace_is_refused(cli, here, change, complaint):
    assert cli("run", *DRIVE, "--record-firmware", "trace.fw").returncode == 0
    (here / "broken.fw").write_text(change((here / "trace.fw").read_text()))
    done = cli("run", *DRIVE, *replay("broken.fw"), "--out", "result")
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert "broken.fw:" in done.stderr
    assert not (here / "result").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--policy", "ofwar"], "a policy that moves pages"),
        (["--set", "ftl.translation=waf"], "another translation layer than `waf`"),
        (["--set", "buffer.read_cache=1MiB"], "a read cache"),
    ],
)
def test_what_no_firmware_trace_can_hold_is_refused(cli, here, options, complaint):
    done = cli("run", *DRIVE, *options, "--record-firmware", "trace.fw")
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert not (here / "trace.fw").exists()


def test_a_mock_up_is_a_drive_of_the_same_shape(cli, here):
    done = cli("shrink", "explorer-c3", "--to", "8GiB", "--out", "mock.toml")
    assert (done.returncode, done.stdout) == (0, "")
    whole, mock = ssdlab.describe("explorer-c3"), ssdlab.describe(here / "mock.toml")
    assert (mock["dies_working_at_once"], mock["block_bytes"]) == (whole["dies_working_at_once"], whole["block_bytes"])
    assert mock["user_bytes"] == pytest.approx(8 * 2**30, rel=0.05)
    # The write buffer keeps its size, as the dies behind it are as many.
    assert tomllib.loads(ssdlab.check(here / "mock.toml"))["buffer"]["capacity"] == "4MiB"
    smaller = ssdlab.shrink("explorer-c3", "8GiB", set={"ftl.user_capacity": "20GiB"})
    assert ssdlab.describe(ssdlab.Drive.from_text(smaller))["user_bytes"] == pytest.approx(8 * 2**30, rel=0.05)
    assert cli("shrink", "explorer-c3", "--to", "8GiB").stdout == (here / "mock.toml").read_text()
    again = cli("shrink", "explorer-c3", "--to", "8GiB", "--out", "mock.toml")
    assert again.returncode == 2
    assert "mock.toml: it exists" in again.stderr
    ran = cli("run", "mock.toml", "job.fio", "--precondition", "fill", "--json")
    assert json.loads(ran.stdout)["commands"]["read"] > 0


def test_a_mock_up_says_what_it_changes_and_keeps_base_and_comments(cli, here):
    done = cli("shrink", "pcie4-tlc-2tb", "--to", "32GiB", "--set", "ftl.victim=fifo", "--out", "mock.toml")
    assert done.returncode == 0, done.stderr
    text = (here / "mock.toml").read_text()
    fields = tomllib.loads(text)
    assert fields["base"] == "pcie4-tlc-2tb"
    assert fields["flash"].keys() == {"blocks_per_plane", "pages_per_block"}
    assert fields["ftl"] == {"victim": {"kind": "fifo"}}
    assert "buffer" not in fields
    preset = next(preset for preset in ssdlab.presets() if preset.name == "pcie4-tlc-2tb")
    standing = [line for line in preset.text.split("\nbase =")[0].splitlines() if line.strip("# ")]
    assert len(standing) > 10
    schema, *standing = standing
    assert schema.startswith("#:schema ")
    assert schema not in text
    assert all(line in text for line in standing)
    assert "# was 688: fewer blocks\n" in text
    assert "ssdlab: flash.pages_per_block: 1536 -> 96: smaller blocks" in done.stderr
    assert "16 erases" in done.stderr
    # Every field that differs is on the list.
    whole, mock = (tomllib.loads(ssdlab.check(drive, set=["ftl.victim=fifo"])) for drive in ("pcie4-tlc-2tb", here / "mock.toml"))
    whole.pop("title"), mock.pop("title")
    differing = {
        f"{section}.{field}" for section in mock for field in mock[section] if mock[section][field] != whole[section][field]
    }
    said = {line.split(": ")[1] for line in done.stderr.splitlines() if " -> " in line}
    assert {name.rsplit(".", 1)[0] if name.count(".") > 1 else name for name in said} == differing


def test_a_mock_up_of_a_file_has_the_file_as_its_base(cli, here):
    (here / "mine.toml").write_text('# From a data sheet [F].\nbase = "tlc-1tb"\n[buffer]\ncapacity = "16MiB"\n')
    (here / "small").mkdir()
    assert cli("shrink", "mine.toml", "--to", "64GiB", "--out", "small/mock.toml").returncode == 0
    text = (here / "small" / "mock.toml").read_text()
    assert tomllib.loads(text)["base"] == "../mine.toml"
    assert "# From a data sheet [F].\n" in text
    assert ssdlab.describe(here / "small" / "mock.toml")["user_bytes"] == pytest.approx(64 * 2**30, rel=0.1)
    # A dictionary can be no base: the description is complete.
    whole = ssdlab.shrink({"base": "tlc-1tb", "buffer": {"capacity": "16MiB"}}, "64GiB")
    assert "base" not in tomllib.loads(whole)
    assert "# flash.blocks_per_plane was 344: fewer blocks\n" in whole


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["tlc-1tb", "--to", "4GiB"], "--to: 4GiB: expected at least about"),
        (["tlc-1tb", "--to", "4TiB"], "the drive's user capacity"),
        (["tlc-1tb", "--to", "64"], "expected a size such as"),
        (["tlc-1tbb", "--to", "64GiB"], "did you mean `tlc-1tb`"),
        (["tlc-1tb", "--to", "64GiB", "--force"], "no --out is given"),
    ],
)
def test_a_size_that_cannot_be_is_refused(cli, words, complaint):
    done = cli("shrink", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_what_a_drive_without_a_map_does_not_know_is_null(cli, here):
    done = cli("run", "tiny", "job.fio", "--set", "ftl.translation=waf", "--out", "out")
    assert done.returncode == 0, done.stderr
    result = ssdlab.load_result(here / "out")
    assert result.timeline_table()["free_blocks"].null_count == result.timeline_table().num_rows > 0
    assert set(result.summary["wear"].values()) == {None}
    html = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert "their wear is not modelled" in html
    assert "no block has been erased" not in html
    assert "free blocks" not in html.split("<h3>Over time</h3>")[1].split("<h3>")[0]
