"""Searches: the front that they find, and what becomes of them when they are interrupted."""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from chromium import dom_of
from conftest import wait_for
from ssdlab.cli.optimise import facts_of
from ssdlab.explore import optimise, study, tasks
from ssdlab.explore.cost import Cost, resources
from ssdlab.explore.front import Front, hypervolume, not_beaten
from ssdlab.explore.goal import Constraint
from ssdlab.explore.shared import SearchFolder, read_trials
from ssdlab.explore.spec import Spec
from ssdlab.explore.study import Study

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=1000\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job, in which the test works."""
    folder = tmp_path / "searches"
    folder.mkdir()
    (folder / "job.fio").write_text(JOB)
    monkeypatch.chdir(folder)
    return folder


def cost_of(**settings: object) -> dict[str, float]:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return resources(tomllib.loads(ssdlab.check("tiny", set=named)))


def test_resources_are_counted():
    none = dict.fromkeys(("buffer_mib", "page_buffer", "dram_mib", "core", "lane"), 0.0)
    assert cost_of() == {"die": 4, "channel": 2, **none}
    assert cost_of(flash__channels=8, flash__dies_per_chip=2) == {"die": 32, "channel": 8, **none}
    buffers = cost_of(
        buffer__policy="write_back",
        buffer__capacity="2MiB",
        buffer__flush_after="1ms",
        buffer__buffers=2,
        controller__dram={"kind": "ddr", "size": "64MiB"},
        controller__firmware={"kind": "cores", "count": 3},
        controller__page_buffers={"count": 4},
        host__interface={"kind": "nvme", "lanes": 8},
    )
    assert buffers == {"die": 4, "channel": 2, "buffer_mib": 2, "page_buffer": 8, "dram_mib": 128, "core": 3, "lane": 8}
    assert cost_of(host__interface={"kind": "sata"})["lane"] == 1


def test_a_sweep_has_the_cost_of_each_row(here):
    spec = {"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 100}, "vary": {"flash.channels": [1, 2, 0]}}
    done = ssdlab.sweep(spec, "out", jobs=1)
    assert done.table["cost"].to_pylist() == [2.25, 4.5, None]
    dear = ssdlab.sweep({**spec, "cost": {"channel": 10, "die": 0}}, "dear", reuse=["out"])
    assert (dear.new, dear.reused) == (1, 2)
    assert dear.table["cost"].to_pylist() == [10, 20, None]
    own = ssdlab.sweep({**spec, "cost": {"formula": "flash.channels ** 2 + ftl.overprovisioning"}}, "own", reuse=["out"])
    assert own.table["cost"].to_pylist() == [1.2, 4.2, None]
    for cost, complaint in (
        ({"dies": 1}, r"cost.dies: unknown key.*did you mean `die`"),
        ({"die": -1}, r"cost.die: -1: expected a number of at least 0"),
        ({"formula": "1 +"}, r"cost.formula: .*expected a value"),
        ({"formula": "flash.chanels"}, r"cost.formula: .*flash.chanels: no such field"),
        ({"formula": "ftl.victim"}, r"cost.formula: .*expected a number"),
    ):
        with pytest.raises(ssdlab.InputError, match=complaint):
            ssdlab.sweep({**spec, "cost": cost}, "bad")
        assert not (here / "bad").exists()


def test_the_cost_is_the_sum_of_its_parts():
    document = tomllib.loads(ssdlab.check("tiny"))
    assert Cost(die=0.0, channel=0.0).total(document) == 0.0
    assert Cost(die=2.0, channel=3.0).total(document) == 14.0


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("a <= 2", 0.0),
        ("a < 2", 1e-12),
        ("a >= 4", 0.5),
        ("1 > a", 0.5),
        ("a * 2 <= max(a, 3)", 0.25),
        ("a <= 1KiB", 0.0),
    ],
)
def test_a_constraint_knows_by_how_much_it_is_violated(text, violation):
    assert Constraint.parse(text).violation({"a": 2}) == violation


@pytest.mark.parametrize("text", ["a", "a == 2", "1 < a < 3", "a < 1 and a > 0", "(a < 1)", "a <", "a in [1]"])
def test_a_constraint_is_one_comparison(text):
    with pytest.raises(ssdlab.InputError):
        Constraint.parse(text)


SPEC = """\
drive = "tiny"
workload = "job.fio"
precondition = "steady"
seeds = 2
constraint = "write_amplification <= 20"

[options]
stop_after = 400

[search]
"flash.channels" = { choices = [1, 2, 4] }
"ftl.overprovisioning" = { low = 0.07, high = 0.5 }
"ftl.victim" = { choices = ["greedy", "fifo"] }

[[objective]]
key = "latency.all.p90_ns"
direction = "minimise"

[[objective]]
key = "cost"
"""
#: Columns that differ between equal searches.
OWN = ["wall_s", "setup_s", "study_trial"]


def spec_of(**more: object) -> dict:
    spec = {"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 200}}
    spec |= {"search": {"flash.channels": [1, 2, 4]}, "objective": [{"key": "latency.all.mean_ns"}]}
    return {**spec, "optimise": {"comparison": False}, **more}


def same(one: pa.Table, other: pa.Table) -> bool:
    return one.drop(OWN).equals(other.drop(OWN))


def test_a_search_ends_with_its_front_and_drives_that_run(here, cli):
    (here / "spec.toml").write_text(SPEC)
    done = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "14", "--jobs", "2", "--json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    rows = pq.read_table(here / "out" / "trials.parquet").to_pylist()
    assert [row["trial"] for row in rows] == list(range(14))
    assert (printed["trials"], printed["failed"], printed["missing"], printed["new"]) == (14, 0, 0, 28)
    front = [row for row in rows if row["is_on_front"]]
    expected = [row["trial"] for row in rows if not any(beats(other, row) for other in rows)]
    assert [row["trial"] for row in front] == expected
    assert [one["trial"] for one in printed["front"]] == expected
    assert [Path(path).stem for path in printed["drives"]] == [f"trial-{trial:05}" for trial in expected]
    # The drive of the first is what the row says: the same results with the same seeds.
    row = front[0]
    alone = [ssdlab.run(printed["drives"][0], "job.fio", seed=seed, stop_after=400) for seed in (1, 2)]
    assert sum(run.latency["all"].p90_ns for run in alone) / 2 == row["latency.all.p90_ns"]
    assert sum(run.write_amplification for run in alone) / 2 == pytest.approx(row["write_amplification"])
    ran = cli("run", printed["drives"][0], here / "job.fio", "--stop-after", "50")
    assert ran.returncode == 0, ran.stderr
    # So few trials do not tell which field matters.
    assert printed["importance"] == {"latency.all.p90_ns": None, "cost": None}
    compared = json.loads((here / "out" / "comparison" / "comparison.json").read_text())
    assert compared == printed["comparison"]
    assert (compared["search"]["trials"], compared["random"]["trials"]) == (14, 14)
    assert "on the front" in (here / "out" / "report.html").read_text(encoding="utf-8")


def beats(one: dict, other: dict) -> bool:
    """Returns True if `one` comes before `other` on a front of SPEC; equal ones count once."""
    keys = ("latency.all.p90_ns", "cost")
    mine, theirs = ([row[key] for key in keys] for row in (one, other))
    if not one["is_feasible"] or one["trial"] == other["trial"]:
        return False
    if not other["is_feasible"]:
        return True
    return all(a <= b for a, b in zip(mine, theirs, strict=True)) and (mine != theirs or one["trial"] < other["trial"])


def test_importances_have_intervals_and_are_withheld_where_nothing_matters(tmp_path):
    """Two fields of sixty trials: one that decides the value, or two that do not."""
    from optuna import create_study
    from optuna.distributions import FloatDistribution
    from optuna.trial import create_trial

    space = {name: FloatDistribution(0.0, 1.0) for name in ("a", "b")}
    for decisive in (True, False):
        rng = random.Random(3)
        made = create_study()
        for _ in range(60):
            params = {name: rng.random() for name in space}
            value = params["a"] if decisive else rng.random()
            made.add_trial(create_trial(params=params, distributions=space, value=value))
        one = study.Study.__new__(study.Study)
        objective = type("Objective", (), {"key": "mean", "is_maximised": False})
        method = type("Method", (), {"seed": 1})
        one.inner, one.spec = made, type("Spec", (), {"objectives": [objective], "method": method})
        found = one.importance()["mean"]
        if decisive:
            assert found["a"].low <= found["a"].share <= found["a"].high
            assert found["a"].low > found["b"].high
            assert found["a"].high - found["a"].low > 0
            one.spec.objectives[0].is_maximised = True
            assert one.importance()["mean"]["a"].share > 0.5
        else:
            assert found is None or found["a"].high - found["a"].low > 0.3


def test_what_is_printed_and_the_report(here, cli):
    (here / "spec.toml").write_text(SPEC)
    done = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "12", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"out: 12 trials, 0 failed; \d+ on the front", done.stdout)
    assert "importance for cost: the trials are too few to tell" in done.stdout
    assert re.search(r"hypervolume 0\.\d+, of 12 random trials 0\.\d+: ", done.stdout)
    assert cli("report", here / "out", "--out", here / "again.html").returncode == 0
    assert (here / "again.html").read_text(encoding="utf-8") == ssdlab.load_optimisation("out").report()
    assert cli("report", here / "out", here / "out", "--out", here / "two.html").returncode == 2
    few = cli("optimise", here / "spec.toml", "--out", here / "few", "--trials", "2", "--no-comparison")
    assert "hypervolume" not in few.stdout
    assert not (here / "few" / "comparison").exists()


@pytest.mark.parametrize("method", [{}, {"sampler": "nsga2", "population": 4}, {"sampler": "random"}])
def test_a_search_goes_on_as_if_it_had_not_stopped(here, method):
    spec = {**tomllib.loads(SPEC), "optimise": {"comparison": False, **method}}
    whole = ssdlab.optimise(spec, "whole", trials=13, jobs=1)
    assert same(whole.table, ssdlab.optimise(spec, "again", trials=13, jobs=1).table)
    ssdlab.optimise(spec, "parts", trials=5, jobs=1)
    # A process that is killed leaves a trial under way.
    left = Study(Spec.open(spec), SearchFolder(Path("parts"), whole.table.schema), "tpe")
    assert left.ask(6) is not None
    parts = ssdlab.optimise(spec, "parts", trials=13, jobs=1)
    assert (parts.new, same(parts.table, whole.table)) == (8, True)
    assert ssdlab.optimise(spec, "parts", trials=13, jobs=1).new == 0
    other = ssdlab.optimise({**spec, "optimise": {**spec["optimise"], "seed": 2}}, "other", trials=13, jobs=1)
    assert not same(other.table, whole.table)


def test_a_row_without_an_end_is_dropped_and_a_half_line_removed(here):
    done = ssdlab.optimise(spec_of(), "out", trials=3, jobs=1)
    row = done.table.to_pylist()[0] | {"study_trial": 77}
    pq.write_table(pa.Table.from_pylist([row], schema=done.table.schema), "out/trials.parquet/00000077.parquet")
    (here / "out" / ".x.new").write_text("half")
    with (here / "out" / "study.journal").open("a") as journal:
        journal.write('{"op_code":5,"wor')
    again = ssdlab.optimise(spec_of(), "out", trials=5, jobs=1)
    assert again.new == 2
    assert again.table["trial"].to_pylist() == [0, 1, 2, 3, 4]
    assert 77 not in again.table["study_trial"].to_pylist()
    assert not (here / "out" / ".x.new").exists()


def test_results_of_changed_inputs_are_not_mixed(here, monkeypatch):
    done = ssdlab.optimise(spec_of(), "out", trials=3, jobs=1)
    (here / "job.fio").write_text(JOB.replace("iodepth=8", "iodepth=4"))
    with pytest.raises(ssdlab.InputError, match="out: has trials of a drive or workload that has changed"):
        ssdlab.optimise(spec_of(), "out", trials=5, jobs=1)
    (here / "job.fio").write_text(JOB)
    monkeypatch.setattr(tasks, "engine_hash", lambda: "another")
    monkeypatch.setattr(optimise, "engine_hash", lambda: "another")
    with pytest.raises(ssdlab.InputError, match="out: has trials of another version of ssdlab"):
        ssdlab.optimise(spec_of(), "out", trials=5, jobs=1)
    assert pq.read_table("out/trials.parquet").equals(done.table)


def test_policy_and_state_are_chosen_like_fields(here, cli):
    search = {"policy": ["baseline", "ofwar"], "precondition": ["none", "steady"], "workload.iodepth": [1, 2, 8]}
    done = ssdlab.optimise(
        spec_of(search=search, objective=[{"key": "throughput.iops", "direction": "maximise"}]), "out", trials=12
    )
    (best,) = done.front
    assert best["throughput.iops"] == max(row["throughput.iops"] for row in done.table.to_pylist())
    text = done.drives[0].read_text()
    assert f"# workload.iodepth = {best['workload.iodepth']}\n" in text
    drive = tomllib.loads(text)
    assert (drive["policy"]["kind"], drive["state"]["precondition"]) == (best["policy"], best["precondition"])
    (here / "job.fio").write_text(JOB.replace("iodepth=8", f"iodepth={best['workload.iodepth']}"))
    assert ssdlab.run(done.drives[0], "job.fio", stop_after=200).iops == best["throughput.iops"]


def test_lifetime_is_a_number_like_others(here):
    spec = spec_of(
        search={"ftl.overprovisioning": [0.1, 0.4]},
        objective=[{"key": "lifetime.host_bytes_written", "direction": "maximise"}],
        precondition="steady",
    )
    spec["lifetime"] = {"method": "full", "wear_limit": 4}
    done = ssdlab.optimise(spec, "out", trials=4, jobs=1)
    assert done.front[0]["ftl.overprovisioning"] == 0.4
    for row in done.table.to_pylist():
        fields = {"ftl.overprovisioning": row["ftl.overprovisioning"]}
        alone = ssdlab.lifetime("tiny", "job.fio", precondition="steady", seed=1, set=fields, method="full", wear_limit=4)
        assert row["lifetime.host_bytes_written"] == alone.host_bytes_written
    swept = {"drive": "tiny", "workload": "job.fio", "precondition": "steady", "options": {"stop_after": 200}}
    columns = ["lifetime.cycles_mean", "lifetime.erases", "lifetime.erase_modes.normal"]
    swept |= {"columns": columns, "lifetime": {"method": "full", "wear_limit": 3}}
    [row] = ssdlab.sweep(swept, "swept", jobs=1).table.to_pylist()
    assert row["lifetime.cycles_mean"] == pytest.approx(3, abs=0.05)
    # The modes count erases that have begun; each of the four dies may have one under way at the end.
    assert 0 < row["lifetime.erases"] <= row["lifetime.erase_modes.normal"] <= row["lifetime.erases"] + 4
    for change, complaint in (
        ({"columns": ["lifetime.year"]}, "columns: unknown number of a lifetime `lifetime.year`"),
        ({"columns": []}, "columns: an empty list"),
        ({"lifetime": {"wear_limt": 3}}, r"lifetime.wear_limt: unknown option `wear_limt`.*did you mean `wear_limit`"),
    ):
        with pytest.raises(ssdlab.InputError, match=complaint):
            ssdlab.sweep({**swept, **change}, "bad")
    del swept["columns"]
    with pytest.raises(ssdlab.InputError, match="lifetime: no number of it is kept"):
        ssdlab.sweep(swept, "bad")


def test_points_that_are_drawn_again_are_not_run_again(here, monkeypatch):
    runs = []
    ended = optimise._Search._take_outcome
    monkeypatch.setattr(optimise._Search, "_take_outcome", lambda *given: runs.append(given[1].key) or ended(*given))
    done = ssdlab.optimise(spec_of(), "out", trials=12, jobs=2)
    assert done.table.num_rows == 12
    assert len(runs) == len(set(runs)) <= 3
    assert len(done.front) == 1
    best = min(row["latency.all.mean_ns"] for row in done.table.to_pylist())
    assert done.front[0]["latency.all.mean_ns"] == best


def test_constraints_hold_on_the_front(here):
    free = ssdlab.optimise(spec_of(objective=[{"key": "throughput.iops", "direction": "maximise"}]), "free", trials=9, jobs=1)
    assert free.front[0]["flash.channels"] == 4
    bound = spec_of(
        objective=[{"key": "throughput.iops", "direction": "maximise"}], constraint=["cost <= 5", "flash.channels > 1"]
    )
    done = ssdlab.optimise(bound, "bound", trials=9, jobs=1)
    assert done.front[0]["flash.channels"] == 2
    by_channels = {row["flash.channels"]: (row["is_feasible"], row["violation"]) for row in done.table.to_pylist()}
    assert by_channels[2] == (True, 0.0)
    assert by_channels[4] == (False, pytest.approx((9 - 5) / 9))
    none = ssdlab.optimise(spec_of(constraint="cost < 0.001"), "none", trials=3, jobs=1)
    assert (none.front, none.drives, none.failed) == ([], [], 0)


def test_a_measure_compares_a_point_with_its_reference(here):
    measured = {"over": "latency.all.mean_ns / reference.latency.all.mean_ns", "off": "abs(over - 0.4)"}
    spec = spec_of(
        search={"workload.iodepth": [1, 8], "ftl.victim": ["greedy", "fifo"]},
        objective=[{"key": "off"}],
        constraint="over < 2",
        policy="all_fast",
        reference={"policy": "baseline"},
        measure=measured,
    )
    done = ssdlab.optimise({**spec, "seeds": 2}, "out", trials=8, jobs=2)
    rows = done.table.to_pylist()
    assert done.failed == 0
    for row in rows:
        (here / "at.fio").write_text(JOB.replace("iodepth=8", f"iodepth={row['workload.iodepth']}"))
        fields = {"ftl.victim": row["ftl.victim"]}
        fast, base = (
            [ssdlab.run("tiny", "at.fio", policy, seed=seed, set=fields, stop_after=200).summary for seed in (1, 2)]
            for policy in ("all_fast", "baseline")
        )
        means = [sum(one["latency"]["all"]["mean_ns"] for one in each) / 2 for each in (fast, base)]
        assert row["over"] == pytest.approx(means[0] / means[1], rel=1e-12)
        assert row["off"] == abs(row["over"] - 0.4)
        assert row["policy"] == "all_fast"
    assert done.front[0]["off"] == min(row["off"] for row in rows)


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"measure": {"over": "latency.all.mean / 2"}}, "measure.over: latency.all.mean: the runs have no such number"),
        ({"measure": {"over": "reference.cost"}}, r"measure.over: reference.cost: no runs to compare with"),
        ({"measure": {"cost": "2 * write_amplification"}}, "measure.cost: the name of a number or field of the runs"),
        ({"measure": {"over": "2 +"}}, "measure.over: .*"),
        ({"reference": {"flash.channels": 4}}, "reference.flash.channels: a field that the search chooses"),
        ({"reference": {"policy": "basline"}}, "reference: .*did you mean `baseline`"),
    ],
)
def test_a_bad_measure_is_refused_by_its_place(here, changed, complaint):
    spec = spec_of(search={"flash.channels": [1, 2]}, **changed)
    with pytest.raises(ssdlab.InputError, match=complaint):
        ssdlab.optimise(spec, "bad", trials=1)
    assert not (here / "bad").exists()


def test_a_count_that_a_run_leaves_out_is_zero_in_a_measure(here):
    measured = {"share": "(1 + flash.programs.rewrite) / host_units_written", "base": "reference.flash.reads.rewrite"}
    spec = spec_of(objective=[{"key": "share"}], reference={"options.stop_after": 100}, measure=measured, seeds=2)
    done = ssdlab.optimise(spec, "out", trials=3, jobs=1, comparison=False)
    for row in done.table.to_pylist():
        assert (row["flash.programs.rewrite"], row["base"]) == (None, 0.0)
        assert row["share"] == 1.0 / row["host_units_written"]


def test_a_reference_without_a_table_leaves_out_what_the_search_chooses_in_it(here):
    window = {"page_types": [2], "at": [0.5], "length": "200us"}
    spec = spec_of(
        drive="ssdpower-16x8",
        search={"power.suspend[0].at[0]": [0.3, 0.6], "power.suspend[0].idle_chips_wait": [True, False]},
        objective=[{"key": "over"}],
        reference={"power.suspend": ""},
        measure={"over": "latency.all.mean_ns / reference.latency.all.mean_ns"},
        set={"power.suspend": [window]},
    )
    done = ssdlab.optimise(spec, "out", trials=4, jobs=1, comparison=False)
    plain = ssdlab.run("ssdpower-16x8", "job.fio", stop_after=200).summary
    for row in done.table.to_pylist():
        assert row["over"] == pytest.approx(row["latency.all.mean_ns"] / plain["latency"]["all"]["mean_ns"], rel=1e-12)
    assert max(done.table["over"].to_pylist()) > 1.0


def test_a_run_may_be_its_own_reference(here):
    spec = spec_of(search={"policy": ["all_fast", "baseline"]}, reference={"options.stop_after": 200})
    spec |= {"measure": {"over": "latency.all.mean_ns / reference.latency.all.mean_ns"}, "objective": [{"key": "over"}]}
    done = ssdlab.optimise(spec, "out", trials=3, jobs=2, comparison=False)
    assert done.table["over"].to_pylist() == [1.0] * 3


def test_a_trial_that_fails_is_a_row_with_its_error(here, cli):
    done = ssdlab.optimise(spec_of(search={"flash.channels": [1, 0]}), "out", trials=8, jobs=1)
    by_channels = {row["flash.channels"]: row for row in done.table.to_pylist()}
    assert by_channels[0]["status"] == "failed"
    assert "flash.channels: 0: expected 1..=256" in by_channels[0]["error"]
    assert done.front[0]["flash.channels"] == 1


def test_conditions_and_derived_fields(here, monkeypatch):
    monkeypatch.setattr(optimise, "_MOST_EXCLUDED", 40)
    search = {"flash.channels": {"low": 1, "high": 8}, "flash.chips_per_channel": {"low": 1, "high": 8, "log": True}}
    spec = spec_of(search=search, where="flash.channels * flash.chips_per_channel == 8")
    spec["derive"] = {"ftl.gc_critical_blocks": "flash.channels + 1"}
    done = ssdlab.optimise(spec, "out", trials=6, jobs=2)
    assert done.table.num_rows == 6
    for row in done.table.to_pylist():
        assert row["flash.channels"] * row["flash.chips_per_channel"] == 8
        assert row["ftl.gc_critical_blocks"] == row["flash.channels"] + 1
    with pytest.raises(ssdlab.InputError, match="where: none of 40 points that were drawn in a row meets it"):
        ssdlab.optimise({**spec, "where": "flash.channels > 8"}, "bad", trials=2)
    assert not (here / "bad").exists()


def test_ranges_have_their_steps(here):
    (here / "mine.toml").write_text('base = "tiny"\nflash.pages_per_block = 32\n')
    search = {
        "flash.channels": {"low": 1, "high": 9, "step": 4},
        "ftl.overprovisioning": {"low": 0.1, "high": 0.45, "step": 0.1},
        "buffer.capacity": ["64KiB", "1MiB"],
        "ftl.victim": ["greedy", {"kind": "fifo"}],
        "drive": ["tiny", "mine.toml"],
    }
    spec = spec_of(search=search, optimise={"sampler": "random"}, set={"buffer.policy": "write_through"})
    del spec["drive"]
    done = ssdlab.optimise(spec, "out", trials=10, jobs=2)
    assert done.failed == 0
    for row in done.table.to_pylist():
        assert row["flash.channels"] in (4, 8)
        assert round(row["ftl.overprovisioning"] * 10, 6) in (1, 2, 3, 4, 4.5)
        assert row["ftl.victim"] in ("greedy", '{ kind = "fifo" }')
    assert set(done.table["drive"].to_pylist()) == {"tiny", "mine.toml"}


def test_hopeless_trials_are_given_up(here):
    search = {"flash.channels": {"low": 1, "high": 16}, "ftl.overprovisioning": {"low": 0.07, "high": 0.5}}
    spec = spec_of(search=search, optimise={"sampler": "random", "pruning": 40}, options={"stop_after": 800})
    done = ssdlab.optimise(spec, "out", trials=20, jobs=1)
    status = done.table["status"].to_pylist()
    assert 0 < status.count("pruned") < 15
    assert set(status) == {"ok", "pruned"}
    commands = {row["status"]: row["commands.read"] + row["commands.write"] for row in done.table.to_pylist()}
    assert commands == {"ok": 800, "pruned": 40}
    assert done.front[0]["status"] == "ok"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"flash.channels"', '"flash.chanels"', r"spec.toml:11: search.flash.chanels: .*did you mean `channels`"),
        ("choices = [1, 2, 4]", "choices = []", r"spec.toml:11: search.flash.channels: an empty list"),
        ("choices = [1, 2, 4]", "choice = [1]", r"spec.toml:11: search.flash.channels: choice: unknown key"),
        ("low = 0.07", "low = 0.7", r"spec.toml:12: search.ftl.overprovisioning: .*expected low below high"),
        ('key = "cost"', 'key = "costs"', r"spec.toml:20: objective.key: costs: the runs have no such number.*`cost`"),
        ('key = "cost"', 'kay = "cost"', r"spec.toml:20: objective.kay: unknown key"),
        ('key = "cost"', 'key = "latency.all.p90_ns"', r"spec.toml:20: objective.key: .*given twice"),
        ('key = "cost"', 'key = "map_cache.hit_ratio"', r"spec.toml:20: objective.key: the run has no map_cache.hit_ratio"),
        ('"minimise"', '"minimize"', r"spec.toml:17: objective.direction: 'minimize': expected minimise or maximise"),
        ("write_amplification <= 20", "write_amplifcation < 2", r"spec.toml:5: constraint: write_amplifcation: the runs have no"),
        ("write_amplification <= 20", "cost == 2", r"spec.toml:5: constraint: .*expected one comparison"),
        ("[search]", "[vary]", r"spec.toml:11: vary.flash.channels: choices: for \[search\]"),
        (
            "seeds = 2",
            'vary."ftl.victim_x" = [1]',
            r"spec.toml:4: vary: a key of `ssdlab sweep`; `ssdlab optimise` has \[search\]",
        ),
        ('drive = "tiny"', 'drive = ["tiny", "ideal-512g"]', r"spec.toml:1: drive: a list: expected one"),
        ('drive = "tiny"', 'drive = "tinny"', r"spec.toml:1: drive: unknown drive `tinny`"),
        ("seeds = 2", "sedes = 2", r"spec.toml:4: sedes: unknown key"),
        ("[options]", '[optimise]\nsampler = "tpee"\n[options]', r"spec.toml:8: optimise.sampler: 'tpee'"),
        ("[options]", "[optimise]\npruning = 9\n[options]", r"spec.toml:8: optimise.pruning: applies to a single objective"),
        ("[options]", "[optimise]\ntrials = 0\n[options]", r"spec.toml:8: optimise.trials: 0: expected a whole number"),
        ("[options]", "[optimise]\ntrails = 3\n[options]", r"spec.toml:8: optimise.trails: .*did you mean `trials`"),
    ],
)
def test_a_bad_specification_is_refused_by_its_place(here, cli, old, new, complaint):
    assert old in SPEC
    (here / "spec.toml").write_text(SPEC.replace(old, new, 1))
    done = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "3", "--jobs", "1")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(complaint, done.stderr), done.stderr
    assert not (here / "out").exists()


def test_what_does_not_belong_together_is_refused(here, cli, monkeypatch):
    (here / "spec.toml").write_text(SPEC)
    swept = cli("sweep", here / "spec.toml", "--out", here / "out")
    assert swept.returncode == 2
    assert "spec.toml:10: search: a key of `ssdlab optimise`; `ssdlab sweep` has [vary]" in swept.stderr
    for text, complaint in (
        (SPEC[: SPEC.index("[search]")] + "[search]\n" + SPEC[SPEC.index("[[obj") :], "search: an empty table: expected fields"),
        (SPEC[: SPEC.index("[[objective]]")], "objective: missing"),
    ):
        (here / "bad.toml").write_text(text)
        assert complaint in cli("optimise", here / "bad.toml", "--out", here / "out", "--trials", "2").stderr
    assert "--trials: missing" in cli("optimise", here / "spec.toml", "--out", here / "out").stderr
    assert not (here / "out").exists()
    done = ssdlab.optimise(spec_of(), "out", trials=2, jobs=1)
    other = cli("optimise", here / "spec.toml", "--out", here / "out", "--trials", "2")
    assert other.returncode == 2
    assert "has the trials of another specification" in other.stderr
    assert pq.read_table("out/trials.parquet").equals(done.table)
    ssdlab.sweep({"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 50}}, "swept", jobs=1)
    assert "not the folder of a search" in cli("optimise", here / "spec.toml", "--out", here / "swept", "--trials", "2").stderr
    assert not (here / "swept" / "trials.parquet").exists()
    monkeypatch.setattr(optimise.importlib.util, "find_spec", lambda name: None if name == "torch" else True)
    with pytest.raises(ssdlab.InputError, match=r"optimise\.sampler: gp: needs torch"):
        ssdlab.optimise(spec_of(optimise={"sampler": "gp"}), "gp", trials=2)
    monkeypatch.setattr(optimise.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ssdlab.InputError, match=r"needs Optuna: pip install 'ssdlab\[search\]'"):
        ssdlab.optimise(spec_of(), "none", trials=2)


def test_progress_shows_the_best_so_far(here):
    seen = []
    ssdlab.optimise(spec_of(), "one", trials=3, jobs=1, progress=seen.append)
    assert [one.done for one in seen] == [1, 2, 3]
    values = [one.row["latency.all.mean_ns"] for one in seen]
    assert [one.best for one in seen] == [min(values[: at + 1]) for at in range(3)]
    assert facts_of(seen[-1]).startswith("best ")
    two = spec_of(objective=[{"key": "latency.all.mean_ns"}, {"key": "cost"}])
    ssdlab.optimise(two, "two", trials=3, jobs=1, progress=seen.append)
    assert seen[-1].best is None
    assert facts_of(seen[-1]).startswith(f"{seen[-1].front} on the front")


def test_the_front_and_its_volume_are_those_of_counting():
    rng = random.Random(1)
    for width in (1, 2, 3):
        losses = [tuple(rng.randrange(8) / 8 for _ in range(width)) for _ in range(30)]
        kept = not_beaten(losses)
        for at, loss in enumerate(losses):
            is_beaten = any(other != loss and all(a <= b for a, b in zip(other, loss, strict=True)) for other in losses)
            assert (at in kept) == (not is_beaten and losses.index(loss) == at)
        # Cells of a grid that some loss is at least as good as.
        cells = itertools.product(range(8), repeat=width)
        count = sum(any(all(a * 8 <= b for a, b in zip(loss, cell, strict=True)) for loss in losses) for cell in cells)
        assert hypervolume(losses, (1.0,) * width) == pytest.approx(count / 8**width)
        front = Front()
        for loss in losses:
            front.add(loss)
        assert sorted(front.losses) == sorted(losses[at] for at in kept)


LONG = SPEC.replace("stop_after = 400", "stop_after = 100000").replace("precondition", 'title = "long"\nprecondition') + (
    "[optimise]\ncomparison = false\n"
)


@pytest.mark.slow
def test_a_killed_search_goes_on_where_it_was(here, start):
    """``kill -9`` in the middle, then Ctrl-C, then to the end: the trials of a search that was not disturbed."""
    (here / "job.fio").write_text(JOB.replace("1000", "20000"))
    (here / "spec.toml").write_text(LONG)
    # More trials than can end before the signals, however late these come on a busy machine.
    many = 10_000
    words = ["optimise", str(here / "spec.toml"), "--out", str(here / "out"), "--trials", str(many), "--jobs", "1"]

    def rows_now() -> int:
        return len(list((here / "out" / "trials.parquet").glob("*.parquet")))

    running = start(*words)
    wait_for(lambda: rows_now() >= 3, "no rows")
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = rows_now()
    assert all(row["status"] == "ok" for row in read_trials(here / "out").to_pylist())
    running = start(*words, "--json")
    # A trial ends after its row: of two new rows, that of the first trial is complete.
    wait_for(lambda: rows_now() >= before + 2, "no more rows")
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate()
    assert running.returncode == 130
    assert "are missing; to go on: ssdlab optimise" in stderr
    partial = json.loads(stdout)
    assert partial["trials"] > before
    assert partial["trials"] + partial["missing"] == many
    enough = partial["trials"] + 5
    last = ssdlab.optimise("spec.toml", "out", trials=enough, jobs=1)
    assert last.new == 5
    assert same(last.table, ssdlab.optimise("spec.toml", "alone", trials=enough, jobs=1).table)


@pytest.mark.slow
def test_two_processes_share_a_search(here, start):
    (here / "job.fio").write_text(JOB.replace("1000", "5000"))
    (here / "spec.toml").write_text(LONG.replace("comparison = false", "comparison = true"))
    words = ["optimise", str(here / "spec.toml"), "--out", str(here / "out"), "--trials", "15", "--jobs", "1", "--json"]
    both = [start(*words) for _ in range(2)]
    printed = [json.loads(running.communicate()[0]) for running in both]
    assert [running.returncode for running in both] == [0, 0]
    assert sum(one["new"] for one in printed) == 30
    assert min(one["new"] for one in printed) > 0
    done = ssdlab.load_optimisation("out")
    assert done.table["trial"].to_pylist() == list(range(15))
    assert (done.comparison["search"]["trials"], done.comparison["random"]["trials"]) == (15, 15)
    assert (here / "out" / "report.html").read_text(encoding="utf-8") == done.report()


@pytest.mark.slow
def test_the_example_finds_the_cheapest_drive_that_saturates_its_link(examples, tmp_path):
    done = ssdlab.optimise(examples / "optimise.toml", tmp_path / "out", jobs=1)
    (best,) = done.front
    assert (best["cost"], best["flash.channels"], best["buffer.capacity"]) == (pytest.approx(262.398, abs=1e-3), 16, "2MiB")
    assert best["flash.chips_per_channel"] * best["flash.dies_per_chip"] == 16
    assert best["utilisation.link"] >= 0.99


@pytest.mark.slow
def test_the_page_of_a_search_shows_effects_of_fields_alone(here, tmp_path):
    (here / "spec.toml").write_text(LONG)
    done = ssdlab.optimise("spec.toml", "out", trials=8, jobs=1)
    script = "document.body.dataset.titles = [...document.querySelectorAll('#effects .xtitle')].map((one) => one.textContent)"
    titles = re.search(r'data-titles="([^"]*)"', dom_of(done.report(), script, tmp_path / "page.html"))
    assert titles is not None
    assert titles[1]
    assert {*titles[1].split(",")} <= {*done.spec.search}


def test_a_damaged_folder_is_bad_input(here):
    spec = {"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 20}, "search": {"flash.channels": [1, 2]}}
    spec |= {"objective": [{"key": "cost"}]}
    ssdlab.optimise(spec, "search", trials=2, jobs=1, comparison=False)
    manifest = json.loads(Path("search/manifest.json").read_text())
    for name, content, complaint in (
        ("manifest.json", json.dumps({**manifest, "format": 99}).encode(), "format 99: expected 1"),
        ("optimise.toml", b"\xff", r"optimise\.toml: damaged: not UTF-8"),
        ("study.journal", b"{}\n", r"study\.journal: damaged"),
    ):
        before = Path("search", name).read_bytes()
        Path("search", name).write_bytes(content)
        with pytest.raises(ssdlab.InputError, match=complaint):
            ssdlab.optimise(spec, "search", trials=3, jobs=1, comparison=False)
        Path("search", name).write_bytes(before)
    Path("search/importance.json").write_bytes(b"\xff")
    with pytest.raises(ssdlab.InputError, match=r"importance\.json: damaged: not UTF-8"):
        _ = ssdlab.load_optimisation("search").importance
    # It follows from the trials, and is written again.
    assert ssdlab.optimise(spec, "search", trials=3, jobs=1, comparison=False).importance
