"""TOML: Python values as text, for descriptions given as dictionaries, and the texts that Python reads itself.

Descriptions of drives and workloads are read by the engine.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from ssdlab.errors import InputError
from ssdlab.numbers import plain

#: Most tables in each other of a text or dictionary; descriptions have about five.
DEPTH_MAX = 64
#: Key of more parts than that, which takes a time that grows with the square of their number. It is at the beginning of
#: a line, or in a table in braces.
_DEEP_KEY = re.compile(rf"""(?m)(?:^|[{{,])[ \t]*\[{{0,2}}(?:[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.){{{DEPTH_MAX}}}""")


def loads(text: str) -> dict[str, Any]:
    """Returns the fields of a TOML text.

    Raises:
        ValueError: it is no TOML, or has more tables in each other than any description.
    """
    if deep := _DEEP_KEY.search(text):
        line = text.count("\n", 0, deep.start()) + (text[deep.start()] == "\n") + 1
        raise ValueError(f"line {line}: a key of more than {DEPTH_MAX} parts: expected fewer")
    try:
        fields = tomllib.loads(text)
    except RecursionError:
        fields = None
    if fields is None or _is_deep(fields):
        raise ValueError(f"more than {DEPTH_MAX} tables or lists in each other: expected fewer")
    return fields


def _is_deep(fields: object) -> bool:
    """Returns true if a value has more than :data:`DEPTH_MAX` dictionaries and lists in each other, or itself in it."""
    level: list[object] = [fields]
    for _ in range(DEPTH_MAX):
        inner: list[object] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += one.values()
            elif isinstance(one, list | tuple):
                inner += one
        level = [one for one in inner if isinstance(one, Mapping | list | tuple)]
        if not level:
            return False
    return True


def document(fields: Mapping[str, object]) -> str:
    """Returns a TOML document with these fields.

    Raises:
        InputError: TOML has no such value.
    """
    # Start-up: only a table that is written needs it.
    import tomli_w

    if _is_deep(fields):
        raise InputError(f"a description cannot hold this: more than {DEPTH_MAX} tables or lists in each other, or one in itself")
    try:
        return tomli_w.dumps(plain(fields))
    except TypeError as error:
        raise InputError(f"a description cannot hold this: {error}") from None


def value(item: object) -> str:
    """Returns a value as TOML on one line.

    Raises:
        InputError: TOML has no such value.
    """
    # In an array of arrays a table has no heading, and a string has no line break: every line break is layout.
    lines = document({"_": [[item]]}).split("\n")
    return " ".join(line.strip() for line in lines).removeprefix("_ = [ [ ").removesuffix(", ], ] ")
