"""`ssdlab paper claim` and `ssdlab paper claims`: one claim run alone, and the list of them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ssdlab
import ssdlab_papers as papers
from ssdlab.cli import app
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.address import known
from ssdlab_papers.claim import Claim, number
from ssdlab_papers.layout import page_of
from ssdlab_papers.ofwar import regions
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.setting import Setting

#: Sections that take less than a second.
FAST = [("cell", "ofwar"), ("cell", "thesis"), ("ofwar", "examples"), ("autoftl", "examples"), ("retention", "curves")]


def command(*arguments: str):
    return CliRunner().invoke(app, ["paper", *arguments])


def test_each_claim_names_a_section_of_its_experiment():
    sections = {name: {*of(Setting())} for name, of in papers.SECTIONS.items()}
    for claim in papers.claims():
        assert claim.section in sections[claim.experiment], claim.id
        assert claim.seconds > 0, claim.id


@pytest.mark.parametrize(("experiment", "section"), FAST)
def test_a_section_yields_the_claims_that_name_it(experiment, section):
    found = papers.SECTIONS[experiment](Setting())[section]()
    ids = {each.id for each in found if isinstance(each, Claim) and each.verdict != "shown"}
    assert ids == {each.id for each in papers.claims() if (each.experiment, each.section) == (experiment, section)}


@pytest.mark.parametrize("name", [*papers.SECTIONS])
def test_an_experiment_is_its_sections_in_their_order(monkeypatch, name):
    ran: list[str] = []
    module = getattr(papers, name)
    monkeypatch.setattr(module, "sections", lambda _: {part: lambda part=part: iter([ran.append(part)]) for part in ("b", "a")})
    assert len([*papers.EXPERIMENTS[name](Setting())]) == 2
    assert ran == ["b", "a"]


@pytest.fixture
def small(monkeypatch) -> list[str]:
    """Replaces the sections of OFWAR by small ones, and returns what was measured."""
    measured: list[str] = []

    def section(setting: Setting) -> Iterator[Claim]:
        for each in papers.claims():
            if (each.experiment, each.section) == ("ofwar", "figures"):
                measured.append(each.id)
                given = {"work": each.work, "where": each.where, "what": each.claim, "unit": str}
                yield number(Estimate(setting.seeds, 3.0, None, None), 2.0, 0.1, **given)

    monkeypatch.setitem(papers.SECTIONS, "ofwar", lambda setting: {"figures": lambda: section(setting)})
    return measured


def test_a_claim_runs_its_section_up_to_it(small):
    claim = papers.run_claim("ofwar-fig9", quick=True)
    assert (claim.id, claim.seeds) == ("ofwar-fig9", 1)
    assert small == ["ofwar-fig10a", "ofwar-fig9"]
    assert papers.run_claim("ofwar-fig9", full=True).seeds == 5


def test_every_row_of_the_scoreboard_is_found_by_its_id(monkeypatch):
    rows = json.loads((Path(__file__).parents[2] / "docs/results/scoreboard.json").read_text(encoding="utf-8"))
    assert len(rows) > 400
    ran: list[str] = []

    def stubs(experiment: str, names: Iterable[str]):
        """Returns sections of these names, which yield their claims without a run."""

        def section(name: str) -> Iterator[Claim]:
            ran.append(name)
            for each in papers.claims():
                if (each.experiment, each.section) == (experiment, name):
                    given = {"work": each.work, "where": each.where, "what": each.claim, "unit": str}
                    yield number(Estimate(1, 3.0, None, None), 2.0, 0.1, **given)

        return {name: partial(section, name) for name in names}

    for experiment, sections in list(papers.SECTIONS.items()):
        # The names are those of the sections with this claim wanted.
        monkeypatch.setitem(papers.SECTIONS, experiment, lambda setting, one=experiment, of=sections: stubs(one, of(setting)))
    for row in rows:
        ran.clear()
        claim = papers.run_claim(row["id"])
        assert (claim.id, ran) == (row["id"], [known()[row["id"]].section])
        assert (claim.work, claim.where) == (row["work"], row["where"])


def test_a_page_has_the_command_that_repeats_each_claim():
    claims = [
        number(Estimate(1, 3.0, None, None), 2.0, 0.1, work="OFWAR", where="figure 9", what=what, unit=str) for what in "ab"
    ]
    for form, options in (
        ({"quick": True}, " --quick"),
        ({"quick": False, "full": True, "traces": True}, " --full --traces DIR"),
        ({"quick": False}, ""),
    ):
        page = page_of(Outcome(name="ofwar", summary="OFWAR", entries=tuple(claims), **form))
        lines = [line for line in page.splitlines() if line.startswith("- repeat: ")]
        assert lines == [f"- repeat: `ssdlab paper claim {claim.id}{options}`" for claim in claims]


def test_a_claim_is_shown_with_its_verdict_and_its_sentence(small):
    done = command("claim", "ofwar-fig9", "--quick")
    text = " ".join(done.stdout.split())
    assert done.exit_code == 0
    assert "ofwar-fig9 claim standard deviation of the response time" in text
    assert "published 2.0 (stated) ours 3.0 accepted 1.9 to 2.1 verdict differs" in text
    assert "sentence Ours is 150 % of the published value." in text
    document = json.loads(command("claim", "ofwar-fig9", "--quick", "--json").stdout)
    assert (document["id"], document["verdict"], document["ours"]) == ("ofwar-fig9", "differs", 3.0)
    assert document["sentence"] == "Ours is 150 % of the published value."


def test_a_claim_of_a_fast_section_runs():
    assert papers.run_claim("ofwar-fig3-300").verdict == "reproduced"


def test_a_claim_that_a_form_does_not_test_is_an_error(small, monkeypatch):
    monkeypatch.setitem(papers.SECTIONS, "ofwar", lambda setting: {"figures": lambda: iter(())})
    done = command("claim", "ofwar-fig9", "--quick")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "claim `ofwar-fig9`: --quick does not test it: expected --full, or --traces DIR" in " ".join(done.stderr.split())


def test_only_the_wanted_claim_is_searched(monkeypatch):
    claim = number(Estimate(0, 3.0, None, None), 2.0, 0.1, work="OFWAR", where="figure 9", what="it", unit=str)
    asked: list[str] = []
    monkeypatch.setattr(regions, "find_region", lambda *_, **__: asked.append("searched") or 1 / 0)
    load = object()
    for setting in (Setting(), Setting(full=True, wanted="ofwar-fig10a"), Setting(quick=True, wanted=claim.id)):
        assert [*regions.with_region_of_load(setting, claim, load, "a", "extra")] == [claim]
    assert asked == []
    for setting in (Setting(full=True), Setting(full=True, wanted=claim.id)):
        with pytest.raises(ZeroDivisionError):
            next(iter(regions.with_region_of_load(setting, claim, load, "a", "extra")))
    assert not Setting(full=True, wanted="another").searches(replace(claim, ours=2.0))


def test_the_claims_are_listed_by_work():
    everything = json.loads(command("claims", "--json").stdout)["claims"]
    assert [each["id"] for each in everything] == [*known()]
    assert [*everything[0]] == ["id", "experiment", "work", "where", "claim", "seconds"]
    some = json.loads(command("claims", "agcr", "--json").stdout)["claims"]
    assert {each["work"] for each in some} == {"AGCR"}
    assert len(some) == sum(name.startswith("agcr-") for name in known())
    text = command("claims", "OFWAR").stdout
    assert "ofwar-fig10a " in text
    assert "agcr-" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["claim", "ofwar-fig10"],
            "unknown claim `ofwar-fig10`: expected an id that `ssdlab paper claims` lists; near it are `ofwar-fig10",
        ),
        (["claim", "x"], "unknown claim `x`: expected an id that `ssdlab paper claims` lists"),
        (["claim"], "paper claim: expected one id, as `ssdlab paper claims` lists them, found 0"),
        (["claim", "a", "b"], "found 2"),
        (["claims", "nobody"], "unknown work `nobody`: expected one of ofwar, "),
        (["claim", "ofwar-fig9", "--out", "page"], "`paper claim` writes no page"),
        (["claims", "--update"], "`paper claims` writes no page"),
    ],
)
def test_bad_input_is_an_error_that_says_what_would_be_right(arguments, message):
    done = command(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_an_unknown_claim_is_an_error_in_python():
    with pytest.raises(ssdlab.InputError, match="near it are `agcr-fig7`"):
        papers.run_claim("agcr-fig-7")


def test_a_cell_of_the_tables_runs_only_its_own_points(monkeypatch):
    asked: list[dict] = []

    def swept(setting: Setting, spec: ssdlab.Spec):
        asked.append(tomllib.loads(spec.text) if isinstance(spec.text, str) else spec.text)
        raise KeyboardInterrupt

    monkeypatch.setattr("ssdlab_papers.sweeps.run_sweep", swept)
    for name in ("ssdexplorer-tab2-9-msn-consumer-b-gain", "ssdexplorer-tab2-8-reads-enterprise-d-sd"):
        with pytest.raises(KeyboardInterrupt):
            papers.run_claim(name, quick=True)
    mix, reads = asked
    assert (mix["drive"], [each.get("workload") for each in mix["zip"]]) == ("ldpc-b", [["msn.fio"], None])
    assert [each.get("workload.iodepth") for each in mix["zip"]] == [None, [64]]
    assert mix["zip"][0]["ftl.translation"] == [{"kind": "waf", "write_amplification": 1.0}]
    assert (reads["drive"], reads["zip"][0]["workload.iodepth"]) == ("ldpc-d", [256])
    assert mix["vary"] == reads["vary"] == {"ecc.plan.kind": ["soft", "nasd"]}


def test_the_commands_of_the_package_s_page_name_what_there_is():
    page = (Path(__file__).parents[2] / "papers" / "README.md").read_text(encoding="utf-8")
    assert page.startswith("# Published experiments\n\n472 claims")
    assert len(known()) == 472
    named = re.findall(r"^ssdlab paper claim (\S+)", page, re.MULTILINE)
    assert named
    assert {*named} <= {*known()}
    assert {*re.findall(r"^\| `(\w+)` \| (?!.*\.py)", page, re.MULTILINE)} >= {*papers.EXPERIMENTS}
