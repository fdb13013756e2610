"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from ssdlab.errors import InputError
from ssdlab.locks import locked
from ssdlab.workloads import Workload

_SOURCE = "Workload"
_START = "Starting state"
_POWER = "Power failure"
_OUTPUT = "Output"

DriveArgument: TypeAlias = Annotated[str, typer.Argument(metavar="DRIVE", help="A preset's name or a description (TOML).")]
WorkloadArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="A trace, a fio job file, or a workload TOML.")
]
TraceArgument: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A trace; .gz and .zst are read in place.")]

Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a field of the drive, as flash.channels=16. Repeatable."),
]

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write the result folder; without it nothing is.",
        rich_help_panel=_OUTPUT,
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Replace what is there: files, folders that ssdlab wrote.", rich_help_panel=_OUTPUT)
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", rich_help_panel=_OUTPUT)
]
Plot: TypeAlias = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a chart: .html, .png, .svg, .pdf.", rich_help_panel=_OUTPUT),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no remarks.", rich_help_panel=_OUTPUT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Settings of a drive and its starting state."""

    settings: Set = None
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of every random stream.")] = 1
    precondition: Annotated[
        str | None,
        typer.Option(
            "--precondition",
            metavar="KIND",
            help="none, fill, random or steady; the drive's own when absent.",
            rich_help_panel=_START,
        ),
    ] = None
    load: Annotated[
        str | None,
        typer.Option("--load", metavar="FILE", help="Start from an aged drive that --save wrote.", rich_help_panel=_START),
    ] = None
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the drive as the run leaves it.", rich_help_panel=_START),
    ] = None
    steady_state: Annotated[
        bool,
        typer.Option(
            "--steady-state",
            help="Run until steady by the SNIA rule, then measure for five rounds.",
            rich_help_panel=_START,
        ),
    ] = False
    steady_round: Annotated[
        str | None,
        typer.Option("--steady-round", metavar="TIME", help="Length of a round of that rule.", rich_help_panel=_START),
    ] = None
    power_cut: Annotated[
        str | None,
        typer.Option(
            "--power-cut",
            metavar="TIME",
            help="Power fails so long after the start of the run, as 10s; needs --power-down.",
            rich_help_panel=_POWER,
        ),
    ] = None
    power_down: Annotated[
        str | None,
        typer.Option(
            "--power-down",
            metavar="TIME",
            help="For how long the drive is then off, as 30d; its data ages meanwhile.",
            rich_help_panel=_POWER,
        ),
    ] = None

    skip_commands: Annotated[
        int,
        typer.Option(
            "--skip-commands",
            metavar="N",
            min=0,
            help="Leave out the first N commands of each job: a workload goes on with a loaded drive.",
            rich_help_panel=_START,
        ),
    ] = 0
    stop_after: Annotated[
        int | None,
        typer.Option("--stop-after", metavar="N", min=1, help="Stop after N commands of each job.", rich_help_panel=_START),
    ] = None
    rest_after: Annotated[
        int | None,
        typer.Option(
            "--rest-after",
            metavar="N",
            min=1,
            help="Bring the drive to rest after N commands of each job, as to save it, and measure from there.",
            rich_help_panel=_START,
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """As :func:`ssdlab.run` and :func:`ssdlab.compare` take them."""
        given = asdict(self)
        return {"set": given.pop("settings") or (), **given}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Options of a :class:`ssdlab.Workload`, under its names: the reading and replaying of a workload."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="The trace's format, recognised when absent.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="SPEC",
            help="Columns of a table of any format: time=1:us,op=4,offset=5:B,size=6:B.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            metavar="HOW",
            help="Addresses past the drive's end: wrap, scale or compact.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="HOW",
            help="Where the devices of a trace lie: stack or overlay.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    streams: Annotated[
        str | None,
        typer.Option(
            "--streams",
            metavar="LIST",
            help="Keep these devices of a trace, comma-separated.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    time_scale: Annotated[
        float | None,
        typer.Option(
            "--time-scale",
            metavar="X",
            help="Replay so many times faster than recorded.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    repeat: Annotated[
        int | None,
        typer.Option("--repeat", metavar="N", help="Play the trace so many times.", rich_help_panel=_SOURCE),
    ] = None
    slice: Annotated[
        str | None,
        typer.Option(
            "--slice",
            metavar="A..B",
            help="Play these requests (0..1000) or times (10s..20s).",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="HOW",
            help="Pacing of a trace: open (at recorded times), gaps, or closed:DEPTH.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    ramp_time: Annotated[
        str | None,
        typer.Option(
            "--ramp-time",
            metavar="TIME",
            help="Leave the commands of so long a time after the start out of the statistics.",
            rich_help_panel=_SOURCE,
        ),
    ] = None
    strict_time: Annotated[
        bool,
        typer.Option("--strict-time", help="Refuse a trace whose time runs backwards at all.", rich_help_panel=_SOURCE),
    ] = False
    max_requests: Annotated[
        int | None,
        typer.Option("--max-requests", metavar="N", min=1, help="End after so many requests.", rich_help_panel=_SOURCE),
    ] = None

    def workload(self, path: str) -> Workload:
        """The workload in the file at `path`."""
        given = asdict(self)
        if self.streams is not None:
            given["streams"] = [label.strip() for label in self.streams.split(",")]
        given["strict_time"] = self.strict_time or None
        return Workload(path, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReading(Reading):
    """Options of a workload for ``run``, whose ``--format`` also takes ``fio``, the format of the result."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="The trace's format, recognised when absent; or `fio`: print the result as fio's JSON does.",
            rich_help_panel=_SOURCE,
        ),
    ] = None


def check_chart(plot: Path | None, force: bool, out: Path | None = None) -> None:
    """Checks that the chart and the other output can be written, before the long work for them begins.

    Raises:
        InputError: they cannot, or there is nothing that `force` could replace.
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
    """Output files of a run, checked before it starts."""

    out: Path | None
    force: bool
    save: Path | None
    timeline: Path | None = None
    log_commands: Path | None = None
    history: Path | None = None
    #: The drive of ``--load``, which may be saved in its own place.
    load: str | None = None
    #: Inputs of the run: drive, workload and policies. Some are names of presets or members, not files.
    reads: tuple[str | None, ...] = ()

    def streamed(self) -> list[Path]:
        """Returns the files that grow during the run."""
        return [path for path in (self.log_commands, self.timeline, self.history) if path is not None]

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Checks that each can be written, and keeps other commands from writing them until the block ends.

        Raises:
            InputError: one that cannot, two that are the same, or one that another command is about to write.
        """
        self.check()
        files = self._files()
        with locked(*files) if self.out is None else locked(self.out, *files):
            # Another command may have written a file just before it released its lock.
            self.check()
            yield

    def _files(self) -> list[Path]:
        return [*([] if self.save is None else [self.save]), *self.streamed()]

    def check(self) -> None:
        """Checks that each file can be written.

        Raises:
            InputError: one that cannot, two that are the same, or one that the run reads; but the drive of --load may
                be saved in its place.
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
            raise InputError("--save, --log-commands, --timeline, --history: two of them name the same file")
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
