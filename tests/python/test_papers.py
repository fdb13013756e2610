"""Published experiments."""

from __future__ import annotations

import json

import pytest

import ssdlab_papers as papers
from ssdlab import cell

pytestmark = pytest.mark.slow

#: Conditions at which cells are drawn one by one: step, cycles, age, and other fields.
POINTS = (
    (0.20, 10_000, "0h", {}),
    (0.20, 10_000, "87660h", {}),
    (0.40, 10_000, "4d", {}),
    (0.30, 20_000, "1d", {}),
    (0.30, 10_000, "30d", {"neighbourhood": "even_odd"}),
)


@pytest.fixture(scope="module")
def entries():
    return [*papers.run("cell", quick=True)]


def test_nothing_that_is_published_is_missed(entries):
    assert [entry.what for entry in entries if entry.verdict == "missed"] == []
    assert sum(entry.verdict == "met" for entry in entries) >= 70


def test_every_work_has_its_entries(entries):
    assert {entry.work for entry in entries} == {
        "OFWAR",
        "retention relaxation",
        "autoFTL / DPES",
        "AGCR",
        "SSDExplorer thesis",
    }
    assert all(entry.where and entry.published and entry.shown for entry in entries)


def test_what_one_sensing_corrects_is_enclosed(entries):
    # With more points of wear and twice the codewords the limit is 6.45e-3; with fewer it errs on the safe side.
    (limit,) = [entry.ours for entry in entries if entry.where.startswith("CBER")]
    assert limit == pytest.approx(6.45e-3, rel=0.06)


def test_sensing_finer_corrects_more():
    # At this wear a hard decision fails for every codeword, and seven references for hardly any.
    on = {"cell": "ofwar-mlc", "step": 0.3, "age": "30d", "pe": 29_638}
    measured = cell.code("ldpc-448B/4KiB", **on, soft_levels=3, frames=1_024)
    lost = [level.points[0].failed / level.points[0].frames for level in measured.soft]
    assert lost[0] == 1.0
    assert 0.25 < lost[1] < 0.5
    assert lost[1] > 10 * lost[2] > 10 * lost[3]
    assert lost[3] < 0.003


@pytest.mark.parametrize(("step", "pe", "age", "more"), POINTS)
def test_a_hundred_million_cells_agree_with_the_densities(step, pe, age, more):
    drawn = cell.monte_carlo("ofwar-mlc", 100_000_000, step=step, pe=pe, age=age, **more)
    assert all(abs(z) < 3.5 for z in drawn.z.values()), drawn


def test_the_command_lists_and_refuses(cli):
    assert "cell" in cli("paper").stdout
    wrong = cli("paper", "cel")
    assert wrong.returncode == 2
    assert "did you mean `cell`?" in wrong.stderr


def test_json_is_one_document(cli, entries):
    assert json.loads(cli("paper", "--json").stdout)["experiments"][0]["name"] == "cell"
    text = json.dumps([entry.as_json() for entry in entries], allow_nan=False)
    assert json.loads(text)[0]["verdict"] == "met"


def test_every_comparison_shows_what_it_accepts(entries):
    assert all(entry.accepted for entry in entries if entry.verdict == "met")
