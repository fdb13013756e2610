"""Expressions over the fields of a point: conditions, derived fields, costs. A small language, never ``eval``.

Numbers, sizes, times and currents with their units (``16KiB``, ``50us``, ``200MT/s``, ``20mA``), texts in quotes,
``true`` and ``false``, names of fields, ``+ - * / // % **``, comparisons, which may be chained, ``in [...]``, ``not``,
``and``, ``or``, parentheses, and the functions ``min``, ``max``, ``abs``, ``round``, ``floor``, ``ceil``, ``sqrt``,
``log2``, ``if``.

The words of a text are checked for their order, then Python's parser finds out what belongs to what. It sees a
placeholder for each value and name, so that no text reaches Python itself. Of its tree, only the nodes that
:class:`_Reader` names are accepted.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.errors import InputError, unknown_name
from ssdlab.units import YEAR_S

__all__ = ["Expression", "alike", "magnitude", "plain_unit", "quantity"]

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
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER}(?:{_UNIT})?)(?![\w.])"
    r"|(?P<name>[A-Za-z_]\w*(?:\[\d+\])*(?:\.\w+(?:\[\d+\])*)*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<sign>\*\*|//|<=|>=|==|!=|[-+*/%<>()\[\],]))"
)
_QUANTITY = re.compile(rf"\s*([-+]?{_NUMBER})\s*({_UNIT})?\s*")

_WORDS = {"and", "or", "not", "in"}
_TRUTHS = {"true": True, "false": False}
#: Closing bracket of each opening one; signs between two values, in front of one, and before a ``not``.
_CLOSING = {"(": ")", "[": "]"}
_ARITHMETIC = {"+", "-", "*", "/", "//", "%", "**"}
_BETWEEN = {*_ARITHMETIC, "<", "<=", ">", ">=", "==", "!=", "in", "and", "or"}
_PREFIXES = {"-", "not"}
_BEFORE_NOT = {"", "(", ",", "and", "or", "not"}

_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.In: ("in", lambda one, members: one in members),
}
#: Longest text, most arithmetic signs, deepest nesting, largest exponent, least digits of ``round`` and most bits of a
#: whole number (those of the largest ``float``), so that no expression takes the machine's time or memory.
_LONGEST = 20_000
_MOST_SIGNS = 1_000
_DEEPEST = 150
_MOST_POWER = 64
_LEAST_DIGITS = -308
_MOST_BITS = 1024


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > _MOST_POWER:
        raise ValueError(f"exponent {exponent}: expected at most {_MOST_POWER}")
    if base < 0 and not float(exponent).is_integer():
        raise ValueError(f"{base} ** {exponent}: a negative number has powers of whole exponents only")
    return base**exponent


def _round(number: Any, digits: Any = None) -> Any:
    if digits is not None and digits < _LEAST_DIGITS:
        raise ValueError(f"round to {digits} digits: expected at least {_LEAST_DIGITS}")
    return round(number, digits)


_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_MANY = 10**6
#: Functions, each with its least and largest number of arguments.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "min": (min, 2, _MANY),
    "max": (max, 2, _MANY),
    "abs": (abs, 1, 1),
    "round": (_round, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "sqrt": (math.sqrt, 1, 1),
    "log2": (math.log2, 1, 1),
}

#: Values of names: from a dotted name to its value. It raises ``KeyError`` for an unknown name.
Names = Callable[[str], Any]
_Value = Callable[[Names], Any]


def quantity(value: object) -> object:
    """Returns a text such as ``16KiB`` as a number in the unit of its kind; anything else as it is."""
    if isinstance(value, str) and (match := _QUANTITY.fullmatch(value)):
        number = float(match[1]) * _UNITS.get(match[2], 1.0)
        return int(number) if number.is_integer() else number
    return value


def magnitude(value: object) -> float | None:
    """Returns a number or a quantity as a number in the unit of its kind; ``None`` if it is neither.

    Examples:
        >>> from ssdlab.explore.expression import magnitude
        >>> magnitude("1.5us"), magnitude(16), magnitude("greedy")
        (1500.0, 16.0, None)
    """
    found = quantity(value)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def plain_unit(value: object) -> str | None:
    """Returns the plain unit of a quantity, ``ns`` of all times; empty for a number or a share, ``None`` for others.

    Examples:
        >>> from ssdlab.explore.expression import plain_unit
        >>> plain_unit("2MiB"), plain_unit("1.5ms"), plain_unit(16), plain_unit("5%"), plain_unit("greedy")
        ('B', 'ns', '', '', None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    return "" if match[2] in (None, "%") else _plain(match[2])[0]


def _plain(unit: str) -> tuple[str, float]:
    """Returns the plain unit of the kind of a unit, and its size."""
    return next(((plain, size) for end, plain, size in _PLAIN if unit.endswith(end)), ("ns", 1.0))


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
    plain, size = _plain(match[2])
    shown = number / size
    return f"{int(shown) if shown.is_integer() else shown}{plain}"


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
    _value: _Value

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Returns the expression of a text.

        Raises:
            InputError: it is none; the message has the column.
        """
        reader = _Reader(text)
        return cls(text, reader.names(), reader.whole())

    def value(self, names: Mapping[str, object] | Names) -> Any:
        """Returns the value, with the values of the names.

        Raises:
            InputError: a name has no value, or an operation does not apply to its operands.
        """
        look_up: Names = names.__getitem__ if isinstance(names, Mapping) else names
        try:
            return self._value(look_up)
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


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    #: Place in the text, from 0.
    at: int

    @property
    def sign(self) -> str:
        """The text of a sign or a word such as ``and``; empty for a value."""
        return self.text if self.kind == "sign" else ""


class _Reader:
    """Reader of the expression that a text is."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens()
        self._check_order()
        #: Token of each column of the text that Python's parser sees.
        self.columns: dict[int, _Token] = {}

    def _complaint(self, at: int, what: str) -> InputError:
        return InputError(f"`{self.text}`: column {at + 1}: {what}")

    def _tokens(self) -> list[_Token]:
        if len(self.text) > _LONGEST:
            raise InputError(f"an expression of {len(self.text)} characters: expected at most {_LONGEST}")
        tokens, at, end = [], 0, len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None or match.lastgroup is None:
                at = end - len(self.text[at:end].lstrip())
                raise self._complaint(at, f"unexpected `{self.text[at]}`")
            kind, text = match.lastgroup, match[match.lastgroup]
            tokens.append(_Token("sign" if text in _WORDS else kind, text, match.start(kind)))
            at = match.end()
        if sum(token.sign in _ARITHMETIC for token in tokens) > _MOST_SIGNS:
            raise InputError(f"`{self.text}`: expected at most {_MOST_SIGNS} arithmetic signs")
        return tokens

    def _check_order(self) -> None:
        """Checks that values and the signs between them alternate, and that each bracket is closed."""
        closing: list[str] = []
        before = _Token("sign", "", 0)
        is_value_due = True
        for token in self.tokens:
            sign = token.sign
            if (sign == "[") is not (before.sign == "in"):
                wanted = "a list only after `in`" if sign == "[" else f"`[`, not `{token.text}`"
                raise self._complaint(token.at, f"expected {wanted}")
            if sign == "[" or (sign == "(" and (is_value_due or before.kind == "name")):
                closing.append(_CLOSING[sign])
                is_value_due = True
                if len(closing) > _DEEPEST:
                    raise self._complaint(token.at, f"brackets are nested more than {_DEEPEST} deep")
            elif is_value_due:
                is_value_due = sign != ""
                if is_value_due and (sign not in _PREFIXES or (sign == "not" and before.sign not in _BEFORE_NOT)):
                    raise self._complaint(token.at, f"expected a value, not `{sign}`")
            elif closing and sign == closing[-1]:
                closing.pop()
            elif (sign in _BETWEEN and not (before.sign == "]" and sign in _ARITHMETIC)) or (sign == "," and closing):
                is_value_due = True
            else:
                raise self._complaint(token.at, f"expected `{closing[-1]}`" if closing else f"unexpected `{token.text}`")
            before = token
        if is_value_due or closing:
            wanted = "`[`" if before.sign == "in" else "a value" if is_value_due else f"`{closing[-1]}`"
            raise self._complaint(len(self.text), f"expected {wanted}, not the end")

    def names(self) -> tuple[str, ...]:
        """Returns the names of the fields."""
        after = [token.sign for token in self.tokens[1:]] + [""]
        names = [token.text for token, sign in zip(self.tokens, after, strict=True) if token.kind == "name" and sign != "("]
        return tuple(name for name in dict.fromkeys(names) if name not in _TRUTHS)

    def whole(self) -> _Value:
        """Returns the value of all of the text."""
        seen = ""
        for index, token in enumerate(self.tokens):
            self.columns[len(seen)] = token
            seen += f"{token.sign or f'_{index}'} "
        try:
            return self._read(ast.parse(seen, mode="eval").body)
        except (RecursionError, MemoryError):
            raise self._complaint(0, "nested too deeply") from None

    def _read(self, node: ast.expr, depth: int = 0) -> _Value:
        token = self.columns[node.col_offset]
        if depth > _DEEPEST:
            raise self._complaint(token.at, f"nested more than {_DEEPEST} deep")
        match node:
            case ast.Name():
                return self._leaf(token)
            case ast.BinOp():
                return self._series(node, depth)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call(func=ast.Name()):
                return self._call(node, depth)
            case ast.BoolOp(op=op, values=values):
                decide = any if isinstance(op, ast.Or) else all
                parts = [self._read(value, depth + 1) for value in values]
                return lambda names: decide(_truth(part(names)) for part in parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._read(operand, depth + 1)
                return lambda names: not _truth(inner(names))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._read(operand, depth + 1)
                return lambda names: -_number(inner(names))
            case ast.List(elts=elements):
                members = [self._read(element, depth + 1) for element in elements]
                return lambda names: [member(names) for member in members]
        raise self._complaint(token.at, "expected one value in parentheses")

    def _leaf(self, token: _Token) -> _Value:
        if token.kind == "name" and token.text not in _TRUTHS:
            return lambda names: quantity(names(token.text))
        fixed = quantity(token.text) if token.kind == "number" else _TRUTHS.get(token.text, token.text[1:-1])
        return lambda _: fixed

    def _series(self, node: ast.BinOp, depth: int) -> _Value:
        """Reads operations from left to right, however many they are."""
        right: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            right.append(left)
            left = left.left
        first = self._read(left, depth + 1)
        steps = [(_OPERATIONS[type(one.op)], self._read(one.right, depth + 1)) for one in reversed(right)]

        def result(names: Names) -> Any:
            value = first(names)
            for apply, operand in steps:
                value = _bounded(apply(_number(value), _number(operand(names))))
            return value

        return result

    def _comparison(self, node: ast.Compare, depth: int) -> _Value:
        operands = [self._read(operand, depth + 1) for operand in (node.left, *node.comparators)]

        def holds(names: Names) -> bool:
            values = [operand(names) for operand in operands]
            pairs = zip(node.ops, values, values[1:], strict=False)
            return all(_compared(type(sign), left, right) for sign, left, right in pairs)

        return holds

    def _call(self, node: ast.Call, depth: int) -> _Value:
        token = self.columns[node.func.col_offset]
        if token.text not in (*_FUNCTIONS, "if"):
            raise self._complaint(token.at, str(unknown_name("function", token.text, [*_FUNCTIONS, "if"])))
        given = [self._read(argument, depth + 1) for argument in node.args]
        if token.text == "if":
            if len(given) != 3:
                raise self._complaint(token.at, "expected if(CONDITION, VALUE, VALUE)")
            condition, then, other = given
            return lambda names: (then if _truth(condition(names)) else other)(names)
        function, fewest, most = _FUNCTIONS[token.text]
        if not fewest <= len(given) <= most:
            wanted = f"{fewest}" if most == fewest else f"{fewest} or more" if most == _MANY else f"{fewest} to {most}"
            raise self._complaint(token.at, f"{token.text} of {len(given)} values: expected {wanted}")
        return lambda names: function(*[_number(one(names)) for one in given])


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"expected a condition, not the value {value!r}")
    return value


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, not {value!r}")
    return value


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise OverflowError("a number above 1.8e308")
    return value


def _compared(sign: type[ast.cmpop], left: Any, right: Any) -> bool:
    word, compare = _COMPARISONS[sign]
    if word not in ("==", "!=", "in") and isinstance(left, str) is not isinstance(right, str):
        raise TypeError(f"{left!r} {word} {right!r}: a text and a number cannot be compared")
    return compare(left, right)
