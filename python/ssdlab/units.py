"""Numbers formatted for people."""

from __future__ import annotations

import math

#: Seconds in a year of 365.25 days, the year of the engine (`kit::Nanos::YEAR`).
YEAR_S = 31_557_600.0

_TIMES = [(86_400e9, "d"), (3_600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")]


def significant(number: float, digits: int = 4) -> str:
    """Formats `number` with `digits` significant digits, without an exponent, with thousands separators."""
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    return f"{number:,.{places}f}"


def duration(ns: float | None, digits: int = 4) -> str:
    """Formats a time span in the largest unit that does not exceed it."""
    if ns is None:
        return "–"
    for size, unit in _TIMES:
        if abs(ns) >= size:
            return f"{ns:.0f} ns" if unit == "ns" and float(ns).is_integer() else f"{significant(ns / size, digits)} {unit}"
    return "0 ns" if ns == 0 else f"{significant(ns, digits)} ns"


def time_unit(ns: float) -> tuple[float, str]:
    """Returns the unit for an axis that spans `ns`: its size [ns], and its name."""
    return next(((size, unit) for size, unit in _TIMES if ns >= 2 * size), _TIMES[-1])


def scaled(number: float | None, unit: str, digits: int = 4) -> str:
    """Formats `number` with a decimal prefix: ``1.5 GB/s``."""
    if number is None:
        return "–"
    for size, prefix in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]:
        if abs(number) >= size:
            return f"{significant(number / size, digits)} {prefix}{unit}"
    return f"{significant(number, digits)} {unit}".rstrip()


def physical(number: float | None, unit: str) -> str:
    """Formats a quantity with a decimal prefix, small ones too: ``35.9 mW``."""
    if number and abs(number) < 1:
        for size, prefix in [(1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p")]:
            if abs(number) >= size:
                return f"{significant(number / size)} {prefix}{unit}"
    return scaled(number, unit)


def size(number: float | None) -> str:
    """Formats a number of bytes with a binary prefix: ``1.5 GiB``."""
    if number is None:
        return "–"
    for exponent, prefix in [(4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")]:
        if abs(number) >= 1024**exponent:
            scaled_down = number / 1024**exponent
            return f"{scaled_down:,.0f} {prefix}B" if scaled_down == int(scaled_down) else f"{significant(scaled_down)} {prefix}B"
    return f"{number:,.0f} B"


def count(number: float | None) -> str:
    """Formats a count with thousands separators."""
    return "–" if number is None else f"{number:,.0f}"


def counted(number: float, thing: str) -> str:
    """Formats a count of things: ``1 seed``, ``2,000 runs``."""
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def ratio(number: float | None, digits: int = 4) -> str:
    """Formats a ratio."""
    return "–" if number is None else significant(number, digits)


def percent(fraction: float | None) -> str:
    """Formats a fraction as a percentage."""
    return "–" if fraction is None else f"{100 * fraction:.1f} %"
