"""Exceptions of ssdlab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ssdlab._engine import InputError, PolicyError

__all__ = ["InputError", "Interrupted", "NotWrittenError", "PolicyError", "closest", "unknown_name"]


class Measured(Protocol):
    """Result of what was interrupted: :class:`~ssdlab.Result`, ``Comparison``, ``Lifetime``, measurement of a code."""

    @property
    def status(self) -> str:
        """``complete``, or ``partial`` if it was stopped."""


class Interrupted(KeyboardInterrupt):
    """Raised when Ctrl-C ends a run or a measurement. :attr:`result` holds the partial result, marked ``partial``.

    If the signal arrives while a run is ending, the result remains ``complete``.

    Examples:
        >>> try:
        ...     result = ssdlab.run("tiny", "examples/randwrite.fio", stop_after=1000)
        ... except ssdlab.Interrupted as stopped:
        ...     result = stopped.result
        >>> result.status
        'complete'
    """

    def __init__(self, result: Measured, files: Sequence[tuple[str, OSError]] = ()) -> None:
        super().__init__("interrupted; the partial result is in `.result`")
        self.result = result
        #: Files that could not be written, each with the error of the system.
        self.files = list(files)


class NotWrittenError(OSError):
    """Raised when a file of a run cannot be written; :attr:`result` holds what the run measured.

    Examples:
        >>> try:
        ...     result = ssdlab.run("tiny", "examples/trace.csv.gz", log_commands="commands.parquet")
        ... except ssdlab.NotWrittenError as error:
        ...     print(error)
        ...     result = error.result
        >>> result.status
        'complete'
    """

    def __init__(self, files: Sequence[tuple[str, OSError]], result: Measured) -> None:
        super().__init__("; ".join(f"{name}: {error.strerror}" for name, error in files))
        #: Files that could not be written, each with the error of the system.
        self.files = list(files)
        self.result = result


def closest(name: str, valid: list[str], cutoff: float = 0.6) -> str | None:
    """Returns the name in `valid` that was probably meant; ``None`` if none is similar enough."""
    # Start-up: only a wrong name needs it.
    import difflib

    return next(iter(difflib.get_close_matches(name, valid, n=1, cutoff=cutoff)), None)


def unknown_name(what: str, name: str, valid: list[str]) -> InputError:
    """Returns an error for an unknown `name`, with the valid names and the nearest of them."""
    near = closest(name, valid)
    hint = f" (did you mean `{near}`?)" if near else ""
    return InputError(f"unknown {what} `{name}`: expected one of {', '.join(valid)}{hint}")
