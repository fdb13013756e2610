"""docs/internals/limits.md states the effect of every limit: a number, or that there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "limits.md"
HEAD = ["limit", "effect, in numbers", "where it bites", "way round"]


def rows(text):
    """Yields the cells of each row of the tables of a page, without heads."""
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if cells != HEAD and not all(set(cell) <= set("-: ") for cell in cells):
                yield cells


def faults(text):
    """Returns the rows that do not say how much a limit matters."""
    found = []
    for cells in rows(text):
        stated = len(cells) == len(HEAD) and all(cells)
        if not stated or not (re.search(r"\d", cells[1]) or "not measured" in cells[1]):
            found.append(cells)
    return found


def test_every_limit_has_its_effect():
    text = PAGE.read_text(encoding="utf-8")
    assert faults(text) == []
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert len(sections) == 10
    for section in sections:
        assert len(list(rows(section))) >= 4, section.splitlines()[0]


@pytest.mark.parametrize("row", ["| a | much | b | c |", "| a | | b | c |", "| a | 7 % | b |", "| a | 7 % | b | |"])
def test_a_limit_without_its_effect_is_found(row):
    assert len(faults(f"| {' | '.join(HEAD)} |\n| --- | --- | --- | --- |\n{row}\n")) == 1
