"""Every public class, function and method has an example. Pytest runs them (``--doctest-modules``)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

import ssdlab
from ssdlab import _engine

#: Public methods without an example, with the reason.
WITHOUT = {
    "Lifetime.from_engine": "its argument is handed out by the engine, to ssdlab alone",
    "Result.from_outcome": "its argument is handed out by the engine, to ssdlab alone",
    "Random.seed": "it only refuses",
    "Random.getstate": "it only refuses",
    "Random.setstate": "it only refuses",
}


def public(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yields what `module` and its public modules export: classes with their methods, and functions.

    Classes of the engine are documented in Rust.
    """
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            yield from public(thing)
        elif inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and thing is not getattr(_engine, name, None):
            yield name, thing
            own = [each for each in reversed(thing.__mro__) if each.__module__.startswith(thing.__module__.partition(".")[0])]
            for member, value in {name: value for each in own for name, value in vars(each).items()}.items():
                function = getattr(value, "__func__", value)
                if not member.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{member}", function


def without_example(module: ModuleType) -> set[str]:
    return {name for name, thing in public(module) if ">>> " not in (inspect.getdoc(thing) or "").partition("Examples:\n")[2]}


def test_everything_public_has_an_example():
    assert without_example(ssdlab) == set(WITHOUT)


def test_a_missing_example_is_found():
    module = ModuleType("module")

    class Thing:
        """Does something.

        Examples:
            >>> 1
            1
        """

        def method(self):
            """Has no example."""

        @classmethod
        def maker(cls):
            """Has none either.

            Examples:
                None yet.
            """

        @property
        def number(self):
            """Needs none."""

    module.Thing, module.__all__ = Thing, ["Thing"]
    assert without_example(module) == {"Thing.method", "Thing.maker"}
