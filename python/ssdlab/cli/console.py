"""Where output goes: one document or tables to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

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
    sys.stdout.write(json_text(document))


def json_text(document: Any) -> str:
    """A JSON document as it is printed."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def complain(message: str) -> None:
    """An error, on standard error."""
    lines = message.splitlines() or [""]
    say("".join(f"ssdlab: error: {line}\n" for line in lines))


def remark(message: str) -> None:
    """Something to know, on standard error."""
    say(f"ssdlab: {message}\n")


def say(text: str) -> None:
    """Puts `text` on standard error. A full disk under it must not cost the results: what it does not take is lost."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Drops what `stream` could not take and all that comes: at the end Python would try again, and fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
