"""Outcomes that are read back from a results page, so that one experiment of it can be replaced."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab import InputError
from ssdlab.manifest import MANIFEST
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Drawing, Entry, Picture, Table
from ssdlab_papers.outcome import Outcome
from ssdlab_papers.page import DOCUMENT, picture_file, table_file

__all__ = ["load"]


def load(folder: str | PathLike[str]) -> list[Outcome]:
    """Returns the outcomes of a results page that :func:`ssdlab_papers.save` wrote, with its pictures as drawn.

    Raises:
        InputError: there is no page, or not all of it can be read back.
    """
    page = Path(folder)
    try:
        documents = json.loads((page / DOCUMENT).read_text(encoding="utf-8"))["experiments"]
    except FileNotFoundError:
        raise InputError(f"{page}: expected a results page of `ssdlab paper`, with {DOCUMENT}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{page / DOCUMENT}: cannot be read as a results page: {error}") from None
    try:
        return [_outcome(page, {"version": _version(page), **document}) for document in documents]
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{page}: not all of this page can be read back ({what}); run all of its experiments into a new one"
        ) from None


def _version(page: Path) -> str:
    """Returns the version that wrote a page, which is the one that ran it where the page does not say it."""
    try:
        return str(json.loads((page / MANIFEST).read_text(encoding="utf-8"))["version"])
    except FileNotFoundError:
        return ""


def _outcome(page: Path, document: Mapping[str, Any]) -> Outcome:
    return Outcome(
        name=document["experiment"],
        summary=document["summary"],
        quick=document["quick"],
        full=document["full"],
        traces=document["traces"],
        version=document["version"],
        entries=tuple(map(_entry, document["entries"])),
        pictures=tuple(_picture(page, **each) for each in document["pictures"]),
        tables=tuple(_table(page, **each) for each in document["tables"]),
    )


def _entry(document: Mapping[str, Any]) -> Entry:
    """Returns an entry; an infinite bound and a missing number are ``null`` in the document."""
    kind = Claim if "unscored" in document else Entry
    given = {field.name: document[field.name] for field in fields(kind)}
    if given["ours"] is None:
        given["ours"] = math.nan
    if (given["low"] is None) != (given["high"] is None):
        given["low"] = -math.inf if given["low"] is None else given["low"]
        given["high"] = math.inf if given["high"] is None else given["high"]
    if given.get("interval") is not None:
        given["interval"] = tuple(given["interval"])
    found = kind(**given)
    if found.verdict != document["verdict"]:
        raise ValueError(f"{found.what}: {found.verdict}, where it says {document['verdict']}")
    return found


def _picture(page: Path, name: str, title: str) -> Picture:
    return Picture(name=name, chart=Drawing(title, picture_file(page, name).read_bytes()))


def _table(page: Path, name: str, title: str) -> Table:
    with table_file(page, name).open(newline="", encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    return Table(name=name, title=title, columns=tuple(columns), rows=rows)
