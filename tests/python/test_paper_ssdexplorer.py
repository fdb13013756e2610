"""The experiments of the SSDExplorer thesis, and the verdicts of published claims."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

import ssdlab
from conftest import wrong
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import CLAIM_VERDICTS, Claim, number, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.layout import first_page
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer import architectures, depth, retry, soft, translation
from ssdlab_papers.ssdexplorer.runs import SPECS, run_sweep
from ssdlab_papers.sweeps import Points, curve

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
