"""The experiments of the SSDExplorer thesis, and the verdicts of published claims."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

import ssdlab
from conftest import wrong
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.address import address, known
from ssdlab_papers.claim import CLAIM_VERDICTS, Claim, number, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.layout import first_page
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer import architectures, depth, readings, retry, soft, translation
from ssdlab_papers.ssdexplorer.runs import SPECS, run_sweep
from ssdlab_papers.sweeps import Points, Sample, curve

WHAT = {"work": "a work", "where": "figure 1", "what": "a quantity"}


def a_number(ours: float, half: float, published: float = 100.0, **further: object) -> Claim:
    found = Estimate(5, ours, ours - half, ours + half)
    return number(found, published, 0.5, unit=lambda value: f"{value:g}", **WHAT, **further)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (a_number(100.4, 0.0), "reproduced"),
        (a_number(101.0, 0.0), "differs"),
        (a_number(101.0, 0.0, agrees=True), "direction only"),
        # The interval of ours widens the range on both sides.
        (a_number(101.0, 0.6), "reproduced"),
        (a_number(98.0, 0.6), "differs"),
        # A range that is wider than the value decides nothing.
        (a_number(101.0, 50.0), "not testable"),
        (a_number(300.0, 50.0), "differs"),
        (a_number(101.0, 0.0, region="on Mars"), "holds if"),
        (a_number(100.0, 0.0, region="on Mars"), "reproduced"),
        (a_number(100.0, 0.0, condition="a fitted bus"), "holds if"),
        (a_number(101.0, 0.0, condition="a fitted bus"), "differs"),
        (a_number(100.0, 0.0, unscored="input"), "input"),
        (statement(0.0, "none", published="none", high=0.0, **WHAT), "reproduced"),
        (statement(1.0, "one", published="none", high=0.0, **WHAT), "differs"),
        # Without a bound, nothing can fail.
        (statement(1.0, "one", published="something", **WHAT), "not testable"),
    ],
)
def test_the_verdict_follows_from_the_range(claim, verdict):
    assert claim.verdict == verdict
    assert claim.as_json()["verdict"] == verdict
    assert verdict in CLAIM_VERDICTS


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return Setting(quick=True, runs=tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def table_2_1(runs):
    return [*architectures.entries(runs, architectures.ten(runs))]


def test_the_ten_architectures(table_2_1):
    claims = {claim.what: claim for claim in table_2_1 if isinstance(claim, Claim)}
    saturated = claims["architectures that saturate SATA II with caching: how many differ from the thesis"]
    assert (saturated.verdict, saturated.shown.split(";")[0]) == ("holds if", "C6, C8, C10")
    cheapest = claims["resource cost of C6 over the cheapest of the others that saturate SATA II"]
    assert (cheapest.verdict, cheapest.region) == ("holds if", "a channel with its buffer costs more than 16 dies")
    assert claims["SATA II without caching: bandwidth of the best architecture over that of C1"].verdict == "reproduced"
    (table,) = [each for each in table_2_1 if isinstance(each, Table)]
    assert len(table.rows) == 20
    assert [picture.name for picture in table_2_1 if isinstance(picture, Picture)] == [
        "ssdexplorer-figure-2-1",
        "ssdexplorer-figure-2-2",
    ]


def test_a_wrong_value_fails_on_each_side(table_2_1, runs):
    scored = [each for each in [*table_2_1, *translation.entries(runs)] if isinstance(each, Claim) and not each.unscored]
    assert len(scored) >= 12
    for claim in scored:
        beyond = [*wrong(claim)]
        assert beyond, f"{claim.what}: cannot fail"
        for each in beyond:
            missed = dataclasses.replace(each, agrees=False, region="")
            assert missed.verdict == "differs", f"{claim.what}: {each.ours}"


def test_an_outcome_of_claims_has_their_verdicts(table_2_1):
    claims = tuple(each for each in table_2_1 if isinstance(each, Claim))
    outcome = Outcome(name="ssdexplorer", summary="architectures", quick=True, entries=claims)
    assert set(outcome.counts) == set(CLAIM_VERDICTS) - {"sanity"}
    assert sum(outcome.counts.values()) == len(claims)
    page = first_page([dataclasses.replace(outcome, pictures=())])
    assert "| experiment | what | reproduced |" in page
    assert "met | missed" not in page
    document = outcome.as_json()
    assert {"seeds", "interval", "load", "condition"} <= document["entries"][0].keys()


def test_sweeps_of_experiments_are_taken_up(runs, table_2_1):
    told = []
    again = run_sweep(dataclasses.replace(runs, progress=lambda share, text: told.append(text)), "links", keep_length=True)
    assert told == []
    assert isinstance(again, Points)
    with pytest.raises(LookupError, match="several points"):
        again.at({"drive": "explorer-c1"})
    with pytest.raises(LookupError, match="no point"):
        again.at({"drive": "explorer-c11"})


def test_every_specification_is_one_of_a_sweep_or_a_search():
    names = sorted(path.name for path in SPECS.glob("*.toml"))
    assert len(names) >= 14
    for name in names:
        text = (SPECS / name).read_text()
        if "seeds" in text or "search" in text:
            spec = ssdlab.Spec.open(SPECS / name)
            spec.check_for("optimise" if "search" in tomllib.loads(text) else "sweep")
        else:
            ssdlab.check(SPECS / name)


def test_the_tables_of_the_thesis_are_whole():
    for quantity in soft._QUANTITIES:
        assert {host for _, host in quantity.published} == {"consumer", "enterprise"}
        assert [len(values) for values in quantity.published.values()] == [8] * 8
    # Reads obey depth = bandwidth x latency (THESIS 4): a mistyped number would not.
    for host, queue in (("consumer", 64), ("enterprise", 256)):
        for sample in range(4):
            kiops, us = (table["100% read", host][2 * sample] for table in (soft._TABLE_2_8, soft._TABLE_2_9))
            assert kiops * us / 1000 == pytest.approx(queue, rel=0.03)


def mixes(**latency) -> soft._Both:
    """Returns runs of every cell, with the same numbers in all of them."""
    common = {"status": "ok", "seed": 1, "throughput.iops": 1e5, "latency.all.mean_ns": 5e5, "latency.all.p99_99_ns": 5e6}
    rows = [
        {**common, **soft._at(load, host, sample, plan)}
        for load, host in soft._TABLE_2_8
        for sample in "ABCD"
        for plan in ("soft", "nasd")
    ]
    points = Points.__new__(Points)
    points.rows = [{"workload": "reads.fio", **row, **latency} for row in rows]
    reads, mixed = Points.__new__(Points), Points.__new__(Points)
    reads.rows = [row for row in points.rows if row["workload"] == "reads.fio"]
    mixed.rows = [row for row in points.rows if row["workload"] != "reads.fio"]
    return soft._Both(reads, mixed)


def test_a_reading_is_as_far_off_as_its_runs_are(monkeypatch):
    published = {
        (f"ldpc-{sample.lower()}", mix): [soft.published(table, mix, "enterprise", sample) for table in ("2.8", "2.9", "2.10")]
        for mix in readings.MIXES
        for sample in soft.SAMPLES
    }

    def runs(_setting, _name, points, **_further):
        found = []
        for point in points:
            mix = next(mix for mix in readings.MIXES if point["workload"].endswith(f"{mix.lower()}.fio"))
            (kiops, _), (us, _), (tail, gain) = published[point["drive"], mix]
            tail *= 1.0 if point["ecc.plan.kind"] == "soft" else 1.0 - gain / 100.0
            row = {"throughput.iops": 1e3 * kiops, "latency.all.mean_ns": 2e3 * us, "latency.all.p99_99_ns": 3e6 * tail}
            found.append(Sample({1: row}))
        return found

    monkeypatch.setattr(readings, "samples", runs)
    *shown, table = readings.entries(Setting())
    assert len(shown) == len(readings.READINGS) * len(readings.MIXES)
    assert shown[0].shown == (
        "tails 162/106/95/136 ms, gains 28/34/23/22 %; factors off 1.00 in bandwidth, 2.00 in mean latency, 3.0 in the tail; "
        "outstanding 164.7 % to 172.4 % of the depth"
    )
    assert len(table.rows) == 4 * len(shown)
    # The fields of a reading reach the drive.
    points = [readings._point(each, "MSN", "A", "soft") for each in readings.READINGS]
    assert len({str(point) for point in points}) == len(points)
    for point in points:
        drive = {name: value for name, value in point.items() if not name.startswith(("drive", "workload", "options"))}
        ssdlab.check(point["drive"], set=drive)


def cells_of(table: str) -> dict[str, Claim]:
    (quantity,) = (each for each in soft._QUANTITIES if each.table == table)
    return {claim.what: claim for claim in soft._cells(quantity, mixes())}


def test_cells_that_no_full_queue_can_have_contradict_themselves():
    apart = {
        claim.what for table in ("2.8", "2.9") for claim in cells_of(table).values() if claim.verdict == "contradicts itself"
    }
    of_msn = {what for what in cells_of("2.8") if what.startswith("MSN")}
    assert apart == of_msn
    assert len(of_msn) == 16
    claim = cells_of("2.9")["MSN, enterprise host, sample A: gain by NASD"]
    assert "142 kIOPS x 1485 us = 210.9 commands outstanding, 82.4 % of the stated depth of 256" in claim.note
    assert "would save 3.98 % of the latency at a constant depth, table 2.9 has 0.57 %" in claim.note
    # A percentile has no part in the arithmetic: it is scored, with a word on its run.
    tails = cells_of("2.10")
    assert {claim.verdict for claim in tails.values()} == {"differs"}
    assert {what for what, claim in tails.items() if "contradict its depth" in claim.note} == of_msn


def test_a_cell_contradicts_itself_by_its_numbers_and_not_by_its_name(monkeypatch):
    reads = soft.Cell("100% read", "consumer", "A")
    assert reads.outstanding == pytest.approx((204 * 312 / 64e3, 203.5 * 311.5 / 64e3, 204.5 * 312.5 / 64e3))
    assert not reads.contradicts_itself
    for latency, contradicts in ((296, True), (299, False), (313, False), (316, True)):
        row = (latency, *soft._TABLE_2_9["100% read", "consumer"][1:])
        monkeypatch.setitem(soft._TABLE_2_9, ("100% read", "consumer"), row)
        assert reads.contradicts_itself == contradicts, latency
    with monkeypatch.context() as changed:
        changed.setitem(soft._TABLE_2_9, ("MSN", "consumer"), (440, 4.6, *soft._TABLE_2_9["MSN", "consumer"][2:]))
        assert not soft.Cell("MSN", "consumer", "A").contradicts_itself


def test_a_miss_of_the_bandwidth_counts_once():
    assert {claim.verdict for claim in cells_of("2.9").values()} == {"contradicts itself", "derived", "input"}
    latency = cells_of("2.9")["Exchange, enterprise host, sample A: SD"]
    assert (latency.verdict, latency.note) == (
        "derived",
        "depth / bandwidth of table 2.8: 256 / 171 kIOPS = 1497 us; table 2.9 has 1465 us",
    )
    # The latency at a fitted bandwidth is no result either.
    fitted = {f"{load}, {host} host, sample {sample}: SD" for load, host, sample in soft._FITTED}
    assert {what for what, claim in cells_of("2.8").items() if claim.verdict == "input"} == fitted
    assert {what for what, claim in cells_of("2.9").items() if claim.verdict == "input"} == fitted


def test_a_gain_of_latency_is_scored_if_it_does_not_follow_from_that_of_bandwidth(monkeypatch):
    cell = soft.Cell("Exchange", "enterprise", "A")
    assert cell.implied_gain == pytest.approx(100 * (1 - 1 / 1.0247))
    for saved, follows in ((3.3, True), (3.5, False), (1.45, True), (1.4, False)):
        row = (1465, saved, *soft._TABLE_2_9["Exchange", "enterprise"][2:])
        monkeypatch.setitem(soft._TABLE_2_9, ("Exchange", "enterprise"), row)
        assert bool(cell.follows("gain by NASD")) == follows
        assert (cells_of("2.9")["Exchange, enterprise host, sample A: gain by NASD"].verdict == "derived") == follows


def test_the_time_for_a_write_is_fitted_to_a_cell_that_does_not_contradict_itself():
    assert not any(soft.Cell(*each).contradicts_itself for each in soft._FITTED)
    ((load, host, sample),) = [each for each in soft._FITTED if each[0] != "100% read"]
    cycles = tomllib.loads((SPECS / "soft_mixes.toml").read_text())["set"]["controller.firmware.cycles.allocate"]
    firmware = tomllib.loads(ssdlab.check("ldpc-a"))["controller"]["firmware"]
    assert (firmware["count"], firmware["clock"]) == (8, "600MHz")
    assert f"{1e6 * cycles / 600e6 / 8:.0f} us of the drive" in soft._FITTED[load, host, sample]


def test_causes_of_contradictions_have_the_share_of_the_depth():
    declared = {each.id: each for each in known().values() if each.verdict == "contradicts itself"}
    for quantity in soft._QUANTITIES[:2]:
        for cell in soft._every_cell():
            for part in ("SD", "gain by NASD"):
                subject = f"{soft._subject(cell.load, cell.host, cell.sample)}: {part}"
                found = address(**soft._place(quantity), what=subject)
                assert (found.id in declared) == cell.contradicts_itself
                if cell.contradicts_itself:
                    assert f" {100 * cell.outstanding[0]:.0f} % of its depth" in found.because


def test_a_drop_is_interpolated_seed_by_seed():
    rates = (1e-4, 2e-3, 2.2e-3)
    rows = [
        {"status": "ok", "drive": "retry-c1", "seed": seed, "ecc.errors.rates[0]": rate, "throughput.read_bytes_per_s": value}
        for seed in (1, 2)
        for rate, value in zip(rates, (100.0, 95.0, 85.0 - seed), strict=True)
    ]
    points = Points.__new__(Points)
    points.rows = rows
    found = retry.drop_point(points, "retry-c1", 0.10)
    assert found.mean == pytest.approx((2e-3 + 2e-4 * 5 / 11 + 2e-3 + 2e-4 * 5 / 12) / 2)


FIELDS = {"work": "SSDExplorer", "seeds": 1}


def test_a_spread_that_another_decoder_has_is_a_region():
    tried = {60: (1285.0, 894.0), 70: (2012.0, 1904.0), 74: (1850.0, 2010.0), 80: (1287.0, 1686.0)}
    claim = retry.broader((0.0, 0.0), tried, (8.0, 7.5), FIELDS)
    assert (claim.verdict, claim.region) == ("holds if", "a fast Chien search up to 74 or 80 errors")
    assert "60: -0.39 us, 70: -0.11 us, 74: +0.16 us, 80: +0.40 us" in claim.note
    # Less than 1 % of a spread is no broadening, in the region and in the claim.
    assert retry.broader((2000.0, 2019.0), {74: (2000.0, 2019.0)}, (0.0, 0.0), FIELDS).verdict == "differs"
    assert retry.broader((2000.0, 2020.0), {74: (2000.0, 2020.0)}, (0.0, 0.0), FIELDS).verdict == "reproduced"


def test_a_value_of_the_data_sheet_comes_out_at_the_settings_within_the_published_error():
    reads = {"33 words": 250.3, "34 words": 249.8, "35 words": 248.8}
    claim = translation.of_data_sheet("SR", 278.7, reads, FIELDS)
    assert (claim.verdict, claim.region) == ("holds if", "a handshake of 34 words for each FIS")
    assert "33 words 250.3 MB/s, 34 words 249.8 MB/s, 35 words 248.8 MB/s" in claim.note
    assert translation.of_data_sheet("SR", 278.7, {"35 words": 248.8}, FIELDS).verdict == "differs"
    assert translation.of_data_sheet("SR", 250.2, {"34 words": 249.8}, FIELDS).is_met
    writes = {"1000us and 34 words": 179.5, "1200us and 34 words": 156.8}
    assert translation.of_data_sheet("SW", 283.0, writes, FIELDS).region.endswith("tPROG and handshake of 1000us and 34 words")
    # The search of the full form is done for a claim that has no region yet.
    searched = translation.of_data_sheet("SW", 283.0, writes, FIELDS, is_searched=True)
    assert (searched.verdict, "1000us and 34 words 179.5 MB/s" in searched.note) == ("differs", True)


def test_a_drive_behind_a_link_is_not_compared_with_a_line_over_one_without():
    def points(*drives: str) -> Points:
        found = Points.__new__(Points)
        common = {"status": "ok", "throughput.read_bytes_per_s": 1e8, "reliability.retries": 0, "commands.read": 1}
        rates = (1e-4, 2.15e-3)
        found.rows = [
            {**common, "drive": drive, "seed": seed, "ecc.errors.rates[0]": rate}
            for drive in drives
            for rate in rates
            for seed in (1, 2)
        ]
        return found

    behind = ("retry-c3", "retry-c4")
    claims = {claim.what: claim.verdict for claim in retry._link(points(*behind), points(*behind))}
    assert sorted(claims.values()) == ["input", "not comparable", "not comparable"]


def test_a_curve_has_the_bounds_of_its_estimates():
    found = [Estimate(3, 1.0, 0.0, 2.0), Estimate(1, 5.0, None, None)]
    saved = curve("saved", [1.0, 2.0], found, -100.0)
    assert (saved.y, saved.low, saved.high) == ([-100.0, -500.0], [-200.0, -500.0], [0.0, -500.0])


@pytest.mark.slow
def test_the_depth_of_the_queue(runs):
    claims = {claim.what: claim for claim in depth.entries(runs) if isinstance(claim, Claim)}
    alone = claims["depths that meet 300 kIOPS and 2 ms at 99.99 %: how many differ from the thesis"]
    assert alone.verdict == "holds if"
    assert "200MT/s" in alone.condition
    assert "400MT/s" in alone.condition.partition("not of")[2]
    blocked = claims["99.99th percentile at depth 256 with head-of-line blocking"]
    assert blocked.ours < 2.0
