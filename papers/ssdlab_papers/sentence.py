"""One sentence on a claim, of at most :data:`MOST_WORDS` words: what the verdict rests on, and the cause where it fits.

The sentence is composed of the claim's numbers, so that it is as true as they are. The cause is the claim's note if
that is short as a whole, or a short one that the author declared for this verdict (:mod:`ssdlab_papers.address`); the
beginning of a long reason is no reason.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab_papers.claim import Claim

__all__ = ["MOST_WORDS", "sentence"]

#: Largest number of words.
MOST_WORDS = 25
#: Largest number of words of the measured value in the sentence.
_OURS = 8
#: Sentences on verdicts that do not follow from the numbers.
_APART = {
    "contradicts itself": "The work's own numbers exclude each other",
    "not comparable": "Not comparable with ours",
    "derived": "Follows from another published row, which is scored",
    "input": "A parameter of the model, not a result",
    "sanity": "Cannot fail here, and is not counted",
    "shown": "Shown for comparison, as no work claims it",
}
_COUNTS = re.compile(r"in (none|\d+) of (\d+) (plausible )?settings")


def sentence(claim: Claim, because: str = "") -> str:
    """Returns the sentence on a claim.

    Args:
        claim: The claim.
        because: Cause of the verdict, as its author declared it; empty: the note, if it is short enough.
    """
    fact = _fact(claim)
    for cause in (because, claim.note):
        whole = f"{fact}: {cause.strip().rstrip('.')}."
        if cause and len(whole.split()) <= MOST_WORDS:
            return whole
    return f"{fact}."


def _fact(claim: Claim) -> str:
    """Returns what the verdict rests on."""
    if claim.verdict == "not testable":
        return "Not testable" if claim.unscored else "Not testable, since the seeds spread more than the value"
    if claim.verdict in _APART:
        return _APART[claim.verdict]
    if claim.verdict == "holds if":
        return _conditional(claim)
    if claim.value is None or not math.isfinite(claim.ours) or claim.value == 0.0:
        return _in_words(claim)
    return _in_numbers(claim, claim.value)


def _conditional(claim: Claim) -> str:
    """Returns under what a claim holds: its condition if that is short, or how many settings give the value."""
    if claim.is_met:
        plain = claim.condition.removeprefix("if ")
        text = f"Holds if {plain}" if plain != claim.condition else f"Holds on a condition: {plain}"
        return text if len(text.split()) <= MOST_WORDS else "Holds on a condition that the work does not state"
    found = _COUNTS.match(claim.region)
    if found is not None:
        return f"Ours at the stated setting is {_ours(claim)}; the published value comes out {found[0]}"
    text = f"Holds at another setting: {claim.region}"
    return text if len(text.split()) <= MOST_WORDS else "Holds at another setting than the stated one"


def _in_words(claim: Claim) -> str:
    verdict = {"reproduced": "Holds", "direction only": "Holds in direction, not in size", "differs": "Does not hold"}
    if ours := _ours(claim):
        return f"{verdict[claim.verdict]}; ours is {ours}"
    # The words are many: the number that decides, and the range for it, are in the same unit.
    return f"{verdict[claim.verdict]}; the number that decides is {claim.ours:.3g}, accepted {claim.accepted}"


def _in_numbers(claim: Claim, value: float) -> str:
    ratio = claim.ours / value
    if claim.verdict == "reproduced":
        off = abs(ratio - 1.0)
        if off < 5e-4:
            return "Ours equals the published value to its last digit"
        side = "above" if ratio > 1.0 else "below"
        return f"Ours is {_percent(off)} {side} the published value, within its resolution and our interval"
    if abs(ratio) < 5e-3:
        return f"Ours, {_ours(claim)}, is next to nothing beside the published {_value(claim)}"
    if claim.verdict == "direction only":
        return f"Points the published way, at {_times(ratio)} the published size"
    if ratio < 0.0:
        return f"Points the other way: {_ours(claim)} instead of {_value(claim)}"
    return f"Ours is {_times(ratio)} the published value"


def _value(claim: Claim) -> str:
    """Returns the published value without what follows it in brackets."""
    return claim.published.partition(" (")[0]


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 0.1 else f"{100.0 * share:.0f} %"


def _times(ratio: float) -> str:
    """Formats a ratio: as a percentage up to twice, and in times beyond."""
    return f"{100.0 * ratio:.3g} % of" if ratio < 1.995 else f"{ratio:.2g} times"


def _ours(claim: Claim) -> str:
    """Returns the measured value if it is short, without what explains it in brackets or after a semicolon."""
    first = claim.shown.partition("; ")[0]
    # The first part of a list with names is not the value.
    for text in (claim.shown, claim.shown.partition(" (")[0], "" if ": " in first else first):
        if text and len(text.split()) <= _OURS:
            return text
    return ""
