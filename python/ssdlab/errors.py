"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ssdlab._engine import InputError, PolicyError

if TYPE_CHECKING:
    from ssdlab.cell.codes import CodeMeasurement
    from ssdlab.comparison import Comparison
    from ssdlab.lifetimes import Lifetime
    from ssdlab.results import Result

__all__ = ["InputError", "Interrupted", "NotWrittenError", "PolicyError", "closest", "unknown_name"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run or a measurement. What it had measured so far is in :attr:`result`, marked ``partial``.

    A signal that comes while a run ends leaves its result ``complete``.
    """

    def __init__(
        self, result: Result | Comparison | Lifetime | CodeMeasurement, files: Sequence[tuple[str, OSError]] = ()
    ) -> None:
        super().__init__("interrupted; the partial result is in `.result`")
        self.result = result
        #: Files that could not be written, each with what the system said.
        self.files = list(files)


class NotWrittenError(OSError):
    """A file that a run was to write could not be written. What the run measured is in :attr:`result`."""

    def __init__(self, files: Sequence[tuple[str, OSError]], result: Result | Comparison | Lifetime) -> None:
        super().__init__("; ".join(f"{name}: {error.strerror}" for name, error in files))
        #: Each file with what the system said.
        self.files = list(files)
        self.result = result


def closest(name: str, valid: list[str], cutoff: float = 0.6) -> str | None:
    """The one of `valid` that was probably meant."""
    import difflib

    return next(iter(difflib.get_close_matches(name, valid, n=1, cutoff=cutoff)), None)


def unknown_name(what: str, name: str, valid: list[str]) -> InputError:
    """An error for an unknown `name`, with the valid ones and the nearest of them."""
    near = closest(name, valid)
    hint = f" (did you mean `{near}`?)" if near else ""
    return InputError(f"unknown {what} `{name}`: expected one of {', '.join(valid)}{hint}")
