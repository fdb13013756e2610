"""Published claims with a verdict: what a work states, what is found here, and whether the one bears out the other.

A claim is scored against a range around itself. The range is the resolution to which the work gives the value, and on
both sides half of the confidence interval of ours; a range that is wider than the value itself reproduces nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.entry import Entry, finite

__all__ = ["CLAIM_VERDICTS", "Claim", "number", "statement", "taken", "untestable"]

#: Verdicts of claims, in the order in which they are counted.
CLAIM_VERDICTS = ("reproduced", "direction only", "holds if", "differs", "not testable", "input", "shown")


def _side(bound: float, with_it: str, without: str) -> str:
    """Returns a bound in words; one that is a hair's breadth from a short number excludes that number."""
    short = round(bound, 6)
    return f"{with_it if short == bound else without} {short:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Entry):
    """A published claim, and what is found here."""

    #: Number of seeds behind the measured value; 0: nothing in it is drawn.
    seeds: int = 0
    #: 95 % confidence interval of the measured value; ``None`` with fewer than two seeds.
    interval: tuple[float, float] | None = None
    #: The load.
    load: str = ""
    #: True if the measured value points the way that the claim says, whatever its size.
    agrees: bool = False
    #: Condition of the setting without which the claim would not hold, if the work does not state it.
    condition: str = ""
    #: Region in which the published value comes out, where it does not at the stated setting.
    region: str = ""
    #: ``not testable``, ``input``, or ``shown`` for what no work claims; empty: the claim is scored.
    unscored: str = ""

    @property
    def can_fail(self) -> bool:
        """False if the range is wider than the value around which it lies: it says nothing."""
        low, high = self.low, self.high
        if low is None or high is None:
            return False
        if math.isinf(low) or math.isinf(high):
            return not (math.isinf(low) and math.isinf(high))
        return high - low <= abs(high + low) / 2.0

    @property
    def accepted(self) -> str:
        """Range in which the claim counts as reproduced, in words; empty if it is not scored."""
        if self.low is None or self.high is None:
            return ""
        if math.isinf(self.low):
            return _side(self.high, "to", "below")
        if math.isinf(self.high):
            return _side(self.low, "from", "above")
        return f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g} to {self.high:.4g}"

    @property
    def verdict(self) -> str:
        """One of :data:`CLAIM_VERDICTS`."""
        if self.unscored:
            return self.unscored
        if self.low is not None and self.high is not None and self.low <= self.ours <= self.high:
            # Where the seeds spread more than the value, they decide nothing.
            return ("holds if" if self.condition else "reproduced") if self.can_fail else "not testable"
        if self.region:
            return "holds if"
        return "direction only" if self.agrees else "differs"

    def as_json(self) -> dict[str, Any]:
        """Returns the claim as a JSON object."""
        interval = None if self.interval is None else [finite(bound) for bound in self.interval]
        return {
            **Entry.as_json(self),
            "load": self.load,
            "seeds": self.seeds,
            "interval": interval,
            "condition": self.condition or self.region,
        }


def number(
    found: Estimate,
    published: float,
    resolution: float,
    *,
    work: str,
    where: str,
    what: str,
    unit: Callable[[float], str],
    agrees: bool = False,
    **further: Any,
) -> Claim:
    """Returns a claim that a quantity has a value.

    Args:
        found: The value measured here.
        published: The published value.
        resolution: Half of the last digit that the work gives, or the accuracy to which its figure can be read.
        work: The source work.
        where: Place of the claim in the work.
        what: The quantity.
        unit: Formats a value.
        agrees: True if the value found points the way that the claim says.
        further: Further fields of the claim.
    """
    half = 0.0 if found.low is None or found.high is None else (found.high - found.low) / 2.0
    spread = f" ± {unit(half)}" if half > 0.0 else ""
    return Claim(
        work=work,
        where=where,
        what=what,
        published=unit(published),
        standing=further.pop("standing", "stated"),
        ours=found.mean,
        shown=f"{unit(found.mean)}{spread}",
        low=published - resolution - half,
        high=published + resolution + half,
        seeds=found.count,
        interval=None if found.low is None or found.high is None else (found.low, found.high),
        agrees=agrees,
        **further,
    )


def statement(
    ours: float,
    shown: str,
    *,
    work: str,
    where: str,
    what: str,
    published: str,
    low: float = -math.inf,
    high: float = math.inf,
    **further: Any,
) -> Claim:
    """Returns a claim in words, which holds if a number lies between two bounds.

    Args:
        ours: The number.
        shown: What was found, in words.
        work: The source work.
        where: Place of the claim in the work.
        what: The subject of the claim.
        published: The claim.
        low: Smallest number with which it holds.
        high: Largest number with which it holds.
        further: Further fields of the claim.
    """
    return Claim(
        work=work,
        where=where,
        what=what,
        published=published,
        standing=further.pop("standing", "stated"),
        ours=ours,
        shown=shown,
        low=low,
        high=high,
        **further,
    )


def untestable(*, work: str, where: str, what: str, published: str, note: str, shown: str = "") -> Claim:
    """Returns a claim that cannot be tested; the note says what is lost."""
    return Claim(
        work=work,
        where=where,
        what=what,
        published=published,
        standing="stated",
        ours=math.nan,
        shown=shown,
        unscored="not testable",
        note=note,
    )


def taken(
    found: Estimate, *, work: str, where: str, what: str, published: str, unit: Callable[[float], str], note: str, **further: Any
) -> Claim:
    """Returns a published value that is an input of the model: it is shown, and not scored."""
    return Claim(
        work=work,
        where=where,
        what=what,
        published=published,
        standing=further.pop("standing", "stated"),
        ours=found.mean,
        shown=unit(found.mean),
        seeds=found.count,
        unscored="input",
        note=note,
        **further,
    )
