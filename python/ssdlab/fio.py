"""A result in the form of ``fio --output-format=json+`` (fio 3), for scripts that read it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ssdlab.results import Stream

if TYPE_CHECKING:
    from ssdlab.results import Latency, RunData

_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_SECOND = 1_000_000_000


def document(result: RunData) -> dict[str, Any]:
    """Returns one fio job for each job or stream of the run; 0 where nothing was measured, as in fio."""
    streams = result.streams or (_whole(result),)
    options = _options(result)
    if len(options) != len(streams):
        # No fio job, or so many that the last entry stands for several.
        options = [{} for _ in streams]
    table = result.stream_latency_table() if result.streams else result.latency_table()
    rows: dict[str, list[Mapping[str, Any]]] = {stream.name: [] for stream in streams}
    for row in table.to_pylist() if table is not None else []:
        rows[row.get("stream", streams[0].name)].append(row)
    jobs = [_job(stream, own, rows[stream.name]) for stream, own in zip(streams, options, strict=True)]
    return {
        "fio version": "fio-3 (ssdlab)",
        "global options": {
            "ssdlab_drive": result.drive,
            "ssdlab_policy": result.policy,
            "randseed": str(result.seed),
        },
        "jobs": jobs,
    }


def _whole(result: RunData) -> Stream:
    """Returns the only stream of a run."""
    summary = result.summary
    workload = tomllib.loads(result.workload_toml)
    jobs = workload["job"] if workload["kind"] == "fio" else []
    return Stream.from_summary(
        {**summary, "name": jobs[0]["name"] if jobs else result.workload, "begin_ns": 0, "end_ns": result.simulated_ns}
    )


def _job(stream: Stream, options: dict[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the entry of a job, whose latency histogram has these rows."""
    return {
        "jobname": options.get("name", stream.name),
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": -(-stream.span_ns // _SECOND),
        "job options": options,
        **{op: _direction(stream, op, [row for row in rows if row["op"] == op]) for op in ("read", "write", "trim")},
        "sync": {"total_ios": stream.commands["flush"], "lat_ns": _spread(None)},
        "job_runtime": stream.span_ns // 1_000_000,
    }


def _options(result: RunData) -> list[dict[str, str]]:
    """Returns the options of each job of a fio job file; none for other workloads."""
    workload = tomllib.loads(result.workload_toml)
    found = []
    for job in workload["job"] if workload["kind"] == "fio" else []:
        options = {name: str(job[name]) for name in ("name", "rw", "iodepth", "number_ios") if name in job}
        options |= {name: _size(job[name]) for name in ("offset", "size", "io_size") if name in job}
        sizes = {block["size"] for block in job.get("block", [])}
        if len(sizes) == 1:
            options["bs"] = _size(sizes.pop())
        if job.get("random_map") is False:
            options["norandommap"] = "1"
        found.append(options)
    return found


def _size(text: str) -> str:
    """Formats a size for fio, whose `k` is 1024 by default, but whose `KiB` is 1000."""
    return text.removesuffix("iB").removesuffix("B").lower()


def _direction(stream: Stream, op: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the entry of one data direction, whose latency histogram has these rows."""
    latency = stream.latency.get(op)
    rate = stream.throughput.get(f"{op}_bytes_per_s") or 0.0
    done = stream.commands[op]
    seconds = stream.span_ns / _SECOND
    moved = int(stream.throughput.get(f"{op}_bytes", 0))
    return {
        "io_bytes": moved,
        "io_kbytes": moved // 1024,
        "bw_bytes": round(rate),
        "bw": round(rate / 1024),
        "iops": done / seconds if seconds else 0.0,
        "runtime": stream.span_ns // 1_000_000,
        "total_ios": done,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _spread(None),
        "clat_ns": {**_spread(latency), "percentile": _percentiles(latency, rows), **_bins(latency, rows)},
        "lat_ns": _spread(latency),
    }


def _spread(latency: Latency | None) -> dict[str, Any]:
    """Returns minimum, maximum, mean and standard deviation."""
    if latency is None or not latency.count:
        return {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    return {
        "min": latency.min_ns,
        "max": latency.max_ns,
        "mean": latency.mean_ns,
        "stddev": latency.stddev_ns,
        "N": latency.count,
    }


def _bins(latency: Latency | None, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Returns the histogram as json+ has it: commands by the upper edge of their bucket, at most the maximum.

    Without a command there is none: fio's own tool ``fio_jsonplus_clat2csv`` reads no empty histogram.
    """
    most = None if latency is None else latency.max_ns
    bins = {str(min(row["high_ns"], most or row["high_ns"])): int(row["count"]) for row in rows}
    return {"bins": bins} if bins else {}


def _percentiles(latency: Latency | None, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Returns fio's percentiles, from the histogram: for each the upper edge of its bucket, at most the maximum."""
    total = sum(row["count"] for row in rows)
    values: dict[str, int] = {}
    for percentile in _PERCENTILES:
        rank = max(1, -(-round(percentile * 100) * total // 10_000))
        seen = 0
        for row in rows:
            seen += row["count"]
            if seen >= rank:
                most = None if latency is None else latency.max_ns
                values[f"{percentile:.6f}"] = min(row["high_ns"], most or row["high_ns"])
                break
        else:
            values[f"{percentile:.6f}"] = 0
    return values
