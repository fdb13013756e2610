"""A drive and a workload in each other's place."""

from __future__ import annotations

import pytest

import ssdlab


@pytest.mark.parametrize("command", ["run", "lifetime", "compare --policy baseline"])
def test_swapped_arguments_are_recognised(cli, job, command):
    name, *options = command.split()
    done = cli(name, job, "tiny", *options)
    assert done.returncode == 2
    assert f"the arguments are swapped: tiny is a drive, and {job} a workload; expected tiny {job}" in done.stderr


def test_a_drive_in_the_place_of_a_workload_is_named(cli, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('base = "tiny"\n')
    for workload in ("tlc-1tb", mine):
        done = cli("run", "tiny", workload)
        assert done.returncode == 2
        assert f"{workload}: a drive, where a workload is expected" in done.stderr


def test_a_file_with_the_name_of_a_preset_is_a_workload(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").write_text(job.read_text())
    assert ssdlab.run("tiny", "tiny", stop_after=10).commands["write"] <= 10


def test_a_file_may_be_the_base_of_a_drive_in_another_folder(cli, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "base.toml").write_text('base = "tiny"\nflash.channels = 4\n')
    drive = tmp_path / "drive.toml"
    drive.write_text('base = "parts/base.toml"\nftl.user_capacity = "100MB"\n')
    shown = cli("show", drive)
    assert shown.returncode == 0, shown.stderr
    assert "stated overprovisioning" in shown.stdout
    assert "stated overprovisioning" not in cli("show", "tiny").stdout
    (tmp_path / "parts" / "base.toml").write_text('base = "../drive.toml"\n')
    refused = cli("check", drive)
    assert refused.returncode == 2
    assert "a file is its own base: drive.toml -> parts/base.toml -> drive.toml" in refused.stderr


def test_a_run_that_mostly_pads_is_marked(cli, job):
    sets = ("flash.page_size=64KiB", "buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1us")
    light = job.parent / "light.fio"
    light.write_text("[light]\nrw=randwrite\nbs=4k\nnumber_ios=50\nthinktime=2000\n")
    done = cli("run", "tiny", light, *(word for one in sets for word in ("--set", one)))
    assert "padding is 94 % of what is programmed" in done.stdout
    assert 'buffer.partial_flush = "wait"' in done.stderr
