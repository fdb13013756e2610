"""A result in the form of ``fio --output-format=json`` (fio 3), for scripts that read it."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssdlab.results import Latency, Result

_PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
_SECOND = 1_000_000_000


def document(result: Result) -> dict[str, Any]:
    """Returns one fio job for the whole run, as with ``group_reporting``; 0 where nothing was measured, as in fio."""
    name, options = _job(result)
    runtime_ms = result.simulated_ns // 1_000_000
    return {
        "fio version": "fio-3 (ssdlab)",
        "global options": {
            "ssdlab_drive": result.drive,
            "ssdlab_policy": result.policy,
            "randseed": str(result.seed),
        },
        "jobs": [
            {
                "jobname": name,
                "groupid": 0,
                "error": 0,
                "eta": 0,
                "elapsed": -(-result.simulated_ns // _SECOND),
                "job options": options,
                "read": _direction(result, "read"),
                "write": _direction(result, "write"),
                "trim": _direction(result, "trim"),
                "sync": {"total_ios": result.commands["flush"], "lat_ns": _spread(None)},
                "job_runtime": runtime_ms,
            }
        ],
    }


def _job(result: Result) -> tuple[str, dict[str, str]]:
    """Returns name and options of the only job. Several jobs give one entry with their number, like a group in fio."""
    workload = tomllib.loads(result.workload_toml)
    jobs = workload["job"] if workload["kind"] == "fio" else []
    if len(jobs) != 1:
        return f"{result.workload}: (groupid=0, jobs={len(jobs)})" if jobs else result.workload, {}
    (job,) = jobs
    options = {name: str(job[name]) for name in ("name", "rw", "iodepth", "number_ios") if name in job}
    options |= {name: _size(job[name]) for name in ("offset", "size", "io_size") if name in job}
    sizes = {block["size"] for block in job.get("block", [])}
    if len(sizes) == 1:
        options["bs"] = _size(sizes.pop())
    if job.get("random_map") is False:
        options["norandommap"] = "1"
    return str(job["name"]), options


def _size(text: str) -> str:
    """Formats a size for fio, whose `k` is 1024 by default, but whose `KiB` is 1000."""
    return text.removesuffix("iB").removesuffix("B").lower()


def _direction(result: Result, op: str) -> dict[str, Any]:
    """Returns the entry of one data direction."""
    latency = result.latency.get(op)
    rate = result.summary["throughput"].get(f"{op}_bytes_per_s") or 0.0
    done = result.commands[op]
    seconds = result.simulated_ns / _SECOND
    moved = int(result.summary["throughput"].get(f"{op}_bytes", 0))
    return {
        "io_bytes": moved,
        "io_kbytes": moved // 1024,
        "bw_bytes": round(rate),
        "bw": round(rate / 1024),
        "iops": done / seconds if seconds else 0.0,
        "runtime": result.simulated_ns // 1_000_000,
        "total_ios": done,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": _spread(None),
        "clat_ns": {**_spread(latency), "percentile": _percentiles(result, op)},
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


def _percentiles(result: Result, op: str) -> dict[str, int]:
    """Returns fio's percentiles, from the histogram: for each the upper edge of its bucket, at most the maximum."""
    table = result.latency_table()
    rows = [row for row in table.to_pylist() if row["op"] == op]
    total = sum(row["count"] for row in rows)
    values: dict[str, int] = {}
    for percentile in _PERCENTILES:
        rank = max(1, -(-round(percentile * 100) * total // 10_000))
        seen = 0
        for row in rows:
            seen += row["count"]
            if seen >= rank:
                values[f"{percentile:.6f}"] = min(row["high_ns"], result.latency[op].max_ns or row["high_ns"])
                break
        else:
            values[f"{percentile:.6f}"] = 0
    return values
