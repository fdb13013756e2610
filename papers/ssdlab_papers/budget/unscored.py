"""Results as the page tells them: each with its interval over the seeds, and not scored, since no work claims them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, interval_of, unclaimed

#: Reason why a result is not scored.
NO_CLAIM: Final = "no work claims it: each ran its own idea alone"


def half_of(found: Estimate) -> float | None:
    """Returns half of the width of an interval; ``None`` without one."""
    return None if found.low is None or found.high is None else (found.high - found.low) / 2.0


def text_of(found: Estimate, unit: Callable[[float], str] = "{:.2f}".format) -> str:
    """Returns a mean with half of its interval."""
    half = half_of(found)
    return unit(found.mean) if half is None else f"{unit(found.mean)} ± {unit(half).lstrip('+')}"


def result_claim(
    found: Estimate, words: str, *, what: str, where: str, load: str = "", note: str = NO_CLAIM, **further: Any
) -> Claim:
    """Returns what no work claims: it is shown with its interval, and not scored."""
    place = {"work": "one budget", "where": where, "what": what, "load": load, "note": note}
    return unclaimed(found, words, standing="", interval=interval_of(found), **place, **further)
