"""Runs of the work's drives, and the values taken from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import DriveLike, Workload, WorkloadLike
from ssdlab.units import duration
from ssdlab_papers.retention.loads import weeks_of
from ssdlab_papers.session import run as simulate
from ssdlab_papers.traces import Load

#: Presets: the drive on which two weeks of retention buy a wider program step, and the one on which they buy a weaker
#: code.
SPEED, CODES = "rr-106g", "rr-ecc-106g"
#: Causes that are service of a write. All other causes are waiting: for dies, channels and space, for the rest of
#: partly written pages, and for the other pages of the request.
SERVICE = ("bus_command", "transfer", "program", "ecc_wait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Measurements of one run; the ramp time is left out."""

    #: Number of writes, and their mean response time [ns].
    writes: int
    write_ns: float
    #: Mean response time of all commands [ns].
    mean_ns: float
    #: Mean time of a write outside its service, that is, outside its own bus command, transfer, program and encoding
    #: [ns].
    waiting_ns: float
    #: Mean time of a write waiting for an encoder and being encoded [ns].
    encoding_ns: float
    #: Mapping units that the host wrote, that were reprogrammed, and that were moved by collection or wear levelling.
    host: int
    reprogrammed: int
    collected: int
    #: Blocks erased.
    erases: int
    #: Share of the time that the dies spent programming and erasing.
    writing: float
    #: Share of the time that the encoder was busy; 0 without one.
    encoder: float
    #: Bytes that the host wrote per second.
    bytes_per_s: float
    #: Moves of data that was already past its retention limit.
    misses: int
    #: True if the drive could not keep up with the load.
    saturated: bool

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> Run:
        """Takes the measurements from ``summary.json``."""
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
    """Run of a policy beside the baseline's."""

    #: The baseline's run.
    base: Run
    #: The policy's run.
    run: Run

    @property
    def speed_up(self) -> float:
        """The baseline's mean write response over the policy's; 1 without writes."""
        return self.base.write_ns / self.run.write_ns if self.run.write_ns else 1.0

    @property
    def queueing(self) -> float:
        """The baseline's mean waiting time of writes over the policy's; 1 if the policy's writes never wait."""
        return self.base.waiting_ns / self.run.waiting_ns if self.run.waiting_ns else 1.0

    @property
    def is_queued(self) -> bool:
        """True if the baseline's writes wait longer than they are served."""
        return self.base.waiting_ns > 0.5 * self.base.write_ns


def run(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: str,
    settings: Mapping[str, object] | None = None,
    precondition: str = "fill",
) -> Run:
    """Runs a workload, by default on a drive full of old data with the full retention guarantee."""
    return Run.from_summary(simulate(drive, workload, policy, set=dict(settings or {}), precondition=precondition).summary)


def written_down(load: Load, weeks: int, path: Path) -> Workload:
    """Writes some weeks of a look-alike to a trace file, and returns it as a workload.

    The requests are the commands of a run, sorted by arrival.
    """
    import pyarrow.csv

    result = simulate(SPEED, weeks_of(load, count=weeks, dropped=0), "baseline", precondition="none", record_commands=True)
    table = result.command_table()
    assert table is not None, "commands were recorded"
    table = table.select(["submitted_ns", "op", "offset", "length"]).sort_by("submitted_ns")
    plain = table.set_column(1, "op", table.column("op").cast("string"))
    pyarrow.csv.write_csv(plain, path, pyarrow.csv.WriteOptions(include_header=False, quoting_style="none"))
    return Workload(path, columns="time=1:ns,op=2,offset=3:B,size=4:B")


def whole_percent(share: float) -> str:
    """Formats a share in whole percent."""
    return f"{100 * share:.0f} %"


def change(before_ns: float, after_ns: float) -> str:
    """Formats a change of a time span."""
    return f"{duration(round(before_ns), 3)} to {duration(round(after_ns), 3)}"


def times(ratio: float) -> str:
    """Formats a ratio as a factor."""
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:.0f}x"
