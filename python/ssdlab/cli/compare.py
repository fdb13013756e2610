"""``ssdlab compare``: one drive, one workload, several policies or variants."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ssdlab import policy_file, simulate
from ssdlab.cli import completion, given, options
from ssdlab.cli.console import json_text, print_json, remark, standard_output
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import Start, outcome_of, remark_on
from ssdlab.cli.report import LABELS, split_labels
from ssdlab.cli.running import EMPTY, begins_empty
from ssdlab.cli.spread import spread
from ssdlab.cli.watching import Observe, observed
from ssdlab.comparison import Comparison
from ssdlab.errors import InputError

Figure: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Draw the latencies of all runs: .pdf, .svg, .png, .html. `ssdlab plot` draws other figures of --out.",
        rich_help_panel="Output",
    ),
]


@spread(without=("timeline_from", "timeline_for"))
def compare(
    drive: options.DriveArgument,
    workload: options.WorkloadArgument,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="A,B,C",
            help="Mode policies, by name or as FILE.py:CLASS; the drive's own if absent. Ratios are taken to the first run.",
            autocompletion=completion.policy_lists,
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="FIELD=A,B",
            help="Values of a field of the drive, of workload.FIELD, options.NAME or precondition. Repeatable: every "
            "combination is run.",
            autocompletion=completion.variants,
        ),
    ] = None,
    label: Annotated[str | None, typer.Option("--label", metavar="A,B,...", help=LABELS)] = None,
    figure: Figure = None,
    watch: options.Watch = False,
    *,
    chosen: options.CompareOptions,
    reading: options.Reading,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a workload under several policies, or with several values of a field, from the same seed, side by side."""
    policies = _policies(policy)
    varied = given.values_by_field(vary or ())
    count = prod([len(policies or "1"), *(len(values) for values in varied.values())])
    labels = _labels(label, count)
    scripts = (chosen["faults"], *map(str, varied.get("options.faults", ())))
    reads = (drive, workload, *scripts, *(policy_file.split(name)[0] for name in policies or ()))
    if figure is not None:
        given.check_chart(figure, force, out)
    is_for_figure = figure is not None and out is None and chosen["save"] is None
    replaces, sets = force and not is_for_figure, tuple(chosen["set"] or ())
    targets = given.Targets(out, replaces, save=chosen["save"], load=chosen["load"], reads=reads, sets=sets)
    with targets.reserved(), observed(watch, drive, workload, sets) as observe:
        if not quiet and not {"precondition", "state.precondition"} & varied.keys() and begins_empty(drive, chosen):
            remark(EMPTY)
        source = given.workload(workload, reading)
        policies_like = None if policies is None else [policy_file.policy_of(name) for name in policies]
        comparison, ending = outcome_of(
            lambda start: simulate.compare(
                drive, source, policies_like, vary=varied, progress=_observed(observe, start), **given.arguments(chosen)
            ),
            quiet,
        )
        if labels:
            comparison = Comparison(comparison.runs, labels[: len(comparison.runs)])
        if not quiet:
            remark_on(comparison.runs, dict.fromkeys(line for run in comparison.runs for line in run.notes))
        folder = None
        if out is not None:
            folder = Results(out, lambda path: comparison.save(path, force=force), lambda: json_text(comparison.to_dict()))
        partly = ", the last of them partial" if comparison.status == "partial" else ""
        meaning = f"{len(comparison.runs)} of {count} runs are there{partly}"
        conclude(lambda: _show(comparison, json), folder, ending, meaning, quiet=quiet)
        if figure is not None:
            comparison.plot().save(figure, force=force)
            remark(f"wrote {figure}")


def _policies(policy: str | None) -> list[str] | None:
    """Returns the names of the policies; ``None`` if the drive's own is meant.

    Raises:
        InputError: a name is missing.
    """
    policies = None if policy is None else [name.strip() for name in policy.split(",")]
    if policies is not None and "" in policies:
        raise InputError(f"--policy {policy}: expected names between the commas")
    return policies


def _labels(label: str | None, count: int) -> list[str]:
    """Returns the names of the runs; none unless they are given.

    Raises:
        InputError: they are not one for each run.
    """
    labels = split_labels(label)
    if labels and (len(labels) != count or len({*labels}) < count or "" in labels):
        raise InputError(f"--label {label}: expected {count} different names, one for each run")
    return labels


def _observed(observe: Observe, start: Start) -> Start:
    """Returns a function that starts the progress of a named run, which is shown on a page, too."""
    return lambda name: observe(name, start(name))


def _show(comparison: Comparison, json: bool) -> None:
    """Prints the comparison in the requested form."""
    if json:
        print_json(comparison.to_dict())
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import views

        views.show_comparison(standard_output(), comparison)
