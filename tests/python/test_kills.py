"""Commands that are killed at any moment: what is left is absent or whole, and the next command finds its way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ssdlab
from conftest import PATIENCE, Command
from ssdlab import files
from ssdlab.explore import shared
from ssdlab.manifest import strangers, write_manifest

TOOL = Path(__file__).parents[2] / "tools" / "kill_at_random.py"
SPEC = 'drive = "tiny"\nworkload = "job.fio"\nvary."flash.channels" = [1, 2]\n'
SEARCH = (
    'drive = "tiny"\nworkload = "job.fio"\nsearch."flash.channels" = [1, 2]\n'
    '[[objective]]\nkey = "cost"\n[optimise]\ncomparison = false\ntrials = 2\n'
)
JOB = "[job]\nrw=randwrite\nbs=4k\nnumber_ios=50\n"
#: Calls the command, which is killed at the end of the call of a function, its `COUNT`th.
DRIVER = """
import importlib, os, signal, sys
module, _, name = sys.argv.pop(1).rpartition(":")
left = [int(sys.argv.pop(1))]
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
called = getattr(owner, last)
def killing(*arguments, **named):
    found = called(*arguments, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(owner, last, killing)
from ssdlab.cli import main
main()
"""


@pytest.mark.slow
def test_kills_at_random_moments() -> None:
    """A few of them; `python tools/kill_at_random.py --count 100` does hundreds."""
    done = subprocess.run(
        [sys.executable, str(TOOL), "--count", "3", "--seed", "7", "--json"], capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout) == {"kills": 21, "defects": []}, done.stderr
    assert done.returncode == 0


def killed_in(folder: Path, function: str, count: int, *words: str) -> None:
    """Runs a command that is killed at the end of a call of a function."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, function, str(count), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("function", "count"), [("mkdir", 1), ("mkdir", 2), ("replace", 1), ("replace", 3)])
@pytest.mark.parametrize("kind", ["sweep", "optimise"])
def test_a_folder_that_was_just_begun_is_gone_on_with(cli: Command, tmp_path: Path, kind: str, function: str, count: int) -> None:
    here = tmp_path / "here"
    (here / "job.fio").write_text(JOB)
    (here / "spec.toml").write_text(SPEC if kind == "sweep" else SEARCH)
    words = (kind, "spec.toml", "--out", "out", "--jobs", "1", "--quiet")
    killed_in(here, f"pathlib:Path.{function}", count, *words)
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert strangers(here / "out") == [] or kind == "optimise"
    assert sorted(path.name for path in here.iterdir()) == ["job.fio", "out", "spec.toml"]
    assert not list((here / "out").glob(".*.new"))


def test_a_search_that_was_interrupted_before_its_first_trial_goes_on(cli: Command, tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "job.fio").write_text(JOB)
    (here / "spec.toml").write_text(SEARCH)
    words = ("optimise", "spec.toml", "--out", "out", "--jobs", "1", "--json")
    driver = DRIVER.replace("signal.SIGKILL", "signal.SIGINT")
    interrupted = subprocess.run(
        [sys.executable, "-c", driver, "ssdlab.explore.pool:Pool._begin", "1", *words],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert interrupted.returncode == 130, interrupted.stderr
    assert json.loads(interrupted.stdout)["trials"] == 0
    assert shared.read_trials(here / "out").num_rows == 0
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] == 2


def test_a_manifest_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.fio").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    ssdlab.sweep({"drive": "tiny", "workload": "job.fio", "vary": {"flash.channels": [1, 2]}}, "out", jobs=1)
    before = (tmp_path / "out" / "manifest.json").read_bytes()

    def killed(self: Path, text: str, **options: str) -> int:
        with self.open("w", **options) as file:
            file.write(text[:10])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", killed)
    with pytest.raises(KeyboardInterrupt):
        write_manifest(tmp_path / "out", "sweep")
    assert (tmp_path / "out" / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_what_was_left_before_it_was_locked_is_removed(tmp_path: Path, folder: bool) -> None:
    probe, held, recent, other = (
        tmp_path / name for name in (".out.0123abcd.try", ".out.4567abcd.held", ".out.89ababcd.held", ".out.mine.held")
    )
    probe.touch()
    if folder:
        (held / "inner").mkdir(parents=True)
    else:
        held.touch()
    recent.touch()
    other.touch()
    old = time.time() - 3600
    os.utime(held, (old, old))
    os.utime(other, (old, old))
    with files.new_file(tmp_path / "out") as beside:
        beside.write_text("content")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.89ababcd.held", ".out.mine.held", "out"]


@pytest.mark.parametrize(("function", "count"), [("mkdir", 1), ("rename", 1), ("rename", 3), ("touch", 2)])
def test_a_run_that_was_killed_while_it_wrote_is_done_again(cli: Command, tmp_path: Path, function: str, count: int) -> None:
    here = tmp_path / "here"
    (here / "job.fio").write_text(JOB)
    words = ("run", "tiny", "job.fio", "--out", "out", "--save", "drive.sav", "--log-commands", "log.csv", "--quiet")
    done = subprocess.run([sys.executable, "-c", DRIVER, f"pathlib:Path.{function}", str(count), *words], cwd=here, check=False)
    assert done.returncode == -signal.SIGKILL
    again = cli(*words, "--force")
    assert again.returncode == 0, again.stderr
    assert ssdlab.load_result(here / "out").status == "complete"
    left = {path.name for path in here.iterdir()} - {"job.fio", "out", "drive.sav", "log.csv"}
    # A file that was not locked yet is removed later: its process may be under way.
    assert all(name.endswith(".held") for name in left), left
