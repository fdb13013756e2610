"""Runs of the paper's drive, and the values taken from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ssdlab import WorkloadLike
from ssdlab_papers.session import run as simulate

#: Policies by their names in the figures. The last two differ in the write mode of the old data that the rival finds.
POLICIES: dict[str, tuple[str, dict[str, object]]] = {
    "MCW/MCR": ("traditional", {}),
    "HCW/LCR": ("hcw_lcr", {}),
    "LCW/HCR": ("lcw_hcr", {}),
    "AGCR": ("agcr", {}),
    "rival": ("queue_driven", {}),
    "rival (old data at medium cost)": ("queue_driven", {"policy.queue_driven.old_data": "normal"}),
}
#: Both forms of the rival.
RIVALS = ("rival", "rival (old data at medium cost)")
COSTS = ("low", "medium", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measurements of one run. Times are means, and 0 without requests of the kind."""

    #: Mean response time of reads, of writes, and of both [us].
    read_us: float
    write_us: float
    all_us: float
    #: Number of read and of write requests.
    reads: int
    writes: int
    #: Share of the run's time that a die was busy, on average.
    busy: float
    #: Reads and writes of single pages by cost; empty under a policy with only one cost.
    page_reads: Mapping[str, int] = field(default_factory=dict)
    page_writes: Mapping[str, int] = field(default_factory=dict)
    #: Pages that were rewritten for cheaper reads.
    rewrites: int = 0
    #: Statistics of the policy.
    counted: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """Takes the measurements from ``summary.json``."""
        latency, counted = summary["latency"], summary["policy_stats"]

        def mean_us(kind: str) -> float:
            return float(latency[kind]["mean_ns"] or 0.0) / 1000

        def by_cost(kind: str) -> dict[str, int]:
            return {cost: int(counted[f"{cost}_cost_{kind}"]) for cost in COSTS if f"{cost}_cost_{kind}" in counted}

        return cls(
            read_us=mean_us("read"),
            write_us=mean_us("write"),
            all_us=mean_us("all"),
            reads=int(latency["read"]["count"]),
            writes=int(latency["write"]["count"]),
            busy=float(summary["utilisation"]["dies"]),
            page_reads=by_cost("reads"),
            page_writes=by_cost("writes"),
            rewrites=int(counted.get("rewrites_started", 0)),
            counted=dict(counted),
        )

    @property
    def accesses(self) -> int:
        """Number of accesses to single pages, as the policy counted them."""
        return sum(self.page_reads.values()) + sum(self.page_writes.values())

    @property
    def rewritten(self) -> float:
        """Rewrites per page access of the host."""
        return self.rewrites / self.accesses if self.accesses else 0.0

    @property
    def read_share(self) -> float:
        """Share of reads among all requests."""
        return self.reads / (self.reads + self.writes) if self.reads + self.writes else 0.0

    def share(self, kind: str, cost: str) -> float | None:
        """Returns the share of a cost in the ``reads`` or ``writes`` of pages.

        The share is ``None`` without such accesses, and under a policy with only one cost.
        """
        counts = self.page_reads if kind == "reads" else self.page_writes
        total = sum(counts.values())
        return counts[cost] / total if total else None

    def over(self, other: Run, kind: str) -> float | None:
        """Returns the mean response to ``read``, ``write`` or ``all`` over another run's.

        The ratio is ``None`` without such requests.
        """
        ours, theirs = self.mean_us(kind), other.mean_us(kind)
        return ours / theirs if theirs else None

    def mean_us(self, kind: str) -> float:
        """Returns the mean response to ``read``, ``write`` or ``all`` [us]."""
        return {"read": self.read_us, "write": self.write_us, "all": self.all_us}[kind]


def run(workload: WorkloadLike, policy: str, settings: Mapping[str, object] | None = None) -> Run:
    """Runs a workload on the paper's drive, filled once with old data, under a policy of :data:`POLICIES`."""
    name, given = POLICIES[policy]
    return Run.from_summary(simulate("agcr-64g", workload, name, set={**given, **(settings or {})}).summary)
