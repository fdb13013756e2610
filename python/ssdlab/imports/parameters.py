"""Parameters of another simulator, read from its file: each knows its place, and is either used or listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from ssdlab.errors import InputError, closest

__all__ = ["Entry", "Parameters", "Read", "shortened"]

T = TypeVar("T")

#: Numbers as the simulators write them; what C++ would read beyond this is refused.
_NUMBER = re.compile(r"[+-]?(\d{1,24}(\.\d{0,24})?|\.\d{1,24})([eE][+-]?\d{1,2})?")
#: Largest number of characters of a value that is shown.
_SHOWN = 60


def shortened(text: str) -> str:
    """Returns a text of the source on one line, without what a terminal would act on, cut where it is long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 3]}..."


@dataclass(frozen=True, slots=True)
class Entry:
    """A parameter as the file gives it."""

    #: Name with its section.
    name: str
    #: Value.
    raw: str
    #: Line of the file.
    line: int


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """A parameter's value, and where it comes from."""

    #: Value.
    value: T
    #: Name with its section.
    name: str
    #: Value as the source has it, with its unit.
    raw: str
    #: Line of the file; ``None``: the source's default.
    line: int | None

    @property
    def origin(self) -> str:
        """Returns the origin in words."""
        return f"{self.name} = {self.raw}{'' if self.line is not None else ' (default)'}"


class Parameters:
    """Parameters of a file by name."""

    def __init__(self, file: str, entries: Mapping[str, Entry]) -> None:
        self.file = file
        self._entries = dict(entries)
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def entry(self, name: str) -> Entry | None:
        """Returns a parameter as the file gives it, which then counts as used; ``None`` if it does not."""
        self._asked.add(name)
        return self._entries.get(name)

    def all(self) -> Iterator[tuple[str, Entry, bool]]:
        """Yields all parameters in the order of the file, and whether each was asked for."""
        return ((name, entry, name in self._asked) for name, entry in self._entries.items())

    def error_about(self, name: str, expected: str) -> InputError:
        """Returns an error about the value of a parameter."""
        entry = self._entries.get(name)
        if entry is None:
            return InputError(f"{self.file}: {name}: missing: expected {expected}")
        return InputError(f"{self.file}:{entry.line}: {entry.name}: {shortened(entry.raw)!r}: expected {expected}")

    def text(self, name: str, default: str | None = None) -> Read[str]:
        """Returns a text."""
        entry = self.entry(name)
        if entry is not None:
            return Read(entry.raw.strip(), entry.name, shortened(entry.raw), entry.line)
        if default is None:
            raise self.error_about(name, "a value")
        return Read(default, name, default, None)

    def number(
        self,
        name: str,
        default: str | None = None,
        *,
        unit: str = "",
        least: float = 0,
        most: float = 1e18,
    ) -> Read[Fraction]:
        """Returns a number, exactly as it is written."""
        found = self.text(name, default)
        text = found.value.rstrip(";").strip()
        value = Fraction(text) if _NUMBER.fullmatch(text) else None
        if value is None or not least <= value <= most:
            raise self.error_about(name, f"a number{f' of {unit}' if unit else ''}, {least:g} to {most:g}")
        return Read(value, found.name, f"{text} {unit}".strip(), found.line)

    def integer(
        self,
        name: str,
        default: str | None = None,
        *,
        unit: str = "",
        least: int = 0,
        most: int = 10**18,
    ) -> Read[int]:
        """Returns a whole number."""
        found = self.number(name, default, unit=unit, least=least, most=most)
        if found.value.denominator != 1:
            raise self.error_about(name, f"a whole number, {least} to {most}")
        return Read(int(found.value), found.name, found.raw, found.line)

    def flag(self, name: str, default: str | None = None) -> Read[bool]:
        """Returns a truth value."""
        words = {"true": True, "1": True, "on": True, "yes": True, "false": False, "0": False, "off": False, "no": False}
        return self.choice(name, words, default, expected="true or false")

    def choice(self, name: str, choices: Mapping[str, T], default: str | None = None, *, expected: str = "") -> Read[T]:
        """Returns the meaning of a word, whose case does not matter."""
        found = self.text(name, default)
        meanings = {word.lower(): meaning for word, meaning in choices.items()}
        word = found.value.lower()
        if word not in meanings:
            near = closest(word, list(meanings))
            hint = f" (did you mean `{next(each for each in choices if each.lower() == near)}`?)" if near else ""
            raise self.error_about(name, (expected or f"one of {', '.join(choices)}") + hint)
        return Read(meanings[word], found.name, found.raw, found.line)
