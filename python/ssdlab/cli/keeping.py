"""How a command ends: results are shown first, then written, and kept elsewhere where that fails. A run may have taken hours."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from ssdlab.cli.console import complain, discard_output, remark, say
from ssdlab.cli.signals import INTERRUPTED
from ssdlab.errors import InputError
from ssdlab.files import undisturbed


@dataclass(frozen=True, slots=True)
class Part:
    """Something that a command writes."""

    #: The name that the user gave.
    target: Path
    #: Writes it under a name, whole or not at all.
    write: Callable[[Path], object]
    #: What it holds, in a few words.
    what: str
    #: What matters most of it, as JSON, for where it cannot be written at all.
    summary: Callable[[], str] | None = None
    #: Whether it takes a few seconds at most: Ctrl-C then waits for it.
    brief: bool = False


def results(target: Path, save: Callable[[Path], object], summary: Callable[[], str]) -> Part:
    """A folder of results; `summary` is its document."""
    return Part(target, save, "the results", summary, brief=True)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a simulation ended."""

    #: Ctrl-C or SIGTERM cut it short.
    interrupted: bool = False
    #: Files that it was to write meanwhile and could not, with what the system said.
    not_written: Sequence[tuple[str, OSError]] = ()


def conclude(show: Callable[[], object], parts: Sequence[Part], ending: Ending, meaning: str) -> None:
    """Shows results, writes their `parts`, and ends the command with the exit status that all this has.

    Args:
        show: Prints them on standard output.
        parts: What is written, the most important first.
        ending: How the run ended.
        meaning: What an interruption means for the results.

    Raises:
        Exit: something could not be shown or written (status 1), or there was an interruption.
    """
    heard, unshown, failed = False, None, list[Part]()
    try:
        show()
        sys.stdout.flush()
    except KeyboardInterrupt:
        heard = True
    except (Exception, SystemExit) as error:  # `rich` exits where a pipe was closed.
        unshown = error
    for part in parts:
        try:
            if part.brief:
                with undisturbed():
                    _write(part, ending.interrupted, failed)
            elif not heard:
                _write(part, ending.interrupted, failed)
        except KeyboardInterrupt:
            heard = True
        if heard and not part.brief:
            remark(f"interrupted: {part.target} was not written")
    if unshown is not None:
        _end_unshown(unshown)
    for name, reason in ending.not_written:
        complain(f"{name}: {reason.strerror}; it was not written, and cost the run nothing else")
    if failed or ending.not_written:
        raise typer.Exit(1)
    if ending.interrupted:
        remark(f"interrupted: {meaning}")
    if ending.interrupted or heard:
        raise typer.Exit(INTERRUPTED)


def _write(part: Part, interrupted: bool, failed: list[Part]) -> None:
    if not write_or_keep(part, interrupted):
        failed.append(part)


def _end_unshown(error: Exception | SystemExit) -> None:
    """Ends a command that could not show its results: silently where their reader has had enough."""
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        complain(f"standard output: {error.strerror or error}")
        discard_output(sys.stdout)
        raise typer.Exit(1)
    raise error


def write_or_keep(part: Part, interrupted: bool = False) -> bool:
    """Writes `part`, or keeps it elsewhere; whether it is where it belongs. The run that made it need not have been whole."""
    try:
        part.write(part.target)
    except (OSError, InputError) as error:
        complain(str(error) if isinstance(error, InputError) else f"{part.target}: {error.strerror or error}")
    else:
        return True
    kept = _kept(part)
    if kept is not None:
        target = part.target.absolute()
        hindrance = f", when {target} has been moved away" if target.is_dir() else ""
        remark(f"{part.what} are kept in {kept}; to put them in place{hindrance}: {shlex.join(['mv', str(kept), str(target)])}")
        return False
    again = "" if interrupted else "; the same command gives the same bytes again"
    remark(f"{part.what} could not be kept elsewhere either{again}")
    if part.summary is not None:
        remark("the summary:")
        say(part.summary().rstrip("\n") + "\n")
    return False


def _kept(part: Part) -> Path | None:
    """Where `part` is now, in the system's folder for temporary files; nothing if there is no room either."""
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="ssdlab-"))
        kept = folder / part.target.absolute().resolve().name
        part.write(kept)
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError | InputError):
            return None
        raise
    return kept
