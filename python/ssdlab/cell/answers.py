"""Answers of the cell laboratory: numbers as arrays, each answer with a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ssdlab.cell.question import Quantity
    from ssdlab.charts import Chart


@dataclass(frozen=True, slots=True)
class PartRow:
    """Part in the list of all parts."""

    name: str
    #: Summary, in one line.
    summary: str
    #: Number of bits of a cell, which is also the number of page types.
    page_types: int
    rated_pe_cycles: int
    #: Nominal program step; ``None`` for a part known at one step only.
    nominal_step: float | None
    #: Unit of steps: ``V``, or ``pitch`` (the distance between neighbouring levels).
    step_unit: str
    program_time_ns: int | None
    #: Code that protects its pages, in the notation of ``--code``.
    code: str
    #: Error rate that the code corrects.
    limit: float


@dataclass(frozen=True, slots=True)
class Parameter:
    """Number of a part, with its standing."""

    #: Symbol in its source.
    symbol: str
    meaning: str
    #: Value, with its unit.
    value: str
    #: ``stated``, ``found``, ``derived``, ``recalled`` (never evidence) or ``assumed``.
    standing: str
    source: str


@dataclass(frozen=True, slots=True)
class Part:
    """Part with all its numbers."""

    name: str
    summary: str
    #: Code that protects its pages, in the notation of ``--code``.
    code: str
    #: Unit of steps: ``V``, or ``pitch``.
    step_unit: str
    #: Error rate that its code corrects.
    limit: float
    codeword_bits: int
    parity_bits: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Vth:
    """Distributions of the threshold voltages of a cell."""

    cell: str
    #: Unit of voltages: ``V``, or ``pitch``.
    unit: str
    voltage: NDArray[np.float64]
    #: Density of each level at each voltage [1/unit]: ``er``, ``p1``, ``p2``, ...
    levels: dict[str, NDArray[np.float64]]
    references: NDArray[np.float64]
    #: Error rate of each page type.
    pages: dict[str, float]
    #: Correctable error rate.
    limit: float
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of the distributions with their references; the logarithmic axis shows their overlap."""
        from ssdlab.cell import pictures

        return pictures.vth(self)


@dataclass(frozen=True, slots=True, eq=False)
class Rber:
    """Error rates, with the axes wear, age and step (those that were given as sequences)."""

    cell: str
    #: Error rate of each page type.
    pages: dict[str, Quantity]
    #: Error rate of the worst page type.
    worst: Quantity
    #: Correctable error rate.
    limit: float
    #: Program and erase cycles.
    pe: Quantity
    #: Ages [s].
    age_s: Quantity
    #: Program steps; 0 for a part that has none.
    step: Quantity
    warnings: tuple[str, ...] = ()
    #: If `blocks` was given: quantiles of the factor by which the error rates of their layers differ from the mean.
    blocks: dict[str, float] | None = None

    def chart(self) -> Chart:
        """Returns a chart of the error rate by the axis with most values, a curve for each value of the other axes."""
        from ssdlab.cell import pictures

        return pictures.rber(self)


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Write modes, with the axes wear and retention; not a number where no step keeps the promised retention."""

    cell: str
    pe: Quantity
    retention_s: Quantity
    #: Widest program step that keeps the promised retention.
    step: Quantity
    #: Mean program time with that step.
    program_time_ns: Quantity
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of program time by promised retention, with a curve for each wear."""
        from ssdlab.cell import pictures

        return pictures.modes(self)


@dataclass(frozen=True, slots=True, eq=False)
class PageProgram:
    """Program time of one page type."""

    #: Mean number of pulses.
    pulses: float
    mean_ns: int
    #: Times that occur, and the probability of each.
    time_ns: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Program times with one step."""

    cell: str
    step: float
    mean_ns: int
    pages: dict[str, PageProgram]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Retention limits, with the axes wear and step."""

    cell: str
    pe: Quantity
    step: Quantity
    #: Mean program time with each step; not a number if unknown.
    program_time_ns: Quantity
    #: Longest retention [s]: not a number where not even fresh data is correctable, `longest_s` where it may be longer.
    retention_s: Quantity
    #: Longest retention that is searched [s].
    longest_s: float
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of the retention limit by wear, with a curve for each step."""
        from ssdlab.cell import pictures

        return pictures.limits(self)


@dataclass(frozen=True, slots=True, eq=False)
class EraseMode:
    """Erase mode of a cell that has several."""

    #: Depth of the erase: ``EV0`` (nominal), ``EV1``, ... with ever lower erase voltages.
    mode: str
    #: ``fast`` or ``slow``.
    speed: str
    #: By interval of summed wear: the window that is saved [V], and the wear of one erase in nominal erases.
    saved_volts: NDArray[np.float64]
    effective_wear: NDArray[np.float64]
    #: Lifetime in cycles relative to nominal erases, if the mode could be kept for the whole life.
    lifetime: float
    #: Program time that the mode requires, as a multiple of the nominal time.
    program_scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Endurance:
    """Endurance of a block in cycles, with the axes step and retention; not a number where no cycle is possible."""

    cell: str
    step: Quantity
    retention_s: Quantity
    #: Largest number of program and erase cycles at which data keeps its promised retention.
    pe_cycles: Quantity
    rated_pe_cycles: int
    #: Largest number of cycles that is searched.
    most_pe_cycles: float
    #: Empty for a cell without erase modes.
    erase_modes: tuple[EraseMode, ...] = ()
    #: Warnings about results outside the validity range of the model.
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of cycles by step, a curve for each retention; for a cell with erase modes, of their wear."""
        from ssdlab.cell import pictures

        return pictures.endurance(self)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Shares of a cell's threshold-voltage window, with the axis wear."""

    cell: str
    #: ``V`` or ``pitch``.
    unit: str
    pe: Quantity
    #: True where the requested quantities fit in the window.
    closes: bool | NDArray[np.bool_]
    #: Whole window; not a number for a part whose levels are not known.
    window: Quantity
    #: Share of the window that each use takes; with `free` they add up to the window. Empty if the window is not known.
    shares: dict[str, Quantity]
    #: Unused rest of the window; below zero where the budget does not close.
    free: Quantity
    #: Part of the window that the code saves: the additional use if it corrected an error rate of only 1e-9. Not a
    #: number where no levels could be placed then.
    code_gives: Quantity
    #: Quantity that was solved for, and for each wear the value found; ``None`` where the budget cannot be closed.
    solve: str | None = None
    solved: tuple[dict[str, Any] | None, ...] = ()
    #: For each wear the five quantities for which the shares hold.
    asked: tuple[dict[str, float], ...] = ()
    #: For each wear the reason why there are no shares; ``None`` where there are.
    unknown: tuple[str | None, ...] = ()
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of the shares of the window, stacked, with a bar for each wear."""
        from ssdlab.cell import pictures

        return pictures.budget(self)
