"""Questions to the cell laboratory in the engine's form.

The engine alone checks them. Files that they name are read here, since the engine opens none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias

from ssdlab import _engine
from ssdlab.errors import InputError
from ssdlab.files import existing_file, read_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    #: One number, or an array of numbers.
    Quantity: TypeAlias = float | NDArray[np.float64]

#: Name of a part, or path of a table of measured error rates (``.csv``).
CellLike: TypeAlias = str | PathLike[str]
#: Code such as ``bch-110/4KiB``, or path of a measurement of a code (``.json``).
CodeLike: TypeAlias = str | PathLike[str]
#: One number, or several that are evaluated in turn: a list, a tuple, an array.
Numbers: TypeAlias = "float | Sequence[float] | NDArray[np.float64]"
#: One time with its unit (``"4d"``), or several.
Times: TypeAlias = str | Sequence[str]


def ask(what: str, **question: Any) -> dict[str, Any]:
    """Returns the engine's answer to a question, as ``ssdlab cell ... --json`` prints it.

    Args:
        what: ``parts``, ``vth``, ``rber``, ``modes``, ``program``, ``limits``, ``endurance``, ``budget``,
            ``monte_carlo``, ``code_plan``, ``code_count`` or ``code_summary``.
        question: Fields of the question; those that are ``None`` take the engine's defaults.

    Raises:
        InputError: the question is invalid; the message lists every problem, one line each.

    Examples:
        >>> ssdlab.cell.ask("rber", cell="ofwar-mlc", age="4d")
        {'pages': {'lsb': 0.0004309, 'msb': 0.0004082}, 'worst': 0.0004309, 'limit': 0.00135}
        >>> ssdlab.cell.ask("rber", cell="ofwar-mlc", age="4")
        Traceback (most recent call last):
        ssdlab.InputError: age: "4": a number without a unit: expected a duration...
    """
    fields = _fields(question)
    try:
        text = json.dumps(fields, allow_nan=False, default=_plain)
    except TypeError as error:
        raise InputError(f"{what}: {error}") from None
    except ValueError:
        odd = ", ".join(name for name, value in fields.items() if "nan" in repr(value).lower() or "inf" in repr(value).lower())
        raise InputError(f"{odd}: expected finite numbers") from None
    answer: dict[str, Any] = json.loads(_engine.lab(what, text))
    return answer


def _plain(value: object) -> object:
    """Converts a NumPy number to a number.

    Raises:
        TypeError: `value` is something else.
    """
    plain = getattr(value, "item", None)
    if plain is None or getattr(value, "ndim", False):
        raise TypeError(f"{value!r}: expected a number, a text, or a list of them")
    return plain()


def many(values: object) -> bool:
    """Returns True if a quantity was given as several values (a sequence), not as one value or not at all."""
    return values is not None and not isinstance(values, str) and hasattr(values, "__len__")


def as_list(values: Any) -> Any:
    """Returns a quantity as a list, a single value as a list of one, so that the engine answers with a table."""
    return values if values is None or many(values) else [values]


def _fields(question: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in question.items() if value is not None}
    for name in ("cell", "code"):
        if not isinstance(fields.get(name, ""), str | PathLike):
            raise InputError(f"{name}: {fields[name]!r}: expected a name or a path")
    cell = fspath(fields.get("cell", ""))
    if cell.endswith(".csv"):
        fields["measurements"] = _text(cell)
    if "cell" in fields:
        fields["cell"] = cell
    code = fields.get("code")
    if code is not None and fspath(code).endswith(".json"):
        fields["measured_code"] = _text(fspath(fields.pop("code")))
    for name in ("age", "retention"):
        if name in fields:
            # A number is passed as its text, so that the engine's message states which unit is missing.
            given = fields[name]
            fields[name] = [str(value) for value in given] if many(given) else str(given)
    for name in ("pe", "age", "step", "retention", "rber"):
        if many(fields.get(name)) and not len(fields[name]):
            raise InputError(f"{name}: no values: expected at least one")
    for name in ("pe", "step", "rber"):
        if many(fields.get(name)):
            try:
                fields[name] = [float(value) for value in fields[name]]
            except (TypeError, ValueError):
                raise InputError(f"{name}: {fields[name]!r}: expected a number, or a list of numbers") from None
    return fields


def _text(path: str) -> str:
    try:
        return read_text(existing_file(path))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a text file") from None


def array(values: Any) -> NDArray[np.float64]:
    """Returns nested lists of the engine as an array; missing values (``null``) become not a number."""
    # Start-up: the help of all commands needs no numpy.
    import numpy as np

    return np.asarray(values, dtype=np.float64)


def axis(values: Sequence[float], given: object) -> Quantity:
    """Returns an axis of a table: a number if one value was given or is the default, otherwise an array."""
    return array(values) if _is_axis(values, given) else float(values[0])


def table(values: Any, *axes: tuple[Sequence[float], object]) -> Quantity:
    """Returns a table without the axes that :func:`axis` turns into a number; a plain number if no axis remains."""
    kept = tuple(slice(None) if _is_axis(*one) else 0 for one in axes)
    found: Quantity = array(values)[kept]
    return found if any(part == slice(None) for part in kept) else float(found)


def _is_axis(values: Sequence[float], given: object) -> bool:
    return many(given) or (given is None and len(values) > 1)
