"""The start of the command: what it imports, and the two readers of a command line."""

from __future__ import annotations

import os
import re
import shutil
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
    read = quick.arguments_in(line.split())
    done = CliRunner().invoke(app, ["run", *line.split()])
    assert (read is not None) == is_quick
    if is_quick:
        assert done.exit_code == 0, done.output
        assert [read] == taken


def test_a_shell_that_asks_for_completions_is_answered_by_typer(monkeypatch):
    monkeypatch.setenv("_SSDLAB_COMPLETE", "complete_bash")
    assert not quick.run_quickly(["--version"])


COMPLETIONS = [
    ("ssdlab po", "policies"),
    ("ssdlab run ti", "tiny"),
    ("ssdlab presets qlc", "qlc-2tb"),
    ("ssdlab run tiny job --policy ofw", "ofwar"),
    ("ssdlab lifetime tiny job --policy ofw", "ofwar"),
    ("ssdlab compare tiny job --policy baseline,ofw", "baseline,ofwar"),
    ("ssdlab run tiny job --stop-af", "--stop-after"),
    ("ssdlab run tiny job --set ftl.vic", "ftl.victim=greedy"),
    ("ssdlab run tiny job --set fl", "flash.channels="),
    ("ssdlab run tiny job --set flash.write_mode[0].re", "flash.write_mode[0].retention="),
    ("ssdlab run tiny job --set ftl.victim=gr", "ftl.victim=greedy"),
    ("ssdlab run tiny job --set=ftl.victim=gr", "ftl.victim=greedy"),
    ("ssdlab show tiny --set state.graceful_shutdown=t", "state.graceful_shutdown=true"),
    ("ssdlab run tiny job --precondition st", "steady"),
    ("ssdlab lifetime tiny job --set policy.kind=agc", "policy.kind=agcr"),
    ("ssdlab compare tiny job --vary ftl.overp", "ftl.overprovisioning="),
    ("ssdlab compare tiny job --vary ftl.victim=fifo,gr", "ftl.victim=fifo,greedy"),
    ("ssdlab compare tiny job --vary options.stop_a", "options.stop_after="),
]


#: Environment in which each shell asks for words.
SHELLS = {
    "bash": lambda typed: {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)},
    "zsh": lambda typed: {"_TYPER_COMPLETE_ARGS": typed},
    "fish": lambda typed: {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


def completed(cli, monkeypatch, shell: str, asked: dict[str, str], *, process: bool = False) -> list[str]:
    """Returns the words with which the command answers a shell."""
    for name, text in {**asked, "_SSDLAB_COMPLETE": f"complete_{shell}"}.items():
        monkeypatch.setenv(name, text)
    done = cli(process=process)
    assert done.returncode == 0, done.stderr
    words = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    return re.findall(r'"([^"]+)"(?::"|\n|\))', done.stdout) if shell == "zsh" else words


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("typed", "word"), COMPLETIONS)
def test_a_shell_completes(cli, monkeypatch, typed, word, shell):
    assert word in completed(cli, monkeypatch, shell, SHELLS[shell](typed))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["run", "tiny", "job", "--set", "ftl.victim", "=", "gr"], ["greedy", "greedy_in_plane"]),
        (["run", "tiny", "job", "--set", "flash.cell", "="], ["slc", "mlc", "tlc", "qlc"]),
        (["run", "tiny", "job", "--set", "=", "ftl.victim", "=", "gr"], ["greedy", "greedy_in_plane"]),
        (["run", "tiny", "job", "--set", "a", "=", "1", "--precondition", "st"], ["steady"]),
        (["compare", "tiny", "job", "--vary", "ftl.victim", "=", "greedy,fi"], ["greedy,fifo"]),
    ],
)
def test_bash_which_splits_words_at_equals_signs_gets_what_it_replaces(cli, monkeypatch, words, found):
    asked = {"COMP_WORDS": "\n".join(["ssdlab", *words]), "COMP_CWORD": str(len(words))}
    assert completed(cli, monkeypatch, "bash", asked, process=True) == found


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_itself_completes_a_value(cli, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *_: ("bash", "/bin/bash"))
    script = cli("--show-completion").stdout
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    ask = "COMP_WORDS=(ssdlab run tiny job --set ftl.victim = gr); COMP_CWORD=7; _ssdlab_completion ssdlab; echo ${COMPREPLY[@]}"
    command = ["bash", "--norc", "-c", f"{script}\n{ask}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=environment)
    assert done.stdout == "greedy greedy_in_plane\n", done.stderr


def test_every_description_of_a_word_is_one_short_line():
    found = [*completion.presets(""), *completion.policies(""), *completion.fields("flash."), *completion.fields("ftl.victim=")]
    assert len(found) > 90
    assert all(len(about) <= 72 and about.isprintable() for _, about in found)


def test_completion_imports_nothing_slow():
    words = ("ssdlab.cli.completion", "completion.fields('ftl.vic')", "completion.variants('options.')")
    found = imported(f"from ssdlab.cli import completion; {words[1]}; {words[2]}")
    assert found == set()


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
