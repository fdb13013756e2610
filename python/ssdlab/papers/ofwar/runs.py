"""Runs of the paper's drive, and what is taken from them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ssdlab.drives import DriveLike
from ssdlab.papers.session import run as simulate
from ssdlab.workloads import WorkloadLike

#: Chips per channel and blocks per plane that keep the capacity of the paper's drive. A chip serves one operation at a time.
SHAPES = {4: (4, 8192), 8: (8, 4096), 16: (16, 2048), 32: (32, 1024)}
#: Programming units per channel of the paper's drive.
PAPER_UNITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run measured."""

    #: Mean response time [ns].
    mean_ns: float
    #: Its standard deviation [ns].
    stddev_ns: float
    #: Pages that the host wrote.
    host: int
    #: Pages programmed for any reason.
    programs: int
    #: Pages programmed for a rewrite.
    rewrites: int
    #: Host pages written fast.
    fast: int
    #: Share of the run's time that the programming units spent writing; 0 without writes.
    utilisation: float
    #: Whether the drive could not keep up.
    saturated: bool
    #: Data that was past its retention limit when it was moved.
    deadline_misses: int
    #: What the policy counted.
    counted: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """From ``summary.json``."""
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
        """Host pages written fast, of all."""
        return self.fast / self.host if self.host else 0.0

    @property
    def hit_rate(self) -> float:
        """Host page writes that were made fast because the page's current copy was, of all; the paper defines no rate [A]."""
        return self.counted.get("fast_writes_by_hit", 0.0) / self.host if self.host else 0.0


@dataclass(frozen=True, slots=True)
class Effect:
    """A policy's run beside the baseline's."""

    #: The baseline.
    base: Run
    #: The policy.
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
        """Extra writes: programs with the policy less those of the baseline, per page that the host wrote (POLICIES 2)."""
        return (self.run.programs - self.base.programs) / self.run.host if self.run.host else 0.0


def shape(units: int) -> dict[str, object]:
    """The paper's drive with so many programming units per channel, and the same capacity."""
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
    """One run of the paper's drive, from the steady state of uniform overwrites unless another start is asked for."""
    given = {**shape(units), **(settings or {})}
    return Run.from_summary(simulate(drive, workload, policy, set=given, precondition=precondition).summary)
