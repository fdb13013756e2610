"""The options that several commands share. Those of runs and lives are declared by the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from ssdlab.declared import GROUPS, Option
from ssdlab.errors import InputError
from ssdlab.locks import locked
from ssdlab.workloads import Workload

DriveArgument: TypeAlias = Annotated[str, typer.Argument(metavar="DRIVE", help="A preset's name or a description (TOML).")]
WorkloadArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A trace, a fio job file, or a workload TOML; - is standard input.")
]
TraceArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE", help="A trace; .gz and .zst are read in place; - is standard input.")
]


def offered(option: Option, help: str | None = None) -> Any:
    """Returns an option of the command, with `help` in place of the declared help."""
    names = [option.flag] + ([] if option.short is None else [option.short])
    return typer.Option(
        *names,
        metavar=option.placeholder,
        min=option.least,
        help=_for_the_command(help or option.about[0]),
        rich_help_panel=option.panel,
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
        info = offered(option, (self.help or {}).get(option.name))
        if self.is_sparse and option.value != "flag":
            kinds = type_of(option)
            return Annotated[kinds | None, info], None
        return Annotated[type_of(option), info], default_of(option)


#: Options of a run.
RunOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "run", "records"))]
#: Options of the runs of a comparison.
CompareOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "run"))]
#: Options of a life.
LifeOptions: TypeAlias = Annotated[dict[str, Any], Declared(("setup", "saved_drive", "life"))]
#: Options of a workload.
Reading: TypeAlias = Annotated[dict[str, Any], Declared(("workload",), is_sparse=True)]
_FORMAT = "Format of the trace, recognised from its content if absent; or `fio`: print the result as fio's JSON does."
#: Options of a workload for ``run``: ``fio`` is a format too, that of its result.
RunReading: TypeAlias = Annotated[dict[str, Any], Declared(("workload",), is_sparse=True, help={"format": _FORMAT})]

_output = GROUPS["command_output"]
Set: TypeAlias = Annotated[list[str] | None, offered(GROUPS["setup"]["set"])]
Out: TypeAlias = Annotated[Path | None, offered(_output["out"])]
Force: TypeAlias = Annotated[bool, offered(_output["force"])]
Json: TypeAlias = Annotated[bool, offered(_output["json"])]
Quiet: TypeAlias = Annotated[bool, offered(_output["quiet"])]
Plot: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a chart: .html, .png, .svg, .pdf.", rich_help_panel="Output"),
]


def arguments(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a run or a life as the Python functions take them."""
    return {**chosen, "set": chosen["set"] or ()}


def workload(path: str, reading: Mapping[str, Any]) -> Workload:
    """Returns the workload in the file at `path`, with the options that were given."""
    given = {name: value or None if value is False else value for name, value in reading.items()}
    for option in GROUPS["workload"].values():
        text = given.get(option.name)
        if option.separator and text is not None:
            given[option.name] = [part.strip() for part in text.split(option.separator)]
    return Workload(path, **given)


def check_chart(plot: Path | None, force: bool, out: Path | None = None) -> None:
    """Checks that a chart, and the folder of the results, can be written, before long work for them begins.

    Raises:
        InputError: they cannot, or there is no file that `force` could replace.
    """
    from ssdlab.charts import check_chart_file

    if force and plot is None and out is None:
        raise InputError("--force: replaces what is already there, but no file is given")
    if plot is not None:
        check_chart_file(plot, force)
        if out is not None and plot.resolve() == out.resolve():
            raise InputError("--out, --plot: both name the same file")


@dataclass(frozen=True, slots=True)
class Targets:
    """Files that a run writes, checked before it starts."""

    out: Path | None
    force: bool
    save: Path | None
    timeline: Path | None = None
    log_commands: Path | None = None
    history: Path | None = None
    record_firmware: Path | None = None
    #: File of ``--load``, which may also be the file of ``--save``.
    load: str | None = None
    #: Inputs of the run: drive, workload and policies. Some are names of presets or members, not files.
    reads: tuple[str | None, ...] = ()

    def streamed(self) -> list[Path]:
        """Returns the files that grow while the run goes on."""
        files = (self.log_commands, self.timeline, self.history, self.record_firmware)
        return [path for path in files if path is not None]

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Checks that each can be written, and keeps other commands from writing them until the block ends.

        Raises:
            InputError: one cannot be written, two are the same, or another command is about to write one.
        """
        self.check()
        files = self._files()
        with locked(*files) if self.out is None else locked(self.out, *files):
            # Another command may have written just before it released its lock.
            self.check()
            yield

    def _files(self) -> list[Path]:
        return [*([] if self.save is None else [self.save]), *self.streamed()]

    def check(self) -> None:
        """Checks that each can be written.

        Raises:
            InputError: one cannot be written, two are the same, or the run reads one; but the file of --load may also
                be the file of --save.
        """
        from ssdlab.commandlog import check_name
        from ssdlab.files import check_new_file, check_new_folder

        files = self._files()
        if self.force and self.out is None and not files:
            raise InputError("--force: replaces what is already there, but no --out, --save or other file is given")
        if self.out is not None:
            check_new_folder(self.out, self.force)
        for path in files:
            check_new_file(path, self.force)
            reads = self.reads if path == self.save else (*self.reads, self.load)
            if any(read is not None and Path(read).exists() and path.exists() and path.samefile(read) for read in reads):
                raise InputError(f"{path}: the run reads this file; choose another name to write")
        if len({path.resolve() for path in files}) < len(files):
            raise InputError("--save, --log-commands, --timeline, --history, --record-firmware: two of them name the same file")
        if self.out is not None and self.out.resolve() in (path.resolve() for path in files):
            raise InputError(f"--out {self.out}: the name of a file to write as well; choose another")
        # Files are written before the folder, which would then not be empty.
        inside = [path for path in files if self.out is not None and self.out.resolve() in path.resolve().parents]
        if inside:
            raise InputError(f"{inside[0]}: inside the folder of --out; choose a place outside it")
        if self.log_commands is not None:
            check_name(self.log_commands)
        if self.history is not None and not self.history.name.endswith((".csv", ".csv.gz", ".csv.zst")):
            raise InputError(f"--history {self.history}: expected a name in .csv, .csv.gz or .csv.zst")
        if self.record_firmware is not None and self.record_firmware.name.endswith((".gz", ".zst")):
            raise InputError(f"--record-firmware {self.record_firmware}: it is a plain text; expected a name without .gz, .zst")
