"""The retention relaxation experiment: exact tests of its helpers, and its pieces that take only seconds."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace

import pytest

import ssdlab
from ssdlab.traces import retention, trace_info
from ssdlab_papers.retention import codes, lifetimes, loads, queueing, wear, weeks
from ssdlab_papers.retention.runs import CODES, SPEED, Gain, Run, run, written_down
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Traces

pytestmark = pytest.mark.slow

WEEK = 7 * 86_400


@pytest.fixture
def rsrch():
    load = Traces().load("rsrch_1")
    assert load is not None
    return load


def measured(**fields) -> Run:
    """A run with made-up numbers."""
    numbers = {
        "writes": 100,
        "write_ns": 3000.0,
        "mean_ns": 3000.0,
        "waiting_ns": 1000.0,
        "encoding_ns": 0.0,
        "host": 1000,
        "reprogrammed": 0,
        "collected": 0,
        "erases": 0,
        "writing": 0.1,
        "encoder": 0.0,
        "bytes_per_s": 1e6,
        "misses": 0,
        "saturated": False,
    }
    return Run(**(numbers | fields))


def test_a_gain_is_taken_to_the_baseline():
    gain = Gain(measured(), measured(write_ns=1000.0, waiting_ns=200.0, reprogrammed=250))
    assert (gain.speed_up, gain.queueing, gain.run.overhead, gain.is_queued) == (3.0, 5.0, 0.25, False)
    assert Gain(measured(waiting_ns=1600.0), measured()).is_queued
    empty = measured(write_ns=0.0, waiting_ns=0.0, host=0)
    assert (Gain(empty, empty).speed_up, Gain(empty, empty).queueing, empty.overhead) == (1.0, 1.0, 0.0)


def test_what_a_run_takes_from_the_summary():
    job = {"name": "w", "pattern": "random", "read_share": 0.0, "depth": 1, "requests": 50}
    summary = ssdlab.run(CODES, {"kind": "synthetic", "job": [job]}, "bch_ldpc", precondition="none").summary
    found = Run.from_summary(summary)
    # 4 KiB at 20 MB/s; a single command does not wait.
    assert (found.writes, found.host, found.encoding_ns, found.waiting_ns) == (50, 50, 204_800.0, 0.0)
    assert found.encoder == pytest.approx(204_800 / found.write_ns)
    assert found.write_ns == summary["latency"]["write"]["mean_ns"]


def test_weeks_of_a_look_alike(rsrch):
    model = tomllib.loads(loads.weeks_of(rsrch).text or "")
    assert (model["runtime"], model["ramp_time"]) == (f"{4 * WEEK}000000000ns", f"{2 * WEEK}000000000ns")
    assert (model["speed"], model["requests"]) == (1.0, 10**9)
    fast = tomllib.loads(loads.weeks_of(rsrch, 1000.0, count=1, dropped=0).text or "")
    assert (fast["runtime"], fast["ramp_time"], fast["speed"]) == (f"{WEEK}000000ns", "0ns", 1000.0)


def test_weeks_of_a_trace_are_passes(rsrch, tmp_path):
    path = tmp_path / "prxy_0.csv"
    start = 128_166_372_000_000_000
    rows = [f"{start + 864_000_000_000 * day},host,0,Write,{8192 * day},8192,1" for day in range(6)]
    path.write_text("\n".join(rows) + "\n")
    load = Traces(tmp_path).find("prxy_0")
    assert load is not None
    assert loads.span_ns(load) == 5 * 86_400 * 10**9
    workload = loads.weeks_of(load)
    assert (workload.repeat, workload.ramp_time, workload.address) == (6, f"{2 * WEEK}000000000ns", "compact")
    assert not loads.of_the_work(load)
    assert loads.of_the_work(replace(load, differences=()))
    assert not loads.of_the_work(rsrch)
    assert weeks._repeats(load).startswith("repeated every 5.0 days")
    assert weeks._repeats(rsrch) == ""
    assert loads.weekly(Setting(traces=Traces(tmp_path))) == [load]
    assert "not the whole trace" in loads.note_of(load)
    # A file that is too short for runs of weeks is not used; stand-ins take its place.
    path.write_text(f"{rows[0]}\n{rows[0].replace(str(start), str(start + 10**7))}\n")
    assert [each.name for each in loads.weekly(Setting(traces=Traces(tmp_path)))] == ["rsrch_1", "wdev_1", "game"]


def test_heavy_traces_are_cut_where_they_would_be_run_again_and_again(rsrch):
    heavy = replace(rsrch, requests=loads.MANY + 1, known=replace(rsrch.known, name="prn_0"), is_trace=True)
    assert (loads.is_light(rsrch), loads.is_light(heavy)) == (True, False)
    assert loads.weeks_or_part(heavy).max_requests == loads.MANY
    assert "ramp_time" in (loads.weeks_or_part(rsrch).text or "")
    assert loads.of_the_work(heavy)
    assert codes._near_at_20(heavy, 1.2, 1.1).accepted == "0 to 1.1"
    assert "its first 1,000,000 requests" in codes._near_at_20(heavy, 1.2, 1.1).note


def test_drives_have_the_dies_of_the_slides(rsrch):
    assert loads.shape(rsrch) == {}
    for name, dies in loads.DIES.items():
        known = replace(rsrch, known=replace(rsrch.known, name=name))
        full = ssdlab.describe(SPEED, set=loads.shape(replace(known, is_trace=True)))
        small = ssdlab.describe(SPEED, set=loads.shape(known))
        assert full["physical_bytes"] == dies * (8 << 30)
        assert (small["physical_bytes"], small["dies_working_at_once"]) == (16 * (8 << 30), dies)


def test_a_look_alike_written_down_is_what_it_plays(rsrch, tmp_path):
    workload = written_down(rsrch, 1, tmp_path / "week.csv")
    info = trace_info(workload)
    assert info["span_ns"] < WEEK * 10**9
    played = ssdlab.run(SPEED, loads.weeks_of(rsrch, count=1, dropped=0), precondition="none").summary
    assert (info["reads"], info["writes"]) == (played["commands"]["read"], played["commands"]["write"])
    assert info["write_bytes"] == played["throughput"]["write_bytes"]
    assert retention(workload).writes * 512 == info["write_bytes"]


def test_what_an_encoder_must_deliver():
    throughputs = (5, 10, 20, 40)
    assert codes.needed(throughputs, (9.0, 1.2, 1.04, 1.0)) == 20
    assert codes.needed(throughputs, (1.0, 1.0, 1.0, 1.0)) == 5
    assert codes.needed(throughputs, (1.0, 1.2, 1.0, 1.0)) == 20, "from there on"
    assert codes.needed(throughputs, (9.0, 9.0, 9.0, 9.0)) is None


def test_modes_by_wear_keep_what_the_control_promises():
    drive = wear.speed_drive()
    modes = {mode["name"]: mode for mode in ssdlab.describe(drive)["write_modes"]}
    assert [*modes] == ["normal", "fast", "year-0", "year-30", "year-50"]
    programs = [modes[name]["program_ns"] for name in ("fast", "year-0", "year-30", "year-50", "normal")]
    assert programs == sorted(programs)
    year = 365 * 86_400 * 10**9
    for share in wear.WEAR[:-1]:
        cycles = {"state.pe_cycles": round(share * wear.RATED) + 1}
        kept = {mode["name"]: mode["retention_ns"] for mode in ssdlab.describe(drive, set=cycles)["write_modes"]}
        assert kept[f"year-{100 * share:.0f}"] >= year, share
        assert kept["fast"] < year, share


def test_bch_alone_keeps_a_year_on_a_fresh_drive_only():
    drive = wear.codes_drive()

    def days(share: float) -> float:
        modes = ssdlab.describe(drive, set={"state.pe_cycles": round(share * wear.RATED)})["write_modes"]
        return next(mode["retention_ns"] for mode in modes if mode["name"] == "fast") / 86_400e9

    assert days(0.0) > 365
    assert days(0.03) > 365
    assert days(0.04) < 365
    assert 14 <= days(1.0) < 14.1


def test_a_gain_that_is_not_as_published_has_its_reason():
    waits = Gain(measured(write_ns=10_000.0, waiting_ns=9_000.0), measured(write_ns=1_000.0))
    assert queueing._why(waits, queueing.PUBLISHED["all"]).startswith("more than published, as 90.0 %")
    served = Gain(measured(waiting_ns=30.0), measured(write_ns=1_500.0))
    assert queueing._why(served, queueing.PUBLISHED["hadoop"]).startswith("less than published, as 1.0 %")
    assert queueing._why(served, queueing.PUBLISHED["all"]) == ""


def test_a_short_trace_sees_no_end_of_the_last_writes(tmp_path):
    # Four sectors, one of which is written three times: six writes, four of which are the last of their sectors.
    path = tmp_path / "rsrch_1.csv"
    start, week = 128_166_372_000_000_000, 7 * 86_400 * 10**7
    path.write_text("".join(f"{start + at * week // 8},h,0,Write,{512 * at * (at < 4)},512,1\n" for at in (0, 1, 2, 3, 4, 5)))
    load = Traces(tmp_path).find("rsrch_1")
    assert load is not None
    life = lifetimes.lifetimes(load, 1)
    assert (life.writes, life.unknown) == (6, 4)
    entry = lifetimes._within_a_week(load, life)
    assert entry.ours == pytest.approx(2 / 6)
    assert "sectors are written 1.50 times each" in entry.note
    assert (entry.verdict, lifetimes._so_far(load, life).shown[:13]) == ("shown", "at least 33.3")


def test_the_program_alone_is_two_times_as_fast():
    assert queueing.program_speed_up() == pytest.approx(2.31, abs=0.03)


def entries_of(pieces):
    """Returns the entries among the pieces that an experiment yields."""
    return [piece for piece in pieces if hasattr(piece, "verdict")]


def test_the_quick_pieces_miss_nothing():
    setting = Setting(quick=True)
    found = [*entries_of(lifetimes.entries(setting)), *entries_of(weeks.entries(setting))]
    assert [entry.what for entry in found if entry.verdict == "missed"] == []
    by_name = {entry.what: entry for entry in found}
    speed_up = next(entry for name, entry in by_name.items() if name.startswith("write response speed-up over 4 weeks"))
    assert 2.0 < speed_up.ours < 2.6
    assert "other workload" in speed_up.note
    within = next(entry for name, entry in by_name.items() if name.startswith("writes overwritten within a week"))
    assert (within.verdict, 0.3 < within.ours < 0.7) == ("shown", True)
    tpc_c = next(entry for name, entry in by_name.items() if "TPC-C" in name)
    assert math.isnan(tpc_c.ours)
    assert tpc_c.as_json()["ours"] is None


def test_encoders_in_their_quick_form():
    found = entries_of(codes.entries(Setting(quick=True)))
    assert [entry.what for entry in found if entry.verdict == "missed"] == []
    rival = next(entry for entry in found if entry.what.startswith("the rival's throughput over its encoder's"))
    assert rival.ours == pytest.approx(1.0, abs=0.02)
    near = next(entry for entry in found if "LDPC of 20 MB/s over the ideal's" in entry.what)
    assert near.ours == pytest.approx(1.0, abs=0.01)


def test_weeks_compressed_with_their_limits_leave_the_same_behind(rsrch):
    settings = codes._compressed(1000.0)
    usual = run(CODES, loads.weeks_of(rsrch), "rr_ecc", codes.encoder(None))
    pressed = run(CODES, loads.weeks_of(rsrch, 1000.0), "rr_ecc", {**settings, **codes.encoder(None)})
    assert pressed.host == usual.host
    assert pressed.overhead == pytest.approx(usual.overhead, rel=0.03)
    assert pressed.misses == 0
