"""Sessions: a cache that several runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ssdlab import _engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ssdlab.comparison import Comparison
    from ssdlab.drives import DriveLike
    from ssdlab.lifetimes import Lifetime
    from ssdlab.results import Result
    from ssdlab.simulate import PolicyLike
    from ssdlab.workloads import WorkloadLike

__all__ = ["Session"]


class Session:
    r"""Runs that share the scale models of steady states, which depend only on the drive and take time to compute.

    Results are the same as without a session; a drive that is run again, under another policy or another load, is set
    up faster. A session may be used from several threads at once. Runs outside a session share nothing, nor do two
    sessions.

    Example:
        >>> session = Session()
        >>> job = ssdlab.Workload.from_text("[job]\nrw=randread\nnumber_ios=100\n")
        >>> session.run("tiny", job, precondition="steady").status
        'complete'
    """

    def __init__(self) -> None:
        #: Session of the engine.
        self.engine = _engine.Session()

    def run(self, drive: DriveLike, workload: WorkloadLike, policy: PolicyLike | None = None, **options: Any) -> Result:
        """Runs a workload like :func:`ssdlab.run`, in this session."""
        from ssdlab.simulate import run

        return run(drive, workload, policy, session=self, **options)

    def compare(self, drive: DriveLike, workload: WorkloadLike, policies: Sequence[PolicyLike], **options: Any) -> Comparison:
        """Compares policies like :func:`ssdlab.compare`, in this session instead of one of its own."""
        from ssdlab.simulate import compare

        return compare(drive, workload, policies, session=self, **options)

    def lifetime(self, drive: DriveLike, workload: WorkloadLike, policy: str | None = None, **options: Any) -> Lifetime:
        """Simulates a lifetime like :func:`ssdlab.lifetime`, in this session."""
        from ssdlab.lifetimes import lifetime

        return lifetime(drive, workload, policy, session=self, **options)
