"""``ssdlab run``: one drive, one workload, one policy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import policy_file, simulate
from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.keeping import Part, conclude, results
from ssdlab.cli.measure import measured, remark_on
from ssdlab.cli.spread import spread
from ssdlab.errors import InputError
from ssdlab.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a file from which on writing it takes seconds.
_LARGE = 1_000_000


@spread()
def run(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    *,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="NAME|FILE.py:CLASS",
            help="The mode policy: a name, or a class of a Python file; the drive's own when absent.",
        ),
    ] = None,
    setup: options.Setup,
    reading: options.RunReading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write what each channel and die did, for Perfetto; packed if it ends in .gz.",
            rich_help_panel="Output",
        ),
    ] = None,
    log_commands: Annotated[
        Path | None,
        typer.Option(
            "--log-commands",
            metavar="FILE",
            help="Write a row per command with its causes (.parquet, .csv, .csv.gz).",
            rich_help_panel="Output",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload on a drive."""
    as_fio = reading.format == "fio"
    if as_fio and json:
        raise InputError("--format fio, --json: each prints a document on standard output; give one of them")
    targets = options.Targets(out, force, setup.save, timeline, log_commands)
    with targets.reserved():
        policy_like = None if policy is None else policy_file.chosen(policy)
        source = (replace(reading, format=None) if as_fio else reading).workload(workload)
        result, interrupted = measured(
            lambda start: simulate.run(
                drive,
                source,
                policy_like,
                **setup.arguments(),
                record_commands=log_commands is not None,
                record_spans=timeline is not None,
                progress=start("run"),
            ),
            quiet,
        )
        if not quiet:
            remark_on([result], result.notes)
        conclude(lambda: _show(result, as_fio, json), _parts(result, targets, quiet), interrupted, "the results are partial")


def _show(result: Result, as_fio: bool, json: bool) -> None:
    """Prints the result in the form that was asked for."""
    if as_fio:
        print_json(result.fio())
    elif json:
        sys.stdout.write(result.summary_json.rstrip("\n") + "\n")
    else:
        from ssdlab.cli import views

        views.show_run(standard_output(), result)


def _parts(result: Result, targets: options.Targets, quiet: bool) -> list[Part]:
    """What was asked for: the folder first, for it is small and holds what matters most."""
    from ssdlab.commandlog import write_commands
    from ssdlab.files import new_file
    from ssdlab.perfetto import write_timeline

    def writer(table: pa.Table, what: str, write: Callable[[pa.Table, Path, str], None]) -> Callable[[Path], None]:
        def to(target: Path) -> None:
            if table.num_rows >= _LARGE and not quiet:
                remark(f"writing {target}: {table.num_rows:,} {what}")
            with new_file(target) as path:
                write(table, path, target.name)

        return to

    parts = []
    if targets.out is not None:
        parts.append(results(targets.out, lambda path: result.save(path, force=targets.force), lambda: result.summary_json))
    for target, table, what, write in (
        (targets.log_commands, result.command_table(), "commands", write_commands),
        (targets.timeline, result.span_table(), "operations", write_timeline),
    ):
        if target is not None:
            assert table is not None, f"{what} were recorded"
            parts.append(Part(target, writer(table, what, write), f"the {what}"))
    return parts
