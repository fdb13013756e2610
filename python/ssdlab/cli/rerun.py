"""``ssdlab rerun``: does the run of a result folder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ssdlab import _engine
from ssdlab.cli import options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.given import Targets
from ssdlab.cli.keeping import Results, conclude
from ssdlab.cli.measure import Start, outcome_of
from ssdlab.errors import Interrupted
from ssdlab.presentation import Result
from ssdlab.reruns import Rerun
from ssdlab.reruns import rerun as do_rerun

#: Number of differences that are shown.
_SHOWN = 12


def rerun(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder: of `run --out`, or of one run of a comparison.")],
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Do the run of a result folder again, and say whether the result is the same; exit status 1 if it is not."""
    with Targets(out, force, None).reserved():
        found: list[Rerun] = []

        def again(start: Start) -> Result:
            found.append(do_rerun(folder, progress=start("rerun")))
            return found[0].result

        result, ending = outcome_of(again, quiet)
        if not found:
            raise Interrupted(result, ())
        target = None if out is None else Results(out, lambda path: result.save(path, force=force), lambda: result.summary_json)
        conclude(lambda: _show(folder, found[0], json), target, ending, "the run was repeated", quiet=quiet)
    if not found[0].is_same:
        raise typer.Exit(1)


def _show(folder: Path, done: Rerun, json: bool) -> None:
    if json:
        document = {"folder": str(folder), "same": done.is_same, "differences": done.differences, "engine": done.engine}
        print_json({**document, "engine_now": _engine.build()})
        return
    if done.is_same:
        standard_output().print(f"{folder}: the same result, to the byte but for the time that the run took", markup=False)
        return
    standard_output().print(f"{folder}: another result", markup=False)
    for line in done.differences[:_SHOWN]:
        standard_output().print(f"  {line}", markup=False, soft_wrap=True)
    if len(done.differences) > _SHOWN:
        standard_output().print(f"  and {len(done.differences) - _SHOWN} more", markup=False)
    if done.engine != _engine.build():
        remark(f"the folder was written by version {done.engine}, this is {_engine.build()}")
