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
class Results:
    """A folder of results that a command writes."""

    #: The name that the user gave.
    target: Path
    #: Writes it under a name, whole or not at all.
    write: Callable[[Path], object]
    #: Its document, for where it cannot be written at all.
    summary: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a simulation ended."""

    #: Ctrl-C or SIGTERM cut it short.
    interrupted: bool = False
    #: Files that it was to write meanwhile and could not, with what the system said.
    not_written: Sequence[tuple[str, OSError]] = ()


def conclude(show: Callable[[], object], results: Results | None, ending: Ending, meaning: str) -> None:
    """Shows results, writes them, and ends the command with the exit status that all this has.

    Args:
        show: Prints them on standard output.
        results: Their folder, if one is asked for.
        ending: How the run ended.
        meaning: What an interruption means for the results.

    Raises:
        Exit: something could not be shown or written (status 1), or there was an interruption.
    """
    heard, unshown, placed = False, None, True
    try:
        show()
        sys.stdout.flush()
    except KeyboardInterrupt:
        heard = True
    except (Exception, SystemExit) as error:  # `rich` exits where a pipe was closed.
        unshown = error
    try:
        if results is not None:
            with undisturbed():
                placed = write_or_keep(results, ending.interrupted)
    except KeyboardInterrupt:
        heard = True
    for name, reason in ending.not_written:
        complain(f"{name}: {reason.strerror}; it was not written, and cost the run nothing else")
    if unshown is not None:
        _end_unshown(unshown)
    if not placed or ending.not_written:
        raise typer.Exit(1)
    if ending.interrupted:
        remark(f"interrupted: {meaning}")
    if ending.interrupted or heard:
        raise typer.Exit(INTERRUPTED)


def _end_unshown(error: Exception | SystemExit) -> None:
    """Ends a command that could not show its results; of a closed pipe nothing is said."""
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        complain(f"standard output: {error.strerror or error}")
        discard_output(sys.stdout)
        raise typer.Exit(1)
    raise error


def write_or_keep(results: Results, interrupted: bool = False) -> bool:
    """Writes `results` of a run, perhaps an `interrupted` one, or keeps them elsewhere. Whether they are where they belong."""
    try:
        results.write(results.target)
    except (OSError, InputError) as error:
        complain(str(error) if isinstance(error, InputError) else f"{results.target}: {error.strerror or error}")
    else:
        return True
    kept = _kept(results)
    if kept is not None:
        target = results.target.absolute()
        hindrance = f", when {target} has been moved away" if target.is_dir() else ""
        remark(f"the results are kept in {kept}; to put them in place{hindrance}: {shlex.join(['mv', str(kept), str(target)])}")
        return False
    again = "" if interrupted else "; the same command gives the same bytes again"
    remark(f"the results could not be kept elsewhere either{again}")
    remark("the summary:")
    say(results.summary().rstrip("\n") + "\n")
    return False


def _kept(results: Results) -> Path | None:
    """Where `results` are now, in the system's folder for temporary files; nothing if there is no room either."""
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="ssdlab-"))
        kept = folder / results.target.absolute().resolve().name
        results.write(kept)
    except BaseException as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError | InputError):
            return None
        raise
    return kept
