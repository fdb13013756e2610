"""Dotted names of values in a document, such as ``host.interface.lanes`` or ``ecc.errors.rows[0].cycles``."""

from __future__ import annotations

from typing import Any

__all__ = ["looked_up"]


def looked_up(document: Any, name: str) -> Any:
    """Returns the value of a dotted name, with indices in brackets; of a member of a family its kind.

    Raises:
        KeyError: there is none.

    Examples:
        >>> from ssdlab.explore.names import looked_up
        >>> looked_up({"ftl": {"victim": {"kind": "greedy"}}}, "ftl.victim")
        'greedy'
    """
    inner = document
    for part in name.split("."):
        key, *indices = part.replace("]", "").split("[")
        try:
            inner = inner[key]
            for index in indices:
                inner = inner[int(index)]
        except (KeyError, TypeError, IndexError):
            raise KeyError(name) from None
    # A member of a family is its name, or a table with its kind.
    return inner.get("kind", inner) if isinstance(inner, dict) else inner
