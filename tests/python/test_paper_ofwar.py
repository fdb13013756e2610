"""The OFWAR experiment: exact tests of its helpers, its claims on made-up numbers, and its pieces that take seconds."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

import ssdlab
from conftest import wrong
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, number
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import as_sample_text, change_text, points_text
from ssdlab_papers.ladder import Ladder, Step, steps_of
from ssdlab_papers.ofwar import (
    assumed,
    controls,
    examples,
    figures,
    parallelism,
    power,
    regions,
    rules,
    runs,
    settled,
    simulator,
    sweeps,
    synthetic,
    wear,
)
from ssdlab_papers.ofwar.loads import LENGTHS, OF_THE_PAPER, Loads, loads
from ssdlab_papers.ofwar.runs import SHAPES, Effect, Line, Pair, Run, shape
from ssdlab_papers.regions import Region
from ssdlab_papers.scaling import scale_to
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample
from ssdlab_papers.traces import Load, Traces

QUICK = Setting(quick=True)


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


def sample(mean: float = 100.0, spread: float = 0.0, **numbers: float) -> Sample:
    """Two runs of a sweep with made-up numbers, whose means differ by twice the spread."""

    def row(sign: float) -> dict[str, float]:
        given = {"rewrite": 0, "programs": 1500, "fast": 100, "hits": 10, "full": 0, "deviation": 10.0} | numbers
        return {
            "latency.all.mean_ns": mean + sign * spread,
            "latency.read.mean_ns": 50.0,
            "latency.all.stddev_ns": given["deviation"],
            "host_units_written": 1000,
            **dict.fromkeys(runs._PROGRAMS, 0),
            "flash.programs.host": given["programs"] - given["rewrite"],
            "flash.programs.rewrite": given["rewrite"],
            "modes.host_write.fast": given["fast"],
            "policy_stats.fast_writes_by_hit": given["hits"],
            "policy_stats.writes_on_full_queue": given["full"],
            "policy_stats.rewrite_queue_longest": 500.0,
            "utilisation.dies_writing": 0.3,
        }

    return Sample({1: row(-1.0), 2: row(1.0)})


def load(name: str = "iozone") -> Load:
    found = Traces().load(name)
    assert found is not None
    return found


def line(name: str, means: list[float], values: tuple[int, ...] = (32, 128, 2048), **numbers: list[float]) -> Line:
    """A line of made-up runs: mean responses over the baseline's 100, and further numbers of each."""
    several = [{key: each[at] for key, each in numbers.items()} for at in range(len(means))]
    pairs = tuple(Pair(load(name), sample(), sample(mean, **each)) for mean, each in zip(means, several, strict=True))
    return Line(load(name), values[: len(means)], pairs)


def test_an_effect_is_taken_to_the_baseline():
    run = measured(mean_ns=60.0, stddev_ns=5.0, programs=1650, rewrites=80, fast=400, counted={"fast_writes_by_hit": 250.0})
    effect = Effect(measured(), run)
    assert (effect.mean, effect.stddev, effect.rewritten, effect.extra) == (0.6, 0.5, 0.08, 0.15)
    assert (run.hit_rate, run.fast_share) == (0.25, 0.4)


def test_the_quantities_of_a_pair_of_rows():
    pair = Pair(load(), sample(), sample(60.0, programs=1650, rewrite=80, fast=400, hits=250, full=30, deviation=5.0))
    found = {
        name: pair.estimate(getattr(runs, name)).mean
        for name in ("response", "deviation", "rewritten", "extra", "fast", "hit_rate", "on_full", "reads")
    }
    assert found == pytest.approx(
        {
            "response": -0.4, "deviation": -0.5, "rewritten": 0.08, "extra": 0.15, "fast": 0.4, "hit_rate": 0.25,
            "on_full": 0.03, "reads": 0.0,
        }
    )  # fmt: skip


def test_a_mean_over_loads_is_taken_seed_by_seed():
    # Within a seed both loads move together; a mean of the two has their spread.
    pairs = [Pair(load(), sample(), sample(60.0, 6.0)), Pair(load("telegram"), sample(), sample(80.0, 6.0))]
    found = runs.over_loads(runs.response, pairs)
    assert (found.count, found.mean) == (2, pytest.approx(-0.3))
    assert found.high - found.low == pytest.approx(2 * 12.706 * 0.06, rel=1e-3)
    # Of loads that move against each other, it has none.
    against = [pairs[0], Pair(load("telegram"), sample(), sample(80.0, -6.0))]
    assert runs.over_loads(runs.response, against).high == pytest.approx(-0.3)
    assert runs.over_loads(runs.response, pairs, max).mean == pytest.approx(-0.2)


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


def test_steps_and_ends_are_those_of_the_worst_load():
    lines = [line("iozone", [50.0, 40.0, 60.0]), line("telegram", [50.0, 70.0, 75.0])]
    assert runs.change_along(runs.response, lines, min).mean == pytest.approx(0.10)
    assert runs.change_along(runs.response, lines, max).mean == pytest.approx(0.25)
    assert runs.steps_up(runs.response, lines).mean == pytest.approx(0.20)
    assert runs.largest_rise([3.0, 2.0, 0.0]) == -1.0
    assert [runs.short(value) for value in (0, 128, 1024, 1500, 65_536)] == ["0", "128", "1K", "1500", "64K"]
    assert lines[0].starting(128).values == (128, 2048)
    assert lines[0].at(128).estimate(runs.response).mean == pytest.approx(-0.6)


def test_what_rises_is_met_by_a_rise_on_every_load_only():
    def verdict(*means: list[float], published: str = "rises") -> str:
        lines = [line(name, each) for name, each in zip(("iozone", "telegram"), means, strict=False)]
        return sweeps._shape([], lines, runs.response, where="f", what="w", published=published).verdict

    assert verdict([50.0, 55.0, 60.0], [70.0, 70.0, 71.0]) == "reproduced"
    assert verdict([50.0, 55.0, 60.0], [70.0, 70.0, 70.9]) == "differs"
    assert verdict([50.0, 55.0, 60.0], [70.0, 70.0, 70.0]) == "differs"
    assert verdict([60.0, 55.0, 50.0], published="falls: as said") == "reproduced"
    assert verdict([60.0, 55.0, 60.0], published="falls: as said") == "differs"


def test_loads_without_fast_writes_show_nothing():
    idle = line("iozone", [100.0, 100.0, 100.0], fast=[0, 0, 0])
    alone = sweeps._shape([], [idle], runs.response, where="f", what="w", published="falls")
    assert alone.verdict == "not testable"
    both = sweeps._shape([], [idle, line("telegram", [60.0, 55.0, 50.0])], runs.response, where="f", what="w", published="falls")
    assert (both.verdict, both.load) == ("reproduced", load("telegram").title)
    assert "IOzone" in both.note


def test_points_differ_from_section_5_in_one_value():
    def values(parameter: sweeps.Parameter, value: int) -> list[object]:
        found = sweeps._point(QUICK, load(), parameter, value)
        return [found[f"policy.ofwar.{name}"] for name in ("queue_depth", "write_threshold", "rewrite_threshold")]

    assert values(sweeps.DEPTH, 4096) == [4096, 128, 128]
    assert values(sweeps.WAITING, 8) == [65_536, 8, 128]
    assert values(sweeps.OWED, 0) == [65_536, 128, 0]
    assert values(sweeps.OWED, 128) == values(sweeps.WAITING, 128)


def test_every_load_has_a_length_and_real_traces_lead(tmp_path):
    used = loads(Setting())
    assert [each.name for each in used.alike] == [name for name in LENGTHS if name != "financial2"]
    assert used.real == ()
    assert used.leading == used.alike
    assert [each.name for each in loads(QUICK).leading] == ["iozone", "telegram"]
    assert set(OF_THE_PAPER) <= set(LENGTHS)
    rows = [f"{128166372003061629 + 10_000 * i},copy,0,Write,{65_536 * i},65536,0" for i in range(40)]
    (tmp_path / "copyHtoD.csv").write_text("\n".join(rows) + "\n")
    given = loads(Setting(traces=Traces(tmp_path)))
    assert [each.name for each in given.real] == ["copy"]
    # Look-alikes stand beside it for the paper's own traces alone.
    assert [(each.name, each.is_trace) for each in given.leading] == [
        ("iozone", False),
        ("postmark", False),
        ("financial1", False),
        ("copy", True),
    ]


def test_changes_and_points_are_signed():
    assert (change_text(-0.523), change_text(0.0), points_text(-0.08)) == ("-52.3 %", "+0.0 %", "-8.0 points")
    # 0.1, 0.2 and 0.3 as a sample: 0.2 with t(2) = 4.303 times 0.1 over the root of 3.
    assert as_sample_text([0.1, 0.2, 0.3], change_text) == "as a sample of such loads: -4.8 % to +44.8 % (95 %, 3 loads)"
    assert as_sample_text([0.1, 0.2], change_text) == ""


def test_the_worked_examples_come_out_exactly():
    found = [claim for claim in examples.entries() if not claim.unscored]
    assert [(claim.ours, claim.verdict) for claim in found] == [
        (2100.0, "differs"),
        (300.0, "reproduced"),
        (pytest.approx(1 / 7), "direction only"),
        (20.0, "reproduced"),
        (20.0, "reproduced"),
    ]
    assert (examples.responses("baseline")["max_ns"], examples.responses("all_fast")["max_ns"]) == (3.6e6, 3e5)
    assert [claim.note.split(";")[0] for claim in found[3:]] == ["18 host, 2 rewrite", "18 host, 2 gc"]


def test_means_are_scored_on_all_loads_with_their_parts():
    used = Loads((), (load("iozone"), load("telegram")))

    def means(response: float, programs: float = 1500, rewrite: float = 141) -> list[Claim]:
        pair = sample(100.0 * (1 + response), programs=programs, rewrite=rewrite, deviation=6.01)
        found = {
            figures.key(each, way): Pair(each, sample(), pair)
            for each in used.alike
            for way in (*figures._WAYS, *figures._COLLECTING)
        }
        return [*figures.means(used, found), figures._up_to(used, found)]

    assert [claim.verdict for claim in means(-0.523, 1561)] == ["reproduced"] * 5
    assert all(claim.headline for claim in means(-0.5))
    assert [claim.verdict for claim in means(-0.4, 1600, 150)] == [
        "direction only", "reproduced", "differs", "differs", "direction only",
    ]  # fmt: skip
    assert means(0.1)[0].verdict == "differs"


@pytest.mark.slow
def test_the_figures_of_a_quick_run_can_fail():
    found = [*figures.entries(QUICK)]
    claims = [each for each in found if isinstance(each, Claim)]
    check(claims)
    shown = next(each for each in claims if each.unscored == "shown")
    assert "separate" in shown.shown
    # The control's frontiers alone make no write faster.
    assert shown.ours > -0.01
    (table,) = (each for each in found if isinstance(each, Table))
    rows = {(row[0], row[1]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    for title in {row[0] for row in table.rows}:
        ofwar, bound, control = (rows[title, policy] for policy in ("ofwar", "all_fast", "separate"))
        # The bound gains more than the policy, which gains something; the control rewrites nothing.
        assert bound["response"] < ofwar["response"] < -0.02
        assert ofwar["rewritten"] > 0.0 == control["rewritten"]


def check(claims: list[Claim]) -> None:
    """Checks that each scored claim misses beyond each side on which it can fail, and is one of the paper."""
    assert claims
    for claim in claims:
        assert claim.work == "OFWAR"
        assert claim.note or claim.verdict == "reproduced", claim
        if claim.unscored:
            continue
        assert claim.can_fail, claim
        beyond = [*wrong(claim)]
        assert beyond, claim
        assert not any(each.is_met for each in beyond), claim


@pytest.mark.slow
@pytest.mark.parametrize("part", [sweeps, synthetic, parallelism], ids=lambda part: part.__name__.rpartition(".")[2])
def test_every_claim_of_a_quick_run_can_fail(part):
    claims = [each for each in part.entries(QUICK) if isinstance(each, Claim)]
    check(claims)


@pytest.mark.slow
def test_the_control_that_is_free_while_young_wins_until_it_cannot():
    claims = [each for each in wear.entries(QUICK) if isinstance(each, Claim)]
    check(claims)
    young, old = claims
    assert young.ours == pytest.approx(old.ours, abs=0.005)
    assert "wear_adaptive +0.0 %" in old.shown
    assert float(young.shown.rpartition("wear_adaptive ")[2].split()[0]) / 100 < young.ours - 0.1


@pytest.mark.slow
def test_a_power_failure_comes_out_as_the_margin_and_the_supercapacitor_say():
    given = [*power.entries(QUICK)]
    claims = [each for each in given if isinstance(each, Claim)]
    check(claims)
    # The paper's shutdown within a second requires more channel bandwidth than its drive has.
    assert [each.what.split(" with")[0] for each in claims if each.verdict == "differs"] == ["graceful shutdown"]
    assert {each.name for each in given if isinstance(each, Picture)} == {"ofwar-power", "ofwar-supercapacitor"}
    (table,) = (each for each in given if isinstance(each, Table))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    # No page is at risk or moved too late in a power-down shorter than the margin; beyond it, without rewrites in idle
    # time, pages are.
    assert {row["at_risk_pages"] + row["deadline_misses"] for row in rows if row["down_h"] < row["margin_h"]} == {0}
    assert all(row["at_risk_pages"] for row in rows if row["margin_h"] < row["down_h"] and row["policy"] != "as in the paper")
    assert {bool(row["at_risk_pages"]) for row in rows if row["down_h"] > 100} == {True}


@pytest.mark.slow
def test_a_full_queue_is_saved_in_eight_programs():
    drive = power.aged_drive()
    for time, entries in ((4_700, 57_344), (4_800, 65_536)):
        summary = power.full_queue(drive, time)
        assert summary["power_failure"]["policy_entries"]["saved"] == entries
        # Forgotten pages are moved when their block nears its limit.
        assert summary["reliability"]["deadline_misses"] == 0


def test_figure_12_is_measured_from_where_the_queue_is_full(monkeypatch):
    asked: list[tuple[object, ...]] = []

    def samples(setting, name, points, **_) -> list[Sample]:
        found = []
        for each in points:
            job = [each.get(f"workload.job[0].{key}") for key in ("arrival.gap", "requests", "ramp_time")]
            asked.append((name, each["policy"], *job))
            busy = (each["policy"], job[0]) == ("ofwar", "20us")
            numbers = {"full": 600.0} if busy else {"fast": 0}
            row = sample(102.0 if busy else 100.0, **numbers).rows[1]
            found.append(Sample({1: {**row, "commands.read": 0, "commands.write": 1000}}))
        return found

    monkeypatch.setattr(synthetic, "samples", samples)
    claims = [each for each in synthetic.entries(QUICK) if isinstance(each, Claim)]
    after = synthetic._QUICK_AFTER
    assert {each for each in asked if each[0] == "figure 12" and each[2] == "20us"} == {
        ("figure 12", policy, "20us", 400 + after, "8000us") for policy in ("ofwar", "separate", "baseline")
    }
    assert {each[3:] for each in asked if each[0] == "figure 12" and each[2] == "1000us"} == {(65_536 + after, None)}
    (busiest,) = (each for each in claims if each.where.startswith("figure 12a") and "20.00 us" in each.what)
    assert (busiest.ours, busiest.verdict) == (pytest.approx(1.02), "reproduced")
    assert "after the 400 until the queue was full" in busiest.load


def test_a_rate_that_never_fills_the_queue_tests_nothing_of_a_full_one():
    found = synthetic.Found(synthetic.Rate(20), 0, {policy: sample(fast=0) for policy in ("ofwar", "separate", "baseline")})
    times, pages = synthetic._of_load(found, 1000)
    assert (times.verdict, pages.verdict) == ("differs", "not testable")
    filled = replace(found, ramp=500, runs={**found.runs, "ofwar": sample(105.0, rewrite=20)})
    times, pages = synthetic._of_load(filled, 1000)
    assert (times.verdict, pages.verdict) == ("reproduced", "differs")


@pytest.mark.parametrize(
    ("bound", "stated", "deepest", "word"),
    [(-0.75, -0.04, -0.62, "queue"), (-0.75, -0.04, -0.10, "threshold"), (-0.10, -0.08, -0.09, "drive")],
)
def test_what_limits_a_load_is_said(bound, stated, deepest, word):
    assert word in parallelism._limited_by(bound, stated, deepest).split(" is the limit")[0]


def test_a_claim_says_how_many_seeds_it_has():
    claim = runs.statement_on(Estimate(2, 0.5, 0.4, 0.6), "half", where="f", what="w", published="p", high=0.6, load="l")
    assert (claim.seeds, claim.interval, claim.verdict, claim.work) == (2, (0.4, 0.6), "reproduced", "OFWAR")


def test_a_claim_that_is_not_met_gets_its_region_in_the_full_form(monkeypatch):
    asked: list[tuple[object, ...]] = []

    def region(setting, name, *, published, tolerance, parameters, **spec) -> Region:
        asked.append((name, spec["quantity"], spec["options"], spec["set"], tolerance))
        row = {each.field: each.choices.get("choices", [0.5])[0] for each in parameters}
        row |= {"policy.ofwar.write_threshold": 128, "workload.speed": speed, "value": -0.5, "off": 0.0}
        return Region(name, spec["title"], published, tolerance, tuple(parameters), (row, dict(row)), tuple(parameters))

    monkeypatch.setattr(regions, "region", region)
    missed = number(Estimate(2, -0.2, -0.21, -0.19), -0.523, 0.0005, unit=change_text, work="OFWAR", where="f", what="w")
    full = Setting(full=True)
    speed = 1
    mean, *_ = regions.with_region_of_load(full, missed, load(), "response", "response")
    assert (mean.verdict, mean.note.endswith("plausible settings (one load of the claim's mean)")) == ("differs", True)
    asked.clear()
    missed = replace(missed, load=load().title)
    claim, *others = regions.with_region_of_load(
        full, missed, load(), "financial1", "response", {"policy.ofwar.write_threshold": 8}
    )
    assert claim.verdict == "holds if"
    assert "on IOzone (look-alike) alone -52.3 % comes out in 2 of 2 plausible settings" in claim.note
    assert [type(each) for each in others] == [Picture, Picture, Table]
    assert asked == [
        (
            "ofwar-financial1",
            regions.QUANTITIES["response"],
            {"stop_after": regions.REQUESTS},
            {"policy.ofwar.write_threshold": 8},
            pytest.approx(0.05 * 0.523),
        )
    ]
    # Faster than recorded is not plausible: the verdict stays.
    speed = 4
    claim, *_ = regions.with_region_of_load(full, missed, load(), "response", "response")
    assert (claim.verdict, "in none of 0 plausible settings, and in 2 of 2 others" in claim.note) == ("differs", True)
    # Without the full form, and for what is met, nothing is searched.
    assert [*regions.with_region_of_load(Setting(), missed, load(), "response", "response")] == [missed]
    met = replace(missed, ours=-0.523)
    assert [*regions.with_region_of_load(full, met, load(), "response", "response")] == [met]
    assert len(asked) == 2


def test_what_is_searched_and_assumed_has_its_reason_and_its_usual_value():
    described = tomllib.loads(ssdlab.check({"base": "ofwar-64g", "policy": {"kind": "ofwar"}}))
    assert [*assumed.entries(QUICK)] == []
    for each in regions.OPEN:
        assert each.why.endswith(".")
    for each in assumed.ASSUMED:
        if isinstance(each.usual, float):
            assert each.values[0] <= each.usual <= each.values[-1]
        else:
            assert each.usual in each.values
        (field,) = each.fields(each.usual)
        if field != "precondition":
            assert valued(described, field) == each.usual


def valued(described: dict, field: str) -> object:
    """Returns a field of a description by its dotted name."""
    found: object = described
    for part in field.replace("[", ".").replace("]", "").split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


@pytest.mark.slow
def test_each_reading_of_the_rules_is_run_under_its_own_rule(monkeypatch):
    monkeypatch.setitem(LENGTHS, "iozone", replace(LENGTHS["iozone"], quick=400))
    monkeypatch.setattr(rules, "loads", lambda _: Loads((), (load(),)))
    found = [*rules.entries(QUICK)]
    assert len(found) == len(rules.RULES)
    assert all(claim.verdict == "shown" and claim.seeds == 1 for claim in found)
    # Victims differ only where wear does; the other rules show.
    preset, greedy, *others = (claim.ours for claim in found)
    assert preset == greedy
    assert all(other != preset for other in others)


def test_a_control_counts_what_it_reproduces():
    used = Loads((), (load("iozone"), load("telegram")))

    def control(response: float) -> Claim:
        pair = sample(100.0 * (1 + response))
        ways = (*figures._WAYS, *figures._COLLECTING)
        found = {figures.key(each, way): Pair(each, sample(), pair) for each in used.alike for way in ways}
        return controls.scored("a policy", used, found)

    idle, gaining = control(0.0), control(-0.523)
    assert (idle.ours, idle.verdict, idle.note) == (0.0, "shown", "")
    assert gaining.ours > 3.0
    assert "ofwar-fig10a" in gaining.note


def test_a_control_runs_every_load_that_the_claims_read(monkeypatch):
    monkeypatch.setattr(controls, "samples", lambda _setting, _name, points, **_: [sample() for _ in points])
    trace, alike = replace(load("iozone"), is_trace=True), load("iozone")
    for used in (Loads((), (alike,)), Loads((trace,), (alike, load("telegram")))):
        found = controls._measured(QUICK, used, "nothing", "baseline")
        assert controls.scored("a policy", used, found).ours == 0.0


@pytest.mark.slow
def test_a_policy_that_does_nothing_and_one_that_is_wrong_reproduce_no_claim():
    nothing, wrong, _ = controls.entries(QUICK)
    assert (nothing.ours, wrong.ours) == (0.0, 0.0)
    # They are scored, and by more than one claim.
    assert all(claim.shown.startswith("0 of 10: ") for claim in (nothing, wrong))


def test_a_ladder_names_the_step_that_matters_most_and_those_that_pass_the_published_value():
    steps = [Step(name, {}, "so it is said") for name in ("ours", "filled", "own bus", "striped")]

    def climbed(*values: float) -> Ladder:
        found = [Estimate(1, value, None, None) for value in values]
        common = {"work": "OFWAR", "where": "figure 10a", "name": "n", "what": "w", "load": "l", "real_trace": True}
        return Ladder(**common, published=-0.5, unit=change_text, steps=steps, found=found)

    far = climbed(-0.2, -0.22, -0.4, -0.3)
    assert far.most == 2
    assert far.text.startswith("nearest -40.0 %, after: own bus; the step that matters most: own bus (-22.0 % to -40.0 %)")
    assert far.text.endswith("no step passes -50.0 %")
    passing = climbed(-0.2, -0.1, -0.6, -0.4)
    assert passing.text.endswith("the published value is passed by: own bus, striped")
    assert climbed(-0.5, -0.4, -0.3, -0.2).most == 0
    claim, picture, table = far.entries()
    assert (claim.verdict, picture.name, len(table.rows)) == ("shown", "n", 4)


def test_the_steps_of_a_ladder_keep_the_changes_before_them():
    found = steps_of(simulator.STEPS)
    assert found[0] == {"drive": "ofwar-64g", "precondition": "steady"}
    assert found[2] == {"drive": "ofwar-64g", "precondition": "fill", "flash.channels": 32, "flash.chips_per_channel": 1}
    assert found[-1]["drive"] == runs.SIMULATED
    for fields in found:
        drive = {name: value for name, value in fields.items() if name not in ("drive", "precondition")}
        pages = 64 if fields["drive"] == "ofwar-64g" else 63
        assert ssdlab.describe(fields["drive"], set=drive)["physical_bytes"] == pages << 30


def passes(extra: float, before: float, debt: float = 0.0, rewritten: float = 0.14, name: str = "iozone") -> settled.Settled:
    first, last = settled.Pass(rewritten, before, 0.0), settled.Pass(rewritten, extra, debt)
    return settled.Settled(load(name), 5, first, last)


def test_a_pass_counts_once_it_uses_up_no_free_blocks_and_costs_what_the_one_before_did():
    assert passes(0.06, 0.065).is_settled
    assert not passes(0.06, 0.08).is_settled
    assert not passes(0.06, 0.06, debt=0.05).is_settled
    kept, beyond = passes(0.061, 0.061), passes(0.9, 0.9, debt=0.5, name="telegram")
    mean, less = settled.claims([kept, beyond, passes(0.0, 0.0, rewritten=0.0, name="financial1")])
    assert (mean.ours, mean.verdict, less.verdict) == (0.061, "reproduced", "reproduced")
    assert mean.load == load().title
    assert "Telegram" in mean.note
    assert "Financial1" in mean.note
    (none,) = settled.claims([beyond])
    assert none.verdict == "not testable"


def test_a_pass_is_the_difference_of_two_runs():
    def row(host: float, rewrite: float, gc: float, free: float) -> dict[str, float]:
        programs = {**dict.fromkeys(runs._PROGRAMS, 0.0), "flash.programs.host": host, "flash.programs.gc": gc}
        programs["flash.programs.rewrite"] = rewrite
        return {"host_units_written": host, "throughput.read_bytes": host * 4096, "free_blocks.at_end": free, **programs}

    found = settled.Pass.between([row(630, 100, 0, 50), row(630, 0, 0, 50)], [row(1260, 163, 63, 49), row(1260, 0, 63, 50)])
    # 630 pages written and as many read; 63 rewritten; as many collected under both; one block of 63 pages used up.
    assert (found.rewritten, found.extra, found.debt) == pytest.approx((63 / 1260, 63 / 1260, 0.1))
