"""The stub of the engine, ``_engine.pyi``, agrees with the module: names and parameters."""

from __future__ import annotations

import ast
import inspect
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


def test_everything_that_the_engine_shows_a_policy_is_documented():
    for name in ("View", "UnitBits", "BlockBytes", "Dispatch", "Collection", "Moving", "Placed", "UnitRead", "Idle", "Candidate"):
        kind = getattr(_engine, name)
        for member, value in vars(kind).items():
            assert member.startswith("_") or value.__doc__, f"{name}.{member}"
