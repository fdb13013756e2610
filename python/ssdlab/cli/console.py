"""Where output goes: one document or tables to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def standard_output() -> Console:
    """A console for tables, never too narrow for them: a number that is cut short would be a wrong number."""
    from rich.console import Console

    console = Console(highlight=False)
    console.width = max(console.width, 300)
    return console


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def complain(message: str) -> None:
    """An error, on standard error."""
    lines = message.splitlines() or [""]
    sys.stderr.write("".join(f"ssdlab: error: {line}\n" for line in lines))


def remark(message: str) -> None:
    """Something to know, on standard error."""
    sys.stderr.write(f"ssdlab: {message}\n")
