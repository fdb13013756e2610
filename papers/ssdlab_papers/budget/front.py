"""The front of the one budget: policies that no other beats in latency, tail, lifetime and energy together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.front import not_beaten
from ssdlab_papers.budget.runs import CONTENDERS
from ssdlab_papers.entry import Entry, Picture, Table

if TYPE_CHECKING:
    from ssdlab_papers.budget.results import Board

__all__ = ["AXES", "entries", "front"]

#: Criteria of the front, each over the baseline's, and smaller for better.
AXES: dict[str, Callable[[Board, str, float], float]] = {
    "mean latency": lambda board, name, wear: board.mean(name, wear),
    "99.99 % latency": lambda board, name, wear: board.tail(name, wear),
    "lifetime": lambda board, name, wear: -board.life(name, wear),
    "energy": lambda board, name, wear: board.energy(name, wear),
}
#: `clairvoyant` knows the future, and competes with no policy.
_NAMES = tuple(contender.name for contender in CONTENDERS if contender.name != "clairvoyant")


def front(board: Board, wear: float, axes: tuple[str, ...] = tuple(AXES)) -> list[str]:
    """Returns the policies that no other beats in all of `axes` at one stage of wear; of equal ones the first."""
    return [_NAMES[place] for place in not_beaten([tuple(AXES[axis](board, name, wear) for axis in axes) for name in _NAMES])]


def entries(board: Board) -> Iterator[Entry | Picture | Table]:
    """Yields the front at each stage of wear, what energy adds to it, and its table and pictures."""
    others = tuple(axis for axis in AXES if axis != "energy")
    for wear in board.wears:
        all_four, without = front(board, wear), front(board, wear, others)
        added = [name for name in all_four if name not in without]
        yield Entry(
            work="one budget",
            where="front",
            what=f"not beaten in mean latency, tail, lifetime and energy together, {wear:.0%} worn, of {len(_NAMES)}",
            published="–",
            standing="",
            ours=len(all_four),
            shown=f"{len(all_four)}: {', '.join(all_four)}; by energy alone: {', '.join(added) or 'none'}",
            note="energy of the flash at 25 mA for each operation, from data sheets [F], an upper bound: it follows the times of "
            "programs, reads and erases. Means of the loads without intervals; clairvoyant is left out",
        )
    yield _table(board)
    yield from _pictures(board)


def _table(board: Board) -> Table:
    members = {wear: front(board, wear) for wear in board.wears}
    return Table(
        name="one-budget-front",
        title="Mean latency, tail, lifetime and energy of every policy over the baseline's, and the front of the four",
        columns=("wear", "policy", *(f"{axis} / baseline" for axis in AXES), "on the front"),
        rows=[
            (wear, name, *(abs(value(board, name, wear)) for value in AXES.values()), name in members[wear])
            for wear in board.wears
            for name in (*_NAMES, "clairvoyant")
        ],
    )


def _pictures(board: Board) -> Iterator[Picture]:
    for wear in (board.wears[0], board.wears[-1]):
        chart = Chart(
            title=f"One budget, {wear:.0%} worn: energy and lifetime of the policies on the front",
            x=Axis("energy for each byte of the host / baseline", log=True, better="lower"),
            y=Axis("lifetime / baseline", better="higher"),
            series=tuple(Series(name, [board.energy(name, wear)], [board.life(name, wear)]) for name in front(board, wear)),
            marks=(Mark(1.0, "baseline"), Mark(1.0, "", on="x")),
            labelled=True,
        )
        yield Picture(name=f"one-budget-front-{wear:.0%}".replace("%", ""), chart=chart)
