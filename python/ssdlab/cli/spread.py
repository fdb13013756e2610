"""Options in bundles: a command takes a dataclass of options, Typer sees each of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any


def spread(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Shows Typer a command whose dataclass parameters are replaced by their fields, and fills them when it is called.

    Args:
        without: Fields that are no options of this command; they keep their defaults.
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
