"""Numbers as the pages show them."""

from __future__ import annotations

__all__ = ["change_text", "points_text", "share_text"]


def change_text(share: float) -> str:
    """Returns a relative change in percent."""
    return f"{100 * share:+.1f} %"


def points_text(difference: float) -> str:
    """Returns a difference of shares in percentage points."""
    return f"{100 * difference:+.1f} points"


def share_text(share: float) -> str:
    """Returns a share in percent."""
    return f"{100 * share:.1f} %"
