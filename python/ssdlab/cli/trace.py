"""``ssdlab trace``: describes, analyses, converts and fits traces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ssdlab.cli import analyses, given, options
from ssdlab.cli.console import print_json, remark, standard_output
from ssdlab.cli.group import Group
from ssdlab.cli.spread import spread
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.waiting import interruptible

app = typer.Typer(cls=Group, help="Look into a trace, analyse it, convert it, or fit a look-alike to it.")

_Target = typer.Option("--out", metavar="FILE", help="The file to write.", rich_help_panel="Output")

_Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.", rich_help_panel="Output")]

#: Options that affect only a replay on a drive.
_REPLAY = ("replay", "max_requests", "ramp_time", "ignore")
#: Options that also affect a conversion; a trace is described and fitted as it was recorded.
_TIMING = ("time_scale", "repeat")


@app.command()
@spread(without=(*_REPLAY, *_TIMING, "address"))
def info(
    file: options.TraceArgument,
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    json: options.Json = False,
) -> None:
    """Show the content of a trace: requests, bytes, time span, footprint, streams."""
    # Start-up: the help of all commands needs no analyses.
    from ssdlab import traces

    facts = interruptible(lambda: traces.trace_info(given.workload(file, reading), max_memory=max_memory))
    if json:
        print_json(facts)
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import views

        views.show_facts(standard_output(), facts)


app.command(name="retention")(analyses.retention)
app.command(name="access")(analyses.access)
app.command(name="gaps")(analyses.gaps)


@app.command()
@spread(without=_REPLAY)
def convert(
    file: options.TraceArgument,
    to: Annotated[str, typer.Option("--to", metavar="NAME", help="The format to write.")],
    out: Annotated[Path, _Target],
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    force: _Force = False,
    json: options.Json = False,
) -> None:
    """Write a trace in another format."""
    # Start-up: the help of all commands needs no analyses.
    from ssdlab import traces

    _check_target(out, file, force)
    if out.suffix in (".gz", ".zst"):
        raise InputError(f"--out {out}: a trace is written as plain text; choose a name without {out.suffix}")
    with new_file(out) as path:
        source = given.workload(file, reading)
        written = interruptible(lambda: traces.trace_convert(source, path, to, max_memory=max_memory))
    if json:
        print_json(written)
    else:
        for line in written.get("notes", []):
            remark(line)
        remark(f"wrote {out}")


@app.command()
@spread(without=(*_REPLAY, *_TIMING))
def fit(
    file: options.TraceArgument,
    *,
    out: Annotated[Path | None, _Target] = None,
    reading: options.Reading,
    max_memory: options.MaxMemory = None,
    force: _Force = False,
    json: options.Json = False,
) -> None:
    """Fit a look-alike to a trace: a small workload TOML that generates requests like it, endlessly."""
    # Start-up: the help of all commands needs no analyses.
    from ssdlab import traces

    if out is not None:
        _check_target(out, file, force)
    elif force:
        raise InputError("--force: replaces the file of --out, which is not given")
    look_alike = interruptible(lambda: traces.trace_fit(given.workload(file, reading), max_memory=max_memory))
    if out is not None:
        with new_file(out) as path:
            path.write_text(look_alike.toml, encoding="utf-8")
        remark(f"wrote {out}")
    for line in look_alike.notes:
        remark(line)
    if json:
        print_json({"toml": look_alike.toml, "closeness": look_alike.closeness})
    elif out is None:
        sys.stdout.write(look_alike.toml)
    else:
        # Start-up: JSON needs no rich.
        from ssdlab.cli import views

        views.show_side_by_side(standard_output(), look_alike.closeness)


def _check_target(out: Path, file: str, force: bool) -> None:
    """Checks that `out` is not the trace that is read, and not another existing file unless `force` is set.

    Raises:
        InputError: it is.
    """
    check_new_file(out, force=True)
    if out.exists() and Path(file).exists() and out.samefile(file):
        raise InputError(f"--out {out}: the trace itself; choose another name")
    check_new_file(out, force)
