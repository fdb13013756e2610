"""Names with markup, control characters and line breaks: shown in terminals and pages, and obeyed by none."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest

import ssdlab
from chromium import dom_of
from conftest import Command
from ssdlab.plain import visible

SCRIPT = "<script>document.body.dataset.ran = 'yes'</script>"
IMAGE = '"><img src=x onerror="document.body.dataset.ran = \'yes\'">'
ESCAPE = "clear\x1b[2J\x1b]0;title\x07\x9b31m"
TURNED = "\u202egnp.fdp\u2066"
MARKUP = "[red]no[/red] [link=file:///x]x[/link]"
#: Names of jobs, drives and labels.
NAMES = {"script": SCRIPT, "image": IMAGE, "escape": ESCAPE, "turned": TURNED, "markup": MARKUP, "long": "x" * 3000}
#: Characters that a terminal obeys, in bytes of a text without colours.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def assert_plain(done, *shown: str) -> None:
    """Asserts that a command succeeded, that its output controls no terminal, and that it shows some texts."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert OBEYED.findall(said) == []
    for text in shown:
        assert text in said, said[:2000]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "names"
    folder.mkdir()
    return folder


def hostile(folder: Path, name: str) -> tuple[Path, Path]:
    """Returns a drive and a load with a name in every place that takes one."""
    drive, load = folder / "drive.toml", folder / "load.toml"
    title = json.dumps(name)
    drive.write_text(f'base = "tiny"\ntitle = {title}\n', encoding="utf-8")
    job = f"[[job]]\nname = {title}\nrequests = 200\nread_share = 0.5\ndepth = 2\npattern = 'random'\n"
    other = job.replace(title, json.dumps(name + " 2"))
    load.write_text(f'kind = "synthetic"\n{job}{other}', encoding="utf-8")
    return drive, load


@pytest.mark.parametrize("kind", NAMES)
def test_names_are_shown_and_not_obeyed(cli: Command, here: Path, kind: str) -> None:
    drive, load = hostile(here, NAMES[kind])
    assert_plain(cli("run", drive, load, "--out", here / "out"))
    both = ("compare", drive, load, "--policy", "baseline,all_fast", "--out", here / "both")
    assert_plain(cli(*both, "--label", "one," + NAMES[kind].replace(",", "")[:200]))
    shown = (("report", here / "both", "--out", here / "page.html"), ("show", drive), ("check", drive), ("why", here / "out"))
    for words in shown:
        assert_plain(cli(*words))
    for page in (here / "out" / "report.html", here / "both" / "report.html", here / "page.html"):
        text = page.read_text(encoding="utf-8")
        assert OBEYED.findall(text) == []
        assert SCRIPT not in text
        assert IMAGE not in text
    assert {path.name for path in here.iterdir()} == {"drive.toml", "load.toml", "out", "both", "page.html"}


@pytest.mark.parametrize("kind", ["script", "image"])
def test_no_script_of_a_name_runs(cli: Command, here: Path, kind: str) -> None:
    drive, load = hostile(here, NAMES[kind])
    named = here / f"{NAMES[kind].replace('/', '')}.toml"
    load.rename(named)
    assert_plain(
        cli("compare", drive, named, "--policy", "baseline,all_fast", "--label", f"{NAMES[kind]},b", "--out", here / "both")
    )
    html = (here / "both" / "report.html").read_text(encoding="utf-8")
    found = dom_of(html, "document.body.dataset.end = 'yes';", here / "seen.html")
    assert 'data-end="yes"' in found
    assert "data-ran=" not in re.sub(r"<script.*?</script>", "", found, flags=re.DOTALL)


@pytest.mark.parametrize(
    "name", ["\x1b[2J.fio", "a\u202eb.fio", "[red].fio", "two\rlines.fio", "-rf.fio", "...fio", "CON.fio"], ids=ascii
)
def test_files_of_any_name(cli: Command, here: Path, name: str) -> None:
    load = here / name
    load.write_text("[job]\nrw=randwrite\nbs=4k\nnumber_ios=50\n")
    out = here / f"out {name}"
    done = cli("run", "tiny", load, "--out", out)
    assert_plain(done, visible(f"wrote {out}"))
    missing = cli("run", "tiny", here / f"missing {name}")
    assert missing.returncode == 2
    assert OBEYED.findall(missing.stderr) == []
    assert visible(f"missing {name}") in missing.stderr
    assert_plain(cli("report", out, "--out", here / "page.html"))
    assert_plain(cli("trace", "info", examples() / "trace.csv.gz", "--json"))


def examples() -> Path:
    return Path(__file__).parents[2] / "examples"


def test_a_job_of_fio_with_control_characters(cli: Command, here: Path) -> None:
    load = here / "job.fio"
    load.write_text(
        f"[{ESCAPE}]\nrw=randwrite\nbs=4k\nnumber_ios=50\n[{MARKUP.replace('[', '(').replace(']', ')')}]\nrw=read\nnumber_ios=9\n"
    )
    done = cli("run", "tiny", load)
    said = done.stdout + done.stderr
    assert OBEYED.findall(said) == []
    load.write_text(f"[job]\nrw={ESCAPE}\nbs=4k\n")
    done = cli("run", "tiny", load)
    assert done.returncode == 2
    assert OBEYED.findall(done.stderr) == []


@pytest.mark.parametrize(
    "label", ["..", "/", "../../x", ".", "-rf", "CON", "a/b\\c", "\n", "字" * 100, "x" * 3000, "\x1b[2J"], ids=ascii
)
def test_labels_do_not_leave_the_folder(here: Path, label: str) -> None:
    load = ssdlab.Workload.from_text("[job]\nrw=randwrite\nbs=4k\nnumber_ios=50\n")
    found = ssdlab.compare("tiny", load, ["baseline", "all_fast"])
    folder = ssdlab.Comparison(found.runs, [label, label + "2"]).save(here / "out")
    assert [path.name for path in here.iterdir()] == ["out"]
    names = json.loads((folder / "compare.json").read_text())["folders"]
    assert len({*names}) == 2
    for name in names:
        assert (folder / name / "summary.json").is_file()
        assert "/" not in name
        assert name not in (".", "..")
        assert all(unicodedata.category(letter)[0] != "C" for letter in name)
        assert len(name.encode()) <= 255
    assert ssdlab.load_comparison(folder).runs[1].label == label + "2"


def test_texts_of_users_are_not_parts_of_a_page(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    (here / "job.fio").write_text("[job]\nrw=randwrite\nbs=4k\nnumber_ios=50\n")
    spec = {"title": "the title", "drive": "tiny", "workload": "job.fio", "vary": {"flash.channels": [1, "@@TITLE@@"]}}
    page = ssdlab.sweep(spec, "out", jobs=1).report()
    assert "<title>the title" in page
    assert page.count("@@TITLE@@") >= 3, "in the specification, among the points, and in an error"
