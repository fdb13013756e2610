"""Writes for Python what a policy exchanges with the engine, as ``crates/ftl/src/policy/exchange.rs`` declares it.

``python tools/contract.py`` writes ``python/ssdlab/_contract.py`` and, in the stub of the engine, the classes of
arguments and the documentation of the others, once the engine is built. A test checks that both are up to date.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ssdlab import _engine

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "ssdlab"
MODULE, STUB = PACKAGE / "_contract.py", PACKAGE / "_engine.pyi"
#: Longest line of a documentation.
WIDTH = 120

HEAD = '''"""Facts and needs of a policy in Python, and the names of its calls.

Made from the declaration in Rust, ``crates/ftl/src/policy/exchange.rs``. Do not edit: after a change of the
declaration, ``python tools/contract.py`` writes this file anew.
"""

from dataclasses import dataclass
from typing import TypeAlias

#: Time span in an answer: nanoseconds, or a text such as ``"5ms"``.
Span: TypeAlias = int | str
'''


def paragraph(text: str) -> str:
    """Returns a documentation in one line, without the marks that Rust's needs."""
    return " ".join(text.split()).replace("\\[", "[").replace("\\]", "]")


def linked(text: str, contract: dict[str, Any]) -> str:
    """Returns a documentation with its calls and fields as references of Sphinx, and its other names as literals."""
    fields = {field["name"] for part in ("Facts", "Needs") for field in contract[part]["fields"]}

    def link(match: re.Match[str]) -> str:
        name = match[1]
        if name in contract["calls"]:
            return f":meth:`Policy.{name}`"
        kind, _, field = name.partition(".")
        if field and kind in contract["arguments"]:
            return f":attr:`{name}`"
        return f"`{name}`" if name in fields else f"``{name}``"

    # A name that is both a call and a need, such as `placed`, is the call.
    return re.sub(r"`([^`]+)`", link, paragraph(text))


def fields_of(fields: list[dict[str, Any]], contract: dict[str, Any]) -> str:
    """Returns the fields of a class, each with its documentation."""
    lines = []
    for field in fields:
        mark = "    #: "
        about = linked(field["about"], contract)
        lines += textwrap.wrap(about, WIDTH, initial_indent=mark, subsequent_indent=mark, break_on_hyphens=False)
        default = f" = {field['default']}" if "default" in field else ""
        lines.append(f"    {field['name']}: {field['type']}{default}")
    return "\n".join(lines) + "\n"


def module(contract: dict[str, Any]) -> str:
    """Returns the text of the module ``ssdlab._contract``."""
    needs = contract["Needs"]["fields"]
    follows = {need["name"]: tuple(need["calls"]) for need in needs if need["calls"]}
    classes = (
        ("@dataclass(frozen=True, slots=True)\nclass Facts:", contract["Facts"]["about"], contract["Facts"]["fields"]),
        ("@dataclass(frozen=True, slots=True, kw_only=True)\nclass Needs:", contract["Needs"]["about"], needs),
        ("class Declarations:", "Needs that a policy declares by its attributes.", [one for one in needs if not one["calls"]]),
    )
    text = HEAD
    for head, about, fields in classes:
        text += f'\n\n{head}\n    """{paragraph(about)}"""\n\n{fields_of(fields, contract)}'
    text += "\n\n#: Needs that follow from the calls that a policy overrides, with these calls.\n"
    text += table("FOLLOWS", follows)
    text += "#: Calls that a run makes, with the names of their arguments.\n"
    return text + table("CALLS", {name: tuple(arguments) for name, arguments in contract["calls"].items()})


def table(name: str, rows: dict[str, tuple[str, ...]]) -> str:
    """Returns the assignment of a dictionary, a line for each of its rows."""
    shown = [
        f'    "{key}": ({", ".join(json.dumps(one) for one in row)}{"," if len(row) == 1 else ""}),\n'
        for key, row in rows.items()
    ]
    return f"{name}: dict[str, tuple[str, ...]] = {{\n{''.join(shown)}}}\n"


def docstring(text: str, indent: str) -> list[str]:
    """Returns the lines of a docstring."""
    parts = [textwrap.wrap(paragraph(part), 113 - len(indent)) for part in text.strip().split("\n\n")]
    lines = [line for part in parts for line in ["", *part]][1:]
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def stub_class(name: str, contract: dict[str, Any]) -> list[str]:
    """Returns the lines of a class of arguments for the stub."""
    kind = contract["arguments"][name]
    is_base = any(one["base"] == name for one in contract["arguments"].values())
    head = f"class {name}({kind['base']}):" if kind["base"] else f"class {name}:"
    lines = [*([] if is_base else ["@final"]), head, *docstring(kind["about"], "    "), ""]
    for field in kind["fields"]:
        lines += ["    @property", f"    def {field['name']}(self) -> {field['type']}:", *docstring(field["about"], 8 * " ")]
    return lines


def documented(kind: ast.ClassDef) -> Iterator[tuple[int, int, list[str]]]:
    """Yields the places of the docstrings of a class of the stub that the engine documents, with the engine's text."""
    thing = getattr(_engine, kind.name, None)
    members = [one for one in kind.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    bodies = [(kind.body, thing), *((one.body, getattr(thing, one.name, None)) for one in members)]
    for (first, *_), described in bodies:
        text = getattr(described, "__doc__", None)
        # A function of the stub without a documentation has three dots.
        if text and isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            yield first.lineno - 1, first.end_lineno or 0, docstring(text, " " * first.col_offset)


def stub(text: str, contract: dict[str, Any]) -> str:
    """Returns the stub with the classes of arguments made anew, and the documentation of the others."""
    places: list[tuple[int, int, list[str]]] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and node.name in contract["arguments"]:
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            places.append((first - 1, node.end_lineno or 0, stub_class(node.name, contract)))
        elif isinstance(node, ast.ClassDef):
            places += documented(node)
    lines = text.split("\n")
    for begin, end, wanted in sorted(places, reverse=True):
        lines[begin:end] = wanted
    return "\n".join(lines)


def made() -> dict[Path, str]:
    """Returns the files with what they should contain."""
    contract = json.loads(_engine.policy_contract())
    return {MODULE: module(contract), STUB: stub(STUB.read_text(encoding="utf-8"), contract)}


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
