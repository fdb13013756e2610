"""The commands, for Typer: the module of a command is imported when the command is given, or its help is shown."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.main import get_command

from ssdlab import _engine, provenance
from ssdlab.cli.group import Group
from ssdlab.cli.guard import guarded

__all__ = ["app"]

#: Commands, in the order of the help. Each is a function, or a group of commands (`app`), of the module of its name.
COMMANDS = (
    "run",
    "compare",
    "lifetime",
    "serve",
    "ctl",
    "watch",
    "sweep",
    "optimise",
    "cell",
    "trace",
    "presets",
    "policies",
    "show",
    "check",
    "shrink",
    "import",
    "schema",
    "history",
    "paper",
    "report",
    "why",
    "twin",
    "plot",
    "rerun",
    "doctor",
)

#: Modules of the commands whose name no module can have.
MODULES = {"import": "importing"}


class _Commands(MutableMapping[str, Any]):
    """Commands by name, each made when it is first looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            if name not in COMMANDS:
                raise KeyError(name)
            self._made[name] = _command(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _command(name: str) -> Any:
    """Returns a command, or a group of them, in the form that Typer runs."""
    home = MODULES.get(name, name)
    # Start-up: a command needs no other's module.
    module = import_module(f"ssdlab.cli.{home}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False)
        group.command(name=name)(getattr(module, home))
    command = get_command(group)
    command.name = name
    return command


class Commands(Group):
    """Group of the commands; it turns errors into messages and exit statuses."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(dict[str, Any], _Commands())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keeps the words of the command for the folders that it writes."""
        provenance.command_line = ("ssdlab", *args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        with guarded():
            return super().invoke(ctx)


app = typer.Typer(
    name="ssdlab",
    cls=Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A laboratory for solid-state drives: from threshold voltage to tail latency.",
)


def _version(wanted: bool) -> None:
    """Prints the version and exits before the check that a command is given."""
    if wanted:
        typer.echo(f"ssdlab {_engine.build()}")
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
