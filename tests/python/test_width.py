"""Tables on terminals of 80 and 120 columns: no line is wider, and nothing is cut off."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import ssdlab
import ssdlab_papers as papers
from ssdlab.cli import app
from ssdlab.cli.commands import COMMANDS
from ssdlab.cli.fitting import put

CONDITIONS = ("--pe", "1000,5000,10000", "--age", "1d,30d,1y,5y")
#: Commands with tables. JOB is a job, TRACE a trace, OUT a folder.
TABLES = {
    "presets": ("presets",),
    "policies": ("policies",),
    "show": ("show", "tlc-1tb"),
    "show a controller in detail": ("show", "pcie5-enterprise-8tb"),
    "run": ("run", "tiny", "JOB", "--precondition", "steady", "--batches", 20),
    "run of a controller in detail": ("run", "pcie5-enterprise-8tb", "JOB", "--stop-after", 500),
    "run with reads that fail": ("run", "tlc-1tb", "JOB", "--stop-after", 500),
    "compare": ("compare", "tiny", "JOB", "--policy", "baseline,ofwar,all_fast", "--precondition", "steady"),
    "compare more": ("compare", "tiny", "JOB", "--policy", "baseline,ofwar,all_fast,separate,wear_adaptive", "--stop-after", 500),
    "compare variants": ("compare", "tiny", "JOB", "--vary", "ftl.overprovisioning=0.07,0.28", "--stop-after", 500),
    "lifetime": ("lifetime", "tiny", "TRACE", "--wear-limit", 1),
    "lifetime extrapolated": ("lifetime", "tiny", "TRACE", "--method", "extrapolate", "--intervals", 3),
    "cell parts": ("cell", "parts"),
    "cell part": ("cell", "parts", "--cell", "ofwar-mlc"),
    "cell vth": ("cell", "vth", "--cell", "volt-tlc"),
    "cell rber": ("cell", "rber", "--cell", "volt-qlc", *CONDITIONS),
    "cell modes": ("cell", "modes", "--cell", "ofwar-mlc", "--pe", "1000,5000", "--retention", "1d,4d,7d,30d,90d,1y,10y"),
    "cell program": ("cell", "program", "--cell", "volt-tlc"),
    "cell limits": ("cell", "limits", "--cell", "ofwar-mlc", "--pe", "1000", "--step", "0.2,0.25,0.3,0.35,0.4,0.45,0.5"),
    "cell endurance": ("cell", "endurance", "--cell", "dpes-mlc", "--retention", "1d,4d,7d,30d,90d,1y,10y"),
    "cell budget": ("cell", "budget", "--cell", "ofwar-mlc", "--pe", "100,1000,2000,5000,8000,10000"),
    "cell monte-carlo": ("cell", "monte-carlo", "--cell", "volt-tlc", "--cells", 10_000),
    "trace info": ("trace", "info", "TRACE"),
    "trace retention": ("trace", "retention", "TRACE"),
    "trace access": ("trace", "access", "TRACE"),
    "trace gaps": ("trace", "gaps", "TRACE"),
    "trace fit": ("trace", "fit", "TRACE", "--out", "fitted.toml"),
    "experiments": ("paper",),
}


def lines(words, width, *, job, trace):
    """Returns the lines of the output of a command on a terminal."""
    files = {"JOB": job, "TRACE": trace}
    words = [str(files.get(word, word)) for word in words]
    done = CliRunner().invoke(app, words, env={"COLUMNS": str(width), "NO_COLOR": "1"}, prog_name="ssdlab")
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def words_of(shown):
    """Returns the words of a table, without line breaks, rules, and what differs between equal runs."""
    return sorted(re.sub(r"[─×]", " ", " ".join(shown)).split())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_no_line_is_wider_than_the_terminal(job, examples, tmp_path, monkeypatch, name, width):
    monkeypatch.chdir(tmp_path)
    shown = lines(TABLES[name], width, job=job, trace=examples / "trace.csv.gz")
    assert {line: cell_len(line) for line in shown if cell_len(line) > width} == {}
    assert "…" not in "".join(shown)
    (tmp_path / "fitted.toml").unlink(missing_ok=True)
    wide = lines(TABLES[name], 300, job=job, trace=examples / "trace.csv.gz")
    # Every word is there; a table below another repeats its first column.
    assert {*words_of(wide)} <= {*words_of(shown)}


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_of_several_streams_fit(tmp_path, monkeypatch, width):
    monkeypatch.chdir(tmp_path)
    job = tmp_path / "jobs.fio"
    job.write_text("[global]\nnumber_ios=900\n[a reader with a name that is long]\nrw=randread\n[writer]\nrw=randwrite\n")
    for words in (("run", "tiny", "JOB"), ("compare", "tiny", "JOB", "--policy", "baseline,ofwar")):
        shown = lines((*words, "--precondition", "fill"), width, job=job, trace=None)
        assert max(map(cell_len, shown)) <= width
        assert sum("a reader with a name that is long" in line for line in shown) >= 1


@pytest.mark.parametrize("width", [80, 120])
def test_a_cause_stands_in_words_beside_its_times(job, width):
    words = ("run", "pcie5-enterprise-8tb", "JOB", "--stop-after", 500, "--precondition", "none")
    shown = lines(words, width, job=job, trace=None)
    head = next(line for line in shown if "mean time by cause" in line)
    assert head.split() == ["mean", "time", "by", "cause", "read", "write"]
    causes = "\n".join(shown[shown.index(head) :])
    assert re.search(r"transfer on the host link +[\d.]+ [un]s +[\d.]+ %", causes)
    assert "waiting: a place in a submission queue " in causes
    assert not re.search(r"die_|_wait|host_queue", causes)


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_an_experiment_fits(tmp_path, monkeypatch, width):
    def small(setting):
        """Does little."""
        what = "write amplification of a drive in steady state with few spare blocks"
        for published in ("1", "between 3.5 and 4.25"):
            yield papers.Entry(
                work="A work of several authors in a journal of some length (2014)",
                where="section 4.2, figure 17",
                what=what,
                published=published,
                standing="stated",
                ours=1.0,
                shown="1.000",
                low=0.5,
                high=1.5,
            )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "EXPERIMENTS", {"small": small})
    shown = lines(("paper", "small"), width, job=None, trace=None)
    assert max(map(cell_len, shown)) <= width
    assert any("1.000" in line for line in shown)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits(name, width):
    shown = lines((*name.split(), "--help"), width, job=None, trace=None)
    assert max(map(cell_len, shown)) <= width


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("command", ["sweep", "optimise"])
def test_results_of_many_runs_fit(examples, tmp_path, monkeypatch, command, width):
    monkeypatch.chdir(tmp_path)
    words = (command, examples / f"{command}.toml", "--out", "out", *(("--trials", 8) if command == "optimise" else ()))
    assert max(map(cell_len, lines(words, width, job=None, trace=None))) <= width


def test_columns_that_do_not_fit_go_into_tables_below():
    table = Table(*(f"column {number}" for number in range(6)), title="numbers", box=None)
    for column in table.columns:
        column.no_wrap = True
    table.add_row(*("x" * 20 for _ in range(6)))
    with (console := Console(width=70)).capture() as shown:
        put(console, table)
    text = shown.get()
    assert max(map(cell_len, text.splitlines())) <= 70
    assert [text.count(f"column {number}") for number in range(6)] == [3, 1, 1, 1, 1, 1]
    assert text.count("numbers") == 1
    with (console := Console(width=200)).capture() as shown:
        put(console, table)
    assert len(shown.get().splitlines()) == 3


def test_a_single_cell_that_is_too_wide_is_folded():
    table = Table("name", "value", box=None)
    for column in table.columns:
        column.no_wrap = True
    table.add_row("long", "0123456789" * 12)
    with (console := Console(width=60)).capture() as shown:
        put(console, table)
    assert max(map(cell_len, shown.get().splitlines())) <= 60
    assert "".join(shown.get().split()).count("0123456789") >= 10


def test_a_file_has_wide_tables(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = CliRunner().invoke(app, ["presets"]).stdout.splitlines()
    assert len(shown) == 1 + len(ssdlab.presets())
    assert max(map(cell_len, shown)) > 80


def test_the_policies_are_listed(cli):
    listed = cli("policies").stdout
    documents = json.loads(cli("policies", "--json").stdout)
    assert {one["name"]: one["description"] for one in documents} == ssdlab.policies()
    assert all(name in listed for name in ssdlab.policies())
