"""Sessions: a cache that several runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ssdlab import _engine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ssdlab.comparison import Comparison
    from ssdlab.drives import DriveLike
    from ssdlab.lifetimes import Lifetime, LifetimeOptions
    from ssdlab.results import Result
    from ssdlab.simulate import PolicyLike, ProgressHook, RunOptions
    from ssdlab.workloads import WorkloadLike

__all__ = ["Session"]


class Session:
    r"""Runs that share the scale models of steady states, which depend only on the drive and take time to compute.

    Results are the same as without a session; a drive that is run again, under another policy or another load, is set
    up faster. A session may be used from several threads at once. Runs outside a session share nothing, nor do two
    sessions.

    Examples:
        >>> session = ssdlab.Session()
        >>> for policy in ("baseline", "ofwar"):
        ...     print(session.run("tiny", "examples/randwrite.fio", policy, precondition="steady", stop_after=1000))
        <ssdlab.Result tiny · examples/randwrite.fio · baseline · complete>
        <ssdlab.Result tiny · examples/randwrite.fio · ofwar · complete>
    """

    def __init__(self) -> None:
        #: Session of the engine.
        self.engine = _engine.Session()

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
        from ssdlab.simulate import run

        return run(drive, workload, policy, session=self, progress=progress, **options)

    def compare(
        self,
        drive: DriveLike,
        workload: WorkloadLike,
        policies: Sequence[PolicyLike],
        *,
        progress: Callable[[str], ProgressHook | None] | None = None,
        **options: Unpack[RunOptions],
    ) -> Comparison:
        """Compares policies like :func:`ssdlab.compare`, in this session instead of one of its own.

        Examples:
            >>> session = ssdlab.Session()
            >>> session.compare("tiny", "examples/randwrite.fio", ["baseline", "all_fast"], stop_after=1000)
            <ssdlab.Comparison baseline, all_fast>
        """
        from ssdlab.simulate import compare

        return compare(drive, workload, policies, session=self, progress=progress, **options)

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
        from ssdlab.lifetimes import lifetime

        return lifetime(drive, workload, policy, session=self, progress=progress, **options)
