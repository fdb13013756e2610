"""Every suspension window that was tried: what it does to time, mean and peak, and the front of peak against time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.front import not_beaten
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.ssdexplorer.power.suspension import STEADY, Found, in_us, in_words, load_ms, number_of
from ssdlab_papers.ssdexplorer.power.windows import MEAN, NONE, PEAK, WORK, Runs, Windows, time_of

__all__ = ["entries"]


def _shown(what: str, ours: float, shown: str, note: str = "", load: str = STEADY) -> Claim:
    common: dict[str, Any] = {"work": WORK, "where": "every window", "published": "not stated", "standing": "assumed"}
    return statement(ours, shown, what=what, note=note, load=load, unscored="shown", **common)


def entries(found: Found) -> Iterator[Claim | Picture | Table]:
    """Yields what the windows do, as entries, tables and the front of peak against time."""
    yield from _tried(found)
    yield _every_window(found)
    yield _tests_table(found)
    yield _front_picture(found)


def _tried(found: Found) -> Iterator[Claim]:
    runs = found.steady
    tried = [each for each in runs.by if each.at]
    singles = [each for each in tried if len(each.at) == 1]
    seeds = len(runs.by[NONE])
    yield _shown(
        "combinations of positions, lengths and the rule that were tried",
        float(len(tried)),
        f"{len(tried)}: {len(singles)} with one window (of {', '.join(sorted({each.length for each in singles}))}), "
        f"{len(tried) - len(singles)} with two, {seeds} seeds each",
    )
    falls = [each for each in tried if _high(runs.change(number_of(PEAK), each)) < 0.0]
    rises = [each for each in tried if _low(runs.change(number_of(PEAK), each)) > 0.0]
    yield _shown(
        "combinations that lower the peak, with the whole interval over the seeds below that of none",
        float(len(falls)),
        f"{len(falls)} lower it, {len(rises)} raise it; {sum(each.idle_dies_wait for each in falls)} and "
        f"{sum(each.idle_dies_wait for each in rises)} of these with the rule that idle dies wait",
        "without the rule a window of 200 us takes 2.6 % of the time of the dies, and no more of their pulses. With it, dies "
        "begin together",
    )
    for name, each in found.variants.items():
        for rule in (True, False):
            among = [windows for windows in each.by if windows.at and windows.idle_dies_wait == rule]
            for_peak = each.best(among, PEAK)
            change = each.change(number_of(PEAK), for_peak)
            yield _shown(
                f"{name}: change of the peak at the windows best for it, idle dies {'wait' if rule else 'do not wait'}",
                change.mean,
                f"{in_words(change)} at {for_peak.words}, of {len(among)}; time {in_words(each.change(time_of, for_peak))}",
                "pulses of 10, 15 and 24 mA for lower, middle and upper pages, of the same mean [A]: the thesis names the upper "
                "page the most power hungry (figure 4.5e)"
                if name.startswith("upper")
                else "writes go to the dies in turn, which keeps their page types in step, as the thesis has it",
            )


def _high(found: Estimate) -> float:
    return found.mean if found.high is None else found.high


def _low(found: Estimate) -> float:
    return found.mean if found.low is None else found.low


def _front(runs: Runs) -> list[Windows]:
    """Returns the windows, and none, that no other beats in both time and peak."""
    each = [*runs.by]
    losses = [(runs.estimate(time_of, one).mean, runs.estimate(number_of(PEAK), one).mean) for one in each]
    return [each[place] for place in sorted(not_beaten(losses), key=lambda place: losses[place])]


def _every_window(found: Found) -> Table:
    runs = found.steady
    front = {*_front(runs)}
    rows = []
    for windows in runs.by:
        row: list[object] = [windows.words, windows.length, windows.idle_dies_wait] if windows.at else ["none", None, None]
        for value in (time_of, number_of(MEAN), number_of(PEAK)):
            change = runs.change(value, windows)
            row += [change.mean, change.low, change.high]
        rows.append([*row, runs.estimate(number_of(PEAK), windows).mean, windows in front])
    changes = [f"{name} %{bound}" for name in ("time", "mean power", "peak power") for bound in ("", " low", " high")]
    return Table(
        name="ssdexplorer-power-windows",
        title="Every suspension window: changes over none with 95 % intervals, from 20 ms on",
        columns=("at", "length", "idle dies wait", *changes, "peak W", "on the front"),
        rows=rows,
    )


def _tests_table(found: Found) -> Table:
    rows: list[list[object]] = []
    for depth, runs in found.depths.items():
        for windows in runs.by:
            rule = windows.idle_dies_wait if windows.at else None
            overhead = in_us(windows.overhead) if windows.at else None
            values = (runs.estimate(value, windows).mean for value in (load_ms, number_of(MEAN), number_of(PEAK)))
            rows.append([f"T{1 + len(windows.at)}", depth, windows.words, overhead, rule, *values])
    return Table(
        name="ssdexplorer-power-tests",
        title="Table 4.2: whole runs",
        columns=("test", "depth", "at", "overhead us", "idle dies wait", "time ms", "mean W", "peak W"),
        rows=rows,
    )


def _front_picture(found: Found) -> Picture:
    runs = found.steady

    def at(windows: Windows) -> tuple[float, float]:
        return runs.change(time_of, windows).mean, runs.estimate(number_of(PEAK), windows).mean

    def cloud(name: str, among: list[Windows]) -> Series:
        points = [at(each) for each in among]
        return Series(name, [x for x, _ in points], [y for _, y in points], joined=False)

    kinds = [
        (
            f"{words}, idle dies {'wait' if rule else 'do not wait'}",
            [each for each in runs.by if len(each.at) == count and each.idle_dies_wait == rule],
        )
        for count, words in ((1, "one window"), (2, "two windows"))
        for rule in (True, False)
    ]
    front = [at(each) for each in _front(runs)]
    curve = Series("front", [x for x, _ in front], [y for _, y in front], points=False, dashed=True)
    return Picture(
        name="ssdexplorer-power-front",
        chart=Chart(
            title="Suspension windows: peak power against time, every combination",
            x=Axis("time over that without windows [%]", better="lower"),
            y=Axis("peak power [W]", better="lower"),
            series=(cloud("no window", [NONE]), *(cloud(*kind) for kind in kinds), curve),
            marks=(Mark(runs.estimate(number_of(PEAK)).mean, "no window"),),
        ),
    )
