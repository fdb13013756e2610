"""Bundles of options: a command takes a dataclass, and Typer sees each of its fields as an option."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any


def spread(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Presents a command to Typer with the fields of its dataclass parameters as options, and fills these when called.

    Args:
        without: Names of fields that are not options of this command; they keep their defaults.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        declared = signature(command, eval_str=True)
        bundles: dict[str, Any] = {}
        offered: dict[str, Parameter] = {}
        for name, parameter in declared.parameters.items():
            kind = parameter.annotation
            if isinstance(kind, type) and is_dataclass(kind):
                bundles[name] = kind
                offered.update(signature(kind, eval_str=True).parameters)
            else:
                offered[name] = parameter
        for name in without:
            del offered[name]

        @wraps(command)
        def bundled(**given: Any) -> None:
            for name, bundle in bundles.items():
                given[name] = bundle(**{field.name: given.pop(field.name) for field in fields(bundle) if field.name in given})
            command(**given)

        parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in offered.values()]
        bundled.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
        return bundled

    return decorate
