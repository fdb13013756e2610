"""Figures of results as pictures: `ssdlab plot`, and what `Result.plot_*` returns."""

from __future__ import annotations

import re

import pytest

import ssdlab
from ssdlab.cli.plot import FIGURES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures")
    job = ssdlab.Workload.from_text("[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000\nnorandommap=1")
    errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
    ssdlab.run("tiny", job, precondition="steady", set=errors).save(path / "run")
    return path / "run"


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_a_picture(cli, folder, tmp_path, name):
    for ending, begins in ((".pdf", b"%PDF-"), (".svg", b"<?xml"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")):
        file = tmp_path / f"figure{ending}"
        done = cli("plot", folder, name, "--out", file, "--title", "A title")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert done.stderr.endswith(f"wrote {file}\n")
        assert file.read_bytes().startswith(begins)


def words(svg: str) -> list[str]:
    return [re.sub(r"<[^>]*>", "", text).strip() for text in re.findall(r"<text.*?</text>", svg, re.DOTALL)]


def test_a_picture_has_what_the_figure_says(folder, tmp_path):
    result = ssdlab.load_result(folder)
    result.plot_causes().save(tmp_path / "causes.svg")
    shown = words((tmp_path / "causes.svg").read_text())
    assert {"reads", "writes", "mean latency", "share of the latency", "reading the cells", "0 %", "100 %"} <= {*shown}
    assert len(shown) == len([text for text in shown if text]), "no text is empty"
    latency = result.plot_latency()
    latency.save(tmp_path / "latency.svg")
    text = (tmp_path / "latency.svg").read_text()
    assert {*latency.layout.yaxis.ticktext} & {*words(text)} >= {"50 %", "99 %"}
    # One curve for reads and one for writes, and the dotted ends where too few samples lie beyond.
    assert text.count("stroke: #2b6ea6") >= 2 <= text.count("stroke: #d0732a")
    # Equal figures give equal files.
    latency.save(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text


def test_bars_have_their_lengths(tmp_path):
    """The drawn rectangles are as long as the numbers that they show, whatever the library does about margins."""
    from ssdlab.report import style

    chart = style.figure(200, barmode="stack")
    for name, length in (("first", 30.0), ("second", 60.0)):
        chart.add_bar(orientation="h", y=["a"], x=[length], name=name, marker_color="#123456" if length == 30.0 else "#654321")
    chart.update_xaxes(range=[0, 100])
    chart.save(tmp_path / "bars.svg")
    svg = (tmp_path / "bars.svg").read_text()
    sizes = {}
    for path, colour in re.findall(r'<path d="(M [^"]*)"[^>]*style="fill: (#\w+)', svg):
        numbers = [float(number) for number in re.findall(r"[ML] ([-\d.]+) ", path)]
        sizes.setdefault(colour, []).append((max(numbers) - min(numbers), min(numbers)))
    (first, begin), (second, after) = max(sizes["#123456"]), max(sizes["#654321"])
    assert second == pytest.approx(2 * first, rel=1e-3)
    assert after == pytest.approx(begin + first, rel=1e-3)


def test_what_cannot_be_plotted_is_refused(cli, folder, tmp_path):
    for given, complaint in (
        (("laency",), "unknown figure `laency`: expected one of latency, causes"),
        (("latency", "--out", "x.jpg"), "x.jpg: expected a name in .svg, .pdf, .png, .html"),
        (("latency", "--out", tmp_path / "no" / "x.pdf"), "no/x.pdf"),
    ):
        done = cli("plot", folder, *given)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert complaint in done.stderr
    assert cli("plot", folder, "wear").returncode == 0
    done = cli("plot", folder, "wear")
    assert done.returncode == 2
    assert "wear.pdf" in done.stderr
    assert cli("plot", folder, "wear", "--force").returncode == 0
    assert cli("plot", tmp_path / "nowhere", "wear").returncode == 2


def test_a_comparison_is_drawn_with_all_its_runs(cli, examples, tmp_path):
    both = ("compare", "tiny", examples / "randwrite.fio", "--policy", "baseline,all_fast", "--quiet", "--json")
    done = cli(*both, "--stop-after", "3000", "--out", tmp_path / "both", "--figure", tmp_path / "both.svg")
    assert done.returncode == 0, done.stderr
    assert {"baseline, write", "all_fast, write"} <= {*words((tmp_path / "both.svg").read_text())}
    assert cli("plot", tmp_path / "both", "latency", "--out", tmp_path / "again.svg").returncode == 0
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "both.svg").read_bytes()
    assert cli("plot", tmp_path / "both", "utilisation", "--out", tmp_path / "busy.svg").returncode == 0
    assert {"baseline", "all_fast"} <= {*words((tmp_path / "busy.svg").read_text())}


def test_a_figure_that_cannot_be_written_is_refused_before_the_runs(cli, tmp_path):
    (tmp_path / "there.svg").write_text("mine")
    for file, complaint in (("x.jpg", "expected a name in"), (tmp_path / "there.svg", "there.svg")):
        done = cli("compare", "tiny", "no such file.fio", "--figure", file)
        assert (done.returncode, done.stdout) == (2, "")
        assert complaint in done.stderr
        assert "no such file.fio" not in done.stderr
    assert (tmp_path / "there.svg").read_text() == "mine"


@pytest.fixture(scope="module")
def swept(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("swept") / "out"
    job = folder.parent / "job.fio"
    job.write_text("[mixed]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=2000\nnorandommap=1\n")
    spec = {"drive": "tiny", "workload": str(job), "seeds": 2}
    spec["vary"] = {"flash.channels": [1, 2, 4], "ftl.victim": ["greedy", "fifo"]}
    return ssdlab.sweep(spec, folder, jobs=1)


def test_a_number_of_a_sweep_is_drawn_over_a_field(cli, swept, tmp_path):
    chart = swept.chart("throughput.iops")
    assert [curve.name for curve in chart.series] == ["victim greedy", "victim fifo"]
    assert [list(curve.x) for curve in chart.series] == [[1, 2, 4], [1, 2, 4]]
    found = {point["flash.channels"]: one.mean for point, one in swept.estimates("throughput.iops") if "fifo" in point.values()}
    assert list(chart.series[1].y) == [found[1], found[2], found[4]]
    assert all(
        low <= mean <= high for curve in chart.series for low, mean, high in zip(curve.low, curve.y, curve.high, strict=True)
    )
    done = cli("plot", swept.folder, "latency.all.p99_ns", "--over", "ftl.victim", "--out", tmp_path / "p99.svg")
    assert done.returncode == 0, done.stderr
    shown = words((tmp_path / "p99.svg").read_text())
    assert {"channels 1", "channels 2", "channels 4", "greedy", "fifo", "ftl.victim"} <= {*shown}
    assert any(re.fullmatch(r"latency\.all\.p99 \((us|ms)\)", text) for text in shown)


def test_what_a_sweep_does_not_have_is_refused(cli, swept, folder):
    for given, complaint in (
        ((swept.folder, "latency.all.p98_ns"), "latency.all.p98_ns"),
        ((swept.folder, "latency.all.p99_99_ns"), "latency.all.p99_99_ns: no run has a value"),
        ((swept.folder, "throughput.iops", "--over", "flash.chanels"), "did you mean `flash.channels`"),
        ((folder, "latency", "--over", "flash.channels"), "--over flash.channels: the axis of a sweep"),
    ):
        done = cli("plot", *given)
        assert (done.returncode, done.stdout) == (2, "")
        assert complaint in done.stderr
