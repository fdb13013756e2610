"""Runs of the paper's drive, and the values taken from their summaries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ssdlab import DriveLike, WorkloadLike
from ssdlab_papers.session import run as simulate

#: Chips per channel and blocks per plane by programming units per channel, at the capacity of the paper's drive. A chip
#: serves one operation at a time.
SHAPES = {4: (4, 8192), 8: (8, 4096), 16: (16, 2048), 32: (32, 1024)}
#: Programming units per channel of the paper's drive.
PAPER_UNITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measurements of one run."""

    #: Mean response time [ns].
    mean_ns: float
    #: Standard deviation of the response time [ns].
    stddev_ns: float
    #: Pages that the host wrote.
    host: int
    #: Pages programmed for any reason.
    programs: int
    #: Pages programmed for rewrites.
    rewrites: int
    #: Host pages written in the fast mode.
    fast: int
    #: Share of the run's time that the programming units spent writing; 0 without writes.
    utilisation: float
    #: True if the drive could not keep up with the load.
    saturated: bool
    #: Moves of data that was already past its retention limit.
    deadline_misses: int
    #: Statistics of the policy.
    counted: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """Takes the measurements from ``summary.json``."""
        latency = summary["latency"]["all"]
        return cls(
            mean_ns=float(latency["mean_ns"] or 0.0),
            stddev_ns=float(latency["stddev_ns"] or 0.0),
            host=int(summary["host_units_written"]),
            programs=sum(summary["flash"]["programs"].values()),
            rewrites=int(summary["flash"]["programs"].get("rewrite", 0)),
            fast=int(summary["modes"]["host_write"].get("fast", 0)),
            utilisation=float(summary["utilisation"]["dies_writing"]) if summary["commands"]["write"] else 0.0,
            saturated=bool(summary["saturated"]),
            deadline_misses=int(summary["reliability"]["deadline_misses"]),
            counted=dict(summary["policy_stats"]),
        )

    @property
    def fast_share(self) -> float:
        """Share of the host pages that are written fast."""
        return self.fast / self.host if self.host else 0.0

    @property
    def hit_rate(self) -> float:
        """Share of the host page writes that are fast because the current copy of the page is fast.

        The paper does not define its rate [A].
        """
        return self.counted.get("fast_writes_by_hit", 0.0) / self.host if self.host else 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """Run of a policy beside the baseline's."""

    #: The baseline's run.
    base: Run
    #: The policy's run.
    run: Run

    @property
    def mean(self) -> float:
        """Mean response time over the baseline's."""
        return self.run.mean_ns / self.base.mean_ns if self.base.mean_ns else 1.0

    @property
    def stddev(self) -> float:
        """Standard deviation of the response time over the baseline's; 1 where neither varies."""
        if not self.base.stddev_ns:
            return 1.0 if not self.run.stddev_ns else math.inf
        return self.run.stddev_ns / self.base.stddev_ns

    @property
    def rewritten(self) -> float:
        """Rewritten pages per page that the host wrote."""
        return self.run.rewrites / self.run.host if self.run.host else 0.0

    @property
    def extra(self) -> float:
        """Extra writes: programs under the policy less the baseline's, per page that the host wrote (POLICIES 2)."""
        return (self.run.programs - self.base.programs) / self.run.host if self.run.host else 0.0


def shape(units: int) -> dict[str, object]:
    """Returns the settings of the paper's drive with `units` programming units per channel and the same capacity."""
    chips, blocks = SHAPES[units]
    return {"flash.chips_per_channel": chips, "flash.blocks_per_plane": blocks}


def run(
    workload: WorkloadLike,
    policy: str,
    units: int = PAPER_UNITS,
    settings: Mapping[str, object] | None = None,
    *,
    drive: DriveLike = "ofwar-64g",
    precondition: str = "steady",
) -> Run:
    """Runs a workload on the paper's drive, by default from the steady state of uniform overwrites."""
    given = {**shape(units), **(settings or {})}
    return Run.from_summary(simulate(drive, workload, policy, set=given, precondition=precondition).summary)
