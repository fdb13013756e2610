"""Sweeps on a Dask cluster: the rows are those of one process, whatever happens to the workers."""

from __future__ import annotations

import json

import pytest
from distributed import LocalCluster

import ssdlab
from ssdlab.explore.folder import read_rows

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=1000\n"
SPEC = """\
drive = "tiny"
workload = "job.fio"
precondition = "steady"
seeds = [1, 2]
[vary]
"ftl.overprovisioning" = [0.07, 0.28]
"ftl.victim" = ["greedy", "fifo"]
"""
#: Columns that differ between equal runs.
TIMES = ["wall_s", "setup_s"]


@pytest.fixture(scope="module")
def local():
    """A cluster of two worker processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def address(local):
    """The address of its scheduler, with both workers there."""
    local.wait_for_workers(2)
    return local.scheduler_address


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job and a specification, in which the test works."""
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "job.fio").write_text(JOB)
    (folder / "spec.toml").write_text(SPEC)
    monkeypatch.chdir(folder)
    return folder


def test_rows_are_those_of_one_process_in_the_order_of_the_design(here, address, cli):
    seen = []
    done = ssdlab.sweep("spec.toml", "out", scheduler=address, progress=lambda _: seen.append(read_rows("out").num_rows))
    assert (done.table.num_rows, done.new, done.failed) == (8, 8, 0)
    # Each row is written as it arrives.
    assert seen == list(range(1, 9))
    alone = ssdlab.sweep("spec.toml", "alone", jobs=1)
    assert done.table.drop(TIMES).equals(alone.table.drop(TIMES))
    again = cli("sweep", here / "spec.toml", "--out", here / "out", "--scheduler", address, "--json")
    assert (again.returncode, json.loads(again.stdout)["new"]) == (0, 0)
