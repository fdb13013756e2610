"""The OFWAR experiment: exact tests of its helpers, and its pieces that take only seconds."""

from __future__ import annotations

import pytest

import ssdlab
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar import examples, figures, power, sweeps, synthetic, wear
from ssdlab_papers.ofwar.loads import LENGTHS, OF_THE_PAPER, loads, note_of
from ssdlab_papers.ofwar.runs import SHAPES, Effect, Run, shape
from ssdlab_papers.scaling import scale_to
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Traces

pytestmark = pytest.mark.slow


def measured(**fields) -> Run:
    """A run with made-up numbers."""
    numbers = {
        "mean_ns": 100.0,
        "stddev_ns": 10.0,
        "host": 1000,
        "programs": 1500,
        "rewrites": 0,
        "fast": 0,
        "utilisation": 0.5,
        "saturated": False,
        "deadline_misses": 0,
    }
    return Run(**(numbers | fields))


def test_an_effect_is_taken_to_the_baseline():
    run = measured(mean_ns=60.0, stddev_ns=5.0, programs=1650, rewrites=80, fast=400, counted={"fast_writes_by_hit": 250.0})
    effect = Effect(measured(), run)
    assert (effect.mean, effect.stddev, effect.rewritten, effect.extra) == (0.6, 0.5, 0.08, 0.15)
    assert (run.hit_rate, run.fast_share) == (0.25, 0.4)


def test_an_effect_on_what_does_not_vary_or_write():
    still = measured(stddev_ns=0.0, host=0, programs=0)
    assert (Effect(still, still).stddev, Effect(still, still).extra, still.hit_rate, still.fast_share) == (1.0, 0.0, 0.0, 0.0)
    assert Effect(still, measured()).stddev == float("inf")


def test_every_shape_has_the_paper_drives_capacity():
    capacities = {ssdlab.describe("ofwar-64g", set=shape(units))["physical_bytes"] for units in SHAPES}
    assert capacities == {64 << 30}


def test_the_time_scale_is_found_where_utilisation_is_not_proportional():
    tried: list[float] = []

    def measure(scale: float) -> Run:
        tried.append(scale)
        return measured(utilisation=scale / (scale + 10))

    scale, run = scale_to(measure, 0.7, (1.0, measure(1.0)))
    assert run.utilisation == pytest.approx(0.7, rel=0.02)
    assert scale == pytest.approx(70 / 3, rel=0.08)
    assert len(tried) <= 9


def test_the_search_ends_where_more_speed_brings_nothing():
    tried: list[float] = []

    def measure(scale: float) -> Run:
        tried.append(scale)
        return measured(utilisation=min(0.1 * scale, 0.4))

    scale, run = scale_to(measure, 0.9, (1.0, measure(1.0)))
    assert (scale, run.utilisation, len(tried)) == (9.0, 0.4, 3)


def test_steps_up_and_down():
    assert sweeps.largest_rise([1.0, 0.5, 0.75, 0.25]) == 0.25
    assert sweeps.largest_fall([1.0, 0.5, 0.75, 0.25]) == 0.5
    assert sweeps.largest_rise([3.0, 2.0, 0.0]) == -1.0
    assert [sweeps.short(value) for value in (0, 128, 1024, 1500, 65_536)] == ["0", "128", "1K", "1500", "64K"]


def a_sweep(means: list[float], fast: int = 1) -> sweeps.Sweep:
    load = Traces().load("desktop")
    assert load is not None
    effects = tuple(Effect(measured(), measured(mean_ns=100 * mean, fast=fast)) for mean in means)
    return sweeps.Sweep(load, sweeps._WAITING, (8, 32, 128, 2048)[: len(means)], effects)


def test_a_shape_is_met_to_half_a_point_and_missed_beyond():
    def verdict(means: list[float], published: str) -> tuple[str, str]:
        entry = sweeps._shape(a_sweep(means), "figure", sweeps._RESPONSE, published)
        return entry.verdict, entry.what

    assert verdict([0.5, 0.6, 0.596, 0.9], "rises") == (
        "met",
        "mean response as N_th_w grows, desktop PC (look-alike): largest fall",
    )
    assert verdict([0.5, 0.6, 0.594, 0.9], "rises")[0] == "missed"
    assert verdict([0.9, 0.6, 0.604, 0.5], "falls") == (
        "met",
        "mean response as N_th_w grows, desktop PC (look-alike): largest rise",
    )
    assert verdict([0.9, 0.6, 0.606, 0.5], "falls (the queue is full)")[0] == "missed"


def test_a_sweep_in_which_nothing_was_fast_shows_nothing():
    entry = sweeps._shape(a_sweep([1.0, 1.0], fast=0), "figure", sweeps._RESPONSE, "falls")
    assert (entry.verdict, entry.note) == ("shown", sweeps._NOTHING_FAST)


def test_a_part_of_a_sweep():
    part = a_sweep([0.1, 0.2, 0.3, 0.4]).starting(100)
    assert (part.values, [effect.mean for effect in part.effects]) == ((128, 2048), [0.3, 0.4])
    assert part.at(2048).mean == 0.4


def test_points_differ_from_section_5_in_one_value():
    assert sweeps._point(sweeps._DEPTH, 4096) == (4096, 128, 128)
    assert sweeps._point(sweeps._WAITING, 8) == (65_536, 8, 128)
    assert sweeps._point(sweeps._OWED, 0) == (65_536, 128, 0)
    assert sweeps._point(sweeps._OWED, 128) == sweeps._point(sweeps._WAITING, 128)


def test_every_load_has_a_length_and_says_what_it_is():
    used = loads(Setting())
    assert [load.name for load in used] == [name for name in LENGTHS if name != "financial2"]
    assert len(loads(Setting(quick=True))) == 2
    assert set(OF_THE_PAPER) <= set(LENGTHS)
    assert note_of(used[:2]).startswith("other workload: the mean of IOzone (look-alike), Postmark (look-alike);")


def test_changes_and_points_are_signed():
    assert (figures.change(0.477), figures.change(1.0), figures.points(-0.08)) == ("-52.3 %", "+0.0 %", "-8.0 points")


def test_a_value_is_asserted_of_whole_traces_of_the_paper_only():
    load = Traces().load("iozone")
    assert load is not None
    assert figures._expected(load) == (None, None)


def test_the_worked_examples_come_out_exactly():
    found = [*examples.entries()]
    assert [entry.verdict for entry in found] == ["met"] * 5
    assert [entry.ours for entry in found] == [3600.0, 2100.0, 300.0, 20, 20]
    assert [entry.shown for entry in found[3:]] == [
        "20 (18 host, 2 rewrite; 1 block erased)",
        "20 (18 host, 2 gc; 1 block erased)",
    ]


def test_the_bound_ofwar_and_its_control_are_in_order_on_a_burst():
    load = Traces().load("telegram")
    assert load is not None
    case = figures._recorded(load, 4_000)
    mean = {policy: effect.mean for policy, effect in case.effects.items()}
    assert mean["all_fast"] < mean["ofwar"] < 0.99
    assert mean["separate"] == pytest.approx(1.0, abs=0.01)
    assert case.effects["ofwar"].rewritten > 0
    assert case.effects["separate"].rewritten == 0


def test_the_control_that_is_free_while_young_wins_until_it_cannot():
    found = [*wear.entries(Setting(quick=True))]
    young, old = (entry for entry in found if isinstance(entry, wear.Entry))
    assert (young.verdict, old.verdict) == ("met", "met")
    assert young.ours > 1 > old.ours
    assert "wear_adaptive +0.0 %" in old.shown


def test_a_file_without_a_length_is_played_whole(tmp_path):
    rows = [f"{128166372003061629 + 10_000 * i},copy,0,Write,{65_536 * i},65536,0" for i in range(40)]
    (tmp_path / "copyHtoD.csv").write_text("\n".join(rows) + "\n")
    setting = Setting(traces=Traces(tmp_path))
    load = setting.traces.load("copy")
    assert load is not None
    assert load.is_trace
    done = wear._run(setting, wear.worn_drive(), load, 0.0, "baseline")
    assert done.host == 40 * 16


def test_a_power_failure_comes_out_as_the_margin_and_the_supercapacitor_say():
    given = [*power.entries(Setting(quick=True))]
    entries = [each for each in given if isinstance(each, Entry)]
    # The paper's shutdown within a second requires more channel bandwidth than its drive has.
    assert [each.what.split(" with")[0] for each in entries if each.verdict == "missed"] == ["graceful shutdown"]
    assert sum(each.verdict == "met" for each in entries) == 5
    assert {each.name for each in given if isinstance(each, Picture)} == {"ofwar-power", "ofwar-supercapacitor"}
    (table,) = (each for each in given if isinstance(each, Table))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert {bool(row["at_risk_pages"]) for row in rows if row["down_h"] < row["margin_h"]} == {False}
    assert {bool(row["at_risk_pages"]) for row in rows if row["down_h"] > 100} == {True}


def test_figure_12_is_measured_from_where_the_queue_is_full(monkeypatch):
    asked: list[tuple[str, str, int, str | None]] = []

    def run(workload, policy, **_) -> Run:
        (job,) = workload["job"]
        asked.append((job["arrival"]["gap"], policy, job["requests"], job.get("ramp_time")))
        is_full = (job["arrival"]["gap"], policy) == ("20us", "ofwar")
        return measured(counted={"writes_on_full_queue": 536.0} if is_full else {}, mean_ns=200.0 if is_full else 100.0)

    monkeypatch.setattr(synthetic, "run", run)
    shown = [one for one in synthetic.entries(Setting(quick=True)) if isinstance(one, Entry)]
    policies = ("baseline", "ofwar", "separate")
    assert sorted(one for one in asked if one[0] == "20us") == sorted(
        [("20us", "ofwar", 215_536, None), *(("20us", policy, 365_000, "4300000us") for policy in policies)]
    )
    assert sorted(one for one in asked if one[0] == "100us") == [("100us", policy, 215_536, None) for policy in policies]
    (busiest,) = (one for one in shown if one.where == "figure 12a" and "20.00 us" in one.what)
    assert busiest.ours == 2.0
    assert "150,000 random writes after the 215,000 until the queue was full" in busiest.what
