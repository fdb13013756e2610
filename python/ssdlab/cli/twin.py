"""``ssdlab twin``: drives fitted to measurements of a real one, and judged on points that they have not seen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.group import Group
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file

if TYPE_CHECKING:
    from ssdlab.twin.check import Check

app = typer.Typer(cls=Group, help="Fit drives to measurements of a real one, and judge them on points that they have not seen.")


@app.command()
def points(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Results of fio (--output-format=json or json+).")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Table of points; absent: standard output.", dir_okay=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file, if it is there.")] = False,
) -> None:
    """Make a table of points from results of fio, with some loads held out."""
    # Start-up: the help of all commands needs no numpy.
    from ssdlab.twin.fio import points_from_fio

    if force and out is None:
        raise InputError("--force: replaces what is already there, but no --out is given")
    if out is not None:
        check_new_file(out, force)
    text = points_from_fio(files)
    if out is None:
        sys.stdout.write(text)
        return
    with new_file(out) as beside:
        beside.write_text(text, encoding="utf-8")
    remark(f"wrote {out}")


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(metavar="POINTS", help="Table of points (CSV, docs/guide/twin.md).")],
    base: Annotated[str, typer.Option("--base", metavar="DRIVE", help="A preset's name or a description (TOML) to begin with.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the twin.")],
    spec: Annotated[
        str | None,
        typer.Option("--spec", metavar="SPEC", help="Fields and their ranges (TOML); absent: what data sheets leave open."),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", min=2, help="Trials of the global searches, all together.")
    ] = 60,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the runs and of the searches.")] = 1,
    shrink: Annotated[
        str | None,
        typer.Option("--shrink", metavar="SIZE", help="Simulate a mock-up of this user capacity in place of the whole drive."),
    ] = None,
    commands: Annotated[
        int,
        typer.Option(
            "--commands",
            metavar="N",
            min=2000,
            help="Most commands of a run of the search: percentiles that need more are judged, and not fitted.",
        ),
    ] = 400_000,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processes; absent: one for each core.")] = None,
    max_memory: options.MaxMemory = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", metavar="FILE", help="Keep the runs there, so that an interrupted fit goes on.", dir_okay=False),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit an ensemble of drives to a table of points."""
    # Start-up: the help of all commands needs no numpy.
    from ssdlab.twin.fit import Asked
    from ssdlab.twin.fit import fit as do_fit

    asked = Asked(str(table), base, spec, trials, seed, shrink, jobs, max_memory, commands, runs)
    try:
        with _bar(quiet) as progress:
            document = do_fit(asked, out, force=force, progress=progress)
    except KeyboardInterrupt:
        if runs is not None:
            remark(f"the runs so far are in {runs}: the same command goes on from there")
        raise
    if not quiet:
        remark(f"wrote {out}: {len(document['members'])} drives, from {document['runs']:,} runs")
    if json:
        print_json(document)
    else:
        _show_knowledge(document)
        _show_check(out)


@app.command()
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a twin.")],
    points: Annotated[
        str | None, typer.Option("--points", metavar="POINTS", help="Another table of points; absent: that of the fit.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processes; absent: one for each core.")] = None,
    max_memory: options.MaxMemory = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Page of the check (HTML), which works offline.")
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the errors of a twin on points that the fit has not seen."""
    if force and report is None:
        raise InputError("--force: replaces what is already there, but no --report is given")
    if report is not None:
        check_new_file(report, force)
    # Start-up: the help of all commands needs no numpy.
    from ssdlab.twin.check import check as do_check

    with _bar(quiet) as progress:
        hook = None if progress is None else lambda runs: progress("check", runs)
        found = do_check(folder, points, jobs=jobs, max_memory=max_memory, progress=hook)
    if report is not None:
        with new_file(report) as beside:
            beside.write_text(found.report(), encoding="utf-8")
    if json:
        print_json(found.document_of())
    else:
        _show(found)


def _show_check(folder: Path) -> None:
    # Start-up: the help of all commands needs no numpy.
    from ssdlab.twin.check import check as do_check

    _show(do_check(folder))


def _show_knowledge(document: dict[str, Any]) -> None:
    """Prints the fields of a fit, and how far each can move."""
    # Start-up: JSON needs no rich.
    from rich.table import Table

    from ssdlab.cli.fitting import put

    console = standard_output()
    table = Table("field", "best", "within the noise", "range", "determined", box=None, header_style="bold")
    for one in document["knowledge"]["profiles"]:
        ends = f"{one['low']} to {one['high']}", f"{one['range'][0]} to {one['range'][1]}"
        table.add_row(one["field"], one["best"], *ends, "yes" if one["determined"] else "no")
    put(console, table)
    for one in document["knowledge"]["profiles"]:
        if not one["determined"]:
            words = f"{one['field']}: the points do not determine it; a measurement that would: {one['would_determine']}"
            console.print(words, markup=False, soft_wrap=True)
    for pair in document["knowledge"]["pairs"]:
        words = f"{' and '.join(pair['fields'])} trade against each other: correlation {pair['correlation']:.2f}"
        console.print(words, markup=False, soft_wrap=True)


def _show(found: Check) -> None:
    """Prints the errors on unseen points."""
    # Start-up: JSON needs no rich.
    from rich.table import Table

    from ssdlab.cli.fitting import put
    from ssdlab.twin.check import lines
    from ssdlab.units import percent

    console = standard_output()
    for what, scores in (("metric", found.by_metric), ("group", found.by_group)):
        table = Table(box=None, header_style="bold")
        for name in (what, "points", "median error", "worst error", "in the interval", "unfitted", "nearest drive"):
            table.add_column(name, justify="left" if name == what else "right")
        for score in scores:
            numbers = (score.median, score.worst, score.coverage, score.unfitted, score.nearest)
            table.add_row(score.name, str(score.count), *map(percent, numbers))
        put(console, table)
    for line in lines(found):
        console.print(line, markup=False, soft_wrap=True)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int], object] | None]:
    """Yields a hook that shows the phase and the number of runs on a terminal; ``None`` if none is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    # Start-up: rich, which only a terminal needs.
    from rich.console import Console

    with Console(stderr=True).status("fit", spinner="line") as status:
        yield lambda phase, runs: status.update(f"{phase}: {runs:,} runs")
