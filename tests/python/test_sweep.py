"""Sweeps: every run is what `ssdlab run` gives, whatever interrupts the sweep."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import t as student

import ssdlab
from chromium import dom_of
from conftest import PATIENCE, wait_for
from ssdlab.drawing import looks
from ssdlab.explore import design, pool, rows, statistics, tasks
from ssdlab.explore.folder import Folder, read_rows
from ssdlab.explore.ranges import Range
from ssdlab.explore.spec import Spec
from ssdlab.report import library
from ssdlab.sources import modules_behind, sources_in

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


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job and a specification, in which the test works."""
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "job.fio").write_text(JOB)
    (folder / "spec.toml").write_text(SPEC)
    monkeypatch.chdir(folder)
    return folder


def spec_of(**more: object) -> dict:
    return {"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 200}, **more}


def points_of(**more: object) -> list[dict]:
    return [{**point.fields} for point in design.points(Spec.open(spec_of(**more)))]


def test_each_row_is_what_run_gives(here):
    done = ssdlab.sweep("spec.toml", "out", jobs=2)
    table = pq.read_table("out/runs.parquet")
    assert table.equals(done.table)
    assert (table.num_rows, done.failed, done.new, done.left) == (8, 0, 8, 0)
    names = [name for name in table.column_names if name in rows.kept_always()]
    for row in table.to_pylist():
        fields = {name: row[name] for name in ("ftl.overprovisioning", "ftl.victim")}
        alone = ssdlab.run("tiny", "job.fio", precondition="steady", seed=row["seed"], set=fields)
        assert {name: row[name] for name in names} == {
            name: value for name, value in rows.numbers(alone.summary, names).items() if name in names
        }
        assert row["status"] == "ok"
    given = [(row["ftl.overprovisioning"], row["ftl.victim"], row["seed"]) for row in table.to_pylist()]
    assert given == [(share, rule, seed) for share in (0.07, 0.28) for rule in ("greedy", "fifo") for seed in (1, 2)]
    assert table["write_amplification"].null_count == 0


def test_what_is_there_is_not_done_again(here, cli):
    first = ssdlab.sweep("spec.toml", "out", jobs=1)
    again = ssdlab.sweep("spec.toml", "out", jobs=1)
    assert (again.new, again.table.equals(first.table)) == (0, True)
    # Of a folder that lacks some rows, those are done.
    kept = first.table.filter([number % 3 == 0 for number in range(8)])
    pq.write_table(kept, "out/runs.parquet/runs.parquet")
    third = ssdlab.sweep("spec.toml", "out", jobs=2)
    assert third.new == 8 - kept.num_rows
    assert third.table.drop(TIMES).equals(first.table.drop(TIMES))
    printed = cli("sweep", here / "spec.toml", "--out", here / "out", "--json")
    assert json.loads(printed.stdout)["runs"] == 8
    assert json.loads(printed.stdout)["new"] == 0


def test_another_specification_is_refused_and_may_take_runs_over(here):
    ssdlab.sweep("spec.toml", "out", jobs=1)
    before = pq.read_table("out/runs.parquet")
    (here / "more.toml").write_text(SPEC.replace('"fifo"]', '"fifo", "random"]'))
    with pytest.raises(ssdlab.InputError, match=r"another specification.*reuse out"):
        ssdlab.sweep("more.toml", "out")
    assert pq.read_table("out/runs.parquet").equals(before)
    more = ssdlab.sweep("more.toml", "more", jobs=2, reuse=["out"])
    assert (more.reused, more.new, more.table.num_rows) == (8, 4, 12)
    assert more.table["index"].to_pylist() == list(range(12))


def test_a_changed_input_is_another_run(here):
    ssdlab.sweep(spec_of(seeds=2), "out", jobs=1)
    (here / "job.fio").write_text(JOB.replace("iodepth=8", "iodepth=4"))
    again = ssdlab.sweep(spec_of(seeds=2), "out", jobs=1)
    assert (again.new, again.table.num_rows) == (2, 2)
    # Rows of the changed job are kept apart.
    assert pq.read_table("out/other_runs.parquet").num_rows == 2


@pytest.fixture
def copy(here):
    """A copy of the package, in which files can be changed."""
    engine = Path(ssdlab._engine.__file__)
    leave_out = shutil.ignore_patterns("__pycache__", engine.name)
    shutil.copytree(Path(ssdlab.__file__).parent, here / "copy/ssdlab", ignore=leave_out)
    (here / "copy/ssdlab" / engine.name).symlink_to(engine)
    return here / "copy/ssdlab"


@pytest.mark.slow
def test_a_page_does_not_decide_a_row_and_what_makes_rows_does(here, copy):
    code = (
        "import json, sys, ssdlab; from ssdlab.explore import tasks; "
        "print(ssdlab.__file__, ssdlab.sweep(json.loads(sys.argv[1]), 'out', jobs=1).new, tasks.engine_hash())"
    )

    def swept() -> tuple[int, str]:
        """Returns the number of runs that were done, and the hash of the copy."""
        command = [sys.executable, "-c", code, json.dumps(spec_of(seeds=2))]
        environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=here, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        path, new, found = done.stdout.split()
        assert Path(path).parent == copy
        return int(new), found

    def change(name: str, old: str, new: str) -> None:
        text = (copy / name).read_text()
        assert old in text
        (copy / name).write_text(text.replace(old, new))

    new, before = swept()
    assert new == 2
    assert before == tasks.engine_hash()
    change("drawing/looks.py", looks.GRID, "#123456")
    change("report/style.css", "{", "{ color: red;")
    change("report/page.py", "from html import escape", "import json\nfrom html import escape")
    change("cli/views.py", "from rich.text import Text", "import json\nfrom rich.text import Text")
    assert swept() == (0, before)
    change("explore/rows.py", '"wear.mean",', "")
    new, after = swept()
    assert new == 2
    assert after != before


def test_what_decides_a_row_knows_no_page_and_imports_nothing_by_name():
    sources = sources_in(Path(ssdlab.__file__).parent)
    found = modules_behind(tasks.DECIDING, sources)
    deciding = ("drives", "explore.design", "explore.rows", "lifetimes", "policy_file", "runs", "workloads")
    assert {f"ssdlab.{name}" for name in deciding} <= found
    shown = ("ssdlab.report", "ssdlab.drawing", "ssdlab.cli", "ssdlab.charts", "ssdlab.presentation")
    assert not {name for name in found if name.startswith(shown)}
    by_name = {name for name in found if "import_module(" in sources[name].read_text()}
    assert by_name == {"ssdlab.frames"}, "it imports packages that show tables"


def test_points_that_are_the_same_run_are_run_once_and_have_a_row_each(here):
    done = ssdlab.sweep(spec_of(vary={"buffer.capacity": ["64KiB", "65536B"]}, set={"buffer.policy": "write_through"}), "out")
    assert done.table["buffer.capacity"].to_pylist() == ["64KiB", "65536B"]
    assert len(set(done.table["key"].to_pylist())) == 1
    assert len(set(done.table["wall_s"].to_pylist())) == 1


def test_a_point_that_fails_is_a_row_with_its_error(here, cli):
    done = ssdlab.sweep(spec_of(vary={"flash.channels": [1, 0, 2]}), "out", jobs=2)
    assert done.table["status"].to_pylist() == ["ok", "failed", "ok"]
    assert "flash.channels: 0: expected 1..=256" in done.table["error"].to_pylist()[1]
    assert done.table["write_amplification"].to_pylist()[1] is None
    (here / "spec.toml").write_text('drive = "tiny"\nworkload = "job.fio"\n[vary]\n"flash.channels" = [1, 0]\n')
    shown = cli("sweep", here / "spec.toml", "--out", here / "other")
    assert shown.returncode == 0
    assert "run 1 failed" in shown.stderr
    assert ssdlab.sweep(spec_of(vary={"flash.channels": [1, 0, 2]}), "out", retry=True).new == 1


def test_workload_policy_and_state_are_varied_like_fields(here):
    (here / "other.toml").write_text(
        'kind = "synthetic"\n[[job]]\nname = "a"\npattern = "random"\nread_share = 0.5\n'
        'sizes = [{ size = "4KiB" }]\ndepth = 2\nrequests = 300\n'
    )
    spec = spec_of(workload=["job.fio", "other.toml"], policy=["baseline", "all_fast"], precondition=["none", "fill"], options={})
    done = ssdlab.sweep(spec, "out", jobs=2)
    assert done.table.num_rows == 8
    assert done.failed == 0
    by_load = {row["workload"]: row["commands.read"] + row["commands.write"] for row in done.table.to_pylist()}
    assert by_load == {"job.fio": 1000, "other.toml": 300}
    depths = ssdlab.sweep(spec_of(vary={"workload.iodepth": [1, 4]}, options={}), "depths", jobs=1)
    assert depths.table["throughput.most_in_flight"].to_pylist() == [1, 4]
    jobs = ssdlab.sweep(
        {"drive": "tiny", "workload": "other.toml", "vary": {"workload.job[0].requests": [10, 20]}}, "requests", jobs=1
    )
    assert [row["commands.read"] + row["commands.write"] for row in jobs.table.to_pylist()] == [10, 20]


def test_lists_that_belong_together_points_and_derived_fields():
    zipped = points_of(
        zip=[{"flash.channels": [1, 2], "flash.chips_per_channel": [4, 2]}], vary={"ftl.victim": ["fifo", "greedy"]}
    )
    assert zipped[1] == {"flash.channels": 1, "flash.chips_per_channel": 4, "ftl.victim": "greedy"}
    assert len(zipped) == 4
    assert points_of(points=[{"flash.channels": 1}, {"ftl.victim": "fifo"}]) == [{"flash.channels": 1}, {"ftl.victim": "fifo"}]
    spec = Spec.open(
        {
            **spec_of(vary={"flash.channels": [1, 2, 4, 8]}),
            "where": "flash.channels * flash.chips_per_channel <= 8",
            "derive": {"ftl.gc_critical_blocks": "max(2, flash.channels)"},
        }
    )
    found = [task.point.fields for task in tasks.tasks(Spec(**{**spec_fields(spec), "folder": Path(__file__).parents[2]}))]
    assert found == [{"flash.channels": count, "ftl.gc_critical_blocks": max(2, count)} for count in (1, 2, 4)]


def spec_fields(spec: Spec) -> dict:
    """Returns the fields of a specification whose workload is the example of the repository."""
    fields = {name: getattr(spec, name) for name in Spec.__slots__}
    return {**fields, "workloads": ("examples/randwrite.fio",)}


@pytest.mark.parametrize("kind", ["random", "latin_hypercube", "sobol"])
def test_samples_fill_their_ranges(kind):
    vary = {"flash.channels": {"low": 1, "high": 16, "step": 1}, "ftl.overprovisioning": {"low": 0.07, "high": 0.5, "log": True}}
    found = points_of(vary=vary, design={"kind": kind, "samples": 64})
    assert found == points_of(vary=vary, design={"kind": kind, "samples": 64})
    assert found != points_of(vary=vary, design={"kind": kind, "samples": 64, "seed": 2})
    channels = [point["flash.channels"] for point in found]
    assert all(type(count) is int and 1 <= count <= 16 for count in channels)
    assert len(set(channels)) >= 12
    shares = sorted(point["ftl.overprovisioning"] for point in found)
    assert 0.07 <= shares[0] < shares[-1] <= 0.5
    # Half of the samples lie below the geometric mean of the range.
    below = sum(share < math.sqrt(0.07 * 0.5) for share in shares)
    assert below == 32 if kind != "random" else 20 <= below <= 44


def test_random_samples_need_no_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    vary = {"flash.channels": [1, 2]}
    assert len(points_of(vary=vary, design={"kind": "random", "samples": 3})) == 3
    with pytest.raises(ssdlab.InputError, match=r"needs scipy: pip install 'ssdlab\[search\]'"):
        points_of(vary=vary, design={"kind": "sobol", "samples": 3})


def test_a_range_in_a_grid_has_its_values():
    assert Range(1, 256, count=9, log=True, step=1).values() == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert points_of(vary={"ftl.overprovisioning": {"low": 0.1, "high": 0.3, "count": 3}}) == [
        {"ftl.overprovisioning": pytest.approx(share)} for share in (0.1, 0.2, 0.3)
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('"ftl.overprovisionin" = [0.1]', r"spec.toml:6: vary.ftl.overprovisionin: .*did you mean `overprovisioning`"),
        ('"ftl.overprovisioning" = []', r"spec.toml:6: vary.ftl.overprovisioning: an empty list"),
        ('"ftl.overprovisioning" = 0.1', r"spec.toml:6: vary.ftl.overprovisioning: 0.1: expected a list"),
        ('"flash.channels" = { low = 1, high = 4 }', r"spec.toml:6: vary.flash.channels: a range in a grid"),
        ('"flash.channels" = { low = 4, high = 1, count = 2 }', r"spec.toml:6: .*expected low below high"),
        ('"options.stop_aftr" = [1]', r"options.stop_aftr: unknown option.*did you mean `stop_after`"),
        ("[where]\nx = 1", r"where: .*expected a text"),
        ('[design]\nkind = "soboll"', r"design.kind: `soboll`: expected one of grid"),
        ('[design]\nkind = "sobol"', r"design.samples: 0: expected a number of samples"),
        ("seed = [1]", r"vary.seed: expected `seeds`"),
    ],
)
def test_a_bad_specification_is_refused_by_its_place(here, cli, text, complaint):
    head = 'drive = "tiny"\nworkload = "job.fio"\n\n\n[vary]\n'
    (here / "spec.toml").write_text(head + text + "\n")
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(complaint, done.stderr), done.stderr
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ('drive = "tiny"\n', "workload: missing"),
        ('workload = "job.fio"\n', "drive: missing"),
        ('drive = "tinny"\nworkload = "job.fio"\n', "drive: unknown drive `tinny`"),
        ('drive = "tiny"\nworkload = "no.fio"\n', "no.fio: no such file"),
        ('drive = "tiny"\nworkload = "job.fio"\nseeds = [1, 1]\n', "seeds: [1, 1]: expected each seed once"),
        ('drive = "tiny"\nworkload = "job.fio"\nseeds = 0\n', "seeds: 0: expected a list"),
        ('drive = "tiny"\nworkload = "job.fio"\nsedes = 1\n', "sedes: unknown key"),
        ('drive = "tiny"\nworkload = "job.fio"\nwhere = "flash.channels > 9"\n', "none of the 1 points meets"),
        ('drive = "tiny"\nworkload = "job.fio"\nwhere = "flash.channels >"\n', "column 17: expected a value"),
        ('drive = "tiny"\nworkload = "job.fio"\nwhere = "flash.chanels > 1"\n', "flash.chanels: no such field"),
        ('drive = "tiny"\ndrive = 1\n', "spec.toml: "),
    ],
)
def test_a_bad_head_is_refused(here, cli, head, complaint):
    (here / "spec.toml").write_text(head)
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert not (here / "out").exists()


def test_a_folder_with_something_else_is_left_alone(here, cli):
    (here / "out").mkdir()
    (here / "out" / "note.txt").write_text("mine")
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert done.returncode == 2
    assert "not the folder of a sweep" in done.stderr
    assert [path.name for path in (here / "out").iterdir()] == ["note.txt"]


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(here, start):
    """``kill -9`` of the command, and of its processes, in the middle; then Ctrl-C; then some rows more."""
    text = 'drive = "tiny"\nworkload = "job.fio"\nprecondition = "steady"\nseeds = {}\n'
    # More runs than can end before the signals, however late these come on a busy machine.
    many = 10_000
    (here / "spec.toml").write_text(text.format(many))
    words = ["sweep", str(here / "spec.toml"), "--out", str(here / "out"), "--jobs", "2", "--json"]

    def rows_now() -> int:
        return len(list((here / "out" / "runs.parquet").glob("*.parquet")))

    running = start(*words, lock=here / ".out.lock")
    wait_for(lambda: rows_now() >= 5, "no rows")
    running.send_signal(signal.SIGKILL)
    running.wait()
    done = read_rows(here / "out")
    assert 5 <= done.num_rows < many
    assert set(done["status"].to_pylist()) == {"ok"}
    # The file of the lock was left behind; the next process is awaited by its own.
    (here / ".out.lock").unlink()
    running = start(*words, lock=here / ".out.lock")
    wait_for(lambda: rows_now() > done.num_rows, "no more rows")
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate()
    assert running.returncode == 130
    assert "are missing; to go on: ssdlab sweep" in stderr
    partial = json.loads(stdout)
    assert partial["status"] == "partial"
    assert partial["runs"] > done.num_rows
    assert partial["runs"] + partial["missing"] == many

    def end(progress: ssdlab.SweepProgress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    # One process does the runs in order, first those that two have left out.
    last = ssdlab.sweep(here / "spec.toml", here / "out", jobs=1, progress=end)
    enough = partial["runs"] + 5
    assert (last.interrupted, last.new, last.table.num_rows) == (True, 5, enough)
    (here / "enough.toml").write_text(text.format(enough))
    alone = ssdlab.sweep(here / "enough.toml", here / "alone", jobs=1)
    assert last.table.drop(TIMES).equals(alone.table.drop(TIMES))


class Dying(pool.Pool):
    """A pool of which the process of one run is killed, so many times."""

    times = 0
    at = 3
    killed: ClassVar[set] = set()

    def _begin(self, groups):
        super()._begin(groups)
        for worker in self.workers:
            is_meant = worker.task is not None and worker.task.index == self.at
            if is_meant and Dying.times > 0 and worker.process.pid not in self.killed:
                Dying.times -= 1
                self.killed.add(worker.process.pid)
                os.kill(worker.process.pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "status"), [(1, "ok"), (2, "failed")])
def test_a_process_that_dies_costs_at_most_its_run(here, monkeypatch, times, status):
    Dying.times = times
    monkeypatch.setattr("ssdlab.explore.pool.Pool", Dying)
    done = ssdlab.sweep(here / "spec.toml", here / "out", jobs=2)
    assert Dying.times == 0
    expected = ["ok"] * 8
    expected[Dying.at] = status
    assert done.table["status"].to_pylist() == expected
    if status == "failed":
        assert "SIGKILL" in done.table["error"].to_pylist()[Dying.at]


def test_no_more_runs_are_under_way_than_fit_into_memory(here):
    wanted = list(tasks.tasks(Spec.open(here / "spec.toml")))
    need = wanted[0].memory
    for memory, most in ((need // 2, 1), (need, 1), (2 * need, 2), (100 * need, 3)):
        busy = []
        few = pool.Pool(3, rows.columns(Spec.open(here / "spec.toml")), memory)

        def take(task, outcome, few=few, busy=busy):
            assert outcome["status"] == "ok"
            busy.append(sum(worker.task is not None for worker in few.workers))

        few.run(wanted, take)
        assert len(busy) == 8
        assert max(busy) == most


def test_a_process_keeps_its_starting_state_and_helps_where_most_is_left():
    few = pool.Pool(2, ())
    groups = {"a": deque([1]), "b": deque([1, 2]), "c": deque([1, 2, 3])}
    assert few._next_group(groups, "b", {"a"}) == "b"
    assert few._next_group(groups, "gone", {"a"}) == "b"
    assert few._next_group(groups, "", {"a", "b", "c"}) == "c"


def test_a_row_is_whole_or_not_there(here, cli):
    spec = Spec.open(here / "spec.toml")
    wanted = list(tasks.tasks(spec))
    schema = rows.schema(spec, (task.point for task in wanted))
    with Folder.opened(here / "out", spec.text, schema) as folder:
        folder.add(rows.row(wanted[0], {"status": "failed", "error": "x"}, schema))
        # A process that is killed while it writes leaves this.
        (here / "out" / ".abc.new").write_bytes(b"PAR1")
        assert read_rows(here / "out").num_rows == 1
        beside = cli("sweep", here / "spec.toml", "--out", here / "out", process=True)
        assert beside.returncode == 2
        assert "in use by" in beside.stderr
    with Folder.opened(here / "out", spec.text, schema) as folder:
        assert not (here / "out" / ".abc.new").exists()
        assert folder.done == {wanted[0].id: "failed"}


def test_quantiles_of_t_are_those_of_scipy():
    for probability in (0.6, 0.9, 0.975, 0.995, 0.9995):
        for freedom in (1, 2, 3, 4, 5, 9, 29, 200):
            found = statistics.quantile_of_t(probability, freedom)
            assert found == pytest.approx(student.ppf(probability, freedom), rel=1e-5)
            assert statistics.quantile_of_t(1 - probability, freedom) == pytest.approx(-found)


def test_an_interval_contains_the_mean_as_often_as_it_says():
    rng = random.Random(1)
    inside = 0
    for _ in range(2000):
        found = statistics.estimate([rng.gauss(10.0, 3.0) for _ in range(4)])
        inside += found.low <= 10.0 <= found.high
    # 95 %, within four standard deviations of a binomial count.
    assert 1861 <= inside <= 1939
    alone = statistics.estimate([3.0])
    assert (alone.mean, alone.low, alone.share) == (3.0, None, None)


def table_of(rows_: list[tuple]) -> pa.Table:
    names = ("a", "b", "seed", "status", "x")
    return pa.table({name: [row[at] for row in rows_] for at, name in enumerate(names)})


def test_points_are_compared_seed_by_seed():
    """The seeds differ by far more than the points: only the differences of equal seeds show it."""
    noise = {1: 100.0, 2: 300.0, 3: 200.0, 4: 50.0}
    found = table_of(
        [("p", b, seed, "ok", level * (1.1 if b == "y" else 1.0)) for b in ("x", "y") for seed, level in noise.items()]
        + [("p", "z", seed, "ok", noise[seed] + change) for seed, change in ((1, 30.0), (2, -30.0), (3, 25.0), (4, -20.0))]
        + [("p", "z", 9, "ok", 1e9), ("p", "y", 5, "failed", 1e9), ("q", "y", 1, "ok", 7.0)]
    )
    by_value = {one.second: one for one in statistics.differences(found, ["a", "b"], "x", "b", "x")}
    assert set(by_value) == {"y", "z"}
    assert by_value["y"].change.mean == pytest.approx(0.1)
    assert by_value["y"].is_supported
    assert by_value["y"].change.count == 4
    assert not by_value["z"].is_supported
    assert by_value["z"].point == {"a": "p"}
    points = {point["b"]: mean.count for point, mean in statistics.estimates(found, ["a", "b"], "x") if point["a"] == "p"}
    assert points == {"x": 4, "y": 4, "z": 5}
    with pytest.raises(ssdlab.InputError, match="no run has the value 'w'"):
        statistics.differences(found, ["a", "b"], "x", "b", "w")
    with pytest.raises(ssdlab.InputError, match="unknown number `xx`"):
        statistics.estimates(found, ["a", "b"], "xx")


def test_seeds_are_added_until_a_number_is_known_well_enough(here):
    spec = {**spec_of(vary={"ftl.victim": ["greedy", "fifo"]}, precondition="steady"), "seeds": 3, "until": "mean within 4 %"}
    done = ssdlab.sweep({**spec, "most_seeds": 12, "options": {}}, "out", jobs=2)
    for point, found in done.estimates("latency.all.mean_ns"):
        assert 3 <= found.count <= 12
        assert found.count == 12 or found.share <= 0.04, point
        assert found.count > 3 or found.share <= 0.04
    assert done.table.num_rows > 6
    again = ssdlab.sweep({**spec, "most_seeds": 12, "options": {}}, "out", jobs=1)
    assert (again.new, again.table.equals(done.table)) == (0, True)
    # Killed after some of the further runs: the same runs in the end.
    pq.write_table(done.table.slice(0, done.table.num_rows - 2), "out/runs.parquet/runs.parquet")
    third = ssdlab.sweep({**spec, "most_seeds": 12, "options": {}}, "out", jobs=1)
    assert third.new == 2
    assert third.table.drop(TIMES).equals(done.table.drop(TIMES))
    for text, complaint in (("p99.99", "expected a number and a share"), ("zz within 5 %", "expected a name such as")):
        with pytest.raises(ssdlab.InputError, match=complaint):
            Spec.open({**spec, "until": text})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"workload": "-"}, "spec: workload: -: standard input cannot be read by several processes"),
        ({"workload": ["job.fio", "-"]}, "spec: workload: -: .*write the workload to one first"),
        ({"vary": {"flash.channels": [1, 2], "workload": ["job.fio", "-"]}, "workload": None}, "spec: vary.workload: -: "),
        ({"zip": [{"workload": ["-", "job.fio"], "ftl.victim": ["fifo", "greedy"]}], "workload": None}, "spec: zip.workload: -"),
        ({"points": [{"workload": "-", "ftl.victim": "fifo"}], "workload": None}, "spec: points.workload: -: "),
        ({"drive": "-"}, "spec: drive: -: only a workload is read from standard input"),
    ],
)
def test_standard_input_is_refused_with_what_to_do(here, changes, complaint):
    spec = {**spec_of(vary={"flash.channels": [1, 2]}), **changes}
    with pytest.raises(ssdlab.InputError, match=complaint):
        ssdlab.sweep({name: value for name, value in spec.items() if value is not None}, "out", jobs=1)
    assert not (here / "out" / "runs.parquet").exists()


@pytest.mark.parametrize("command", ["sweep", "optimise"])
def test_a_specification_is_a_file(here, cli, command):
    done = cli(command, "-", "--out", here / "out")
    assert (done.returncode, "-: names in a specification are relative to its folder" in done.stderr) == (2, True)
    search = '[search]\n"flash.channels" = [1, 2]\n[[objective]]\nkey = "cost"\n'
    (here / "dash.toml").write_text(f'drive = "tiny"\nworkload = "-"\n{search if command == "optimise" else ""}')
    done = cli(command, here / "dash.toml", "--out", here / "out")
    assert (done.returncode, "dash.toml:2: workload: -: standard input cannot" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A sweep with two fields and two seeds, and a run that failed."""
    folder = tmp_path_factory.mktemp("shown")
    (folder / "job.fio").write_text(JOB)
    spec = {
        "title": "a <b> & @@SPEC@@",
        "drive": "tiny",
        "workload": str(folder / "job.fio"),
        "seeds": 2,
        "precondition": "steady",
        "vary": {"ftl.victim": ["greedy", "fifo"], "flash.channels": [0, 1, 2, 4]},
    }
    return ssdlab.sweep(spec, folder / "out", jobs=2)


def test_the_report_is_there_and_the_same_each_time(shown):
    html = (shown.folder / "report.html").read_text(encoding="utf-8")
    assert html == shown.report() == ssdlab.load_sweep(shown.folder).report()
    assert "a &lt;b&gt; &amp; @@SPEC@@" in html
    assert "Runs that failed: 4" in html
    assert re.findall(r"""(?:src|href)=|@import|url\((?!#)""", html.replace(library.tail(), "")) == []
    assert len(html) < 1_000_000


def test_the_report_is_written_again(shown, cli, tmp_path):
    done = cli("report", shown.folder, "--out", tmp_path / "again.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == shown.report()
    several = cli("report", shown.folder, shown.folder, "--out", tmp_path / "two.html")
    assert several.returncode == 2
    assert "expected one DIR" in several.stderr


#: Drags on an axis of the parallel coordinates, or clicks if both places [px] are the same.
DRAG = """
const drag = (axis, ...places) => {
  const strip = document.querySelectorAll(".strip")[axis];
  strip.setPointerCapture = () => {};
  const top = strip.ownerSVGElement.getBoundingClientRect().top;
  ["onpointerdown", "onpointermove", "onpointerup"].forEach((name, step) => {
    strip[name](new PointerEvent(name.slice(2), { clientY: top + places[Math.min(step, 1)] }));
  });
};
"""


@pytest.mark.slow
def test_a_selection_in_one_chart_is_one_in_all(shown, tmp_path):
    html = shown.report()
    whole = dom_of(html, "", tmp_path / "whole.html")
    assert "6 of 6 points" in whole
    assert whole.count('<tr><th scope="row">') >= 6
    # Channels are the second axis, from 4 at the top (84) to 1 at the bottom (400): 1 and 2 are selected.
    some = dom_of(html, f"{DRAG} drag(1, 404, 250);", tmp_path / "some.html")
    assert "4 of 6 points" in some
    table = some[some.index('id="table"') : some.index("Specification")]
    cells = re.findall(r'<tr><th scope="row">(\w+)</th><td>(\d+)</td>', table)
    assert sorted(cells) == [("fifo", "1"), ("fifo", "2"), ("greedy", "1"), ("greedy", "2")]
    assert "±" in table
    for chart in ("effects", "curves", "heat", "front"):
        assert re.search(rf'id="{chart}" class="figure js-plotly-plot"', some), chart
    for steps, count in (
        ("drag(1, 404, 390); drag(1, 90, 80);", 4),  # Two intervals of an axis.
        ("drag(1, 404, 390); drag(0, 90, 80);", 1),  # Two axes.
        ("drag(1, 404, 390); drag(1, 90, 80); drag(1, 400, 400);", 2),  # A click drops the interval below it.
        ("drag(1, 404, 390); drag(1, 90, 80); drag(1, 200, 200);", 6),  # A click beside the intervals drops all.
    ):
        assert f"{count} of 6 points" in dom_of(html, f"{DRAG} {steps}", tmp_path / "steps.html"), steps


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 500])
def test_the_page_fits_its_window(shown, tmp_path, width):
    script = """
    const wide = [...document.querySelectorAll("main *")].filter((part) => {
      const inside = part.closest(".scroll, pre");
      return (!inside || inside === part) && part.getBoundingClientRect().right > innerWidth + 1;
    });
    document.title = `wide: ${wide.map((part) => part.id || part.className || part.tagName)}.`;
    """
    assert "<title>wide: .</title>" in dom_of(shown.report(), script, tmp_path / "page.html", width)


@pytest.mark.slow
def test_the_table_of_architectures_is_what_the_example_gives(examples, tmp_path):
    done = ssdlab.sweep(examples / "architectures.toml", tmp_path / "out", jobs=2)
    page = (examples.parent / "docs" / "guide" / "explore.md").read_text(encoding="utf-8")
    written = [[cell.strip() for cell in line.split("|")[2:-1]] for line in re.findall(r"^\| C\d+ \|.*$", page, re.MULTILINE)]
    found = done.table.to_pylist()

    def shown_as(column: int, row: dict) -> str:
        # Without caching, 32 commands keep nothing busy: the page names no resource.
        busy = {"die": ", dies", "channel": ", channels", "link": ", link"}[row["bottleneck.resource"].split("_")[0]]
        assert column == 1 or row["bottleneck.utilisation"] > 0.985
        return f"{row['throughput.write_bytes_per_s'] / 1e6:,.0f}{'' if column == 1 else busy}"

    assert [[shown_as(column, found[4 * row + column]) for column in range(4)] for row in range(10)] == written


@pytest.mark.slow
def test_the_notebook_runs(examples, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = json.loads((examples / "explore.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert not [*tmp_path.iterdir()], "nothing is left beside the notebook"
    assert names["done"].failed == 0
    assert len(names["met"]) == 6
    assert names["chips"](names["best"]) == 16
    assert names["best"]["flash.suspension.program"] is True
    assert capsys.readouterr().out.count(" supported") == 3
    assert names["result"].iops > 12_000
    assert names["result"].latency["read"].p99_ns < 0.4e6


def test_a_script_without_a_guard_can_sweep(here):
    """The processes of a sweep do not run the user's script again, not even one from standard input."""
    text = f"import ssdlab\nprint(ssdlab.sweep({spec_of(seeds=2)!r}, 'out', jobs=2).new)\n"
    (here / "script.py").write_text(text)
    for words, given in ((["script.py"], None), (["-"], text.replace("'out'", "'other'"))):
        done = subprocess.run([sys.executable, *words], input=given, capture_output=True, text=True, timeout=120, check=False)
        assert (done.stdout, done.stderr) == ("2\n", "")


def test_processes_that_cannot_start_end_the_sweep(here, monkeypatch, cli):
    monkeypatch.setattr("ssdlab.explore.pool.sys.executable", "/bin/false")
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert done.returncode == 1
    assert "ended before it could run anything (exit status 1)" in done.stderr
    assert read_rows(here / "out").num_rows == 0


def test_a_derived_size_has_the_unit_of_its_field(here):
    derive = {"buffer.capacity": "flash.channels * 64KiB", "flash.read_time": "25us * flash.channels"}
    spec = {**spec_of(vary={"flash.channels": [4, 8]}, derive=derive), "drive": "explorer-c1"}
    done = ssdlab.sweep(spec, "sized", jobs=1)
    assert done.table["error"].to_pylist() == [None, None]
    assert done.table["buffer.capacity"].to_pylist() == ["262144B", "524288B"]
    assert done.table["flash.read_time"].to_pylist() == ["100000ns", "200000ns"]


def test_an_empty_text_removes_a_field(here):
    done = ssdlab.sweep(spec_of(vary={"controller.target_queues": ["", {"threshold": 7}]}), "removed", jobs=1)
    assert done.table["error"].to_pylist() == [None, None]


def test_a_column_that_no_run_has_a_number_for_is_a_remark(here, cli):
    named = ["utilisaton.die_0", "utilisation.die_1", "power_failure.lost_pages", "latency.read.p99_99_ns"]
    (here / "spec.toml").write_text(f"columns = {json.dumps(named)}\n{SPEC}")
    done = cli("sweep", here / "spec.toml", "--out", here / "out")
    remarks = [line for line in done.stderr.splitlines() if "columns: " in line]
    assert remarks[0] == ("ssdlab: columns: `utilisaton.die_0`: no run has this number (did you mean `utilisation.die_0`?)")
    assert remarks[1].startswith("ssdlab: columns: `power_failure.lost_pages`: no run has this number")
    assert remarks[2:] == ["ssdlab: columns: `latency.read.p99_99_ns`: no run has this number"]
    assert "columns: " not in cli("sweep", here / "spec.toml", "--out", here / "out", "--quiet").stderr


def test_the_best_value_so_far_is_the_lowest_latency_or_the_highest_throughput():
    from ssdlab.cli.sweep import _Best

    spec = Spec.open(spec_of(until="mean within 5 %"))
    best = _Best(spec.until)
    assert best.text(None) == ""
    assert best.text({"latency.all.mean_ns": 3000.0}) == " · best latency.all.mean_ns 3.000 us"
    assert best.text({"latency.all.mean_ns": 4000.0}) == " · best latency.all.mean_ns 3.000 us"
    assert best.text({"latency.all.mean_ns": None}) == " · best latency.all.mean_ns 3.000 us"
    best = _Best(Spec.open(spec_of(until="throughput.iops within 5 %")).until)
    assert [best.text({"throughput.iops": value}) for value in (10.0, 30.0, 20.0)][-1] == " · best throughput.iops 30.00"
    assert _Best(None).text({"latency.all.mean_ns": 3000.0}) == ""


def test_a_script_of_faults_is_an_option_whose_content_decides(here, cli):
    (here / "faults").mkdir()
    for name, die in (("one", 1), ("two", 2)):
        (here / "faults" / f"{name}.toml").write_text(f'die_fails = [{{ die = {die}, at = "0s" }}]\n')
    spec = {"drive": "tiny", "workload": "job.fio", "precondition": "fill", "columns": ["health.dies_lost"]}
    own = {**spec, "options": {"faults": "faults/one.toml"}}
    done = ssdlab.sweep(own, "out", jobs=1)
    assert done.table.select(["status", "health.dies_lost"]).to_pylist() == [{"status": "ok", "health.dies_lost": 1}]
    assert ssdlab.sweep(own, "out", jobs=1).new == 0
    (here / "faults" / "one.toml").write_text("")
    again = ssdlab.sweep(own, "out", jobs=1)
    assert (again.new, again.table["health.dies_lost"].to_pylist()) == (1, [0])
    both = {**spec, "vary": {"options.faults": ["faults/one.toml", "faults/two.toml"]}}
    assert ssdlab.sweep(both, "both", jobs=1).table["health.dies_lost"].to_pylist() == [0, 1]
    for given, complaint in (("faults/no.toml", "faults/no.toml: no such file"), (5, "5: expected the name of a file")):
        with pytest.raises(ssdlab.InputError, match=f"options.faults: {complaint}"):
            ssdlab.sweep({**spec, "options": {"faults": given}}, "no", jobs=1)


def test_a_key_of_very_many_parts_is_refused_at_once(here, cli):
    head = 'drive = "tiny"\nworkload = "job.fio"\n'
    deep = ".".join("a" * 50_000)
    for text, line in ((f"{deep} = 1", 3), (f"[{deep}]", 3), (f"set = {{ x = 1, {deep} = 1 }}", 3)):
        (here / "deep.toml").write_text(f"{head}{text}\n")
        done = cli("sweep", here / "deep.toml", "--out", here / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"ssdlab: error: {here}/deep.toml: line {line}: a key of more than 64 parts: expected fewer\n"
    (here / "deep.toml").write_text(f"{head}x = {'{a=' * 70}1{'}' * 70}\n")
    assert "deep.toml: more than 64 tables or lists in each other" in cli("sweep", here / "deep.toml", "--out", "out").stderr


def test_a_damaged_folder_is_not_taken_up(here, cli):
    (here / "spec.toml").write_text('drive = "tiny"\nworkload = "job.fio"\noptions.stop_after = 20\n')
    words = ("sweep", here / "spec.toml", "--out", here / "out", "--jobs", "1", "--quiet")
    assert cli(*words).returncode == 0
    manifest = json.loads((here / "out" / "manifest.json").read_text())
    for name, content, complaint in (
        ("manifest.json", json.dumps({**manifest, "format": 99}).encode(), "format 99: expected 1"),
        ("sweep.toml", b"\xff", "sweep.toml: damaged: not UTF-8"),
    ):
        before = (here / "out" / name).read_bytes()
        (here / "out" / name).write_bytes(content)
        done = cli(*words)
        assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr
        (here / "out" / name).write_bytes(before)
