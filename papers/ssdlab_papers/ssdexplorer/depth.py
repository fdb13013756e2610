"""Figures 2.3 to 2.6: depth of the host's queue against bandwidth and the 99.99th percentile, head-of-line blocking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ssdlab.charts import Axis, Chart, Mark
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, rises, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.runs import WORK, run_sweep
from ssdlab_papers.sweeps import Points, curve

#: Depths of figures 2.3 to 2.6.
_DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Thresholds of the target queues: one that is never exceeded, and that with head-of-line blocking.
_FREE, _BLOCKED = 65535, 7
#: The target of the figures: reads per second, and 99.99th percentile [ms].
_KIOPS, _QOS_MS = 300.0, 2.0
_LOAD = "random reads of 4 KiB on 8 channels x 8 targets"
_RATES = ("166MT/s", "190MT/s", "200MT/s", "220MT/s", "267MT/s", "400MT/s")


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the claims of section 2.2, with the figures."""
    points = run_sweep(setting, "depth")

    def iops(depth: int, threshold: int = _FREE) -> Estimate:
        return points.estimate("throughput.iops", _at(depth, threshold), 1e3)

    def tail(depth: int, threshold: int = _FREE) -> Estimate:
        return points.estimate("latency.all.p99_99_ns", _at(depth, threshold), 1e6)

    meets = [depth for depth in _DEPTHS if iops(depth).mean >= _KIOPS and tail(depth).mean <= _QOS_MS]
    seeds = iops(64).count
    common: dict[str, Any] = {"work": WORK, "load": _LOAD, "seeds": seeds}
    condition = _condition(run_sweep(setting, "depth_rates"))
    yield statement(
        float(sum(depth != 64 for depth in meets) + (64 not in meets)),
        f"{', '.join(map(str, meets)) or 'none'}: 64 has {_show(iops(64), 'kIOPS')} and {_show(tail(64), 'ms')}",
        where="figure 2.3",
        what="depths that meet 300 kIOPS and 2 ms at 99.99 %: how many differ from the thesis",
        published="64 alone",
        high=0.0,
        condition=condition,
        note=f"condition: {condition}; the thesis does not state the rate; 200 MT/s is derived from this very statement",
        **common,
    )
    yield statement(
        min(tail(after).mean / tail(before).mean for before, after in pairwise(_DEPTHS)),
        " → ".join(f"{tail(depth).mean:.2f}" for depth in _DEPTHS) + " ms",
        where="figure 2.3",
        what="99.99th percentile by depth: smallest ratio of one to the one before",
        published="the deeper the queue, the higher",
        low=1.0 + NOTICEABLE,
        **common,
    )
    for depth in (128, 256):
        blocked, free = tail(depth, _BLOCKED), tail(depth)
        yield statement(
            _upper(blocked),
            f"{_show(blocked, 'ms')}, without blocking {_show(free, 'ms')}; {_show(iops(depth, _BLOCKED), 'kIOPS')}",
            where="figure 2.5",
            what=f"99.99th percentile at depth {depth} with head-of-line blocking",
            published="below 2 ms, at 300 kIOPS or more",
            high=_QOS_MS if iops(depth, _BLOCKED).mean >= _KIOPS else -1.0,
            agrees=falls(blocked.mean / free.mean - 1.0),
            note=""
            if _upper(blocked) <= _QOS_MS
            else "the mean of the seeds is below 2 ms, the upper end of its interval is not",
            **common,
        )
    for depth in (64, 128, 256):
        pays = points.change("latency.all.mean_ns", _at(depth, _FREE), _at(depth, _BLOCKED))
        low = pays.mean if pays.low is None else pays.low
        yield statement(
            low,
            f"{100 * pays.mean:+.1f} %, at least {100 * low:+.1f} %",
            where="figure 2.6",
            what=f"mean latency at depth {depth} with head-of-line blocking over without",
            published="it rises, the more the deeper the queue (64, 128, 256)",
            low=NOTICEABLE,
            agrees=rises(pays.mean),
            note="at depth 64 a target's queue hardly ever exceeds the threshold that holds depth 256 below 2 ms"
            if depth == 64
            else "",
            **common,
        )
    yield _table(points)
    yield from _pictures(points)


def _condition(points: Points) -> str:
    """Returns the transfer rates with which a depth of 64, and no other, meets both targets."""

    def meets(rate: str, depth: int) -> bool:
        where = {"workload.iodepth": depth, "flash.transfer_rate": rate}
        enough = points.estimate("throughput.iops", where, 1e3).mean >= _KIOPS
        return enough and points.estimate("latency.all.p99_99_ns", where, 1e6).mean <= _QOS_MS

    found = [rate for rate in _RATES if meets(rate, 64) and not meets(rate, 32) and not meets(rate, 128)]
    others = [rate for rate in _RATES if rate not in found]
    return f"channels of {', '.join(found) or 'no rate tried'} (not of {', '.join(others)})"


def _at(depth: int, threshold: int) -> dict[str, object]:
    return {"workload.iodepth": depth, "controller.target_queues.threshold": threshold}


def _upper(found: Estimate) -> float:
    return found.mean if found.high is None else found.high


def _show(found: Estimate, unit: str) -> str:
    half = "" if found.high is None else f" ± {found.high - found.mean:.2g}"
    return f"{found.mean:.4g}{half} {unit}"


def _table(points: Points) -> Table:
    rows = [
        [
            depth,
            threshold == _BLOCKED,
            *(
                value
                for number, scale in (("throughput.iops", 1e3), ("latency.all.mean_ns", 1e3), ("latency.all.p99_99_ns", 1e6))
                for found in (points.estimate(number, _at(depth, threshold), scale),)
                for value in (found.mean, found.low, found.high)
            ),
        ]
        for threshold in (_FREE, _BLOCKED)
        for depth in _DEPTHS
    ]
    columns = [f"{name}{bound}" for name in ("kIOPS", "mean us", "p99.99 ms") for bound in ("", " low", " high")]
    return Table(
        name="ssdexplorer-depth",
        title="Figures 2.3 to 2.6: bandwidth and latency by queue depth, with 95 % intervals",
        columns=("depth", "blocking", *columns),
        rows=rows,
    )


def _pictures(points: Points) -> Iterator[Picture]:
    ticks = tuple((float(depth), str(depth)) for depth in _DEPTHS)
    for name, number, scale, title, mark in (
        ("bandwidth", "throughput.iops", 1e3, "reads per second [thousands]", Mark(_KIOPS, "300 kIOPS")),
        ("qos", "latency.all.p99_99_ns", 1e6, "99.99th percentile [ms]", Mark(_QOS_MS, "2 ms")),
        ("mean", "latency.all.mean_ns", 1e6, "mean latency [ms]", None),
    ):
        series = []
        for threshold, label in ((_FREE, "without blocking"), (_BLOCKED, "head-of-line blocking")):
            found = [points.estimate(number, _at(depth, threshold), scale) for depth in _DEPTHS]
            series.append(curve(label, [*map(float, _DEPTHS)], found))
        chart = Chart(
            title=f"Figures 2.3 to 2.6: {title} by the depth of the host's queue",
            x=Axis("queue depth", log=True, ticks=ticks),
            y=Axis(title),
            series=tuple(series),
            marks=(mark,) if mark else (),
        )
        yield Picture(name=f"ssdexplorer-depth-{name}", chart=chart)
