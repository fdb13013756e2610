"""Used write modes as the cell model describes them: threshold voltages, error rates, and correction limits."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from ssdlab.drawing import looks
from ssdlab.drives import Drive, describe
from ssdlab.errors import InputError
from ssdlab.report import style
from ssdlab.report.content import table
from ssdlab.units import count, duration, significant

if TYPE_CHECKING:
    from ssdlab import cell
    from ssdlab.results import RunData

#: Lowest density that is drawn [1/V].
_LEAST = 1e-7


@dataclass(frozen=True, slots=True)
class Mode:
    """Write mode as the cell model describes it."""

    name: str
    #: Number of units that were written in the mode.
    units: int
    step: float
    #: True if the step was derived from the cell model; otherwise it is the step that the program time would need.
    derived: bool
    pe_cycles: int
    program_ns: float
    #: Promised retention of its data; ``None``: without limit.
    retention: str | None
    #: Distributions of fresh data, and of data at the end of its retention; none if the model knows only error rates.
    fresh: cell.Vth | None
    aged: cell.Vth | None
    fresh_rate: float
    aged_rate: float
    limit: float

    @property
    def retention_text(self) -> str:
        """Text that states the promised retention of its data."""
        return f"kept {self.retention}" if self.retention else "kept without limit"


def used_modes(runs: Sequence[RunData]) -> list[Mode]:
    """Returns the write modes that any of the runs used, as described by the cell model of the first run's drive.

    Empty if that drive names no cell model, or that of another cell.
    """
    described = tomllib.loads(runs[0].drive_toml)
    flash = described.get("flash", {})
    if "cell_model" not in flash:
        return []
    wear = runs[0].summary["wear"].get("max") or described["state"].get("pe_cycles", 0)
    units = {
        mode["name"]: sum(run.summary["modes"]["write"].get(mode["name"], 0) for run in runs) for mode in flash["write_mode"]
    }
    facts = describe(Drive.from_text(runs[0].drive_toml), set={"state.pe_cycles": wear})
    known = {mode["name"]: mode for mode in facts["write_modes"]}
    try:
        return [
            _mode(flash, mode, units[mode["name"]], wear, known[mode["name"]])
            for mode in flash["write_mode"]
            if units[mode["name"]]
        ]
    except InputError:
        # The model describes another cell.
        return []


def _mode(flash: dict[str, Any], mode: dict[str, Any], units: int, wear: int, facts: dict[str, Any]) -> Mode:
    # Start-up: only a drive with derived modes needs the laboratory.
    from ssdlab import cell

    name = flash["cell_model"]
    part = next(row for row in cell.parts() if row.name == name)
    if part.page_types != 1 + ["slc", "mlc", "tlc", "qlc"].index(flash["cell"]) or part.nominal_step is None:
        raise InputError(f"{name}: a model of another cell")
    found = mode.get("derivation")
    pe = found["at_pe_cycles"] if found else wear
    step = found["step"] if found else part.nominal_step / mode["program_scale"]
    more = {"temperature": found["temperature"], "erase_shift": found["erase_shift"], "limit": found["limit"]} if found else {}
    # A derived mode keeps its promise up to the wear for which it was derived; another mode keeps the limit at this
    # wear.
    limit_ns = facts["retention_ns"]
    promised = found["retention"] if found else None if limit_ns is None else f"{limit_ns}ns"
    rates = cell.rber(name, pe=float(pe), age=["0", promised or "0"], step=step, **more)
    shapes: list[cell.Vth | None] = [None, None]
    with suppress(InputError):  # raised by a model of error rates only
        shapes = [cell.vth(name, pe=float(pe), age=age, step=step, **more) for age in ("0", promised or "0")]
    fresh_rate, aged_rate = map(float, np.atleast_1d(rates.worst))
    return Mode(
        name=mode["name"],
        units=units,
        step=step,
        derived=found is not None,
        pe_cycles=pe,
        program_ns=facts["program_ns"],
        retention=found["retention"] if found else None if limit_ns is None else duration(limit_ns),
        fresh=shapes[0],
        aged=shapes[1],
        fresh_rate=fresh_rate,
        aged_rate=aged_rate,
        limit=rates.limit,
    )


def distributions(modes: Sequence[Mode]) -> go.Figure | None:
    """Returns a panel for each mode: levels as written and at the end of the retention, with the read references.

    ``None`` if the model knows no distributions.
    """
    drawn = [mode for mode in modes if mode.fresh is not None and mode.aged is not None]
    if not drawn:
        return None
    titles = [
        f"{mode.name}: step {significant(mode.step, 3)}, {count(mode.pe_cycles)} cycles, {mode.retention_text}" for mode in drawn
    ]
    chart = style.panels(
        70 + 250 * len(drawn), len(drawn), 1, shared_xaxes=True, vertical_spacing=0.25 / len(drawn), subplot_titles=titles
    )
    for row, mode in enumerate(drawn, 1):
        for shape, dash, what in ((mode.fresh, "dot", "fresh"), (mode.aged, "solid", "at the end of its retention")):
            assert shape is not None
            for index, (level, density) in enumerate(shape.levels.items()):
                seen = density > _LEAST
                chart.add_scatter(
                    x=shape.voltage[seen],
                    y=density[seen],
                    mode="lines",
                    line={"color": looks.LEVELS[index % len(looks.LEVELS)], "width": 1.6, "dash": dash},
                    name=what,
                    legendgroup=what,
                    showlegend=index == 0 and row == 1,
                    hovertemplate=f"{level.upper()}, {what}: %{{y:.2e}} at %{{x:.3f}} {shape.unit}<extra></extra>",
                    row=row,
                    col=1,
                )
        assert mode.aged is not None
        for reference in mode.aged.references:
            chart.add_vline(x=reference, line={"color": style.MUTED, "width": 1, "dash": "dash"}, row=row, col=1)
    chart.update_annotations(font_size=12)
    unit = drawn[0].fresh.unit if drawn[0].fresh is not None else "V"
    chart.update_yaxes(type="log", title_text=f"density (1/{unit})", exponentformat="power", nticks=6)
    chart.update_xaxes(title_text=f"threshold voltage ({unit})", row=len(drawn), col=1)
    return chart


def numbers(modes: Sequence[Mode]) -> str:
    """Returns an HTML table of the modes."""
    head = [
        "mode",
        "units written",
        "step",
        "program time",
        "retention",
        "at cycles",
        "error rate, fresh",
        "at the end",
        "correctable",
    ]
    rows = [
        [
            mode.name,
            count(mode.units),
            f"{significant(mode.step, 3)} ({'derived' if mode.derived else 'of its program time'})",
            duration(mode.program_ns),
            mode.retention_text,
            count(mode.pe_cycles),
            f"{mode.fresh_rate:.2e}",
            f"{mode.aged_rate:.2e}",
            f"{mode.limit:.2e}",
        ]
        for mode in modes
    ]
    return table(head, rows)
