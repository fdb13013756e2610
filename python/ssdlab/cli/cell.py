"""``ssdlab cell``: answers of the cell laboratory as a table, as JSON, or as a chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ssdlab import cell as laboratory
from ssdlab.cli import asking, given, options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.group import Group
from ssdlab.cli.progress import work_bar
from ssdlab.cli.spread import spread
from ssdlab.cli.statuses import INTERRUPTED
from ssdlab.errors import Interrupted
from ssdlab.waiting import interruptible

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(cls=Group, help="Ask the cell laboratory: distributions, error rates, modes and their limits, codes.")

_Seed = typer.Option("--seed", metavar="N", min=0, help="Seed of every random stream.")


@app.command()
def parts(
    cell: Annotated[str | None, typer.Option("--cell", metavar="NAME", help="Every number of this part.")] = None,
    json: options.Json = False,
) -> None:
    """List the kinds of flash, or every number of one with its standing and source."""
    if json:
        print_json(laboratory.ask("parts", cell=cell))
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli import cell_views

    if cell is None:
        cell_views.show_parts(standard_output(), laboratory.parts())
    else:
        cell_views.show_part(standard_output(), laboratory.part(cell))


@app.command()
@spread()
def vth(
    *,
    pe: asking.Pe = None,
    age: asking.Age = None,
    step: asking.Step = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the distributions of threshold voltages: levels, references, and the error rates that follow."""
    _answer("vth", cell, _condition(pe=pe, age=age, step=step), plot, force, json)


@app.command()
@spread()
def rber(
    *,
    pe: asking.Pe = None,
    age: asking.Age = None,
    step: asking.Step = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show error rates by page type, and mark those beyond the code's correction limit."""
    _answer("rber", cell, _condition(pe=pe, age=age, step=step), plot, force, json)


@app.command()
@spread()
def modes(
    *,
    pe: asking.Pe = None,
    retention: asking.Retention = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the widest program step that keeps a promised retention, and its program time."""
    _answer("modes", cell, _condition(pe=pe, retention=retention), plot, force, json)


@app.command()
@spread()
def program(*, step: asking.Step = None, cell: asking.Cell, json: options.Json = False) -> None:
    """Show the program time of a step, by page type."""
    _answer("program", cell, _condition(step=step), None, False, json)


@app.command()
@spread()
def limits(
    *,
    pe: asking.Pe = None,
    step: asking.Step = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the retention limit of each program step by wear."""
    _answer("limits", cell, _condition(pe=pe, step=step), plot, force, json)


@app.command()
@spread()
def endurance(
    *,
    step: asking.Step = None,
    retention: asking.Retention = None,
    erase_wear: asking.EraseWear = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the largest number of cycles at which data keeps its promised retention, and the gain by gentler erases."""
    replaced = asking.erase_wear(erase_wear)
    condition = _condition(step=step, retention=retention)
    _answer("endurance", cell, {**condition, **({"erase_wear": replaced} if replaced else {})}, plot, force, json)


@app.command()
@spread()
def budget(
    *,
    pe: asking.Pe = None,
    step: asking.Step = None,
    retention: asking.Retention = None,
    solve: Annotated[
        str | None,
        typer.Option("--solve", metavar="WHAT", help="Quantity to solve the budget for: step, erase, retention, code or wear."),
    ] = None,
    cell: asking.CodedCell,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the shares of the cell's threshold-voltage window, in volts, and whether the budget closes."""
    condition = _condition(pe=pe, step=step, retention=retention)
    _answer("budget", cell, {**condition, "solve": solve}, plot, force, json)


@app.command(name="monte-carlo")
@spread()
def monte_carlo(
    *,
    cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, max=10**12, help="Number of cells to draw.")] = 100_000_000,
    seed: Annotated[int, _Seed] = 1,
    pe: asking.Pe = None,
    age: asking.Age = None,
    step: asking.Step = None,
    cell: asking.Cell,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw cells one by one, and compare the wrong bits with those expected from the densities."""
    condition = _condition(pe=pe, age=age, step=step)
    with work_bar("drawing", quiet) as progress:
        found = laboratory.monte_carlo(cells=cells, seed=seed, **condition, **cell.question(), progress=progress)
    if json:
        print_json(found.to_dict())
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli import cell_views

    cell_views.show_heading(standard_output(), cell.cell, f"{cells:,} cells", f"seed {seed}")
    cell_views.show_monte_carlo(standard_output(), found)


@app.command()
@spread()
def code(
    *,
    code: Annotated[
        str | None,
        typer.Option("--code", metavar="CODE", help="bch-T/DATA or ldpc-PARITY/DATA; the own one of --cell."),
    ] = None,
    soft_levels: Annotated[int, typer.Option("--soft-levels", metavar="N", min=0, help="Measure with 0 to N soft levels.")] = 0,
    rber: Annotated[
        str | None,
        typer.Option("--rber", metavar="RATE,...", help="Raw error rates; a sweep around what the code corrects."),
    ] = None,
    pe: asking.Pe = None,
    age: asking.Age = None,
    step: asking.Step = None,
    page: Annotated[str | None, typer.Option("--page", metavar="NAME", help="Page type of --cell; the worst one.")] = None,
    cell: asking.MeasuredCell,
    failures: Annotated[
        int, typer.Option("--failures", metavar="N", min=1, help="Failed codewords after which a point is done.")
    ] = 50,
    frames: Annotated[
        int, typer.Option("--frames", metavar="N", min=1, help="Sent codewords after which a point is done.")
    ] = 20_000,
    seed: Annotated[int, _Seed] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.json",
            help="Keep the measurement; one that is already there is resumed.",
            rich_help_panel="Output",
        ),
    ] = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure the error rate that a real decoder corrects: codewords are encoded, sent and decoded."""
    given.check_chart(plot, force, out)
    condition = _condition(pe=pe, age=age, step=step)
    settings: dict[str, Any] = {
        "soft_levels": soft_levels,
        "failures": failures,
        "frames": frames,
        "seed": seed,
        "out": out,
        "force": force,
    }
    try:
        with work_bar("decoding", quiet) as progress:
            found = laboratory.code(
                code,
                rber=asking.numbers("--rber", rber),
                **condition,
                **settings,
                **cell.question(),
                page=page,
                progress=progress,
            )
    except Interrupted as stopped:
        _show_code(cast(laboratory.CodeMeasurement, stopped.result), out, plot, force, json)
        remark("interrupted: the measurement is partial")
        raise typer.Exit(INTERRUPTED) from None
    _show_code(found, out, plot, force, json)


def _show_code(found: laboratory.CodeMeasurement, out: Path | None, plot: Path | None, force: bool, json: bool) -> None:
    """Shows a measurement as a chart, and as a table or as JSON."""
    if plot is not None:
        found.chart().save(plot, force=force)
    if json:
        print_json(found.to_dict())
        return
    # Start-up: JSON needs no rich.
    from ssdlab.cli import cell_views

    cell_views.show_code(standard_output(), found)
    for path in (out, plot):
        if path is not None:
            remark(f"wrote {path}")


def _condition(**texts: str | None) -> dict[str, Any]:
    """Parses options that take several values; returns them under their names in the question, absent ones as None."""
    read: dict[str, Callable[[str, str | None], Any]] = {
        "pe": asking.numbers,
        "step": asking.numbers,
        "age": asking.times,
        "retention": asking.times,
    }
    return {name: read[name](f"--{name}", text) for name, text in texts.items()}


def _answer(what: str, cell: asking.Cell, asked: dict[str, Any], plot: Path | None, force: bool, json: bool) -> None:
    """Asks a question, and shows its answer in each requested form."""
    given.check_chart(plot, force)
    question = {**cell.question(), **asked}
    with work_bar("asking"):
        # The tables of cells with many levels take a while to compute.
        found = interruptible(lambda: _document(what, question) if json else getattr(laboratory, what)(**question))
        if plot is not None:
            # Start-up: only a chart over wear or time needs it.
            from ssdlab.cell.sweeps import SWEEPS

            chart = interruptible(lambda: SWEEPS[what](**question))
            chart.save(plot, force=force)
    if json:
        print_json(found)
        return
    _show(standard_output(), what, question, found)
    if plot is not None:
        remark(f"wrote {plot}")


def _document(what: str, question: dict[str, Any]) -> dict[str, Any]:
    """Returns the engine's answer; for a budget at several wears one answer for each."""
    wears = question.get("pe")
    if what == "budget" and isinstance(wears, list):
        return {"pe": wears, "budgets": [laboratory.ask(what, **{**question, "pe": one}) for one in wears]}
    return laboratory.ask(what, **question)


def _show(console: Console, what: str, question: dict[str, Any], found: Any) -> None:
    # Start-up: JSON needs no rich.
    from ssdlab.cli import cell_views

    cell_views.show_heading(console, question["cell"], *_facts(question))
    getattr(cell_views, f"show_{what}")(console, found)
    for warning in getattr(found, "warnings", ()):
        remark(warning)


def _facts(question: dict[str, Any]) -> list[str]:
    """Returns the code, the error rate that it corrects, and the circumstances that were given, as texts."""
    axes = ("cell", "pe", "age", "step", "retention", "solve")
    fields = {name: value for name, value in question.items() if name not in axes}
    limit = laboratory.ask("rber", cell=question["cell"], **fields)["limit"]
    if "limit" in fields:
        named = "limit as given"
    else:
        named = laboratory.ask("code_plan", cell=question["cell"], code=fields.get("code"), rber=1e-3)["code"]
    soft = fields.get("soft_levels")
    circumstances = [
        f"{name.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{name.replace('_', ' ')} {value}"
        for name, value in fields.items()
        if name not in ("code", "limit", "soft_levels")
    ]
    return [named, *([f"soft levels {soft}"] if soft else []), f"corrects {limit:.2e}", *circumstances]
