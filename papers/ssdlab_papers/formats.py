"""Numbers as the pages show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ssdlab.explore.statistics import estimate

__all__ = ["as_sample_text", "change_text", "points_text", "share_text"]


def change_text(share: float) -> str:
    """Returns a relative change in percent."""
    return f"{100 * share:+.1f} %"


def as_sample_text(values: Sequence[float], unit: Callable[[float], str]) -> str:
    """Returns the 95 % interval of a mean over loads that are taken as a sample of others like them.

    Seeds vary the starting state alone: their interval says nothing of other loads. Empty for fewer than three.

    Args:
        values: The value of each load, the mean over its seeds.
        unit: Formats a value.
    """
    if len(values) < 3:
        return ""
    found = estimate(values)
    assert found.low is not None
    assert found.high is not None
    return f"as a sample of such loads: {unit(found.low)} to {unit(found.high)} (95 %, {len(values)} loads)"


def points_text(difference: float) -> str:
    """Returns a difference of shares in percentage points."""
    return f"{100 * difference:+.1f} points"


def share_text(share: float) -> str:
    """Returns a share in percent."""
    return f"{100 * share:.1f} %"
