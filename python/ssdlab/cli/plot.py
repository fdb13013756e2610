"""``ssdlab plot``: writes one figure of a result as a picture for a paper, or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.console import remark
from ssdlab.errors import unknown_name

#: Figures by name: the method of a result that makes them.
FIGURES = {
    "latency": "plot_latency",
    "causes": "plot_causes",
    "timeline": "plot_timeline",
    "utilisation": "plot_utilisation",
    "write_amplification": "plot_write_amplification",
    "modes": "plot_modes",
    "wear": "plot_wear",
    "read_attempts": "plot_read_attempts",
}


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder, as `run --out` writes it.")],
    figure: Annotated[str, typer.Argument(metavar="FIGURE", help=f"What to plot: {', '.join(FIGURES)}.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File in .pdf, .svg, .png or .html; absent: FIGURE.pdf in DIR.", dir_okay=False),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title above the figure; none if absent.")] = "",
    force: Annotated[bool, typer.Option(help="Replace the file, if it is there.")] = False,
) -> None:
    """Write one figure of a result folder as a picture (PDF, SVG, PNG) or as an interactive page (HTML)."""
    from ssdlab.folder import load_result
    from ssdlab.report import picture

    if figure not in FIGURES:
        raise unknown_name("figure", figure, [*FIGURES])
    drawn = getattr(load_result(folder), FIGURES[figure])()
    path = picture.save(drawn, out or folder / f"{figure}.pdf", title=title, force=force)
    remark(f"wrote {path}")
