"""The site of the documentation: a warning or a dead link ends its build, and its search works without a network."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chromium import tab
from conftest import PATIENCE

ROOT = Path(__file__).parents[2]
INDEX = "# A site\n\n```{toctree}\nother\n```\n\nThe [other page](other.md#a-heading) has a heading.\n"
OTHER = "# Another page\n\n## A heading\n\nA word that is found: relocation.\n"

pytestmark = pytest.mark.slow


def built(folder: Path, index: str, other: str = OTHER) -> subprocess.CompletedProcess[str]:
    """Builds a small site with the configuration and the options of `make docs`."""
    (folder / "docs").mkdir()
    (folder / "docs/conf.py").write_text((ROOT / "docs/conf.py").read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "docs/index.md").write_text(index, encoding="utf-8")
    (folder / "docs/other.md").write_text(other, encoding="utf-8")
    (line,) = re.findall(r"sphinx-build (.*) --jobs auto docs target/docs", (ROOT / "Makefile").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "sphinx", *line.split(), "docs", "site"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("other.md#a-heading", "nowhere.md", "nowhere.md"),
        ("other.md#a-heading", "other.md#no-heading", "no-heading"),
        ("```{toctree}\nother\n```", "", "toctree"),
    ],
)
def test_a_dead_link_or_a_warning_ends_the_build(tmp_path, old, new, said):
    done = built(tmp_path, INDEX.replace(old, new))
    assert done.returncode != 0
    assert said in done.stderr


def test_the_search_works_without_a_network(tmp_path):
    done = built(tmp_path, INDEX)
    assert (done.returncode, done.stderr) == (0, "")
    pages = [*(tmp_path / "site").rglob("*.html")]
    loaded = {
        name: re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="((?:https?:)?//[^"]*)"', path.read_text(encoding="utf-8"))
        for path in pages
        for name in [path.name]
    }
    assert len(loaded) >= 4
    assert {name: found for name, found in loaded.items() if found} == {}
    with tab(tmp_path / "profile") as window:
        window.call("Network.enable")
        window.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        window.call("Page.navigate", url=f"file://{tmp_path}/site/search.html?q=relocation")
        end = time.monotonic() + PATIENCE
        titles: list[str] = []
        while not titles:
            assert time.monotonic() < end, "the search finds nothing"
            time.sleep(0.1)
            titles = window.value("[...document.querySelectorAll('#search-results li a')].map((one) => one.textContent)")
        assert "Another page" in titles[0]
