"""Looks and operation of pages: the width of a telephone, dark, by keyboard, to an accessibility checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import ssdlab
from chromium import FINDINGS, Tab, tab

KINDS = ["run", "compare", "sweep", "optimise", "chart", "curves"]
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
    # Without spare space a run fails, and the page says so.
    vary = {"ftl.victim": ["greedy", "fifo"], "ftl.overprovisioning": [0.0, 0.1, 0.28]}
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
    ssdlab.cell.rber("ofwar-mlc", pe=[3_000, 10_000], age=["1d", "1y"]).chart().save(folder / "curves.html")
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


#: Labels of an axis that touch each other, and headings of columns with more lines than words.
CROWDED = """(() => {
  const isSlanted = (text) => /rotate\\((?!0,)/.test(text.getAttribute("transform") || "");
  const layers = new Set([...document.querySelectorAll(".figure [class$=tick]")].map((tick) => tick.parentElement));
  const lie = (one, other) => one.left < other.right + 2 && other.left < one.right + 2
    && one.top < other.bottom - 3 && other.top < one.bottom - 3;
  const labels = [...layers].flatMap((layer) => {
    const texts = [...layer.querySelectorAll("text")].filter((text) => text.textContent && !isSlanted(text))
      .map((text) => ({ text, box: text.getBoundingClientRect() }));
    return texts.filter((one, at) => texts.some((other, place) => place > at && lie(one.box, other.box)))
      .map((one) => `${layer.closest(".figure").id}: ${one.text.textContent}`);
  });
  const lines = (head) => {
    const range = document.createRange();
    range.selectNodeContents(head.querySelector("button") || head);
    return new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size;
  };
  const words = (head) => head.textContent.split(/[\\s-]+/).length;
  const heads = [...document.querySelectorAll("thead th")].filter((head) => lines(head) > words(head));
  return [...labels, ...heads.map((head) => head.textContent)];
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 800, 1400])
@pytest.mark.parametrize("kind", KINDS)
def test_labels_do_not_lie_on_each_other_nor_break(pages, window, kind, width):
    window.open(pages[kind], width)
    assert window.value(CROWDED) == []


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


#: Least contrast of the texts of a figure and of its curves with what is behind them, and their colours.
CONTRAST = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = colour.map((part) => linear(part / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = light(parts(getComputedStyle(document.querySelector(".figure .main-svg")).backgroundColor).slice(0, 3));
  const contrast = (colour) => {
    const own = light(parts(colour).slice(0, 3));
    return (Math.max(own, behind) + 0.05) / (Math.min(own, behind) + 0.05);
  };
  const least = (found, of) => Math.min(...found.map((part) => contrast(getComputedStyle(part)[of])));
  const all = (what) => [...document.querySelectorAll(`.figure ${what}`)];
  const texts = all(".main-svg text").filter((part) => !part.closest(".bars, .heatmaplayer, .hm"));
  const curves = all(".scatterlayer .js-line").filter((part) => part.style.stroke !== "none");
  return { texts: least(texts, "fill"), curves: least(curves, "stroke"), behind };
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_figures_follow_the_theme_with_enough_contrast(pages, window, kind, scheme):
    window.open(pages[kind], scheme=scheme)
    found = window.value(CONTRAST)
    assert (found["behind"] < 0.05) == (scheme == "dark")
    assert found["texts"] >= 4.5
    assert found["curves"] >= 3


def tab_to(window: Tab, wanted: str) -> None:
    """Presses Tab until the element that a selector names has the focus."""
    for _ in range(300):
        window.press("Tab")
        if window.value(f"document.activeElement.matches({wanted!r})"):
            return
    pytest.fail(f"Tab does not reach {wanted}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_button_makes_a_page_dark_and_the_choice_is_kept(pages, window, kind):
    shown = """[document.documentElement.dataset.theme, document.getElementById("theme").getAttribute("aria-pressed"),
        getComputedStyle(document.querySelector(".figure .main-svg")).backgroundColor,
        getComputedStyle(document.querySelector("section")).backgroundColor]"""
    light, dark = "rgb(255, 255, 255)", "rgb(23, 29, 36)"
    window.open(pages[kind])
    assert window.value(shown) == ["light", "false", light, light]
    tab_to(window, "#theme")
    window.press("Enter")
    assert window.value(shown) == ["dark", "true", dark, dark]
    window.reload()
    assert window.value(shown) == ["dark", "true", dark, dark]
    tab_to(window, "#theme")
    window.press(" ")
    assert window.value(shown) == ["light", "false", light, light]
    window.value("localStorage.clear()")


@pytest.mark.slow
def test_a_theme_keeps_what_is_hidden_and_how_panels_stand(pages, window):
    window.open(pages["run"], 400)
    window.value("document.querySelector('.keys[data-figure=\"figure-causes\"] button').click()")
    window.value('document.getElementById("theme").click()')
    hidden = 'document.getElementById("figure-causes").data.filter((trace) => trace.visible === "legendonly").length'
    assert window.value(hidden) == 2
    assert window.value(BESIDE) == 0
    window.value("localStorage.clear()")


#: Opens the details of a selector, and waits until they are drawn.
OPEN = """Promise.all([...document.querySelectorAll("WHICH")].map((part) => new Promise((done) => {
  if (part.open || part.hidden) return done();
  part.addEventListener("toggle", () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });
  part.open = true;
})))"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_accessibility_checker_finds_nothing_serious(pages, window, axe, kind, scheme):
    for width in (1400, 400):
        window.open(pages[kind], width, scheme)
        # The tables of the figures are alike: one is looked at.
        window.value(OPEN.replace("WHICH", "details:not(.numbers), section:first-of-type .numbers"))
        window.value(f"{axe}; 0")
        assert window.value(FINDINGS) == []


#: Parts of a page that can be operated: links, buttons, menus, axes, frames that scroll, and names with a meaning.
OPERATED = """(() => {
  const scrolls = (part) => ["auto", "scroll"].some((way) => [getComputedStyle(part).overflowX, getComputedStyle(part).overflowY]
    .includes(way)) && (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight);
  const seen = (part) => part.checkVisibility({ visibilityProperty: true });
  const all = [...document.querySelectorAll("body *")].filter(seen);
  const found = all.filter((part) => part.matches("a, button, select, summary, [role=slider], .term") || scrolls(part));
  found.forEach((part, at) => { part.dataset.operated = at; });
  return found.map((part) => `${part.tagName} ${part.className.baseVal ?? part.className} ${part.textContent.slice(0, 40)}`);
})()"""
#: The part with the focus, by its number; whether the focus is seen; and whether the part is out of sight.
FOCUSED = """(() => {
  const part = document.activeElement;
  const style = getComputedStyle(part);
  const box = part.getBoundingClientRect();
  const top = document.querySelector("nav.parts")?.getBoundingClientRect().bottom ?? 0;
  const isCovered = box.bottom <= (part.closest("nav, header") ? 0 : top) || box.top >= innerHeight;
  const isMarked = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none" || style.stroke !== "none";
  return [part.dataset.operated ?? null, isMarked, isCovered];
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("kind", KINDS)
def test_tab_reaches_all_that_can_be_operated_and_the_focus_is_seen(pages, window, kind, width):
    window.open(pages[kind], width)
    window.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expected = window.value(OPERATED)
    reached: dict[int, str] = {}
    for _ in range(len(expected) + 20):
        window.press("Tab")
        number, is_marked, is_covered = window.value(FOCUSED)
        if number is None:
            break
        what = expected[int(number)]
        assert is_marked, f"the focus on {what} is not seen"
        assert not is_covered, f"{what} has the focus behind something else"
        reached[int(number)] = what
    assert [what for at, what in enumerate(expected) if at not in reached] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["run", "compare"])
def test_a_meaning_is_shown_to_the_keyboard_as_to_the_pointer(pages, window, kind):
    window.open(pages[kind])
    shown = "[document.getElementById('meaning').hidden, document.getElementById('meaning').textContent]"
    for place in ("th .term", ".keys .term", ".card.term"):
        count = window.value(f"document.querySelectorAll({place!r}).length")
        assert (count > 0) == (place != ".card.term" or kind == "run")
        if not count:
            continue
        tab_to(window, place)
        assert window.value(shown) == [False, window.value("document.activeElement.dataset.meaning")]
        assert window.value("document.activeElement.getAttribute('aria-describedby')") == "meaning"
        window.press("Escape")
        assert window.value(shown)[0] is True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_has_its_numbers_as_a_text(pages, window, kind):
    window.open(pages[kind])
    window.value(OPEN.replace("WHICH", ".numbers"))
    found = window.value("""[...document.querySelectorAll(".figure")].filter((one) => one.data.length).map((one) => [
      one.getAttribute("aria-label"), one.nextElementSibling.querySelectorAll("tr").length,
      one.nextElementSibling.querySelector("td").textContent])""")
    assert found
    for label, rows, text in found:
        assert label.startswith("Figure: ")
        assert rows > 0
        assert text
        assert "%{" not in text
        assert "<" not in text


@pytest.mark.slow
def test_points_are_selected_by_the_keyboard(pages, window):
    window.open(pages["sweep"])
    said = "document.getElementById('selected').textContent"
    value = "document.activeElement.getAttribute('aria-valuetext')"
    assert window.value(said) == "4 of 4 points"
    tab_to(window, '[data-axis="ftl.overprovisioning"]')
    assert window.value(value) == "0.1; selected: all"
    window.press("ArrowUp")
    assert window.value(value) == "0.28; selected: all"
    window.press("ArrowDown", shift=True)
    assert window.value(value) == "0.1; selected: 0.1 to 0.28"
    window.press("ArrowUp", shift=True)
    assert window.value(value) == "0.28; selected: 0.28 to 0.28"
    assert window.value(said) == "2 of 4 points"
    window.press("Delete")
    assert window.value(said) == "4 of 4 points"


@pytest.mark.slow
def test_a_heading_of_the_table_sorts_by_the_keyboard(pages, window):
    window.open(pages["sweep"])
    tab_to(window, "#table thead button")
    sorted_by = "document.querySelector('#table th[aria-sort]').textContent"
    window.press("Enter")
    assert window.value(sorted_by).startswith("ftl.victim ▲")
    window.press(" ")
    assert window.value(sorted_by).startswith("ftl.victim ▼")
    assert window.value("document.activeElement.matches('#table thead button')")
