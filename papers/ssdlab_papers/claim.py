"""Published claims with a verdict: what a work states, what is found here, and whether the one bears out the other.

A claim is scored against a range around itself. The range is the resolution to which the work gives the value, and on
both sides half of the confidence interval of ours; a range that is wider than the value itself reproduces nothing.

Real traces lead. What look-alikes of the same traces give stands beside it; where the two differ by more than their
intervals, the look-alikes are unfaithful in that respect, and the claim says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.address import address, derived
from ssdlab_papers.entry import Entry, finite
from ssdlab_papers.sentence import sentence

__all__ = [
    "CLAIM_VERDICTS",
    "COUNTED_VERDICTS",
    "NOTICEABLE",
    "SCORED_VERDICTS",
    "Claim",
    "falls",
    "interval_of",
    "number",
    "of_control",
    "on_loads",
    "rises",
    "same_way",
    "sanity",
    "set_apart",
    "statement",
    "taken",
    "unclaimed",
    "untestable",
]

#: Verdicts of claims, in the order in which they are counted.
CLAIM_VERDICTS = (
    "reproduced",
    "direction only",
    "holds if",
    "differs",
    "contradicts itself",
    "not testable",
    "not comparable",
    "derived",
    "input",
    "sanity",
    "shown",
)
#: Verdicts of the scoreboard: all but that of what no work claims.
SCORED_VERDICTS = CLAIM_VERDICTS[:-1]
#: Verdicts that are counted: a claim that cannot fail says nothing of the work.
COUNTED_VERDICTS = tuple(verdict for verdict in SCORED_VERDICTS if verdict != "sanity")
#: The smallest change that is one, in all works: 1 % of a value, or one point of a share. A claim that something rises
#: or falls is not borne out by less: traces spread ours by more, and no figure shows it.
NOTICEABLE = 0.01


def rises(change: float) -> bool:
    """Returns True if a change is a rise: it is noticeable, and above zero."""
    return change >= NOTICEABLE


def falls(change: float) -> bool:
    """Returns True if a change is a fall: it is noticeable, and below zero."""
    return change <= -NOTICEABLE


def same_way(change: float, published: float) -> bool:
    """Returns True if a change goes the way of a published one; where that is not noticeable, ours may not be."""
    return (rises(change), falls(change)) == (rises(published), falls(published))


def _side(bound: float, with_it: str, without: str) -> str:
    """Returns a bound in words; one that is a hair's breadth from a short number excludes that number."""
    short = round(bound, 6) + 0.0
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
    #: True if a real trace was run, false if only look-alikes were; ``None`` if the load is no trace.
    real_trace: bool | None = None
    #: The published value in the unit of ours; ``None`` if the claim is in words.
    value: float | None = None
    #: Value on the look-alikes of the traces, as the page shows it; empty if none were run beside them.
    alike: str = ""
    #: True if the claim is a headline of its work: it stands in the table at the top of the page.
    headline: bool = False
    #: True if the measured value points the way that the claim says, whatever its size.
    agrees: bool = False
    #: Condition of the setting without which the claim would not hold, if the work does not state it.
    condition: str = ""
    #: Region in which the published value comes out, where it does not at the stated setting.
    region: str = ""
    #: A verdict that does not follow from the numbers: ``contradicts itself``, ``not testable``, ``not comparable``,
    #: ``derived``, ``input`` or ``sanity``; ``shown`` for what no work claims. Empty: the claim is scored.
    unscored: str = ""

    @property
    def id(self) -> str:
        """Address of the claim, which stays as long as its subject does."""
        found = address(self.work, self.where, self.what)
        return derived(self.work, self.where, self.what) if found is None else found.id

    @property
    def sentence(self) -> str:
        """One sentence on what was found, of at most 25 words."""
        found = address(self.work, self.where, self.what)
        return sentence(self, found.because if found is not None and found.verdict == self.verdict else "")

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
    def is_met(self) -> bool:
        """True if ours lies in the range."""
        return self.low is not None and self.high is not None and self.low <= self.ours <= self.high

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
        if self.is_met:
            # Where the seeds spread more than the value, they decide nothing.
            return ("holds if" if self.condition else "reproduced") if self.can_fail else "not testable"
        if self.region:
            return "holds if"
        return "direction only" if self.agrees else "differs"

    @property
    def _doubt(self) -> str:
        """Reason why the range of a claim decides nothing; empty if it does."""
        return "the seeds spread more than the value" if self.verdict == "not testable" and not self.unscored else ""

    def as_json(self) -> dict[str, Any]:
        """Returns the claim as a JSON object."""
        interval = None if self.interval is None else [finite(bound) for bound in self.interval]
        return {
            "id": self.id,
            **Entry.as_json(self),
            "sentence": self.sentence,
            "load": self.load,
            "seeds": self.seeds,
            "interval": interval,
            "condition": self.condition,
            "region": self.region,
            "real_trace": self.real_trace,
            "value": self.value,
            "alike": self.alike,
            "headline": self.headline,
            "agrees": self.agrees,
            "unscored": self.unscored,
        }

    def as_score(self) -> dict[str, Any]:
        """Returns the claim as a row of the scoreboard: `low` and `high` are the range in which it is reproduced."""
        return {
            "id": self.id,
            "work": self.work,
            "claim": self.what,
            "where": self.where,
            "published": self.published if self.value is None else self.value,
            "ours": finite(self.ours),
            "low": finite(self.low),
            "high": finite(self.high),
            "seeds": self.seeds,
            "load": self.load,
            "real_trace": self.real_trace,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "reason": self.note or self.condition or self.region or self._doubt,
        }


def interval_of(found: Estimate) -> tuple[float, float] | None:
    """Returns the interval of an estimate; ``None`` without one."""
    return None if found.low is None or found.high is None else (found.low, found.high)


def _half(found: Estimate) -> float:
    """Returns half of the width of an interval; 0 without one."""
    return 0.0 if found.low is None or found.high is None else (found.high - found.low) / 2.0


def _with_interval(found: Estimate, unit: Callable[[float], str]) -> str:
    """Formats a mean with half of its interval."""
    half = _half(found)
    return f"{unit(found.mean)} ± {unit(half).lstrip('+')}" if half > 0.0 else unit(found.mean)


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
        further: Further fields of the claim, and `words`, the published value where a number alone does not say it.
    """
    half = _half(found)
    return Claim(
        work=work,
        where=where,
        what=what,
        published=further.pop("words", unit(published)),
        value=published,
        standing=further.pop("standing", "stated"),
        ours=found.mean,
        shown=_with_interval(found, unit),
        low=published - resolution - half,
        high=published + resolution + half,
        seeds=found.count,
        interval=interval_of(found),
        agrees=agrees,
        **further,
    )


def on_loads(
    real: Estimate | None,
    alike: Estimate | None,
    published: float,
    resolution: float,
    *,
    unit: Callable[[float], str],
    load: str,
    agrees: Callable[[float], bool],
    note: str = "",
    **further: Any,
) -> Claim:
    """Returns a claim that a quantity has a value on traces, which lead, with their look-alikes beside them.

    Args:
        real: The value on real traces; ``None`` if none are at hand.
        alike: The value on their look-alikes; ``None`` if they were not run. One of the two is there. Without intervals
            of both, they are not compared.
        published: The published value.
        resolution: As for :func:`number`.
        unit: Formats a value.
        load: The loads.
        agrees: Returns True if a value points the way that the claim says.
        note: Why ours is what it is.
        further: Further fields of the claim.
    """
    found = real or alike
    assert found is not None, "a claim on traces needs one or a look-alike"
    remarks = [note]
    if real is not None and alike is not None:
        if real.low is not None and alike.low is not None and abs(real.mean - alike.mean) > _half(real) + _half(alike):
            remarks.append(f"the look-alikes are unfaithful in this respect ({unit(alike.mean)}) and not used")
    elif real is None:
        remarks.append("look-alikes only: no trace is at hand")
    return number(
        found,
        published,
        resolution,
        unit=unit,
        load=load,
        agrees=agrees(found.mean),
        real_trace=real is not None,
        alike="" if alike is None else _with_interval(alike, unit),
        note="; ".join(filter(None, remarks)),
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


def unclaimed(found: Estimate, shown: str, *, work: str, where: str, what: str, **further: Any) -> Claim:
    """Returns what no work claims: it is shown, and not scored."""
    return Claim(
        work=work,
        where=where,
        what=what,
        published=further.pop("published", "–"),
        standing=further.pop("standing", "derived"),
        ours=found.mean,
        shown=shown,
        seeds=found.count,
        unscored="shown",
        **further,
    )


def of_control(claims: Iterable[Claim], *, work: str, where: str, what: str, **further: Any) -> Claim:
    """Returns how many claims a control reproduces, a policy in the work's place, of those that are scored, and which.

    Args:
        claims: The claims of the work, with the control's runs.
        work: Name of the source work.
        where: Place in the work.
        what: The claims, and the control.
        further: Further fields of the claim.
    """
    several = [claim for claim in claims if not claim.unscored]
    reproduced = [claim.id for claim in several if claim.verdict == "reproduced"]
    each = "; ".join(f"{claim.id}: {claim.verdict} ({claim.shown.partition(' (')[0]})" for claim in several)
    return unclaimed(
        Estimate(0, float(len(reproduced)), None, None),
        f"{len(reproduced)} of {len(several)}: {each}",
        work=work,
        where=where,
        what=what,
        published="none should be",
        note="" if not reproduced else f"{', '.join(reproduced)}: not a matter of the paper's idea",
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


def set_apart(claim: Claim, verdict: str, note: str) -> Claim:
    """Returns a claim with a verdict that does not follow from its numbers.

    Args:
        claim: The claim.
        verdict: ``contradicts itself``, if published numbers exclude each other; ``not comparable``, if ours is another
            quantity; ``derived``, if it follows from another published row, which is scored; ``input``, if it states
            what the model was given; ``not testable``.
        note: The reason. For a contradiction, its arithmetic.
    """
    assert verdict in SCORED_VERDICTS[SCORED_VERDICTS.index("differs") + 1 :], verdict
    return replace(claim, unscored=verdict, note=note)


def sanity(claim: Claim, why: str) -> Claim:
    """Returns a claim that cannot fail on this load, because what it is about does not occur: it is not counted.

    One that is missed all the same stays as it is.

    Args:
        claim: The claim.
        why: What does not occur, such as a fast write.
    """
    if not claim.is_met:
        return claim
    return replace(claim, unscored="sanity", note="; ".join(filter(None, (f"cannot fail: {why}", claim.note))))


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
