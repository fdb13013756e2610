"""Retention analysis: lifetime of a sector's data, from its write to its overwrite."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from ssdlab import Workload
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.traces import Retention, retention
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention.loads import DIES, EXCERPTS, WEEK_NS, note_of, of_the_work, weekly
from ssdlab_papers.retention.runs import whole_percent, written_down
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Shares of a TPC-C trace's writes by lifetime class, as :class:`ssdlab.traces.Retention` names it (slide *Actual
#: Retention Requirements*).
TPC_C = {"below a minute": 0.53, "a minute to an hour": 0.43, "an hour to a day": 0.03, "unknown (trace ended)": 0.01}
#: Range of the share of writes that are overwritten within a week, *in most cases* (slides).
PUBLISHED = (0.49, 0.99)
#: Precision of the shares on the slides: one percentage point.
_POINT = 0.01
#: Weeks of a look-alike that are analysed. Data written in the last of them cannot be observed for a week.
_WEEKS = 4
#: First and last age of the curves [days].
_FIRST, _LAST = 1e-5, 30.0


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the shares of written sectors by lifetime: as observed, and as Kaplan-Meier estimates."""
    used = weekly(setting)
    lives = setting.share_out("lifetimes", lambda load: lifetimes(load, 1 if load.is_trace else _WEEKS), used)
    for load, life in zip(used, lives, strict=True):
        if load.name == "tpc_c":
            yield from _tpc_c(load, life)
        else:
            yield _within_a_week(load, life)
    if all(load.name != "tpc_c" for load in used):
        yield _no_tpc_c()
    if not setting.quick and not used[0].is_trace:
        yield _censored(used[0], lifetimes(used[0], 1), lives[0])
    others = _short_files(setting, used)
    seen = [*zip(used, lives, strict=True), *others]
    for load, life in others:
        if load.name in DIES:
            yield _so_far(load, life)
    yield Table(
        name="retention-lifetimes",
        title="Writes of sectors by lifetime",
        columns=("trace", "lifetime", "sectors written", "share as seen", "trimmed"),
        rows=[(load.title, one.name, one.writes, one.share, one.trimmed) for load, life in seen for one in life.classes],
    )
    yield _picture(used, lives)


def _short_files(setting: Setting, used: list[Load]) -> list[tuple[Load, Retention]]:
    """Returns the lifetimes in files of minutes and hours.

    They give a lower bound: data overwritten in such a file is overwritten within a week, and all other data is
    censored.
    """
    found = (setting.traces.find(name) for name in EXCERPTS)
    files = [load for load in found if load is not None and load not in used]
    return [*zip(files, setting.share_out("short files", lambda load: lifetimes(load, 1), files), strict=True)]


def _so_far(load: Load, life: Retention) -> Entry:
    return Entry(
        work="retention relaxation",
        where="Retention Analysis",
        what=f"writes overwritten within a week, {load.title}",
        published="49 % to 99 % in most cases",
        standing="stated",
        ours=1.0 - _unknown(life),
        shown=f"at least {percent(1.0 - _unknown(life))}: so many before the file ends",
        note=note_of(load),
    )


def lifetimes(load: Load, weeks: int) -> Retention:
    """Returns the retention analysis of a trace as recorded, or of `weeks` weeks of a look-alike."""
    if load.is_trace:
        return retention(Workload(load.path), by="sector")
    with tempfile.TemporaryDirectory() as folder:
        return retention(written_down(load, weeks, Path(folder) / f"{load.name}.csv"), by="sector")


def _estimate(life: Retention, name: str) -> str:
    """Formats an observed share beside its Kaplan-Meier estimate."""
    mark = next(mark for mark in life.marks if mark.name == name)
    known = "too short for one" if mark.kaplan_meier is None else percent(mark.kaplan_meier)
    return f"{percent(mark.share or 0.0)} (Kaplan-Meier: {known}; unknown at the end: {percent(_unknown(life))})"


def _unknown(life: Retention) -> float:
    return life.unknown / life.writes if life.writes else 0.0


def _within_a_week(load: Load, life: Retention) -> Entry:
    mark = next(mark for mark in life.marks if mark.name == "a week")
    is_of_the_work = of_the_work(load)
    seen = "as long as it is" if load.is_trace else f"over {_WEEKS} weeks"
    return Entry(
        work="retention relaxation",
        where="Retention Analysis",
        what=f"writes overwritten within a week, {load.title}, {seen}",
        published="49 % to 99 % in most cases",
        standing="stated",
        ours=mark.share or 0.0,
        shown=_estimate(life, "a week"),
        low=PUBLISHED[0] if is_of_the_work else None,
        high=PUBLISHED[1] if is_of_the_work else None,
        note="; ".join(part for part in (_why_less(life, mark.share or 0.0), note_of(load)) if part),
    )


def _why_less(life: Retention, share: float) -> str:
    """Returns the reason why less data than published is seen to be overwritten; empty if it is not less."""
    if share >= PUBLISHED[0] or not life.unknown:
        return ""
    return (
        "less than published, as the last write of each sector is not seen to be overwritten, and sectors are written "
        f"{life.writes / life.unknown:.2f} times each in the trace"
    )


def _tpc_c(load: Load, life: Retention) -> Iterator[Entry]:
    shares = {one.name: one.share or 0.0 for one in life.classes}
    for name, published in TPC_C.items():
        yield Entry(
            work="retention relaxation",
            where="Actual Requirements",
            what=f"writes that live {name}, {load.title}",
            published=whole_percent(published),
            standing="stated",
            ours=shares[name],
            shown=percent(shares[name]),
            low=published - _POINT if of_the_work(load) else None,
            high=published + _POINT if of_the_work(load) else None,
            note=note_of(load),
        )


def _no_tpc_c() -> Entry:
    shares = ", ".join(f"{name} {whole_percent(share)}" for name, share in TPC_C.items())
    return Entry(
        work="retention relaxation",
        where="Actual Requirements",
        what="lifetimes of the writes of TPC-C",
        published=shares,
        standing="stated",
        ours=float("nan"),
        shown="not at hand",
        note="a day of TPC-C is not: the excerpt that the look-alike was fitted to lasts a seventh of a second, and says nothing "
        "of minutes and hours",
    )


def _censored(load: Load, short: Retention, long: Retention) -> Entry:
    """Returns the entry that compares the observed and the estimated share of one week with those of four weeks."""
    day = {name: next(mark for mark in life.marks if mark.name == "a day") for name, life in (("one", short), ("four", long))}
    return Entry(
        work="retention relaxation",
        where="POLICIES 3",
        what=f"share overwritten within a day, {load.title}: one week as seen, over the estimate",
        published="not given",
        standing="derived",
        ours=(day["one"].share or 0.0) / (day["one"].kaplan_meier or 1.0),
        shown=f"one week: {_estimate(short, 'a day')}; four weeks: {_estimate(long, 'a day')}",
        note="what the trace's end hides counts as unknown; a look-alike returns to data by how much was written since",
    )


def _picture(used: list[Load], lives: list[Retention]) -> Picture:
    """Returns the Kaplan-Meier curves."""

    def curve(load: Load, life: Retention) -> Series:
        days = life.curve_ns / 86_400e9
        kept = (days >= _FIRST) & (days <= _LAST)
        return Series(load.title, days[kept].tolist(), (1.0 - life.curve_survives[kept]).tolist(), points=False)

    return Picture(
        name="retention-lifetimes",
        chart=Chart(
            title="Data that has been overwritten, by its age (Kaplan-Meier)",
            x=Axis("age (days)", log=True, span=(_FIRST, _LAST)),
            y=Axis("share of the sectors written", span=(0.0, 1.0)),
            series=tuple(curve(load, life) for load, life in zip(used, lives, strict=True)),
            marks=(Mark(WEEK_NS / 86_400e9, "a week: reprogrammed", on="x"),),
        ),
    )
