"""The front of the one budget: policies that no other beats in latency, tail, lifetime and energy together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.front import not_beaten
from ssdlab_papers.budget.runs import CONTENDERS
from ssdlab_papers.budget.unscored import half_of
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table

if TYPE_CHECKING:
    from ssdlab.explore.statistics import Estimate
    from ssdlab_papers.budget.results import Boards

__all__ = ["AXES", "entries", "front"]

#: Criteria of the front, each over the baseline's; more is better for the lifetime alone.
AXES: dict[str, Callable[[Boards, str, float], Estimate]] = {
    "mean latency": lambda boards, name, wear: boards.mean(name, wear),
    "99.99 % latency": lambda boards, name, wear: boards.tail(name, wear),
    "lifetime": lambda boards, name, wear: boards.life(name, wear),
    "energy": lambda boards, name, wear: boards.energy(name, wear),
}
#: `clairvoyant` knows the future, and competes with no policy.
_NAMES = tuple(contender.name for contender in CONTENDERS if contender.name != "clairvoyant")


def front(boards: Boards, wear: float, axes: tuple[str, ...] = tuple(AXES)) -> list[str]:
    """Returns the policies that no other beats in all of `axes` at one stage of wear; of equal ones the first."""
    return [_NAMES[place] for place in not_beaten([tuple(_worse(boards, name, wear, axis) for axis in axes) for name in _NAMES])]


def _worse(boards: Boards, name: str, wear: float, axis: str) -> float:
    """Returns a criterion, the mean over the seeds, that is smaller for better."""
    mean = AXES[axis](boards, name, wear).mean
    return -mean if axis == "lifetime" else mean


def entries(boards: Boards) -> Iterator[Entry | Picture | Table]:
    """Yields the front at each stage of wear, what energy adds to it, and its table and pictures."""
    others = tuple(axis for axis in AXES if axis != "energy")
    for wear in boards.wears:
        all_four, without = front(boards, wear), front(boards, wear, others)
        added = [name for name in all_four if name not in without]
        yield Claim(
            work="one budget",
            where="front",
            what=f"not beaten in mean latency, tail, lifetime and energy together, {wear:.0%} worn, of {len(_NAMES)}",
            published="–",
            standing="",
            ours=len(all_four),
            shown=f"{len(all_four)}: {', '.join(all_four)}; by energy alone: {', '.join(added) or 'none'}",
            seeds=len(boards.by_seed),
            load=", ".join(boards.loads),
            unscored="shown",
            note="energy of the flash at 25 mA for each operation, from data sheets [F], an upper bound: it follows the times of "
            "programs, reads and erases. Of the means over loads and seeds, without their intervals; clairvoyant is left out",
        )
    yield _table(boards)
    yield from _pictures(boards)


def _table(boards: Boards) -> Table:
    members = {wear: front(boards, wear) for wear in boards.wears}
    names = [name for axis in AXES for name in (f"{axis} / baseline", f"{axis} ±")]

    def cells(name: str, wear: float) -> Iterator[float | None]:
        for number in AXES.values():
            found = number(boards, name, wear)
            yield found.mean
            yield half_of(found)

    return Table(
        name="one-budget-front",
        title="Mean latency, tail, lifetime and energy of every policy over the baseline's, and the front of the four",
        columns=("wear", "policy", *names, "on the front"),
        rows=[
            (wear, name, *cells(name, wear), name in members[wear]) for wear in boards.wears for name in (*_NAMES, "clairvoyant")
        ],
    )


def _pictures(boards: Boards) -> Iterator[Picture]:
    for wear in (boards.wears[0], boards.wears[-1]):
        chart = Chart(
            title=f"One budget, {wear:.0%} worn: energy and lifetime of the policies on the front",
            x=Axis("energy for each byte of the host / baseline", log=True, better="lower"),
            y=Axis("lifetime / baseline", better="higher"),
            series=tuple(
                Series(name, [boards.energy(name, wear).mean], [boards.life(name, wear).mean]) for name in front(boards, wear)
            ),
            marks=(Mark(1.0, "baseline"), Mark(1.0, "", on="x")),
            labelled=True,
        )
        yield Picture(name=f"one-budget-front-{wear:.0%}".replace("%", ""), chart=chart)
