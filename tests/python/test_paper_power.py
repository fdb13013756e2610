"""Chapter 4 of the SSDExplorer thesis: suspension windows, peaks of the power, caps."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import ssdlab
from ssdlab_papers.budget.runs import BASELINE, CONTENDERS
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power import caps, peaks, profiles, suspension, tried
from ssdlab_papers.ssdexplorer.power.suspension import T2, T3, Found
from ssdlab_papers.ssdexplorer.power.windows import DRIVE, MEAN, NONE, PEAK, Runs, Windows, time_of
from ssdlab_papers.ssdexplorer.runs import SPECS

LOAD = str(SPECS / "table_4_2.fio")


def a_row(at: str, seed: int = 1, *, waits: bool = False, overhead: str = "0ns", **numbers: float) -> dict[str, object]:
    plain = {
        "throughput.iops": 200e3,
        MEAN: 2.0,
        PEAK: 3.0,
        "simulated_ns": 600e6,
        "commands.read": 98_304,
        "commands.write": 32_768,
    }
    fields = {"at": at, "idle_chips_wait": waits, "overhead": overhead, "length": "200us"}
    return {"seed": seed, **{f"power.suspend[0].{name}": value for name, value in fields.items()}, **plain, **numbers}


def several(**of_windows: float) -> Runs:
    """Returns runs of two seeds without windows, and with those of the tests, which have these numbers."""
    rows = [a_row("[]", seed) for seed in (1, 2)]
    for stated in (T2, T3):
        for waits in (True, False):
            for overhead in ("0ns", stated.overhead):
                numbers = dict(of_windows)
                # A suspension costs 4 % of the time for each 200 us.
                share = 0.04 * len(stated.at) * (1.0 + suspension.in_us(overhead) / 200.0)
                numbers.setdefault("simulated_ns", 600e6 * (1.0 + share))
                rows += [a_row(f"{list(stated.at)}", seed, waits=waits, overhead=overhead, **numbers) for seed in (1, 2)]
    return Runs(rows)


def results_of(runs: Runs) -> Found:
    return Found(whole=runs, depths={1024: runs}, steady=runs, variants={"upper pages draw most": runs})


def test_windows_are_read_from_the_fields_of_a_sweep():
    rows = [a_row("[]", waits=True), a_row("[ 0.5, ]", waits=True), a_row("[ 0.3, 0.7, ]"), a_row("[0.1, 0.9]", overhead="5us")]
    runs = Runs(rows)
    assert [*runs.by] == [NONE, Windows((0.5,)), Windows((0.3, 0.7), idle_dies_wait=False), *[*runs.by][3:]]
    assert [*runs.by][3] == Windows((0.1, 0.9), overhead="5us", idle_dies_wait=False)
    # One with an overhead is no member of the sweep of positions.
    assert runs.chosen(2, idle_dies_wait=False) == [Windows((0.3, 0.7), idle_dies_wait=False)]
    assert not Runs(rows, seed=7).by


def test_changes_are_taken_seed_by_seed():
    rows = [a_row("[]", seed, **{PEAK: value}) for seed, value in ((1, 2.0), (2, 4.0), (3, 9.9))]
    rows += [a_row("[0.5]", seed, **{PEAK: value}) for seed, value in ((1, 1.0), (2, 2.0))]
    windows = Windows((0.5,), idle_dies_wait=False)
    change = Runs(rows).change(lambda row: row[PEAK], windows)
    assert (change.count, change.mean, change.low, change.high) == (2, pytest.approx(-50.0), *(pytest.approx(-50.0),) * 2)
    assert Runs(rows).change(time_of, windows).mean == pytest.approx(0.0)
    assert Runs(rows).best([NONE, windows], PEAK) == windows


def test_the_time_of_a_suspension_at_which_a_test_takes_as_long_as_stated():
    # 250 us cost 5 %, the stated time of T2; two of them cost the 10 % of T3.
    assert suspension._region(results_of(several()), T2)[1] == pytest.approx(250.0)
    assert suspension._region(results_of(several()), T3)[1] == pytest.approx(250.0)
    assert "250 us" in suspension._region(results_of(several()), T3)[0]
    slow = dataclasses.replace(T2, time=50.0)
    assert suspension._region(results_of(several()), slow) == ("", pytest.approx(2500.0))


def claims_of(runs: Runs) -> dict[str, Claim]:
    return {claim.what: claim for claim in suspension.entries(results_of(runs))}


def test_a_drive_that_did_as_stated_would_be_told():
    as_stated = {MEAN: 2.0 * 0.965, PEAK: 3.0 * 0.885, "throughput.iops": 200e3 / 1.05}
    claims = claims_of(several(**as_stated))
    told = {what: claim.verdict for what, claim in claims.items() if what.startswith("T2")}
    assert [told[f"T2: {what}"] for what in ("mean power, windows best for it", "peak power, windows best for it")] == [
        "reproduced"
    ] * 2
    assert told["T2: time, windows best for the mean"] == "reproduced"
    # Its latency of an upper page is that of the window alone, whatever the runs are.
    assert told["T2: latency of an upper page, window of 200 us"] == "direction only"
    unchanged = claims_of(several())
    assert unchanged["T2: peak power, windows best for it"].verdict == "differs"
    assert unchanged["T3: energy of the whole load, mean power times time"].verdict == "differs"
    assert {claim.verdict for claim in unchanged.values() if claim.where.startswith("table 4.1")} == {"input"}


def test_every_scored_claim_can_fail():
    for claim in claims_of(several()).values():
        if not claim.unscored:
            assert claim.low is not None
            assert claim.high is not None
            for value in (claim.low - 1e-6, claim.high + 1e-6):
                assert dataclasses.replace(claim, ours=value, agrees=False, region="").verdict == "differs", claim.what


def test_the_front_of_peak_against_time():
    rows = [
        a_row("[]"),
        a_row("[0.1]", **{PEAK: 2.9, "throughput.iops": 190e3}),
        a_row("[0.2]", **{PEAK: 2.95, "throughput.iops": 180e3}),
    ]
    runs = Runs(rows)
    assert tried._front(runs) == [NONE, Windows((0.1,), idle_dies_wait=False)]
    shown = [*tried.entries(Found(whole=runs, depths={1024: runs}, steady=runs, variants={}))]
    every, _ = [each for each in shown if isinstance(each, Table)]
    assert [(row[0], row[-1]) for row in every.rows] == [("none", True), ("0.1", True), ("0.2", False)]
    (picture,) = [each for each in shown if isinstance(each, Picture)]
    front = picture.chart.series[-1]
    assert (front.x, front.y) == ([pytest.approx(0.0), pytest.approx(100 / 19)], [3.0, 2.9])


def test_a_period_is_found_in_the_power():
    time = np.arange(0.0, 400.0, 0.25)
    noise = np.random.default_rng(1).normal(size=len(time))
    share, period, rows = profiles.repetition(time, np.sin(2 * np.pi * time / 8.0) + 0.5 * noise)
    # Noise hides which of several periods it is.
    assert period % 8.0 == pytest.approx(0.0, abs=0.5) or period % 8.0 == pytest.approx(8.0, abs=0.5)
    assert share > 0.5
    assert profiles.repetition(time, noise)[0] < 4.0 / math.sqrt(rows)


def test_the_power_from_the_timeline_is_that_of_the_engine(tmp_path):
    result = run(DRIVE, LOAD, stop_after=3_000, timeline=tmp_path / "timeline")
    parts = peaks.power(peaks.Phases(tmp_path / "timeline"), peaks.currents(result.drive_toml), 128)
    total = np.sum([*parts.values()], axis=0)
    energy = result.summary["energy"]
    whole = int(result.summary["simulated_ns"]) // 1000
    assert total[:whole].max() == pytest.approx(energy["peak_w"], rel=1e-9)
    assert 1e-6 * total.sum() == pytest.approx(energy["flash_j"], rel=1e-5)
    assert {*parts} == {"idle", *(f"{what} {page}" for what in ("read", "program") for page in range(3))}


def test_dies_that_waited_for_a_window_begin_together():
    kinds = (NONE, Windows((0.5,)), Windows((0.5,), idle_dies_wait=False))
    plain, waits, free = (peaks._together(peaks._recorded(8_000, windows)[0]) for windows in kinds)
    assert waits > 3 * plain
    assert free < 2 * plain


def test_currents_and_times_have_units():
    assert [peaks._number(text) for text in ("1600uA", "10mA", "13us", "3300mV", "3.3V", "2ms")] == [
        pytest.approx(value) for value in (1.6, 10.0, 13.0, 3.3, 3.3, 2000.0)
    ]
    section = {
        "program": [{"kind": "pulses", "period": "100us", "width": "9us", "base": "1mA", "peak": f"{peak}mA"} for peak in (5, 7)]
    }
    assert peaks.pulses(section, 2) == (100.0, 9.0, 1.0, 7.0)


def test_the_numbers_of_a_capped_run():
    summary = {
        "throughput": {"iops": 250e3},
        "latency": {"read": {"p99_ns": 1e6, "p99_9_ns": 2e6}, "write": {"p99_ns": 3e6, "p99_9_ns": None}},
        "causes": {"read": {"power_wait": 5e5}, "write": {}},
        "energy": {"cap": {"waits": 7}, "mean_w": 2.9, "peak_w": 3.0, "per_host_byte_j": 4e-9},
    }
    one = caps.Capped.from_summary(BASELINE, "3W", summary)
    assert one.tails == (1000.0, 2000.0, 3000.0, None)
    assert (one.kiops, one.waits, one.wait_read, one.wait_write) == (250.0, 7, 500.0, 0.0)
    assert one.joule_per_gb == pytest.approx(4.0)
    free = caps.Capped.from_summary(BASELINE, "none", {**summary, "energy": {**summary["energy"], "cap": None}})
    assert free.waits == 0
    claim = caps._answer("baseline", [free, one, one, one])
    assert (claim.verdict, claim.ours) == ("shown", 1.0)
    assert claim.shown.startswith("reads 2.00 → 2.00 → 2.00 → 2.00 ms; writes – → –")
    slow = dataclasses.replace(one, kiops=100.0)
    by = {("a", cap): free for cap in caps.CAPS} | {("b", cap): slow for cap in caps.CAPS} | {("b", "none"): free}
    told = [*caps._together(by, ["a", "b"])]
    assert [each.what[:2] for each in told] == ["8W", "5W", "3W"]
    assert told[0].shown == "1 never wait: a; 0.40 (b) to 1.00 (a)"


@pytest.mark.slow
def test_a_cap_holds_and_costs_the_tail():
    by = {contender.name: contender for contender in CONTENDERS}
    results = {}
    for cap in ("none", "3W"):
        given = {} if cap == "none" else {"power.cap": cap}
        done = run(
            caps.resolved_drive("speed"), caps._workload(), "baseline", set=given, stop_after=25_000, precondition="steady"
        )
        results[cap] = caps.Capped.from_summary(by["baseline"], cap, done.summary)
    free, capped = results["none"], results["3W"]
    assert capped.peak_w <= 3.0 < 8.0 < free.peak_w
    assert capped.tails[1] > 2.0 * free.tails[1]
    assert capped.wait_read > 100.0 > free.wait_read == 0.0


@pytest.mark.slow
def test_tests_t1_to_t3(tmp_path):
    measured = suspension.measure(Setting(quick=True, runs=tmp_path))
    claims = {claim.what: claim for claim in suspension.entries(measured)}
    # The dies are busy all the time, and each operation holds its die during its transfer, too.
    assert claims["T1: time"].ours == pytest.approx(675.0, rel=0.03)
    assert claims["T2: time if an upper page takes 16 % longer, as stated"].ours == pytest.approx(8.8, abs=0.6)
    assert claims["T2: energy of the whole load, mean power times time"].ours == pytest.approx(0.0, abs=0.2)
    assert claims["T2: peak power, windows best for it"].verdict == "differs"
    assert claims["T2: peak power, windows best for it"].ours > 10.0
    assert NONE in tried._front(measured.steady)
    assert len([each for each in measured.steady.by if each.at]) == 16
    for name in ("power_tests", "power_single", "power_pairs", "power_variants"):
        assert ssdlab.Spec.open(SPECS / f"{name}.toml").seeds == (1, 2, 3)
