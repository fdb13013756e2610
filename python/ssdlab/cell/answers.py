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
    """Part in the list of all parts.

    Examples:
        >>> row = ssdlab.cell.parts()[0]
        >>> row.name, row.page_types, row.rated_pe_cycles, row.nominal_step, row.code
        ('ofwar-mlc', 2, 10000, 0.2, 'bch-110/4KiB')
    """

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
    """Number of a part, with its standing.

    Examples:
        >>> for one in ssdlab.cell.part("ofwar-mlc").parameters[:3]:
        ...     print(f"{one.symbol} = {one.value} ({one.standing}, {one.source}): {one.meaning}")
        mu_e = 1.4 V (found, FACTS 1.1): mean of the erased state
        x_0 = 1.4 V (stated, OFWAR 4.1.2): voltage at which nothing is lost
        sigma_e = 0.35 V (found, FACTS 1.1): deviation of the erased state
    """

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
    """Part with all its numbers.

    Examples:
        >>> part = ssdlab.cell.part("ofwar-mlc")
        >>> part.code, part.codeword_bits, part.parity_bits, part.limit
        ('bch-110/4KiB', 34528, 1760, 0.00135)
    """

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
    """Distributions of the threshold voltages of a cell.

    Examples:
        >>> answer = ssdlab.cell.vth("ofwar-mlc", pe=10_000, age="1y")
        >>> answer.references, answer.pages
        (array([2.481, 3.271, 4.107]), {'lsb': 0.0008548, 'msb': 0.0008259})
        >>> float(answer.voltage[answer.levels["p3"].argmax()])
        4.592
    """

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
        """Returns a chart of the distributions with their references; the logarithmic axis shows their overlap.

        Examples:
            >>> ssdlab.cell.vth("ofwar-mlc", age="1y").chart().save("vth.html")
            PosixPath('vth.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.vth(self)


@dataclass(frozen=True, slots=True, eq=False)
class Rber:
    """Error rates, with the axes wear, age and step (those that were given as sequences).

    Examples:
        >>> answer = ssdlab.cell.rber("ofwar-mlc", pe=[3_000, 10_000], age="1y")
        >>> answer.pe, answer.worst
        (array([ 3000., 10000.]), array([6.733e-05, 8.547e-04]))
        >>> answer.age_s, sorted(answer.pages)
        (31557600.0, ['lsb', 'msb'])
        >>> answer.worst < answer.limit
        array([ True,  True])
    """

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
        """Returns a chart of the error rate by the axis with most values, a curve for each value of the other axes.

        Examples:
            >>> answer = ssdlab.cell.rber("ofwar-mlc", pe=[3_000, 10_000], age=["1d", "30d", "1y"])
            >>> answer.chart().save("rber.html")
            PosixPath('rber.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.rber(self)


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Write modes, with the axes wear and retention; not a number where no step keeps the promised retention.

    Examples:
        >>> answer = ssdlab.cell.modes("ofwar-mlc", pe=10_000, retention=["4d", "1y"])
        >>> answer.step, answer.program_time_ns / 1000
        (array([0.3977 , 0.2853]), array([301.742, 420.671]))
    """

    cell: str
    pe: Quantity
    retention_s: Quantity
    #: Widest program step that keeps the promised retention.
    step: Quantity
    #: Mean program time with that step.
    program_time_ns: Quantity
    warnings: tuple[str, ...] = ()

    def chart(self) -> Chart:
        """Returns a chart of program time by promised retention, with a curve for each wear.

        Examples:
            >>> answer = ssdlab.cell.modes("ofwar-mlc", pe=10_000, retention=["1d", "4d", "1y"])
            >>> answer.chart().save("modes.html")
            PosixPath('modes.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.modes(self)


@dataclass(frozen=True, slots=True, eq=False)
class PageProgram:
    """Program time of one page type.

    Examples:
        >>> page = ssdlab.cell.program("dpes-mlc").pages["msb"]
        >>> page.mean_ns, page.pulses, page.time_ns, page.probability
        (1300000, 13.0, array([1300000.]), array([1.]))
    """

    #: Mean number of pulses.
    pulses: float
    mean_ns: int
    #: Times that occur, and the probability of each.
    time_ns: NDArray[np.float64]
    probability: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Program times with one step.

    Examples:
        >>> answer = ssdlab.cell.program("ofwar-mlc", step=0.4)
        >>> answer.step, answer.mean_ns, sorted(answer.pages)
        (0.4, 300000, ['lsb', 'msb'])
    """

    cell: str
    step: float
    mean_ns: int
    pages: dict[str, PageProgram]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Retention limits, with the axes wear and step.

    Examples:
        >>> answer = ssdlab.cell.limits("ofwar-mlc", pe=[8_500, 10_000], step=0.4)
        >>> answer.retention_s / 86_400
        array([70.97,  3.543 ])
        >>> answer.program_time_ns
        300000.0
    """

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
        """Returns a chart of the retention limit by wear, with a curve for each step.

        Examples:
            >>> answer = ssdlab.cell.limits("ofwar-mlc", pe=[7_000, 8_500, 10_000], step=[0.2, 0.4])
            >>> answer.chart().save("limits.html")
            PosixPath('limits.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.limits(self)


@dataclass(frozen=True, slots=True, eq=False)
class EraseMode:
    """Erase mode of a cell that has several.

    Examples:
        >>> modes = ssdlab.cell.endurance("dpes-mlc", retention="1y").erase_modes
        >>> modes[0].mode, modes[0].speed, modes[0].lifetime
        ('EV0', 'fast', 1.129)
    """

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
    """Endurance of a block in cycles, with the axes step and retention; not a number where no cycle is possible.

    Examples:
        >>> answer = ssdlab.cell.endurance("ofwar-mlc", step=[0.2, 0.3], retention="1y")
        >>> answer.pe_cycles, answer.rated_pe_cycles
        (array([11378.1,  9726.3]), 10000)
    """

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
        """Returns a chart of cycles by step, a curve for each retention; for a cell with erase modes, of their wear.

        Examples:
            >>> answer = ssdlab.cell.endurance("ofwar-mlc", step=[0.2, 0.3, 0.4], retention="1y")
            >>> answer.chart().save("endurance.html")
            PosixPath('endurance.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.endurance(self)


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """Shares of a cell's threshold-voltage window, with the axis wear.

    Examples:
        >>> answer = ssdlab.cell.budget("ofwar-mlc", pe=[0, 10_000], retention="4d")
        >>> answer.closes, answer.window
        (array([ True,  True]), array([3.594, 3.594]))
        >>> answer.shares["retention"], answer.free
        (array([0.        , 0.1683]), array([1.664, 0.5028]))
    """

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
        """Returns a chart of the shares of the window, stacked, with a bar for each wear.

        Examples:
            >>> answer = ssdlab.cell.budget("ofwar-mlc", pe=[0, 5_000, 10_000], retention="4d")
            >>> answer.chart().save("budget.html")
            PosixPath('budget.html')
        """
        # Start-up: pictures need numpy.
        from ssdlab.cell import pictures

        return pictures.budget(self)
