"""Checks of numbers before the engine is called, whose message would refer to the JSON text that holds them."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

from ssdlab.errors import InputError


def plain(value: Any) -> Any:
    """Returns numbers and arrays of numpy as those of Python, in dictionaries and lists too; all else as it is.

    Raises:
        InputError: a dictionary or list has itself in it.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise InputError("a dictionary or list with too many others in each other, or with itself in it") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def whole(name: str, number: int, bits: int) -> int:
    """Returns `number` if it is an unsigned whole number of at most `bits` bits.

    Raises:
        InputError: it is not.
    """
    try:
        found = operator.index(number)
    except TypeError:
        found = -1
    if not 0 <= found < 1 << bits:
        raise InputError(f"{name} = {number!r}: expected a whole number, 0..={(1 << bits) - 1}")
    return found


def finite(name: str, number: float) -> float:
    """Returns `number` if it is finite.

    Raises:
        InputError: it is infinite or not a number.
    """
    if not math.isfinite(number):
        raise InputError(f"{name}: {number}: expected a finite number")
    return number
