"""What several runs share."""

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
    r"""Runs that share what follows from a drive alone and takes time to find out: the scale models of steady states.

    Results are the same as without one; a drive that is run again, under another policy or another load, is set up faster. A
    session may be used from several threads at once. Runs outside a session, and those of two sessions, share nothing.

    Example:
        >>> session = Session()
        >>> job = ssdlab.Workload.from_text("[job]\nrw=randread\nnumber_ios=100\n")
        >>> session.run("tiny", job, precondition="steady").status
        'complete'
    """

    def __init__(self) -> None:
        #: The engine's part of it.
        self.engine = _engine.Session()

    def run(self, drive: DriveLike, workload: WorkloadLike, policy: PolicyLike | None = None, **options: Any) -> Result:
        """As :func:`ssdlab.run`."""
        from ssdlab.simulate import run

        return run(drive, workload, policy, session=self, **options)

    def compare(self, drive: DriveLike, workload: WorkloadLike, policies: Sequence[PolicyLike], **options: Any) -> Comparison:
        """As :func:`ssdlab.compare`, whose runs are in a session anyway."""
        from ssdlab.simulate import compare

        return compare(drive, workload, policies, session=self, **options)

    def lifetime(self, drive: DriveLike, workload: WorkloadLike, policy: str | None = None, **options: Any) -> Lifetime:
        """As :func:`ssdlab.lifetime`."""
        from ssdlab.lifetimes import lifetime

        return lifetime(drive, workload, policy, session=self, **options)
