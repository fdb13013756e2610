"""Trace analyses (retention, access, gaps), from Python and from the command line."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import ssdlab
from ssdlab import traces
from ssdlab.cli import app

SECOND = 10**9
MINUTE, HOUR, DAY, WEEK = (SECOND * span for span in (60, 3_600, 86_400, 604_800))
COLUMNS = "time=1:ns,stream=2,offset=3:sector,size=4:sector,op=5,sep=blank"
#: Two pages: the first is written at 0 and 90 s later, and its first sector again at 2 h; the second is written at 0
#: and read later.
ROWS = [
    (0, 0, 0, 16, "W"),
    (SECOND, 0, 8, 8, "R"),
    (90 * SECOND, 0, 0, 8, "W"),
    (90 * SECOND + 50_000, 0, 8, 8, "R"),
    (2 * HOUR, 0, 0, 1, "W"),
]


def written(path, rows):
    """Writes a trace to a file, and returns it as a workload with its columns."""
    path.write_text("".join(f"{at} {device} {sector} {sectors} {op}\n" for at, device, sector, sectors, op in rows))
    return ssdlab.Workload(path, columns=COLUMNS)


@pytest.fixture
def trace(tmp_path):
    """The trace of two pages."""
    return written(tmp_path / "two.txt", ROWS)


@pytest.fixture
def ask(cli, trace):
    """Runs `ssdlab trace` on the trace of two pages."""
    return lambda what, *arguments: cli("trace", what, trace.path, "--columns", COLUMNS, *arguments)


def answered(done):
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def refused(done, *words):
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


# Retention


def test_retention_by_hand(trace):
    found = traces.retention(trace)
    # Eight sectors lived 90 s, and one from then until two hours. Still present: seven sectors of the second write,
    # the second page, and the sector written last.
    assert (found.writes, found.overwritten, found.trimmed, found.unknown) == (25, 9, 0, 16)
    assert {one.name: one.writes for one in found.classes} == {
        "below a minute": 0,
        "a minute to an hour": 8,
        "an hour to a day": 1,
        "a day to a week": 0,
        "a week and longer": 0,
        "unknown (trace ended)": 16,
    }
    assert [mark.ended for mark in found.marks] == [0, 8, 9, 9]
    # When the eight sectors ended, the sector written last had not yet been observed for any time.
    assert [mark.kaplan_meier for mark in found.marks] == [0, pytest.approx(8 / 24), None, None]
    assert found.marks[1].share == 8 / 25
    assert (found.longest.ns, found.longest.ended) == (2 * HOUR, 9)
    # Of the sixteen sectors left, eight were observed for less than two hours: one of them ended, seven are censored.
    assert found.longest.kaplan_meier == pytest.approx(1 - (16 / 24) * (15 / 16))
    by_unit = traces.retention(trace, by="unit")
    assert (by_unit.by, by_unit.writes, by_unit.overwritten, by_unit.unknown) == ("unit", 4, 2, 2)
    assert ssdlab.traces is traces


def test_the_curve_falls_and_ends_where_the_estimate_does(examples):
    found = traces.retention(examples / "trace.csv.gz")
    assert (np.diff(found.curve_survives) <= 0).all()
    assert (np.diff(found.curve_ns) > 0).all()
    assert (found.curve_survives <= 1 - found.curve_ended + 1e-12).all()
    assert 1 - found.curve_survives[-1] <= found.longest.kaplan_meier + 1e-12


def naive_lifetimes(rows, grain):
    """Returns (lifetime, true if the data ended) for each sector or unit written."""
    there, found = {}, []
    for at, device, sector, sectors, op in rows:
        start, end = sector * 512, (sector + sectors) * 512
        whole = range(start // grain, -(-end // grain)) if op == "W" else range(-(-start // grain), end // grain)
        for place in whole if op != "R" else ():
            if (device, place) in there:
                found.append((at - there.pop((device, place)), True))
            if op == "W":
                there[device, place] = at
    return found + [(rows[-1][0] - at, False) for at in there.values()]


def naive_kaplan_meier(lives, at):
    """Returns the Kaplan-Meier estimate at `at` by its definition, and true if any data was observed for that long."""
    survives = 1.0
    for time in sorted({ns for ns, ended in lives if ended and ns < at}):
        watched = sum(ns >= time for ns, _ in lives)
        survives *= 1 - sum(ended and ns == time for ns, ended in lives) / watched
    return 1 - survives, any(ns >= at for ns, _ in lives)


REQUESTS = st.lists(
    st.tuples(st.integers(0, 3 * DAY), st.integers(0, 2), st.integers(0, 100), st.integers(1, 30), st.sampled_from("WWWDR")),
    min_size=1,
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(gaps=REQUESTS, grain=st.sampled_from([("sector", 512), ("unit", 4096)]))
def test_random_traces_live_as_by_the_definition(tmp_path_factory, gaps, grain):
    times = np.cumsum([0, *(gap for gap, *_ in gaps[1:])]).tolist()
    rows = [(at, *rest) for at, (_, *rest) in zip(times, gaps, strict=True)]
    by, size = grain
    found = traces.retention(written(tmp_path_factory.getbasetemp() / "random.txt", rows), by=by)
    lives = naive_lifetimes(rows, size)
    assert (found.writes, found.unknown) == (len(lives), sum(not ended for _, ended in lives))
    for mark in found.marks:
        assert mark.ended == sum(ended and ns < mark.ns for ns, ended in lives)
        share, known = naive_kaplan_meier(lives, mark.ns)
        if mark.kaplan_meier is None:
            assert not known
        else:
            assert known or share > 1 - 1e-9
            assert mark.kaplan_meier - 1e-9 <= share <= mark.kaplan_meier_max + 1e-9
    if lives:
        share, _ = naive_kaplan_meier(lives, float("inf"))
        assert found.longest.kaplan_meier - 1e-9 <= share <= found.longest.kaplan_meier_max + 1e-9
        assert found.longest.ns == max(ns for ns, _ in lives)


def test_retention_from_the_command_line(ask, trace):
    assert answered(ask("retention", "--json")) == traces.retention(trace).to_dict()
    assert answered(ask("retention", "--by", "unit", "--json"))["writes"] == 4
    shown = ask("retention").stdout
    assert "25 sectors of 512 B written by 3 requests" in shown
    row = next(line for line in shown.splitlines() if "a minute to an hour" in line)
    assert row.split()[5:] == ["8", "0", "32.0", "%", "32.0", "%", "33.3", "%"]
    # The second pass overwrites all data that the first one left.
    twice = answered(ask("retention", "--json", "--repeat", 2, "--time-scale", 2))
    assert (twice["ends"]["overwritten"], twice["ends"]["unknown"]) == (9 + 16 + 9, 16)


# Access


def test_access_by_hand(trace):
    found = traces.access(trace)
    assert (found.pages, found.reads, found.writes, found.read_accesses, found.write_accesses) == (2, 2, 3, 2, 4)
    assert {name: one.pages for name, one in found.classes.items()} == {"read_only": 0, "write_only": 1, "interleaved": 1}
    # The first write touches both pages.
    assert found.classes["write_only"].write_request_share == pytest.approx(2.5 / 3)
    assert found.classes["write_only"].write_access_share == 3 / 4
    assert found.classes["interleaved"].read_access_share == 1
    # The second page has the accesses W R R. The window W R classifies it correctly; its first write alone does not.
    assert [window.accuracy for window in found.windows[:4]] == [3 / 6, 4 / 6, 5 / 6, 5 / 6]
    assert found.windows[2].full_share == 2 / 6
    assert found.windows[3].full_accuracy is None


def test_random_accesses_are_told_as_by_the_definition(tmp_path):
    random = np.random.default_rng(1)
    biased = random.random(40) ** 3
    rows = []
    for at in range(3_000):
        page = int(random.integers(0, 40))
        sectors = 8 * int(random.integers(1, 4))
        rows.append((at, 0, 8 * page, sectors, "W" if random.random() < biased[page] else "R"))
    lists = defaultdict(list)
    for _, _, sector, sectors, op in rows:
        for page in range(sector // 8, (sector + sectors) // 8):
            lists[page].append(op)

    def kind_of(ops):
        return "R" if ops.count("R") == len(ops) else "W" if ops.count("W") == len(ops) else "both"

    def almost(ops):
        share = ops.count("R") / len(ops)
        return "R" if share > 0.95 else "W" if share < 0.05 else "both"

    found = traces.access(written(tmp_path / "random.txt", rows))
    for size, window in enumerate(found.windows, 1):
        right = [
            kind_of(ops[max(0, end - size) : end]) == almost(ops) for ops in lists.values() for end in range(1, len(ops) + 1)
        ]
        assert window.accuracy == pytest.approx(np.mean(right))


def test_access_from_the_command_line(ask, trace):
    assert answered(ask("access", "--json")) == traces.access(trace).to_dict()
    shown = ask("access").stdout
    assert "2 pages of 4 KiB · 2 reads, 3 writes" in shown
    row = next(line for line in shown.splitlines() if line.strip().startswith("2 accesses"))
    assert row.split()[2:4] == ["66.7", "%"]


# Gaps


def test_gaps_by_hand(trace, tmp_path):
    found = traces.gaps(trace, of="all")
    assert (found.effective_ns, found.program_time_ns, found.dies) == (40_625, 1_300_000, 32)
    assert [one.gaps for one in found.bins] == [0, 1, 3]
    assert sum(one.gaps for one in found.histogram) == found.gaps == 4
    rows = [(at, 0, 0, 8, "W") for at in (0, 0, 40_000, 80_001, 160_001)]
    paced = written(tmp_path / "paced.txt", rows)
    found = traces.gaps(paced, effective="40us")
    assert [one.gaps for one in found.bins] == [2, 2, 0]
    assert [one.share for one in found.bins] == [0.5, 0.5, 0]
    assert found.program_time_ns is None
    assert [one.gaps for one in traces.gaps(paced, program_time="80us", dies=2).bins] == [2, 2, 0]
    assert [one.gaps for one in traces.gaps(paced, program_time="80us", dies=4).bins] == [1, 1, 2]


def test_gaps_from_the_command_line(ask, trace):
    assert answered(ask("gaps", "--json")) == traces.gaps(trace).to_dict()
    assert answered(ask("gaps", "--json", "--of", "all", "--effective", "50us"))["bins"][0]["gaps"] == 1
    # At a time scale of 100, 50 us become half a microsecond.
    faster = answered(ask("gaps", "--json", "--of", "all", "--effective", "400ns", "--time-scale", 100))
    assert (faster["time_scale"], faster["bins"][1]["gaps"]) == (100, 1)
    shown = ask("gaps", "--program-time", "1ms", "--dies", 25).stdout
    assert "3 writes in 2.000 h · as recorded · T_effective 40.00 us (1.000 ms over 25 dies)" in shown


# Charts and bad input


@pytest.mark.parametrize("what", ["retention", "access", "gaps"])
def test_charts_are_drawn(ask, trace, tmp_path, what):
    for ending in ("html", "png", "svg", "pdf"):
        drawn = getattr(traces, what)(trace).chart().save(tmp_path / f"chart.{ending}")
        assert drawn.stat().st_size > 1000
    out = tmp_path / "chart.svg"
    refused(ask(what, "--plot", out), "it exists", "--force")
    done = ask(what, "--plot", out, "--force")
    assert (done.returncode, f"wrote {out}" in done.stderr) == (0, True), done.stderr


def test_a_chart_of_the_accuracy(trace, ask, tmp_path):
    chart = traces.access(trace).accuracy_chart()
    assert list(chart.series[0].y) == [window.accuracy for window in traces.access(trace).windows]
    out = tmp_path / "accuracy.svg"
    assert ask("access", "--draw", "accuracy", "--plot", out).returncode == 0
    assert "what a window tells" in out.read_text()


def test_charts_of_nothing(tmp_path):
    read = written(tmp_path / "read.txt", [(0, 0, 0, 8, "R"), (9, 0, 0, 8, "R")])
    for answer in (traces.retention(read), traces.access(read), traces.gaps(read)):
        for ending in ("png", "html"):
            assert answer.chart().save(tmp_path / f"nothing.{ending}", force=True).exists()
    assert traces.retention(read).notes == ("there are no writes",)
    assert traces.gaps(read).mean_ns is None
    trimmed = written(tmp_path / "trimmed.txt", [(0, 0, 0, 8, "D")])
    assert traces.access(trimmed).notes == ("there are no reads and no writes",)
    assert traces.access(trimmed).accuracy_chart().save(tmp_path / "nothing.svg").exists()


@pytest.mark.parametrize(
    ("what", "arguments", "words"),
    [
        ("retention", ["--by", "sectro"], ["sectro", "did you mean `sector`"]),
        ("retention", ["--slice", "9..3"], ["slice", "9..3"]),
        ("retention", ["--address", "wrap"], ["--address"]),
        ("access", ["--time-scale", "2"], ["--time-scale"]),
        ("access", ["--draw", "acuracy", "--plot", "x.png"], ["--draw acuracy", "shares, accuracy"]),
        ("access", ["--draw", "accuracy"], ["--draw accuracy", "--plot"]),
        ("access", ["--force"], ["--force"]),
        ("gaps", ["--of", "wirte"], ["wirte", "did you mean `write`"]),
        ("gaps", ["--dies", "0"], ["--dies"]),
        ("gaps", ["--effective", "40"], ["effective", "40", "unit"]),
        ("gaps", ["--effective", "40us", "--dies", "4"], ["effective", "dies"]),
        ("gaps", ["--plot", "x.bmp"], ["x.bmp", ".html"]),
        ("gaps", ["--streams", "7"], ["streams", "`7`"]),
    ],
)
def test_bad_input_is_refused(trace, tmp_path, monkeypatch, what, arguments, words):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = CliRunner().invoke(app, ["trace", what, str(trace.path), "--columns", COLUMNS, *arguments])
    assert (done.exit_code, done.stdout) == (2, ""), done.stderr
    for word in words:
        assert word in done.stderr
    assert [*(tmp_path / "here").iterdir()] == []


def test_other_things_than_traces_are_refused(cli, tmp_path, job):
    for what in ("retention", "access", "gaps"):
        refused(cli("trace", what, job), "a fio job file: expected a trace")
        refused(cli("trace", what, "none.csv"), "none.csv: no such file")
    log = tmp_path / "log"
    log.write_text("fio version 2 iolog\n/f add\n/f open\n/f write 0 4096\n/f close\n")
    refused(cli("trace", "retention", log), "iolog2 records no times")
    assert cli("trace", "access", log).returncode == 0
    with pytest.raises(ssdlab.InputError, match="address: `wrap` needs a drive"):
        traces.access(ssdlab.Workload(job.parent / "log", address="wrap"))
    with pytest.raises(ssdlab.InputError, match="not a text"):
        traces.gaps(ssdlab.Workload.from_text("x"))
