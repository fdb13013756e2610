"""``ssdlab sweep``: many runs from one specification."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.watching import both, live_page
from ssdlab.explore.spec import Spec, Until
from ssdlab.report.content import value_text
from ssdlab.units import counted

if TYPE_CHECKING:
    from ssdlab.explore.sweep import Sweep, SweepProgress

#: Number of failed runs whose error is shown.
_SHOWN = 5


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="Specification of the sweep (TOML, docs/guide/explore.md).")],
    out: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder of the results. One with runs of the same specification is completed."),
    ],
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processes; absent: one for each core.")] = None,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Folder of another sweep, whose runs are taken over where they are the same."),
    ] = None,
    retry: Annotated[bool, typer.Option(help="Do runs that failed again.")] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Scheduler of a Dask cluster, such as tcp://10.0.0.1:8786, whose workers do the runs."
        ),
    ] = None,
    max_memory: options.MaxMemory = None,
    watch: options.Watch = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run every point of a specification that is not done yet."""
    # Start-up: the help of all commands needs no pyarrow.
    from ssdlab.explore.sweep import sweep as do_sweep

    asked = Spec.open(spec)
    with _page(watch, asked, out) as show, _bar(quiet, asked.until) as bar:
        done = do_sweep(
            asked,
            out,
            jobs=jobs,
            reuse=reuse or (),
            retry=retry,
            scheduler=scheduler,
            max_memory=max_memory,
            progress=both(show, bar),
            remark=remark,
        )
    if not quiet:
        _remark_on(done, spec, scheduler)
    if json:
        print_json(_document(done))
    else:
        _show(done)
    if done.interrupted:
        raise KeyboardInterrupt if done.table.num_rows == 0 else typer.Exit(130)


def _remark_on(done: Sweep, spec: Path, scheduler: str | None) -> None:
    """Says on standard error what failed, which numbers no run has, and how to go on."""
    failed = [row for row in done.table.to_pylist() if row["status"] == "failed"]
    for row in failed[:_SHOWN]:
        first = (row["error"] or "").splitlines()
        remark(f"run {row['index']} failed: {first[0] if first else 'without a message'}")
    if len(failed) > _SHOWN:
        remark(f"{len(failed)} runs failed; the column `error` has the reason of each")
    for name, near in done.without_number.items():
        hint = f" (did you mean `{near}`?)" if near else ""
        remark(f"columns: `{name}`: no run has this number{hint}")
    if done.interrupted:
        again = f"ssdlab sweep {spec} --out {done.folder}" + (f" --scheduler {scheduler}" if scheduler else "")
        remark(f"interrupted: kept: {counted(done.table.num_rows, 'run')}, {done.left} are missing; to go on: {again}")


def _document(done: Sweep) -> dict[str, Any]:
    """Returns what ``--json`` prints."""
    return {
        "folder": str(done.folder),
        "status": "partial" if done.interrupted else "complete",
        "runs": done.table.num_rows,
        "new": done.new,
        "reused": done.reused,
        "failed": done.failed,
        "missing": done.left,
    }


def _show(done: Sweep) -> None:
    standard_output().print(
        f"{done.folder}: {counted(done.table.num_rows, 'run')}, {done.failed} failed; {done.new} new, {done.reused} reused",
        markup=False,
        soft_wrap=True,
    )


class _Best:
    """Best value so far of the number of a stopping rule: the highest throughput, and the lowest of anything else."""

    def __init__(self, until: Until | None, otherwise: str = "") -> None:
        """Takes the number of the rule; without one that of `otherwise`."""
        self.number = otherwise if until is None else until.number
        self.value: float | None = None

    def take(self, row: Mapping[str, Any] | None) -> None:
        """Takes the row of one more run."""
        value = (row or {}).get(self.number)
        if value is not None:
            better = max if self.number.startswith("throughput.") else min
            self.value = value if self.value is None else better(self.value, value)

    def text(self, row: Mapping[str, Any] | None) -> str:
        """Returns the best value as a text, with that of one more run; empty if there is none."""
        self.take(row)
        return "" if self.value is None else f" · best {self.number} {value_text(self.number, self.value)}"


@contextmanager
def _page(wanted: bool, spec: Spec, out: Path) -> Iterator[Callable[[SweepProgress], object] | None]:
    """Yields a hook that shows the progress on a live page; ``None`` if that is not wanted."""
    if not wanted:
        yield None
        return
    # Start-up: few sweeps are watched.
    from ssdlab.watching.searches import Rows

    best = _Best(spec.until, "latency.all.mean_ns")
    with live_page() as feed:
        fields = [*spec.vary, *(name for zipped in spec.zips for name in zipped)]
        rows = Rows(feed, spec.title or f"sweep {out.name}", str(out), fields, number=best.number)

        def show(progress: SweepProgress) -> None:
            best.take(progress.row)
            cards = [] if best.value is None else [(value_text(best.number, best.value), f"best {best.number}")]
            rows.show(cards, progress.done, progress.failed, progress.total, progress.rate, progress.row, best.value)

        yield show


@contextmanager
def _bar(quiet: bool, until: Until | None) -> Iterator[Callable[[SweepProgress], object] | None]:
    """Yields a hook that shows the progress on a terminal; ``None`` if none is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    # Start-up: rich, which only a terminal needs.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    best = _Best(until)
    columns = (
        TextColumn("sweep"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    with Bars(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("sweep", total=None, facts="")

        def show(progress: SweepProgress) -> None:
            failed = f" · {progress.failed} failed" if progress.failed else ""
            said = f"{progress.rate:.1f} runs/s{failed}{best.text(progress.row)}"
            bars.update(bar, total=progress.total, completed=progress.done, facts=said)

        yield show
