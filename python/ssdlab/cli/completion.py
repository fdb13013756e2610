"""Words that a shell may complete: names of presets and of policies. Where none fits, the shell completes files."""

from __future__ import annotations

from ssdlab import _engine

__all__ = ["policies", "policy_lists", "presets"]

#: Word with its description, which some shells show.
Words = list[tuple[str, str]]


def presets(incomplete: str) -> Words:
    """Returns the presets that begin with a text."""
    return [(name, title) for name, title, _ in _engine.presets() if name.startswith(incomplete)]


def policies(incomplete: str) -> Words:
    """Returns the policies that begin with a text."""
    return [(name, about) for name, about in _engine.policies() if name.startswith(incomplete)]


def policy_lists(incomplete: str) -> Words:
    """Returns the lists of policies that continue a list, whose last name may be incomplete."""
    before, comma, last = incomplete.rpartition(",")
    return [(before + comma + name, about) for name, about in policies(last) if name not in before.split(",")]
