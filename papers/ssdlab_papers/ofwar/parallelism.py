"""Figures 9 to 11 again with 4, 8, 16 and 32 programming units per channel, at recorded speed and on a loaded drive.

The gain of fast writes depends on the other limits of the drive, which the paper leaves open: the number of chips that
program at once, the channel, and how busy they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar.figures import POLICIES, PUBLISHED, Case, beside, change, order, points
from ssdlab_papers.ofwar.loads import LENGTHS, loads, note_of
from ssdlab_papers.ofwar.runs import SHAPES, Effect, Run, run
from ssdlab_papers.scaling import scale_to
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Write utilisations of the baseline that are run beside recorded speed.
_TARGETS = (0.7, 0.9)
#: Condition at which the order of the policies is checked: loaded, and not limited by the bus.
_ORDERED = (8, "0.7")


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the means of all loads under each condition, their trend, and a table of every case."""
    used = [load for load in loads(setting) if LENGTHS[load.name].grid is not None][: 1 if setting.quick else None]
    all_units: Sequence[int] = (8, 32) if setting.quick else [*SHAPES]
    targets = _TARGETS[:1] if setting.quick else _TARGETS
    pieces = [(load, units) for load in used for units in all_units]
    found = setting.share_out("parallelism", lambda piece: _speeds(setting, *piece, targets), pieces)
    cases = [case for several in found for case in several]
    speeds = ("recorded", *map(str, targets))
    for units in all_units:
        for speed in speeds:
            here = [case for case in cases if (case.units, case.speed) == (units, speed)]
            if here:
                yield from _condition(here, note_of(used))
            if here and (units, speed) == _ORDERED:
                yield from order(here, _words(units, speed))
    yield from _trend(cases, min(all_units), max(all_units))
    yield _table(cases)
    for speed in speeds:
        yield _picture([case for case in cases if case.speed == speed], speed)


def _speeds(setting: Setting, load: Load, units: int, targets: Sequence[float]) -> list[Case]:
    """Runs one load on one drive at each speed."""
    length = LENGTHS[load.name]
    requests = length.quick if setting.quick else length.grid

    def measure(policy: str, scale: float) -> Run:
        return run(load.workload(requests, scale), policy, units)

    scales = [("recorded", 1.0, measure("baseline", 1.0))]
    for target in targets if scales[0][2].utilisation else ():
        # Starts from the result of the last search that is not too fast for this target, or else from recorded speed.
        start = next(found for found in reversed(scales) if found[2].utilisation <= target or found is scales[0])
        scales.append((str(target), *scale_to(lambda scale: measure("baseline", scale), target, start[1:])))
    return [
        Case(load, units, speed, scale, base, {policy: Effect(base, measure(policy, scale)) for policy in POLICIES})
        for speed, scale, base in scales
    ]


def _words(units: int, speed: str) -> str:
    how = "recorded speed" if speed == "recorded" else f"write utilisation {speed}"
    return f"{units} units per channel, {how}"


def _condition(cases: Sequence[Case], note: str) -> Iterator[Entry]:
    """Yields the means of all loads under one condition."""
    where = _words(cases[0].units, cases[0].speed)

    def mean(policy: str, key: str) -> float:
        return fmean(getattr(case.effects[policy], key) for case in cases)

    for figure, key, what in (("figure 10a", "mean", "mean response"), ("figure 9", "stddev", "standard deviation")):
        yield Entry(
            work="OFWAR",
            where=figure,
            what=f"{what}: {where}",
            published=PUBLISHED[key],
            standing="stated",
            ours=mean("ofwar", key),
            shown=beside(lambda policy, key=key: mean(policy, key)),  # type: ignore[misc]
            note=note,
        )
    yield Entry(
        work="OFWAR",
        where="figures 10b, 11",
        what=f"rewritten pages; extra writes: {where}",
        published=f"{PUBLISHED['rewritten']}; {PUBLISHED['extra']}",
        standing="stated",
        ours=mean("ofwar", "extra"),
        shown=f"{percent(mean('ofwar', 'rewritten'))}; {percent(mean('ofwar', 'extra'))}",
        note=note,
    )


def _trend(cases: Sequence[Case], few: int, many: int) -> Iterator[Entry]:
    """Yields the trend that fast writes gain less with more programming units per channel."""
    gained = {
        units: fmean(case.effects["all_fast"].mean for case in cases if (case.units, case.speed) == (units, "0.7"))
        for units in (few, many)
    }
    difference = gained[many] - gained[few]
    yield Entry(
        work="OFWAR",
        where="POLICIES 2",
        what=f"all fast over the baseline at write utilisation 0.7: {many} units per channel less {few}",
        published="positive: behind many units the bus is the limit",
        standing="derived",
        ours=difference,
        shown=f"{points(difference)} ({change(gained[many])} less {change(gained[few])})",
        low=0.0,
        high=1.0,
        note="4 KiB at 133 MB/s take 30.8 us of bus, and 32 units at 600 us take 18.75 us per page: they wait for the bus at "
        "normal speed already",
    )


def _table(cases: Sequence[Case]) -> Table:
    """Returns the table of every case."""
    columns = ["load", "units per channel", "speed", "time scale", "write utilisation", "mean us"]
    columns += [f"{policy} {what}" for policy in POLICIES for what in ("mean", "stddev")]
    columns += ["fast writes", "rewrites", "extra writes", "saturated"]

    def row(case: Case) -> list[object]:
        ofwar = case.effects["ofwar"]
        cells: list[object] = [case.load.title, case.units, case.speed, case.time_scale]
        cells += [case.base.utilisation, case.base.mean_ns / 1000]
        cells += [value for policy in POLICIES for value in (case.effects[policy].mean, case.effects[policy].stddev)]
        return [*cells, ofwar.run.fast_share, ofwar.rewritten, ofwar.extra, case.base.saturated]

    return Table(
        name="ofwar-parallelism",
        title="Figures 9 to 11 for every load, number of programming units per channel and speed, each value over the baseline's",
        columns=tuple(columns),
        rows=[row(case) for case in cases],
    )


def _picture(cases: Sequence[Case], speed: str) -> Picture:
    """Returns the mean response over all loads against parallelism, for each policy."""
    all_units = sorted({case.units for case in cases})

    def mean(policy: str, units: int) -> float:
        return fmean(case.effects[policy].mean for case in cases if case.units == units)

    title = "recorded speed" if speed == "recorded" else f"write utilisation {speed}"
    chart = Chart(
        title=f"Mean response over the baseline's, mean of the loads: {title}",
        x=Axis("programming units per channel", ticks=tuple((float(units), str(units)) for units in all_units)),
        y=Axis("mean response / baseline", span=(0.0, 1.1), better="lower"),
        series=tuple(
            Series(policy, [*map(float, all_units)], [mean(policy, units) for units in all_units], dashed=policy != "ofwar")
            for policy in POLICIES
        ),
        marks=(Mark(0.477, "the paper: -52.3 %"),),
    )
    return Picture(name=f"ofwar-parallelism-{speed.replace('.', '')}", chart=chart)
