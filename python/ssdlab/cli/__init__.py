"""Command line: one module per command. Slow imports are made inside the commands."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from ssdlab import provenance
from ssdlab.cli import (
    cell,
    check,
    compare,
    history,
    lifetime,
    optimise,
    paper,
    presets,
    report,
    rerun,
    run,
    schema,
    show,
    shrink,
    signals,
    sweep,
    trace,
)
from ssdlab.cli.console import complain, remark
from ssdlab.errors import InputError

__all__ = ["app", "main"]


class Guarded(TyperGroup):
    """Group of commands that turns errors into exit statuses.

    2: bad input; 130: interrupted; 1: a fault of ssdlab or of the system.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keeps the words of the command for the folders that it writes."""
        provenance.command_line = ("ssdlab", *args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command and turns its errors into messages and exit statuses."""
        try:
            return super().invoke(ctx)
        except InputError as error:
            complain(str(error))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            remark("interrupted: there is no result")
            raise typer.Exit(signals.INTERRUPTED) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(1) from None
        except Exception as fault:
            if hasattr(fault, "exit_code"):  # raised by Typer: a misspelt command or option, an exit
                raise
            traceback.print_exc()
            complain("this is a fault of ssdlab, not of its input: please report it with the lines above")
            raise typer.Exit(1) from None
        except BaseException as fault:
            if type(fault).__name__ != "PanicException":
                raise
            complain(f"this is a fault of ssdlab's engine, not of its input: please report it: {fault}")
            raise typer.Exit(1) from None


app = typer.Typer(
    name="ssdlab",
    cls=Guarded,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A laboratory for solid-state drives: from threshold voltage to tail latency.",
)
app.command(name="run")(run.run)
app.command(name="compare")(compare.compare)
app.command(name="lifetime")(lifetime.lifetime)
app.command(name="sweep")(sweep.sweep)
app.command(name="optimise")(optimise.optimise)
app.add_typer(cell.app, name="cell")
app.add_typer(trace.app, name="trace")
app.command(name="presets")(presets.presets)
app.command(name="show")(show.show)
app.command(name="check")(check.check)
app.command(name="shrink")(shrink.shrink)
app.command(name="schema")(schema.schema)
app.command(name="history")(history.history)
app.command(name="paper")(paper.paper)
app.command(name="report")(report.report)
app.command(name="rerun")(rerun.rerun)


def _version(wanted: bool) -> None:
    """Prints the version and exits before the check that a command is given."""
    if wanted:
        from ssdlab import __version__

        typer.echo(f"ssdlab {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version, with a hash of the engine's sources, and exit.",
        callback=_version,
        is_eager=True,
    ),
) -> None:
    pass


def main() -> None:
    """Runs the command line. Entry point of the command ``ssdlab``."""
    with signals.installed():
        status: str | int | None
        try:
            status = app(prog_name="ssdlab")
        except SystemExit as end:
            status = end.code
        except KeyboardInterrupt:
            status = signals.INTERRUPTED
        sys.exit(signals.exit_status(status))
