"""Exit statuses of the commands: the man page and ``docs/reference/errors.md`` are made from this table."""

from __future__ import annotations

__all__ = ["DIFFERENT", "FAULT", "INPUT", "INTERRUPTED", "STATUSES"]

#: A fault, or what was made could not be shown or written.
FAULT = 1
#: Bad input.
INPUT = 2
#: ``ssdlab history`` found a difference.
DIFFERENT = 3
#: Ctrl-C; the entry point replaces it by the status of the signal that ended the command.
INTERRUPTED = 130

#: Meaning of each status, in words for a page (Markdown) and for the man page alike.
STATUSES = {
    0: "The command is done.",
    FAULT: "Results could not be shown or written to their place; the system refused something; or a fault of ssdlab. "
    "Also the answer no: `ssdlab rerun` got another result, `ssdlab doctor` found something broken.",
    INPUT: "Bad input: the message has the place, what was found and what was expected. Nothing was written.",
    DIFFERENT: "`ssdlab history`: the two histories differ.",
    INTERRUPTED: "Interrupted by Ctrl-C (128 + 2). Results so far are kept and marked `partial`.",
    143: "Interrupted by SIGTERM (128 + 15). As for Ctrl-C.",
}
