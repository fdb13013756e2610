"""Runs of the paper's drive, and what is taken from their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ssdlab import WorkloadLike
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.agcr.loads import OF_MSR, length, loads
from ssdlab_papers.real_first import Found, Loads, RealFirst
from ssdlab_papers.session import run as simulate
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, samples
from ssdlab_papers.traces import Load, titles

WORK, DRIVE = "AGCR", "agcr-64g"
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
#: Numbers of a run that a sweep does not keep by itself.
COLUMNS = (
    *(f"policy_stats.{cost}_cost_{kind}" for kind in ("reads", "writes") for cost in COSTS),
    "policy_stats.rewrites_entered",
    "policy_stats.rewrites_started",
    "declared_state_bits_per_unit",
)
#: Mean write response above which a load exceeds the drive's throughput [us].
_OVERLOAD_US = 10_000


@dataclass(frozen=True, slots=True)
class Run:
    """One run, by the dotted names of its numbers. Times are means, and 0 without requests of the kind."""

    row: Mapping[str, Any]

    def mean_us(self, kind: str) -> float:
        """Returns the mean response to ``read``, ``write`` or ``all`` [us]."""
        return float(self.row[f"latency.{kind}.mean_ns"] or 0.0) / 1000

    def count(self, kind: str) -> int:
        """Returns the number of requests to ``read``, ``write`` or ``all``."""
        return sum(int(self.row[f"commands.{each}"] or 0) for each in ("read", "write") if kind in (each, "all"))

    @property
    def read_share(self) -> float:
        """Share of reads among all requests."""
        return self.count("read") / max(1, self.count("all"))

    @property
    def busy(self) -> float:
        """Share of the run's time that a die was busy, on average."""
        return float(self.row["utilisation.dies"] or 0.0)

    def pages(self, kind: str) -> dict[str, int]:
        """Returns the ``reads`` or ``writes`` of single pages by cost; empty under a policy with only one cost."""
        found = {cost: self.row.get(f"policy_stats.{cost}_cost_{kind}") for cost in COSTS}
        return {cost: int(count) for cost, count in found.items() if count is not None}

    @property
    def accesses(self) -> int:
        """Number of accesses to single pages, as the policy counted them."""
        return sum(self.pages("reads").values()) + sum(self.pages("writes").values())

    @property
    def rewritten(self) -> float:
        """Rewrites per page access of the host."""
        return float(self.row.get("policy_stats.rewrites_started") or 0.0) / max(1, self.accesses)

    @property
    def queued(self) -> float:
        """Number of pages that entered the rewrite queue."""
        return float(self.row.get("policy_stats.rewrites_entered") or 0.0)

    def share(self, kind: str, cost: str) -> float | None:
        """Returns the share of a cost in the ``reads`` or ``writes`` of pages.

        The share is ``None`` without such accesses, and under a policy with only one cost.
        """
        counts = self.pages(kind)
        total = sum(counts.values())
        return counts[cost] / total if total else None

    def over(self, other: Run, kind: str) -> float | None:
        """Returns the mean response to ``read``, ``write`` or ``all`` over another run's.

        The ratio is ``None`` without such requests.
        """
        ours, theirs = self.mean_us(kind), other.mean_us(kind)
        return ours / theirs if ours and theirs else None


def flat(summary: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Returns the numbers of a summary by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in summary.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {f"{before}{name}": value}
    return found


def run(workload: WorkloadLike, policy: str) -> Run:
    """Runs a workload on the paper's drive, filled once with old data, under a policy of :data:`POLICIES`."""
    name, given = POLICIES[policy]
    return Run(flat(simulate(DRIVE, workload, name, set=given).summary))


def point(load: Load, requests: int, policy: str, time_scale: float = 1.0, **fields: object) -> dict[str, object]:
    """Returns the point of a sweep that runs a load under a policy of :data:`POLICIES`."""
    name, given = POLICIES[policy]
    return {"drive": DRIVE, "policy": name, **load.fields(requests, time_scale), **given, **fields}


@dataclass(frozen=True, slots=True)
class Case:
    """One load under several policies, or under one with several settings, with every seed."""

    load: Load
    samples: Mapping[str, Sample]

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return sorted(next(iter(self.samples.values())).rows)

    def run(self, policy: str, seed: int) -> Run:
        """Returns one of the runs."""
        return Run(self.samples[policy].rows[seed])

    def over(self, policy: str, other: str, kind: str, seed: int) -> float | None:
        """Returns a policy's mean response to ``read``, ``write`` or ``all`` over another's.

        The ratio is ``None`` without such requests.
        """
        return self.run(policy, seed).over(self.run(other, seed), kind)

    def mean(self, quantity: Callable[[Case, int], float | None]) -> float | None:
        """Returns the mean of a quantity over the seeds; ``None`` if no run has it."""
        found = [value for seed in self.seeds if (value := quantity(self, seed)) is not None]
        return fmean(found) if found else None

    @property
    def is_overload(self) -> bool:
        """True if the load exceeds the throughput of the drive."""
        return fmean(self.run("MCW/MCR", seed).mean_us("write") for seed in self.seeds) > _OVERLOAD_US

    @property
    def of_msr(self) -> bool:
        """True if the load is of the paper's collection."""
        return self.load.name in OF_MSR


#: A quantity of the runs of several loads with one seed; ``None`` if none of them has it.
Quantity = Callable[[Sequence[Case], int], float | None]


@dataclass(frozen=True, slots=True)
class Cases(RealFirst[Case]):
    """Cases of real traces, which lead, and of look-alikes."""

    def find(self, quantity: Quantity) -> Found:
        """Returns a quantity, computed seed by seed over all loads."""
        return Found(_over_seeds(self.real, quantity), _over_seeds(self.alike, quantity), self.text, WORK)

    @property
    def text(self) -> str:
        """The leading loads in words."""
        return titles([case.load for case in self.leading])

    @property
    def loads(self) -> Loads:
        """The loads of the cases."""
        return Loads(tuple(case.load for case in self.real), tuple(case.load for case in self.alike))


def _over_seeds(cases: Sequence[Case], quantity: Quantity) -> Estimate | None:
    seeds = sorted(set[int].intersection(*(set(case.seeds) for case in cases))) if cases else []
    found = [value for seed in seeds if (value := quantity(cases, seed)) is not None]
    return estimate(found) if found else None


def mean_of(quantity: Callable[[Case, int], float | None], less: float = 0.0) -> Quantity:
    """Returns the mean of a quantity over the loads that have it, less a number."""

    def mean(cases: Sequence[Case], seed: int) -> float | None:
        found = [value for case in cases if (value := quantity(case, seed)) is not None]
        return fmean(found) - less if found else None

    return mean


def run_cases(
    setting: Setting,
    name: str,
    ways: Mapping[str, tuple[str, Mapping[str, object]]],
    of: Loads,
    time_scale: float = 1.0,
    passes: int = 1,
    seeds: int | None = None,
) -> Cases:
    """Runs loads under policies of :data:`POLICIES`, each with further fields, by names of their own.

    With several `passes`, a trace is played as often; a look-alike has as many times its requests.
    """
    used = (*of.real, *of.alike)
    points = [
        point(load, passes * length(setting, load), policy, time_scale, **fields)
        for load in used
        for policy, fields in ways.values()
    ]
    found = iter(samples(setting, f"agcr-{name}", points, columns=COLUMNS, seeds=seeds))
    cases = [Case(load, {way: next(found) for way in ways}) for load in used]
    return Cases(tuple(cases[: len(of.real)]), tuple(cases[len(of.real) :]))


def policies(setting: Setting) -> Cases:
    """Runs every load at recorded speed under every policy."""
    return run_cases(setting, "policies", {policy: (policy, {}) for policy in POLICIES}, loads(setting))
