"""Lifetime runs of small drives, from Python and from the command line."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

import ssdlab
from conftest import PATIENCE, wait_for_work, wait_until_heard

pytestmark = pytest.mark.slow

#: Two dies of 32 blocks, rated for 240 cycles; in the second half of the rating, an erase causes twice the wear.
DRIVE = """\
base = "tiny"
[flash]
chips_per_channel = 1
blocks_per_plane = 32
pages_per_block = 16
rated_pe_cycles = 240
[[flash.erase_mode]]
name = "normal"
wear = [0.5, 1.0]
[ftl]
overprovisioning = 0.5
[state]
precondition = "fill"
"""

JOB = "[writes]\nrw=randwrite\nbs=4k\niodepth=4\nio_size=300%\nnorandommap=1\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(DRIVE)
    return path


@pytest.fixture
def writes(tmp_path: Path) -> Path:
    path = tmp_path / "writes.fio"
    path.write_text(JOB)
    return path


def test_both_methods_give_the_cycles_of_the_closed_form(small, writes):
    full = ssdlab.lifetime(small, writes)
    assert (full.status, full.ended_by) == ("complete", "mean_wear")
    assert full.cycles_mean == pytest.approx(360, rel=0.01)
    assert full.max_pe_ratio == pytest.approx(full.cycles_mean / 240)
    assert full.report["cycles_min"] < full.cycles_mean < full.report["cycles_max"]
    # Blocks have 16 pages: the data programmed, relocations included, is as much as was erased.
    programmed = full.report["erases"] * 16 * 4096
    assert full.host_bytes_written * (full.write_amplification or 0) == pytest.approx(programmed, rel=0.03)
    assert full.years == pytest.approx(full.report["simulated_ns"] / 365.25 / 86_400e9)
    assert repr(full) == f"<ssdlab.Lifetime {small} · {writes} · baseline · full · complete>"

    quick = ssdlab.lifetime(small, writes, method="extrapolate", round_cycles=8)
    assert quick.cycles_mean == pytest.approx(full.cycles_mean, rel=0.01)
    assert quick.host_bytes_written == pytest.approx(full.host_bytes_written, rel=0.03)
    assert quick.report["cycles_max"] is None
    assert [row["effective_wear_to"] for row in quick.report["intervals"]] == [40, 80, 120, 160, 200, 240]


def test_command_line_and_python_give_the_same_life(cli, small, writes):
    arguments = ("--until", "first_block", "--seed", 7, "--set", "flash.rated_pe_cycles=30")
    typed = json.loads(cli("lifetime", small, writes, *arguments, "--json", "--quiet").stdout)
    called = ssdlab.lifetime(small, writes, until="first_block", seed=7, set={"flash.rated_pe_cycles": 30}).report
    del typed["wall_s"], called["wall_s"]
    assert typed == called
    assert typed["effective_wear_max"] == pytest.approx(30, abs=1.5)


def test_a_life_as_tables(cli, small, writes):
    done = cli("lifetime", small, writes, "--until", "spare", "--set", "flash.rated_pe_cycles=20")
    assert done.returncode == 0, done.stderr
    for word in ("a die can spare no more blocks", "retired blocks", "effective wear", "cycles", "at the workload's rate"):
        assert word in done.stdout
    assert re.search(r"die \d can spare no more blocks: \d+ of its 32 are worn out", done.stderr)


def test_a_worn_out_drive_is_saved_and_runs_on(small, writes, tmp_path):
    settings = {"flash.rated_pe_cycles": 12, "ftl.wear_leveling": "none"}
    life = ssdlab.lifetime(small, writes, until="spare", set=settings, save=tmp_path / "worn.drive")
    assert life.ended_by == "spare"
    assert life.report["retired_blocks"] > 0
    again = ssdlab.run(small, writes, load=tmp_path / "worn.drive", set=settings)
    assert (again.status, again.summary["wear"]["max"] >= 12) == ("complete", True)
    with pytest.raises(ssdlab.InputError, match="already at the end of its life"):
        ssdlab.lifetime(small, writes, load=tmp_path / "worn.drive", set=settings, wear_limit=5)


def test_a_folder_is_written_and_nothing_else(cli, small, writes, tmp_path):
    arguments = ("lifetime", small, writes, "--set", "flash.rated_pe_cycles=12", "--quiet")
    assert cli(*arguments).returncode == 0
    assert [*(tmp_path / "here").iterdir()] == []
    assert cli(*arguments, "--out", "life").returncode == 0
    folder = tmp_path / "here" / "life"
    assert sorted(path.name for path in folder.iterdir()) == ["drive.toml", "lifetime.json", "manifest.json", "workload.toml"]
    assert json.loads((folder / "lifetime.json").read_text())["ended_by"] == "mean_wear"
    refused = cli(*arguments, "--out", "life")
    assert (refused.returncode, "not empty" in refused.stderr) == (2, True)
    assert cli(*arguments, "--out", "life", "--force").returncode == 0
    # The resolved description can be run again, and gives the same lifetime.
    (tmp_path / "again.toml").write_text((folder / "drive.toml").read_text())
    again = ssdlab.lifetime(tmp_path / "again.toml", writes).report
    known = json.loads((folder / "lifetime.json").read_text())
    for report in (again, known):
        del report["wall_s"], report["drive"]
    assert again == known


def test_ctrl_c_ends_a_life_cleanly(start, small, writes):
    running = start("lifetime", small, writes, "--wear-limit", "4000000", "--json")
    wait_until_heard(running)
    wait_for_work(running, 2.0)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    assert "Traceback" not in stderr
    report = json.loads(stdout)
    assert (report["status"], report["ended_by"], report["cycles_mean"] > 0) == ("partial", None, True)


def test_progress_goes_from_start_to_end(small, writes):
    seen: list[ssdlab.Progress] = []
    life = ssdlab.lifetime(small, writes, set={"flash.rated_pe_cycles": 4000}, progress=lambda now: seen.append(now) or True)
    fractions = [now.fraction for now in seen if now.stage == "lifetime"]
    assert life.status == "complete"
    assert fractions == sorted(fractions)
    assert all(share is not None and 0 <= share <= 1 for share in fractions)
    stopped = ssdlab.lifetime(small, writes, set={"flash.rated_pe_cycles": 100_000}, progress=lambda _: False)
    assert (stopped.status, stopped.ended_by) == ("partial", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--until", "mean_ware"), "--until: unknown end of a life `mean_ware`"),
        (("--method", "fast"), "--method: unknown method `fast`: expected one of full, extrapolate"),
        (("--method", "extrapolate", "--until", "spare"), "--method: extrapolate: how unevenly blocks wear"),
        (("--method", "extrapolate", "--save", "x.drive"), "--save: an extrapolated run has no worn-out drive to save"),
        (("--wear-limit", "nan"), "--wear-limit: nan: expected a finite number"),
        (("--intervals", "-3"), "--intervals: -3: expected 1..=1000"),
        (("--max-passes", "0"), "--max-passes: 0: expected 1 or more"),
        (("--retention", "1y"), "--retention: applies only to --until error_rate"),
        (("--set", "flash.erase_mode=[{name='a', wear=[1, -2]}]"), "flash.erase_mode[0].wear[1]: -2: expected 0..=1000"),
        (("--force",), "--force: replaces what is already there"),
    ],
)
def test_bad_input_is_refused(cli, small, writes, tmp_path, arguments, message):
    done = cli("lifetime", small, writes, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert [*(tmp_path / "here").iterdir()] == []


def test_a_life_of_parts_of_units_is_counted_by_bytes_too(cli, small, tmp_path):
    """A write of 512 B programs a whole mapping unit of 4 KiB."""
    job = tmp_path / "parts.fio"
    job.write_text("[a]\nrw=randwrite\nbs=512\niodepth=8\nnorandommap=1\nio_size=1g\nnumber_ios=20000\n")
    rated = ("--set", "flash.rated_pe_cycles=6")
    small.write_text(DRIVE.replace('precondition = "fill"', 'precondition = "none"'))
    done = cli("lifetime", small, job, *rated)
    assert done.returncode == 0, done.stderr
    assert "the drive begins empty" in done.stderr
    life = ssdlab.lifetime(small, job, set={"flash.rated_pe_cycles": 6})
    assert life.write_amplification_bytes == pytest.approx(8 * life.write_amplification, rel=0.01)
    assert life.report["intervals"][0]["write_amplification_bytes"] > 2 * life.report["intervals"][0]["write_amplification"]
    assert f"by mapping units, {life.write_amplification_bytes:.4g} by bytes" in " ".join(done.stdout.split())
    assert "begins empty" not in cli("lifetime", small, job, *rated, "--precondition", "none").stderr
    ran = cli("run", "tiny", job, "--quiet")
    assert "by bytes of the host" in ran.stdout
