"""Questions that the engine answers by formulas: each function asks one, and returns its answer as arrays."""

from __future__ import annotations

from os import fspath
from typing import TYPE_CHECKING, Any

from ssdlab.cell.answers import (
    Budget,
    Endurance,
    EraseMode,
    Limits,
    Modes,
    PageProgram,
    Parameter,
    Part,
    PartRow,
    Program,
    Rber,
    Vth,
)
from ssdlab.cell.facts import rated_pe_cycles
from ssdlab.cell.question import CellLike, Numbers, Times, array, as_list, ask, axis, many, table
from ssdlab.errors import InputError

if TYPE_CHECKING:
    from ssdlab.cell.question import Quantity


def parts() -> list[PartRow]:
    """Returns the parts that come with ssdlab.

    Examples:
        >>> for row in ssdlab.cell.parts()[:3]:
        ...     print(f"{row.name}: {row.summary}")
        ofwar-mlc: MLC of the OFWAR paper: threshold voltages, 10,000 cycles, BCH 110 bits / 4 KiB
        rr-mlc: MLC of retention relaxation: bell-shaped levels that widen with time, BCH 24 bits / 1080 B
        dpes-mlc: 20 nm MLC of autoFTL: erase and program scaling, 3,000 cycles
    """
    return [PartRow(**row) for row in ask("parts")["parts"]]


def part(cell: str) -> Part:
    """Returns a part with all its numbers and their standing.

    Raises:
        InputError: there is no such part; the message suggests the nearest name.

    Examples:
        >>> ssdlab.cell.part("ofwar-mlc").summary
        'MLC of the OFWAR paper: threshold voltages, 10,000 cycles, BCH 110 bits / 4 KiB'
        >>> ssdlab.cell.part("ofwar-mcl")
        Traceback (most recent call last):
        ssdlab.InputError: cell: unknown cell `ofwar-mcl`: expected one of ... (did you mean `ofwar-mlc`?)
    """
    found = ask("parts", cell=cell)
    found["parameters"] = tuple(Parameter(**one) for one in found["parameters"])
    return Part(**found)


def vth(cell: CellLike, *, pe: float | None = None, age: str | None = None, step: float | None = None, **more: Any) -> Vth:
    """Returns the density of each level over voltage, the references, and the error rates that follow.

    Args:
        cell: A part with a model of threshold voltages.
        pe: Program and erase cycles; default: the rated ones.
        age: Age of the data; default: none.
        step: Program step; default: the nominal one.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.vth("ofwar-mlc", pe=10_000, age="1y", step=0.3)
        >>> answer.pages, answer.limit
        ({'lsb': 0.001474, 'msb': 0.001012}, 0.00135)
    """
    found = ask("vth", cell=cell, pe=pe, age=age, step=step, **more)
    return Vth(
        cell=fspath(cell),
        unit=found["unit"],
        voltage=array(found["voltage"]),
        levels={name: array(curve) for name, curve in found["levels"].items()},
        references=array(found["references"]),
        pages=found["pages"],
        limit=found["limit"],
        warnings=_warnings(found),
    )


def rber(
    cell: CellLike, *, pe: Numbers | None = None, age: Times | None = None, step: Numbers | None = None, **more: Any
) -> Rber:
    """Returns the error rates of page types, with the axes (wear, age, step).

    Args:
        cell: A part, or a table of measured error rates.
        pe: Program and erase cycles; default: the rated ones.
        age: Ages of the data; default: fresh data, or the usual ages if another quantity is a sequence.
        step: Program steps; default: the nominal one.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> ssdlab.cell.rber("ofwar-mlc", pe=10_000, age="4d", step=0.4).worst
        0.001371
        >>> ssdlab.cell.rber("ofwar-mlc", pe=10_000, age=["4d", "1y"]).pages["msb"]
        array([0.0004082, 0.0008259])
    """
    # For a list the engine answers with a table, which contains wear and step even if they were left out.
    single = not (many(pe) or many(age) or many(step))
    ages = "0" if single and age is None else age
    found = ask("rber", cell=cell, pe=pe, age=as_list(ages), step=step, **more)
    axes = ((found["pe"], pe), (found["age_s"], ages), (found["step"], step))
    return Rber(
        cell=fspath(cell),
        pages={name: table(rates, *axes) for name, rates in found["pages"].items()},
        worst=table(found["worst"], *axes),
        limit=found["limit"],
        pe=axis(*axes[0]),
        age_s=axis(*axes[1]),
        step=axis(*axes[2]),
        warnings=_warnings(found),
        blocks=found.get("blocks"),
    )


def modes(cell: CellLike, *, pe: Numbers | None = None, retention: Times | None = None, **more: Any) -> Modes:
    """Returns the widest step that keeps each promised retention, and its program time; axes (wear, retention).

    Args:
        cell: A part whose program step is known.
        pe: Program and erase cycles; default: the rated ones, or the usual ones if `retention` is left out as well.
        retention: Promised retentions; default: the usual ones.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.modes("ofwar-mlc", pe=[3_000, 10_000], retention="4d")
        >>> answer.step, answer.program_time_ns
        (array([0.6427, 0.3977 ]), array([186720., 301742.]))
    """
    found = ask("modes", cell=cell, pe=pe, retention=as_list(retention), **more)
    axes = ((found["pe"], pe), (found["retention_s"], retention))
    return Modes(
        cell=fspath(cell),
        pe=axis(*axes[0]),
        retention_s=axis(*axes[1]),
        step=table(found["step"], *axes),
        program_time_ns=table(found["program_time_ns"], *axes),
        warnings=_warnings(found),
    )


def program(cell: CellLike, *, step: float | None = None, **more: Any) -> Program:
    """Returns the program time with a step, by page type.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.program("ofwar-mlc", step=0.4)
        >>> answer.mean_ns, answer.pages["lsb"].pulses
        (300000, 12.0)
    """
    found = ask("program", cell=cell, step=step, **more)
    pages = {
        name: PageProgram(
            page["pulses"],
            page["mean_ns"],
            array([one["time_ns"] for one in page["times"]]),
            array([one["probability"] for one in page["times"]]),
        )
        for name, page in found["pages"].items()
    }
    return Program(fspath(cell), found["step"], found["mean_ns"], pages)


def limits(cell: CellLike, *, pe: Numbers | None = None, step: Numbers | None = None, **more: Any) -> Limits:
    """Returns the longest retention, with the axes (wear, step).

    Args:
        cell: A part, or a table of measured error rates.
        pe: Program and erase cycles; default: the rated ones, or the usual ones if `step` is left out as well.
        step: Program steps; default: the nominal one, or the usual ones if `pe` is left out as well.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.limits("ofwar-mlc", pe=10_000, step=[0.2, 0.4])
        >>> answer.retention_s / 86_400
        array([3.705e+03, 3.543e+00])
    """
    found = ask("limits", cell=cell, pe=as_list(pe), step=step if pe is not None else as_list(step), **more)
    axes = ((found["pe"], pe), (found["step"], step))
    return Limits(
        cell=fspath(cell),
        pe=axis(*axes[0]),
        step=axis(*axes[1]),
        program_time_ns=table(found["program_time_ns"], axes[1]),
        retention_s=table(found["retention_s"], *axes),
        longest_s=found["longest_s"],
        warnings=_warnings(found),
    )


def endurance(cell: CellLike, *, step: Numbers | None = None, retention: Times | None = None, **more: Any) -> Endurance:
    """Returns the largest number of cycles at which data keeps its promised retention, with the axes (step, retention).

    Args:
        cell: A part, or a table of measured error rates.
        step: Program steps; default: the nominal one, or the usual ones if `retention` is left out as well.
        retention: Promised retentions; default: the usual ones.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.endurance("ofwar-mlc", retention=["4d", "1y"])
        >>> answer.pe_cycles
        array([13943.2, 11378.1])
    """
    found = ask("endurance", cell=cell, step=step, retention=as_list(retention), **more)
    axes = ((found["step"], step), (found["retention_s"], retention))
    erase_modes = [
        EraseMode(
            one["mode"],
            one["speed"],
            array(one["saved_volts"]),
            array(one["effective_wear"]),
            one["lifetime"],
            one["program_scale"],
        )
        for one in found.get("erase_modes", ())
    ]
    return Endurance(
        cell=fspath(cell),
        step=axis(*axes[0]),
        retention_s=axis(*axes[1]),
        pe_cycles=table(found["pe_cycles"], *axes),
        rated_pe_cycles=found["rated_pe_cycles"],
        most_pe_cycles=found["most_pe_cycles"],
        warnings=_warnings(found),
        erase_modes=tuple(erase_modes),
    )


def budget(
    cell: CellLike,
    *,
    pe: Numbers | None = None,
    step: float | None = None,
    retention: str | None = None,
    solve: str | None = None,
    **more: Any,
) -> Budget:
    """Returns the shares of a cell's window, with the axis wear; with `solve`, also the extreme of one quantity.

    Args:
        cell: A part.
        pe: Program and erase cycles; default: the rated ones.
        step: Program step; default: the nominal one.
        retention: Promised retention; default: a year.
        solve: Quantity to solve for, ``step``, ``erase``, ``retention``, ``code`` or ``wear``: the budget is that with
            the value found.
        more: See :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid; the message lists every problem.

    Examples:
        >>> answer = ssdlab.cell.budget("ofwar-mlc", pe=10_000, retention="4d", solve="step")
        >>> answer.solved[0]["step"], answer.closes
        (0.4246, True)
        >>> for use, volts in answer.shares.items():
        ...     print(f"{use}: {volts:.2f} {answer.unit}")
        erased state: 1.02 V
        program steps: 1.23 V
        interference: 0.32 V
        wear (random telegraph noise): 0.83 V
        retention: 0.19 V
        shallow erase: 0.00 V
    """
    wears: list[float] = [rated_pe_cycles(cell)] if pe is None else list(as_list(pe))
    if not wears:
        raise InputError("pe: no values: expected at least one")
    found = [ask("budget", cell=cell, pe=one, step=step, retention=retention, solve=solve, **more) for one in wears]
    names = [*dict.fromkeys(share["who"] for one in found for share in one.get("shares", ()))]
    spent = [{share["who"]: share["volts"] for share in one.get("shares", ())} for one in found]
    axes = ((wears, pe),)

    def column(name: str) -> Quantity:
        return table([one.get(name) for one in found], *axes)

    closes = array([one["closes"] for one in found]) > 0
    return Budget(
        cell=fspath(cell),
        unit=found[0]["unit"],
        pe=axis(*axes[0]),
        closes=closes if many(pe) else bool(closes[0]),
        window=column("window"),
        shares={name: table([one.get(name) for one in spent], *axes) for name in names},
        free=column("free"),
        code_gives=column("code_gives"),
        warnings=tuple(dict.fromkeys(text for one in found for text in _warnings(one))),
        solve=solve,
        solved=tuple(one.get("solved") for one in found) if solve else (),
        asked=tuple(one["asked"] for one in found),
        unknown=tuple(one.get("unknown") for one in found),
    )


def _warnings(found: dict[str, Any]) -> tuple[str, ...]:
    return tuple(found.get("warnings", ()))
