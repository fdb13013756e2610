"""``ssdlab optimise``: the best drives of a space, from one specification."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.watching import both, live_page
from ssdlab.explore.goal import MISFIT
from ssdlab.units import counted

if TYPE_CHECKING:
    from ssdlab.explore.optimise import Optimisation, OptimisationProgress

#: Number of failed trials whose error is shown, and of drives of the front.
_SHOWN = 5
_SHOWN_DRIVES = 20


def optimise(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="Specification of the search (TOML, docs/guide/explore.md).")],
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder of the results. One with trials of the same specification goes on."),
    ],
    trials: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of trials, those in the folder included; absent: that of SPEC."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processes; absent: one for each core.")] = None,
    comparison: Annotated[
        bool | None,
        typer.Option("--comparison/--no-comparison", help="Do a random search with as many trials; absent: as SPEC says."),
    ] = None,
    max_memory: options.MaxMemory = None,
    watch: options.Watch = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search the fields of a specification for the best drives."""
    # Start-up: the help of all commands needs no pyarrow.
    from ssdlab.explore.optimise import optimise as do_optimise

    with _page(watch, spec, out) as show, _bar(quiet) as bar:
        done = do_optimise(
            spec, out, trials=trials, jobs=jobs, comparison=comparison, max_memory=max_memory, progress=both(show, bar)
        )
    if not quiet:
        _remark_on(done, spec, trials)
    if json:
        print_json(_document(done))
    else:
        _show(done)
    if done.interrupted:
        raise typer.Exit(130)


def _remark_on(done: Optimisation, spec: Path, trials: int | None) -> None:
    """Says on standard error what failed, and how to go on."""
    failed = [row for row in done.table.to_pylist() if row["status"] == "failed"]
    for row in failed[:_SHOWN]:
        first = (row["error"] or "").splitlines()
        remark(f"trial {row['trial']} failed: {first[0] if first else 'without a message'}")
    if len(failed) > _SHOWN:
        remark(f"{len(failed)} trials failed; the column `error` has the reason of each")
    if done.interrupted:
        number = "" if trials is None else f" --trials {trials}"
        again = f"ssdlab optimise {spec} --out {done.folder}{number}"
        remark(f"interrupted: kept: {counted(done.table.num_rows, 'trial')}, {done.left} are missing; to go on: {again}")
    elif done.left:
        remark(f"trials under way in other processes: {done.left}; the last process writes the whole front")


def _document(done: Optimisation) -> dict[str, Any]:
    """Returns what ``--json`` prints."""
    keys = [objective.key for objective in done.spec.objectives]
    names = list(done.spec.search)
    return {
        "folder": str(done.folder),
        "status": "partial" if done.interrupted else "complete",
        "trials": done.table.num_rows,
        "new": done.new,
        "failed": done.failed,
        "missing": done.left,
        "front": [
            {"trial": row["trial"], "fields": {name: row[name] for name in names}, "objectives": {key: row[key] for key in keys}}
            for row in done.front
        ],
        "targets": _against_targets(done),
        "drives": [str(path) for path in done.drives],
        "importance": done.importance,
        "importance_intervals": done.importance_intervals,
        "comparison": done.comparison,
    }


def _against_targets(done: Optimisation) -> list[dict[str, Any]]:
    """Returns the wanted and the found value of each target, of the trial that comes nearest to all of them."""
    targets = done.spec.targets
    # With other objectives, a trial may lack the number of a target.
    known = [row for row in done.front if targets and row[MISFIT] is not None]
    nearest = min(known, key=lambda row: row[MISFIT], default=None)
    if nearest is None:
        return []
    return [{"key": one.key, "wanted": one.value, "found": nearest[one.key], "trial": nearest["trial"]} for one in targets]


def _show(done: Optimisation) -> None:
    # Start-up: JSON needs no rich.
    from rich.table import Table

    from ssdlab.cli.fitting import put

    console = standard_output()
    console.print(
        f"{done.folder}: {counted(done.table.num_rows, 'trial')}, {done.failed} failed; {len(done.front)} on the front",
        markup=False,
        soft_wrap=True,
    )
    keys = [objective.key for objective in done.spec.objectives]
    table = Table(box=None, header_style="bold")
    for name in ("trial", *done.spec.search, *keys):
        table.add_column(name, justify="left" if name in done.spec.search else "right", overflow="fold")
    first = done.spec.objectives[0]
    front = sorted(done.front, key=lambda row: first.loss(row[first.key]))
    for row in front[:_SHOWN_DRIVES]:
        table.add_row(*(_value_text(row[name]) for name in ("trial", *done.spec.search, *keys)))
    if front:
        put(console, table)
        more = f" ({len(front) - _SHOWN_DRIVES} more)" if len(front) > _SHOWN_DRIVES else ""
        console.print(f"drives: {done.folder / 'pareto'}{more}", markup=False, soft_wrap=True)
        _show_targets(done)
    elif done.table.num_rows:
        console.print("no trial meets the constraints", markup=False)
    for key, shares in done.importance.items():
        intervals = done.importance_intervals.get(key)
        if shares and intervals:
            ends = {name: f"{low:.0%} to {high:.0%}" for name, (low, high) in intervals.items()}
            what = ", ".join(f"{name} {share:.0%} ({ends[name]})" for name, share in shares.items())
            console.print(f"importance for {key}: {what}", markup=False)
        else:
            console.print(f"importance for {key}: the trials are too few to tell", markup=False)
    if done.comparison is not None:
        console.print(_comparison_line(done.comparison), markup=False)


def _show_targets(done: Optimisation) -> None:
    """Prints how far the nearest trial is from each target."""
    # Start-up: JSON needs no rich.
    from rich.table import Table

    from ssdlab.cli.fitting import put

    rows = _against_targets(done)
    if not rows:
        return
    table = Table(box=None, header_style="bold", title=f"trial {rows[0]['trial']} against the targets", title_justify="left")
    for name in ("number", "wanted", "found", "off by"):
        table.add_column(name, justify="left" if name == "number" else "right", overflow="fold")
    for row in rows:
        off = f"{100 * (row['found'] / row['wanted'] - 1):+.1f} %"
        table.add_row(row["key"], _value_text(row["wanted"]), _value_text(row["found"]), off)
    put(standard_output(), table)


def _comparison_line(found: dict[str, Any]) -> str:
    """Returns the comparison with a random search in one line."""
    search, chance = found["search"], found["random"]
    if len(found["objectives"]) == 1:
        key = found["objectives"][0]["key"]
        best, by_chance = (_value_text(each["best"][key]) for each in (search, chance))
        numbers = f"best {key} {best}, of {chance['trials']} random trials {by_chance}"
    else:
        numbers = f"hypervolume {search['hypervolume']:.4f}, of {chance['trials']} random trials {chance['hypervolume']:.4f}"
    better = {"search": "the search is better", "random": "the random search is better", "equal": "equal"}[found["better"]]
    return f"{numbers}: {better}"


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.6g}"
    return "–" if value is None else str(value)


@contextmanager
def _page(wanted: bool, spec: Path, out: Path) -> Iterator[Callable[[OptimisationProgress], object] | None]:
    """Yields a hook that shows the progress on a live page; ``None`` if that is not wanted."""
    if not wanted:
        yield None
        return
    # Start-up: few searches are watched.
    from ssdlab.explore.spec import Spec
    from ssdlab.watching.searches import Rows

    asked = Spec.open(spec)
    keys = [objective.key for objective in asked.objectives]
    with live_page() as feed:
        title = asked.title or f"search {out.name}"
        rows = Rows(feed, title, str(out), [*asked.search], keys, keys[0] if len(keys) == 1 else None)

        def show(progress: OptimisationProgress) -> None:
            cards = [(str(progress.front), "on the front"), (progress.phase, "phase")]
            if progress.best is not None:
                cards = [(_value_text(progress.best), f"best {keys[0]}"), *cards]
            counts = (progress.done, progress.failed, progress.total, progress.rate)
            rows.show(cards, *counts, progress.row, progress.best)

        yield show


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[OptimisationProgress], object] | None]:
    """Yields a hook that shows the progress and the best so far on a terminal; ``None`` if none is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    # Start-up: rich, which only a terminal needs.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(progress: OptimisationProgress) -> None:
            if progress.phase not in tasks:
                tasks[progress.phase] = bars.add_task(progress.phase, total=None, facts="")
            bars.update(tasks[progress.phase], total=progress.total, completed=progress.done, facts=facts_of(progress))

        yield show


def facts_of(progress: OptimisationProgress) -> str:
    """Returns the line beside the bar: the best value so far, or the size of the front."""
    best = f"{progress.front} on the front" if progress.best is None else f"best {_value_text(progress.best)}"
    failed = f" · {progress.failed} failed" if progress.failed else ""
    return f"{best} · {progress.rate:.1f} trials/s{failed}"
