"""``ssdlab plot``: writes one figure of a result as a picture for a paper, or as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import figures
from ssdlab.cli.console import remark
from ssdlab.errors import InputError
from ssdlab.figures import FIGURES
from ssdlab.files import damaged, is_file, is_folder
from ssdlab.folder import load_comparison, load_result


def plot(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a result, of a comparison, whose runs are overlaid, or of a sweep.")
    ],
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE", help=f"What to plot: {', '.join(FIGURES)}; of a sweep a number, such as latency.all.p99_ns."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File in .pdf, .svg, .png or .html; absent: FIGURE.pdf in DIR.", dir_okay=False),
    ] = None,
    over: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Varied field on the axis, of a sweep; absent: the first.")
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title above the figure; none if absent.")] = "",
    force: Annotated[bool, typer.Option(help="Replace the file, if it is there.")] = False,
) -> None:
    """Write one figure of a result folder as a picture (PDF, SVG, PNG) or as an interactive page (HTML)."""
    # Start-up: the help of all commands needs no plotly.
    from ssdlab.report import picture

    path = out or folder / f"{figure}.pdf"
    if is_folder(folder / "runs.parquet"):
        _plot_sweep(folder, figure, over, title, path, force)
    elif over is not None:
        raise InputError(f"--over {over}: the axis of a sweep; {folder} is no folder of one")
    else:
        is_comparison = is_file(folder / "compare.json")
        runs = load_comparison(folder).runs if is_comparison else [load_result(folder)]
        picture.save(figures.figure_of(figure, runs), path, title=title, force=force)
    remark(f"wrote {path}")


def _plot_sweep(folder: Path, number: str, over: str | None, title: str, path: Path, force: bool) -> None:
    # Start-up: the help of all commands needs no pyarrow.
    from ssdlab.explore.sweep import load_sweep

    with damaged(folder):
        done = load_sweep(folder)
    replace(done.chart(number, over), title=title).save(path, force=force)
