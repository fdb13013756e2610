"""``ssdlab trace retention``, ``access`` and ``gaps``: trace analyses as a table, as JSON, or as a chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ssdlab.cli import given, options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.progress import work_bar
from ssdlab.cli.spread import spread
from ssdlab.errors import InputError
from ssdlab.waiting import interruptible

if TYPE_CHECKING:
    from rich.console import Console

    from ssdlab.charts import Chart
    from ssdlab.traces import Access, Gaps, Retention

    Answer = TypeVar("Answer", Access, Gaps, Retention)

#: Options that affect only a replay on a drive.
_REPLAY = ("replay", "max_requests", "ramp_time", "ignore", "address")
#: Options that do not affect the classes of pages.
_TIMING = ("time_scale", "repeat")
_CHARTS = ("shares", "accuracy")


@spread(without=_REPLAY)
def retention(
    file: options.TraceArgument,
    *,
    by: Annotated[
        str,
        typer.Option("--by", metavar="GRAIN", help="What is written and overwritten: sector (512 B) or unit (4 KiB)."),
    ] = "sector",
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the lifetimes of written data: the times until it is overwritten or trimmed."""
    # Start-up: the help of all commands needs neither analyses nor rich.
    from ssdlab import traces
    from ssdlab.cli import analysis_views

    _answer(
        lambda: traces.retention(given.workload(file, reading), by=by, max_memory=max_memory),
        lambda found: found.chart(),
        analysis_views.show_retention,
        plot,
        force,
        json,
    )


@spread(without=(*_REPLAY, *_TIMING))
def access(
    file: options.TraceArgument,
    *,
    draw: Annotated[
        str | None,
        typer.Option(
            "--draw",
            metavar="WHAT",
            help="What --plot draws: shares of the classes (when left out), or accuracy against the window.",
        ),
    ] = None,
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show which pages are only read or only written, and how well a short history of accesses tells (AGCR)."""
    # Start-up: the help of all commands needs neither analyses nor rich.
    from ssdlab import traces
    from ssdlab.cli import analysis_views

    if draw is not None and draw not in _CHARTS:
        raise InputError(f"--draw {draw}: expected one of {', '.join(_CHARTS)}")
    if draw is not None and plot is None:
        raise InputError(f"--draw {draw}: says what --plot draws, which is not given")
    _answer(
        lambda: traces.access(given.workload(file, reading), max_memory=max_memory),
        lambda found: found.accuracy_chart() if draw == "accuracy" else found.chart(),
        analysis_views.show_access,
        plot,
        force,
        json,
    )


@spread(without=_REPLAY)
def gaps(
    file: options.TraceArgument,
    *,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="KIND", help="Whose arrivals: write (when left out), read, or all (reads and writes)."),
    ] = None,
    program_time: Annotated[
        str | None, typer.Option("--program-time", metavar="TIME", help="Program time of a page; 1300us when left out.")
    ] = None,
    dies: Annotated[
        int | None, typer.Option("--dies", metavar="N", min=1, help="Dies that program at once; 32 when left out.")
    ] = None,
    effective: Annotated[
        str | None,
        typer.Option("--effective", metavar="TIME", help="T_effective itself, as 40us, instead of the two."),
    ] = None,
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    plot: options.Plot = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Show the times between arrivals relative to T_effective, program time over number of dies (autoFTL, table 4)."""
    # Start-up: the help of all commands needs neither analyses nor rich.
    from ssdlab import traces
    from ssdlab.cli import analysis_views

    asked = {"of": of, "program_time": program_time, "effective": effective}
    _answer(
        lambda: traces.gaps(given.workload(file, reading), dies=dies, max_memory=max_memory, **asked),
        lambda found: found.chart(),
        analysis_views.show_gaps,
        plot,
        force,
        json,
    )


def _answer(
    ask: Callable[[], Answer],
    chart: Callable[[Answer], Chart],
    show: Callable[[Console, Answer], None],
    plot: Path | None,
    force: bool,
    json: bool,
) -> None:
    """Runs an analysis and shows its answer in each requested form."""
    given.check_chart(plot, force)
    with work_bar("reading"):
        found = interruptible(ask)
        if plot is not None:
            chart(found).save(plot, force=force)
    if json:
        print_json(found.to_dict())
        return
    show(standard_output(), found)
    for note in found.notes:
        remark(note)
    if plot is not None:
        remark(f"wrote {plot}")
