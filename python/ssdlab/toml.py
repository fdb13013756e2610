"""Python values as TOML: what a dictionary needs to become a description. Reading is the engine's work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ssdlab.errors import InputError


def document(fields: Mapping[str, object]) -> str:
    """A TOML document with these fields; its tables stand under headings, what is in them inline."""
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
    """A key, quoted where it has to be."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _string(name)


def value(item: object) -> str:
    """One value on one line."""
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
    """A basic string: as in JSON, but that DEL is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
