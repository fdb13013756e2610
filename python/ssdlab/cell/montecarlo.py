"""Cells drawn one by one, beside what the densities say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import fspath
from typing import TYPE_CHECKING, Any

from ssdlab.cell.pool import ProgressHook, share_out
from ssdlab.cell.question import CellLike, array, ask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Cells of one piece of the work: a fraction of a second. Pieces have streams of their own, so this is part of the result.
PIECE_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarlo:
    """What was counted among drawn cells, by page type."""

    cell: str
    cells: int
    seed: int
    #: Wrong bits.
    wrong: dict[str, int]
    #: Their share.
    rate: dict[str, float]
    #: The error rate that the densities give at the same references.
    expected: dict[str, float]
    #: How far the count is from what is expected, in standard deviations of the count.
    z: dict[str, float]
    references: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """What ``ssdlab cell monte-carlo --json`` prints."""
        return {
            "cells": self.cells,
            "seed": self.seed,
            "wrong": self.wrong,
            "rate": self.rate,
            "expected": self.expected,
            "z": self.z,
            "references": self.references.tolist(),
        }


def monte_carlo(
    cell: CellLike,
    cells: int = 100_000_000,
    *,
    seed: int = 1,
    pe: float | None = None,
    age: str | None = None,
    step: float | None = None,
    threads: int | None = None,
    progress: ProgressHook | None = None,
    **more: Any,
) -> MonteCarlo:
    """Draws cells and counts wrong bits: a check of the densities that shares nothing with them but the model's numbers.

    The work is shared out among all cores in pieces with streams of their own: the result does not depend on the number of
    threads.

    Args:
        cell: A part with a model of threshold voltages.
        cells: How many to draw.
        seed: Of the streams that they are drawn from.
        pe: Program and erase cycles; the rated ones when left out.
        age: Age of the data; none when left out.
        step: Program step; the nominal one when left out.
        threads: How many; as many as there are cores when left out.
        progress: Hears of what is done.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: everything that is wrong with the question.
    """
    # A count that is no count goes to the engine as it is, which says what is wrong with it.
    sizes = [PIECE_CELLS] * (cells // PIECE_CELLS) + [cells % PIECE_CELLS] * (cells % PIECE_CELLS > 0) if cells > 0 else [cells]
    question = {"cell": cell, "seed": seed, "pe": pe, "age": age, "step": step, **more}
    drawn = 0

    def count(piece: tuple[int, int]) -> dict[str, Any]:
        chunk, size = piece
        return ask("monte_carlo", cells=size, chunk=chunk, **question)

    def done(found: dict[str, Any]) -> None:
        nonlocal drawn
        drawn += found["cells"]
        if progress is not None:
            progress(drawn / cells, f"{drawn:,} cells")

    found = share_out(count, list(enumerate(sizes)), threads=threads, done=done)
    expected: dict[str, float] = found[0]["expected"]
    wrong = {name: sum(one["wrong"][name] for one in found) for name in expected}
    return MonteCarlo(
        cell=fspath(cell),
        cells=cells,
        seed=seed,
        wrong=wrong,
        rate={name: count / cells for name, count in wrong.items()},
        expected=expected,
        z={name: _deviation(count, cells, expected[name]) for name, count in wrong.items()},
        references=array(found[0]["references"]),
    )


def _deviation(wrong: int, cells: int, expected: float) -> float:
    """How far a count is from its mean, in standard deviations; none where both are zero."""
    spread = math.sqrt(cells * expected * (1.0 - expected))
    return (wrong - cells * expected) / spread if spread > 0.0 else 0.0
