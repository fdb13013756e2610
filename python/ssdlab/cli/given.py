"""Conversion of given options into what the Python functions take, without Typer, which takes long to import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab.commandlog import check_name
from ssdlab.declared import GROUPS
from ssdlab.drives import files_of
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, check_new_folder, is_there
from ssdlab.locks import locked
from ssdlab.workloads import Workload, included


def arguments(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a run or a life as the Python functions take them."""
    return {**chosen, "set": chosen["set"] or ()}


def values_by_field(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the values of the fields that a comparison varies."""
    if not texts:
        return {}
    # Start-up: only --vary needs it.
    from ssdlab.explore.variants import read

    return read(texts)


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
    # Start-up: only --plot needs it.
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
    #: Inputs of the run: drive, workload, others. Some are names of presets or members, not files.
    reads: tuple[str | None, ...] = ()
    #: Settings of the drive, which is the first of `reads`, and may name files.
    sets: tuple[str, ...] = ()

    def growing_files(self) -> list[Path]:
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

    def _reads(self) -> tuple[str | None, ...]:
        """Returns the inputs, with the files that the description of the drive and a fio job name."""
        drive, workload, *_ = (*self.reads, None, None)
        named = [] if drive is None else files_of(drive, self.sets)
        return (*self.reads, *named, *([] if workload is None else included(workload)))

    def _files(self) -> list[Path]:
        return [*([] if self.save is None else [self.save]), *self.growing_files()]

    def check(self) -> None:
        """Checks that each can be written.

        Raises:
            InputError: one cannot be written, two are the same, or the run reads one; but the file of --load may also
                be the file of --save.
        """
        files = self._files()
        if self.force and self.out is None and not files:
            raise InputError("--force: replaces what is already there, but no --out, --save or other file is given")
        if self.out is not None:
            check_new_folder(self.out, self.force)
        for path in files:
            check_new_file(path, self.force)
        reads = self._reads() if any(path.exists() for path in files) else ()
        for path in files:
            others = reads if path == self.save else (*reads, self.load)
            if any(read is not None and is_there(read) and path.exists() and path.samefile(read) for read in others):
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
