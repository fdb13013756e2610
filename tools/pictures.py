"""The pictures of the documentation: heads of reports in headless Chromium. `make pictures` runs it."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ssdlab

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"


def shoot(page: Path, name: str, width: int, height: int) -> None:
    """Writes the head of a page as a picture."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("pictures: no Chromium here")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=10000"]
    size = f"--window-size={width},{height}"
    picture = f"--screenshot={PICTURES / name}"
    subprocess.run([browser, *flags, size, picture, page.resolve().as_uri()], check=True, capture_output=True, timeout=180)
    print(f"pictures: wrote {(PICTURES / name).relative_to(ROOT)}")


def main() -> None:
    """Makes every picture anew."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        drive = ssdlab.Drive.from_text(ssdlab.shrink("pcie4-tlc-2tb", "32GiB"))
        result = ssdlab.run(drive, ROOT / "examples/mixed.fio", precondition="steady")
        result.save(here / "tail")
        shoot(here / "tail" / "report.html", "report.png", 1200, 1300)
        ssdlab.sweep(ROOT / "examples/architectures.toml", here / "architectures")
        shoot(here / "architectures" / "report.html", "explore.png", 1300, 1250)


if __name__ == "__main__":
    main()
