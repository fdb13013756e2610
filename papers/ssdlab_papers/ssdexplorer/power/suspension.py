"""Tables 4.1 and 4.2: tests T1, T2 and T3, whose suspension windows are tried at every position and pair of positions.

The thesis shifts the windows "on all possible suspension points" and reports the two that lower the mean and the peak
most. It states effects on four quantities that contradict each other (FACTS 5.9, THESIS 8), so that each is scored on
its own, and the contradictions are entries, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ssdlab
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab_papers.claim import Claim, falls, number, rises, taken, unclaimed
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power.windows import DRIVE, MEAN, NONE, PEAK, WORK, Row, Runs, Windows, time_of
from ssdlab_papers.ssdexplorer.runs import SPECS, run_sweep
from ssdlab_papers.sweeps import samples

__all__ = ["STEADY", "T2", "T3", "Found", "entries", "in_us", "in_words", "load_ms", "measure", "number_of", "overhead_currents"]

#: Depth at which T2 and T3 are run: the dies are always busy, as in the thesis (FACTS 5.9).
_DEPTH = 1024
_DEPTHS = (256, 512, 1024, 4096)
_COMMANDS, _DIES = 131_072, 128
#: Programs of upper pages in the load, and the supply [V].
_SUSPENDED, _SUPPLY = _COMMANDS // 12, 3.3
_LOAD = "table 4.2: 512 MB, random, 4 KiB, 25 % writes, depth 1024"
STEADY = "as table 4.2, from 20 ms on, depth 1024"
_UPPER_US = 4300.0
#: Time of the load if all dies are always busy, without transfers: 32,768 programs and 98,304 reads of the mean times
#: of table 4.1 (FACTS 5.9).
_BOUND_MS = (_COMMANDS / 4 * 2333.3 + _COMMANDS * 3 / 4 * 86.7) / _DIES / 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Statements of the thesis on a test with windows, in percent of the test without."""

    test: str
    #: Number of windows.
    count: int
    mean: float
    #: Half of the last digit of `mean`, of `peak`, and of the other two.
    mean_digit: float
    peak: float
    peak_digit: float
    time: float
    upper: float
    figures: str
    #: Overhead of each suspension that `upper` implies, as in the specification.
    overhead: str
    #: Positions of the runs of the whole table.
    at: tuple[float, ...]


T2 = Stated(
    test="T2",
    count=1,
    mean=-3.5,
    mean_digit=0.05,
    peak=-11.5,
    peak_digit=0.05,
    time=5.0,
    upper=16.0,
    figures="figures 4.8, 4.9",
    overhead="488us",
    at=(0.5,),
)
T3 = Stated(
    test="T3",
    count=2,
    mean=-5.0,
    mean_digit=0.5,
    peak=-13.0,
    peak_digit=0.5,
    time=10.0,
    upper=27.0,
    figures="figures 4.10, 4.11",
    overhead="380500ns",
    at=(0.3, 0.7),
)
_TESTS = (T2, T3)
_DIGIT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All runs of the section."""

    #: Whole runs of table 4.2 at a depth of 1,024, and T1 by depth.
    whole: Runs
    depths: dict[int, Runs]
    #: Runs from 20 ms on, at the currents of the preset, and at other assumptions by their description.
    steady: Runs
    variants: dict[str, Runs]


def measure(setting: Setting) -> Found:
    """Does the sweeps."""
    tests = run_sweep(setting, "power_tests").rows
    few = [[place] for place in (0.1, 0.3, 0.5, 0.7, 0.9)]
    single = run_sweep(setting, "power_single", fewer={f"{_AT}.at": few, f"{_AT}.length": ["200us"]}).rows
    pairs = run_sweep(setting, "power_pairs", fewer={f"{_AT}.at": [[0.1, 0.5], [0.3, 0.7], [0.5, 0.9]]}).rows
    variants = run_sweep(setting, "power_variants", fewer={f"{_AT}.at": [[], [0.1, 0.5]]}).rows
    depths = {depth: Runs(tests, **{"workload.iodepth": depth}) for depth in _DEPTHS}
    by: dict[tuple[object, object], list[Row]] = {}
    for row in variants:
        by.setdefault((row["power.program"], row["ftl.write_allocation"]), []).append(row)
    preset, heavy, turns = by.values()
    return Found(
        whole=depths[_DEPTH],
        depths=depths,
        steady=Runs([*preset, *single, *pairs]),
        variants={"upper pages draw most": Runs(heavy), "dies in turn, depth 256": Runs(turns)},
    )


_AT = "power.suspend[0]"


def _watts(value: float) -> str:
    return f"{value:.3g} W"


def _percent(value: float) -> str:
    return f"{value:.3g} %"


def _ms(value: float) -> str:
    return f"{value:.4g} ms"


def number_of(name: str) -> Callable[[Row], float]:
    """Returns the function that takes a number from a row."""
    return lambda row: float(row[name])


def entries(found: Found) -> Iterator[Claim]:
    """Yields the claims of table 4.2, and what contradicts each other in them."""
    yield from _inputs(found)
    yield from _baseline(found)
    for stated in _TESTS:
        yield from _test(found, stated)
    yield from _contradictions(found)


def _inputs(found: Found) -> Iterator[Claim]:
    drive = tomllib.loads(ssdlab.Drive.open(DRIVE).text)
    times = [float(text.removesuffix("us")) for text in drive["flash"]["program_time"]]
    note = "a parameter of the preset"
    common: dict[str, Any] = {"work": WORK, "where": "table 4.1"}
    yield taken(
        estimate([sum(times) / len(times)]),
        what="mean tPROG of lower, middle and upper pages",
        published="800, 1900, 4300 us",
        unit=lambda value: f"{value:.0f} us",
        note=note,
        **common,
    )
    supply = float(drive["power"]["supply"].removesuffix("V"))
    yield taken(estimate([supply]), what="supply", published="3.3 V", unit=lambda value: f"{value:g} V", note=note, **common)
    yield taken(
        found.whole.estimate(number_of(MEAN)),
        what="mean power in T1",
        published="1.87 W",
        unit=_watts,
        note="the assumed mean current of a program is what the stated mean power leaves if dies do nothing but program and "
        "sense; transfers on the channel take another 1.8 % of the time of a die",
        work=WORK,
        where="section 4.1.2",
        load=_LOAD,
    )


def _baseline(found: Found) -> Iterator[Claim]:
    common: dict[str, Any] = {"work": WORK, "where": "figure 4.7", "load": _LOAD}
    whole = found.whole
    yield number(
        whole.estimate(load_ms),
        660.0,
        0.5,
        what="T1: time",
        unit=_ms,
        note=f"the arrays alone take {_BOUND_MS:.1f} ms if all 128 dies are always busy [D]. Each operation also holds its die "
        "during its transfer on the channel, 10 us and commands: 675 ms; the shares of the random load differ by seed",
        **common,
    )
    depths = ", ".join(f"{runs.estimate(number_of(PEAK)).mean:.2f} W at depth {depth}" for depth, runs in found.depths.items())
    steady = found.steady.estimate(number_of(PEAK))
    yield number(
        whole.estimate(number_of(PEAK)),
        3.52,
        0.005,
        what="T1: peak power",
        unit=_watts,
        note=f"{depths}: this peak lies in the first 0.3 ms, in which all dies begin at once. From 20 ms on it is "
        f"{steady.mean:.2f} W. It follows from the assumed pulses, and is not fitted",
        **common,
    )


def _test(found: Found, stated: Stated) -> Iterator[Claim]:
    """Yields the four quantities of a test, at the windows that are best for the mean and for the peak."""
    runs = found.steady
    among = runs.chosen(stated.count, idle_dies_wait=True)
    free = runs.chosen(stated.count, idle_dies_wait=False)
    for_mean, for_peak, free_peak = runs.best(among, MEAN), runs.best(among, PEAK), runs.best(free, PEAK)
    mean, peak, time = (
        runs.change(number_of(MEAN), for_mean),
        runs.change(number_of(PEAK), for_peak),
        runs.change(time_of, for_mean),
    )
    common: dict[str, Any] = {"work": WORK, "where": f"table 4.2, {stated.figures}", "load": STEADY, "unit": _percent}
    rule = f"best of {len(among)} with the stated rule that idle dies wait"
    lost = _range([runs.change(number_of(MEAN), each) for each in free])
    yield number(
        mean,
        stated.mean,
        stated.mean_digit,
        what=f"{stated.test}: mean power, windows best for it",
        agrees=falls(mean.mean / 100.0),
        note=f"at {for_mean.words}, {rule}: of 128 dies some are nearly always in a window, so that idle ones wait most of the "
        f"time. Without the rule every position gives {lost}",
        **common,
    )
    without = runs.change(number_of(PEAK), free_peak)
    yield number(
        peak,
        stated.peak,
        stated.peak_digit,
        what=f"{stated.test}: peak power, windows best for it",
        agrees=falls(peak.mean / 100.0),
        note=f"at {for_peak.words}, {rule}: dies that waited for one window begin together when it ends. Without the rule "
        f"{in_words(without)} at {free_peak.words}",
        **common,
    )
    region, each_us = _region(found, stated)
    yield number(
        time,
        stated.time,
        _DIGIT,
        what=f"{stated.test}: time, windows best for the mean",
        agrees=rises(time.mean / 100.0),
        region=region,
        note=f"comes out {region}" if region else "",
        **common,
    )
    upper = 100.0 * stated.count * 200.0 / _UPPER_US
    yield number(
        Estimate(1, upper, None, None),
        stated.upper,
        _DIGIT,
        what=f"{stated.test}: latency of an upper page, window of 200 us",
        agrees=rises(upper / 100.0),
        note=f"the windows alone; {stated.upper:g} % of 4.3 ms are {stated.upper / 100 * _UPPER_US:.0f} us, {stated.count} x "
        f"(200 us + {in_us(stated.overhead):.0f} us of overhead) [D]; the stated time of the test is that of "
        f"{each_us:.0f} us for a suspension",
        **common,
    )


def in_us(text: str) -> float:
    """Returns a time with its unit in microseconds."""
    return float(text.removesuffix("us")) if text.endswith("us") else float(text.removesuffix("ns")) / 1e3


def in_words(found: Estimate) -> str:
    """Returns a change with half of its interval."""
    half = "" if found.high is None else f" ± {found.high - found.mean:.2g}"
    return f"{found.mean:+.1f}{half} %"


def _range(found: list[Estimate]) -> str:
    means = sorted(each.mean for each in found)
    low, high = f"{means[0]:+.1f}", f"{means[-1]:+.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _whole(stated: Stated, *, overhead: str = NONE.overhead, idle_dies_wait: bool = False) -> Windows:
    return Windows(stated.at, overhead=overhead, idle_dies_wait=idle_dies_wait)


def _region(found: Found, stated: Stated) -> tuple[str, float]:
    """Returns how long a suspension must take for the stated time of the test, where idle dies do not wait.

    The time grows with it in proportion; it is interpolated between the runs without and with the overhead.
    """
    at = [200.0, 200.0 + in_us(stated.overhead)]
    each = [found.whole.change(load_ms, _whole(stated, overhead=text)).mean for text in (NONE.overhead, stated.overhead)]
    us = at[0] + (stated.time - each[0]) * (at[1] - at[0]) / (each[1] - each[0])
    within = at[0] <= us <= at[1]
    return (f"with {us:.0f} us for each suspension and without the rule that idle dies wait" if within else "", us)


def load_ms(row: Row) -> float:
    """Returns the time of the whole load; that of a quick run, a quarter of it, is multiplied."""
    return float(row["simulated_ns"]) / 1e6 * _COMMANDS / float(row["commands.read"] + row["commands.write"])


def _contradictions(found: Found) -> Iterator[Claim]:
    """Yields what the stated numbers of a test imply for each other."""
    for stated in _TESTS:
        windows = _whole(stated, overhead=stated.overhead)
        time = found.whole.change(load_ms, windows)
        common: dict[str, Any] = {"work": WORK, "where": f"contradictions, {stated.test}", "load": _LOAD, "unit": _percent}
        share = stated.upper * (_COMMANDS / 4 / 3) * _UPPER_US / _DIES / (1e3 * _BOUND_MS)
        yield number(
            time,
            stated.time,
            _DIGIT,
            what=f"{stated.test}: time if an upper page takes {stated.upper:g} % longer, as stated",
            agrees=rises(time.mean / 100.0),
            note=f"a third of the programs are upper pages, and the dies are always busy: {share:+.1f} % [D]. The stated time "
            "and the stated latency exclude each other on a drive bound by its dies",
            **common,
        )
        energy = found.whole.change(_energy, _whole(stated))
        implied = _implied_energy(stated)
        digits = stated.mean_digit + _DIGIT
        yield number(
            energy,
            implied,
            digits,
            what=f"{stated.test}: energy of the whole load, mean power times time",
            standing="derived",
            note="a program that rests draws the rest of its pulses afterwards, and a die at rest 10 uA: the energy stays. As "
            "stated, mean power falls less than the time rises",
            **common,
        )


def _energy(row: Row) -> float:
    return float(row[MEAN]) * load_ms(row)


def overhead_currents(setting: Setting, found: Found) -> Iterator[Claim]:
    """Yields for each test the current in the overhead of a suspension that its stated energy implies."""
    stated = {each: _overhead_ua(found, each) for each in _TESTS}
    points = [_with_current(test, current) for test, current in stated.items()]
    for (test, current), runs in zip(stated.items(), samples(setting, "overhead currents", points, columns=[MEAN]), strict=True):
        base = found.whole.by[NONE]
        changes = [100.0 * (_energy(row) / _energy(base[seed]) - 1.0) for seed, row in sorted(runs.rows.items()) if seed in base]
        each_uj = current * _SUPPLY * in_us(test.overhead) / 1e6
        yield unclaimed(
            estimate(changes),
            f"{in_words(estimate(changes))} with {current / 1e3:.2f} mA in the overhead, {each_uj:.2f} uJ for each suspension",
            work=WORK,
            where=f"contradictions, {test.test}",
            what=f"{test.test}: energy of the whole load if a die draws a current in the overhead of a suspension",
            published=f"{_implied_energy(test):.3g} %",
            load=_LOAD,
            note=f"the current is computed from the published value and the {_SUSPENDED * test.count:,} suspensions: a die at "
            "rest draws 10 uA, and what it does in the overhead is not stated",
        )


def _implied_energy(stated: Stated) -> float:
    """Returns the change of the energy that the stated mean power and time imply [%]."""
    return 100.0 * ((1.0 + stated.mean / 100.0) * (1.0 + stated.time / 100.0) - 1.0)


def _overhead_ua(found: Found, stated: Stated) -> float:
    """Returns the current in the overhead of a suspension that the implied energy leaves [uA]."""
    joules = found.whole.estimate(lambda row: _energy(row) / 1e3).mean
    lacks = (_implied_energy(stated) - found.whole.change(_energy, _whole(stated, overhead=stated.overhead)).mean) / 100.0
    return lacks * joules / (_SUPPLY * _SUSPENDED * stated.count * in_us(stated.overhead) / 1e6) * 1e6


def _with_current(stated: Stated, current_ua: float) -> dict[str, object]:
    """Returns the run of a test with a current in the overhead."""
    (window,) = _whole(stated, overhead=stated.overhead).as_set().values()
    assert isinstance(window, list)
    return {
        "drive": DRIVE,
        "workload": str(SPECS / "table_4_2.fio"),
        "workload.iodepth": _DEPTH,
        "options.stop_after": _COMMANDS,
        "power.suspend": [{**window[0], "overhead_current": f"{current_ua:.0f}uA"}],
    }
