"""How pages look and are operated: at the width of a telephone, dark, by keyboard, and to an accessibility checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ssdlab
from chromium import Tab, tab

KINDS = ["run", "compare", "sweep", "optimise", "chart"]
JOB = "rw=randrw\nbs=4k\niodepth=8\nnumber_ios=3000\nnorandommap=1\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind: with two streams, read errors, several runs, a search, and one chart alone."""
    folder = tmp_path_factory.mktemp("pages")
    errors = ["ecc.errors={kind='constant',rates=[2.7e-3]}", "ecc.plan='read_retry'"]
    two = ssdlab.Workload.from_text(f"[first]\n{JOB}[second]\n{JOB}")
    one = ssdlab.run("tiny", two, precondition="steady", set=errors)
    (folder / "run.html").write_text(one.report(), encoding="utf-8")
    both = ssdlab.compare("tiny", ssdlab.Workload.from_text(f"[j]\n{JOB}"), ["baseline", "all_fast"], precondition="steady")
    (folder / "compare.html").write_text(both.report(), encoding="utf-8")
    job = folder / "job.fio"
    job.write_text(f"[j]\n{JOB}")
    spec = {"title": "a sweep", "drive": "tiny", "workload": str(job), "seeds": 2, "precondition": "steady"}
    vary = {"ftl.victim": ["greedy", "fifo"], "ftl.overprovisioning": [0.1, 0.28]}
    swept = ssdlab.sweep({**spec, "vary": vary}, folder / "swept", jobs=1)
    (folder / "sweep.html").write_text(swept.report(), encoding="utf-8")
    search = {
        "title": "a search",
        "drive": "tiny",
        "workload": str(job),
        "precondition": "steady",
        "search": {"ftl.victim": {"choices": ["greedy", "fifo"]}, "ftl.overprovisioning": {"low": 0.1, "high": 0.3}},
        "objective": [
            {"key": "latency.all.mean_ns", "direction": "minimise"},
            {"key": "write_amplification", "direction": "minimise"},
        ],
        "optimise": {"sampler": "random", "trials": 5},
    }
    (folder / "optimise.html").write_text(ssdlab.optimise(search, folder / "found", jobs=1).report(), encoding="utf-8")
    one.plot_latency().save(folder / "chart.html")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """A tab of a browser."""
    with tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


#: Parts of a page that reach beyond its window, those in a frame that scrolls by itself left out, and texts that their
#: own cell or card clips.
BEYOND = """(() => {
  const all = [...document.querySelectorAll("body *")];
  const beyond = all.filter((part) => {
    const frame = part.closest(".scroll, pre");
    return (!frame || frame === part) && part.getBoundingClientRect().right > innerWidth + 0.5;
  });
  const clipped = [...document.querySelectorAll(".card, .card *, table.wraps td, h1, h2, h3, .keys button")]
    .filter((part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1);
  const drawn = [...document.querySelectorAll(".figure .main-svg")]
    .filter((part) => part.clientWidth > part.closest(".figure").clientWidth + 0.5);
  const page = document.documentElement.scrollWidth > innerWidth ? [document.documentElement] : [];
  return [...page, ...beyond, ...clipped, ...drawn].map((part) => `${part.tagName} ${part.id} ${part.textContent.slice(0, 60)}`);
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 800, 1400])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_fits_its_window(pages, window, kind, width):
    window.open(pages[kind], width)
    assert window.value("innerWidth") == width
    assert window.value(BEYOND) == []


#: Pairs of panels of a figure that stand beside each other.
BESIDE = """(() => {
  const axes = Object.entries(document.getElementById("figure-causes").layout).filter(([name]) => name.startsWith("xaxis"));
  return axes.filter(([, axis]) => axis.domain[0] > 0.3).length;
})()"""


@pytest.mark.slow
@pytest.mark.parametrize(("width", "beside"), [(400, 0), (800, 1), (1400, 1)])
def test_panels_stack_on_a_narrow_window(pages, window, width, beside):
    for kind in ("run", "compare"):
        window.open(pages[kind], width)
        assert window.value(BESIDE) == beside
