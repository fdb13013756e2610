"""Numbers and tables of a run. What is made of them stands above: :mod:`ssdlab.presentation`, ``ssdlab.report``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ssdlab import _engine, frames
from ssdlab.errors import InputError, unknown_name
from ssdlab.read_errors import ReadErrors
from ssdlab.words import with_argument_names

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa

    from ssdlab._engine import Columns, Outcome
    from ssdlab.provenance import Kept, Origin

__all__ = ["Latency", "RunData", "Stream", "flat"]


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of one kind of command [ns]; a percentile with fewer than ten samples beyond it is ``None``.

    Examples:
        >>> write = ssdlab.run("tiny", "examples/trace.csv.gz").latency["write"]
        >>> write.count, write.mean_ns, write.p99_ns
        (1940, 1034048.3, 6610943)
        >>> print(write.p99_9_ns)
        None
    """

    #: Number of commands measured.
    count: int
    #: Mean, from exact sums.
    mean_ns: float | None
    #: Standard deviation of the population, from exact sums.
    stddev_ns: float | None
    #: Minimum.
    min_ns: int | None
    #: Median.
    p50_ns: int | None
    #: 90th percentile.
    p90_ns: int | None
    #: 99th percentile.
    p99_ns: int | None
    #: 99.9th percentile.
    p99_9_ns: int | None
    #: 99.99th percentile.
    p99_99_ns: int | None
    #: Maximum.
    max_ns: int | None

    @classmethod
    def from_summary(cls, numbers: Mapping[str, Any]) -> Latency:
        """Returns the latency from an entry of ``summary["latency"]``.

        Examples:
            >>> summary = ssdlab.run("tiny", "examples/trace.csv.gz").summary
            >>> ssdlab.Latency.from_summary(summary["latency"]["write"]).max_ns
            8089762
        """
        return cls(**{field.name: numbers[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Stream:
    r"""Measurements of one stream of a workload: a fio job, a job of a model, a device or volume of a trace.

    Examples:
        >>> jobs = "[reader]\nrw=randread\nnumber_ios=500\n[writer]\nrw=randwrite\nnumber_ios=300"
        >>> for stream in ssdlab.run("tiny", ssdlab.Workload.from_text(jobs), precondition="fill").streams:
        ...     print(stream.name, stream.commands["read"], stream.latency["all"].count)
        reader 500 500
        writer 0 300
    """

    #: Name of the job, or of the stream in the trace.
    name: str
    #: Time from the first submission to the last completion [ns].
    span_ns: int
    #: Number of completed commands, by operation.
    commands: Mapping[str, int]
    #: Latency of ``all``, ``read``, ``write``, ``trim`` and ``flush`` commands.
    latency: Mapping[str, Latency]
    #: ``iops``, ``read_bytes_per_s`` and ``write_bytes_per_s`` over ``span_ns``; ``read_bytes`` and ``write_bytes``.
    throughput: Mapping[str, Any]
    #: Mean time by cause [ns] of ``all``, ``read`` and ``write`` commands.
    causes: Mapping[str, Mapping[str, float]]

    @classmethod
    def from_summary(cls, numbers: Mapping[str, Any]) -> Stream:
        r"""Returns the measurements in an entry of ``summary["streams"]``.

        Examples:
            >>> jobs = ssdlab.Workload.from_text("[a]\nrw=read\nnumber_ios=20\n[b]\nrw=read\nnumber_ios=30")
            >>> summary = ssdlab.run("tiny", jobs, precondition="fill").summary
            >>> ssdlab.Stream.from_summary(summary["streams"][1]).name
            'b'
        """
        return cls(
            name=str(numbers["name"]),
            span_ns=(numbers["end_ns"] or 0) - (numbers["begin_ns"] or 0),
            commands=numbers["commands"],
            latency={kind: Latency.from_summary(latency) for kind, latency in numbers["latency"].items()},
            throughput=numbers["throughput"],
            causes=numbers["causes"],
        )


class RunData:
    """Numbers and tables of one run: a :class:`~ssdlab.Result` without its figures and pages, which read them here.

    :attr:`summary` holds the numbers of ``summary.json``; the properties give those used most often.
    """

    def __init__(
        self,
        summary_json: str,
        *,
        drive_toml: str,
        workload_toml: str,
        latency: pa.Table | Columns,
        timeline: pa.Table | Columns,
        stream_latency: pa.Table | Columns | None = None,
        power: pa.Table | Columns | None = None,
        commands: pa.Table | None = None,
        spans: pa.Table | None = None,
        notes: tuple[str, ...] = (),
        setup_s: float = 0.0,
        version: str = "",
    ) -> None:
        #: Text of ``summary.json``, as the engine wrote it.
        self.summary_json = summary_json
        #: Complete description of the drive (TOML).
        self.drive_toml = drive_toml
        #: Resolved workload (TOML).
        self.workload_toml = workload_toml
        #: Messages for the user, such as an ignored key or a format chosen among several.
        self.notes = notes
        #: Wall-clock time of the set-up [s]; 0 for a result that was read from a folder.
        self.setup_s = setup_s
        #: Version of ssdlab that made the run; empty if it is not known.
        self.version = version
        # The engine's columns become tables when they are first read.
        self._latency = latency
        self._timeline = timeline
        self._stream_latency = stream_latency
        self._power = power
        self._commands = commands
        self._spans = spans
        #: Request that the run answered; ``None`` for a folder of an earlier version.
        self.origin: Origin | Kept | None = None
        #: Name of the run in comparisons; empty: what differs between their runs, or the name of its folder.
        self.label = ""
        #: Folder that the result was read from; ``None`` for a run of this process.
        self.folder: Path | None = None

    @classmethod
    def from_outcome(cls, outcome: Outcome, *, commands: pa.Table | None = None, spans: pa.Table | None = None) -> Self:
        """Returns the result in an outcome of the engine, with the rows that were kept during the run."""
        return cls(
            outcome.summary_json,
            drive_toml=outcome.drive_toml,
            workload_toml=outcome.workload_toml,
            latency=outcome.latency,
            timeline=outcome.timeline,
            stream_latency=outcome.stream_latency,
            power=outcome.power,
            commands=commands,
            spans=spans,
            notes=tuple(map(with_argument_names, outcome.notes)),
            setup_s=outcome.setup_s,
            version=_engine.build(),
        )

    def __repr__(self) -> str:
        return f"<ssdlab.Result {self.drive} · {self.workload} · {self.policy} · {self.status}>"

    # Numbers.

    # `help()` shows the docstring of a property, but not of a cached property. A parsed value therefore has both.

    @property
    def summary(self) -> dict[str, Any]:
        """Content of ``summary.json``."""
        return self._numbers

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        numbers: dict[str, Any] = json.loads(self.summary_json)
        return numbers

    @property
    def drive(self) -> str:
        """Name of the drive."""
        return str(self.summary["drive"])

    @property
    def workload(self) -> str:
        """Name of the workload."""
        return str(self.summary["workload"])

    @property
    def policy(self) -> str:
        """Name of the mode policy."""
        return str(self.summary["policy"])

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
        return int(self.summary["seed"])

    @property
    def status(self) -> str:
        """``complete``, or ``partial`` if the run was stopped."""
        return str(self.summary["status"])

    @property
    def simulated_ns(self) -> int:
        """Simulated time [ns]."""
        return int(self.summary["simulated_ns"])

    @property
    def wall_s(self) -> float:
        """Wall-clock time of the event loop [s]; the only number that differs between equal runs."""
        return float(self.summary["wall_s"])

    @property
    def commands(self) -> dict[str, int]:
        """Number of completed commands, by operation."""
        return dict(self.summary["commands"])

    @property
    def iops(self) -> float | None:
        """Completed commands per second of simulated time."""
        return _number(self.summary["throughput"]["iops"])

    @property
    def read_bytes_per_s(self) -> float | None:
        """Bytes read per second of simulated time."""
        return _number(self.summary["throughput"]["read_bytes_per_s"])

    @property
    def write_bytes_per_s(self) -> float | None:
        """Bytes written per second of simulated time."""
        return _number(self.summary["throughput"]["write_bytes_per_s"])

    @property
    def write_amplification(self) -> float | None:
        """Units programmed per unit written by the host; ``None`` without host writes."""
        return _number(self.summary["write_amplification"])

    @property
    def write_amplification_bytes(self) -> float | None:
        """Bytes programmed per byte of the writes that completed; ``None`` without host writes."""
        return _number(self.summary["write_amplification_bytes"])

    @property
    def write_amplification_by_reason(self) -> dict[str, float]:
        """Write amplification by reason of the programs; empty without host writes."""
        programs = {reason: number for reason, number in self.summary["flash"]["programs"].items() if number}
        total = sum(programs.values())
        if self.write_amplification is None or not total:
            return {}
        return {reason: self.write_amplification * number / total for reason, number in programs.items()}

    @property
    def latency(self) -> dict[str, Latency]:
        """Latency of ``all``, ``read`` and ``write`` commands."""
        return self._latencies

    @cached_property
    def _latencies(self) -> dict[str, Latency]:
        return {kind: Latency.from_summary(numbers) for kind, numbers in self.summary["latency"].items()}

    @property
    def causes(self) -> dict[str, dict[str, float]]:
        """Mean time by cause [ns] of ``all``, ``read`` and ``write`` commands; it adds up to the mean latency."""
        return dict(self.summary["causes"])

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Measurements of each fio job, trace stream or volume; empty for a workload of one."""
        return self._streams

    @cached_property
    def _streams(self) -> tuple[Stream, ...]:
        return tuple(map(Stream.from_summary, self.summary.get("streams", [])))

    @property
    def read_errors(self) -> ReadErrors | None:
        """Attempts at reads, and their failures; ``None`` for a drive whose reads cannot fail."""
        return self._read_errors

    @cached_property
    def _read_errors(self) -> ReadErrors | None:
        return ReadErrors.from_summary(self.summary)

    # Tables.

    def latency_table(self) -> pa.Table:
        """Returns the latency histogram: ``op, low_ns, high_ns, count``, one row for each bucket that is not empty.

        Examples:
            >>> table = ssdlab.run("tiny", "examples/trace.csv.gz").latency_table()
            >>> table.column_names
            ['op', 'low_ns', 'high_ns', 'count']
            >>> table.slice(1, 1).to_pylist()
            [{'op': 'write', 'low_ns': 603648, 'high_ns': 604159, 'count': 455}]
        """
        self._latency = _table(self._latency)
        return self._latency

    def stream_latency_table(self) -> pa.Table | None:
        r"""Returns the latency histogram of each stream: ``stream`` and the columns of :meth:`latency_table`.

        ``None`` for a workload of one stream.

        Examples:
            >>> jobs = ssdlab.Workload.from_text("[a]\nrw=read\nnumber_ios=20\n[b]\nrw=read\nnumber_ios=30")
            >>> table = ssdlab.run("tiny", jobs, precondition="fill").stream_latency_table()
            >>> table.group_by("stream").aggregate([("count", "sum")]).to_pylist()
            [{'stream': 'a', 'count_sum': 20}, {'stream': 'b', 'count_sum': 30}]
        """
        if self._stream_latency is not None:
            self._stream_latency = _table(self._stream_latency)
        return self._stream_latency

    def timeline_table(self) -> pa.Table:
        """Returns traffic, queue depth and internal state over simulated time, in at most 4096 rows.

        Examples:
            >>> table = ssdlab.run("tiny", "examples/trace.csv.gz").timeline_table()
            >>> sum(table["writes"].to_pylist())
            1940
        """
        self._timeline = _table(self._timeline)
        return self._timeline

    def power_table(self) -> pa.Table | None:
        """Returns the power over simulated time: ``time_ns, mean_w, peak_w, temperature_c``, in at most 4096 rows.

        ``None`` unless the drive describes its currents (section ``[power]``).

        Examples:
            >>> result = ssdlab.run("ssdpower-16x8", "examples/trace.csv.gz")
            >>> result.power_table().column_names
            ['time_ns', 'mean_w', 'peak_w', 'temperature_c']
            >>> max(result.power_table()["peak_w"].to_pylist()) == result.summary["energy"]["peak_w"]
            True
        """
        if self._power is not None:
            self._power = _table(self._power)
        return self._power

    def command_table(self) -> pa.Table | None:
        """Returns one row per command with its causes of latency; ``None`` unless the run recorded commands.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", record_commands=True)
            >>> table = result.command_table().select(["op", "offset", "length", "completed_ns"])
            >>> table.slice(1, 1).to_pylist()
            [{'op': 'read', 'offset': 24285184, 'length': 4096, 'completed_ns': 116899400}]
        """
        return self._commands

    def span_table(self) -> pa.Table | None:
        """Returns the operations of each channel and die with their times; ``None`` unless the run recorded spans.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", record_spans=True)
            >>> result.span_table().slice(2, 1).to_pylist()
            [{'track': 'die 0', 'name': 'program', 'reason': 'host', 'begin_ns': 1424597200, 'end_ns': 1425200975}]
        """
        return self._spans

    def to_arrow(self, table: str = "latency") -> pa.Table:
        """Returns a table of the result as an Arrow table.

        Args:
            table: ``latency``, ``stream_latency``, ``timeline``, ``power``, ``commands`` or ``spans``: the table of the
                method ``latency_table`` and so on.

        Raises:
            InputError: there is no table of this name, or the run does not have it.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz")
            >>> result.to_arrow("timeline").column_names[:2]
            ['time_ns', 'reads']
            >>> result.to_arrow("commands")
            Traceback (most recent call last):
            ssdlab.InputError: commands: not recorded: expected a run with record_commands=True
        """
        tables = {
            "latency": self.latency_table,
            "stream_latency": self.stream_latency_table,
            "power": self.power_table,
            "timeline": self.timeline_table,
            "commands": self.command_table,
            "spans": self.span_table,
        }
        if table not in tables:
            raise unknown_name("table", table, [*tables])
        found = tables[table]()
        if found is None and table == "stream_latency":
            raise InputError("stream_latency: the workload has one stream: expected several jobs, or a trace of several volumes")
        if found is None and table == "power":
            raise InputError("power: not computed: expected a drive with a section [power]")
        if found is None:
            raise InputError(f"{table}: not recorded: expected a run with record_{table}=True")
        return found

    def to_pandas(self, table: str = "latency") -> pandas.DataFrame:
        """Returns a table of the result as a pandas data frame (needs the extra ``pandas``).

        Args:
            table: As for :meth:`to_arrow`, which needs no other package.

        Raises:
            InputError: as for :meth:`to_arrow`.
            ModuleNotFoundError: pandas is not installed.

        Examples:
            >>> frame = ssdlab.run("tiny", "examples/trace.csv.gz").to_pandas("latency")
            >>> frame.groupby("op", observed=True)["count"].sum().to_dict()
            {'read': 60, 'write': 1940}
        """
        return frames.to_pandas(self.to_arrow(table))

    def to_polars(self, table: str = "latency") -> Any:
        """Returns a table of the result as a polars data frame (needs the package ``polars``).

        Args:
            table: As for :meth:`to_arrow`, which needs no other package.

        Raises:
            InputError: as for :meth:`to_arrow`.
            ModuleNotFoundError: polars is not installed.

        Examples:
            >>> frame = ssdlab.run("tiny", "examples/trace.csv.gz").to_polars("latency")
            >>> frame["count"].sum()
            2000
        """
        return frames.to_polars(self.to_arrow(table))

    def latency_frame(self) -> pandas.DataFrame:
        """Returns :meth:`latency_table` as a pandas data frame: ``to_pandas("latency")``.

        Examples:
            >>> frame = ssdlab.run("tiny", "examples/trace.csv.gz").latency_frame()
            >>> frame.groupby("op", observed=True)["count"].sum().to_dict()
            {'read': 60, 'write': 1940}
        """
        return self.to_pandas("latency")

    def timeline_frame(self) -> pandas.DataFrame:
        """Returns :meth:`timeline_table` as a pandas data frame: ``to_pandas("timeline")``.

        Examples:
            >>> frame = ssdlab.run("tiny", "examples/trace.csv.gz").timeline_frame()
            >>> int(frame["queue_depth"].max())
            7
        """
        return self.to_pandas("timeline")


def _table(rows: pa.Table | Columns) -> pa.Table:
    """Returns rows as a table: columns of the engine are converted."""
    if not isinstance(rows, dict):
        return rows
    # Start-up: a run whose summary suffices does not wait for pyarrow.
    from ssdlab.tables import from_columns

    return from_columns(rows)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def flat(inner: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yields the values of a document, under dotted names."""
    for name, value in inner.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
