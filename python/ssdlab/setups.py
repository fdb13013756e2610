"""Results of set-ups, kept for further runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssdlab import _engine
from ssdlab.numbers import plain

if TYPE_CHECKING:
    from ssdlab.explore.states import SharedStates

__all__ = ["Setups", "StartingStates"]


@dataclass(frozen=True, slots=True)
class StartingStates:
    """Figures of the starting states that a session keeps in memory.

    Examples:
        >>> session = ssdlab.Session(limit="1GiB")
        >>> for seed in (1, 2, 1):
        ...     result = session.run("tiny", "examples/randwrite.fio", seed=seed, precondition="fill", stop_after=100)
        >>> session.states.count, session.states.hits
        (2, 1)
    """

    #: Number of states kept.
    count: int
    #: Number of runs so far that began with a kept state.
    hits: int
    #: Sum of the sizes of the states, in bytes.
    bytes: int
    #: Limit of this sum, in bytes.
    limit: int


def check_session(given: object) -> None:
    """Checks that an argument `session` is one.

    Raises:
        TypeError: it is something else.
    """
    if given is not None and not isinstance(given, Setups):
        raise TypeError(f"session: {given!r}: expected an ssdlab.Session")


class Setups:
    """Results of set-ups that runs share: a :class:`~ssdlab.Session` without the functions that run in it.

    Args:
        limit: As for :class:`~ssdlab.Session`.
        shared: Starting states that processes share.
    """

    def __init__(self, limit: int | str | None = None, shared: SharedStates | None = None) -> None:
        #: Session of the engine.
        self.engine = _engine.Session(f"{size}B" if isinstance(size := plain(limit), int) else size, shared)

    @property
    def states(self) -> StartingStates:
        """Figures of the starting states that are kept.

        Examples:
            >>> ssdlab.Session(limit="1MiB").states
            StartingStates(count=0, hits=0, bytes=0, limit=1048576)
        """
        return StartingStates(*self.engine.states)
