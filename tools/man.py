"""Makes the man page of the command from its declarations: ``python tools/man.py`` writes the file.

The page has what ``ssdlab COMMAND --help`` shows. Typer, which shows the help, cannot write man pages, and the packages
that can know only Click's own commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: File that the wheel installs as `share/man/man1/ssdlab.1`.
PAGE = Path(__file__).parents[1] / "ssdlab.data/data/share/man/man1/ssdlab.1"

#: Marks of roff in place of characters that a terminal may not have.
_MARKS = {"\\": "\\e", "–": "\\(en", "×": "\\(mu", "µ": "\\(mc", "·": "\\(pc", "…": "..."}

_HEAD = r""".\" Made from the declarations of the commands by tools/man.py. Do not edit.
.TH SSDLAB 1 "" "ssdlab" "User Commands"
.SH NAME
ssdlab \- a laboratory for solid-state drives, from threshold voltage to tail latency
.SH SYNOPSIS
.B ssdlab
.I COMMAND
.RI [ ARGUMENT " ...] [" OPTION " ...]"
.SH DESCRIPTION
ssdlab simulates a whole solid-state drive: describe a drive, run a trace or a fio job on it, and see how the time of
every command was spent.
A drive is a preset (\fBssdlab presets\fR) or a description in TOML; a workload is a trace, a fio job file or a
description in TOML.
The same description, workload and seed give the same results.
.PP
.B ssdlab
.I COMMAND
.B \-\-help
shows the options of a command.
"""

_TAIL = r""".SH ENVIRONMENT
.TP
.B NO_COLOR
If set, output has no colours.
.TP
.B COLUMNS
Width of tables, in characters.
.SH EXAMPLES
.nf
ssdlab run tiny randwrite.fio \-\-precondition steady \-\-out results
ssdlab why results
ssdlab compare tlc\-1tb trace.csv.gz \-\-vary ftl.overprovisioning=0.07,0.28
.fi
"""


def page() -> str:
    """Returns the man page, in roff."""
    from typer.main import get_command

    from ssdlab.cli.commands import app
    from ssdlab.cli.statuses import STATUSES

    commands: Any = get_command(app)
    lines = [".SH COMMANDS"]
    for name, command in commands.commands.items():
        lines += _section(f"ssdlab {name}", command)
    lines.append(".SH EXIT STATUS")
    for status, meaning in STATUSES.items():
        lines += [".TP", f".B {status}", *_lines(meaning)]
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _section(name: str, command: Any) -> Iterator[str]:
    """Yields the lines of a command, or of all commands of a group."""
    inner = getattr(command, "commands", None)
    if inner is not None:
        yield f".SS {_text(name)} {' | '.join(map(_text, inner))}"
        yield from _paragraph(command.help)
        for part, sub in inner.items():
            yield from _section(f"{name} {part}", sub)
        return
    context = command.make_context(name, [], resilient_parsing=True)
    records = [(one.param_type_name, *one.get_help_record(context)) for one in command.params if _is_shown(one)]
    yield f".SS {_text(name)} {' '.join(_name(flags) for kind, flags, _ in records if kind == 'argument')}".rstrip()
    yield from _paragraph(command.help)
    for kind, flags, about in records:
        yield ".TP"
        yield f".I {_name(flags)}" if kind == "argument" else _flags(flags)
        yield from _lines(about)


def _is_shown(parameter: Any) -> bool:
    """Returns true for what the command shows in its help, but for the options that every program of Typer has."""
    is_common = {"--install-completion", "--show-completion"} & {*parameter.opts}
    return not is_common and not getattr(parameter, "hidden", False)


def _name(record: str) -> str:
    """Returns the name of an argument, without its type."""
    return _text(record.partition(" <")[0])


def _flags(record: str) -> str:
    """Returns the names of an option in bold, with its value in italics."""
    words = (_text(word).replace("\\-", "-").replace("-", "\\-") for word in record.split(" "))
    return " ".join(f"\\fB{word}\\fR" if word.startswith(("\\-", "/")) else f"\\fI{word}\\fR" for word in words)


def _paragraph(text: str | None) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", (text or "").strip()):
        yield from _lines(paragraph)
        yield ".PP"


def _lines(text: str) -> Iterator[str]:
    """Yields a text as lines of roff, a sentence each."""
    for sentence in re.split(r"(?<=\.)\s+(?=\S)", " ".join(text.split())):
        line = _text(sentence)
        yield f"\\&{line}" if line.startswith((".", "'")) else line


def _text(text: str) -> str:
    """Returns a text with the characters replaced that mean something to roff, or that a terminal may not have."""
    marked = "".join(_MARKS.get(letter, letter) for letter in text)
    return re.sub(r"(?<!\w)-(?=[\w-])|(?<=-)-", r"\\-", marked).replace("`", "")


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
