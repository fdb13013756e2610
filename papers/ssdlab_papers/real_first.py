"""Cases and quantities of real traces, which lead, with those of their look-alikes beside them, and claims on both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, interval_of, on_loads, statement
from ssdlab_papers.traces import Load

__all__ = ["Found", "Loads", "RealFirst", "shown_claim", "value_claim", "worded_claim"]

Case = TypeVar("Case")


@dataclass(frozen=True, slots=True)
class RealFirst(Generic[Case]):
    """Cases of real traces, which lead, and of look-alikes."""

    real: tuple[Case, ...]
    alike: tuple[Case, ...]

    @property
    def leading(self) -> tuple[Case, ...]:
        """The cases of real traces, or those of look-alikes if there are none."""
        return self.real or self.alike

    @property
    def all(self) -> tuple[Case, ...]:
        """The cases of real traces and those of look-alikes."""
        return (*self.real, *self.alike)

    def where(self, condition: Callable[[Case], bool]) -> Self:
        """Returns the cases for which a condition holds."""
        return type(self)(tuple(filter(condition, self.real)), tuple(filter(condition, self.alike)))


@dataclass(frozen=True, slots=True)
class Loads(RealFirst[Load]):
    """Real traces, which lead, and look-alikes beside them."""


@dataclass(frozen=True, slots=True)
class Found:
    """A quantity on real traces and on look-alikes; ``None`` where there are none."""

    real: Estimate | None
    alike: Estimate | None
    #: The loads in words, and the source work.
    load: str
    work: str

    @property
    def leading(self) -> Estimate:
        """The quantity on real traces or, without them, on look-alikes."""
        found = self.real or self.alike
        assert found is not None, "a quantity is taken of some load"
        return found


def value_claim(found: Found, published: float, resolution: float, **further: Any) -> Claim:
    """Returns a claim that a quantity of the loads has a value (:func:`ssdlab_papers.claim.on_loads`)."""
    return on_loads(found.real, found.alike, published, resolution, work=found.work, load=found.load, **further)


def worded_claim(found: Found, unit: Callable[[float], str], *, shown: str = "", **further: Any) -> Claim:
    """Returns a claim in words (:func:`ssdlab_papers.claim.statement`) about a quantity of the loads."""
    lead = found.leading
    return statement(
        lead.mean,
        shown or unit(lead.mean),
        work=found.work,
        load=found.load,
        seeds=lead.count,
        interval=interval_of(lead),
        real_trace=further.pop("real_trace", found.real is not None),
        alike="" if found.alike is None else unit(found.alike.mean),
        **further,
    )


def shown_claim(found: Found, unit: Callable[[float], str], *, shown: str = "", **further: Any) -> Claim:
    """Returns a quantity of the loads that no work claims."""
    return replace(worded_claim(found, unit, shown=shown, unscored="shown", **further), low=None, high=None)
