"""Options of ``ssdlab cell``: each is declared once, under the name of its field in the question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypeAlias

import typer

from ssdlab.errors import InputError

_CONDITION = "Condition"
_CIRCUMSTANCES = "Circumstances"
_CODE = "Code"
_OUTPUT = "Output"

Pe: TypeAlias = Annotated[
    str | None,
    typer.Option("--pe", metavar="N,...", help="Program and erase cycles; the rated ones.", rich_help_panel=_CONDITION),
]
Age: TypeAlias = Annotated[
    str | None,
    typer.Option("--age", metavar="TIME,...", help="Age of the data: 4d, 90min, 1y.", rich_help_panel=_CONDITION),
]
Step: TypeAlias = Annotated[
    str | None,
    typer.Option("--step", metavar="V,...", help="Program step; the nominal one.", rich_help_panel=_CONDITION),
]
Retention: TypeAlias = Annotated[
    str | None,
    typer.Option("--retention", metavar="TIME,...", help="Promised retention: 4d, 1y.", rich_help_panel=_CONDITION),
]
EraseWear: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--erase-wear",
        metavar="MODE:SPEED:N=W",
        help="Wear of an erase in place of the table's, as EV0:fast:5=0.9 (N: interval of 500 cycles). Repeatable.",
        rich_help_panel=_CIRCUMSTANCES,
    ),
]

_Cell: TypeAlias = Annotated[
    str, typer.Option("--cell", metavar="NAME|FILE.csv", help="A part, or a table of measured error rates.")
]
_Reads: TypeAlias = Annotated[
    float | None, typer.Option("--reads", metavar="N", help="Reads of the block.", rich_help_panel=_CIRCUMSTANCES)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Conditions of the data's storage, and of reading it."""

    temperature: Annotated[
        float | None,
        typer.Option("--temperature", metavar="C", help="At which data ages.", rich_help_panel=_CIRCUMSTANCES),
    ] = None
    reads: _Reads = None
    erase_shift: Annotated[
        float | None,
        typer.Option(
            "--erase-shift", metavar="V", help="How much shallower the block was erased.", rich_help_panel=_CIRCUMSTANCES
        ),
    ] = None
    references: Annotated[
        str | None,
        typer.Option("--references", metavar="KIND", help="fixed, tracked or optimal.", rich_help_panel=_CIRCUMSTANCES),
    ] = None
    neighbourhood: Annotated[
        str | None,
        typer.Option(
            "--neighbourhood",
            metavar="KIND",
            help="Interfering cells: all_bit_line or even_odd.",
            rich_help_panel=_CIRCUMSTANCES,
        ),
    ] = None
    compensation: Annotated[
        bool | None,
        typer.Option("--compensation/--no-compensation", help="Of interference.", rich_help_panel=_CIRCUMSTANCES),
    ] = None

    verify: Annotated[
        str | None,
        typer.Option("--verify", metavar="V,...", help="Verify voltages, rising.", rich_help_panel=_CIRCUMSTANCES),
    ] = None
    block: Annotated[
        int | None,
        typer.Option("--block", metavar="N", min=0, help="A block that differs from the mean.", rich_help_panel=_CIRCUMSTANCES),
    ] = None
    layer: Annotated[
        int | None,
        typer.Option("--layer", metavar="N", min=0, help="A layer of it.", rich_help_panel=_CIRCUMSTANCES),
    ] = None

    def question(self) -> dict[str, Any]:
        """Returns the options that were given, as the functions of :mod:`ssdlab.cell` take them."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if self.verify is not None:
            voltages = numbers("--verify", self.verify)
            given["verify"] = voltages if isinstance(voltages, list) else [voltages]
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Circumstances):
    """A part or measurements, with the circumstances."""

    cell: _Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedCell(Cell):
    """Like :class:`Cell`, with the code that protects its pages."""

    code: Annotated[
        str | None,
        typer.Option(
            "--code",
            metavar="CODE|FILE.json",
            help="bch-T/DATA, ldpc-PARITY/DATA, or a measurement; the part's own.",
            rich_help_panel=_CODE,
        ),
    ] = None
    soft_levels: Annotated[
        int | None,
        typer.Option("--soft-levels", metavar="N", min=0, help="That the decoder is given.", rich_help_panel=_CODE),
    ] = None
    limit: Annotated[
        float | None,
        typer.Option("--limit", metavar="RATE", help="Error rate that is corrected, whatever the code.", rich_help_panel=_CODE),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCell(Circumstances):
    """Cell on whose channel a code is measured, if one is given, with the circumstances."""

    cell: Annotated[
        str | None,
        typer.Option("--cell", metavar="NAME", help="Measure on its channel; that of two normal levels without one."),
    ] = None


def numbers(option: str, text: str | None) -> float | list[float] | None:
    """Parses ``0,3000,10000`` as a list of numbers; a text without a comma gives a single number.

    Raises:
        InputError: a text between the commas is not a number.
    """
    values: float | list[float] | None = _list(option, text, float, "a number")
    return values


def times(option: str, text: str | None) -> str | list[str] | None:
    """Splits ``1h,4d`` into a list of times; a text without a comma gives a single time."""
    values: str | list[str] | None = _list(option, text, str, "a time")
    return values


def erase_wear(entries: list[str] | None) -> list[dict[str, Any]]:
    """Parses texts such as ``EV0:fast:5=0.9`` as entries of the table of effective wear.

    Raises:
        InputError: a text has another form.
    """
    found = []
    for text in entries or ():
        where, _, wear = text.partition("=")
        parts = where.split(":")
        try:
            mode, speed, interval = parts
            found.append({"mode": mode, "speed": speed, "interval": int(interval), "wear": float(wear)})
        except ValueError:
            raise InputError(f"--erase-wear {text}: expected MODE:SPEED:INTERVAL=WEAR, such as EV0:fast:5=0.9") from None
    return found


def _list(option: str, text: str | None, kind: Callable[[str], Any], what: str) -> Any:
    if text is None:
        return None
    values = []
    for part in text.split(","):
        try:
            values.append(kind(part.strip()))
        except ValueError:
            raise InputError(f'{option} {text}: "{part}": expected {what}, or several with commas between') from None
    return values if "," in text else values[0]
