"""The options that several commands share. Those of runs and lives are declared by the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from ssdlab.cli import completion
from ssdlab.declared import GROUPS, Option

DriveArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="DRIVE", help="A preset's name or a description (TOML).", autocompletion=completion.presets),
]
WorkloadArgument: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="WORKLOAD", help="A trace, a fio job file, a workload TOML, or an XML profile; - is standard input."),
]
TraceArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="A trace; .gz and .zst are read in place; - is standard input.")
]


#: Words that a shell completes after an option.
_COMPLETED = {"set": completion.fields, "precondition": completion.states}


def command_option(option: Option, help: str | None = None) -> Any:
    """Returns an option of the command, with `help` in place of the declared help."""
    names = [option.flag] + ([] if option.short is None else [option.short])
    return typer.Option(
        *names,
        metavar=option.placeholder,
        min=option.least,
        help=_for_the_command(help or option.about[0]),
        rich_help_panel=option.panel,
        autocompletion=_COMPLETED.get(option.name),
    )


def _for_the_command(text: str) -> str:
    """Returns a help text in which options have the names that they have on the command line."""
    flags = {option.name: option.flag for options in GROUPS.values() for option in options.values()}
    return re.sub(r"`(\w+)`", lambda name: flags.get(name[1], name[0]), text)


def type_of(option: Option) -> Any:
    """Returns the type of an option of the command, as Typer takes it."""
    kinds = {"texts": list[str], "flag": bool, "integer": int, "number": float, "output": Path}
    kind: Any = str if option.separator else kinds.get(option.value, str)
    return kind if default_of(option) is not None else kind | None


def default_of(option: Option) -> Any:
    """Returns the default of an option of the command."""
    return None if option.value == "texts" else option.default


@dataclass(frozen=True, slots=True)
class Declared:
    """Marks a parameter of a command: it takes the values of all options of some groups, as a dictionary."""

    #: Names of the groups.
    groups: tuple[str, ...]
    #: True if options that are left out are ``None``, so that the engine's defaults apply.
    is_sparse: bool = False
    #: Help texts in place of the declared ones.
    help: Mapping[str, str] | None = None

    def options(self) -> list[Option]:
        """Returns the options that the command has."""
        return [option for group in self.groups for option in GROUPS[group].values() if option.only is None]

    def parameter(self, option: Option) -> tuple[Any, Any]:
        """Returns the type of an option, with the facts that Typer needs, and its default."""
        info = command_option(option, (self.help or {}).get(option.name))
        if self.is_sparse and option.value != "flag":
            kinds = type_of(option)
            return Annotated[kinds | None, info], None
        return Annotated[type_of(option), info], default_of(option)


#: Options of a run.
RunOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "run", "records", "limits"))]
#: Options of the runs of a comparison.
CompareOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "run", "limits"))]
#: Options of a life.
LifeOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "life", "limits"))]
#: Options of a workload.
Reading: TypeAlias = Annotated[dict[str, Any], Declared(("workload",), is_sparse=True)]
_FORMAT = "Format of the trace, recognised from its content if absent; or `fio`: print the result as fio's JSON does."
#: Options of a workload for ``run``: ``fio`` is a format too, that of its result.
RunReading: TypeAlias = Annotated[dict[str, Any], Declared(("workload",), is_sparse=True, help={"format": _FORMAT})]

_output = GROUPS["command_output"]
MaxMemory: TypeAlias = Annotated[str | None, command_option(GROUPS["limits"]["max_memory"])]
Set: TypeAlias = Annotated[list[str] | None, command_option(GROUPS["setup"]["set"])]
Out: TypeAlias = Annotated[Path | None, command_option(_output["out"])]
Force: TypeAlias = Annotated[bool, command_option(_output["force"])]
Json: TypeAlias = Annotated[bool, command_option(_output["json"])]
Quiet: TypeAlias = Annotated[bool, command_option(_output["quiet"])]
ProfileFirmware: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--profile-firmware",
        help="Print the instructions and cycles of the firmware that a core executes, by task and by function.",
        rich_help_panel="Output",
    ),
]
Watch: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Show it while it goes on, on a live page in a browser of this machine; its address is printed.",
        rich_help_panel="Output",
    ),
]
Plot: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", "--figure", metavar="FILE", help="Draw a chart: .html, .png, .svg, .pdf.", rich_help_panel="Output"),
]
