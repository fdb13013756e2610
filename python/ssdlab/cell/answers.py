"""What the laboratory answers: numbers as arrays, with a chart of each."""

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
    """A part in the list of all."""

    name: str
    #: What it is, in one line.
    summary: str
    #: Bits of a cell, or kinds of page.
    page_types: int
    rated_pe_cycles: int
    #: The program step; ``None`` for a part known at one step only.
    nominal_step: float | None
    #: The unit of steps: ``V``, or ``pitch`` (the distance of neighbouring levels).
    step_unit: str
    program_time_ns: int | None
    #: The code that protects its pages, as ``--code`` takes it.
    code: str
    #: The error rate that it corrects.
    limit: float


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number of a part, and how it is known."""

    #: What it is called in its source.
    symbol: str
    meaning: str
    #: Its value, with its unit.
    value: str
    #: ``stated``, ``found``, ``derived``, ``recalled`` (never evidence) or ``assumed``.
    standing: str
    source: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part with every number in it."""

    name: str
    summary: str
    #: The code that protects its pages, as ``--code`` takes it.
    code: str
    #: The unit of steps: ``V``, or ``pitch``.
    step_unit: str
    #: The error rate that its code corrects.
    limit: float
    codeword_bits: int
    parity_bits: int
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Vth:
    """Where the threshold voltages of a cell are."""

    cell: str
    #: The unit of voltages: ``V``, or ``pitch``.
    unit: str
    voltage: NDArray[np.float64]
    #: Density of each level at each voltage [1/unit]: ``er``, ``p1``, ``p2``, ...
    levels: dict[str, NDArray[np.float64]]
    references: NDArray[np.float64]
    #: Error rate of each page type.
    pages: dict[str, float]
    #: The error rate that is correctable.
    limit: float
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """The distributions with their references, on a logarithmic axis: overlap is what matters."""
        from ssdlab.cell import pictures

        return pictures.vth(self)


@dataclass(frozen=True, slots=True, eq=False)
class Rber:
    """Error rates, with the axes wear, age and step (those that were given as sequences)."""

    cell: str
    #: Error rate of each page type.
    pages: dict[str, Quantity]
    #: The worst of them.
    worst: Quantity
    #: The error rate that is correctable.
    limit: float
    #: Program and erase cycles.
    pe: Quantity
    #: Ages [s].
    age_s: Quantity
    #: Program steps; 0 for a part that has none.
    step: Quantity
    warnings: tuple[str, ...] = ()
    #: If `blocks` were asked about: by which factor their layers differ from the mean, as quantiles.
    blocks: dict[str, float] | None = None

    def chart(self) -> Chart:
        """Error rate against the axis with most values, a curve for each value of the others."""
        from ssdlab.cell import pictures

        return pictures.rber(self)


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Write modes, with the axes wear and retention: not a number where no step keeps the promise."""

    cell: str
    pe: Quantity
    retention_s: Quantity
    #: The widest program step.
    step: Quantity
    #: The mean program time that it takes.
    program_time_ns: Quantity
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Program time against promised retention, a curve for each wear."""
        from ssdlab.cell import pictures

        return pictures.modes(self)


@dataclass(frozen=True, slots=True, eq=False)
class PageProgram:
    """How long programming a page of one type takes."""

    #: Pulses on average.
    pulses: float
    mean_ns: int
    #: The times that occur, and how often each does.
    time_ns: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """How long programming takes with a step."""

    cell: str
    step: float
    mean_ns: int
    pages: dict[str, PageProgram]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """How long data lasts, with the axes wear and step."""

    cell: str
    pe: Quantity
    step: Quantity
    #: Mean program time with each step; not a number where it is not known.
    program_time_ns: Quantity
    #: The longest retention [s]: not a number where not even fresh data is correctable, `longest_s` where it may be longer.
    retention_s: Quantity
    #: Retentions are looked for up to this [s].
    longest_s: float
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Retention limit against wear, a curve for each step."""
        from ssdlab.cell import pictures

        return pictures.limits(self)


@dataclass(frozen=True, slots=True, eq=False)
class EraseMode:
    """An erase mode of a cell that has several."""

    #: ``EV0``, ``EV1``, ...: how far the erase voltage is lowered.
    mode: str
    #: ``fast`` or ``slow``.
    speed: str
    #: By the interval of summed wear: the volts that are saved, and the wear of one erase in nominal ones.
    saved_volts: NDArray[np.float64]
    effective_wear: NDArray[np.float64]
    #: Cycles relative to nominal ones, if the mode could be kept for life.
    lifetime: float
    #: How much longer programming takes.
    program_scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Endurance:
    """How many cycles a block stands, with the axes step and retention: not a number where it stands none."""

    cell: str
    step: Quantity
    retention_s: Quantity
    #: The most program and erase cycles at which data keeps its promise.
    pe_cycles: Quantity
    rated_pe_cycles: int
    #: More are not looked for.
    most_pe_cycles: float
    #: Empty for a cell without erase modes.
    erase_modes: tuple[EraseMode, ...] = ()
    #: What lies outside what the model may be believed for.
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Cycles against step, a curve for each retention; for a cell with erase modes, their wear."""
        from ssdlab.cell import pictures

        return pictures.endurance(self)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Who spends what of a cell's window, with the axis wear."""

    cell: str
    #: ``V`` or ``pitch``.
    unit: str
    pe: Quantity
    #: Whether what is asked for fits in the window.
    closes: bool | NDArray[np.bool_]
    #: The whole window; not a number for a part whose levels are not known.
    window: Quantity
    #: What each spends; with `free` they add up to the window. Empty where the window is not known.
    shares: dict[str, Quantity]
    #: What is left; below zero where it does not close.
    free: Quantity
    #: How much more would be spent if the code corrected next to nothing; not a number where nothing would then fit.
    code_gives: Quantity
    #: What was solved for, and for each wear what was found; ``None`` where the budget cannot be closed.
    solve: str | None = None
    solved: tuple[dict[str, Any] | None, ...] = ()
    #: For each wear the five quantities that the shares are for.
    asked: tuple[dict[str, float], ...] = ()
    #: For each wear why there are no shares; ``None`` where there are.
    unknown: tuple[str | None, ...] = ()
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Shares of the window, stacked, a bar for each wear."""
        from ssdlab.cell import pictures

        return pictures.budget(self)
