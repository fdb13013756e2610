"""Figures of a window: the difference between two samples of the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["EMPTY", "has_restarted", "now", "point", "window_utilisation"]

Sample = Mapping[str, Any]

#: Percentiles of a page, each with its name in results.
_PERCENTILES = (("p50_ns", 0.5), ("p99_ns", 0.99), ("p99_9_ns", 0.999))
#: Number of commands that must lie beyond a percentile for it to be stated, as in the summary of a run.
_BEYOND = 10
#: Sample before the first command.
EMPTY: Sample = {
    "simulated_ns": 0,
    "commands": {},
    "latency": {"read": {"ranges": []}, "write": {"ranges": []}},
    "causes": {"read": {}, "write": {}},
    "host_units_written": 0,
    "programs": {},
    "utilisation": {},
}


def has_restarted(before: Sample, after: Sample) -> bool:
    """Returns true if the measurement has begun again between two samples."""
    return after["simulated_ns"] < before["simulated_ns"] or _commands(after) < _commands(before)


def point(before: Sample, after: Sample, at: float, seconds: float) -> dict[str, Any]:
    """Returns the figures of a window that ends at `at` [s] and took `seconds` of real time.

    A percentile is that of a range of latencies: from 1 us on, it is at most 1/64 above the exact one.
    """
    commands, simulated = _commands(after) - _commands(before), after["simulated_ns"] - before["simulated_ns"]
    host = after["host_units_written"] - before["host_units_written"]
    programs = sum(after["programs"].values()) - sum(before["programs"].values())
    found: dict[str, Any] = {
        "at": round(at, 3),
        "simulated_ns": after["simulated_ns"],
        "commands": commands,
        "per_second": commands / seconds if seconds > 0 else None,
        "per_simulated_second": commands * 1e9 / simulated if simulated > 0 else None,
        "write_amplification": programs / host if host > 0 else None,
    }
    for op in ("read", "write"):
        count, percentiles = _percentiles(before["latency"][op]["ranges"], after["latency"][op]["ranges"])
        spent = {
            cause: (ns - before["causes"][op].get(cause, 0)) / count for cause, ns in after["causes"][op].items() if count > 0
        }
        found[op] = {**percentiles, "count": count, "causes": {cause: round(ns, 1) for cause, ns in spent.items() if ns > 0}}
    return found


def now(sample: Sample) -> dict[str, Any]:
    """Returns the figures since the measurement began."""
    host, programs = sample["host_units_written"], sum(sample["programs"].values())
    return {
        "simulated_ns": sample["simulated_ns"],
        "commands": dict(sample["commands"]),
        "bytes": sample["bytes"],
        "latency": {op: {name: found[name] for name, _ in _PERCENTILES} for op, found in sample["latency"].items()},
        "write_amplification": programs / host if host else None,
        "programs": sample["programs"],
        "erases": sample["erases"],
        "free_blocks": sample["free_blocks"],
        "utilisation": sample["utilisation"],
        "server": sample.get("server"),
    }


def window_utilisation(before: Sample, after: Sample) -> dict[str, float] | None:
    """Returns the shares of a window for which the resources were busy; none if no simulated time has passed."""
    span = after["simulated_ns"] - before["simulated_ns"]
    if span <= 0:
        return None
    earlier = before["utilisation"]
    busy = {
        name: share * after["simulated_ns"] - earlier.get(name, 0.0) * before["simulated_ns"]
        for name, share in after["utilisation"].items()
    }
    # Shares have rounding errors, and an operation is charged where it begins.
    return {name: min(max(ns / span, 0.0), 1.0) for name, ns in busy.items()}


def _commands(sample: Sample) -> int:
    return sum(sample["commands"].values())


def _percentiles(before: list[tuple[int, int]], after: list[tuple[int, int]]) -> tuple[int, dict[str, int | None]]:
    """Returns the number of commands between two histograms, and their percentiles."""
    earlier = dict(before)
    counts = [(end, count - earlier.get(end, 0)) for end, count in after]
    total = sum(count for _, count in counts)
    found: dict[str, int | None] = dict.fromkeys(name for name, _ in _PERCENTILES)
    for name, share in _PERCENTILES:
        rank = max(1, math.ceil(share * total))
        if total == 0 or total - rank < _BEYOND:
            continue
        seen = 0
        for end, count in counts:
            seen += count
            if seen >= rank:
                found[name] = end
                break
    return total, found
