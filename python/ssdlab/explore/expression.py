"""Expressions over the fields of a point: conditions, derived fields, costs. A small language, never ``eval``.

Numbers, sizes, times and currents with their units (``16KiB``, ``50us``, ``200MT/s``, ``20mA``), texts in quotes,
``true`` and ``false``, names of fields, ``+ - * / // % **``, comparisons, which may be chained, ``in [...]``, ``not``,
``and``, ``or``, parentheses, and the functions ``min``, ``max``, ``abs``, ``round``, ``floor``, ``ceil``, ``sqrt``,
``log2``, ``if``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab.errors import InputError, unknown_name
from ssdlab.units import YEAR_S

__all__ = ["Expression", "alike", "quantity"]

#: Size of each unit in the unit of its kind: bytes, nanoseconds, hertz, bytes and transfers per second; microamperes,
#: millivolts, nanowatts and attojoules, of which the engine takes whole numbers.
_UNITS = {
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}B": 1000.0**power for power, prefix in enumerate("kMGT", 1)},
    **{f"{prefix}B/s": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}Hz": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G"))},
    "B": 1.0,
    "KB": 1000.0,
    "MT/s": 1e6,
    "GT/s": 1e9,
    "ns": 1.0,
    "us": 1e3,
    "\N{MICRO SIGN}s": 1e3,
    "\N{GREEK SMALL LETTER MU}s": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "min": 60e9,
    "h": 3_600e9,
    "d": 86_400e9,
    "w": 604_800e9,
    "y": YEAR_S * 1e9,
    **{f"{prefix}A": 1000.0**power for power, prefix in enumerate(("u", "m", ""))},
    **{f"{prefix}V": 1000.0**power for power, prefix in enumerate(("m", ""))},
    **{f"{prefix}W": 1000.0**power for power, prefix in enumerate(("n", "u", "m", ""))},
    **{f"{prefix}J": 1000.0**power for power, prefix in enumerate(("a", "f", "p", "n", "u", "m", ""))},
    "%": 0.01,
}
#: End of the units of a kind, the unit in which a number of it is written, and its size; the rest are times.
_PLAIN = (
    ("B/s", "B/s", 1.0),
    ("T/s", "MT/s", 1e6),
    ("Hz", "Hz", 1.0),
    ("B", "B", 1.0),
    ("A", "uA", 1.0),
    ("V", "mV", 1.0),
    ("W", "nW", 1.0),
    ("J", "aJ", 1.0),
)
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<unit>{_UNIT})?(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\[\d+\])*(?:\.\w+(?:\[\d+\])*)*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>()\[\],]))"
)
_QUANTITY = re.compile(rf"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*({_UNIT})?\s*")

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SUMS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "sqrt": math.sqrt,
    "log2": math.log2,
}
#: Largest exponent, so that a power cannot take the machine's memory.
_MOST_POWER = 64

#: Values of names: from a dotted name to its value. It raises ``KeyError`` for an unknown name.
Names = Callable[[str], Any]
_Node = Callable[[Names], Any]


def quantity(value: object) -> object:
    """Returns a text such as ``16KiB`` as a number in the unit of its kind; anything else as it is."""
    if isinstance(value, str) and (match := _QUANTITY.fullmatch(value)):
        number = float(match[1]) * _UNITS.get(match[2], 1.0)
        return int(number) if number.is_integer() else number
    return value


def alike(number: Any, example: object) -> Any:
    """Returns a number as a text in the plain unit of an example such as ``2MiB``; as it is if the example has no unit.

    Examples:
        >>> from ssdlab.explore.expression import alike
        >>> alike(8388608, "2MiB"), alike(2e8, "33MT/s"), alike(31600, "20mA"), alike(16, 4)
        ('8388608B', '200MT/s', '31600uA', 16)
    """
    match = _QUANTITY.fullmatch(example) if isinstance(example, str) else None
    if match is None or match[2] in (None, "%") or isinstance(number, bool) or not isinstance(number, int | float):
        return number
    plain, size = next(((unit, size) for end, unit, size in _PLAIN if match[2].endswith(end)), ("ns", 1.0))
    shown = number / size
    return f"{int(shown) if shown.is_integer() else shown}{plain}"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has been parsed.

    Examples:
        >>> from ssdlab.explore.expression import Expression
        >>> where = Expression.parse("flash.channels * 4 <= 64 and ftl.victim in ['greedy', 'fifo']")
        >>> where.value({"flash.channels": 16, "ftl.victim": "greedy"})
        True
        >>> Expression.parse("4KiB + max(1, 2)").value({})
        4098
        >>> Expression.parse("flash.channels <").value({})
        Traceback (most recent call last):
        ssdlab.InputError: `flash.channels <`: column 17: expected a value, not the end
    """

    #: The text.
    text: str
    #: Names of fields in it.
    names: tuple[str, ...]
    _node: _Node

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Returns the expression of a text.

        Raises:
            InputError: it is none; the message has the column.
        """
        parser = _Parser(text)
        node = parser.whole()
        return cls(text, tuple(dict.fromkeys(parser.names)), node)

    def value(self, names: Mapping[str, object] | Names) -> Any:
        """Returns the value, with the values of the names.

        Raises:
            InputError: a name has no value, or an operation does not apply to its operands.
        """
        look_up: Names = names.__getitem__ if isinstance(names, Mapping) else names
        try:
            return self._node(look_up)
        except KeyError as error:
            raise InputError(f"`{self.text}`: {error.args[0]}: no such field") from None
        except ZeroDivisionError:
            raise InputError(f"`{self.text}`: a division by zero") from None
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"`{self.text}`: {error}") from None

    def holds(self, names: Mapping[str, object] | Names) -> bool:
        """Returns the value of a condition.

        Raises:
            InputError: as for :meth:`value`, or the value is not true or false.
        """
        value = self.value(names)
        if not isinstance(value, bool):
            raise InputError(f"`{self.text}`: expected a condition, not the value {value!r}")
        return value


class _Parser:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self.tokens = self._tokens()
        self.next = 0

    def _tokens(self) -> list[_Token]:
        tokens, at = [], 0
        while self.text[at:].strip():
            match = _TOKEN.match(self.text, at)
            if match is None or match.lastgroup is None:
                at += len(self.text[at:]) - len(self.text[at:].lstrip())
                raise self._complaint(at, f"unexpected `{self.text[at]}`")
            kind = "number" if match["number"] else match.lastgroup
            tokens.append(_Token(kind, match[kind], match.start(kind), match["unit"]))
            at = match.end()
        return tokens

    def _complaint(self, at: int, what: str) -> InputError:
        return InputError(f"`{self.text}`: column {at + 1}: {what}")

    def _peek(self) -> str | None:
        """Returns the sign or word that comes next; ``None`` at the end and before a value."""
        token = self.tokens[self.next] if self.next < len(self.tokens) else None
        return token.text if token is not None and token.kind in ("sign", "name") else None

    def _take(self) -> _Token:
        if self.next >= len(self.tokens):
            raise self._complaint(len(self.text), "expected a value, not the end")
        self.next += 1
        return self.tokens[self.next - 1]

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            at = self.tokens[self.next].at if self.next < len(self.tokens) else len(self.text)
            raise self._complaint(at, f"expected `{sign}`")
        self.next += 1

    def whole(self) -> _Node:
        """Parses all of the text."""
        node = self._either()
        if self.next < len(self.tokens):
            token = self.tokens[self.next]
            raise self._complaint(token.at, f"unexpected `{token.text}`")
        return node

    def _either(self) -> _Node:
        left = self._both()
        while self._peek() == "or":
            self.next += 1
            left = _either(left, self._both())
        return left

    def _both(self) -> _Node:
        left = self._negation()
        while self._peek() == "and":
            self.next += 1
            left = _both(left, self._negation())
        return left

    def _negation(self) -> _Node:
        if self._peek() == "not":
            self.next += 1
            inner = self._negation()
            return lambda names: not _truth(inner(names))
        return self._comparison()

    def _comparison(self) -> _Node:
        operands, signs = [self._sum()], list[str]()
        while (sign := self._peek()) in (*_COMPARISONS, "in"):
            self.next += 1
            signs.append(str(sign))
            operands.append(self._list() if sign == "in" else self._sum())
        return _chain(operands, signs) if signs else operands[0]

    def _list(self) -> _Node:
        self._expect("[")
        members = [self._sum()]
        while self._peek() == ",":
            self.next += 1
            members.append(self._sum())
        self._expect("]")
        return lambda names: [member(names) for member in members]

    def _sum(self) -> _Node:
        return self._series(_SUMS, self._product)

    def _product(self) -> _Node:
        return self._series(_PRODUCTS, self._signed)

    def _series(self, operators: Mapping[str, Callable[[Any, Any], Any]], operand: Callable[[], _Node]) -> _Node:
        left = operand()
        while (sign := self._peek()) in operators:
            self.next += 1
            left = _applied(operators[str(sign)], left, operand())
        return left

    def _signed(self) -> _Node:
        if self._peek() == "-":
            self.next += 1
            inner = self._signed()
            return lambda names: -_number(inner(names))
        return self._power()

    def _power(self) -> _Node:
        base = self._value()
        if self._peek() != "**":
            return base
        self.next += 1
        return _applied(_power, base, self._signed())

    def _value(self) -> _Node:
        token = self._take()
        if token.kind == "number":
            number = quantity(token.text + (token.unit or ""))
            return lambda _: number
        if token.kind == "text":
            text = token.text[1:-1]
            return lambda _: text
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            inner = self._either()
            self._expect(")")
            return inner
        raise self._complaint(token.at, f"expected a value, not `{token.text}`")

    def _named(self, token: _Token) -> _Node:
        name = token.text
        if name in ("true", "false"):
            return lambda _: name == "true"
        if self._peek() == "(":
            return self._call(token)
        if name in ("and", "or", "not", "in"):
            raise self._complaint(token.at, f"expected a value, not `{name}`")
        self.names.append(name)
        return lambda names: quantity(names(name))

    def _call(self, token: _Token) -> _Node:
        known = [*_FUNCTIONS, "if"]
        if token.text not in known:
            raise self._complaint(token.at, str(unknown_name("function", token.text, known)))
        self.next += 1
        given = [self._either()]
        while self._peek() == ",":
            self.next += 1
            given.append(self._either())
        self._expect(")")
        if token.text == "if":
            if len(given) != 3:
                raise self._complaint(token.at, "expected if(CONDITION, VALUE, VALUE)")
            condition, then, other = given
            return lambda names: (then if _truth(condition(names)) else other)(names)
        function = _FUNCTIONS[token.text]
        return lambda names: function(*(_number(one(names)) for one in given))


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected a condition, not the value {value!r}")
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, not {value!r}")
    return value


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > _MOST_POWER:
        raise ValueError(f"exponent {exponent}: expected at most {_MOST_POWER}")
    return base**exponent


def _either(left: _Node, right: _Node) -> _Node:
    return lambda names: _truth(left(names)) or _truth(right(names))


def _both(left: _Node, right: _Node) -> _Node:
    return lambda names: _truth(left(names)) and _truth(right(names))


def _applied(apply: Callable[[Any, Any], Any], left: _Node, right: _Node) -> _Node:
    return lambda names: apply(_number(left(names)), _number(right(names)))


def _chain(operands: Sequence[_Node], signs: Sequence[str]) -> _Node:
    def compare(names: Names) -> bool:
        values = [operand(names) for operand in operands]
        return all(_compared(sign, left, right) for sign, left, right in zip(signs, values, values[1:], strict=False))

    return compare


def _compared(sign: str, left: Any, right: Any) -> bool:
    if sign == "in":
        return left in right
    if sign not in ("==", "!=") and isinstance(left, str) is not isinstance(right, str):
        raise TypeError(f"{left!r} {sign} {right!r}: a text and a number cannot be compared")
    return _COMPARISONS[sign](left, right)
