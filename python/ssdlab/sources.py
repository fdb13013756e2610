"""Imports among the modules of the package, read from their sources."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Import", "imports_in", "modules_behind", "sources_in"]


@dataclass(frozen=True, slots=True)
class Import:
    """Import of a module of the package, or of another package."""

    #: Dotted name of the module.
    module: str
    #: First line of the statement, from 1.
    line: int
    #: True inside a function: it is done when the function is called.
    is_deferred: bool = False
    #: True below ``if TYPE_CHECKING``: it is never done.
    is_for_types: bool = False


def sources_in(folder: Path) -> dict[str, Path]:
    """Returns the source of each module of a package, by its dotted name.

    That of a package is its ``__init__.py``, that of a compiled module its stub.
    """
    found = {}
    for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")]):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_in(source: Path, modules: Mapping[str, Path]) -> list[Import]:
    """Returns the imports in a source, in its order.

    Args:
        source: The source. Its imports are absolute.
        modules: The modules of the package, by which ``from a import b`` is known as an import of ``a.b``.
    """
    found = _imports(ast.parse(source.read_bytes()), modules, Import("", 0))
    return [one for one in found if modules.get(one.module) != source]


def _imports(inside: ast.AST, modules: Mapping[str, Path], where: Import) -> Iterator[Import]:
    """Yields the imports inside a node of a syntax tree; `where` says what is true of its place."""
    for node in ast.iter_child_nodes(inside):
        is_deferred = where.is_deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        here = Import("", 0, is_deferred, where.is_for_types)
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, node.lineno, is_deferred, where.is_for_types)
            case ast.ImportFrom(module=str(module), names=names):
                named = (f"{module}.{alias.name}" for alias in names)
                for name in dict.fromkeys(name if name in modules else module for name in named):
                    yield Import(name, node.lineno, is_deferred, where.is_for_types)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=rest):
                yield from _imports(ast.Module(body, []), modules, Import("", 0, is_deferred, True))
                yield from _imports(ast.Module(rest, []), modules, here)
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.JoinedStr(values=[ast.Constant(value=str(begin)), _])]):
                # Any module whose name begins so.
                for name in modules:
                    if name.startswith(begin):
                        yield Import(name, node.lineno, is_deferred, where.is_for_types)
            case _:
                yield from _imports(node, modules, here)


def modules_behind(roots: Iterable[str], modules: Mapping[str, Path]) -> set[str]:
    """Returns modules of the package and all those that they import at run time, directly or through others."""
    found: set[str] = set()
    waiting = [*roots]
    while waiting:
        module = waiting.pop()
        if module in modules and module not in found:
            found.add(module)
            waiting += [one.module for one in imports_in(modules[module], modules) if not one.is_for_types]
    return found
