"""The retention relaxation experiment: exact tests of its helpers, its claims on made-up runs, and short runs."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import ssdlab
from conftest import wrong
from ssdlab.traces import retention, trace_info
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.regions import Open, Region
from ssdlab_papers.retention import assumed, codes, controls, curves, lifetimes, loads, regions, runs, speed, wear, weeks
from ssdlab_papers.retention.runs import CODES, SPEED, Case, Cases, Gain, Run, run_cases, write_trace
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample
from ssdlab_papers.traces import KNOWN, Load, Traces

pytestmark = pytest.mark.slow

WEEK = 7 * 86_400
QUICK = Setting(quick=True)


def look_alike(name: str) -> Load:
    load = Traces().load(name)
    assert load is not None
    return load


@pytest.fixture
def rsrch() -> Load:
    return look_alike("rsrch_1")


def row(write: float = 3000.0, waiting: float = 1000.0, **fields) -> dict:
    """A row of a sweep with made-up numbers: times in ns, and reprogrammed pages of 1,000."""
    given = {"reprogram": 0, "misses": 0, "encoding": 0.0, "encoder": 0.0, "writes": 100, "host": 1000, **fields}
    return {
        "commands.write": given["writes"],
        "latency.write.mean_ns": write,
        "causes.write.program": write - waiting - given["encoding"],
        "causes.write.die_host_program": waiting,
        "causes.write.ecc_wait": given["encoding"],
        "causes.write.rmw": None,
        "host_units_written": given["host"],
        "flash.programs.reprogram": given["reprogram"],
        "flash.operations.erase": 0,
        "utilisation.dies_writing": 0.1,
        "utilisation.dies": given.get("dies", 0.2),
        "utilisation.encoder_ldpc": given["encoder"],
        "modes.host_write.normal": given.get("strong", 0),
        "throughput.write_bytes_per_s": given.get("rate", 1e6),
        "reliability.deadline_misses": given["misses"],
    }


def case(load: Load, **ways: dict) -> Case:
    """Returns a load with a row for each way, and one seed."""
    return Case(load, {way.replace("__", " "): Sample({1: made}) for way, made in ways.items()})


def test_nothing_is_drawn_in_the_run_of_a_trace(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "length", lambda setting, load: 300)
    path = tmp_path / "prxy_0.csv"
    start = 128_166_372_000_000_000
    path.write_text("".join(f"{start + 10**4 * at},h,0,Write,{8192 * at},8192,1\n" for at in range(300)))
    load = Traces(tmp_path).find("prxy_0")
    assert load is not None
    both = run_cases(Setting(), "test", {"one": (SPEED, "rr_speed", {})}, loads.Loads((load,), (look_alike("wdev_1"),)))
    (real,), (alike,) = both.real, both.alike
    assert [len(each.samples["one"].rows) for each in (real, alike)] == [1, 2]
    found = both.find(("one",), lambda runs: runs[0][0].write_ns)
    assert (found.real.count, found.real.low, found.alike.count) == (0, found.real.mean, 2)
    again = ssdlab.run(SPEED, load.workload(300), "rr_speed", precondition="fill", seed=2).summary
    assert found.real.mean == again["latency"]["write"]["mean_ns"]


def trace(name: str) -> Load:
    """A load that counts as a trace."""
    return Load(known=KNOWN[name], path=Path(f"{name}.csv"), is_trace=True, requests=10, differences=("a part",))


def missed_beyond(claims: list[Claim]) -> None:
    """Feeds each scored claim a wrong value on each side on which it can fail."""
    for claim in claims:
        if claim.unscored:
            continue
        beyond = [*wrong(claim)]
        assert beyond, claim.what
        assert not any(each.is_met for each in beyond), claim.what
        assert all(each.verdict in ("direction only", "differs") for each in beyond), claim.what


def test_a_run_is_taken_from_its_row():
    one = Run(row(reprogram=250, encoding=500.0, encoder=0.3))
    assert (one.writes, one.write_ns, one.waiting_ns, one.encoding_ns, one.encoder) == (100, 3000.0, 1000.0, 500.0, 0.3)
    assert (one.overhead, one.collected, one.writing, one.bytes_per_s, one.misses) == (0.25, 0.0, 0.1, 1e6, 0.0)
    assert Run(row(host=0)).overhead == 0.0


def test_a_gain_is_taken_to_the_baseline():
    gain = Gain(Run(row()), Run(row(write=1000.0, waiting=200.0)))
    assert (gain.speed_up, gain.queueing, gain.is_queued) == (3.0, 5.0, False)
    assert Gain(Run(row(waiting=1600.0)), Run(row())).is_queued
    empty = Run(row(write=0.0, waiting=0.0))
    assert (Gain(empty, empty).speed_up, Gain(empty, empty).queueing) == (1.0, 1.0)


def test_a_sweep_runs_weeks_of_a_look_alike_as_a_single_run_does(rsrch):
    found = run_cases(QUICK, "test", {"one": (SPEED, "rr_speed", {})}, loads.Loads((), (rsrch,)), weeks=True)
    text = rsrch.workload(10**9).text
    text = f'runtime = "{4 * WEEK}000000000ns"\nramp_time = "{2 * WEEK}000000000ns"\n{text}'
    done = ssdlab.run(SPEED, ssdlab.Workload.from_text(text), "rr_speed", precondition="fill").summary
    one = found.leading[0].first("one")
    assert (one.write_ns, one.writes) == (done["latency"]["write"]["mean_ns"], done["commands"]["write"])
    # Two weeks of four are left out.
    assert done["simulated_ns"] / 1e9 == pytest.approx(2 * WEEK, rel=0.05)


def test_weeks_of_a_look_alike(rsrch, tmp_path):
    fields = loads.weeks_of(rsrch, tmp_path)
    model = tomllib.loads(Path(str(fields["workload"])).read_text())
    assert (fields["workload.runtime"], model["ramp_time"]) == (f"{4 * WEEK}000000000ns", f"{2 * WEEK}000000000ns")
    assert (fields["workload.speed"], fields["workload.requests"]) == (1.0, 10**9)
    fast = loads.weeks_of(rsrch, tmp_path, 1000.0, count=1, dropped=0)
    assert (fast["workload.runtime"], fast["workload.speed"]) == (f"{WEEK}000000ns", 1000.0)
    assert tomllib.loads(Path(str(fast["workload"])).read_text())["ramp_time"] == "0ns"


def test_weeks_of_a_trace_are_passes(rsrch, tmp_path):
    path = tmp_path / "prxy_0.csv"
    start = 128_166_372_000_000_000
    rows = [f"{start + 864_000_000_000 * day},host,0,Write,{8192 * day},8192,1" for day in range(6)]
    path.write_text("\n".join(rows) + "\n")
    load = Traces(tmp_path).find("prxy_0")
    assert load is not None
    assert loads.span_ns(load) == 5 * 86_400 * 10**9
    fields = loads.weeks_of(load, tmp_path)
    assert [fields[f"workload.{key}"] for key in ("repeat", "ramp_time", "address")] == [6, f"{2 * WEEK}000000000ns", "compact"]
    assert not loads.of_the_work(load)
    assert loads.of_the_work(replace(load, differences=()))
    assert loads.about([load])
    assert not loads.about([replace(load, differences=())])
    assert weeks._repeats(load).startswith("repeated every 5.0 days")
    assert weeks._repeats(rsrch) == ""
    used = loads.weekly(Setting(traces=Traces(tmp_path)))
    assert ([each.path for each in used.real], [each.name for each in used.alike]) == ([path], [])
    # A file that is too short for runs of weeks is not used; look-alikes take its place.
    path.write_text(f"{rows[0]}\n{rows[0].replace(str(start), str(start + 10**7))}\n")
    used = loads.weekly(Setting(traces=Traces(tmp_path)))
    assert (used.real, [each.name for each in used.alike]) == ((), ["rsrch_1", "wdev_1", "game"])
    assert [each.name for each in loads.minutes(Setting(traces=Traces(tmp_path))).real] == ["prxy_0"]


def test_heavy_traces_are_cut_where_they_would_be_run_again_and_again(rsrch):
    heavy = replace(rsrch, requests=loads.MANY + 1, known=replace(rsrch.known, name="prn_0"), is_trace=True)
    assert (loads.is_light(rsrch), loads.is_light(heavy)) == (True, False)
    assert loads.length(Setting(), heavy) == loads.MANY


def test_drives_have_the_dies_of_the_slides(rsrch):
    assert loads.shape(rsrch) == {}
    for name, dies in loads.DIES.items():
        known = replace(rsrch, known=replace(rsrch.known, name=name))
        full = ssdlab.describe(SPEED, set=loads.shape(replace(known, is_trace=True)))
        small = ssdlab.describe(SPEED, set=loads.shape(known))
        assert full["physical_bytes"] == dies * (8 << 30)
        assert (small["physical_bytes"], small["dies_working_at_once"]) == (16 * (8 << 30), dies)


def test_a_look_alike_written_down_is_what_it_plays(rsrch, tmp_path):
    workload = write_trace(rsrch, 1, tmp_path / "week.csv")
    info = trace_info(workload)
    assert info["span_ns"] < WEEK * 10**9
    played = ssdlab.run(SPEED, loads.recorded_weeks(rsrch, 1), precondition="none").summary
    assert (info["reads"], info["writes"]) == (played["commands"]["read"], played["commands"]["write"])
    assert info["write_bytes"] == played["throughput"]["write_bytes"]
    assert retention(workload).writes * 512 == info["write_bytes"]
    other = trace_info(write_trace(rsrch, 1, tmp_path / "other.csv", seed=2))
    assert other["write_bytes"] != info["write_bytes"]


def test_speed_ups_are_scored_at_both_ends_and_in_the_middle():
    made = {
        "prxy_0": row(write=1500.0),
        "rsrch_1": row(write=1200.0),
        "tpc_c": row(write=600.0),
        "telegram": row(write=300.0),
    }
    cases = tuple(case(trace(name), baseline=row(), rr_speed=each) for name, each in made.items())
    found = speed.Speeds(Cases((), ()), Cases(cases, ()))
    least, greatest, typical, *others = [*speed.claims(found)]
    # Loads of other collections stand beside them.
    assert [each.ours for each in (least, greatest, typical)] == [2.0, 5.0, 2.5]
    # A third of the response of each is waiting: what is typical of them is the ratio of the program times.
    assert [each.verdict for each in (least, greatest, typical)] == ["direction only", "direction only", "input"]
    assert [each.real_trace for each in (least, greatest, typical)] == [True] * 3
    assert [each.verdict for each in others] == ["not testable", "shown", "shown", "shown"]
    assert others[-1].ours == 10.0
    missed_beyond([least, greatest, typical])


def test_controls_reproduce_no_claim_on_speed():
    made = {
        name: row(write=write, waiting=0.2 * write)
        for name, write in (("prxy_0", 1500.0), ("rsrch_1", 1666.0), ("hadoop", 700.0))
    }
    cases = [case(trace(name), baseline=row(waiting=1000.0), rr_speed=each) for name, each in made.items()]
    found = speed.Speeds(Cases((), ()), Cases(tuple(cases), ()))
    nothing, turned = controls.entries(found)
    assert [control.ours for control in (nothing, turned)] == [0.0, 0.0]
    # The same claims with the work's own runs.
    assert "reproduced" in [claim.verdict for claim in speed.claims(found)]
    assert nothing.shown.startswith("0 of ")
    assert "(1.00x)" in nothing.shown
    assert "(0.23x)" in turned.shown


def test_what_is_typical_is_an_input_unless_the_middle_load_mostly_waits():
    for waiting, verdict in ((1400.0, "input"), (1600.0, "reproduced")):
        cases = [case(trace(name), baseline=row(waiting=waiting), rr_speed=row(write=1300.0)) for name in ("prxy_0", "tpc_c")]
        typical = [*speed.range_claims(Cases(tuple(cases), ()))][2]
        assert (typical.verdict, typical.is_met) == (verdict, True)
        assert ("is an input" in typical.note) == (verdict == "input")
    missed_beyond([typical])


def test_a_gain_that_no_figure_shows_is_none():
    for ratio, agrees in ((1.005, False), (1.02, True)):
        ours = case(trace("hadoop"), baseline=row(write=3000.0 * ratio), rr_speed=row())
        assert next(speed.hadoop_claims(Cases((ours,), ()))).agrees is agrees
        assert [each.agrees for each in speed.range_claims(Cases((ours,), ()))] == [agrees] * 3
    for less, verdict in ((1.005, "differs"), (1.02, "reproduced")):
        ours = case(trace("vm"), baseline=row(write=4000.0, waiting=3000.0), rr_speed=row(write=2000.0, waiting=1500.0 / less))
        (claim,) = [each for each in speed.claims(speed.Speeds(Cases((), ()), Cases((ours,), ()))) if "reduction" in each.what]
        assert (claim.ours, claim.verdict) == (pytest.approx(less), verdict)


def test_the_two_claims_on_hadoop_can_fail_on_both_sides():
    ours = case(trace("hadoop"), baseline=row(write=4800.0, waiting=4600.0), rr_speed=row(write=1000.0, waiting=800.0))
    response, queueing = [*speed.hadoop_claims(Cases((ours,), ()))]
    assert (response.ours, response.verdict, queueing.ours, queueing.verdict) == (4.8, "reproduced", 5.75, "reproduced")
    missed_beyond([response, queueing])


def test_queueing_falls_more_than_the_response():
    ours = case(trace("vm"), baseline=row(write=4000.0, waiting=3000.0), rr_speed=row(write=1000.0, waiting=500.0))
    (claim,) = [each for each in speed.claims(speed.Speeds(Cases((), ()), Cases((ours,), ()))) if "reduction" in each.what]
    assert (claim.ours, claim.verdict) == (1.5, "reproduced")
    missed_beyond([claim])


def test_no_data_outlives_its_guarantee():
    idle = weeks.reliability_claim(Cases((case(trace("rsrch_1"), rr_speed=row()),), ()))
    assert idle.verdict == "sanity"
    for misses, verdict in ((0, "reproduced"), (1, "differs")):
        ours = case(trace("rsrch_1"), rr_speed=row(misses=misses, reprogram=3))
        claim = weeks.reliability_claim(Cases((ours,), ()))
        assert (claim.ours, claim.verdict) == (misses, verdict)
    missed_beyond([claim])


THROUGHPUTS = (5, 10, 20, 40, 80, 160)


def with_encoders(ours: tuple[float, ...], rival: tuple[float, ...], **fields) -> Case:
    """Returns a load with write responses by encoder, over the ideal's, and encoders busy a tenth of the time."""
    fields = {"encoder": 0.1, **fields}
    made = {"rr_ecc None": row(), "bch_ldpc None": row()}
    for policy, ratios in (("rr_ecc", ours), ("bch_ldpc", rival)):
        made |= {f"{policy} {at}": row(write=3000.0 * ratio, **fields) for at, ratio in zip(THROUGHPUTS, ratios, strict=True)}
    return Case(trace("rsrch_1"), {way: Sample({1: each}) for way, each in made.items()})


def test_what_an_encoder_must_deliver():
    throughputs = (5, 10, 20, 40)
    assert codes.needed(throughputs, (0.1, 0.8, 0.96, 1.0)) == 20
    assert codes.needed(throughputs, (1.0, 1.0, 1.0, 1.0)) == 5
    assert codes.needed(throughputs, (1.0, 0.8, 1.0, 1.0)) == 20, "from there on"
    assert codes.needed(throughputs, (0.1, 0.1, 0.1, 0.1)) == 80, "none is enough"


@pytest.mark.parametrize(
    ("ours", "rival", "ratio", "verdicts"),
    [
        ((2.0, 1.5, 1.0, 1.0, 1.0, 1.0), (9.0, 8.0, 6.0, 4.0, 2.0, 1.0), 8.0, ["reproduced", "reproduced"]),
        ((2.0, 1.0, 1.0, 1.0, 1.0, 1.0), (9.0, 8.0, 6.0, 4.0, 2.0, 1.0), 16.0, ["reproduced", "direction only"]),
        ((2.0, 1.5, 1.3, 1.0, 1.0, 1.0), (2.0, 1.5, 1.3, 1.0, 1.0, 1.0), 1.0, ["differs", "differs"]),
    ],
)
def test_eight_times_less_is_eight(ours, rival, ratio, verdicts):
    found = Cases((with_encoders(ours, rival),), ())
    near, less, *beside = [*codes.needed_claims(found, THROUGHPUTS, "at recorded speed", "why")]
    assert (less.ours, [near.verdict, less.verdict]) == (ratio, verdicts)
    assert [each.verdict for each in beside] == ["shown", "shown"]
    missed_beyond([near, less])
    assumed_load = [*codes.needed_claims(found, THROUGHPUTS, "weeks compressed", "why", "if the host writes more")]
    assert [each.verdict == "holds if" for each in assumed_load[:2]] == [each == "reproduced" for each in verdicts]


def test_what_cannot_fail_with_an_idle_encoder_is_not_counted():
    even = (1.0,) * 6
    for busy, verdict in ((0.005, "sanity"), (0.02, "reproduced")):
        near, *_ = codes.needed_claims(
            Cases((with_encoders(even, even, encoder=busy),), ()), THROUGHPUTS, "at recorded speed", ""
        )
        assert near.verdict == verdict
    for strong, verdict in ((0, "sanity"), (1, "reproduced")):
        found = Cases((with_encoders(even, even, strong=strong),), ())
        assert codes.off_the_path(found, "at recorded speed").verdict == verdict


def test_what_is_as_fast_does_not_outperform():
    faster = (1.1, 1.1, 1.1, 1.1, 1.1, 1.1)
    for rival, verdict in (((1.2,) * 6, "reproduced"), ((*(1.2,) * 5, 1.1), "differs"), ((*(1.2,) * 5, 1.105), "differs")):
        claim = codes.outperforms(Cases((with_encoders(faster, rival),), ()), THROUGHPUTS)
        assert claim.verdict == verdict
    missed_beyond([claim])
    # Beyond the slide's encoders the rival is as fast: the claim points the way that it says.
    fastest = with_encoders(faster, (1.2,) * 6)
    more = {f"{policy} 320": Sample({1: row()}) for policy in codes.POLICIES}
    wider = Case(fastest.load, {**fastest.samples, **more})
    assert codes.outperforms(Cases((wider,), ()), (*THROUGHPUTS, 320)).verdict == "direction only"
    for encoding, verdict in ((0.0, "reproduced"), (1.0, "differs")):
        made = with_encoders(faster, faster, encoding=encoding, strong=1)
        claim = codes.off_the_path(Cases((made,), ()), "at recorded speed")
        assert claim.verdict == verdict
    missed_beyond([claim])


def test_random_writes_without_a_pause():
    found = {
        (policy, at): Sample({1: row(rate=rate, encoder=0.9)})
        for at in (5, 10)
        for policy, rate in (("rr_ecc", 2e6), ("bch_ldpc", 1e6))
    }
    claims = [codes.bottleneck(found, (5, 10)), codes.never_slower(found, (5, 10))]
    assert [each.verdict for each in claims] == ["reproduced", "reproduced"]
    assert claims[1].ours == 2.0
    missed_beyond(claims)
    assert [each.real_trace for each in claims] == [None, None]
    slow = found | {("rr_ecc", 10): Sample({1: row(rate=1e6)})}
    assert codes.never_slower(slow, (5, 10)).verdict == "differs"


def test_weeks_compressed_with_their_limits_leave_the_same_behind(rsrch):
    used = loads.Loads((), (rsrch,))
    fields = {**codes.encoder(None), **codes.limits(1000.0)}
    usual = run_cases(QUICK, "usual", {"one": (CODES, "rr_ecc", codes.encoder(None))}, used, weeks=True).leading[0].first("one")
    made = run_cases(QUICK, "pressed", {"one": (CODES, "rr_ecc", fields)}, used, weeks=True, time_scale=1000.0)
    pressed = made.leading[0].first("one")
    assert pressed.host == usual.host
    assert pressed.overhead == pytest.approx(usual.overhead, rel=0.03)
    assert pressed.misses == 0
    assert "policy.rr_ecc.reprogram_after" not in codes.ways((20,), codes.limits(2.0))["bch_ldpc 20"][2]


def test_modes_by_wear_keep_what_the_control_promises():
    given = {"flash.write_mode": wear.speed_modes()}
    modes = {mode["name"]: mode for mode in ssdlab.describe(SPEED, set=given)["write_modes"]}
    assert [*modes] == ["normal", "fast", "year-0", "year-30", "year-50"]
    programs = [modes[name]["program_ns"] for name in ("fast", "year-0", "year-30", "year-50", "normal")]
    assert programs == sorted(programs)
    year = 31_557_600 * 10**9
    for share in wear.WEAR[:-1]:
        cycles = {**given, "state.pe_cycles": round(share * wear.RATED) + 1}
        kept = {mode["name"]: mode["retention_ns"] for mode in ssdlab.describe(SPEED, set=cycles)["write_modes"]}
        assert kept[f"year-{100 * share:.0f}"] >= year, share
        assert kept["fast"] < year, share


def test_bch_alone_keeps_a_year_on_a_fresh_drive_only():
    modes = {"flash.write_mode": wear.code_modes()}

    def days(share: float) -> float:
        found = ssdlab.describe(CODES, set={**modes, "state.pe_cycles": round(share * wear.RATED)})["write_modes"]
        return next(mode["retention_ns"] for mode in found if mode["name"] == "fast") / 86_400e9

    assert days(0.0) > 365
    assert days(0.03) > 365
    assert days(0.04) < 365
    assert 14 <= days(1.0) < 14.1


def test_a_short_trace_sees_no_end_of_the_last_writes(tmp_path):
    # Four sectors, one of which is written three times: six writes, four of which are the last of their sectors.
    path = tmp_path / "rsrch_1.csv"
    start, week = 128_166_372_000_000_000, 7 * 86_400 * 10**7
    path.write_text("".join(f"{start + at * week // 8},h,0,Write,{512 * at * (at < 4)},512,1\n" for at in (0, 1, 2, 3, 4, 5)))
    load = Traces(tmp_path).find("rsrch_1")
    assert load is not None
    life = lifetimes.lifetimes(load)
    assert (life.writes, life.unknown, lifetimes.share(life)) == (6, 4, pytest.approx(2 / 6))
    one = lifetimes.Life(load, (life,))
    most, *ends, every = [*lifetimes.within_a_week(lifetimes.Lives((one,), ()), [one])]
    assert (most.ours, most.verdict, most.seeds) == (0.0, "differs", 0)
    assert "(1.50 times each" in most.note
    assert [each.verdict for each in ends] == ["differs", "differs"]
    missed_beyond([most, *ends])
    assert every.verdict == "shown"
    so_far = lifetimes._so_far(one)
    assert (so_far.verdict, so_far.shown) == ("shown", "at least 33.3 %")


def test_tpc_c_is_scored_if_a_day_of_it_is_at_hand(tmp_path):
    (lost,) = lifetimes._tpc_c([])
    assert (lost.verdict, math.isnan(lost.ours)) == ("not testable", True)
    path = tmp_path / "tpc_c.csv"
    start = 128_166_372_000_000_000
    # One sector is written a hundred times: 53 times again within seconds, and so on, as the slide has it.
    times, at = [], start
    for gap, count in ((10**8, 53), (10**10, 43), (10**11, 3)):
        for _ in range(count):
            times.append(at)
            at += gap
    times.append(at)
    path.write_text("".join(f"{each},h,0,Write,0,512,1\n" for each in times))
    load = Traces(tmp_path).find("tpc_c")
    assert load is not None
    claims = [*lifetimes._tpc_c([lifetimes.Life(load, (lifetimes.lifetimes(load),))])]
    assert [each.verdict for each in claims] == ["reproduced"] * 4
    missed_beyond(claims)


def test_the_curves_of_the_cell_pass_the_points_of_the_slides():
    assert speed.program_speed_up() == pytest.approx(2.31, abs=0.03)
    assert curves.write_speed(14 / 365.25) == pytest.approx(2.31, abs=0.03)
    assert curves.write_speed(1.0) == 1.0
    rate, years = curves.with_bch(1.0)
    assert (rate, years) == (pytest.approx(2.2e-2, rel=0.01), pytest.approx(14 / 365.25, rel=0.01))
    fresh, longer = curves.with_bch(0.04)
    assert (fresh < rate, longer > years) == (True, True)
    found = [*curves.entries()]
    assert {each.verdict for each in found if isinstance(each, Claim)} == {"input"}
    assert [each.name for each in found if isinstance(each, Picture)] == ["retention-write-speed", "retention-codes-cell"]


def test_the_claims_of_a_quick_run_can_fail():
    found = speed.runs(QUICK)
    claims = [*speed.claims(found), weeks.reliability_claim(found.weeks)]
    claims += [each for each in lifetimes.entries(QUICK) if isinstance(each, Claim)]
    missed_beyond(claims)
    assert [each.what for each in claims if not each.unscored and not each.can_fail] == []
    by_name = {each.what: each for each in claims}
    least = next(each for name, each in by_name.items() if name.startswith("write response speed-up, least"))
    assert 2.0 < least.ours < 2.31
    assert (least.verdict, least.seeds, least.real_trace) == ("direction only", 1, False)
    assert json.dumps([each.as_json() for each in claims], allow_nan=False)


@pytest.fixture
def few(monkeypatch):
    """Leaves each parameter of a search one choice, except the speed."""
    usual = regions.parameters

    def parameters(load: Load) -> list[Open]:
        found = usual(load)
        kept = {each.field: each.choices["choices"][-1:] for each in found} | {"flash.channels": [4], "precondition": ["fill"]}
        return [replace(each, choices={"choices": kept[each.field]}) for each in found[1:]] + [
            replace(found[0], choices={"choices": [1, 300]})
        ]

    monkeypatch.setattr(regions, "parameters", parameters)


def test_a_search_has_the_speed_up_of_two_runs(few):
    load = look_alike("prxy_0")
    target = next(each for each in regions.TARGETS if each.name == "least")
    found = regions.find_region(Setting(full=True), load, target, trials=2, requests=2_000)
    first = found.rows[0]
    played = load.workload(2_000, float(first["workload.speed"]))
    given = {
        "flash.transfer_rate": "200MT/s", "ftl.write_allocation": "round_robin", "ftl.partial_write": "whole",
    }  # fmt: skip
    means = [
        ssdlab.run(SPEED, played, policy, set=given, precondition="fill").summary["latency"]["write"]["mean_ns"]
        for policy in ("baseline", "rr_speed")
    ]
    assert first["value"] == pytest.approx(means[0] / means[1])
    assert (found.published, found.tolerance) == (pytest.approx(1.8), pytest.approx(0.05))
    assert found.fixed == f"rr-106g, 16 dies, {load.title}"
    queueing = next(each for each in regions.TARGETS if each.name == "queueing")
    waits = regions.find_region(Setting(full=True), load, queueing, trials=2, requests=2_000)
    assert all(row["value"] > 0.0 for row in waits.rows)


def made_region(value: float, plausible: bool = True) -> Region:
    parameter = regions.ENCODERS[1]
    row = {"near": 0.95 if plausible else 0.5, "value": value, "off": 0.0}
    return Region("made", "made", value, 0.1, (parameter,), (row, dict(row)), (parameter,))


def test_a_headline_that_is_not_met_gets_its_region(monkeypatch):
    ours = case(trace("hadoop"), baseline=row(), rr_speed=row(write=1500.0, waiting=500.0))
    found = Cases((ours,), ())
    asked = []

    def searched(setting, load, target):
        asked.append((load.name, target.name))
        return made_region(4.8, plausible=target.name == "hadoop")

    monkeypatch.setattr(regions, "find_region", searched)
    pieces = [*regions.with_regions(Setting(full=True), speed.hadoop_claims(found), found)]
    claims = [each for each in pieces if isinstance(each, Claim)]
    assert asked == [("hadoop", "hadoop"), ("hadoop", "queueing")]
    assert [each.verdict for each in claims] == ["holds if", "direction only"]
    assert len(pieces) == 6
    # TPC-C is searched instead of a load that hardly waits, and the verdict stays.
    busy = Cases((ours, case(trace("tpc_c"), baseline=row(waiting=2000.0), rr_speed=row(write=1000.0))), ())
    claim = next(regions.with_regions(Setting(full=True), speed.hadoop_claims(Cases((ours,), ())), busy))
    assert (asked[-1], claim.verdict) == (("tpc_c", "hadoop"), "direction only")
    assert claim.note.endswith("of whose response 66.7 % is waiting; of that of Hadoop (part) 33.3 % is)")
    long = case(trace("hadoop"), baseline=row(waiting=1600.0), rr_speed=row(write=1500.0, waiting=500.0))
    [*regions.with_regions(Setting(full=True), speed.hadoop_claims(Cases((long,), ())), Cases((long, *busy.real[1:]), ()))]
    assert asked[-2:] == [("hadoop", "hadoop"), ("hadoop", "queueing")]
    assert len([*regions.with_regions(Setting(), speed.hadoop_claims(found), found)]) == 2


def test_eight_times_has_a_map_of_how_busy_the_drive_is(monkeypatch):
    shares = []

    def pressed(setting, throughputs, share, seeds):
        shares.append(share)
        faster = with_encoders((2.0, 1.5, 1.0, 1.0, 1.0, 1.0), (9.0, 8.0, 6.0, 4.0, 2.0, 1.0))
        return codes.Pressed(Cases((faster,), ()), {})

    monkeypatch.setattr(regions, "run_compressed", pressed)
    monkeypatch.setattr(regions, "throughputs_of", lambda setting: THROUGHPUTS)
    found = regions.encoders(Setting(full=True))
    assert (shares, len(found.rows), len(found.plausible)) == ([0.01, 0.03, 0.1, 0.3], 12, 12)
    missed = Cases((with_encoders((1.0,) * 6, (9.0, 8.0, 6.0, 4.0, 2.0, 1.0)),), ())
    pieces = [*regions.with_encoders(Setting(full=True), codes.needed_claims(missed, THROUGHPUTS, "at recorded speed", "why"))]
    settled = next(each for each in pieces if isinstance(each, Claim) and each.value == codes.LESS)
    assert settled.verdict == "holds if"
    assert [type(each) for each in pieces[-2:]] == [Picture, Table]


def test_the_usual_values_of_what_is_assumed_are_those_of_the_drive():
    usual = ssdlab.describe(SPEED)
    for each in assumed.ASSUMED:
        given = each.fields(each.usual)
        if "precondition" not in given:
            assert ssdlab.describe(SPEED, set=given) == usual, each.title
            for value in each.values:
                ssdlab.describe(SPEED, set=each.fields(value))


def test_the_sensitivity_of_the_speed_up(rsrch):
    chosen = [each for each in assumed.ASSUMED if each.title in ("transfer rate [MT/s]", "writes of parts of pages")]
    found = assumed.gain_sensitivity(QUICK, [rsrch], chosen, draws=8, length=300)
    assert 1.0 < found.usual.mean < 4.0
    slow, fast = found.ends[0]
    # A slow bus takes the same from both.
    assert slow.mean < fast.mean
    assert found.claim(work=runs.WORK, where="FACTS 2").verdict == "shown"
    assert assumed.loads_of(Cases((case(trace("tpc_c")), case(trace("rsrch_1")), case(trace("vm"))), ()))[0].name == "rsrch_1"
