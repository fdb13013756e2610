"""Numbers checked before the engine is asked: its own message would be about the JSON that they came in."""

from __future__ import annotations

import math
import operator

from ssdlab.errors import InputError


def whole(name: str, number: int, bits: int) -> int:
    """A whole number of so many bits, without a sign.

    Raises:
        InputError: it is none.
    """
    try:
        found = operator.index(number)
    except TypeError:
        found = -1
    if not 0 <= found < 1 << bits:
        raise InputError(f"{name} = {number!r}: expected a whole number, 0..={(1 << bits) - 1}")
    return found


def finite(name: str, number: float) -> float:
    """A number that is neither infinite nor none at all.

    Raises:
        InputError: it is.
    """
    if not math.isfinite(number):
        raise InputError(f"{name}: {number}: expected a finite number")
    return number
