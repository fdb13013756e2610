"""End of a command: results are shown, then written, or kept elsewhere if that fails. A run may have taken hours."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ssdlab.cli.console import complain, discard_output, remark, say
from ssdlab.cli.statuses import INTERRUPTED
from ssdlab.errors import InputError
from ssdlab.files import undisturbed


@dataclass(frozen=True, slots=True)
class Results:
    """Folder of results that a command writes."""

    #: Name that the user gave.
    target: Path
    #: Writes the folder under a given name, complete or not at all.
    write: Callable[[Path], object]
    #: Returns the document of the results, to be printed if the folder cannot be written anywhere.
    summary: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a simulation."""

    #: True if Ctrl-C or SIGTERM ended it early.
    interrupted: bool = False
    #: Files that could not be written during the simulation, each with the error of the system.
    not_written: Sequence[tuple[str, OSError]] = ()


def conclude(show: Callable[[], object], results: Results | None, ending: Ending, meaning: str, *, quiet: bool = False) -> None:
    """Shows results, writes them and says so, and ends the command with the exit status that follows.

    Args:
        show: Prints the results on standard output.
        results: Folder of the results, if requested.
        ending: End of the simulation.
        meaning: Consequence of an interruption for the results, as a text.
        quiet: Print no remarks.

    Raises:
        SystemExit: something could not be shown or written (status 1), or the command was interrupted (status 130).
    """
    heard, unshown, placed = False, None, True
    try:
        show()
        sys.stdout.flush()
    except KeyboardInterrupt:
        heard = True
    except (Exception, SystemExit) as error:  # `rich` exits when a pipe has been closed.
        unshown = error
    try:
        if results is not None:
            with undisturbed():
                placed = write_or_keep(results, ending.interrupted)
    except KeyboardInterrupt:
        heard = True
    if results is not None and placed and not quiet:
        remark(f"wrote {results.target}")
    for name, reason in ending.not_written:
        complain(f"{name}: {reason.strerror}; it was not written, and cost the run nothing else")
    if unshown is not None:
        _end_unshown(unshown)
    if not placed or ending.not_written:
        raise SystemExit(1)
    if ending.interrupted:
        remark(f"interrupted: {meaning}")
    if ending.interrupted or heard:
        raise SystemExit(INTERRUPTED)


def _end_unshown(error: Exception | SystemExit) -> None:
    """Ends a command that could not show its results; a closed pipe causes no message."""
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        complain(f"standard output: {error.strerror or error}")
        discard_output(sys.stdout)
        raise SystemExit(1)
    raise error


def write_or_keep(results: Results, interrupted: bool = False) -> bool:
    """Writes `results` (partial ones if `interrupted`), or keeps them elsewhere. Returns True if they are in place."""
    try:
        results.write(results.target)
    except (OSError, InputError) as error:
        complain(str(error) if isinstance(error, InputError) else f"{results.target}: {error.strerror or error}")
    else:
        return True
    kept = _saved_elsewhere(results)
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


def _saved_elsewhere(results: Results) -> Path | None:
    """Writes `results` to the system's folder for temporary files. Returns their path, or None if that fails too."""
    # Start-up: only results whose folder cannot be written need them.
    import shutil
    import tempfile

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
