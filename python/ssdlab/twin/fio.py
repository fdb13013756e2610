"""Points from the results of fio (`--output-format=json` or `json+`) of a real drive."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from typing import Any

from ssdlab.errors import InputError
from ssdlab.files import existing_file, read_text
from ssdlab.twin.loads import Load, load_of, size_text
from ssdlab.twin.points import METRICS, Z90, table_text

__all__ = ["points_from_fio"]

#: Percentiles of fio, by the metric that they give.
_PERCENTILES = {"p50_us": "50.000000", "p99_us": "99.000000", "p99_9_us": "99.900000", "p99_99_us": "99.990000"}
#: Commands that must lie beyond a percentile.
_BEYOND = 10
#: Share by which the rate must rise from one depth to the next below the knee of a curve.
_KNEE = 0.2
#: Largest file of results that is read [bytes].
_MOST = 256 << 20


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of one job."""

    load: Load
    op: str
    metric: str
    value: float
    low: float
    high: float


def points_from_fio(paths: Sequence[str | PathLike[str]]) -> str:
    """Returns a table of points from results of fio, of which some loads are held out.

    Repeats of a load become one point, whose interval has all of them. Held out are whole loads: those above the knee
    of a curve over the depth, those of other lengths than the most frequent one of a pattern, those of a part of the
    drive. If that is none, each third load is.

    Raises:
        InputError: a file is no result of fio, or has no job that can be simulated; the message names it.
    """
    faults: list[str] = []
    values: list[_Value] = []
    for path in paths:
        try:
            values += _values(str(path))
        except InputError as error:
            faults.append(str(error))
    if not paths:
        faults.append("no file: expected results of fio (--output-format=json+)")
    if faults:
        raise InputError("\n".join(faults))
    pooled = _pooled(values)
    loads = list(dict.fromkeys(value.load for value in pooled))
    rates = {value.load: value.value for value in pooled if (value.metric, value.op) == ("iops", "all")}
    held = _held(loads, rates)
    ids = {load: f"L{at:02}" for at, load in enumerate(loads, 1)}
    rows = [_row(value, ids[value.load], "held" if value.load in held else "fit") for value in pooled]
    remarks = [
        f"Measured by fio: {', '.join(str(path) for path in paths)}",
        "fio does not know write amplification: add rows with the metric write_amplification from the drive's own counters.",
        "Check the column use: held are whole loads that the fit does not see.",
    ]
    return table_text(rows, remarks)


def _values(path: str) -> list[_Value]:
    """Returns the values of the jobs of a file.

    Raises:
        InputError: it is no result of fio, or a job cannot be simulated.
    """
    try:
        # fio may write messages before the document.
        text = read_text(existing_file(path), _MOST)
        document = json.loads(text[text.index("{") :])
        jobs = document["jobs"]
        common = document.get("global options", {})
        whole = [(job, {"description": job.get("desc", ""), **common, **job.get("job options", {})}) for job in jobs]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: no result of fio: expected its JSON (--output-format=json+), with `jobs`") from None
    found: list[_Value] = []
    for job, options in whole:
        name = f"{path}: job {job.get('jobname', '?')!r}"
        if job.get("error"):
            raise InputError(f"{name}: error {job['error']}: expected a job that fio ended without an error")
        try:
            load = _load(options)
            found += _of_job(job, load)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{name}: a damaged result ({error!r}): expected fio's JSON") from None
    if not found:
        raise InputError(f"{path}: no job that read or wrote anything: expected results of fio")
    return found


def _load(options: Mapping[str, Any]) -> Load:
    """Returns the load of a job, with the commands in flight of all its processes.

    Raises:
        InputError: it is none that can be simulated.
    """
    jobs, depth = int(options.get("numjobs", 1)), int(options.get("iodepth", 1))
    block = str(options.get("bs", options.get("blocksize", "4k")))
    rate = str(options.get("rate_iops", "") or "")
    rates = [float(part) for part in rate.split(",") if part]
    row = {
        "rw": str(options.get("rw", options.get("readwrite", "read"))),
        "bs": block.split(",")[0],
        "iodepth": str(jobs * depth),
        # One rate holds for each direction, in each process.
        "rate_iops": "",
        "rwmixread": str(options.get("rwmixread", "")),
        "arrival": str(options.get("rate_process", "")),
        # Ages that the measuring script passes on, as a description of the job.
        "age": _age(str(options.get("description", ""))),
    }
    load = load_of(row)
    size = str(options.get("size", "") or "")
    if size:
        load = replace(load, span=load_of({**row, "size": size}).span)
    if rates:
        directions = 2 if load.is_mixed and len(rates) == 1 else 1
        load = replace(load, rate=sum(rates) * directions * jobs)
    return load


def _age(description: str) -> str:
    """Returns the state that a job's description names (`age=steady`); empty if it names none."""
    return description.removeprefix("age=") if description.startswith("age=") else ""


def _of_job(job: Mapping[str, Any], load: Load) -> Iterator[_Value]:
    """Yields the values of a job: of all commands where they are of one kind, otherwise of reads and writes."""
    sides = [(op, job[op]) for op in ("read", "write") if job.get(op, {}).get("total_ios")]
    rate = sum(float(side["iops"]) for _, side in sides)
    if not rate:
        return
    spread = [_rate_spread(side) for _, side in sides]
    yield _with_spread(load, "all", "iops", rate, max(spread))
    bandwidth = sum(float(side["bw_bytes"] if "bw_bytes" in side else side["bw"] * 1024) for _, side in sides) / 1e6
    yield _with_spread(load, "all", "mb_s", bandwidth, max(spread))
    for op, side in sides:
        clat = side.get("clat_ns") or {}
        latency = side.get("lat_ns") or clat
        named = op if load.is_mixed else "all"
        yield _with_spread(load, named, "mean_us", float(latency["mean"]) / 1e3, METRICS["mean_us"])
        # Percentiles are of the completion latency, unless fio was asked for those of the whole (lat_percentiles=1).
        place = latency.get("percentile") or clat.get("percentile") or {}
        whole = 0.0 if latency.get("percentile") else max(float(latency["mean"]) - float(clat.get("mean", latency["mean"])), 0)
        for metric, key in _PERCENTILES.items():
            beyond = side["total_ios"] * (1 - float(key) / 100)
            if place.get(key) and beyond >= _BEYOND:
                yield _with_spread(load, named, metric, (float(place[key]) + whole) / 1e3, METRICS[metric])


def _rate_spread(side: Mapping[str, Any]) -> float:
    """Returns the relative spread of a rate, from its samples, if there are enough of them."""
    samples, deviation, mean = (float(side.get(name, 0)) for name in ("iops_samples", "iops_stddev", "iops_mean"))
    if samples < _BEYOND or mean <= 0:
        return METRICS["iops"]
    return max(deviation / mean / math.sqrt(samples), METRICS["iops"])


def _with_spread(load: Load, op: str, metric: str, value: float, spread: float) -> _Value:
    factor = math.exp(Z90 * spread)
    return _Value(load, op, metric, value, value / factor, value * factor)


def _pooled(values: Sequence[_Value]) -> list[_Value]:
    """Returns one value for all repeats: their geometric mean, with an interval around all of them."""
    groups: dict[tuple[Load, str, str], list[_Value]] = {}
    for value in values:
        groups.setdefault((value.load, value.op, value.metric), []).append(value)
    return [
        replace(
            same[0],
            value=math.exp(sum(math.log(one.value) for one in same) / len(same)),
            low=min(one.low for one in same),
            high=max(one.high for one in same),
        )
        for same in groups.values()
    ]


def _held(loads: Sequence[Load], rates: Mapping[Load, float]) -> set[Load]:
    """Returns the loads that are held out."""
    usual: dict[str, int] = {}
    for pattern in {load.rw for load in loads}:
        blocks = [load.block for load in loads if load.rw == pattern]
        usual[pattern] = max(dict.fromkeys(blocks), key=lambda block: (blocks.count(block), -block))
    held = {load for load in loads if load.block != usual[load.rw] or load.span != 1}
    curves: dict[Load, list[Load]] = {}
    for load in loads:
        curves.setdefault(replace(load, depth=1), []).append(load)
    for curve in curves.values():
        ordered = sorted(curve, key=lambda load: load.depth)
        for before, load in pairwise(ordered):
            if rates.get(load, 0) < (1 + _KNEE) * rates.get(before, 0):
                held.add(load)
    # A pattern that is held out as a whole would leave its fields unknown; too few to fit, too.
    if not held or len(held) > len(loads) / 2:
        held = {load for at, load in enumerate(loads) if at % 3 == 2}
    return held


def _row(value: _Value, id: str, use: str) -> dict[str, str]:
    load = value.load
    return {
        "id": id,
        "rw": load.rw,
        "bs": str(load.block),
        "iodepth": str(load.depth),
        "rate_iops": f"{load.rate:g}" if load.rate else "",
        "rwmixread": str(load.mix) if load.is_mixed else "",
        "size": "" if load.span == 1 else f"{load.span * 100:g}%" if load.span < 1 else size_text(int(load.span)),
        "age": " ".join(part for part in (load.state, load.age, f"{load.cycles}pe" if load.cycles else "") if part),
        "metric": value.metric,
        "value": f"{value.value:.6g}",
        "low": f"{value.low:.6g}",
        "high": f"{value.high:.6g}",
        "use": use,
        "op": "" if value.op == "all" else value.op,
        "arrival": "poisson" if load.is_poisson else "",
    }
