"""Python values as TOML text, for descriptions given as dictionaries. TOML is read by the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ssdlab.errors import InputError


def document(fields: Mapping[str, object]) -> str:
    """Returns a TOML document with these fields; tables get headings, values nested in a table are inline."""
    plain = [f"{key(name)} = {value(item)}" for name, item in fields.items() if not isinstance(item, Mapping)]
    lines = list(plain)
    for name, item in fields.items():
        if isinstance(item, Mapping):
            lines += [
                "",
                f"[{key(name)}]",
                *(f"{key(field)} = {value(entry)}" for field, entry in item.items()),
            ]
    return "\n".join(lines).lstrip("\n") + "\n"


def key(name: str) -> str:
    """Returns a TOML key, quoted where necessary."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _string(name)


def value(item: object) -> str:
    """Returns a value as TOML on one line.

    Raises:
        InputError: TOML has no such value.
    """
    match item:
        case bool():
            return "true" if item else "false"
        case str():
            return _string(item)
        case int() | float():
            return repr(item)
        case Mapping():
            return "{ " + ", ".join(f"{key(str(name))} = {value(entry)}" for name, entry in item.items()) + " }"
        case Sequence():
            return "[" + ", ".join(value(entry) for entry in item) + "]"
    raise InputError(f"a description cannot hold a {type(item).__name__}: {item!r}")


def _string(text: str) -> str:
    """Returns a TOML basic string: as in JSON, except that DEL is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
