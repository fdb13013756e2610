"""Drawing of charts in both back ends: labels, marks, legends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from chromium import dom_of
from ssdlab.charts import Axis, Chart, Series
from ssdlab.drawing import looks

ROOT = Path(__file__).parents[2]

NAMES = ["hm_0", "a load with a long name", "another with a name as long", "prxy_0", "a fifth", "a sixth"]


def chart(*series: Series, x: Axis | None = None, **fields) -> Chart:
    """Returns a chart of the series."""
    return Chart("some title", x or Axis("x"), Axis("y"), series, **fields)


def page(drawn: Chart, tmp_path) -> tuple[list[dict], dict]:
    """Returns the Plotly traces and the layout in the page of a chart."""
    html = drawn.save(tmp_path / "chart.html").read_text()
    start = html.index("[", html.rindex("Plotly.newPlot("))
    traces, after = json.JSONDecoder().raw_decode(html[start:])
    layout, _ = json.JSONDecoder().raw_decode(html[start + after :].lstrip(", \n"))
    return traces, layout


def test_series_of_a_colour_differ_in_their_marks():
    looks = chart(*(Series(str(at), [1.0], [1.0]) for at in range(72))).looks()
    assert len(set(looks)) == 72


def test_points_that_are_not_joined_have_no_curve(tmp_path):
    drawn = chart(Series("a", [1.0, 2.0], [1.0, 2.0], joined=False), Series("b", [1.0, 2.0], [2.0, 1.0], points=False))
    assert [trace["mode"] for trace in page(drawn, tmp_path)[0]] == ["markers", "lines"]
    lines = [
        Series("", [1.0, 2.0], [1.0, 2.0], colour="#123456", points=points, joined=joined)
        for points, joined in ((True, True), (True, False))
    ]
    drawings = [chart(one).save(tmp_path / f"{at}.svg").read_text() for at, one in enumerate(lines)]
    curve = f"stroke: #123456; stroke-width: {looks.CURVE * looks.POINT:g}"
    assert [curve in drawing for drawing in drawings] == [True, False]


def test_a_long_title_of_an_axis_is_wrapped(tmp_path):
    drawn = Chart("title", Axis("x"), Axis("many words " * 10), (Series("a", [1.0, 2.0], [1.0, 2.0]),))
    picture = drawn.save(tmp_path / "chart.svg").read_text()
    assert ("many words " * 10).strip() not in picture
    assert picture.count("many words many words") >= 2


def test_a_series_with_a_place_looks_like_that_place():
    looks = chart(Series("a", [1.0], [1.0], colour=1), Series("b", [1.0], [1.0], colour=1, dashed=True)).looks()
    assert looks[0] == looks[1]
    assert looks[0] != chart(Series("a", [1.0], [1.0])).looks()[0]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.32, 1.2], ["0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"]),
        ([3.0, 60.0], ["5", "10", "20", "50"]),
        ([1.0, 1000.0], ["1", "10", "100", "1,000"]),
        ([1e-6, 1.0], []),
        ([0.0, float("nan")], []),
    ],
)
def test_a_short_logarithmic_axis_has_plain_numbers(tmp_path, x, expected):
    drawn = chart(Series("one", x, [1.0, 2.0]), x=Axis("x", log=True))
    assert [text for _, text in drawn.labels("x")] == expected
    picture = drawn.save(tmp_path / "chart.svg").read_text()
    assert all(f">{text}<" in picture for text in expected)
    if expected:
        assert page(drawn, tmp_path)[1]["xaxis"]["ticktext"] == expected


def test_ticks_of_times_have_their_unit_and_titles_say_what_is_better(tmp_path):
    time = Axis("mean latency [us]", log=True, better="lower")
    drawn = Chart("some title", Axis("x"), time, (Series("one", [1.0, 2.0], [10.0, 2000.0]),))
    assert [text for _, text in drawn.labels("y")] == ["10 us", "100 us", "1,000 us"]
    picture = drawn.save(tmp_path / "picture.svg").read_text()
    layout = page(drawn, tmp_path)[1]
    assert layout["yaxis"]["ticktext"] == ["10 us", "100 us", "1,000 us"]
    for title in (layout["yaxis"]["title"]["text"], picture):
        assert "mean latency [us], lower is better" in title
    assert ">100 us<" in picture


def test_a_page_of_a_chart_is_small_and_a_long_title_wraps(tmp_path):
    title = "a title that is longer than the window of a telephone is wide, with < and & in it"
    html = Chart(title, Axis("x"), Axis("y"), (Series("one", [1.0], [1.0]),)).save(tmp_path / "long.html").read_text()
    assert len(html) < 800_000
    picture = Chart(title, Axis("x"), Axis("y"), (Series("one", [1.0], [1.0]),)).save(tmp_path / "long.svg").read_text()
    assert title not in picture
    assert ">a title that is longer than the window of a telephone is wide," in picture
    assert "<h1>a title that is longer than the window of a telephone is wide, with &lt; and &amp; in it</h1>" in html


@pytest.mark.slow
@pytest.mark.parametrize(("width", "orientation"), [(500, "h"), (1400, "v")])
def test_a_legend_stands_below_a_narrow_chart(tmp_path, width, orientation):
    drawn = chart(Series("one", [1.0, 2.0], [3.0, 4.0]), Series("two", [2.0, 3.0], [3.0, 5.0]))
    look = 'document.body.dataset.legend = document.getElementById("figure-chart").layout.legend.orientation'
    html = drawn.save(tmp_path / "chart.html").read_text()
    assert f'data-legend="{orientation}"' in dom_of(html, look, tmp_path / "page.html", width)


def test_cases_are_points_under_names_that_do_not_run_together(tmp_path):
    series = (Series("one", NAMES, [1.0, 2.0, float("nan"), 4.0, 5.0, 6.0]), Series("two", NAMES, [2.0] * 6))
    text = chart(*series, cases=True).save(tmp_path / "chart.svg").read_text()
    assert all(re.search(rf"rotate\(-45[^>]*>{name}<", text) for name in NAMES)
    traces, layout = page(chart(*series, cases=True), tmp_path)
    assert {one["mode"] for one in traces} == {"markers"}
    assert layout["xaxis"]["type"] == "category"
    short = chart(Series("one", NAMES[:1], [1.0]), cases=True).save(tmp_path / "short.svg").read_text()
    assert "rotate(-45" not in short


def test_names_stand_beside_points_or_in_a_legend(tmp_path):
    series = (Series("one", [1.0, 2.0], [3.0, 4.0]), Series("two", [2.0, 3.0], [3.0, 5.0]))
    for labelled in (False, True):
        drawn = chart(*series, labelled=labelled)
        picture = drawn.save(tmp_path / f"{labelled}.svg").read_text()
        assert (picture.count(">one<"), picture.count(">two<")) == (1, 1)
        assert ("legend_1" in picture) is not labelled
        (tmp_path / "chart.html").unlink(missing_ok=True)
        traces, layout = page(drawn, tmp_path)
        assert layout["showlegend"] is not labelled
        assert [one.get("text") for one in traces] == ([["", "one"], ["", "two"]] if labelled else [None, None])


def test_colours_and_fonts_are_declared_once():
    folder = ROOT / "python/ssdlab"
    sources = [path for path in (*folder.rglob("*.py"), *folder.rglob("*.js")) if path.name != "looks.py"]
    declared = {
        path.relative_to(ROOT).as_posix(): re.findall(r"[\"']#[0-9a-fA-F]{6}\b|Segoe UI|DejaVu", path.read_text(encoding="utf-8"))
        for path in sources
    }
    assert len(declared) > 100
    assert {name: found for name, found in declared.items() if found} == {}
    sheet = (folder / "report/style.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--(\w+): (#\w+);", sheet.split("@media")[0]))
    assert (light["ink"], light["muted"], light["accent"]) == (looks.INK, looks.MUTED, looks.BLUE)
    assert looks.FONT.replace("'", '"') in sheet


def test_a_curve_has_one_look_on_a_page_and_in_a_picture(tmp_path):
    drawn = chart(Series("one", [1.0, 2.0], [3.0, 4.0], dashed=True), Series("two", [1.0, 2.0], [3.0, 5.0]))
    traces, layout = page(drawn, tmp_path)
    picture = drawn.save(tmp_path / "chart.svg").read_text()
    for trace in traces:
        line = trace["line"]
        width = line["width"] * looks.POINT
        assert f"stroke: {line['color']}" in picture
        assert re.search(rf"stroke-width: {width:g}[^\d]|stroke: {line['color']}; stroke-width: {width:g}", picture)
    assert layout["template"]["layout"]["font"]["color"] == looks.INK
    assert f"fill: {looks.INK}" in picture
