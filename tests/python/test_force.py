"""Replacement with `--force`: only a folder in which ssdlab wrote every file."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

import ssdlab
from ssdlab import exchange
from ssdlab.manifest import strangers
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.page import save as save_page

pytestmark = pytest.mark.slow

RESULT = ["drive.toml", "latency.parquet", "manifest.json", "report.html", "summary.json", "timeline.parquet", "workload.toml"]
ROOT = Path(__file__).parents[2]


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def content_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_in(folder)}


@pytest.fixture(scope="session")
def life() -> ssdlab.Lifetime:
    """A short lifetime run."""
    workload = ssdlab.Workload.from_text("[writes]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=20000\nnorandommap=1\n")
    return ssdlab.lifetime("tiny", workload, max_passes=1)


@pytest.fixture
def saved(result, comparison, life, tmp_path):
    """Folders of all kinds, by kind."""
    page = Outcome(name="none", summary="None.", quick=True, entries=())
    return {
        "result": result.save(tmp_path / "result"),
        "comparison": comparison.save(tmp_path / "comparison"),
        "lifetime": life.save(tmp_path / "lifetime"),
        "papers": save_page([page], tmp_path / "papers"),
    }


def test_a_manifest_names_every_file(saved):
    for kind, folder in saved.items():
        manifest = json.loads((folder / "manifest.json").read_text())
        assert (manifest.pop("run", None) is not None) == (kind == "result")
        assert manifest == {
            "written_by": "ssdlab",
            "kind": kind,
            "format": 1,
            "version": ssdlab.__version__,
            "files": files_in(folder),
        }
        assert "manifest.json" in manifest["files"]
        assert strangers(folder) == []
    inside = json.loads((saved["comparison"] / "ofwar" / "manifest.json").read_text())
    assert (inside["kind"], inside["files"]) == ("result", RESULT)


def test_equal_results_have_equal_manifests(result, tmp_path):
    one, two = (result.save(tmp_path / name) / "manifest.json" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_folder_of_any_kind_is_replaced(saved, result):
    for folder in saved.values():
        (folder / files_in(folder)[0]).unlink()  # a listed file may be missing
        assert files_in(result.save(folder, force=True)) == RESULT


@pytest.mark.parametrize("note", ["notes.txt", "ofwar/notes.txt", "more/notes.txt", "baseline-2/summary.json"])
def test_a_note_is_not_removed(comparison, tmp_path, note):
    folder = comparison.save(tmp_path / "out")
    (folder / note).parent.mkdir(exist_ok=True)
    (folder / note).write_text("ten years of work")
    before = content_of(folder)
    shown = note if (folder / note).parent in (folder, folder / "ofwar") else note.split("/")[0] + "/"
    with pytest.raises(ssdlab.InputError, match=rf"out: force=True .*: {shown};"):
        comparison.save(folder, force=True)
    assert content_of(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_results_is_not_a_result(cli, job, result, tmp_path):
    lab = tmp_path / "lab"
    lab.mkdir()
    result.save(lab / "run1")
    (lab / "run2").mkdir()
    (lab / "run2" / "notes.txt").write_text("ten years of work")
    before = content_of(lab)
    done = cli("run", "tiny", job, "--out", lab, "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run1/, run2/;" in done.stderr
    assert content_of(lab) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "lab", "mixed.fio"]


def test_many_strangers_are_counted(result, tmp_path):
    folder = result.save(tmp_path / "out")
    for number in range(25):
        (folder / f"{number:02}.txt").touch()
    with pytest.raises(ssdlab.InputError, match=r"00\.txt, .*, 09\.txt and 15 more;"):
        result.save(folder, force=True)


def test_a_link_in_a_result_is_not_ours(result, tmp_path):
    folder = result.save(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(tmp_path / "mine")
    with pytest.raises(ssdlab.InputError, match=r"report\.html;"):
        result.save(folder, force=True)


@pytest.mark.parametrize("kind", ["result", "comparison", "lifetime", "papers"])
def test_a_folder_from_before_manifests_is_replaced_if_it_is_as_it_was(saved, result, kind):
    folder = saved[kind]
    for manifest in folder.rglob("manifest.json"):
        manifest.unlink()
    # Then, all of a page was in RESULTS.md.
    (folder / "none.md").unlink(missing_ok=kind != "papers")
    assert strangers(folder) == []
    (folder / "tables").mkdir()
    (folder / "tables" / "mine.csv").write_text("ten years of work")
    with pytest.raises(ssdlab.InputError, match="tables/;"):
        result.save(folder, force=True)
    shutil.rmtree(folder / "tables")
    assert files_in(result.save(folder, force=True)) == RESULT


def test_the_pages_in_the_documentation_are_ours():
    assert strangers(ROOT / "docs" / "results") == []


def test_files_that_only_bear_our_names_are_not_ours(result, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for name in RESULT:
        (folder / name).write_text("{}")
    with pytest.raises(ssdlab.InputError, match=r"drive\.toml, .*, workload\.toml;"):
        result.save(folder, force=True)


@pytest.mark.parametrize("files", ['"summary.json"', "[1]", "null"])
def test_a_manifest_that_is_none_says_nothing(result, tmp_path, files):
    folder = result.save(tmp_path / "out")
    text = '{"written_by": "ssdlab", "kind": "result", "format": 1, "files": %s}'
    (folder / "manifest.json").write_text(text % files)
    assert strangers(folder) == ["manifest.json"]


def test_a_newer_manifest_is_refused(result, tmp_path):
    folder = result.save(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    with pytest.raises(ssdlab.InputError, match=r"manifest\.json: format 2: expected 1"):
        result.save(folder, force=True)


def test_what_appears_during_a_run_is_found_before_it_is_replaced(result, tmp_path, monkeypatch):
    folder = result.save(tmp_path / "out")
    before = content_of(folder)
    swap = exchange.exchange

    def late(one: Path, other: Path) -> None:
        (folder / "notes.txt").write_text("ten years of work")
        swap(one, other)

    monkeypatch.setattr("ssdlab.files.exchange", late)
    with pytest.raises(ssdlab.InputError, match=r"notes\.txt;"):
        result.save(folder, force=True)
    assert content_of(folder) == {**before, "notes.txt": b"ten years of work"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_put_back_is_not_removed(result, tmp_path, monkeypatch):
    folder = result.save(tmp_path / "out")
    swap = exchange.exchange

    def once(one: Path, other: Path) -> None:
        (folder / "notes.txt").write_text("ten years of work")
        swap(one, other)
        monkeypatch.setattr("ssdlab.files.exchange", failing)

    def failing(one: Path, other: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(other))

    monkeypatch.setattr("ssdlab.files.exchange", once)
    with pytest.raises(OSError, match="error"):
        result.save(folder, force=True)
    assert [path.read_text() for path in tmp_path.rglob("notes.txt")] == ["ten years of work"]


def test_a_folder_that_could_not_be_removed_is_not_replaced(comparison, tmp_path, monkeypatch):
    folder = comparison.save(tmp_path / "out")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "ofwar" and allowed(path, mode))
    with pytest.raises(ssdlab.InputError, match=r"ofwar cannot be removed: Permission denied"):
        comparison.save(folder, force=True)


@pytest.mark.parametrize("place", [".", "..", "../.", "", "/", "../here", "../link"])
def test_the_working_directory_is_never_replaced(cli, job, result, tmp_path, place):
    here = tmp_path / "here"
    (tmp_path / "link").symlink_to(here)
    for force in ((), ("--force",)):
        done = cli("run", "tiny", job, "--out", place, *force)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "working directory" in done.stderr
    # Not even if the working directory is a result folder.
    shutil.rmtree(here)
    before = content_of(result.save(here))
    done = cli("run", "tiny", job, "--out", place, "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert content_of(here) == before


def test_a_link_to_a_folder_stays(result, tmp_path):
    folder = result.save(tmp_path / "out")
    link = tmp_path / "latest"
    link.symlink_to("out")
    assert result.save(link, force=True) == link
    assert (link.is_symlink(), files_in(folder)) == (True, RESULT)
    (folder / "notes.txt").touch()
    with pytest.raises(ssdlab.InputError, match=r"latest: .*notes\.txt;"):
        result.save(link, force=True)


def test_a_link_to_itself_is_refused(cli, job, tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    done = cli("run", "tiny", job, "--out", tmp_path / "loop")
    assert (done.returncode, done.stdout) == (2, "")
    assert "loop: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("spelling", ["out/", "./out", "out/../out", "../here/out"])
def test_a_folder_may_be_spelt_in_any_way(cli, job, tmp_path, spelling):
    for force in ((), ("--force",)):
        assert cli("run", "tiny", job, "--out", spelling, *force).returncode == 0
        assert files_in(tmp_path / "here" / "out") == RESULT
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["out"]


def test_an_empty_folder_needs_no_force(result, tmp_path):
    (tmp_path / "out").mkdir()
    assert files_in(result.save(tmp_path / "out")) == RESULT


@pytest.fixture(params=["exchanged at once", "renamed one after the other"])
def system(request, monkeypatch):
    """Runs a test on a system that exchanges folders in one step, and on one that does not."""
    if request.param == "renamed one after the other":
        monkeypatch.setattr(exchange, "_at_once", lambda one, other: False)


def test_two_folders_change_places(system, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / folder.name).touch()
    exchange.exchange(one, other)
    assert files_in(tmp_path) == ["one/other", "other/one"]
    with pytest.raises(FileNotFoundError):
        exchange.exchange(tmp_path / "none", other)
    assert files_in(tmp_path) == ["one/other", "other/one"]


@pytest.mark.skipif(os.uname().sysname not in ("Linux", "Darwin"), reason="no exchange of folders there")
def test_this_system_exchanges_at_once(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    assert exchange._at_once(tmp_path / "one", tmp_path / "other")


@pytest.mark.parametrize("step", ["the new folder", "the old folder"])
def test_an_exchange_that_fails_is_undone(tmp_path, monkeypatch, step):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    (one / "new").touch()
    (other / "old").touch()
    monkeypatch.setattr(exchange, "_at_once", lambda one, other: False)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if (self, target.name) == (one, "other") if step == "the new folder" else target == one and self.name.endswith(".old"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="error"):
        exchange.exchange(one, other)
    assert files_in(tmp_path) == ["one/new", "other/old"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_folder_takes_its_place_undisturbed(system, result, tmp_path, monkeypatch, number):
    folder = result.save(tmp_path / "out")
    (folder / "report.html").write_text("old")
    swap = exchange.exchange
    monkeypatch.setattr("ssdlab.files.exchange", lambda *both: (swap(*both), signal.raise_signal(number)))
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            result.save(folder, force=True)
    finally:
        signal.signal(number, before)
    assert files_in(folder) == RESULT
    assert (folder / "report.html").read_text() == result.report()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_folders_are_read_with_and_without_a_manifest(saved):
    before = ssdlab.load_result(saved["result"]).summary, ssdlab.load_comparison(saved["comparison"]).to_dict()
    for folder in saved.values():
        for manifest in folder.rglob("manifest.json"):
            manifest.unlink()
    assert (ssdlab.load_result(saved["result"]).summary, ssdlab.load_comparison(saved["comparison"]).to_dict()) == before


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("run", ["--save"]),
        ("run", ["--timeline"]),
        ("compare", ["--policy", "baseline,ofwar", "--save"]),
        ("lifetime", ["--save"]),
    ],
)
def test_what_a_run_reads_is_not_replaced(cli, job, command, options):
    done = cli(command, "tiny", job, *options, job, "--force")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ssdlab: error: {job}: the run reads this file; choose another name to write\n"


def test_a_drive_is_saved_in_the_place_of_the_one_that_it_was_and_nothing_else_is(cli, job, tmp_path):
    assert cli("run", "tiny", job, "--save", "aged.csv").returncode == 0
    before = (tmp_path / "here" / "aged.csv").read_bytes()
    for option in ("--timeline", "--log-commands", "--history"):
        done = cli("run", "tiny", job, "--load", "aged.csv", option, "aged.csv", "--force")
        assert (done.returncode, "aged.csv: the run reads this file" in done.stderr) == (2, True)
    assert (tmp_path / "here" / "aged.csv").read_bytes() == before
    assert cli("run", "tiny", job, "--load", "aged.csv", "--save", "aged.csv", "--force").returncode == 0


@pytest.mark.parametrize(
    ("command", "policy"), [("run", "mine.py"), ("run", "mine.py:Mine"), ("compare", "baseline,mine.py:Mine")]
)
def test_a_policy_is_not_replaced(cli, job, tmp_path, command, policy):
    mine = tmp_path / "here" / "mine.py"
    mine.write_text("import ssdlab\nclass Mine(ssdlab.Policy): pass\n")
    done = cli(command, "tiny", job, "--policy", policy, "--save", "mine.py", "--force")
    assert (done.returncode, done.stderr) == (
        2,
        "ssdlab: error: mine.py: the run reads this file; choose another name to write\n",
    )
    assert "class Mine" in mine.read_text()


def test_no_file_that_a_run_reads_is_replaced(cli, job, tmp_path):
    here = tmp_path / "here"
    (here / "parts").mkdir()
    (here / "faults.toml").write_text("")
    (here / "errors.csv").write_text("pe_cycles,days,rate\n0,0,1e-3\n0,3650,1e-3\n3000,0,2e-3\n3000,3650,2e-3\n")
    (here / "parts" / "far.toml").write_text('base = "tiny"\n')
    (here / "near.toml").write_text('base = "parts/far.toml"\nflash.channels = 1\n')
    (here / "drive.toml").write_text('base = "near.toml"\n')
    (here / "more.fio").write_text("rw=randwrite\nnumber_ios=10\n")
    (here / "whole.fio").write_text("[job]\ninclude more.fio\n")
    table = ["--set", 'ecc.errors={kind="table",file="errors.csv"}']
    for name, words in (
        ("faults.toml", ["tiny", job, "--faults", "faults.toml"]),
        ("near.toml", ["drive.toml", job]),
        ("parts/far.toml", ["drive.toml", job]),
        ("more.fio", ["tiny", "whole.fio"]),
        ("errors.csv", ["drive.toml", job, *table]),
    ):
        before = (here / name).read_bytes()
        for command, option in (("run", "--save"), ("run", "--timeline"), ("compare", "--save")):
            policies = ["--policy", "baseline,all_fast"] if command == "compare" else []
            done = cli(command, *words, *policies, option, name, "--force")
            assert (done.returncode, done.stderr) == (
                2,
                f"ssdlab: error: {name}: the run reads this file; choose another name to write\n",
            )
        assert (here / name).read_bytes() == before
