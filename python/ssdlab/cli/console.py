"""Output streams: one document or tables go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from ssdlab.plain import visible

if TYPE_CHECKING:
    from rich.console import Console

#: Width of tables that are not written to a terminal [characters].
_WIDE = 300
#: Most lines of an error.
_LINES = 100


def standard_output() -> Console:
    """Returns a console for tables, as wide as the terminal, or as ``COLUMNS`` says; otherwise, as in a file, wide."""
    # Start-up: JSON needs no rich.
    from rich.console import Console

    from ssdlab.cli.plainly import Plainly

    console = Console(highlight=False)
    console.push_render_hook(Plainly())
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _WIDE
    return console


def print_json(document: Any) -> None:
    """Prints a JSON document on standard output."""
    sys.stdout.write(json_text(document))


def json_text(document: Any) -> str:
    """Returns a JSON document as it is printed."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def complain(message: str) -> None:
    """Prints an error on standard error."""
    # Other line ends may be in a name, and are shown.
    lines = message.rstrip("\n").split("\n")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"and {len(lines) - _LINES:,} more problems"]
    say("".join(f"ssdlab: error: {line}\n" for line in lines))


def remark(message: str) -> None:
    """Prints a remark on standard error."""
    say(f"ssdlab: {message}\n")


def say(text: str) -> None:
    """Writes `text` to standard error, without characters that a terminal obeys.

    If that fails, on a full disk, the text is dropped, and the results survive.
    """
    try:
        sys.stderr.write(visible(text))
        sys.stderr.flush()
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Redirects `stream` to the null device: otherwise Python would write its buffer again at exit, and fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
