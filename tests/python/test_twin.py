"""Twins: a hidden drive is found again from its points, and judged on loads that the fit has not seen."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from chromium import dom_of
from conftest import Command
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.twin import judge, knowledge, search
from ssdlab.twin.bench import Bench, Request
from ssdlab.twin.check import check
from ssdlab.twin.loads import Load
from ssdlab.twin.points import COLUMNS, METRICS, Point, read_points
from ssdlab.twin.search import Problem, run_all
from ssdlab.twin.space import space_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "twin"
#: The drive that the points come from, and the spread of the noise that they are given.
HIDDEN = {"flash.read_time": "62us", "flash.program_time": "480us", "flash.erase_time": "3ms"}
NOISE = 0.02
SPEC = """
[search]
"flash.read_time" = { low = "30us", high = "120us" }
"flash.program_time" = { scale = 2.0 }
"flash.erase_time" = { scale = 2.0 }
"""
#: Loads with their use. On a new drive nothing is erased, so that nothing says how long an erase takes.
LOADS = (
    (Load("randread", 4096, 1), "fit"),
    (Load("randread", 4096, 4), "held"),
    (Load("randread", 4096, 16), "fit"),
    (Load("randwrite", 4096, 1, state="none"), "fit"),
    (Load("randwrite", 4096, 4, state="none"), "held"),
)
WANTED = ("iops", "mean_us", "p50_us", "p99_us")


def points_of(hidden: dict[str, str], loads: tuple[tuple[Load, str], ...], seed: int = 7) -> str:
    """Returns the table of points of a drive, with noise."""
    generator = random.Random(seed)
    rows = [",".join(COLUMNS)]
    for at, (load, use) in enumerate(loads):
        facts = ssdlab.describe("tiny", set=[*load.settings()])
        settings = [f'{name}="{value}"' for name, value in hidden.items()]
        job = ssdlab.Workload(text=load.job(20_000, facts["user_bytes"]))
        result = ssdlab.run("tiny", job, set=[*settings, *load.settings()], seed=99)
        latency = result.latency["all"]
        values = {
            "iops": result.iops,
            "mean_us": (latency.mean_ns or 0) / 1e3,
            "p50_us": (latency.p50_ns or 0) / 1e3,
            "p99_us": (latency.p99_ns or 0) / 1e3,
        }
        shift = math.exp(generator.gauss(0, NOISE))
        for metric in WANTED:
            # A slower run has a lower rate and longer latencies.
            value = (values[metric] or 0) * (1 / shift if metric == "iops" else shift)
            low, high = value * math.exp(-1.645 * NOISE), value * math.exp(1.645 * NOISE)
            where = f"L{at},{load.rw},{load.block},{load.depth},,,,{load.state}"
            rows.append(f"{where},{metric},{value:.6g},{low:.6g},{high:.6g},{use}")
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """A folder with the points of the hidden drive, and a twin of it."""
    from ssdlab.twin.fit import Asked, fit

    folder = tmp_path_factory.mktemp("twin")
    (folder / "points.csv").write_text(points_of(HIDDEN, LOADS))
    (folder / "spec.toml").write_text(SPEC)
    asked = Asked(str(folder / "points.csv"), "tiny", str(folder / "spec.toml"), trials=4)
    fit(asked, folder / "out")
    return folder / "out"


def document_of(twin: Path) -> dict:
    return json.loads((twin / "twin.json").read_text())


def in_us(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"us": 1, "ms": 1000}[unit]


def test_what_the_points_determine_is_found_again(twin):
    profiles = {one["field"]: one for one in document_of(twin)["knowledge"]["profiles"]}
    for name, truth in (("flash.read_time", 62), ("flash.program_time", 480)):
        one = profiles[name]
        assert one["determined"]
        # 2 % of noise that all values of a run share, and a run or two that depend on the field.
        assert abs(in_us(one["best"]) / truth - 1) < 3 * NOISE
        assert in_us(one["low"]) / (1 + NOISE) <= truth <= in_us(one["high"]) * (1 + NOISE)
        assert one["share_of_range"] < 0.3


def test_what_the_points_do_not_determine_is_said_with_a_measurement_that_would(twin):
    erase = next(one for one in document_of(twin)["knowledge"]["profiles"] if one["field"] == "flash.erase_time")
    assert not erase["determined"]
    assert "randwrite 4 KiB" in erase["would_determine"] or "randrw" in erase["would_determine"]


def test_errors_on_unseen_loads_are_within_the_noise(twin):
    found = check(twin)
    assert {row.load for row in found.held} == {"randread 4 KiB, depth 4, fill", "randwrite 4 KiB, depth 4, none"}
    for score in found.by_metric:
        assert score.median is not None
        assert score.median < (0.15 if score.name == "p99_us" else 0.05)
        # The base is wrong by more.
        assert score.unfitted is not None
        assert score.median < score.unfitted
    covered = [row.is_covered for row in found.held]
    assert sum(covered) >= judge.COVERAGE * len(covered)
    # Each metric's worst point has its causes.
    assert {cause["metric"] for cause in found.causes} == set(WANTED)
    assert all(
        "reading the cells" in one["sentence"] or "programming the cells" in one["sentence"] or "waiting" in one["sentence"]
        for one in found.causes
    )


def test_each_member_is_a_drive_that_runs(twin):
    document = document_of(twin)
    assert len(document["members"]) >= 2
    reads = set()
    for member in document["members"]:
        facts = ssdlab.describe(twin / member["file"])
        reads.add(facts["bounds"]["read_at_depth_1_ns"])
    assert len(reads) > 1


def test_the_split_is_in_the_manifest_and_that_of_the_points(twin):
    manifest = json.loads((twin / "manifest.json").read_text())
    assert manifest["kind"] == "twin"
    assert manifest["run"]["split_sha256"] == document_of(twin)["split_sha256"]
    # The copy in the folder has other places, and the same points.
    assert read_points(twin / "points.csv").split_hash() == manifest["run"]["split_sha256"]


def test_the_check_prints_the_pinned_keys(cli: Command, twin):
    done = cli("twin", "check", twin, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {"id", "use", "metric", "measured", "simulated", "low", "high"} <= set(document["points"][0])
    assert document["held"] == 8
    assert document["coverage"] >= judge.COVERAGE
    shown = cli("twin", "check", twin)
    assert "8 unseen points" in shown.stdout
    assert "p99_us" in shown.stdout


def test_other_points_are_judged_by_runs_of_the_ensemble(cli: Command, twin, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(points_of(HIDDEN, ((Load("randread", 4096, 2), "held"),), seed=3))
    done = cli("twin", "check", twin, "--points", other, "--json", "--report", "other.html")
    assert done.returncode == 0, done.stderr
    assert "depth 2, fill" in (tmp_path / "here" / "other.html").read_text()
    rows = json.loads(done.stdout)["points"]
    assert [row["load"] for row in rows] == ["randread 4 KiB, depth 2, fill"] * 4
    assert all(abs(row["error"]) < 0.1 for row in rows)
    # A drive that reads in half of the time is none of its points.
    other.write_text(points_of({**HIDDEN, "flash.read_time": "31us"}, ((Load("randread", 4096, 2), "held"),)))
    done = cli("twin", "check", twin, "--points", other, "--json")
    assert json.loads(done.stdout)["coverage"] == 0


def test_the_page_shows_the_curves_offline(twin, tmp_path):
    page = (twin / "report.html").read_text()
    assert "Content-Security-Policy" in page
    assert "http://" not in page.split("<script")[0]
    shown = dom_of(
        page, "document.body.dataset.curves = document.querySelectorAll('.figure svg.main-svg').length", tmp_path / "page.html"
    )
    assert "Points that the fit has not seen" in shown
    assert re.search(r'data-curves="(\d+)"', shown)[1] != "0"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("far,randread,4k,1,,,,fill,p50_us,9,8.9,9.1,fit", "no drive of tiny reaches it"),
        ("far,randread,4k,1,,,,fill,p50_us,66000,65000,67000,fit", "a unit slip of 1,000?"),
        ("far,randread,4k,1,,,,fill,iops,9e7,8e7,1e8,held", "no drive of tiny reaches it"),
        ("far,randread,4k,1,,,1GiB,fill,iops,15000,,,fit", "size 1 GiB: the drive has"),
    ],
)
def test_points_that_no_drive_reaches_are_named_by_their_row(cli: Command, tmp_path, row, says):
    good = "a,randread,4k,2,,,,fill,iops,30000,,,{}"
    rows = [",".join(COLUMNS), good.format("held"), "b,randread,4k,4,,,,fill,iops,45000,,,fit", row]
    (tmp_path / "points.csv").write_text("\n".join(rows) + "\n")
    done = cli("twin", "fit", tmp_path / "points.csv", "--base", "tiny", "--out", "out")
    assert done.returncode == 2
    assert says in done.stderr
    if "size" not in says:
        assert "points.csv:4: value: " in done.stderr
    assert not (tmp_path / "here" / "out").exists()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ('[search]\n"flash.reed_time" = { scale = 2.0 }', "search.flash.reed_time: the base has no such number"),
        ('[search]\n"flash.read_time" = { scale = 1.0 }', "scale = 1.0: expected a factor above 1"),
        ('[search]\n"flash.read_time" = { low = "9us" }', "expected { low = .., high = .. }"),
        ('[search]\n"flash.read_time" = { low = "9us", high = "8us" }', "expected 0 < low < high"),
        ('[search]\n"flash.read_time[0]" = { scale = 2.0 }', "flash.read_time is no list"),
        ('[serch]\n"flash.read_time" = { scale = 2.0 }', "serch: unknown table"),
        ("[search]\n", "no field to fit"),
    ],
)
def test_a_specification_with_a_fault_is_refused(tmp_path, spec, says):
    (tmp_path / "spec.toml").write_text(spec)
    with pytest.raises(InputError, match=r"spec\.toml") as refused:
        space_of("tiny", str(tmp_path / "spec.toml"))
    assert says in str(refused.value)


def test_the_default_space_has_a_time_for_each_page_type():
    names = [field.name for field in space_of("pcie5-enterprise-8tb", None).fields]
    assert [name for name in names if name.startswith("flash.read_time")] == [f"flash.read_time[{at}]" for at in range(3)]
    # The policy has no cache of one-bit blocks, so that the size of one changes nothing.
    assert not [name for name in names if name.startswith("policy")]
    space = space_of("pcie5-enterprise-8tb", None)
    ssdlab.check("pcie5-enterprise-8tb", set=space.settings([0.3] * len(names)))
    assert "flash.read_time=" in " ".join(space.settings(space.start))


def small_problem(seed: int = 1) -> Problem:
    load = Load("randread", 4096, 1)
    points = tuple(
        Point("t", "t", load, "all", metric, value, value, value, "fit")
        for metric, value in (("p50_us", 70.0), ("iops", 14000.0))
    )
    spec = space_of("tiny", None)
    space = type(spec)(spec.drive, (), tuple(field for field in spec.fields if field.name == "flash.read_time"), {})
    return Problem(Bench(Drive.open("tiny"), points, seed), space, points, {})


def test_least_squares_finds_the_time_of_a_read_whatever_the_number_of_processes():
    found = []
    for jobs in (1, 2):
        problem = small_problem()
        (shares,) = run_all(problem.bench, [search.refined(problem, [0.2], 0.15, 5)], jobs=jobs)
        found.append(shares)
        # 3.7 us of the 70 are commands and the channel.
        assert ssdlab.describe("tiny", set=problem.space.settings(shares))["bounds"]["read_at_depth_1_ns"] == pytest.approx(
            70_500, rel=0.02
        )
    assert found[0] == found[1]


def test_a_run_is_done_once_however_many_ask_for_it():
    problem = small_problem()
    request = Request(problem.space.settings([0.5]), problem.loads, 0.15)

    def ask():
        yield [request]
        return problem.bench.values(request, problem.points)

    assert run_all(problem.bench, [ask(), ask()], jobs=2)[0] is not None
    assert problem.bench.runs == 1


def test_a_group_that_is_left_out_is_predicted_from_the_others():
    """Two groups depend on one field; one of them has an error that the other does not."""
    problem = small_problem()
    other = Load("randread", 8192, 1)
    points = (problem.points[0], Point("t", "u", other, "all", "p50_us", 70.0, 70.0, 70.0, "fit"))
    both = Problem(problem.bench, problem.space, points, {})
    slopes, residuals = np.array([[50.0], [50.0]]), np.array([1.0, -1.0])
    errors = knowledge.left_out(both, residuals, slopes, 1.0)
    # Without the first group the fit follows the second one, so that the error of the first doubles.
    assert errors[0] == pytest.approx(2.0 * both.scales()[0], rel=0.02)
    assert errors[1] == pytest.approx(-2.0 * both.scales()[1], rel=0.02)


def test_the_interval_of_an_ensemble_holds_its_members_and_the_noise():
    load = Load("randread", 4096, 1)
    point = Point("t", "t", load, "all", "p50_us", 101.0, 98.0, 102.0, "held")
    (row,) = judge.judged([point], [[100.0], [110.0], [121.0]], [0.02], {})
    assert row.simulated == pytest.approx(110.0)
    assert row.low is not None
    assert row.low == pytest.approx(110 * math.exp(-math.hypot(0.9 * math.log(1.1), 1.6449 * 0.02)))
    assert row.is_covered
    (tight,) = judge.judged([point], [[110.0]], [0.02], {})
    assert not tight.is_covered
    (wide,) = judge.judged([point], [[110.0]], [0.02], {"typical latency": 0.06})
    assert wide.is_covered


def test_the_spread_of_a_class_is_that_of_nine_in_ten_errors():
    load = Load("randread", 4096, 1)
    points = [Point("t", str(at), load, "all", "p50_us", 1.0, 1.0, 1.0, "fit") for at in range(10)]
    errors = [0.01 * at for at in range(10)]
    spreads = judge.class_spreads(points, errors, [0.01] * 10)
    assert math.hypot(spreads["typical latency"], 0.01) * 1.6449 == pytest.approx(0.09)
    # Too few of a class: those of all count.
    assert spreads["p99"] == spreads["typical latency"]
    assert judge.class_spreads(points, [0.001] * 10, [0.01] * 10)["p99"] == 0


def test_every_metric_has_a_class_and_a_spread():
    assert set(judge.TARGETS) < set(METRICS)


def measuring():
    """Returns the measuring script as a module."""
    found = importlib.util.spec_from_file_location("measure", EXAMPLES / "measure.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_measuring_script_prints_its_plan_and_refuses_what_is_no_device(tmp_path):
    script = [sys.executable, str(EXAMPLES / "measure.py")]
    planned = subprocess.run([*script, "/dev/nvme9n9", "--plan"], capture_output=True, text=True, check=True)
    assert "ALL DATA ON /dev/nvme9n9 IS LOST" in planned.stdout
    (tmp_path / "file").write_text("")
    for name, says in ((tmp_path / "file", "no block device"), (tmp_path / "none", "No such file")):
        refused = subprocess.run([*script, str(name)], capture_output=True, text=True, input="", check=False)
        assert refused.returncode == 2
        assert says in refused.stderr


def test_the_measuring_script_refuses_a_mounted_device():
    users_of = measuring().users_of

    def nobody(device: str) -> list[str]:
        return []

    mounts = "/dev/nvme1n1p2 / ext4 rw 0 0\n/dev/sdb1 /data xfs rw 0 0\n"
    swaps = "Filename Type Size\n/dev/sdc2 partition 8 0\n"
    assert users_of("/dev/nvme1n1", mounts, swaps, nobody) == ["/dev/nvme1n1p2 is mounted at /"]
    assert users_of("/dev/sdb", mounts, swaps, nobody) == ["/dev/sdb1 is mounted at /data"]
    assert users_of("/dev/sdc", mounts, swaps, nobody) == ["/dev/sdc2 is swap space"]
    assert users_of("/dev/nvme1n10", mounts, swaps, nobody) == []
    assert users_of("/dev/nvme2n1", mounts, swaps, lambda device: ["dm-0"]) == ["dm-0 stands on it"]


@pytest.mark.parametrize("name", ["read", "write", "mixed"])
def test_the_jobs_of_the_measuring_script_run_here(name):
    measured = measuring()
    assert (f"{name}.fio", "fill" if name == "read" else "steady") in [step[:2] for step in measured.STEPS]
    job = ssdlab.Workload(EXAMPLES / f"{name}.fio", var=["DEVICE=/dev/none", "STATE=fill"])
    assert ssdlab.run("tiny", job, stop_after=1).commands["trim"] == 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.csv")), ids=lambda path: path.stem)
def test_the_points_that_ship_have_a_source_and_a_split(path):
    points = read_points(path)
    points.check_for_fit()
    assert re.search(r"[a-z]+\.(com|net|org)/", points.text)


def test_an_interrupted_fit_goes_on_with_the_runs_that_it_has_kept(twin, tmp_path):
    from ssdlab.twin.fit import Asked, fit

    runs = tmp_path / "runs"
    folder = twin.parent
    asked = Asked(str(folder / "points.csv"), "tiny", str(folder / "spec.toml"), trials=4, runs=runs)

    def interrupt(_: str, count: int) -> None:
        if count == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(asked, tmp_path / "out", progress=interrupt)
    assert not (tmp_path / "out").exists()
    first = runs.read_text()
    assert len(first.splitlines()) == 1 + 40
    # As if the process had been killed while it wrote.
    runs.write_text(first + '{"run": "ab')
    new = []
    fit(asked, tmp_path / "out", progress=lambda _, count: new.append(count))
    assert runs.read_text().startswith(first)
    assert len(runs.read_text().splitlines()) == 1 + 40 + len(new)
    assert (tmp_path / "out" / "twin.json").read_bytes() == (twin / "twin.json").read_bytes()
    # All of it is known now.
    new.clear()
    fit(asked, tmp_path / "again", progress=lambda _, count: new.append(count))
    assert not new
    assert (tmp_path / "again" / "twin.json").read_bytes() == (twin / "twin.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,rw\n", "1: no run of a fit"),
        ('{"ssdlab": "runs of a twin\'s fit", "version": 1}\n{"run": "ab", "outcome": [1]}\n', "2: no run of a fit"),
        ("no line", "1: no run of a fit"),
    ],
)
def test_another_file_is_no_file_of_runs_and_stays_as_it_is(cli: Command, twin, tmp_path, text, says):
    runs = tmp_path / "runs"
    runs.write_text(text)
    asked = ["twin", "fit", twin / "points.csv", "--base", "tiny", "--out", tmp_path / "out", "--runs", runs]
    done = cli(*asked)
    assert done.returncode == 2
    assert f"{runs}:{says}" in done.stderr
    assert runs.read_text() == text
    assert not (tmp_path / "out").exists()
