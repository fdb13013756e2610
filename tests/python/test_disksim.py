"""The drive ``disksim-reference`` against the reference outputs of DiskSim's SSD extension."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ssdlab
from ssdlab_papers.ofwar.disksim import DRIVE, REFERENCES, lines, requests

#: Names of the published traces in the folder that ``SSDLAB_TRACES`` names.
FILES = {"iozone": "disksim_ssd-iozone-aligned2-100K.trace.zst", "postmark": "disksim_ssd-postmark-aligned2.trace.zst"}
#: Relative tolerances of the mean and of the standard deviation.
MEAN, DEVIATION = 0.01, 0.025


def agrees(name: str, workload: ssdlab.Workload) -> None:
    """Compares a run with a reference output."""
    expected = REFERENCES[name]
    summary = ssdlab.run(DRIVE, workload).summary
    found = summary["latency"]["all"]
    assert found["count"] == expected.count
    shown = {key: round(value / 1e6, 6) for key, value in found.items() if key.endswith("_ns") and value is not None}
    assert found["mean_ns"] / 1e6 == pytest.approx(expected.mean, rel=MEAN), shown
    # That of sequential reads is 72 ns.
    assert found["stddev_ns"] / 1e6 == pytest.approx(expected.deviation, rel=DEVIATION, abs=2e-6), shown
    assert found["max_ns"] / 1e6 == pytest.approx(expected.longest, rel=0.02), shown


def synthetic(name: str, folder: Path) -> ssdlab.Workload:
    """Writes a synthetic load to a trace."""
    path = folder / f"{name}.trace"
    with path.open("w") as file:
        file.writelines(lines(REFERENCES[name]))
    return ssdlab.Workload(path, format="disksim")


@pytest.mark.parametrize("name", ["sr250k", "sw250k", "rr250k", "rw250k"])
def test_short_loads_have_the_response_times_of_the_extension(name: str, tmp_path: Path) -> None:
    agrees(name, synthetic(name, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sw5m", "rw5m"])
def test_loads_with_cleaning_have_the_response_times_of_the_extension(name: str, tmp_path: Path) -> None:
    agrees(name, synthetic(name, tmp_path))


@pytest.mark.parametrize("name", list(FILES))
def test_traces_have_the_response_times_of_the_extension(name: str) -> None:
    folder = os.environ.get("SSDLAB_TRACES")
    if folder is None:
        pytest.skip("needs published traces: SSDLAB_TRACES=<folder>")
    agrees(name, ssdlab.Workload(Path(folder) / FILES[name], format="disksim"))


def test_the_sizes_of_the_synthetic_loads_are_those_of_the_outputs() -> None:
    """The mean sizes that the outputs state: 12.644 sectors of random requests, one page of sequential ones."""
    random = [pages for _, _, pages, _ in requests(REFERENCES["rw250k"])]
    assert sum(random) * 8 / len(random) == pytest.approx(12.644, abs=0.0005)
    assert {pages for _, _, pages, _ in requests(REFERENCES["sw250k"])} == {1}
    with pytest.raises(ValueError, match="a trace"):
        next(requests(REFERENCES["iozone"]))
