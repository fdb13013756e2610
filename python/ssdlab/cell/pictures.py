"""Charts of the answers of the cell laboratory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ssdlab.cell.facts import step_unit
from ssdlab.cell.words import rate, span, step_text
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.drawing import looks
from ssdlab.errors import InputError
from ssdlab.units import YEAR_S

if TYPE_CHECKING:
    from ssdlab.cell.answers import Budget, Endurance, Limits, Modes, Rber, Vth
    from ssdlab.cell.measurement import CodeMeasurement

#: Positions [s] and texts of the labels on an axis of ages or retentions.
_SPANS = tuple(
    (seconds, span(seconds))
    for seconds in (60.0, 3_600.0, 86_400.0, 4 * 86_400.0, 30 * 86_400.0, YEAR_S, 10 * YEAR_S, 100 * YEAR_S)
)
#: Density below which a curve is not drawn: no such cell could be found [1/V].
_FAINT = 1e-8


def vth(answer: Vth) -> Chart:
    """Returns the distributions with their references."""
    series = []
    for name, curve in answer.levels.items():
        shown = np.where(curve > _FAINT, curve, np.nan)
        series.append(Series("ER" if name == "er" else name.upper(), answer.voltage.tolist(), shown.tolist(), points=False))
    peak = max(float(curve.max()) for curve in answer.levels.values())
    worst = max(answer.pages.values())
    return Chart(
        title=f"{answer.cell}: threshold voltages, error rate {rate(worst)} (corrected: {rate(answer.limit)})",
        x=Axis(f"threshold voltage ({answer.unit})"),
        y=Axis(f"density (1/{answer.unit})", log=True, span=(_FAINT, 10 * peak)),
        series=tuple(series),
        marks=tuple(Mark(float(at), f"R{number}", "x") for number, at in enumerate(answer.references, 1)),
    )


def rber(answer: Rber) -> Chart:
    """Returns the error rate by the axis with most values, with a curve for each value of the other axes."""
    pe, age, step = (np.atleast_1d(axis) for axis in (answer.pe, answer.age_s, answer.step))
    worst = np.asarray(answer.worst).reshape(len(pe), len(age), len(step))
    unit = step_unit(answer.cell)
    axes = {"age": age, "pe": pe, "step": step}
    along = max(axes, key=lambda name: len(axes[name]))
    texts = {
        "pe": [f"{value:,.0f} cycles" for value in pe],
        "age": [span(value) if value else "fresh" for value in age],
        "step": [f"step {step_text(value, unit)}" if value else "" for value in step],
    }
    order = ("pe", "age", "step")
    others = [name for name in order if name != along]
    series = []
    for picks in product(*(range(len(axes[name])) for name in others)):
        index: list[Any] = [0, 0, 0]
        for name, pick in zip(others, picks, strict=True):
            index[order.index(name)] = pick
        index[order.index(along)] = slice(None)
        named = [texts[name][pick] for name, pick in zip(others, picks, strict=True) if len(axes[name]) > 1]
        series.append(_curve(", ".join(named) or "worst page", axes[along], worst[tuple(index)]))
    alone = [texts[name][0] for name in others if len(axes[name]) == 1 and (name != "step" or step[0])]
    return Chart(
        title=", ".join([f"{answer.cell}: error rate of the worst page", *alone]),
        x={"age": _spans("age of the data", age), "pe": Axis("program/erase cycles", counts=True), "step": _steps(answer.cell)}[
            along
        ],
        y=Axis("raw bit error rate", log=True, better="lower"),
        series=tuple(series),
        marks=(Mark(answer.limit, f"corrected: {rate(answer.limit)}"),),
        ordered=len(series) > 1,
        note=_note(answer.warnings),
    )


def modes(answer: Modes) -> Chart:
    """Returns program time by promised retention, a curve for each wear; by wear if there is only one retention."""
    pe, retention = np.atleast_1d(answer.pe), np.atleast_1d(answer.retention_s)
    micros = np.asarray(answer.program_time_ns).reshape(len(pe), len(retention)) / 1e3
    if len(retention) == 1 and len(pe) > 1:
        series = [_curve(span(retention[0]), pe, micros[:, 0])]
        return Chart(
            title=f"{answer.cell}: the fastest mode that keeps data for {span(retention[0])}",
            x=Axis("program/erase cycles", counts=True),
            y=Axis("mean program time (us)", counts=True, better="lower"),
            series=tuple(series),
        )
    series = [_curve(f"{cycles:,.0f}", retention, micros[at]) for at, cycles in enumerate(pe)]
    alone = f", {pe[0]:,.0f} cycles" if len(pe) == 1 else ""
    return Chart(
        title=f"{answer.cell}: the fastest mode for a promised retention{alone}",
        x=_spans("promised retention", retention),
        y=Axis("mean program time (us)", counts=True, better="lower"),
        series=tuple(series),
        ordered=True,
        legend="P/E cycles",
    )


def limits(answer: Limits) -> Chart:
    """Returns the retention limit by wear, with a curve for each step; by step if there is only one wear."""
    pe, step = np.atleast_1d(answer.pe), np.atleast_1d(answer.step)
    limit = np.asarray(answer.retention_s).reshape(len(pe), len(step))
    unit = step_unit(answer.cell)
    end = Mark(answer.longest_s, f"not looked further than {span(answer.longest_s)}")
    # At least four decades: otherwise the axis would have no labels for a cell whose limits are all beyond the search.
    low = min(float(np.nanmin(np.append(limit, answer.longest_s))), 1e-4 * answer.longest_s)
    y = replace(_spans("retention limit", (low, answer.longest_s)), span=(low / 2, 3 * answer.longest_s))
    if len(pe) == 1 and len(step) > 1:
        return Chart(
            title=f"{answer.cell}: how long data lasts after {pe[0]:,.0f} cycles",
            x=_steps(answer.cell),
            y=y,
            series=(_curve("limit", step, limit[0]),),
            marks=(end,),
            note=_note(answer.warnings),
        )
    alone = f" with a step of {step_text(step[0], unit)}" if len(step) == 1 and step[0] else ""
    return Chart(
        title=f"{answer.cell}: how long data lasts{alone}",
        x=Axis("program/erase cycles", counts=True, span=_whole(pe)),
        y=y,
        series=tuple(_curve(step_text(value, unit), pe, limit[:, at]) for at, value in enumerate(step)),
        marks=(end,),
        ordered=True,
        note=_note(answer.warnings),
        legend="program step",
    )


def endurance(answer: Endurance) -> Chart:
    """Returns cycles by step, with a curve for each retention; for a cell with erase modes, their wear."""
    if answer.erase_modes:
        return _erase_modes(answer)
    step, retention = np.atleast_1d(answer.step), np.atleast_1d(answer.retention_s)
    cycles = np.asarray(answer.pe_cycles).reshape(len(step), len(retention))
    rated = (Mark(float(answer.rated_pe_cycles), f"rated: {answer.rated_pe_cycles:,}"),)
    if len(step) == 1:
        return Chart(
            title=f"{answer.cell}: cycles that data with a promised retention allows",
            x=_spans("promised retention", retention),
            y=Axis("program/erase cycles", counts=True),
            series=(_curve("cycles", retention, cycles[0]),),
            marks=rated,
        )
    return Chart(
        title=f"{answer.cell}: cycles that data with a promised retention allows",
        x=_steps(answer.cell),
        y=Axis("program/erase cycles", counts=True),
        series=tuple(_curve(span(value), step, cycles[:, at]) for at, value in enumerate(retention)),
        marks=rated,
        ordered=True,
        legend="retention",
    )


def _erase_modes(answer: Endurance) -> Chart:
    intervals = len(answer.erase_modes[0].effective_wear)
    share = [answer.rated_pe_cycles * at / intervals for at in range(intervals)]
    names = list(dict.fromkeys(one.mode for one in answer.erase_modes))
    series = [
        Series(
            f"{one.mode} {one.speed}",
            share,
            one.effective_wear.tolist(),
            dashed=one.speed == "slow",
            colour=names.index(one.mode),
        )
        for one in answer.erase_modes
    ]
    return Chart(
        title=f"{answer.cell}: what an erase costs, by its mode",
        x=Axis("summed wear at which an interval begins (nominal cycles)", counts=True),
        y=Axis("effective wear of one cycle (nominal cycles)"),
        series=tuple(series),
        ordered=True,
    )


def budget(answer: Budget) -> Chart:
    """Returns the shares of the window, stacked, with a bar for each wear."""
    if not answer.shares:
        raise InputError(f"cell: {answer.cell} knows error rates, not levels: there are no shares of a window to draw")
    colours = {"free": looks.FREE}
    bars = [f"{cycles:,.0f}" for cycles in np.atleast_1d(answer.pe)]
    shares = {**answer.shares, "free": answer.free}
    window = float(np.atleast_1d(answer.window)[0])
    return Chart(
        title=f"{answer.cell}: who spends what of the window" + (f", {answer.solve} solved for" if answer.solve else ""),
        x=Axis("program/erase cycles"),
        y=Axis(f"share of the window ({answer.unit})", span=_room(list(shares.values()))),
        series=tuple(
            Series(name, bars, np.atleast_1d(values).tolist(), colour=colours.get(name)) for name, values in shares.items()
        ),
        marks=(Mark(window, f"window: {window:.3g} {answer.unit}"),),
        stacked=True,
    )


def _room(shares: Sequence[Any]) -> tuple[float, float]:
    """Returns the range from the lowest to the highest end of a bar, with a margin for a text above."""
    table = np.array([np.atleast_1d(values) for values in shares])
    above, below = (float(np.abs(part.sum(axis=0)).max()) for part in (np.maximum(table, 0), np.minimum(table, 0)))
    return (-1.1 * below, 1.1 * above)


def code(answer: CodeMeasurement) -> Chart:
    """Returns failure rate by raw error rate, with a curve for each number of soft levels.

    Points without failures are left out.
    """
    series = []
    for level in answer.soft:
        failure, low, high = (level.column(name) for name in ("failure", "low", "high"))
        seen = failure > 0
        series.append(
            Series(
                "hard" if level.soft_levels == 0 else f"{level.soft_levels} soft",
                level.column("rber")[seen].tolist(),
                failure[seen].tolist(),
                low[seen].tolist(),
                high[seen].tolist(),
            )
        )
    marks = [Mark(level.limit, rate(level.limit), "x") for level in answer.soft if level.limit == level.limit]
    return Chart(
        title=f"{answer.code}: codewords that fail" + (" (partial)" if answer.status != "complete" else ""),
        x=Axis("raw bit error rate"),
        y=Axis("failure rate of codewords", log=True, better="lower"),
        series=tuple(series),
        marks=(*marks, Mark(1e-3, "one in a thousand")),
        legend="decisions",
    )


def _curve(name: str, x: Any, y: Any) -> Series:
    return Series(name, [float(value) for value in x], [float(value) for value in y])


def _note(warnings: Sequence[str]) -> str:
    """Returns the first warning and the number of further ones: a sweep may leave the validity range at many points."""
    more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
    return f"beyond what is known: {warnings[0]}{more}" if warnings else ""


def _whole(values: Any) -> tuple[float, float]:
    """Returns the range of all values, so that the axis also shows where a curve has ended."""
    low, high = float(np.min(values)), float(np.max(values))
    room = 0.04 * (high - low) or 1.0
    return (low - room, high + room)


def _steps(cell: str) -> Axis:
    return Axis(f"program step ({step_unit(cell) or 'V'})")


def _spans(title: str, seconds: Sequence[float] | Any) -> Axis:
    """Returns a logarithmic axis of times, on which only values above zero are shown."""
    ends = [float(value) for value in seconds if value > 0]
    if not ends:
        return Axis(f"{title} (s)")
    low, high = min(ends), max(ends)
    ticks = tuple(tick for tick in _SPANS if low / 3 <= tick[0] <= high * 3)
    return Axis(title, log=True, ticks=ticks if len(ticks) > 1 else ())
