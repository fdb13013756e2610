"""Quick start of ``ssdlab --version`` and ``ssdlab run``: Typer takes longer to start than a short run takes.

A command line is read here only if every word of it is certain. All others, with all that is misspelt, go to Typer,
which has the messages and the help. Both readers follow the options that the engine declares.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssdlab.declared import Option

#: Groups of the options of a run, and of those of its workload and of its output.
_CHOSEN = ("setup", "saved_drive", "run", "records", "limits")
_READING, _OUTPUT = "workload", "command_output"
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?", re.ASCII)


def run_quickly(words: Sequence[str]) -> bool:
    """Does what the words of a command line ask for, and returns True; returns False if they are left to Typer.

    Raises:
        SystemExit: the command ended with another status than 0.
    """
    if "_SSDLAB_COMPLETE" in os.environ:  # A shell asks how the words could go on.
        return False
    if [*words] == ["--version"]:
        # Start-up: the version needs nothing else.
        from ssdlab import _engine

        if sys.stdout is not None:
            sys.stdout.write(f"ssdlab {_engine.build()}\n")
        return True
    asked = arguments_in(words[1:]) if words[:1] == ["run"] else None
    if asked is None:
        return False
    # Start-up: only a quick run needs them.
    from ssdlab.cli import running
    from ssdlab.cli.console import discard_output
    from ssdlab.cli.guard import guarded

    try:
        with guarded():
            running.run(**asked)
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output(sys.stdout)
        raise SystemExit(1) from None
    return True


def arguments_in(words: Sequence[str]) -> dict[str, Any] | None:
    """Returns the arguments of :func:`ssdlab.cli.running.run` in the words after ``run``; None if one is uncertain."""
    # Start-up: only a quick run needs them.
    from ssdlab.declared import GROUPS

    options = {option.flag: option for group in (*_CHOSEN, _READING, _OUTPUT) for option in GROUPS[group].values()}
    offered = {flag: option for flag, option in options.items() if option.only is None or flag == "--policy"}
    offered |= {option.short: option for option in offered.values() if option.short is not None}
    found = _words_and_options(words, offered)
    if found is None:
        return None
    arguments, values = found
    if len(arguments) != 2:
        return None
    return {
        **dict(zip(("drive", "workload"), arguments, strict=True)),
        "policy": values.get("policy"),
        "chosen": {
            name: values.get(name, _default(option))
            for group in _CHOSEN
            for name, option in GROUPS[group].items()
            if option.only is None
        },
        "reading": {
            name: values.get(name, False if option.value == "flag" else None) for name, option in GROUPS[_READING].items()
        },
        # Options that only Typer reads.
        "profile_firmware": False,
        "watch": False,
        **{name: values.get(name, _default(option)) for name, option in GROUPS[_OUTPUT].items()},
    }


def _words_and_options(words: Sequence[str], offered: dict[str, Option]) -> tuple[list[str], dict[str, Any]] | None:
    """Returns the arguments and the values of the options; None if a word is uncertain."""
    arguments: list[str] = []
    values: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            arguments.append(word)
            continue
        flag, has_text, text = word.partition("=")
        option = offered.get(flag)
        is_many = option is not None and option.value == "texts" and option.separator is None
        if option is None or (option.name in values and not is_many):
            return None
        if option.value == "flag":
            if has_text:
                return None
            values[option.name] = True
            continue
        if not has_text:
            text = next(rest, "-")
        if text.startswith("-") or flag == option.short:
            return None
        value = _value(option, text)
        if value is None:
            return None
        values[option.name] = [*values.get(option.name, ()), value] if is_many else value
    return arguments, values


def _value(option: Option, text: str) -> Any:
    """Returns the value of an option; None if the text is not certainly one."""
    if option.value == "integer":
        number = int(text) if _WHOLE.fullmatch(text) else None
        return None if number is None or number < (option.least or 0) else number
    if option.value == "number":
        return float(text) if _NUMBER.fullmatch(text) else None
    return Path(text) if option.value == "output" else text


def _default(option: Option) -> Any:
    """Returns the default of an option, as Typer passes it."""
    return None if option.value == "texts" else option.default
