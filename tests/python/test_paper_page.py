"""`ssdlab paper`: names, folders, and the page written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ssdlab
import ssdlab_papers as papers
from ssdlab.charts import Axis, Chart, Series
from ssdlab.cli import app
from ssdlab.explore.statistics import Estimate
from ssdlab_papers import Entry, Outcome, Picture, Setting, Table
from ssdlab_papers.claim import number, untestable
from ssdlab_papers.layout import LEGEND, first_page, page_of
from ssdlab_papers.page import save

PAGE = """\
## Values

LEGEND

### OFWAR

|  | where | what | published | standing | ours | accepted | note |
| --- | --- | --- | --- | --- | --- | --- | --- |
| met | section 1 | first | 1 | stated | 1.0 | 0.5 to 2 | [1](#note-1) |
| shown | section 3 | all\\_fast \\| third | – | assumed | 3 |  |  |

### AGCR

|  | where | what | published | standing | ours | accepted | note |
| --- | --- | --- | --- | --- | --- | --- | --- |
| **missed** | section 2 | second | 9 | recalled | 2 | 9 | [2](#note-2) |

## Pictures and tables

![curves](pictures/curves.svg)

[cases](tables/cases.csv)

## Notes

### note 1

a note [A]

### note 2

another note
"""


def entry(**fields) -> Entry:
    """Returns an entry with defaults for the fields that are not given."""
    given = {"work": "OFWAR", "where": "section 1", "what": "first", "published": "1", "standing": "stated", "ours": 1.0}
    return Entry(**(given | {"shown": "1.0"} | fields))


def small(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """A small one."""
    yield entry(low=0.5, high=2.0, note="a note [A]")
    yield Picture(name="curves", chart=Chart("curves", Axis("x"), Axis("y"), (Series("one", [1.0, 2.0], [3.0, 4.0]),)))
    yield entry(
        work="AGCR", where="section 2", what="second", published="9", standing="recalled", ours=2, shown="2", low=9, high=9
    )
    yield Table(name="cases", title="cases", columns=("a", "b"), rows=[(1, "x, y"), (None, 0.1)])
    yield entry(where="section 3", what="all_fast | third", published="–", standing="assumed", ours=math.inf, shown="3")


@pytest.fixture
def outcome(monkeypatch) -> Outcome:
    monkeypatch.setitem(papers.EXPERIMENTS, "small", small)
    found = papers.run("small")
    noted = tuple(entry if entry.where != "section 2" else with_note(entry) for entry in found)
    return Outcome(name="small", summary=found.summary, quick=False, entries=noted, pictures=found.pictures, tables=found.tables)


def with_note(found: Entry) -> Entry:
    """Returns a copy of the entry with another note."""
    fields = {name: getattr(found, name) for name in ("work", "where", "what", "published", "standing", "ours", "shown", "low")}
    return Entry(**fields, high=found.high, note="another note")


def test_an_outcome_is_its_entries(outcome):
    assert [entry.verdict for entry in outcome] == ["met", "missed", "shown"]
    assert outcome.counts == {"met": 1, "missed": 1, "shown": 1}
    assert outcome.notes == ["a note [A]", "another note"]
    assert (outcome.name, outcome.summary, outcome.quick) == ("small", "A small one", False)


def test_the_page_shows_every_entry_picture_and_table(outcome):
    text = page_of(outcome)
    assert text[text.index("## Values") :].replace(LEGEND, "LEGEND") == PAGE
    assert "pictures/" not in page_of(replace(outcome, pictures=()))
    first = first_page([outcome])
    assert "What `ssdlab paper small` found" in first
    assert "| [small](small.md) | A small one | 1 | 1 | 1 |" in first


def test_the_pages_say_which_version_made_the_figures(outcome):
    old, new = replace(outcome, version="0.1.0+old"), replace(outcome, name="new", version="0.1.0+new")
    assert "The figures were made with ssdlab 0.1.0+old. " in page_of(old)
    assert "The figures were made with ssdlab 0.1.0+old (small); ssdlab 0.1.0+new (new). " in first_page([old, new])
    assert "made with" not in first_page([outcome])
    assert papers.run("small").version == ssdlab.__version__


def test_the_folder_is_whole_and_the_same_each_time(outcome, tmp_path):
    folders = [save([outcome], tmp_path / name) for name in ("one", "two")]
    files = ["RESULTS.md", "manifest.json", "pictures/curves.svg", "results.json", "small.md", "tables/cases.csv"]
    for folder in folders:
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == files
    assert all((folders[0] / file).read_bytes() == (folders[1] / file).read_bytes() for file in files)
    assert (folders[0] / "tables/cases.csv").read_text() == 'a,b\n1,"x, y"\n,0.1\n'
    document = json.loads((folders[0] / "results.json").read_text())
    assert [each["verdict"] for each in document["experiments"][0]["entries"]] == ["met", "missed", "shown"]
    assert document["experiments"][0]["entries"][2]["ours"] is None
    with pytest.raises(ssdlab.InputError, match="not empty"):
        save([outcome], folders[0])
    (folders[0] / "mine.txt").write_text("kept")
    with pytest.raises(ssdlab.InputError, match=r"mine\.txt;"):
        save([outcome], folders[0], force=True)
    (folders[0] / "mine.txt").unlink()
    save([outcome], folders[0], force=True)


def test_without_matplotlib_there_is_a_page_without_pictures(outcome, tmp_path, monkeypatch):
    monkeypatch.setattr("ssdlab_papers.page.has_matplotlib", lambda: False)
    folder = save([outcome], tmp_path / "plain")
    assert not (folder / "pictures").exists()
    assert "![" not in (folder / "small.md").read_text()


@pytest.mark.parametrize(
    ("low", "high", "accepted"),
    [
        (None, None, ""),
        (10.0, math.inf, "from 10"),
        (3600.0, 3600.0, "3,600"),
        (0.0, 1.005, "0 to 1.005"),
        (-0.005, 0.0256, "-0.005 to 0.0256"),
        (4.5e-4, 1e9, "0.00045 to 1e+09"),
    ],
)
def test_what_is_accepted_can_be_read(low, high, accepted):
    assert entry(low=low, high=high).accepted == accepted


def test_the_setting_reaches_the_experiment(monkeypatch, tmp_path):
    seen: list[Setting] = []

    def watching(setting: Setting) -> Iterator[Entry]:
        """Watches."""
        seen.append(setting)
        yield entry(ours=sum(setting.share_out("squares", lambda number: number**2, [1, 2, 3])))

    told: list[tuple[float | None, str]] = []
    monkeypatch.setitem(papers.EXPERIMENTS, "watching", watching)
    (tmp_path / "iozone.trace").touch()
    outcome = papers.run("watching", quick=True, traces=tmp_path, progress=lambda share, what: told.append((share, what)))
    assert (seen[0].quick, seen[0].traces.folder, outcome.entries[0].ours) == (True, tmp_path, 14)
    assert [what for _, what in told] == ["squares: 1 of 3", "squares: 2 of 3", "squares: 3 of 3"]
    assert told[-1][0] == 1.0
    assert "What `ssdlab paper watching --quick --traces DIR` found" in first_page([outcome])


@pytest.fixture
def command(monkeypatch):
    """Runs `ssdlab paper ...` with two small experiments only."""
    monkeypatch.setattr(papers, "EXPERIMENTS", {"small": small, "other": small})

    def call(*arguments: object):
        return CliRunner().invoke(app, ["paper", *map(str, arguments)])

    return call


def test_several_experiments_and_all_of_them(command):
    keys = [
        "experiment",
        "summary",
        "quick",
        "full",
        "traces",
        "version",
        "met",
        "missed",
        "shown",
        "entries",
        "pictures",
        "tables",
    ]
    assert list(json.loads(command("small", "--json").stdout)) == keys
    for names in (("other", "small", "other"), ("all",)):
        found = json.loads(command(*names, "--json", "--quick").stdout)["experiments"]
        assert [each["experiment"] for each in found] == (["other", "small"] if len(names) > 1 else ["small", "other"])
        assert all(each["quick"] for each in found)
    assert command("all").stdout.count("1 met, 1 missed, 1 shown") == 2


def test_the_folder_is_written_and_refused_before_anything_runs(command, tmp_path):
    folder = tmp_path / "results"
    done = command("small", "--out", folder)
    assert (done.exit_code, (folder / "RESULTS.md").is_file()) == (0, True)
    assert f"wrote {folder}" in done.stderr
    again = command("small", "--out", folder)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "not empty" in again.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the files of a folder by their names."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def other(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Another one."""
    chart = Chart("bars", Axis("x"), Axis("y"), (Series("one", [1.0, 2.0], [3.0, 4.0]),))
    claim = number(Estimate(5, 2.0, 1.5, 2.5), 9.0, 0.1, work="AGCR", where="figure 1", what="a claim", unit=str, headline=True)
    yield from (claim, replace(claim, what="at least", low=1.0, high=math.inf, interval=None))
    yield replace(claim, what="at most", low=-math.inf, ours=math.nan, region="nowhere", alike="3")
    yield untestable(work="AGCR", where="figure 2", what="lost", published="2", note="lost")
    yield Picture(name="bars", chart=chart)
    yield Table(name="bars", title="bars", columns=("a", "b"), rows=[(1e-300, 'said "so"\n'), (True, -0.0), (2**53 + 1, " ")])


@pytest.fixture
def page(command, monkeypatch, tmp_path) -> Path:
    """Page of two experiments that differ."""
    monkeypatch.setitem(papers.EXPERIMENTS, "other", other)
    folder = tmp_path / "page"
    assert command("all", "--out", folder, "--quiet").exit_code == 0
    return folder


def test_a_page_is_the_same_after_one_of_its_experiments_was_run_again(command, page):
    before = contents(page)
    for name in ("small", "other"):
        done = command(name, "--out", page, "--update")
        assert (done.exit_code, contents(page)) == (0, before)
    save(papers.load(page), page, force=True)
    assert contents(page) == before


def test_an_update_replaces_its_experiment_and_keeps_the_others(command, page):
    done = command("small", "--full", "--out", page, "--update", "--json")
    assert json.loads(done.stdout)["experiment"] == "small"
    text = (page / "RESULTS.md").read_text(encoding="utf-8")
    assert "What `ssdlab paper small --full` and `ssdlab paper other` found" in text
    assert "**Provisional**: other: the page of each claim" in text
    new = page.with_name("new")
    assert command("other", "--out", new, "--update", "--quiet").exit_code == 0
    assert command("small", "--full", "--out", new, "--update", "--quiet").exit_code == 0
    assert contents(new) == contents(page)


def test_an_update_without_matplotlib_keeps_the_pictures_of_the_others(command, page, monkeypatch):
    monkeypatch.setattr("ssdlab_papers.page.has_matplotlib", lambda: False)
    drawn = (page / "pictures/bars.svg").read_bytes()
    assert command("small", "--out", page, "--update").exit_code == 0
    assert [path.name for path in (page / "pictures").iterdir()] == ["bars.svg"]
    assert (page / "pictures/bars.svg").read_bytes() == drawn
    assert [(page / f"{name}.md").read_text(encoding="utf-8").count("![") for name in ("small", "other")] == [0, 1]


def test_a_page_that_does_not_say_its_version_has_that_of_its_manifest(page):
    document = json.loads((page / "results.json").read_text(encoding="utf-8"))
    for each in document["experiments"]:
        del each["version"]
    (page / "results.json").write_text(json.dumps(document), encoding="utf-8")
    manifest = json.loads((page / "manifest.json").read_text(encoding="utf-8"))
    (page / "manifest.json").write_text(json.dumps({**manifest, "version": "0.1.0+before"}), encoding="utf-8")
    assert {each.version for each in papers.load(page)} == {"0.1.0+before"}


def _without_pictures(page: Path) -> None:
    (page / "pictures/bars.svg").unlink()


def _with_another_verdict(page: Path) -> None:
    text = (page / "results.json").read_text(encoding="utf-8")
    (page / "results.json").write_text(text.replace('"verdict": "differs"', '"verdict": "reproduced"'), encoding="utf-8")


def _of_another_version(page: Path) -> None:
    document = json.loads((page / "results.json").read_text(encoding="utf-8"))
    del document["experiments"][0]["summary"]
    (page / "results.json").write_text(json.dumps(document), encoding="utf-8")


def _cut_off(page: Path) -> None:
    text = (page / "results.json").read_text(encoding="utf-8")
    (page / "results.json").write_text(text[: len(text) // 2], encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_pictures, "not all of this page can be read back (FileNotFoundError"),
        (_with_another_verdict, "a claim: differs, where it says reproduced"),
        (_of_another_version, "not all of this page can be read back (KeyError: 'summary')"),
        (_cut_off, "results.json: cannot be read as a results page"),
        (lambda page: (page / "results.json").unlink(), "expected a results page of `ssdlab paper`"),
    ],
)
def test_a_page_that_cannot_be_read_back_is_refused_and_kept(command, page, damage, message):
    damage(page)
    before = contents(page)
    done = command("small", "--out", page, "--update")
    assert (done.exit_code, done.stdout, contents(page)) == (2, "", before)
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize("ending", [KeyboardInterrupt, ZeroDivisionError])
def test_what_was_found_is_written_although_a_later_experiment_fails(command, monkeypatch, tmp_path, ending):
    def failing(setting: Setting) -> Iterator[Entry]:
        """Ends early."""
        raise ending
        yield

    monkeypatch.setitem(papers.EXPERIMENTS, "other", failing)
    folder = tmp_path / "results"
    assert command("all", "--out", folder).exit_code != 0
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))["experiments"]
    assert [each["experiment"] for each in found] == ["small"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smal", "othr"], "did you mean `other`?"),
        (["--out", "somewhere"], "no experiment is named"),
        (["--update"], "no experiment is named"),
        (["small", "--update"], "--update: expected --out"),
        (["small", "--traces", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_bad_input_is_an_error_that_says_what_would_be_right(command, arguments, message):
    done = command(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_folder_without_a_known_trace_is_refused(command, tmp_path):
    (tmp_path / "mine.csv").write_text("1,2\n")
    done = command("small", "--traces", tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no file is called like a trace that an experiment runs: expected one of iozone, " in done.stderr


def test_every_wrong_name_is_said(command):
    errors = command("smal", "othr").stderr.splitlines()
    assert len(errors) == 2
