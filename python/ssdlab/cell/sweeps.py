"""Sweeps for charts of questions about a single point: the useful curve through that point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ssdlab.cell import laboratory
from ssdlab.cell.facts import rated_pe_cycles
from ssdlab.cell.question import CellLike, ask, many
from ssdlab.charts import Chart, Mark

#: Ages of a curve, evenly spaced on a logarithmic axis, and promised retentions.
_AGES = tuple(f"{round(3_600 * (87_600 ** (at / 24)))}s" for at in range(25))
_RETENTIONS = ("1h", "6h", "1d", "4d", "14d", "60d", "180d", "1y", "3y", "10y")
#: Wear values as shares of the rated cycles.
_CURVE = tuple(at / 10 for at in range(16))
_FINE = tuple(at / 20 for at in range(31))
_FEW = (0.0, 0.5, 1.0, 1.5)
_BARS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
#: Steps as shares of the nominal step, of which those beyond the widest step are left out.
_STEPS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5)


def rber(cell: CellLike, *, pe: Any, age: Any, step: Any, **more: Any) -> Chart:
    """Returns error rates by age, through the point in question."""
    if age is not None and (many(pe) or many(age) or many(step)):
        return laboratory.rber(cell, pe=pe, age=age, step=step, **more).chart()
    wears = _wears(cell, _FEW) if pe is None else pe
    chart = laboratory.rber(cell, pe=wears, age=_AGES, step=step, **more).chart()
    return chart if age is None else _chart_with_mark(chart, laboratory.rber(cell, age=age, **more).age_s, age)


def modes(cell: CellLike, *, pe: Any, retention: Any, **more: Any) -> Chart:
    """Returns program times by retention; by wear if several wears and one retention are given."""
    if retention is None or many(retention) or many(pe):
        return laboratory.modes(cell, pe=pe, retention=retention, **more).chart()
    chart = laboratory.modes(cell, pe=pe, retention=_RETENTIONS, **more).chart()
    return _chart_with_mark(chart, laboratory.rber(cell, age=retention).age_s, retention)


def limits(cell: CellLike, *, pe: Any, step: Any, **more: Any) -> Chart:
    """Returns retention limits by wear; by step if several steps and one wear are given."""
    if pe is None and step is None:
        # The usual steps, at more wear values than in the engine's table.
        usual = laboratory.limits(cell, **more).step
        return laboratory.limits(cell, pe=_wears(cell, _FINE), step=usual, **more).chart()
    if many(pe) or (pe is not None and many(step)):
        return laboratory.limits(cell, pe=pe, step=step, **more).chart()
    chart = laboratory.limits(cell, pe=_wears(cell, _CURVE), step=step, **more).chart()
    return chart if pe is None else _chart_with_mark(chart, float(pe), f"{pe:,.0f} cycles")


def endurance(cell: CellLike, *, step: Any, retention: Any, **more: Any) -> Chart:
    """Returns cycles by step; by retention for a part without a program step."""
    if retention is None or many(step):
        return laboratory.endurance(cell, step=step, retention=retention, **more).chart()
    nominal = next((row.nominal_step for row in laboratory.parts() if row.name == str(cell)), None)
    if nominal is None:
        return laboratory.endurance(cell, retention=_RETENTIONS, **more).chart()
    # A limit of 0.5 corrects every error: the answer is the widest step of the technology.
    widest = ask("modes", cell=cell, pe=0, retention="1h", limit=0.5)["step"]
    steps = sorted(
        {float(f"{nominal * share:.4g}") for share in _STEPS if nominal * share <= widest}
        | ({float(step)} if step is not None else set())
    )
    chart = laboratory.endurance(cell, step=steps, retention=retention, **more).chart()
    return chart if step is None else _chart_with_mark(chart, float(step), f"{step:g}")


def budget(cell: CellLike, *, pe: Any, **more: Any) -> Chart:
    """Returns the budget with a bar for each of several wear values."""
    return laboratory.budget(cell, pe=_wears(cell, _BARS) if pe is None else pe, **more).chart()


def vth(cell: CellLike, **question: Any) -> Chart:
    """Returns the distributions at the point in question."""
    return laboratory.vth(cell, **question).chart()


#: Function that draws the chart of each question, by the name of the question.
SWEEPS: dict[str, Callable[..., Chart]] = {
    "vth": vth,
    "rber": rber,
    "modes": modes,
    "limits": limits,
    "endurance": endurance,
    "budget": budget,
}


def _wears(cell: CellLike, shares: Sequence[float]) -> list[float]:
    rated = rated_pe_cycles(cell)
    return [float(round(share * rated)) for share in shares]


def _chart_with_mark(chart: Chart, at: Any, text: str) -> Chart:
    """Returns `chart` with a line at the point in question."""
    return replace(chart, marks=(*chart.marks, Mark(float(at), text, "x")))
