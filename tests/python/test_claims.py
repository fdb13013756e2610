"""Claims with verdicts: ranges that can fail, what real traces and look-alikes say, and the scoreboard."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import ssdlab_papers as papers
from conftest import wrong
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers import Outcome
from ssdlab_papers.claim import (
    SCORED_VERDICTS,
    Claim,
    falls,
    number,
    on_loads,
    rises,
    sanity,
    set_apart,
    statement,
    taken,
    untestable,
)
from ssdlab_papers.layout import first_page, page_of
from ssdlab_papers.page import save

RESULTS = Path(__file__).parents[2] / "docs"
PACKAGE = Path(papers.__file__).parent
WORKS = ("ofwar", "ssdexplorer")
KEYS = [
    "id", "work", "claim", "where", "published", "ours", "low", "high", "seeds", "load", "real_trace", "verdict", "sentence",
    "reason",
]  # fmt: skip
COMMON = {"work": "OFWAR", "where": "figure 9", "what": "deviation"}


def percent(value: float) -> str:
    return f"{100 * value:+.1f} %"


def claimed() -> list[Claim]:
    """Returns claims of each form."""
    found = estimate([-0.38, -0.41, -0.40])
    return [
        number(found, -0.399, 0.0005, unit=percent, agrees=True, **COMMON),
        number(Estimate(0, 16.2, None, None), 16.0, 0.5, unit=str, **COMMON),
        on_loads(found, None, -0.399, 0.0005, unit=percent, load="IOzone", agrees=lambda value: value < 0, **COMMON),
        statement(0.9, "falls", published="falls", high=1.0, **COMMON),
        statement(0.0, "none", published="none", low=0.0, high=0.0, **COMMON),
    ]


@pytest.mark.parametrize("claim", claimed(), ids=lambda claim: f"{claim.published}")
def test_a_value_beyond_the_range_is_a_miss(claim):
    assert claim.is_met
    beyond = [*wrong(claim)]
    assert beyond
    assert not any(each.is_met for each in beyond)
    assert all(each.verdict in ("direction only", "differs") for each in beyond)


@pytest.mark.parametrize(
    "path", [each for work in WORKS for each in sorted((PACKAGE / work).rglob("*.py"))] + [PACKAGE / "cell.py"]
)
def test_the_sign_of_a_change_has_one_threshold(path):
    # A comparison with 0 or 1 accepts any change, however small, as a rise or a fall.
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if re.search(r"agrees=.*[<>]=? *[01](\.0)?(?![\d.])", line)]
    found += [line for line in lines if re.search(r"\b(low|high)=(1\.0 *[-+] *)?-?1e-[4-9]", line)]
    found += [line for line in lines if re.search(r"nextafter\([01](\.0)?,", line)]
    assert found == [], "rises and falls of ssdlab_papers.claim have the threshold"


def test_the_range_is_the_resolution_and_half_of_the_interval():
    found = estimate([-0.38, -0.41, -0.40])
    half = (found.high - found.low) / 2
    claim = number(found, -0.399, 0.0005, unit=percent, **COMMON)
    assert (claim.low, claim.high) == pytest.approx((-0.399 - 0.0005 - half, -0.399 + 0.0005 + half))
    assert claim.shown == f"{percent(found.mean)} ± {percent(half).lstrip('+')}"


def test_a_range_wider_than_the_value_reproduces_nothing():
    wide = estimate([-0.1, -0.9])
    claim = number(wide, -0.4, 0.01, unit=percent, **COMMON)
    assert claim.is_met
    assert claim.verdict == "not testable"


def test_real_traces_lead_and_an_unfaithful_look_alike_is_said():
    real, alike = estimate([-0.40, -0.41]), estimate([0.10, 0.11])
    common = {**COMMON, "unit": percent, "load": "IOzone", "agrees": lambda value: value < 0}
    both = on_loads(real, alike, -0.399, 0.0005, **common)
    assert (both.ours, both.real_trace, both.verdict) == (real.mean, True, "reproduced")
    assert "unfaithful" in both.note
    assert both.alike.startswith("+10.5 %")
    alone = on_loads(None, alike, -0.399, 0.0005, **common)
    assert (alone.real_trace, alone.verdict) == (False, "differs")
    assert "look-alikes only" in alone.note
    close = on_loads(real, estimate([-0.39, -0.41]), -0.399, 0.0005, **common)
    assert "unfaithful" not in close.note


def outcome(*claims: Claim, full: bool = True) -> Outcome:
    return Outcome(name="ofwar", summary="OFWAR", quick=False, full=full, entries=claims)


def test_the_scoreboard_has_every_claim_and_the_page_the_headlines(tmp_path):
    first, *others = claimed()
    shown = replace(first, unscored="shown")
    lost = untestable(work="OFWAR", where="figure 12", what="bars", published="lost", note="its input is lost")
    given = taken(estimate([2.0]), work="OFWAR", where="table 1", what="input", published="2", unit=str, note="an input")
    all_of_them = (replace(first, headline=True, note="because"), *others, shown, lost, given)
    folder = save([outcome(*all_of_them)], tmp_path / "results")
    scores = json.loads((folder / "scoreboard.json").read_text())
    assert [list(score) for score in scores] == [KEYS] * (len(all_of_them) - 1)
    assert {score["verdict"] for score in scores} <= {*SCORED_VERDICTS}
    assert (scores[0]["published"], scores[0]["low"] <= -0.399 <= scores[0]["high"], scores[0]["reason"]) == (
        -0.399,
        True,
        "because",
    )
    assert scores[-2]["ours"] is None
    text = first_page([outcome(*all_of_them)])
    assert "Provisional" not in text
    head = text[text.index("## OFWAR") : text.index("## All claims")]
    assert head.count("because") == 1
    assert head.count("| [deviation](ofwar.md#ofwar-fig9-deviation) |") == 1
    assert "| OFWAR | 5 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 1 |" in text
    assert "seeds were run, mostly two" in first_page([outcome(*all_of_them, full=False)])
    page = page_of(outcome(*all_of_them))
    assert page.count("### ofwar-fig9-deviation\n") == len(claimed())
    assert "- why: its input is lost" in page


def test_a_claim_that_cannot_fail_is_on_its_page_and_in_no_count(tmp_path):
    first, *others = claimed()
    idle = sanity(replace(first, note="a part"), "no write is fast")
    assert (idle.verdict, idle.note) == ("sanity", "cannot fail: no write is fast; a part")
    missed = replace(first, ours=0.0)
    assert sanity(missed, "no write is fast") is missed
    found = outcome(idle, *others)
    assert sum(found.counts.values()) == len(others)
    assert {score["verdict"] for score in map(Claim.as_score, found.claims)} == {"sanity", "reproduced"}
    text = first_page([outcome(replace(idle, headline=True), *others)])
    assert "| OFWAR | 4 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in text
    assert "Cannot fail here, and is not counted" in page_of(found)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("contradicts itself", "The work's own numbers exclude each other: 3 of 4 are 5."),
        ("not comparable", "Not comparable with ours: 3 of 4 are 5."),
        ("derived", "Follows from another published row, which is scored: 3 of 4 are 5."),
    ],
)
def test_a_verdict_that_does_not_follow_from_the_numbers_has_its_reason(verdict, said):
    apart = set_apart(claimed()[0], verdict, "3 of 4 are 5")
    assert (apart.verdict, apart.sentence) == (verdict, said)
    with pytest.raises(AssertionError):
        set_apart(claimed()[0], "reproduced", "a verdict that the numbers give")


def test_a_change_of_less_than_a_point_is_none():
    assert [rises(0.01), rises(0.0099), falls(-0.01), falls(-0.0099)] == [True, False, True, False]


def test_values_without_claims_have_no_scoreboard(tmp_path):
    shown = replace(claimed()[0], unscored="shown")
    folder = save([outcome(shown)], tmp_path / "results")
    assert not (folder / "scoreboard.json").exists()


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*/scoreboard.json")), ids=lambda file: file.parent.name)
def test_each_committed_claim_has_a_verdict_that_follows_from_its_numbers(file):
    scores = json.loads(file.read_text())
    assert scores
    for score in scores:
        assert list(score) == KEYS
        low, high, ours = score["low"], score["high"], score["ours"]
        within = ours is not None and (low is None or low <= ours) and (high is None or ours <= high)
        if score["verdict"] in ("reproduced", "direction only", "differs"):
            assert (low, high) != (None, None), score
            assert within == (score["verdict"] == "reproduced"), score
        if score["verdict"] == "reproduced" and None not in (low, high):
            assert high - low <= abs(high + low) / 2 or high == low, score
        if isinstance(score["published"], float | int) and low is not None and high is not None:
            assert low <= score["published"] <= high, score
        if score["verdict"] in SCORED_VERDICTS[SCORED_VERDICTS.index("differs") + 1 :] or score["verdict"] == "holds if":
            assert score["reason"], score


def test_the_forms_reach_the_setting(monkeypatch):
    seen = []

    def watching(setting):
        """Watches."""
        seen.append(setting.seeds)
        yield claimed()[0]

    monkeypatch.setitem(papers.EXPERIMENTS, "watching", watching)
    assert papers.run("watching", full=True).full
    papers.run("watching")
    papers.run("watching", quick=True)
    assert seen == [5, 2, 1]
