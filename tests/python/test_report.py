"""The report."""

from __future__ import annotations

import gzip
import re
from importlib.resources import files

import plotly
import pytest

import ssdlab
from chromium import dom_of
from ssdlab.report import library
from ssdlab.units import duration, scaled

FIGURES = ["latency", "causes", "timeline", "utilisation", "amplification", "modes", "wear"]


def body(html: str) -> str:
    """Returns a page without the figure library."""
    return re.sub(r'<script type="application/gzip".*?</script>', "", html, count=1, flags=re.DOTALL)


def test_a_report_is_one_page_that_needs_no_network(result):
    html = result.report()
    assert not re.search(r"<(script|img|iframe)[^>]*\ssrc=", body(html))
    assert not re.search(r"<link\b|@import|url\(", body(html))
    assert "Plotly.newPlot" in html


def test_a_page_has_at_most_a_megabyte_and_a_half(result, comparison):
    assert len(result.report()) < 1_500_000
    assert len(comparison.report()) < 1_500_000


def test_the_library_of_a_page_is_that_of_the_python_package(result):
    bundle = gzip.decompress(files("ssdlab.report").joinpath(library.BUNDLE).read_bytes()).decode()
    version = re.search(r"plotly\.js \(cartesian - minified\) v([\d.]+)", bundle)
    whole = files(plotly).joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    assert version is not None
    assert f"plotly.js v{version[1]}\n" in whole[:200]
    assert {trace.type for chart in (result.plot_causes(), result.plot_utilisation()) for trace in chart.data} <= library.KINDS


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1400])
def test_every_figure_is_drawn_and_nothing_is_wider_than_the_window(comparison, result, tmp_path, width):
    wide = "document.documentElement.scrollWidth > window.innerWidth"
    for html in (comparison.report(), result.report()):
        dom = dom_of(html, f"document.body.dataset.wide = {wide}", tmp_path / "page.html", width)
        assert 'data-drawn="yes"' in dom
        assert 'data-wide="false"' in dom
        names = re.findall(r'<div id="figure-(\w+)"', html)
        assert len(re.findall(r'<div id="figure-\w+" class="figure js-plotly-plot"', dom)) == len(names)


def test_a_report_holds_every_figure_under_a_fixed_name(result, comparison):
    for html in (result.report(), comparison.report()):
        names = re.findall(r'<div id="figure-(\w+)"', html)
        assert set(FIGURES) <= set(names)
        assert len(names) == len(set(names))


def test_a_report_states_the_headline_numbers(result):
    html = body(result.report())
    for text in (
        scaled(result.iops, "IOPS"),
        duration(result.latency["read"].mean_ns),
        duration(result.latency["write"].max_ns),
    ):
        assert text in html


def test_a_report_is_the_same_each_time(result, comparison):
    assert result.report() == result.report()
    assert comparison.report() == comparison.report()


def test_a_latency_of_zero_is_labelled_zero(examples):
    result = ssdlab.run("tiny", examples / "trace.csv.gz")
    assert result.latency["read"].max_ns == 0
    figure = result.plot_latency()
    labels = {curve.name: [label.split("<br>")[0] for label in curve.customdata] for curve in figure.data}
    assert set(labels["read"]) == {"0 ns"}
    assert "0 ns" not in labels["write"]


def test_wall_time_stands_nowhere(result):
    assert str(result.wall_s) not in body(result.report())


def test_a_partial_run_says_so(result):
    from ssdlab import Result

    partial = Result(
        result.summary_json.replace('"complete"', '"partial"'),
        drive_toml=result.drive_toml,
        workload_toml=result.workload_toml,
        latency=result.latency_table(),
        timeline=result.timeline_table(),
    )
    assert partial.status == "partial"
    assert "partial: the run was stopped" in partial.report()


def test_names_are_escaped(result):
    from ssdlab import Result

    odd = Result(
        result.summary_json,
        drive_toml="# <script>alert(1)</script>",
        workload_toml=result.workload_toml,
        latency=result.latency_table(),
        timeline=result.timeline_table(),
    )
    assert "<script>alert" not in body(odd.report())


def test_a_comparison_overlays_its_runs(comparison):
    html = comparison.report()
    assert "baseline against ofwar" in html
    assert '"name":"ofwar, write"' in html


DERIVED = """
base = "tiny"
title = "tiny with modes of its cell"
[flash]
cell = "mlc"
cell_model = "ofwar-mlc"
rated_pe_cycles = 10000
[[flash.write_mode]]
name = "normal"
derive = { retention = "10y", at_pe_cycles = 10000 }
[[flash.write_mode]]
name = "fast"
derive = { retention = "4d", at_pe_cycles = 10000 }
"""


def test_derived_modes_are_shown_in_the_cell(job):
    import ssdlab

    drive = ssdlab.Drive.from_text(DERIVED)
    run = ssdlab.run(drive, job, policy="ofwar")
    html = body(run.report())
    assert '<div id="figure-cells"' in html
    assert "Modes in the cell" in html
    # The step that lasts ten years, 0.2018 V, and its error rate after them, which equals the limit of the code.
    for text in ("0.202 (derived)", "kept 10y", "1.35e-03", "(derived)"):
        assert text in html
    again = ssdlab.run(ssdlab.Drive.from_text(run.drive_toml), job, policy="ofwar")
    assert again.drive_toml == run.drive_toml
    assert again.latency == run.latency


def test_a_drive_without_a_model_of_its_cell_has_no_such_page(job):
    import ssdlab

    run = ssdlab.run("tiny", job, set=["flash.cell=mlc"])
    assert "figure-cells" not in body(run.report())
