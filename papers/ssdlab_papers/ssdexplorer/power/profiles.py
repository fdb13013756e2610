"""Figures 4.7 to 4.11: the power of the flash over time in T1, T2 and T3, and the current of a program with windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

import ssdlab
from ssdlab.charts import Axis, Chart, Series
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.entry import Picture
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power.peaks import currents, pulses
from ssdlab_papers.ssdexplorer.power.suspension import T2, T3, Found
from ssdlab_papers.ssdexplorer.power.windows import DRIVE, MEAN, NONE, PEAK, WORK, Windows
from ssdlab_papers.ssdexplorer.runs import SPECS

_COMMANDS = 131_072
#: Rows of a picture over a whole run.
_ROWS = 120
#: Interval of the search for repetition, after the common begin of all dies and before the end [ms].
_FROM_MS, _UNTIL = 20.0, 0.9
#: Shortest and longest period that counts as a repetition [ms].
_PERIODS_MS = (1.0, 30.0)
_UPPER_US = 4300.0


def entries(setting: Setting, found: Found) -> Iterator[Claim | Picture]:
    """Yields whether the power repeats, and the pictures."""
    chosen = [NONE] + [
        found.steady.best(found.steady.chosen(stated.count, idle_dies_wait=True), number)
        for stated in (T2, T3)
        for number in (MEAN, PEAK)
    ]
    names = ("T1", "T2, best for the mean", "T2, best for the peak", "T3, best for the mean", "T3, best for the peak")
    commands = _COMMANDS // 4 if setting.quick else _COMMANDS
    tables = []
    for place, windows in enumerate(chosen):
        if setting.progress is not None:
            setting.progress(place / len(chosen), f"power over time: {names[place]}")
        result = run(DRIVE, str(SPECS / "table_4_2.fio"), set=windows.as_set(), stop_after=commands)
        table = result.power_table()
        assert table is not None, "the drive describes its currents"
        tables.append(table)
    yield _repeats(tables[0])
    yield _over_time("ssdexplorer-figure-4-7", "Figure 4.7: power of the flash in T1", names[:1], tables[:1])
    yield _over_time("ssdexplorer-figure-4-9", "Figures 4.9, 4.11: mean power of the flash in T2 and T3", names, tables)
    yield _waveforms(names[1:], chosen[1:])


def _columns(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    time, mean, peak = (table[name].to_numpy() for name in ("time_ns", "mean_w", "peak_w"))
    return time / 1e6, mean, peak


def repetition(time_ms: np.ndarray, power: np.ndarray) -> tuple[float, float, int]:
    """Returns the largest autocorrelation of the power for periods of some ms, the period, and the number of rows."""
    step = float(time_ms[1] - time_ms[0])
    inside = power[(time_ms >= _FROM_MS) & (time_ms < _UNTIL * time_ms[-1])]
    around = inside - inside.mean()
    shares = np.correlate(around, around, "full")[len(around) - 1 :] / float(around @ around)
    low, high = (int(period / step) for period in _PERIODS_MS)
    at = low + int(np.argmax(shares[low:high]))
    return float(shares[at]), at * step, len(inside)


def _repeats(table: pa.Table) -> Claim:
    time, mean, _ = _columns(table)
    share, period, rows = repetition(time, mean)
    return statement(
        share,
        f"{share:.2f} at {period:.1f} ms; noise reaches {4.0 / rows**0.5:.2f}",
        work=WORK,
        where="figure 4.7",
        what="T1: largest autocorrelation of the power over time, for periods of 1 to 30 ms, against noise (four sigma)",
        published="a repetitive sequence of power fluctuations",
        low=4.0 / rows**0.5,
        seeds=1,
        load="table 4.2, depth 1024",
        note="a die programs lower, middle and upper pages in turn (7 ms, and reads between them), as the thesis has it",
    )


def _over_time(name: str, title: str, names: Sequence[str], tables: Sequence[pa.Table]) -> Picture:
    series = []
    for label, table in zip(names, tables, strict=True):
        time, mean, peak = _columns(table)
        rows = [each for each in np.array_split(np.arange(len(time)), _ROWS) if len(each)]
        at = [float(time[each[0]]) for each in rows]
        series.append(Series(f"{label}: mean", at, [float(mean[each].mean()) for each in rows], points=False))
        if len(tables) == 1:
            series.append(
                Series(f"{label}: greatest window of 1 us", at, [float(peak[each].max()) for each in rows], points=False)
            )
    y = Axis("power [W]", span=(0.0, 4.5) if len(tables) == 1 else None)
    return Picture(name=name, chart=Chart(title=title, x=Axis("time [ms]"), y=y, series=tuple(series)))


def _waveforms(names: Sequence[str], chosen: Sequence[Windows]) -> Picture:
    """Returns the current of a program of an upper page with the windows of each test, one curve above the other."""
    period, width, base, peak = pulses(currents(ssdlab.Drive.open(DRIVE).text), 2)
    series = []
    for place, (name, windows) in enumerate(zip(names, chosen, strict=True)):
        edges = sorted({0.0, _UPPER_US, *(_UPPER_US * at for at in windows.at)})
        edges += [k * period for k in range(int(_UPPER_US / period) + 1)] + [
            k * period + width for k in range(int(_UPPER_US / period) + 1)
        ]
        x: list[float] = []
        y: list[float] = []
        late = 0.0
        for begin, end in zip(sorted({*edges}), sorted({*edges})[1:], strict=False):
            if begin >= _UPPER_US:
                break
            if any(abs(begin - _UPPER_US * at) < 1e-9 for at in windows.at):
                x += [begin + late, begin + late + 200.0]
                y += [0.0, 0.0]
                late += 200.0
            current = peak if begin % period < width - 1e-9 else base
            x += [begin + late, end + late]
            y += [current, current]
        series.append(
            Series(f"{name}: {windows.words}", [at / 1e3 for at in x], [each + 25.0 * place for each in y], points=False)
        )
    return Picture(
        name="ssdexplorer-figure-4-8",
        chart=Chart(
            title="Figures 4.8, 4.10: assumed current of an upper page's program with windows, each curve 25 mA above the last",
            x=Axis("time [ms]"),
            y=Axis("current [mA]"),
            series=tuple(series),
        ),
    )
