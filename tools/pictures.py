"""The pictures of the documentation: parts of reports in headless Chromium. `make pictures` runs it."""

import base64
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

import ssdlab

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tests" / "python"))

from chromium import Tab, tab  # noqa: E402

#: Leaves the verdict and the causes of the tail of a report, down to the end of their figure, whose place is returned.
VERDICT_AND_TAIL = """(() => {
  const cards = [...document.querySelectorAll("section")];
  const tail = cards.find((card) => card.textContent.trim().startsWith("Why the tail is long"));
  for (const card of cards.slice(0, cards.indexOf(tail))) card.style.display = "none";
  return tail.querySelector(".figure").getBoundingClientRect().bottom + scrollY;
})()"""


def shoot(window: Tab, page: Path, name: str, width: int, height: int, part: str | None = None) -> None:
    """Writes the head of a page as a picture; a script may choose what is shown, and returns its height."""
    window.open(page, width)
    if part is not None:
        height = round(window.value(part)) - 4
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    shot = window.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    picture = Image.open(io.BytesIO(base64.b64decode(shot["data"])))
    # Few colours are used: a palette of them makes the file three times smaller.
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(PICTURES / name, optimize=True)
    print(f"pictures: wrote {(PICTURES / name).relative_to(ROOT)}")


def main() -> None:
    """Makes every picture anew."""
    with tempfile.TemporaryDirectory() as folder, tab(Path(folder) / "profile") as window:
        here = Path(folder)
        drive = ssdlab.Drive.from_text(ssdlab.shrink("pcie4-tlc-2tb", "32GiB"), "modern.toml")
        result = ssdlab.run(drive, ROOT / "examples/mixed.fio", precondition="steady")
        result.save(here / "tail")
        shoot(window, here / "tail" / "report.html", "report.png", 1200, 1300, VERDICT_AND_TAIL)
        ssdlab.sweep(ROOT / "examples/architectures.toml", here / "architectures")
        shoot(window, here / "architectures" / "report.html", "explore.png", 1300, 1250)


if __name__ == "__main__":
    main()
