"""The stub of the engine, ``_engine.pyi``, agrees with the module: names, parameters and documentation."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab import _engine

STUB = Path(ssdlab.__file__).with_name("_engine.pyi")
#: Names of the stub that stand for types only.
TYPES = {"Column", "Columns", "_Guest"}


def shape(node: ast.AST) -> Any:
    """Returns the parameters of a function, or the members of a class, as the stub declares them."""
    if isinstance(node, ast.FunctionDef):
        if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
            return "attribute"
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return [one.arg for one in given if one.arg != "self"]
    if isinstance(node, ast.AnnAssign):
        return "attribute"
    assert isinstance(node, ast.ClassDef)
    return {name: shape(one) for one in node.body for name in [name_of(one)] if name and not name.startswith("_")}


def name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return getattr(node, "name", None)


def shape_of(thing: Any) -> Any:
    """Returns the same of a part of the module."""
    if inspect.isclass(thing):
        own = {} if issubclass(thing, Exception) else vars(thing)
        return {name: shape_of(value) for name, value in own.items() if not name.startswith("_")}
    if inspect.isgetsetdescriptor(thing) or inspect.ismemberdescriptor(thing):
        return "attribute"
    return [name for name in inspect.signature(thing).parameters if name != "self"]


TREE = ast.parse(STUB.read_text())
CLASSES = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}


def test_the_stub_has_the_names_and_parameters_of_the_module():
    declared = {name: shape(node) for node in TREE.body for name in [name_of(node)] if name and name not in TYPES}
    found = {name: shape_of(thing) for name, thing in vars(_engine).items() if not name.startswith("_")}
    assert declared == found


def documented() -> Iterator[tuple[ast.Expr, str]]:
    """Yields each docstring of the stub whose class or member the engine documents, with the engine's text."""
    for name, kind in CLASSES.items():
        thing = getattr(_engine, name, None)
        members = [one for one in kind.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
        pairs = [(kind, thing), *((one, getattr(thing, one.name)) for one in members if thing is not None)]
        for node, described in pairs:
            first, text = node.body[0], getattr(described, "__doc__", None)
            if described is not None and text and isinstance(first, ast.Expr):
                yield first, text.replace("\\[", "[").replace("\\]", "]")


def docstring(text: str, indent: str) -> list[str]:
    """Returns the lines of a docstring."""
    width = 113 - len(indent)
    parts = [textwrap.wrap(" ".join(part.split()), width) for part in text.strip().split("\n\n")]
    lines = [line for part in parts for line in ["", *part]][1:]
    end = [f'{indent}"""'] if len(lines) > 1 else []
    lines = [f'{indent}"""{lines[0]}' + ("" if end else '"""'), *(f"{indent}{line}".rstrip() for line in lines[1:])]
    return lines + end


def test_the_stub_has_the_documentation_of_the_module():
    """``SSDLAB_BLESS=1 pytest tests/python/test_stub.py`` writes the documentation into the stub."""
    lines = STUB.read_text().split("\n")
    for place, text in sorted(documented(), key=lambda one: -one[0].lineno):
        lines[place.lineno - 1 : place.end_lineno] = docstring(text, " " * place.col_offset)
    if "SSDLAB_BLESS" in os.environ:
        STUB.write_text("\n".join(lines))
    assert STUB.read_text() == "\n".join(lines)


def test_everything_that_the_engine_shows_a_policy_is_documented():
    for name in ("View", "UnitBits", "BlockBytes", "Dispatch", "Collection", "Moving", "Placed", "UnitRead", "Idle", "Candidate"):
        kind = getattr(_engine, name)
        for member, value in vars(kind).items():
            assert member.startswith("_") or value.__doc__, f"{name}.{member}"
