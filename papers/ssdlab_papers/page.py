"""The folder of results: the pages, the claims and all entries as data, pictures and tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from ssdlab.charts import has_matplotlib
from ssdlab.files import write_folder
from ssdlab_papers.entry import Drawing, Picture, Table
from ssdlab_papers.layout import PICTURES, TABLES, pages
from ssdlab_papers.outcome import Outcome

__all__ = ["DOCUMENT", "picture_file", "save", "table_file"]

#: File of a page with all that its outcomes have.
DOCUMENT = "results.json"
_SCORES = "scoreboard.json"


def save(outcomes: Sequence[Outcome], folder: str | PathLike[str], *, force: bool = False) -> Path:
    """Writes the results to a folder.

    It has ``RESULTS.md``, a page for each experiment, ``results.json``, ``pictures/*.svg`` and ``tables/*.csv``, and if
    there are claims of a work, they are in ``scoreboard.json``.

    Equal outcomes give equal files. Without matplotlib, only pictures that were drawn before are written.

    Raises:
        InputError: the folder is not empty (unless `force` is set and ssdlab wrote all of its content), or cannot be
            created.
    """
    shown = [replace(each, pictures=tuple(filter(_can_be_saved, each.pictures))) for each in outcomes]

    def write(path: Path) -> None:
        for name, text in pages(shown).items():
            (path / name).write_text(text, encoding="utf-8")
        document = {"experiments": [outcome.as_json() for outcome in shown]}
        (path / DOCUMENT).write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        if scores := [claim.as_score() for outcome in shown for claim in outcome.claims]:
            (path / _SCORES).write_text(json.dumps(scores, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        pictures = [picture for outcome in shown for picture in outcome.pictures]
        if pictures:
            (path / PICTURES).mkdir()
        for picture in pictures:
            picture.chart.save(picture_file(path, picture.name))
        tables = [table for outcome in shown for table in outcome.tables]
        if tables:
            (path / TABLES).mkdir()
        for table in tables:
            _write_table(table, table_file(path, table.name))

    return write_folder(Path(folder), "papers", write, force=force)


def picture_file(page: Path, name: str) -> Path:
    """Returns the file of a picture of a page."""
    return page / PICTURES / f"{name}.svg"


def table_file(page: Path, name: str) -> Path:
    """Returns the file of a table of a page."""
    return page / TABLES / f"{name}.csv"


def _can_be_saved(picture: Picture) -> bool:
    return isinstance(picture.chart, Drawing) or has_matplotlib()


def _write_table(table: Table, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)
