"""Pages in headless Chromium, for tests of layout."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ssdlab.report import library


def dom_of(html: str, script: str, path: Path, width: int = 1400) -> str:
    """Returns a report as Chromium has it once its figures are drawn and a script has run after them."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    waits = "const wait = setInterval(() => { if (document.body.dataset.drawn) { clearInterval(wait); run(); } }, 50);"
    page = html.replace("</body>", f"<script>function run() {{ {script} }} {waits}</script></body>")
    path.write_text(library.secured(page), encoding="utf-8")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},3000", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [browser, *flags, "--dump-dom", f"file://{path}"], capture_output=True, text=True, timeout=180, check=False
    )
    return done.stdout
