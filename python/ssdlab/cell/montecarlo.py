"""Monte Carlo error rates of cells drawn one by one, next to those that the densities give."""

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

#: Number of cells in one piece of the work, which takes a fraction of a second. Each piece has a random stream of its
#: own, so this number affects the result.
PIECE_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class MonteCarlo:
    """Counts among drawn cells, by page type.

    Examples:
        >>> drawn = ssdlab.cell.monte_carlo("ofwar-mlc", 100_000, age="1y")
        >>> drawn.wrong, drawn.expected
        ({'lsb': 83, 'msb': 93}, {'lsb': 0.000854, 'msb': 0.0008255})
    """

    cell: str
    cells: int
    seed: int
    #: Number of wrong bits.
    wrong: dict[str, int]
    #: Share of wrong bits.
    rate: dict[str, float]
    #: Error rate that the densities give at the same references.
    expected: dict[str, float]
    #: Difference of the count from its expected value, in standard deviations of the count.
    z: dict[str, float]
    references: NDArray[np.float64]

    def to_dict(self) -> dict[str, Any]:
        """Returns the counts as ``ssdlab cell monte-carlo --json`` prints them.

        Examples:
            >>> ssdlab.cell.monte_carlo("ofwar-mlc", 100_000, age="1y").to_dict()["rate"]
            {'lsb': 0.00083, 'msb': 0.00093}
        """
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
    """Draws cells and counts wrong bits: a check of the densities that shares only the model's numbers with them.

    The work is distributed over all cores in pieces with random streams of their own, so that the result does not
    depend on the number of threads.

    Args:
        cell: A part with a model of threshold voltages.
        cells: Number of cells to draw.
        seed: Seed of the random streams.
        pe: Program and erase cycles; default: the rated ones.
        age: Age of the data; default: none.
        step: Program step; default: the nominal one.
        threads: Number of threads; default: the number of cores.
        progress: Function that is called with the progress.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> drawn = ssdlab.cell.monte_carlo("ofwar-mlc", 1_000_000, pe=10_000, age="1y")
        >>> drawn.rate, drawn.z
        ({'lsb': 0.000819, 'msb': 0.000815}, {'lsb': -1.198, 'msb': -0.3665})
    """
    # An invalid number of cells is passed to the engine unchanged, whose message says what is wrong with it.
    sizes = [PIECE_CELLS] * (cells // PIECE_CELLS) + [cells % PIECE_CELLS] * (cells % PIECE_CELLS > 0) if cells > 0 else [cells]
    question = {"cell": cell, "seed": seed, "pe": pe, "age": age, "step": step, **more}
    drawn = 0

    def count(piece: tuple[int, int]) -> dict[str, Any]:
        chunk, size = piece
        return ask("monte_carlo", cells=size, chunk=chunk, **question)

    def report(found: dict[str, Any]) -> None:
        nonlocal drawn
        drawn += found["cells"]
        if progress is not None:
            progress(drawn / cells, f"{drawn:,} cells")

    found = share_out(count, list(enumerate(sizes)), threads=threads, done=report)
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
    """Returns the difference of a count from its mean, in standard deviations; 0 if the standard deviation is 0."""
    spread = math.sqrt(cells * expected * (1.0 - expected))
    return (wrong - cells * expected) / spread if spread > 0.0 else 0.0
