"""Runs of the work's drives, and what is taken from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab.drives import DriveLike
from ssdlab.papers.retention.loads import weeks_of
from ssdlab.papers.session import run as simulate
from ssdlab.papers.traces import Load
from ssdlab.units import duration
from ssdlab.workloads import Workload, WorkloadLike

#: The drive on which two weeks buy a wider program step, and the one on which they buy a weaker code.
SPEED, CODES = "rr-106g", "rr-ecc-106g"
#: What a write is served by. All else is waiting: for dies, channels and space, for the rest of pages that it writes in part, for
#: the other pages of its request.
SERVICE = ("bus_command", "transfer", "program", "ecc_wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run measured, after what was left out."""

    #: Writes, and their mean response time [ns].
    writes: int
    write_ns: float
    #: Mean response time of all commands [ns].
    mean_ns: float
    #: Of the writes': not their own transfer, program and encoding [ns].
    waiting_ns: float
    #: Waiting for, and passing, an encoder [ns].
    encoding_ns: float
    #: Mapping units that the host wrote, that were reprogrammed, and that were collected or moved for wear.
    host: int
    reprogrammed: int
    collected: int
    #: Blocks erased.
    erases: int
    #: Share of the time that the dies spent programming and erasing.
    writing: float
    #: Share of the time that the encoder was busy; 0 without one.
    encoder: float
    #: Bytes that the host wrote each second.
    bytes_per_s: float
    #: Data that was past its retention limit when it was moved.
    misses: int
    #: Whether the drive could not keep up.
    saturated: bool

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """From ``summary.json``."""
        causes, programs = summary["causes"]["write"], summary["flash"]["programs"]
        return cls(
            writes=int(summary["commands"]["write"]),
            write_ns=float(summary["latency"]["write"]["mean_ns"] or 0.0),
            mean_ns=float(summary["latency"]["all"]["mean_ns"] or 0.0),
            waiting_ns=float(sum(span for cause, span in causes.items() if cause not in SERVICE)),
            encoding_ns=float(causes.get("ecc_wait", 0.0)),
            host=int(summary["host_units_written"]),
            reprogrammed=int(programs.get("reprogram", 0)),
            collected=int(programs.get("gc", 0) + programs.get("wear", 0)),
            erases=sum(summary["flash"]["erases"].values()),
            writing=float(summary["utilisation"]["dies_writing"]),
            encoder=float(summary["utilisation"].get("encoder_ldpc", 0.0)),
            bytes_per_s=float(summary["throughput"]["write_bytes_per_s"] or 0.0),
            misses=int(summary["reliability"]["deadline_misses"]),
            saturated=bool(summary["saturated"]),
        )

    @property
    def overhead(self) -> float:
        """Pages reprogrammed per page that the host wrote."""
        return self.reprogrammed / self.host if self.host else 0.0


@dataclass(frozen=True, slots=True)
class Gain:
    """A policy's run beside the baseline's."""

    #: The baseline.
    base: Run
    #: The policy.
    run: Run

    @property
    def speed_up(self) -> float:
        """Of the mean response time of writes; 1 without writes."""
        return self.base.write_ns / self.run.write_ns if self.run.write_ns else 1.0

    @property
    def queueing(self) -> float:
        """How many times less writes wait; 1 where they never did."""
        return self.base.waiting_ns / self.run.waiting_ns if self.run.waiting_ns else 1.0

    @property
    def is_queued(self) -> bool:
        """Whether the baseline's writes wait longer than they are served."""
        return self.base.waiting_ns > 0.5 * self.base.write_ns


def run(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: str,
    settings: Mapping[str, object] | None = None,
    precondition: str = "fill",
) -> Run:
    """One run; the drive begins full of old data of full guarantee unless another start is asked for."""
    return Run.from_summary(simulate(drive, workload, policy, set=dict(settings or {}), precondition=precondition).summary)


def written_down(load: Load, weeks: int, path: Path) -> Workload:
    """The requests of some weeks of a look-alike as a trace: the commands of a run, by their arrival."""
    import pyarrow.csv

    result = simulate(SPEED, weeks_of(load, count=weeks, dropped=0), "baseline", precondition="none", record_commands=True)
    table = result.command_table()
    assert table is not None, "commands were recorded"
    table = table.select(["submitted_ns", "op", "offset", "length"]).sort_by("submitted_ns")
    plain = table.set_column(1, "op", table.column("op").cast("string"))
    pyarrow.csv.write_csv(plain, path, pyarrow.csv.WriteOptions(include_header=False, quoting_style="none"))
    return Workload(path, columns="time=1:ns,op=2,offset=3:B,size=4:B")


def whole_percent(share: float) -> str:
    """A share to the point."""
    return f"{100 * share:.0f} %"


def change(before_ns: float, after_ns: float) -> str:
    """Two spans in words."""
    return f"{duration(round(before_ns), 3)} to {duration(round(after_ns), 3)}"


def times(ratio: float) -> str:
    """A ratio in words."""
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:.0f}x"
