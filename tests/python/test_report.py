"""The report."""

from __future__ import annotations

import gzip
import math
import re
import shutil
import subprocess
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import plotly
import pytest

import ssdlab
from chromium import dom_of
from ssdlab import terms
from ssdlab.report import amplification, causes, content, latency, library, setting, timeline, verdict, wear
from ssdlab.run_names import run_names
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
    assert len(ssdlab.Comparison(comparison.runs * 4).report()) < 1_500_000


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


PARTS = ["Verdict", "Latency", "Causes", "Bottleneck", "Wear", "Tables"]


def test_a_report_goes_from_the_verdict_to_the_tables(result, comparison):
    for html in (body(result.report()), body(comparison.report())):
        assert re.findall(r'<h2 id="(\w+)-title">(\w+)</h2>', html) == [(name.lower(), name) for name in PARTS]
        links = re.findall(r'<a href="#(\w+)">(\w+)</a>', html.split("<nav")[1].split("</nav>")[0])
        assert links == [(name.lower(), name) for name in PARTS]
        parts = dict(zip(PARTS, re.split(r'<div class="part" id="\w+"', html)[1:], strict=True))
        assert '<div class="verdicts">' in parts["Verdict"]
        assert '<div class="cards">' in parts["Verdict"]
        for part, titles in (
            ("Latency", ("Distribution", "Why the tail is long", "Over time")),
            ("Causes", ("Where the time goes",)),
            ("Bottleneck", ("Utilisation",)),
            ("Wear", ("Write amplification", "Operating modes and wear")),
            ("Tables", ("Descriptions",)),
        ):
            places = [parts[part].index(f"<h3>{title}</h3>") for title in titles]
            assert places == sorted(places), part
    assert "<h3>Side by side</h3>" in parts["Tables"]


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
    assert "Reads solid, writes dashed." in html


WRITES = "[w]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=4000\nnorandommap=1\n"


@pytest.fixture(scope="module")
def spare(tmp_path_factory):
    """Two runs of one policy, whose drives differ in their overprovisioning."""
    job = tmp_path_factory.mktemp("spare") / "w.fio"
    job.write_text(WRITES)
    shares = ("0.07", "0.28")
    return [ssdlab.run("tiny", job, precondition="steady", set=[f"ftl.overprovisioning={share}"]) for share in shares]


def test_runs_are_named_by_what_differs(spare, comparison, job):
    assert run_names(spare) == ["overprovisioning 0.07", "overprovisioning 0.28"]
    assert run_names(comparison.runs) == ["baseline", "ofwar"]
    first = ssdlab.run("tiny", job, stop_after=500)
    job.write_text(job.read_text().replace("iodepth=8", "iodepth=2"))
    second = ssdlab.run("tiny", job, "all_fast", stop_after=500)
    assert run_names([first, second]) == ["baseline · iodepth 8", "all_fast · iodepth 2"]
    other = ssdlab.run("tiny", job, "ofwar", set=["policy.ofwar.write_threshold=16"], stop_after=500)
    usual = ssdlab.run("tiny", job, "ofwar", stop_after=500)
    seeds = [ssdlab.run("tiny", job, seed=seed, stop_after=500) for seed in (1, 2)]
    assert run_names(seeds) == ["seed 1", "seed 2"]
    assert run_names([usual, other]) == ["write_threshold 128", "write_threshold 16"]
    assert "overprovisioning 0.07 against overprovisioning 0.28" in ssdlab.Comparison(spare).report()


def test_a_verdict_says_how_a_run_differs_from_the_first(spare):
    (line,) = verdict.lines(spare)
    mean = 100 * (spare[1].latency["all"].mean_ns / spare[0].latency["all"].mean_ns - 1)
    spans = spare[1].causes["all"]
    largest = max(spans, key=spans.get)
    words = terms.words()[largest].replace("waiting: ", "waiting for ")
    assert line.startswith(f"overprovisioning 0.28: mean {mean:+.0f} %, p99 -")
    assert ", write amplification -" in line
    assert line.endswith(f"; {100 * spans[largest] / sum(spans.values()):.0f} % of the time is {words}")
    html = ssdlab.Comparison(spare).report()
    assert f'<span class="better">mean {mean:+.0f} %</span>' in html
    worse = ssdlab.Comparison(spare[::-1]).report()
    assert re.search(r'<p class="verdict"><b>overprovisioning 0.07</b>: <span class="worse">mean', worse)
    assert (verdict.change_text(0.93), verdict.change_text(1.0001), verdict.change_text(4.0)) == ("-7.0 %", "±0 %", "× 4")


def test_the_command_prints_the_verdict_below_its_table(cli, job):
    done = cli("compare", "tiny", job, "--policy", "baseline,all_fast", "--quiet")
    assert re.search(
        r"blocks erased.*^all_fast: mean -\d+ %, .*%\s+of\s+the\s+time\s+is\s+\w+", done.stdout, re.DOTALL | re.MULTILINE
    )


def test_a_verdict_says_what_a_faster_mode_promises():
    runs = [ssdlab.run("tiny", "examples/trace.csv.gz", policy) for policy in ("baseline", "all_fast")]
    (line,) = verdict.lines(runs)
    assert "; 100 % of the writes are in mode fast, which keeps data for 4d; " in line
    (back,) = verdict.lines(runs[::-1])
    assert "; 100 % of the writes are in mode normal, which keeps data for 10y; " in back


def test_ratios_are_marked_as_better_and_worse(spare):
    rows = {row.title: row for _, group in content.comparison_rows(spare) for row in group}
    assert (rows["p99"].better, rows["commands per second"].better, rows["simulated time"].better) == (-1, 1, 0)
    assert [verdict.judgement_by_ratio(ratio, -1) for ratio in (0.5, 0.999, 2.0)] == ["better", "", "worse"]
    assert [verdict.judgement_by_ratio(ratio, 1) for ratio in (0.5, 2.0)] == ["worse", "better"]
    table = ssdlab.Comparison(spare).report().split("Side by side")[1].split("</table>")[0]
    assert re.search(r'commands per second</span></th>.*?<small><span class="better">×', table)


def test_a_run_that_only_writes_has_no_second_copy_of_its_latency(spare, result):
    assert [row[0] for row in content.latency_rows(spare[0])] == ["write"]
    assert next(name for name, _ in content.comparison_rows(spare)) == "write latency"
    assert [row[0] for row in content.latency_rows(result)] == ["all", "read", "write"]


def test_the_head_states_the_setting(spare, result):
    lines = setting.lines(spare)
    assert lines[0] == "derived from tiny: 2 channels x 2 dies, 120 MiB · 2 channels with 4 dies · SLC · overprovisioning 7 %"
    assert lines[2] == "starting state: in the steady state of random writes"
    assert f"ssdlab {ssdlab.__version__}" in lines[3]
    assert lines[3].startswith("workload w.fio · policy baseline · seed 1 · ")
    assert len(lines) == 4
    assert len(setting.lines([result])) == 3


def test_a_saved_result_keeps_the_version_that_made_it(result, tmp_path):
    folder = result.save(tmp_path / "one")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(ssdlab.__version__, "0.0.9+old"))
    assert "ssdlab 0.0.9+old" in ssdlab.load_result(folder).report()


def test_causes_are_told_apart_also_without_seeing_red_green_or_blue():
    assert set(causes.COLOURS) == set(terms.causes())
    looks = {cause: causes.look(cause) for cause in causes.COLOURS}
    assert len({(look["color"], look["pattern"]["shape"]) for look in looks.values()}) == len(looks)
    # Projections of linear RGB by Vienot, Brettel and Mollon, 1999 (protanopia, deuteranopia).
    kinds = (
        [[0.112, 0.888, 0], [0.112, 0.888, 0], [0.004, -0.004, 1]],
        [[0.292, 0.708, 0], [0.292, 0.708, 0], [-0.022, 0.022, 1]],
    )
    plain = {cause: look["color"] for cause, look in looks.items() if not look["pattern"]["shape"]}
    assert {"program", "sense", "transfer", "die_host_program", "die_relocation", "die_erase", "free_space"} <= set(plain)
    for kind in kinds:
        for one, other in combinations(plain, 2):
            seen = [seen_by(kind, plain[cause]) for cause in (one, other)]
            assert math.dist(*seen) > 0.1, (one, other)


def seen_by(kind, colour):
    """Returns a colour as someone sees it who has not all three kinds of cones."""
    linear = [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
    return [max(sum(weight * part for weight, part in zip(row, linear, strict=True)), 0) ** (1 / 2.2) for row in kind]


def test_causes_stand_in_words_with_their_meanings(result, comparison):
    for html in (result.report(), comparison.report()):
        meaning = f"die_host_program: {terms.causes()['die_host_program']}"
        assert re.search(f'<button [^>]*title="{meaning}"><svg.*?</svg>waiting: other host writes</button>', html)


def test_reasons_of_programs_have_meanings(spare):
    assert set(terms.reasons()) == set(amplification.COLOURS)
    assert f'title="{terms.reasons()["gc"]}"><svg' in spare[0].report()


def test_percentiles_are_ratios_to_the_first_run(spare):
    chart = latency.percentiles(spare)
    (curve,) = chart.data
    assert curve.name == "overprovisioning 0.28"
    mine, base = (run.latency["write"] for run in reversed(spare))
    assert dict(zip(curve.x, curve.y, strict=True))["p99"] == mine.p99_ns / base.p99_ns
    assert [(line.y0, line.y1) for line in chart.layout.shapes] == [(1, 1)]
    assert base.p99_99_ns is None  # too few samples: the curve has a gap
    assert dict(zip(curve.x, curve.y, strict=True))["p99.99"] is None


def test_wear_is_a_cumulative_curve(spare):
    chart = wear.spread(spare)
    for curve, run in zip(chart.data, spare, strict=True):
        assert list(curve.y) == sorted(curve.y)
        assert (curve.y[0], curve.y[-1]) == (0, 100)
        assert curve.x[-1] >= run.summary["wear"]["max"]
    assert len({curve.line.width for curve in chart.data}) == 2  # a curve behind an equal one is still seen


def test_every_run_has_a_strip_of_its_own_over_time(comparison, examples):
    chart = timeline.traffic(comparison.runs)
    titles = [text.text for text in chart.layout.annotations if text.text.startswith("<b>")]
    assert titles[:4] == [f"<b>{measure}</b> · {run}" for measure in ("bandwidth", "commands") for run in ("baseline", "ofwar")]
    # Both strips of a measure have one scale, with the unit on its ticks.
    assert chart.layout.yaxis.range == chart.layout.yaxis2.range
    assert re.fullmatch(r" [kM]B/s", chart.layout.yaxis.ticksuffix)
    assert chart.layout.xaxis.ticksuffix in (" s", " ms")
    run = ssdlab.run("tiny", examples / "prxy-like.toml", stop_after=500, power_cut="5s,graceful", power_down="1d")
    assert [(at, text) for at, text in timeline.events(run) if "power" in text] == [(5e9, "power fails")]
    assert "power fails" in [text.text for text in run.plot_timeline().layout.annotations]


PANELS = """
const figure = document.getElementById("figure-causes");
document.body.dataset.domains = JSON.stringify([figure.layout.xaxis.domain, figure.layout.xaxis2.domain].map((d) => d[1] - d[0]));
const cells = [...document.querySelectorAll("table.compare small")].map((cell) => cell.getBoundingClientRect());
document.body.dataset.clipped = cells.filter((box) => box.right > innerWidth || box.width === 0).length + " of " + cells.length;
"""


@pytest.mark.slow
@pytest.mark.parametrize(("width", "stacked"), [(500, True), (1400, False)])
def test_panels_stack_and_no_ratio_is_clipped_on_a_narrow_window(comparison, tmp_path, width, stacked):
    html = ssdlab.Comparison([*comparison.runs, *comparison.runs]).report()
    dom = dom_of(html, PANELS, tmp_path / "page.html", width)
    domains = re.search(r'data-domains="\[([\d.]+),([\d.]+)\]"', dom)
    assert [float(share) > 0.9 for share in domains.groups()] == [stacked, stacked]
    assert re.search(r'data-clipped="0 of \d\d+"', dom)


@pytest.mark.slow
def test_a_legend_hides_and_shows_its_traces(comparison, tmp_path):
    press = """
    const button = document.querySelector('.keys[data-figure="figure-causes"] button');
    button.click();
    const traces = document.getElementById("figure-causes").data.filter((trace) => trace.name === button.dataset.name);
    document.body.dataset.hidden = traces.map((trace) => trace.visible).join();
    """
    assert 'data-hidden="legendonly,legendonly"' in dom_of(comparison.report(), press, tmp_path / "page.html")


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


def test_pages_run_their_own_scripts_and_nothing_else(tmp_path: Path):
    page = ssdlab.run("tiny", ssdlab.Workload.from_text("[j]\nrw=randwrite\nnumber_ios=50")).report()
    assert page.count("Content-Security-Policy") == 1
    assert library.secured_page(page) == page
    # The page draws its figures under its policy; what was put in later does not run.
    assert 'data-drawn="' in dom_of(page, "", tmp_path / "page.html")
    foreign = page.replace("</body>", "<script>document.body.dataset.foreign = 'yes';</script></body>")
    (tmp_path / "foreign.html").write_text(foreign, encoding="utf-8")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser is not None, "dom_of has found one"
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000"]
    done = subprocess.run(
        [browser, *flags, "--dump-dom", f"file://{tmp_path / 'foreign.html'}"], capture_output=True, text=True, check=True
    )
    assert "data-drawn" in done.stdout
    assert 'data-foreign="yes"' not in done.stdout
