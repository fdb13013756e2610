"""``ssdlab report``: writes the report of a result folder again, or a report of several folders side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab.cli.console import remark
from ssdlab.comparison import Comparison
from ssdlab.errors import InputError
from ssdlab.files import damaged, is_file, is_folder, new_file
from ssdlab.folder import load_comparison, load_result

#: Help of the option.
LABELS = "Names of the runs of a comparison; absent: what differs between them, or the names of their folders."


def split_labels(label: str | None) -> list[str]:
    """Returns the names in a list with commas."""
    return [] if label is None else [name.strip() for name in label.split(",")]


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Result or comparison folders; or that of a sweep or a search, also under way."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="The page; DIR/report.html for one folder, comparison.html for several, when absent.",
        ),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="A,B,...", help=LABELS)] = None,
) -> None:
    """Write the report of a result folder again, or one report that compares several."""
    page = out or (folders[0] / "report.html" if len(folders) == 1 else Path("comparison.html"))
    if page.suffix not in (".html", ".htm"):
        raise InputError(f"--out {page}: expected a name in .html")
    if any(is_folder(folder / name) for folder in folders for name in ("runs.parquet", "trials.parquet")):
        _report_exploration(folders, page)
        return
    runs = []
    with damaged(*folders):
        for folder in folders:
            if is_file(folder / "compare.json"):
                runs += load_comparison(folder).runs
            else:
                runs.append(load_result(folder))
        compared = Comparison(runs, split_labels(label))
        html = runs[0].report() if len(runs) == 1 else compared.report()
    with new_file(page) as path:
        path.write_text(html, encoding="utf-8")
    remark(f"wrote {page}")


def _report_exploration(folders: list[Path], page: Path) -> None:
    """Writes the report of a sweep or a search.

    Raises:
        InputError: there are several folders.
    """
    # Start-up: the help of all commands needs no pyarrow.
    from ssdlab.explore.optimise import load_optimisation
    from ssdlab.explore.sweep import load_sweep

    is_search = any(is_folder(folder / "trials.parquet") for folder in folders)
    if len(folders) > 1:
        raise InputError(f"a report of a {'search' if is_search else 'sweep'} is of its folder alone: expected one DIR")
    with damaged(folders[0]):
        done = load_optimisation(folders[0]) if is_search else load_sweep(folders[0])
        html = done.report()
    with new_file(page) as path:
        path.write_text(html, encoding="utf-8")
    remark(f"wrote {page}")
