"""The options of runs and lives as the engine declares them: defaults, checks, signatures and documentation."""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ssdlab import _declared, _engine, numbers
from ssdlab.errors import closest
from ssdlab.files import existing_file

__all__ = ["GROUPS", "Option", "checked", "documented", "sorted_by_group"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Option:
    """Option of a run, as the engine declares it."""

    #: Name of the Python argument.
    name: str
    #: Paragraphs of the documentation. The first is the help of the command.
    about: list[str]
    #: Type of the value: ``text``, ``texts``, ``integer``, ``number``, ``flag``, ``input`` or ``output`` (files).
    value: str
    #: True if the option may be ``None``.
    is_optional: bool
    #: Default value.
    default: Any
    #: Largest value of an unsigned integer.
    most: int | None
    #: Least value that the command accepts.
    least: int | None
    #: Placeholder of the value in the help of the command.
    placeholder: str | None
    #: Heading in the help of the command.
    panel: str | None
    #: Short form of the option of the command.
    short: str | None
    #: Separator of several values that the command takes as one text.
    separator: str | None
    #: Type of the Python argument, where it accepts more than `value` says.
    python: str | None
    #: Where the option exists, unless it does everywhere: ``python`` or ``argument``.
    only: str | None

    @property
    def flag(self) -> str:
        """Name of the option of the command, such as ``--stop-after``."""
        return "--" + self.name.replace("_", "-")

    @property
    def is_keyword(self) -> bool:
        """True if the functions take the option as one of their keyword arguments."""
        return self.only != "argument"


def _groups() -> dict[str, dict[str, Option]]:
    groups = {}
    for group in json.loads(_engine.options()):
        options = [Option(**fields) for fields in group["options"]]
        groups[group["name"]] = {option.name: option for option in options}
    return groups


#: The options by group, and by name.
GROUPS = _groups()


def sorted_by_group(function: str, given: Mapping[str, Any], *groups: str) -> dict[str, dict[str, Any]]:
    """Returns the keyword arguments of a function by group, every option with its value or its default.

    Raises:
        TypeError: a keyword is none of the options.
    """
    known = [name for group in groups for name, option in GROUPS[group].items() if option.is_keyword]
    for name in given:
        if name not in known:
            near = closest(name, known)
            hint = f". Did you mean '{near}'?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{hint}")
    return {
        group: {name: given.get(name, option.default) for name, option in GROUPS[group].items() if option.is_keyword}
        for group in groups
    }


def checked(group: str, values: Mapping[str, Any], label: Callable[[Option], str]) -> dict[str, Any]:
    """Returns the values of a group for the engine, whose own message would refer to the JSON text that holds them.

    Args:
        group: Name of the group.
        values: Values by name.
        label: Returns the name that a message gives an option.

    Raises:
        InputError: a number is not finite, or not a whole number that fits.
    """
    return {name: _checked(GROUPS[group][name], value, label) for name, value in values.items()}


def _checked(option: Option, value: Any, label: Callable[[Option], str]) -> Any:
    value = numbers.plain(value)
    if value is None and option.is_optional:
        return None
    if option.value == "input":
        return existing_file(value)
    if option.value == "number":
        return numbers.finite(label(option), value)
    if option.value == "integer" and option.most is not None:
        return numbers.whole(label(option), value, option.most.bit_length())
    if option.value == "integer" and value > 0:
        # The engine itself reports a signed number that is too small.
        return numbers.whole(label(option), value, 63)
    return value


def documented(*groups: str) -> Callable[[_Function], _Function]:
    """Gives a function with ``**options`` the signature and the documentation of the options of the groups.

    The entry ``**options`` of its docstring is replaced by an entry for each option.
    """

    def decorate(function: _Function) -> _Function:
        options = [option for group in groups for option in GROUPS[group].values() if option.is_keyword]
        types = {name: kind for group in groups for name, kind in _keywords(group).items()}
        declared = inspect.signature(function)
        own = [one for one in declared.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        offered = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=types[one.name])
            for one in options
        ]
        first = next((at for at, one in enumerate(own) if one.kind is inspect.Parameter.KEYWORD_ONLY), len(own))
        parameters = [*own[:first], *offered, *own[first:]]
        function.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__doc__ = _with_options(function.__doc__ or "", options)
        return function

    return decorate


def _keywords(group: str) -> dict[str, Any]:
    """Returns the types of the options of a group."""
    name = "".join(word.capitalize() for word in group.split("_")) + "Keywords"
    types: dict[str, Any] = getattr(_declared, name).__annotations__
    return types


def _default(option: Option) -> Any:
    return () if option.value == "texts" else option.default


def _with_options(text: str, options: list[Option]) -> str:
    """Returns a docstring with an entry for each option in place of the entry ``**options``."""
    lines = text.split("\n")
    at = next((at for at, line in enumerate(lines) if line.lstrip().startswith("**options:")), None)
    if at is None:
        return text
    indent = lines[at][: -len(lines[at].lstrip())]
    entries = []
    for option in options:
        entry = f"{option.name}: {' '.join(option.about)}"
        entries += textwrap.wrap(entry, 118, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False)
    return "\n".join([*lines[:at], *entries, *lines[at + 1 :]])
