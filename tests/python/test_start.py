"""The start of the command: what it imports, and the two readers of a command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ssdlab
from conftest import PATIENCE
from ssdlab.cli import app, completion, quick, running
from ssdlab.cli.commands import COMMANDS, MODULES

#: Packages that take longer to import than a short run takes.
SLOW = {"numpy", "pyarrow", "plotly", "pandas", "matplotlib", "rich", "typer", "pydantic"}
#: Parts of ssdlab that a run does not need.
PARTS = ("ssdlab.cell", "ssdlab.charts", "ssdlab.explore", "ssdlab.experiments", "ssdlab.traces", "ssdlab.report")


def imported(code: str, *words: object) -> set[str]:
    """Returns those of `SLOW` and `PARTS` that a process imports."""
    code += "\nimport sys; print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.splitlines()[-1].split()
    return {name for name in loaded if name in SLOW or name.startswith(PARTS)}


#: Runs the command, and goes on.
COMMAND = "import contextlib\nfrom ssdlab.cli import main\nwith contextlib.suppress(SystemExit):\n    main()"


def test_the_package_imports_nothing_slow():
    assert imported("import ssdlab, ssdlab.cli") == set()


def test_a_run_imports_nothing_slow(job):
    assert imported(f"import ssdlab; ssdlab.run('tiny', {str(job)!r}, stop_after=10).iops") == set()


@pytest.mark.parametrize("words", [("--version",), ("run", "tiny", "JOB", "--json", "--stop-after", 10)])
def test_the_command_imports_nothing_slow(job, words):
    assert imported(COMMAND, *(job if word == "JOB" else word for word in words)) == set()


def test_a_table_needs_rich_and_nothing_else_that_is_slow(job):
    found = imported(COMMAND, "run", "tiny", job, "--stop-after", 10)
    assert found & SLOW == {"rich"}
    assert {name for name in found if name.startswith(PARTS)} == {
        "ssdlab.report",
        "ssdlab.report.content",
        "ssdlab.report.names",
        "ssdlab.report.read_errors",
        "ssdlab.report.reasons",
        "ssdlab.report.streams",
        "ssdlab.report.tail",
        "ssdlab.report.verdict",
    }


def test_the_module_of_each_command_has_it():
    done = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "140"})
    assert all(f" {name} " in done.stdout for name in COMMANDS)


def test_the_version_is_the_same_from_both_readers(cli):
    assert cli("--version", process=True).stdout == f"ssdlab {ssdlab.__version__}\n"
    assert cli("--version").stdout == f"ssdlab {ssdlab.__version__}\n"


#: Command lines, of which the quick reader takes those that are marked.
LINES = [
    (True, "tiny job"),
    (True, "tiny --json job -q"),
    (True, "--seed 7 tiny job --set flash.channels=4 --set=a=b --precondition steady"),
    (True, "tiny job --policy ofwar --out results --force --history h.csv --save=a.state --load b.state"),
    (True, "tiny job --policy mine.py:Mine --format msr --streams a,b --time-scale 0.5 --repeat 2 --strict-time"),
    (True, "tiny job --steady-state --stop-after 10 --batches 20 --max-requests 3 --replay closed:4"),
    (False, "tiny job --seed 007_1"),
    (False, "tiny job --seed -1"),
    (False, "tiny job --stop-after 0"),
    (False, "tiny job --stop-after"),
    (False, "tiny job --time-scale 1e3"),
    (False, "tiny job --set --json"),
    (False, "tiny job --json --json"),
    (False, "tiny job --seed 1 --seed 2"),
    (False, "tiny job --json=yes"),
    (False, "tiny job --jsn"),
    (False, "tiny job --record-commands"),
    (False, "tiny job --help"),
    (False, "tiny -- job"),
    (False, "tiny"),
    (False, "tiny job more"),
]


@pytest.mark.parametrize(("is_quick", "line"), LINES)
def test_both_readers_understand_the_same(monkeypatch, is_quick, line):
    taken = []

    def run(drive, workload, **named):
        taken.append({"drive": drive, "workload": workload, **named})

    monkeypatch.setattr(running, "run", run)
    read = quick.read(line.split())
    done = CliRunner().invoke(app, ["run", *line.split()])
    assert (read is not None) == is_quick
    if is_quick:
        assert done.exit_code == 0, done.output
        assert [read] == taken


def test_a_shell_that_asks_for_completions_is_answered_by_typer(monkeypatch):
    monkeypatch.setenv("_SSDLAB_COMPLETE", "complete_bash")
    assert not quick.started(["--version"])


COMPLETIONS = [
    ("ssdlab po", "policies"),
    ("ssdlab run ti", "tiny"),
    ("ssdlab presets qlc", "qlc-2tb"),
    ("ssdlab run tiny job --policy ofw", "ofwar"),
    ("ssdlab lifetime tiny job --policy ofw", "ofwar"),
    ("ssdlab compare tiny job --policy baseline,ofw", "baseline,ofwar"),
    ("ssdlab run tiny job --stop-af", "--stop-after"),
]


@pytest.mark.parametrize(("typed", "word"), COMPLETIONS)
def test_a_shell_completes(cli, monkeypatch, typed, word):
    monkeypatch.setenv("_SSDLAB_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    done = cli(process=True)
    assert word in done.stdout.split(), done.stderr
    assert done.returncode == 0


def test_a_list_of_policies_completes_with_another():
    found = [word for word, _ in completion.policy_lists("ofwar,all_fast,")]
    assert "ofwar,all_fast,baseline" in found
    assert "ofwar,all_fast,ofwar" not in found


def test_the_script_for_a_shell_is_shown(cli, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    done = cli("--show-completion")
    assert done.returncode == 0, done.stderr
    assert "_SSDLAB_COMPLETE=complete_bash" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("tinny", "JOB"), 2, "ssdlab: error: unknown drive `tinny`"),
        (("tiny", "nothing.fio"), 2, "ssdlab: error: nothing.fio: no such file"),
        (("tiny", "JOB", "--stop-afer", 3), 2, "--stop-afer"),
    ],
)
def test_errors_of_a_quick_start_are_those_of_the_command(cli, job, words, status, said):
    words = ["run", *(job if word == "JOB" else word for word in words)]
    quick_start, slow_start = cli(*words, process=True), cli(*words)
    assert quick_start.returncode == slow_start.returncode == status
    assert quick_start.stderr == slow_start.stderr
    assert said in quick_start.stderr


def test_a_closed_pipe_is_no_fault(job):
    command = f"{sys.executable} -m ssdlab run tiny {job} --quiet | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.stderr == ""
    assert int(done.stdout) in (0, 1)


def test_the_sources_name_every_command():
    folder = Path(quick.__file__).parent
    assert all((folder / f"{MODULES.get(name, name)}.py").is_file() for name in COMMANDS)
