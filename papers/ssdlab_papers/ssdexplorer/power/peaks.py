"""Composition of the peaks of the power, from the records of the timeline and not from the sums of the power model."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ssdlab
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer.power.windows import DRIVE, NONE, WORK, Windows
from ssdlab_papers.ssdexplorer.runs import SPECS

__all__ = ["Phases", "currents", "entries", "power", "pulses"]

#: Commands of a run whose timeline is read: a third of the whole.
_COMMANDS, _QUICK = 40_960, 20_480
#: Windows of 1 us that count as peaks, and the time from which they are searched [us].
_PEAKS, _FROM_US = 1000, 20_000
_PAGES = ("lower", "middle", "upper")
_LOAD = "table 4.2, from 20 ms on, depth 1024"


class Phases:
    """Phases of the arrays: kind, begin and end of each [ns]."""

    def __init__(self, path: Path) -> None:
        """Reads a timeline."""
        table = ssdlab.read_timeline(path)
        tracks, names = (np.array([str(each) for each in table[column].to_pylist()]) for column in ("track", "name"))
        kept = np.char.startswith(tracks, "array")
        self.names = names[kept]
        self.begin, self.end = (table[column].to_numpy()[kept].astype(np.int64) for column in ("begin_ns", "end_ns"))

    def times(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Returns begins and ends of the phases of a kind: ``program 2``, ``read 0``."""
        return self.begin[self.names == name], self.end[self.names == name]


def currents(description: str) -> Mapping[str, Any]:
    """Returns the section ``[power]`` of a description."""
    found: Mapping[str, Any] = tomllib.loads(description)["power"]
    return found


#: Scale of each unit: to mA, us and V.
_UNITS = {"nA": 1e-6, "uA": 1e-3, "mA": 1.0, "ns": 1e-3, "us": 1.0, "ms": 1e3, "mV": 1e-3, "V": 1.0}


def _number(text: str) -> float:
    """Returns a current in mA, a time in us, or a voltage in V."""
    digits = text.rstrip("numsAV")
    return float(digits) * _UNITS[text[len(digits) :]]


def pulses(section: Mapping[str, Any], page: int) -> tuple[float, float, float, float]:
    """Returns period and width [us], base and peak [mA] of the pulses in the program of a page type."""
    program = section["program"]
    one = program[min(page, len(program) - 1)] if isinstance(program, list) else program
    assert one["kind"] == "pulses"
    period, width, base, peak = (_number(one[name]) for name in ("period", "width", "base", "peak"))
    return period, width, base, peak


def _steps(begin: np.ndarray, end: np.ndarray, current: float) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([begin, end]), np.concatenate([np.full(len(begin), current), np.full(len(end), -current)])


def _in_windows(at: np.ndarray, change: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Returns the mean of a current that changes by `change` at `at`, in the windows between `edges`."""
    order = np.argsort(at, kind="stable")
    at, level = at[order], np.cumsum(change[order])
    charge = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))])
    # Before the first change and after the last, no current flows.
    mean: np.ndarray = np.diff(np.interp(edges, at, charge)) / np.diff(edges)
    return mean


def power(phases: Phases, section: Mapping[str, Any], dies: int) -> dict[str, np.ndarray]:
    """Returns the power in each window of 1 us by kind of phase, with that of all dies at rest [W].

    Programs must draw pulses and reads a constant current, and no program may have rested.
    """
    supply, idle = _number(section["supply"]), _number(section["idle"])
    edges = np.arange(0, int(phases.end.max()) + 1000, 1000, dtype=np.float64)
    found = {"idle": np.full(len(edges) - 1, dies * idle * supply / 1e3)}
    for name in sorted(set(phases.names.tolist())):
        begin, end = phases.times(name)
        if name.startswith("program"):
            period, width, base, peak = pulses(section, int(name.split()[1]))
            at, change = _steps(begin, end, base - idle)
            count = int((end - begin).max() / (1e3 * period)) + 1
            first = (begin[:, None] + 1000 * period * np.arange(count)[None, :]).ravel()
            until = np.minimum(first + 1000 * width, np.repeat(end, count))
            rises = first < until
            more_at, more = _steps(first[rises], until[rises], peak - base)
            at, change = np.concatenate([at, more_at]), np.concatenate([change, more])
        else:
            at, change = _steps(begin, end, _number(section["read"]["current"]) - idle)
        found[name] = _in_windows(at.astype(np.float64), change, edges) * supply / 1e3
    return found


def _recorded(commands: int, windows: Windows) -> tuple[Phases, ssdlab.Result]:
    with TemporaryDirectory(prefix="ssdlab-") as folder:
        path = Path(folder) / "timeline"
        load = str(SPECS / "table_4_2.fio")
        result = run(DRIVE, load, set=windows.as_set(), stop_after=commands, timeline=path)
        return Phases(path), result


def _together(phases: Phases) -> int:
    """Returns the largest number of array phases that begin in one microsecond, after the common begin of all dies."""
    begin = phases.begin[phases.begin >= 1000 * _FROM_US] // 1000
    return int(np.bincount(begin - begin.min()).max())


def _shown(what: str, ours: float, shown: str, note: str) -> Claim:
    common: dict[str, Any] = {"work": WORK, "where": "peaks", "published": "not stated", "standing": "assumed", "load": _LOAD}
    return statement(ours, shown, what=what, note=note, unscored="shown", seeds=1, **common)


def entries(setting: Setting) -> Iterator[Claim]:
    """Yields what the thousand highest microseconds consist of, and how many phases begin together."""
    commands = _QUICK if setting.quick else _COMMANDS
    plain, result = _recorded(commands, NONE)
    section = currents(result.drive_toml)
    parts = power(plain, section, 128)
    total = np.sum([*parts.values()], axis=0)
    # The last writes leave dies without work.
    inside = slice(_FROM_US, int(0.9 * len(total)))
    highest = np.argsort(total[inside])[-_PEAKS:] + _FROM_US
    upper = parts["program 2"]
    at_peaks, always = (float(upper[place].sum() / total[place].sum()) for place in (highest, inside))
    programs = {page: plain.times(f"program {index}") for index, page in enumerate(_PAGES)}
    span_ns = 1000.0 * (inside.stop - inside.start)

    def busy(begin: np.ndarray, end: np.ndarray) -> float:
        low, high = 1000 * inside.start, 1000 * inside.stop
        return float((np.clip(end, low, high) - np.clip(begin, low, high)).sum()) / span_ns

    dies = {page: busy(*phases) for page, phases in programs.items()}
    yield _shown(
        "T1: share of upper pages in the power of the thousand highest microseconds",
        at_peaks,
        f"{at_peaks:.0%}, of the power of all time {always:.0%}",
        "peaks are pulses of dies that coincide by chance, of all page types alike: windows in upper pages alone cannot take "
        "them away",
    )
    yield _shown(
        "T1: dies that program at once",
        sum(dies.values()),
        f"{sum(dies.values()):.0f} of 128: " + ", ".join(f"{count:.0f} {page}" for page, count in dies.items()),
        "",
    )
    one = (0.5,)
    waits, free = (_recorded(commands, Windows(one, idle_dies_wait=rule))[0] for rule in (True, False))
    most = [_together(phases) for phases in (plain, waits, free)]
    yield _shown(
        "array phases that begin in the same microsecond, the most",
        most[1],
        f"{most[0]} in T1, {most[1]} with a window at 0.5 and the rule that idle dies wait, {most[2]} without the rule",
        "what waits for a window begins when it ends, so that pulses coincide: the rule raises the peak that the windows are to "
        "lower",
    )
