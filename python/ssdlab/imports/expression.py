"""Whole-number expressions of C headers: what ``ssd_config.h`` of NVMeVirt uses of the preprocessor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

__all__ = ["Unknown", "evaluate", "names"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+\.\d*|\.\d+|\d+)(?:[uUlL]*)(?![\w.])|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||<<|>>|[-+*/%()<>!]))"
)
#: Deepest nesting of parentheses and of macros, longest expression, largest number.
_DEPTH = 32
_LONGEST = 2_000
_MOST = 1 << 80
_BINARY: tuple[dict[str, Callable[[Fraction, Fraction], Fraction]], ...] = (
    {"||": lambda a, b: Fraction(bool(a) or bool(b))},
    {"&&": lambda a, b: Fraction(bool(a) and bool(b))},
    {"==": lambda a, b: Fraction(a == b), "!=": lambda a, b: Fraction(a != b)},
    {
        "<=": lambda a, b: Fraction(a <= b),
        ">=": lambda a, b: Fraction(a >= b),
        "<": lambda a, b: Fraction(a < b),
        ">": lambda a, b: Fraction(a > b),
    },
    {"<<": lambda a, b: a * 2 ** min(int(b), 80), ">>": lambda a, b: Fraction(int(a) >> min(int(b), 80))},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: _quotient(a, b), "%": lambda a, b: a - b * int(a / b)},
)
#: Macros of the module's other headers.
_SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


class Unknown(Exception):  # noqa: N818 - it may be no error: conditions ask for what is not defined
    """Raised for an expression that cannot be evaluated; the text says what stands in the way."""


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    # Whole numbers are divided as in C, rounded towards zero.
    return Fraction(int(a / b)) if a.denominator == b.denominator == 1 else a / b


def _number(word: str) -> Fraction:
    if word[:2] in ("0x", "0X"):
        return Fraction(int(word, 16))
    if word[0] == "0" and word.isdigit():
        # As in C, a leading zero means octal.
        if not set(word) <= set("01234567"):
            raise Unknown(f"`{word}` is no octal number")
        return Fraction(int(word, 8))
    return Fraction(word)


def names(text: str) -> set[str]:
    """Returns the names in an expression."""
    return set(re.findall(r"[A-Za-z_]\w*", text))


def evaluate(text: str, macros: Mapping[str, str], depth: int = 0) -> Fraction:
    """Returns the value of an expression.

    Raises:
        Unknown: it is not one, or has a name that `macros` lacks.
    """
    if depth > _DEPTH or len(text) > _LONGEST:
        raise Unknown("nested too deeply, or too long")
    tokens: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unknown(f"`{text[at:].strip()[:20]}` is no part of an expression")
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        at = found.end()
    reader = _Reader(tokens, macros, depth)
    try:
        value = reader.binary(0)
    except ZeroDivisionError:
        raise Unknown("a division by zero") from None
    if reader.tokens:
        raise Unknown(f"`{reader.tokens[0][1]}` where nothing was expected")
    if abs(value) > _MOST:
        raise Unknown("a number that is too large")
    return value


class _Reader:
    """Reader of an expression by recursive descent."""

    def __init__(self, tokens: list[tuple[str, str]], macros: Mapping[str, str], depth: int) -> None:
        self.tokens = tokens
        self.macros = macros
        self.depth = depth

    def _next_if(self, *signs: str) -> str | None:
        if self.tokens and self.tokens[0][0] == "sign" and self.tokens[0][1] in signs:
            return self.tokens.pop(0)[1]
        return None

    def binary(self, level: int) -> Fraction:
        """Reads operators of a level of precedence and above."""
        if level == len(_BINARY):
            return self.unary()
        value = self.binary(level + 1)
        while (sign := self._next_if(*_BINARY[level])) is not None:
            value = _BINARY[level][sign](value, self.binary(level + 1))
            if abs(value) > _MOST:
                raise Unknown("a number that is too large")
        return value

    def unary(self) -> Fraction:
        """Reads a number, a name, a size such as ``KB(32)``, or an expression in parentheses."""
        self.depth += 1
        try:
            if self.depth > _DEPTH:
                raise Unknown("nested too deeply")
            if (sign := self._next_if("-", "+", "!", "(")) is not None:
                if sign == "(":
                    return self._closed(self.binary(0))
                value = self.unary()
                return -value if sign == "-" else Fraction(not value) if sign == "!" else value
            if not self.tokens:
                raise Unknown("an end where a number was expected")
            kind, word = self.tokens.pop(0)
            if kind == "number":
                return _number(word)
            if kind == "sign":
                raise Unknown(f"`{word}` where a number was expected")
            if word in _SIZES and self._next_if("("):
                return self._closed(self.binary(0)) * _SIZES[word]
            if word not in self.macros:
                raise Unknown(f"`{word}` is not defined")
            return evaluate(self.macros[word], self.macros, self.depth + 1)
        finally:
            self.depth -= 1

    def _closed(self, value: Fraction) -> Fraction:
        if self._next_if(")") is None:
            raise Unknown("`)` is missing")
        return value
