"""The gain by the number of programming units per channel, by the load's speed, and by the depth of the rewrite queue.

The gain of fast writes depends on the other limits of the drive, of which the paper states some and leaves others open:
the number of chips that program at once, the channel, and how busy they are. Utilisations are the measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.claim import Claim, unclaimed
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.ofwar.loads import LENGTHS, QUEUE_FULL, Loads, loads
from ssdlab_papers.ofwar.runs import (
    COLUMNS,
    SHAPES,
    WORK,
    Pair,
    deviation,
    extra,
    on_bus,
    on_drive,
    on_full,
    over_loads,
    response,
    rewritten,
    shape,
    short,
)
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, samples
from ssdlab_papers.traces import Load, titles

#: Loads, and speeds relative to the recording.
_LOADS = ("iozone", "postmark", "desktop", "telegram")
_SPEEDS = (1.0, 4.0, 16.0)
#: Depths of the rewrite queue: the paper's, and two that no load fills, or hardly.
_DEPTHS = (65_536, 262_144, 4_194_304)
_DEPTH_UNITS = (4, 8, 16)


@dataclass(frozen=True, slots=True)
class Case:
    """One load on one drive at one speed: OFWAR and the bound beside the baseline."""

    load: Load
    units: int
    speed: float
    ofwar: Pair
    bound: Pair

    @property
    def utilisation(self) -> Estimate:
        """Measured share of the time that the baseline's programming units write."""
        return self.ofwar.base.estimate(_busy)


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the gain by units and speed, and by the depth of the queue."""
    used = loads(setting)
    cases = _measured(setting, used)
    for units in dict.fromkeys(case.units for case in cases):
        for speed in dict.fromkeys(case.speed for case in cases):
            yield _condition([case for case in cases if (case.units, case.speed) == (units, speed)])
    yield _picture(cases)
    yield _table(cases)
    yield from _depths(setting, used)


def _busy(row: Row) -> float:
    return float(row["utilisation.dies_writing"] or 0.0)


def _measured(setting: Setting, used: Loads) -> list[Case]:
    chosen = [load for load in used.leading if load.name in _LOADS][: 1 if setting.quick else None]
    all_units: Sequence[int] = (8, 32) if setting.quick else [*SHAPES]
    speeds = _SPEEDS[:1] if setting.quick else _SPEEDS
    wanted = [(load, units, speed) for load in chosen for units in all_units for speed in speeds]
    points = [
        {**load.fields(LENGTHS[load.name].quick, speed), **on_drive(policy, units), "precondition": "steady"}
        for load, units, speed in wanted
        for policy in ("baseline", "ofwar", "all_fast")
    ]
    runs = samples(setting, "parallelism", points, columns=COLUMNS)
    several = zip(wanted, runs[::3], runs[1::3], runs[2::3], strict=True)
    return [Case(*each, Pair(each[0], base, ofwar), Pair(each[0], base, bound)) for each, base, ofwar, bound in several]


def _condition(cases: Sequence[Case]) -> Claim:
    """Returns the means of all loads at one number of units and one speed."""
    ofwar, bound = ([case.ofwar for case in cases], [case.bound for case in cases])
    found = over_loads(response, ofwar)
    first = cases[0]
    busy = ", ".join(f"{case.load.known.title} {case.utilisation.mean:.2f}" for case in cases)
    further = ", ".join(
        f"{name} {text(over_loads(quantity, ofwar).mean)}"
        for name, quantity, text in (
            ("deviation", deviation, change_text),
            ("rewritten", rewritten, percent),
            ("extra", extra, percent),
        )
    )
    return unclaimed(
        found,
        f"{change_text(found.mean)} (all fast {change_text(over_loads(response, bound).mean)}); {further}",
        work=WORK,
        where="figures 9 to 11",
        what=f"mean response time, {first.units} units per channel, {first.speed:g} times the recorded speed",
        published="-52.3 %",
        standing="stated",
        load=titles([case.load for case in cases]),
        real_trace=all(case.load.is_trace for case in cases),
        note=f"measured write utilisation of the baseline: {busy}",
    )


def _picture(cases: Sequence[Case]) -> Picture:
    """Returns the change of the mean response against the measured utilisation, a dot for each load and speed."""
    series = []
    for units in dict.fromkeys(case.units for case in cases):
        here = [case for case in cases if case.units == units]
        places = [case.utilisation.mean for case in here]
        values = [100.0 * case.ofwar.estimate(response).mean for case in here]
        series.append(Series(f"{units} units per channel", places, values, joined=False))
    chart = Chart(
        title="Change of the mean response time by the measured write utilisation",
        x=Axis("write utilisation of the baseline", span=(0.0, 1.0)),
        y=Axis("change of the mean response time (%)", better="lower"),
        series=tuple(series),
        marks=(Mark(-52.3, "the paper's mean of ten traces"),),
    )
    return Picture(name="ofwar-parallelism", chart=chart)


def _table(cases: Sequence[Case]) -> Table:
    """Returns the numbers of every case."""
    quantities = (response, deviation, rewritten, extra, on_full)
    rows = [
        [
            case.load.title,
            case.units,
            case.speed,
            case.utilisation.mean,
            *(case.ofwar.estimate(quantity).mean for quantity in quantities),
            case.bound.estimate(response).mean,
        ]
        for case in cases
    ]
    columns = ("load", "units per channel", "speed", "write utilisation", "response", "deviation", "rewritten", "extra")
    further = ("writes on a full queue", "response of the bound")
    return Table(name="ofwar-parallelism", title="The gain by units per channel and speed", columns=columns + further, rows=rows)


def _depths(setting: Setting, used: Loads) -> Iterator[Claim]:
    """Yields the gain by the depth of the queue on the traces that fill it, with few units and with the paper's."""
    chosen = [load for load in used.leading if load.name in QUEUE_FULL]
    depths, all_units = (_DEPTHS[::2], _DEPTH_UNITS[1:2]) if setting.quick else (_DEPTHS, _DEPTH_UNITS)
    for load in chosen:
        requests = LENGTHS[load.name].requests_of_sweep(setting)
        ways: list[tuple[str, dict[str, object]]] = [("baseline", {}), ("all_fast", {})]
        ways += [("ofwar", {"policy.ofwar.queue_depth": depth}) for depth in depths]
        points = [on_bus(load, requests, policy, {**shape(units), **fields}) for units in all_units for policy, fields in ways]
        runs = samples(setting, f"depth of the queue, {load.name}", points, columns=COLUMNS)
        for place, units in enumerate(all_units):
            base, bound, *others = runs[place * len(ways) : (place + 1) * len(ways)]
            pairs = [Pair(load, base, run) for run in others]
            each = "; ".join(
                f"{short(depth)}: {change_text(pair.estimate(response).mean)}, "
                f"full for {percent(pair.estimate(on_full).mean)} of the writes"
                for depth, pair in zip(depths, pairs, strict=True)
            )
            limit = Pair(load, base, bound).estimate(response).mean
            deepest = pairs[-1].estimate(response)
            yield unclaimed(
                deepest,
                f"{each}; all fast {change_text(limit)}",
                work=WORK,
                where="section 6.1",
                what=f"mean response time by D_rw, {load.title}, {units} units per channel",
                load=load.title,
                real_trace=load.is_trace,
                note=_limited_by(limit, pairs[0].estimate(response).mean, deepest.mean),
            )


def _limited_by(bound: float, stated: float, deepest: float) -> str:
    """Returns what limits the gain on a load: the depth of the queue, the threshold of waiting writes, or the drive."""
    by_depth, by_threshold = stated - deepest, deepest - bound
    if max(by_depth, by_threshold) < 0.05:
        return "the drive is the limit: writing everything fast gains little more"
    if by_depth >= by_threshold:
        return "the queue of 64 K entries is the limit: a deeper one makes up most of the distance to the bound"
    return "the threshold of waiting writes is the limit: a deeper queue makes up little of the distance to the bound"
