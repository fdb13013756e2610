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

            provenance.command_line = ("ssdlab", *sys.argv[1:])
            if not quick.run_quickly(sys.argv[1:]):
                # Start-up: Typer, which a quick start does without.
                from ssdlab.cli import completion
                from ssdlab.cli.commands import app

                with completion.joined(os.environ):
                    status = app(prog_name="ssdlab")
        except SystemExit as end:
            status = end.code
        except KeyboardInterrupt:
            status = statuses.INTERRUPTED
        sys.exit(signals.exit_status(status))
