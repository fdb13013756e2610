"""Single facts of a part, by its name."""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING, Any

from ssdlab.cell.question import ask

if TYPE_CHECKING:
    from ssdlab.cell.question import CellLike


def step_unit(cell: CellLike) -> str:
    """Returns the unit of a part's steps; empty for measurements, which have no step."""
    return next((row["step_unit"] for row in _parts() if row["name"] == fspath(cell)), "")


def rated_pe_cycles(cell: CellLike) -> float:
    """Returns the rated cycles of a part; for measurements the largest number of cycles that was measured."""
    for row in _parts():
        if row["name"] == fspath(cell):
            return float(row["rated_pe_cycles"])
    rated: float = ask("endurance", cell=cell, retention="1d")["rated_pe_cycles"]
    return rated


def _parts() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ask("parts")["parts"]
    return rows
