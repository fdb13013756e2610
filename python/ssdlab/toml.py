"""Python values as TOML text, for descriptions given as dictionaries. TOML is read by the engine."""

from __future__ import annotations

from collections.abc import Mapping

from ssdlab.errors import InputError
from ssdlab.numbers import plain


def document(fields: Mapping[str, object]) -> str:
    """Returns a TOML document with these fields.

    Raises:
        InputError: TOML has no such value.
    """
    # Start-up: only a table that is written needs it.
    import tomli_w

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
