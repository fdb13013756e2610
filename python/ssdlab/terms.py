"""Definitions of the names in results, as the engine declares them (``docs/reference/results.md``)."""

from __future__ import annotations

import json
import re
from functools import cache
from textwrap import wrap
from typing import Any

from ssdlab import _engine

__all__ = ["definitions"]

#: A link in Markdown.
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def definitions() -> dict[str, Any]:
    """Returns the definitions of all names in results, as ``ssdlab schema results`` prints them.

    Returns:
        ``causes``, with each cause in words, and ``reasons``: lists in the order of the results. ``keys``: those of
        ``summary.json``, ``lifetime.json`` and ``compare.json``, with unit and definition. ``policies``: the statistics
        of each policy. ``columns``: those of each table of a run, with type, unit and definition. ``units``: the
        meaning of each unit.

    Examples:
        >>> found = ssdlab.definitions()
        >>> found["causes"][0]["name"], found["causes"][0]["words"]
        ('host', "work of the host's processor")
        >>> {key["name"]: key["unit"] for key in found["keys"]["summary.json"]}["latency.OP.p99_ns"]
        'ns'
        >>> [column["name"] for column in found["columns"]["latency.parquet"]]
        ['op', 'low_ns', 'high_ns', 'count']
    """
    found: dict[str, Any] = json.loads(_engine.definitions())
    return found


@cache
def _table(kind: str, name: str = "", field: str = "definition") -> dict[str, str]:
    """Returns a field of each definition of a kind; ``name`` is that of the document, policy or file."""
    found = _all()[kind]
    rows = found.get(name, []) if name else found
    return {row["name"]: plain(row[field]) for row in rows}


@cache
def _all() -> dict[str, Any]:
    return definitions()


def plain(text: str) -> str:
    """Returns a definition as plain text: without the marks of code and links."""
    return _LINK.sub(r"\1", text).replace("`", "")


def causes() -> dict[str, str]:
    """Returns the definition of each cause of latency."""
    return _table("causes")


def words() -> dict[str, str]:
    """Returns each cause in words; one that is a wait begins with ``waiting: ``."""
    return _table("causes", field="words")


def facts_behind(cause: str) -> dict[str, Any]:
    """Returns what stands behind a cause: resource, operations and fields; empty for one that this version lacks."""
    return next((found["behind"] for found in _all()["causes"] if found["name"] == cause), {})


def reasons() -> dict[str, str]:
    """Returns the definition of each reason of flash operations."""
    return _table("reasons")


def key(path: str) -> str:
    """Returns the definition of a key of the summary, as declared (``latency.OP.p99_ns``); empty if there is none."""
    return _table("keys", "summary.json").get(path, "")


def column(file: str, name: str) -> str:
    """Returns the definition of a column of a table; empty if there is none."""
    return _table("columns", file).get(name, "")


def statistic(policy: str, name: str) -> str:
    """Returns the definition of a policy's statistic; empty if it has none, such as one of a policy in Python."""
    own = _table("policies", policy).get(name, "")
    member, _, rest = name.partition(".")
    return own or (statistic(member, rest) if rest else "")


def below(text: str) -> str:
    """Returns a definition as further lines of what a chart shows at the pointer; empty without one."""
    return "".join(f"<br>{line}" for line in wrap(text, 64))
