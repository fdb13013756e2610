"""The cell laboratory, from Python and from the command line."""

from __future__ import annotations

import json
import re
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import ssdlab
from conftest import PATIENCE, wait_for_work
from ssdlab import cell
from ssdlab.cell import sweeps, words
from ssdlab.cli import app
from ssdlab.explore import expression
from ssdlab.units import YEAR_S

PINNED = {"pe": 10_000, "age": "4d", "step": 0.4}
#: A small code with a fast decoder, an error rate that it corrects, and one that it does not correct.
SMALL = {"code": "ldpc-256B/1KiB", "rber": [1e-2, 2.4e-2], "frames": 128}
MEASURED = """\
# of my chips
pe_cycles, days, lsb, msb
0, 0, 1e-5, 2e-5
0, 30, 2e-5, 3e-5
1000, 0, 1e-4, 2e-4
1000, 30, 3e-4, 5e-4
"""


def answer(cli, *arguments):
    done = cli("cell", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def refused(cli, *arguments):
    done = cli("cell", *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


# Pinned forms of the JSON documents


def test_rber_in_its_pinned_form(cli):
    found = answer(cli, "rber", "--cell", "ofwar-mlc", "--pe", 10000, "--age", "4d", "--step", 0.4)
    assert set(found) == {"pages", "worst", "limit"}
    assert set(found["pages"]) == {"lsb", "msb"}
    assert found["worst"] == pytest.approx(1.37e-3, rel=0.01)
    assert found["limit"] == pytest.approx(1.354e-3, rel=0.01)


def test_limits_in_their_pinned_form(cli):
    found = answer(cli, "limits", "--cell", "ofwar-mlc", "--pe", 10000, "--step", 0.4)
    assert set(found) == {"retention_s"}
    assert found["retention_s"] / 86_400 == pytest.approx(3.6, rel=0.1)


def test_modes_in_their_pinned_form(cli):
    found = answer(cli, "modes", "--cell", "ofwar-mlc", "--pe", 10000, "--retention", "4d")
    assert set(found) == {"step", "program_time_ns"}
    assert found["step"] == pytest.approx(0.398, abs=0.005)
    assert found["program_time_ns"] == pytest.approx(301_410, rel=0.01)


def test_other_answers_are_the_engine_s(cli):
    assert answer(cli, "parts") == cell.ask("parts")
    assert answer(cli, "parts", "--cell", "rram") == cell.ask("parts", cell="rram")
    assert answer(cli, "vth", "--cell", "ofwar-mlc") == cell.ask("vth", cell="ofwar-mlc")
    assert answer(cli, "program", "--cell", "ofwar-mlc", "--step", 0.3) == cell.ask("program", cell="ofwar-mlc", step=0.3)
    endurance = cell.ask("endurance", cell="dpes-mlc", retention="1y")
    assert answer(cli, "endurance", "--cell", "dpes-mlc", "--retention", "1y") == endurance
    both = answer(cli, "budget", "--cell", "ofwar-mlc", "--pe", "0,10000")
    assert both == {"pe": [0, 10_000], "budgets": [cell.ask("budget", cell="ofwar-mlc", pe=pe) for pe in (0.0, 1e4)]}


# Arrays


def test_scalars_give_plain_numbers():
    found = cell.rber("ofwar-mlc", **PINNED)
    assert (type(found.worst), found.pe, found.age_s, found.step) == (float, 10_000, 4 * 86_400, 0.4)
    assert found.worst == max(found.pages.values())
    assert found.worst == cell.ask("rber", cell="ofwar-mlc", **PINNED)["worst"]


def test_each_sequence_gives_an_axis():
    one = cell.rber("ofwar-mlc", pe=[0, 5_000, 10_000], age="4d")
    assert (one.worst.shape, one.pe.tolist(), one.age_s, one.step) == ((3,), [0, 5_000, 10_000], 345_600, 0.2)
    two = cell.rber("ofwar-mlc", pe=np.array([0, 10_000]), age=["1h", "4d", "1y"], step=(0.2,))
    assert two.pages["msb"].shape == (2, 3, 1)
    assert two.worst[1, 1, 0] == cell.rber("ofwar-mlc", pe=10_000, age="4d").worst
    assert cell.rber("ofwar-mlc", pe=[0, 10_000]).worst.shape == (2, 7)
    assert cell.limits("ofwar-mlc", pe=10_000, step=[0.2, 0.4]).retention_s.shape == (2,)
    assert cell.modes("ofwar-mlc", pe=[10_000], retention="4d").step.shape == (1,)


def test_what_cannot_be_closed_is_not_a_number():
    limits = cell.limits("ofwar-mlc", pe=[0, 15_000], step=0.5)
    assert limits.retention_s[0] == limits.longest_s
    assert np.isnan(limits.retention_s[1])
    assert np.isnan(cell.modes("ofwar-mlc", pe=40_000, retention="10y").step)


def test_densities_are_densities():
    found = cell.vth("ofwar-mlc", **PINNED)
    assert list(found.levels) == ["er", "p1", "p2", "p3"]
    assert len(found.references) == 3
    for curve in found.levels.values():
        assert np.trapezoid(curve, found.voltage) == pytest.approx(1, abs=1e-3)


def test_programming_gets_faster_with_the_step():
    slow, fast = (cell.program("ofwar-mlc", step=step) for step in (0.2, 0.4))
    assert (slow.mean_ns, fast.mean_ns) == (600_000, 300_000)
    assert fast.pages["lsb"].probability.sum() == pytest.approx(1)


def test_the_budget_adds_up():
    found = cell.budget("ofwar-mlc", pe=[0, 10_000])
    assert np.allclose(sum(found.shares.values()) + found.free, found.window)
    assert found.closes.all()
    solved = cell.budget("ofwar-mlc", retention="4d", solve="step")
    assert solved.solved[0]["step"] > 0.2
    assert solved.free == pytest.approx(0, abs=1e-3)
    unknown = cell.budget("rram")
    assert np.isnan(unknown.window)
    assert unknown.shares == {}


def test_gentler_erases_wear_less():
    found = cell.endurance("dpes-mlc", retention="1y")
    assert found.pe_cycles == pytest.approx(3_000, rel=0.01)
    wear = {(one.mode, one.speed): one.effective_wear for one in found.erase_modes}
    assert (wear["EV4", "slow"] < wear["EV0", "fast"]).all()


def test_parts_say_how_each_number_is_known():
    assert "ofwar-mlc" in [row.name for row in cell.parts()]
    for row in cell.parts():
        for one in cell.part(row.name).parameters:
            assert one.standing in ("stated", "found", "derived", "recalled", "assumed")
            assert one.source


def test_measurements_are_a_cell(cli, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(MEASURED)
    assert cell.rber(path, pe=1000, age="30d").worst == pytest.approx(5e-4)
    assert answer(cli, "rber", "--cell", path, "--pe", 1000, "--age", "30d")["worst"] == pytest.approx(5e-4)
    assert str(path) in cli("cell", "rber", "--cell", path, "--pe", "0,1000", "--age", "1d").stdout
    beyond = cli("cell", "rber", "--cell", path, "--pe", 5000)
    assert beyond.returncode == 0
    assert cell.rber(path, pe=5000).warnings[0] in beyond.stderr


# Long measurements


def test_monte_carlo_does_not_depend_on_the_threads():
    one, many = (cell.monte_carlo("ofwar-mlc", 5_000_000, threads=threads, **PINNED) for threads in (1, 3))
    assert one.to_dict() == many.to_dict()
    assert sum(one.wrong.values()) > 1_000
    assert all(abs(z) < 4 for z in one.z.values())
    # Each piece has a random stream of its own.
    half, whole = (cell.monte_carlo("ofwar-mlc", cells, **PINNED) for cells in (2_000_000, 4_000_000))
    assert whole.wrong["lsb"] != 2 * half.wrong["lsb"]
    assert cell.monte_carlo("ofwar-mlc", 1_000, seed=2).cells == 1_000


def test_a_code_is_measured_kept_and_taken_up(tmp_path, monkeypatch):
    path = tmp_path / "small.json"
    first = cell.code(**SMALL, out=path, threads=1)
    assert [point.frames for point in first.soft[0].points] == [128, 128]
    assert first.soft[0].column("failure").tolist()[0] == 0
    assert first.soft[0].points[1].failed > 64
    assert cell.load_code(path) == first == cell.code(**SMALL, threads=3)
    asked: list[str] = []
    real = cell.codes.ask
    monkeypatch.setattr(cell.codes, "ask", lambda what, **question: asked.append(what) or real(what, **question))
    assert cell.code(**SMALL, out=path) == first
    assert "code_count" not in asked
    # Only the additional point is counted, and the file then holds all three.
    more = cell.code(**{**SMALL, "rber": [1.8e-2, 2.4e-2]}, out=path)
    assert [point.rber for point in more.soft[0].points] == pytest.approx([1e-2, 1.8e-2, 2.4e-2])
    assert asked.count("code_count") == 2
    assert cell.load_code(path) == more


def test_rounds_count_each_chunk_once():
    found = cell.code("ldpc-256B/1KiB", rber=1.8e-2, frames=2_048, failures=10_000).soft[0].points[0]
    whole = cell.ask("code_count", code="ldpc-256B/1KiB", regions=found.regions, seed=1, chunk=0, chunks=32)
    assert {name: getattr(found, name) for name in whole} == whole


def test_a_measurement_replaces_no_other(tmp_path):
    path = tmp_path / "small.json"
    cell.code(**SMALL, out=path)
    before = path.read_text()
    with pytest.raises(ssdlab.InputError, match=r"seed = 1, not 2.*force=True"):
        cell.code(**SMALL, seed=2, out=path)
    assert path.read_text() == before
    cell.code(**SMALL, seed=2, out=path, force=True)
    assert cell.load_code(path).seed == 2
    path.write_text("{}")
    with pytest.raises(ssdlab.InputError, match="not a measurement of a code"):
        cell.code(**SMALL, out=path)
    assert path.read_text() == "{}"


def test_a_measured_code_protects_a_cell(tmp_path):
    path = tmp_path / "small.json"
    measured = cell.code("ldpc-256B/1KiB", rber=[1e-2, 1.2e-2, 2.4e-2], frames=8_000, out=path)
    assert 1.2e-2 < measured.limit() < 2.4e-2
    assert 0 < cell.rber("ofwar-mlc", code=path).limit < measured.limit()


def test_a_cell_s_channel_varies_with_its_wear():
    found = cell.code("ldpc-256B/1KiB", cell="ofwar-mlc", pe=[10_000, 20_000], step=0.4, age="4d", frames=64)
    assert found.channel == {"varies": "pe", "cell": "ofwar-mlc", "step": 0.4, "age": "4d"}
    assert found.soft[0].column("at").tolist() == [10_000, 20_000]
    assert found.soft[0].points[0].rber == pytest.approx(1.37e-3, rel=0.01)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_counted(start, tmp_path):
    out = tmp_path / "code.json"
    options = ("--code", "ldpc-256B/1KiB", "--rber", "0.005,0.024", "--frames", "100000000", "--out", out, "--json")
    # The file is locked when the measurement begins: an interrupt before that ends the process without a result.
    running = start("cell", "code", *options, lock=tmp_path / ".code.json.lock")
    wait_for_work(running, 5.0)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "partial" in stderr
    kept = cell.load_code(out)
    assert kept.status == "partial"
    assert kept.to_dict() == json.loads(stdout)
    # The second point was complete after the first round.
    assert kept.soft[0].points[1].failed >= 50


# Charts


@pytest.mark.parametrize(
    ("what", "question", "titles"),
    [
        ("vth", {}, ("threshold voltage (V)", "density (1/V)", "R3")),
        ("limits", {"pe": 10_000, "step": 0.4}, ("program/erase cycles", "retention limit", "100 y", "10,000 cycles")),
        ("limits", {"pe": 10_000, "step": [0.2, 0.4]}, ("program step (V)", "retention limit")),
        ("modes", {"cell": "rr-mlc", "pe": 3_000, "retention": "1y"}, ("promised retention", "mean program time")),
        ("endurance", {"cell": "dpes-mlc", "step": None, "retention": "1y"}, ("effective wear", "EV4 slow")),
        ("endurance", {"cell": "mlc-2y", "step": None, "retention": "1y"}, ("promised retention", "rated: 3,000")),
        ("budget", {"pe": [0, 12_500]}, ("share of the window (V)", "12,500", "free", "window: 3.59 V")),
        ("rber", {"pe": [0, 5_000, 10_000], "age": "4d", "step": None}, ("program/erase cycles", "raw bit error rate", "4 d")),
    ],
)
def test_charts_are_drawn(tmp_path, what, question, titles):
    chart = sweeps.SWEEPS[what](**{"cell": "ofwar-mlc", **question})
    text = chart.save(tmp_path / "chart.svg").read_text()
    assert [title for title in titles if title not in text] == []
    html = chart.save(tmp_path / "chart.html").read_text()
    assert "Plotly.newPlot" in html
    assert not re.search(r"<(script|img|link)[^>]*\s(src|href)=", html)


def test_a_chart_is_asked_for_on_the_command_line(cli, tmp_path):
    picture = tmp_path / "chart.svg"
    asked = ("rber", "--cell", "ofwar-mlc", "--age", "4d", "--plot", picture)
    done = cli("cell", *asked)
    assert done.returncode == 0, done.stderr
    assert f"wrote {picture}" in done.stderr
    text = picture.read_text()
    assert all(title in text for title in ("age of the data", "raw bit error rate", "15,000 cycles", "corrected: 1.35e-03"))
    assert "--force" in refused(cli, *asked)
    assert picture.read_text() == text
    assert cli("cell", *asked, "--force").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chart.svg", "here"]


def test_a_measurement_is_drawn(cli, tmp_path):
    picture, kept = tmp_path / "chart.svg", tmp_path / "code.json"
    arguments = ("code", "--code", "ldpc-256B/1KiB", "--rber", "0.018,0.024", "--frames", 64, "--out", kept, "--plot", picture)
    done = cli("cell", *arguments)
    assert done.returncode == 0, done.stderr
    assert "not enclosed by these points" in done.stdout
    assert "failure rate of codewords" in picture.read_text()
    assert cell.load_code(kept).status == "complete"


@pytest.mark.slow
def test_equal_charts_are_equal_files(tmp_path):
    chart = cell.vth("ofwar-mlc").chart()
    for ending in ("html", "svg", "png", "pdf"):
        one, two = (chart.save(tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two"))
        assert one == two
    assert one.startswith(b"%PDF")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_replaces_nothing_without_force(tmp_path):
    path = tmp_path / "chart.png"
    path.write_text("mine")
    chart = cell.rber("ofwar-mlc", age=["1h", "1d", "1y"]).chart()
    with pytest.raises(ssdlab.InputError, match="it exists"):
        chart.save(path)
    assert path.read_text() == "mine"
    chart.save(path, force=True)
    assert path.stat().st_size > 5_000


def test_without_matplotlib_a_picture_is_refused(tmp_path, monkeypatch):
    chart = cell.vth("ofwar-mlc").chart()
    monkeypatch.setattr("ssdlab.charts.has_matplotlib", lambda: False)
    with pytest.raises(ssdlab.InputError, match="pip install matplotlib"):
        chart.save(tmp_path / "chart.png")
    assert chart.save(tmp_path / "chart.html").is_file()


def test_json_and_plot_go_together(cli, tmp_path):
    found = answer(cli, "rber", "--cell", "ofwar-mlc", "--age", "4d", "--plot", tmp_path / "chart.html")
    assert "worst" in found
    assert (tmp_path / "chart.html").is_file()


# Terminal output


def test_tables_are_in_units_people_read(cli):
    beyond = cli("cell", "rber", "--cell", "ofwar-mlc", "--pe", 10000, "--age", "4d", "--step", 0.4).stdout
    assert beyond.splitlines()[0] == "ofwar-mlc · bch-110/4KiB · corrects 1.35e-03"
    assert "1.37e-03 *" in beyond
    assert "5.73e-04 *" not in beyond
    limits = cli("cell", "limits", "--cell", "ofwar-mlc", "--pe", "3000,10000", "--step", "0.4,0.5").stdout
    assert all(text in limits for text in ("> 100 y", "3.54 d", "none", "0.4 V", "300.0 us"))
    modes = cli("cell", "modes", "--cell", "ofwar-mlc", "--pe", 10000, "--retention", "4d").stdout
    assert all(text in modes for text in ("kept 4 d", "0.3977 V", "301.7 us"))
    assert "recalled" in cli("cell", "parts", "--cell", "ofwar-mlc").stdout
    assert "deviations" in cli("cell", "monte-carlo", "--cell", "ofwar-mlc", "--cells", 10_000).stdout
    assert "EV4" in cli("cell", "endurance", "--cell", "dpes-mlc", "--retention", "1y").stdout
    assert "it closes; wear:" in cli("cell", "budget", "--cell", "ofwar-mlc", "--solve", "wear").stdout
    given = cli("cell", "rber", "--cell", "ofwar-mlc", "--code", "ldpc-448B/4KiB", "--soft-levels", 2, "--temperature", 55)
    assert given.stdout.startswith("ofwar-mlc · ldpc-448B/4KiB · soft levels 2 · corrects ")
    assert "temperature 55" in given.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("rber", "--cell", "ofwar-mcl"), "did you mean `ofwar-mlc`?"),
        (("rber", "--cell", "ofwar-mlc", "--pe", "1,x"), '--pe 1,x: "x": expected a number'),
        (("rber", "--cell", "ofwar-mlc", "--pe", "nan"), "pe: expected finite numbers"),
        (("rber", "--cell", "ofwar-mlc", "--pe", "-1"), "pe: -1"),
        (("rber", "--cell", "ofwar-mlc", "--age", "4"), "without a unit"),
        (("rber", "--cell", "ofwar-mlc", "--code", "turbo-3/4KiB"), "expected a code such as"),
        (("rber", "--cell", "ofwar-mlc", "--code", "none.json"), "none.json: no such file"),
        (("rber", "--cell", "none.csv"), "none.csv: no such file"),
        (("rber", "--cell", "ofwar-mlc", "--plot", "chart.gif"), "expected a name in .html, .png, .svg, .pdf"),
        (("rber", "--cell", "ofwar-mlc", "--force"), "no file is given"),
        (("vth", "--cell", "rram"), "ask `rber`"),
        (("vth", "--cell", "ofwar-mlc", "--pe", "1,2"), "2 values"),
        (("modes", "--cell", "rram"), "one program step only"),
        (("budget", "--cell", "ofwar-mlc", "--solve", "peace"), "unknown quantity `peace`"),
        (("budget", "--cell", "rram", "--plot", "chart.html"), "no shares of a window"),
        (("code",), "code: expected one, such as ldpc-448B/4KiB"),
        (("code", "--code", "bch-8/512B", "--soft-levels", 1), "hard decisions only"),
        (("code", "--code", "bch-8/512B", "--out", "x.html", "--plot", "x.html"), "the same file"),
        (("monte-carlo", "--cell", "rram"), "no threshold voltages"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    # Run in this process for speed, because there are many cases.
    done = CliRunner().invoke(app, ["cell", *map(str, arguments)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_sequences_without_values_are_refused():
    for question in ({"pe": []}, {"age": []}, {"step": ()}):
        with pytest.raises(ssdlab.InputError, match="expected at least one"):
            cell.rber("ofwar-mlc", **question)
    with pytest.raises(ssdlab.InputError, match="pe: no values"):
        cell.budget("ofwar-mlc", pe=[])


def test_entries_of_the_erase_table_are_replaced(cli):
    given = cli("cell", "endurance", "--cell", "dpes-mlc", "--retention", "1y", "--erase-wear", "EV0:fast:5=0.5", "--json")
    assert json.loads(given.stdout)["erase_modes"][0]["effective_wear"][5] == 0.5
    wrong = cli("cell", "endurance", "--cell", "dpes-mlc", "--erase-wear", "EV0:fast=0.5")
    assert wrong.returncode == 2
    assert "such as EV0:fast:5=0.9" in wrong.stderr


def test_a_block_differs_from_the_mean():
    mean = cell.rber("ofwar-mlc", pe=9_000, age="1d").worst
    factors = [cell.rber("ofwar-mlc", pe=9_000, age="1d", block=block, seed=1).worst / mean for block in range(20)]
    assert min(factors) < 0.9 < 1.1 < max(factors)


def test_numpy_numbers_are_numbers_and_other_things_are_refused():
    for pe in np.array([1_000, 2_000]):
        assert cell.rber("ofwar-mlc", pe=pe).worst > 0
    for wrong in ({"cell": 5}, {"cell": "ofwar-mlc", "pe": [[1.0], [2.0]]}, {"cell": "ofwar-mlc", "code": 5}):
        with pytest.raises(ssdlab.InputError):
            cell.rber(**wrong)


def test_error_rates_of_their_own_have_no_wear():
    with pytest.raises(ssdlab.InputError, match="leave pe, age and step away"):
        cell.code("ldpc-256B/1KiB", cell="ofwar-mlc", rber=1e-3, pe=3_000)


def test_a_step_that_keeps_a_promise_is_found_wherever_it_is():
    """With a very narrow step, the level of a one-bit cell is too low to keep data for a year."""
    step = cell.modes("volt-slc", pe=30_000, retention="1y").step
    assert step > 0.4
    assert cell.limits("volt-slc", pe=30_000, step=step).retention_s >= 0.999 * YEAR_S


def test_a_year_is_the_same_everywhere():
    """The unit of what is given, what is shown, and the unit of an expression in a sweep."""
    assert cell.rber("ofwar-mlc", age=["1d", "1y"]).age_s[1] == YEAR_S
    assert (words.span(YEAR_S), words.span(365 * 86_400.0)) == ("1 y", "365 d")
    assert expression.quantity("1y") == YEAR_S * 1e9


def test_the_budget_is_shown_at_the_wear_that_was_found(cli):
    shown = cli("cell", "budget", "--cell", "ofwar-mlc", "--step", 0.4, "--retention", "10y", "--solve", "wear").stdout
    assert "kept 10 y, step 0.4 V" in shown
    assert shown.splitlines()[-1].startswith("6,7")
    assert "10,000" not in shown
    wrong = cli("cell", "budget", "--cell", "tlc-72l", "--solve", "step")
    assert wrong.returncode == 2


def test_blocks_are_spread_around_the_mean():
    spread = cell.rber("ofwar-mlc", pe=9_000, blocks=100, seed=1).blocks
    assert spread is not None
    assert spread["least"] < 1 < spread["most"]
