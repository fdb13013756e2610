"""Ladders: paths from our drive towards a published value, one change at a time.

Each step keeps the changes before it. A ladder shows what a value depends on, and which single change moves it most; it
is no fit, since the steps are readings of the work and of its simulator, in the order in which they are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import unclaimed
from ssdlab_papers.entry import Entry, Picture, Table

__all__ = ["Ladder", "Step", "steps_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """A change of the setting."""

    #: The change, in a few words.
    name: str
    #: Fields of the points that it sets.
    fields: Mapping[str, object]
    #: Why it may be made: what the work or its simulator says.
    why: str


def steps_of(steps: Sequence[Step]) -> list[dict[str, object]]:
    """Returns the fields after each step, those of the steps before it among them."""
    fields: dict[str, object] = {}
    found = []
    for step in steps:
        fields = {**fields, **step.fields}
        found.append(dict(fields))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """A quantity after each of some steps, of which the first is our drive."""

    work: str
    where: str
    #: File name of the picture and the table.
    name: str
    #: The quantity, with its loads.
    what: str
    load: str
    real_trace: bool
    published: float
    unit: Callable[[float], str]
    steps: Sequence[Step]
    #: The quantity after each step.
    found: Sequence[Estimate]

    @property
    def most(self) -> int:
        """Place of the step that moves the value most towards the published one; 0 if none does."""
        off = [abs(each.mean - self.published) for each in self.found]
        nearer = [before - after for before, after in pairwise(off)]
        return 1 + nearer.index(max(nearer)) if nearer and max(nearer) > 0.0 else 0

    @property
    def text(self) -> str:
        """Which step matters most, and whether the published value lies between two neighbours."""
        nearest = min(range(len(self.found)), key=lambda at: abs(self.found[at].mean - self.published))
        said = f"nearest {self.unit(self.found[nearest].mean)}, after: {self.steps[nearest].name}"
        if self.most:
            before, after = (self.unit(self.found[at].mean) for at in (self.most - 1, self.most))
            said += f"; the step that matters most: {self.steps[self.most].name} ({before} to {after})"
        passed = [self.steps[at + 1].name for at, pair in enumerate(self._pairs()) if min(pair) <= self.published <= max(pair)]
        return (
            f"{said}; the published value is passed by: {', '.join(passed)}"
            if passed
            else f"{said}; no step passes {self.unit(self.published)}"
        )

    def _pairs(self) -> list[tuple[float, float]]:
        return [(before.mean, after.mean) for before, after in pairwise(self.found)]

    def entries(self) -> Iterator[Entry | Picture | Table]:
        """Yields the ladder in words, its picture and its table."""
        each = "; ".join(f"{step.name}: {self.unit(found.mean)}" for step, found in zip(self.steps, self.found, strict=True))
        yield unclaimed(
            self.found[-1],
            each,
            work=self.work,
            where=self.where,
            what=f"{self.what}, one change after the other",
            published=self.unit(self.published),
            standing="stated",
            load=self.load,
            real_trace=self.real_trace,
            note=self.text,
        )
        names = [f"{number}. {step.name}" for number, step in enumerate(self.steps)]
        values = [100.0 * found.mean for found in self.found]
        places = [float(number) for number in range(len(values))]
        yield Picture(
            name=self.name,
            chart=Chart(
                title=f"{self.what}, one change after the other (%)",
                x=Axis("", ticks=tuple(zip(places, names, strict=True))),
                y=Axis("%"),
                series=(Series("ours", places, values),),
                marks=(Mark(100.0 * self.published, f"published: {self.unit(self.published)}"),),
            ),
        )
        yield Table(
            name=self.name,
            title=f"{self.what}, one change after the other",
            columns=("step", "change", "why", "value", "low", "high", "published"),
            rows=[
                [number, step.name, step.why, found.mean, found.low, found.high, self.published]
                for number, (step, found) in enumerate(zip(self.steps, self.found, strict=True))
            ],
        )
