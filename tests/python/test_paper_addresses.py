"""Addresses of claims, and the one sentence on each."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import ssdlab_papers as papers
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.address import FILE, Address, address, derived, known
from ssdlab_papers.claim import Claim, number, statement, taken, untestable
from ssdlab_papers.layout import page_of, pages
from ssdlab_papers.sentence import MOST_WORDS

RESULTS = Path(__file__).parents[2] / "docs" / "results"
OUTCOMES = papers.load(RESULTS)
CLAIMS = [claim for outcome in OUTCOMES for claim in outcome.claims]
COMMON = {"work": "OFWAR", "where": "figure 99", "what": "a quantity"}
LONG = " ".join(["cause"] * 30)


def a_number(ours: float, published: float, **further) -> Claim:
    return number(Estimate(0, ours, None, None), published, 0.01 * abs(published), unit=lambda v: f"{v:g} s", **COMMON, **further)


def test_every_claim_of_the_page_is_declared_once():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len({*ids}) == len(known())
    assert {*ids} == {*known()}
    with FILE.open(newline="", encoding="utf-8") as file:
        assert sum(1 for _ in csv.DictReader(file)) == len(known())
    for claim in CLAIMS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", claim.id)
        assert known()[claim.id].experiment in {outcome.name for outcome in OUTCOMES if claim in outcome.claims}


def test_an_address_stays_when_claims_are_moved_and_scored_anew():
    before = {(claim.work, claim.where, claim.what): claim.id for claim in CLAIMS}
    for claim in reversed(CLAIMS):
        other = replace(claim, ours=claim.ours + 1.0, shown="another", note="another", headline=not claim.headline, unscored="")
        assert other.id == before[claim.work, claim.where, claim.what]


def test_the_number_of_loads_at_hand_is_no_part_of_the_address():
    where = "figure 13, section 6.1"
    ids = [
        address("OFWAR", where, f"mean response time as D_rw grows, end to end, worst of {count}")
        for count in ("1 loads", "7 loads")
    ]
    assert [each and each.id for each in ids] == ["ofwar-fig13"] * 2


def test_a_claim_that_is_not_declared_has_an_address_of_its_subject():
    assert derived("SSDExplorer, table 9.8: x", "section 5, figure 9.8a", "gain [%], A") == "ssdexplorer-fig9-8a-gain-a"
    assert a_number(1.0, 1.0).id == "ofwar-fig99-a-quantity"


def test_each_claim_has_its_address_on_its_page_and_in_the_scoreboard():
    scores = json.loads((RESULTS / "scoreboard.json").read_text(encoding="utf-8"))
    assert [score["id"] for score in scores] == [claim.id for claim in CLAIMS]
    for outcome in OUTCOMES:
        headings = re.findall(r"^### (\S+)$", page_of(outcome), re.MULTILINE)
        assert all(headings.count(claim.id) == 1 for claim in outcome.claims), outcome.name


def test_the_pages_of_the_repository_are_those_of_their_data():
    texts = pages(OUTCOMES)
    assert {path.name for path in RESULTS.glob("*.md")} == {*texts}
    for name, text in texts.items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text, (
            f"{name}: ssdlab_papers.save(ssdlab_papers.load(...)) writes it"
        )


@pytest.mark.parametrize("file", ["RESULTS.md", *(f"{outcome.name}.md" for outcome in OUTCOMES)])
def test_links_of_the_pages_lead_somewhere(file):
    text = (RESULTS / file).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text)
    assert links
    for name, anchor in {*links}:
        target = RESULTS / (name or file)
        assert target.is_file(), name
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, anchor


def test_every_sentence_is_short_and_says_something():
    for claim in CLAIMS:
        assert 1 < len(claim.sentence.split()) <= MOST_WORDS == 25, claim.id
        assert claim.sentence.endswith("."), claim.id
        assert claim.sentence not in ("Not testable.", "Holds.", "Does not hold."), claim.id


def test_a_declared_cause_fits_into_its_sentence():
    declared = [claim for claim in CLAIMS if known()[claim.id].because and known()[claim.id].verdict == claim.verdict]
    assert len(declared) > 40
    for claim in declared:
        assert known()[claim.id].because in claim.sentence, claim.id


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        (a_number(10.05, 10.0), "Ours is 0.5 % above the published value, within its resolution and our interval."),
        (a_number(10.0, 10.0, note="nothing is drawn"), "Ours equals the published value to its last digit: nothing is drawn."),
        (a_number(4.0, 10.0, agrees=True, note=LONG), "Points the published way, at 40 % of the published size."),
        (a_number(40.0, 10.0), "Ours is 4 times the published value."),
        (a_number(-4.0, 10.0), "Points the other way: -4 s instead of 10 s."),
        (a_number(0.01, 10.0), "Ours, 0.01 s, is next to nothing beside the published 10 s."),
        (a_number(10.0, 10.0, condition="if it rains"), "Holds if it rains."),
        (a_number(10.0, 10.0, condition="rain"), "Holds on a condition: rain."),
        (a_number(10.0, 10.0, condition=LONG), "Holds on a condition that the work does not state."),
        (
            a_number(1.0, 10.0, region="in 3 of 60 plausible settings: channels 2 to 8"),
            "Ours at the stated setting is 1 s; the published value comes out in 3 of 60 plausible settings.",
        ),
        (statement(0.9, "it falls (A, B)", published="falls", high=1.0, **COMMON), "Holds; ours is it falls (A, B)."),
        (
            statement(1.2, "least on any: A -1 %; B -2 %; C -3 %", published="falls", high=1.0, **COMMON),
            "Does not hold; the number that decides is 1.2, accepted to 1.",
        ),
        (untestable(published="2", note="its input is lost", **COMMON), "Not testable: its input is lost."),
        (taken(estimate([2.0]), published="2", unit=str, note=LONG, **COMMON), "A parameter of the model, not a result."),
        (
            number(estimate([-0.1, -0.9]), -0.4, 0.01, unit=str, **COMMON),
            "Not testable, since the seeds spread more than the value.",
        ),
    ],
)
def test_a_sentence_follows_from_the_numbers(claim, sentence):
    assert claim.sentence == sentence


def test_a_cause_holds_for_the_verdict_for_which_it_was_written(monkeypatch):
    given = {"experiment": "ofwar", "section": "", "seconds": 1, "work": "OFWAR", "where": "figure 99", "claim": "a quantity"}
    declared = Address(id="ofwar-fig99", **given, verdict="differs", because="few writes wait")
    monkeypatch.setattr("ssdlab_papers.claim.address", lambda *_: declared)
    assert a_number(40.0, 10.0).sentence == "Ours is 4 times the published value: few writes wait."
    assert "few writes wait" not in a_number(10.0, 10.0).sentence
