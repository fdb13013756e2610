"""Imports among the modules of ssdlab form no cycle, and stand inside a function only for a stated reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

import ssdlab
from ssdlab.sources import Import, imports_in, modules_behind, sources_in

ROOT = Path(ssdlab.__file__).parent

#: Imports of each module.
Graph = Mapping[str, list[Import]]


@pytest.fixture(scope="module")
def sources() -> dict[str, Path]:
    return sources_in(ROOT)


@pytest.fixture(scope="module")
def graph(sources: dict[str, Path]) -> Graph:
    return {module: imports_in(path, sources) for module, path in sources.items()}


def cycle_in(graph: Graph, counts: Callable[[str, Import], bool]) -> str:
    """Returns a shortest cycle through an import that counts, with the place of each import; empty if there is none."""
    found: list[str] = []
    for module, imports in graph.items():
        for one in imports:
            if one.module in graph and counts(module, one):
                way = way_between(graph, one.module, module)
                if way and (not found or len(way) + 1 < len(found)):
                    found = [module, *way]
    steps = [
        f"  {module}, line {next(one.line for one in graph[module] if one.module == other)}: imports {other}"
        for module, other in pairwise(found)
    ]
    return "\n".join([" -> ".join(found), *steps]) if found else ""


def way_between(graph: Graph, start: str, end: str) -> list[str]:
    """Returns the modules of a shortest way of imports, with both its ends; none if there is no way."""
    before = {start: ""}
    waiting = [start]
    while waiting and end not in before:
        here = waiting.pop(0)
        for one in graph[here]:
            if one.module in graph and one.module not in before:
                before[one.module] = here
                waiting.append(one.module)
    way = [end] if end in before else []
    while way and way[0] != start:
        way.insert(0, before[way[0]])
    return way


def at_run_time(graph: Graph) -> Graph:
    return {module: [one for one in imports if not one.is_for_types] for module, imports in graph.items()}


def across_folders(sources: Mapping[str, Path]) -> Callable[[str, Import], bool]:
    """Returns what tells an import across folders.

    The modules of the top folder are the parts of the package, which stand on each other: each counts as a folder.
    """

    def place(module: str) -> Path:
        path = sources[module]
        return path if path.parent == ROOT else path.parent

    return lambda module, one: place(module) != place(one.module)


def without_reason(text: str, imports: list[Import]) -> list[int]:
    """Returns the lines of the imports in functions that have no comment.

    The comment stands on the line, or above it or above the imports that it follows.
    """
    lines = text.splitlines()
    deferred = {one.line for one in imports if one.is_deferred and not one.is_for_types}
    found = []
    for line in sorted(deferred):
        first = line
        while first - 1 in deferred or (first - 2 in deferred and not lines[first - 2]):
            first -= 1 if first - 1 in deferred else 2
        above = lines[first - 2].strip() if first > 1 else ""
        if "#" not in lines[line - 1] and not above.startswith("#"):
            found.append(line)
    return found


def test_no_cycle_at_run_time(graph):
    """An import inside a function counts, too: it hides a cycle, and does not remove it."""
    way = cycle_in(at_run_time(graph), lambda module, one: True)
    assert not way, f"modules import each other at run time: move what both need to a module below them\n{way}"


def test_no_cycle_of_types_beyond_one_folder(graph, sources):
    way = cycle_in(graph, across_folders(sources))
    assert not way, f"modules of several folders need each other's types: name the type that the lower one needs there\n{way}"


def test_imports_inside_functions_have_a_reason(graph, sources):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for module, path in sources.items()
        for line in without_reason(path.read_text(encoding="utf-8"), graph[module])
    ]
    what = "imports inside functions without a comment on why (start-up time, a package that may be missing)"
    assert not found, f"{what}; expected at the top of the module, or with a comment\n" + "\n".join(found)


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., dict[str, Path]]:
    """Writes a package of modules with these texts."""

    def write(**texts: str) -> dict[str, Path]:
        for name, text in {"__init__": "", **texts}.items():
            path = tmp_path / "kit" / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return sources_in(tmp_path / "kit")

    return write


def read(found: dict[str, Path]) -> Graph:
    return {module: imports_in(path, found) for module, path in found.items()}


def test_a_cycle_is_found_and_shown(package):
    graph = read(package(a="from kit import b", b="x = 1\ndef f():\n    import kit.c", c="from kit.a import x"))
    assert cycle_in(at_run_time(graph), lambda module, one: True).splitlines() == [
        "kit.a -> kit.b -> kit.c -> kit.a",
        "  kit.a, line 1: imports kit.b",
        "  kit.b, line 3: imports kit.c",
        "  kit.c, line 1: imports kit.a",
    ]


def test_types_are_no_cycle_at_run_time(package):
    graph = read(package(a="from kit.b import x", b="if TYPE_CHECKING:\n    from kit.a import y\nelse:\n    import json"))
    assert not cycle_in(at_run_time(graph), lambda module, one: True)
    assert cycle_in(graph, lambda module, one: True).startswith("kit.a -> kit.b -> kit.a\n")


def test_an_import_by_name_counts(package):
    graph = read(package(a="import_module(f'kit.{name}')", b="import kit.a"))
    assert cycle_in(graph, lambda module, one: True).startswith("kit.a -> kit.b -> kit.a\n")


def test_a_folder_may_have_a_cycle_of_types(package, monkeypatch):
    monkeypatch.setattr("test_import_graph.ROOT", package(a="")["kit"].parent)
    types = "if TYPE_CHECKING:\n    from kit.{} import x"
    found = package(part__in__a="from kit.part.b import x", part__in__b=types.format("part.a"), a="")
    assert not cycle_in(read(found), across_folders(found))
    found = package(part__in__a="from kit.a import x", a=types.format("part.a"))
    assert "kit.part.a, line 1: imports kit.a" in cycle_in(read(found), across_folders(found))
    found = package(part__in__a="", a="from kit.b import x", b=types.format("a"))
    assert cycle_in(read(found), across_folders(found)).startswith("kit.a -> kit.b -> kit.a\n")


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("import numpy", [2]),
        ("import numpy  # start-up", []),
        ("# Start-up.\n    import numpy\n    import json", []),
        ("# Start-up.\n    import numpy\n\n    import json", []),
        ("# Start-up.\n    import numpy\n    f()\n    import json", [5]),
        ("return 1\nif TYPE_CHECKING:\n    import numpy", []),
    ],
)
def test_a_missing_reason_is_found(package, body, lines):
    found = package(a=f"def f():\n    {body}\n")
    assert without_reason(found["kit.a"].read_text(), read(found)["kit.a"]) == lines


def test_what_stands_behind_a_module(package):
    found = package(a="import kit.b", b="def f():\n    from kit import c", c="", d="import kit.a")
    assert modules_behind(["kit.a"], found) == {"kit.a", "kit.b", "kit.c"}
