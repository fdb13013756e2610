"""Bundles of options: a command takes a dataclass or a dictionary, and Typer sees each of its entries as an option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_args

from ssdlab.cli.options import Declared


def spread(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Presents a command to Typer with the options of its bundles, and fills the bundles when it is called.

    A bundle is a parameter whose type is a dataclass, or a dictionary that is annotated as :class:`Declared`.

    Args:
        without: Names of options that are left out of this command; they keep their defaults.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = signature(command, eval_str=True)
        bundles: dict[str, tuple[Callable[..., Any], list[str]]] = {}
        offered: dict[str, Parameter] = {}
        for name, parameter in declared.parameters.items():
            kind = parameter.annotation
            mark = next((mark for mark in get_args(kind)[1:] if isinstance(mark, Declared)), None)
            if mark is not None:
                entries = _parameters(mark)
                bundles[name] = (dict, [*entries])
                offered.update(entries)
            elif isinstance(kind, type) and is_dataclass(kind):
                bundles[name] = (kind, [*signature(kind).parameters])
                offered.update(signature(kind, eval_str=True).parameters)
            else:
                offered[name] = parameter
        for name in without:
            del offered[name]

        @wraps(command)
        def bundled(**given: Any) -> None:
            for name, (bundle, entries) in bundles.items():
                given[name] = bundle(**{entry: given.pop(entry) for entry in entries if entry in given})
            command(**given)

        parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in offered.values()]
        bundled.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
        return bundled

    return decorate


def _parameters(mark: Declared) -> dict[str, Parameter]:
    """Returns the options of a bundle as the parameters that Typer sees."""
    found = {}
    for option in mark.options():
        kind, default = mark.parameter(option)
        found[option.name] = Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    return found
