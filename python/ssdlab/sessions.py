"""Sessions: runs that share what their set-ups compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from ssdlab import lifetimes, simulate
from ssdlab.comparison import Comparison
from ssdlab.drives import DriveLike
from ssdlab.lifetimes import Lifetime, LifetimeOptions
from ssdlab.presentation import Result
from ssdlab.runs import PolicyLike, ProgressHook, RunOptions
from ssdlab.setups import Setups
from ssdlab.workloads import WorkloadLike

__all__ = ["Session"]


class Session(Setups):
    r"""Runs that share the results of their set-up, which depend only on drive and seed and take time to compute.

    A session keeps the scale models of steady states, and in memory a copy of each starting state. A run whose drive
    would be brought to the same state (everything that decides it is compared) starts from the copy. Results are the
    same as without a session. A session may be used from several threads at once. Runs outside a session share nothing,
    nor do two sessions.

    Args:
        limit: Most memory for starting states: bytes, or a size such as ``"2GiB"``; 0 keeps none. The state that was
            used least recently gives way to a new one; one that is larger than the limit is not kept. By default a
            quarter of the memory that is available when the session is created; processes that run side by side need
            limits of their own.

    Raises:
        InputError: the limit is not a size.

    Examples:
        >>> session = ssdlab.Session()
        >>> for policy in ("baseline", "ofwar"):
        ...     print(session.run("tiny", "examples/randwrite.fio", policy, precondition="steady", stop_after=1000))
        <ssdlab.Result tiny · examples/randwrite.fio · baseline · complete>
        <ssdlab.Result tiny · examples/randwrite.fio · ofwar · complete>
    """

    def __init__(self, limit: int | str | None = None) -> None:
        super().__init__(limit)

    def run(
        self,
        drive: DriveLike,
        workload: WorkloadLike,
        policy: PolicyLike | None = None,
        *,
        progress: ProgressHook | None = None,
        **options: Unpack[RunOptions],
    ) -> Result:
        """Runs a workload like :func:`ssdlab.run`, in this session.

        Examples:
            >>> session = ssdlab.Session()
            >>> session.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=1000).commands
            {'read': 0, 'write': 1000, 'trim': 0, 'flush': 0}
        """
        return simulate.run(drive, workload, policy, session=self, progress=progress, **options)

    def compare(
        self,
        drive: DriveLike,
        workload: WorkloadLike,
        policies: Sequence[PolicyLike] | None = None,
        *,
        vary: Mapping[str, Sequence[Any]] | None = None,
        progress: Callable[[str], ProgressHook | None] | None = None,
        **options: Unpack[RunOptions],
    ) -> Comparison:
        """Compares policies and variants like :func:`ssdlab.compare`, in this session instead of one of its own.

        Examples:
            >>> session = ssdlab.Session()
            >>> session.compare("tiny", "examples/randwrite.fio", ["baseline", "all_fast"], stop_after=1000)
            <ssdlab.Comparison baseline, all_fast>
        """
        return simulate.compare(drive, workload, policies, vary=vary, session=self, progress=progress, **options)

    def lifetime(
        self,
        drive: DriveLike,
        workload: WorkloadLike,
        policy: str | None = None,
        *,
        progress: ProgressHook | None = None,
        **options: Unpack[LifetimeOptions],
    ) -> Lifetime:
        """Simulates a lifetime like :func:`ssdlab.lifetime`, in this session.

        Examples:
            >>> session = ssdlab.Session()
            >>> session.lifetime("tiny", "examples/trace.csv.gz", wear_limit=1).ended_by
            'mean_wear'
        """
        return lifetimes.lifetime(drive, workload, policy, session=self, progress=progress, **options)
