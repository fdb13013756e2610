"""Command line: one module per command, of which only that of the command given is imported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ssdlab import provenance
from ssdlab.cli import signals, statuses

if TYPE_CHECKING:
    from ssdlab.cli.commands import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """Returns the commands, which need Typer."""
    if name != "app":
        raise AttributeError(f"module 'ssdlab.cli' has no attribute '{name}'")
    # Start-up: Typer, which a quick start does without.
    from ssdlab.cli.commands import app

    return app


def main() -> None:
    """Runs the command line. Entry point of the command ``ssdlab``."""
    with signals.installed():
        status: str | int | None = 0
        try:
            # Start-up: within the handling of signals.
            from ssdlab.cli import quick
            from ssdlab.cli.guard import guarded

            provenance.command_line = ("ssdlab", *sys.argv[1:])
            # The help and the version are printed outside of any command.
            with guarded():
                if not quick.run_quickly(sys.argv[1:]):
                    # Start-up: Typer, which a quick start does without.
                    from ssdlab.cli import completion
                    from ssdlab.cli.commands import app

                    with completion.joined(os.environ):
                        status = app(prog_name="ssdlab")
        except BrokenPipeError:
            status = statuses.FAULT
        except SystemExit as end:
            status = end.code
        except KeyboardInterrupt:
            status = statuses.INTERRUPTED
        sys.exit(signals.exit_status(_flushed(status)))


def _flushed(status: str | int | None) -> str | int | None:
    """Writes what is left of standard output, and returns the exit status: another one if it cannot be written."""
    # Start-up: within the handling of signals.
    from ssdlab.cli.console import discard_output
    from ssdlab.cli.guard import guarded

    try:
        with guarded():
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        failed: str | int | None = statuses.FAULT
    except SystemExit as end:
        failed = end.code
    else:
        return status
    discard_output(sys.stdout)
    return status or failed
