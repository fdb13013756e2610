"""Retention analysis: lifetime of a sector's data, from its write to its overwrite."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from ssdlab import Workload
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab.traces import Retention, retention
from ssdlab_papers.claim import Claim, number, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Found, RealFirst, shown_claim, value_claim, worded_claim
from ssdlab_papers.retention.loads import DIES, EXCERPTS, WEEK_NS, about, is_of_collections, of_the_work, span_ns, weekly
from ssdlab_papers.retention.runs import WORK, fixed_estimate, write_trace
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load, titles

#: Shares of a TPC-C trace's writes by lifetime class, as :class:`ssdlab.traces.Retention` names it (slide *Actual
#: Retention Requirements*).
TPC_C = {"below a minute": 0.53, "a minute to an hour": 0.43, "an hour to a day": 0.03, "unknown (trace ended)": 0.01}
#: Ends of the share of writes that are overwritten within a week, *in most cases* (slides).
LEAST, MOST = 0.49, 0.99
#: Half of a percentage point: the slides give whole ones.
_HALF_POINT = 0.005
#: First and last age of the curves [days].
_FIRST, _LAST = 1e-5, 30.0


@dataclass(frozen=True, slots=True)
class Life:
    """Lifetimes in one load: of a trace once, of a look-alike with every seed."""

    load: Load
    found: tuple[Retention, ...]

    def estimate(self, quantity: Callable[[Retention], float]) -> Estimate:
        """Returns a quantity; nothing in that of a trace is drawn."""
        return _over([self], lambda lives: quantity(lives[0]))


@dataclass(frozen=True, slots=True)
class Lives(RealFirst[Life]):
    """Lifetimes in real traces, which lead, and in look-alikes."""

    def find(self, quantity: Callable[[Sequence[Retention]], float]) -> Found:
        """Returns a quantity of all loads."""
        real, alike = (_over(part, quantity) if part else None for part in (self.real, self.alike))
        return Found(real, alike, titles([life.load for life in self.leading]), WORK)

    def of_loads(self, condition: Callable[[Load], bool]) -> Lives:
        """Returns the lifetimes in loads for which a condition holds."""
        return self.where(lambda life: condition(life.load))


def _over(lives: Sequence[Life], quantity: Callable[[Sequence[Retention]], float]) -> Estimate:
    if all(len(life.found) == 1 and life.load.is_trace for life in lives):
        return fixed_estimate(quantity([life.found[0] for life in lives]))
    count = max(len(life.found) for life in lives)
    return estimate([quantity([life.found[min(seed, len(life.found) - 1)] for life in lives]) for seed in range(count)])


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the shares of written sectors by lifetime, as observed, and the curves of the Kaplan-Meier estimates."""
    used = weekly(setting)
    pieces = [(load, seed) for load in used.all for seed in range(1, 2 if load.is_trace else setting.seeds + 1)]
    analysed = setting.share_out("lifetimes", lambda piece: lifetimes(*piece), pieces)
    by_load = {id(load): [life for (of, _), life in zip(pieces, analysed, strict=True) if of is load] for load in used.all}
    lives = Lives(*(tuple(Life(load, tuple(by_load[id(load)])) for load in part) for part in (used.real, used.alike)))
    others = _short_files(setting, used.real)
    yield from within_a_week(lives, others)
    yield from _tpc_c([life for life in lives.real if life.load.name == "tpc_c"])
    yield from (_so_far(life) for life in others if life.load.name in DIES)
    yield _table([*lives.real, *lives.alike, *others])
    yield _picture([*lives.leading])


def lifetimes(load: Load, seed: int = 1) -> Retention:
    """Returns the retention analysis of a trace as recorded, or of a week of a look-alike."""
    if load.is_trace:
        return retention(Workload(load.path), by="sector")
    with tempfile.TemporaryDirectory() as folder:
        return retention(write_trace(load, 1, Path(folder) / f"{load.name}.csv", seed), by="sector")


def share(life: Retention) -> float:
    """Returns the share of the writes that are seen to be overwritten within a week."""
    return next(mark for mark in life.marks if mark.name == "a week").share or 0.0


def _unknown(life: Retention) -> float:
    return life.unknown / life.writes if life.writes else 0.0


def within_a_week(lives: Lives, short: Sequence[Life] = ()) -> Iterator[Claim]:
    """Yields the share of writes overwritten within a week: in most cases, and both ends of the range.

    Files of minutes and hours, which say how much is overwritten at least, are mentioned.
    """
    ours = lives.of_loads(is_of_collections)
    remark = about([life.load for life in ours.leading])
    if ours.leading:
        why = [_why_less(ours), *(_at_least(life) for life in short if is_of_collections(life.load)), remark]
        yield worded_claim(
            ours.find(_inside),
            share_text,
            shown=_each(ours),
            where="Conclusions, Retention Analysis",
            what="loads of the work's collections of whose writes 49 % to 99 % are overwritten within a week",
            published="most (more than half)",
            low=math.nextafter(0.5, 1.0),
            headline=True,
            note="; ".join(filter(None, why)),
        )
        for what, extreme, published in (("least", min, LEAST), ("most", max, MOST)):
            yield value_claim(
                ours.find(_extreme(extreme)),
                published,
                _HALF_POINT,
                where="Conclusions, Retention Analysis",
                what=f"writes overwritten within a week, {what} of any load of the work's collections",
                unit=share_text,
                agrees=lambda value: value >= LEAST - _HALF_POINT,
                note="; ".join(filter(None, (_why_less(ours) if extreme is min else "", remark))),
            )
    yield shown_claim(
        lives.find(_inside),
        share_text,
        shown=_each(lives),
        where="Conclusions, Retention Analysis",
        what="loads of any collection of whose writes 49 % to 99 % are overwritten within a week",
        published="most (more than half)",
    )


def _inside(found: Sequence[Retention]) -> float:
    return fmean(LEAST <= share(one) <= MOST for one in found)


def _each(lives: Lives) -> str:
    each = ", ".join(f"{life.load.title} {share_text(life.estimate(share).mean)}" for life in lives.leading)
    return f"{share_text(lives.find(_inside).leading.mean)} of the loads ({each})"


def _at_least(life: Life) -> str:
    least = life.estimate(lambda found: 1.0 - _unknown(found)).mean
    return f"of {life.load.title} at least {share_text(least)} are, as so many are before its file ends" if least >= LEAST else ""


def _extreme(of: Callable[[Iterator[float]], float]) -> Callable[[Sequence[Retention]], float]:
    return lambda found: of(map(share, found))


def _in_class(name: str) -> Callable[[Retention], float]:
    return lambda life: next(one.share or 0.0 for one in life.classes if one.name == name)


def _why_less(lives: Lives) -> str:
    """Returns the reason why less data than published is seen to be overwritten; empty if it is not less."""
    less = [life for life in lives.leading if life.estimate(share).mean < LEAST and life.estimate(_unknown).mean]
    if not less:
        return ""
    written = ", ".join(f"{life.estimate(lambda found: found.writes / found.unknown).mean:.2f}" for life in less)
    return (
        "the last write of each sector is not seen to be overwritten, and sectors are written few times in these traces "
        f"({written} times each where less than 49 % is)"
    )


def _tpc_c(found: Sequence[Life]) -> Iterator[Claim]:
    """Yields the classes of TPC-C, if a trace of a day of it is at hand."""
    if not found:
        shares = ", ".join(f"{name} {100 * part:.0f} %" for name, part in TPC_C.items())
        yield untestable(
            work=WORK,
            where="Actual Requirements",
            what="lifetimes of the writes of TPC-C",
            published=shares,
            note="a day of TPC-C is not at hand: the excerpt lasts a seventh of a second, and says nothing of minutes and hours",
        )
    for life in found:
        for name, published in TPC_C.items():
            yield number(
                life.estimate(_in_class(name)),
                published,
                _HALF_POINT,
                work=WORK,
                where="Actual Requirements",
                what=f"writes that live {name}, TPC-C",
                unit=share_text,
                load=life.load.title,
                real_trace=True,
                note="" if of_the_work(life.load) else "the work does not say which of its two traces of TPC-C it shows",
            )


def _short_files(setting: Setting, used: Sequence[Load]) -> list[Life]:
    """Returns the lifetimes in files of minutes and hours.

    They give a lower bound: data overwritten in such a file is overwritten within a week, and all other data is
    censored.
    """
    found = (setting.traces.find(name) for name in EXCERPTS)
    known = {load.path for load in used}
    files = [load for load in found if load is not None and load.path not in known]
    return [Life(load, (life,)) for load, life in zip(files, setting.share_out("short files", lifetimes, files), strict=True)]


def _so_far(life: Life) -> Claim:
    least = life.estimate(lambda found: 1.0 - _unknown(found))
    minutes = span_ns(life.load) / 60e9
    return shown_claim(
        Found(least, None, life.load.title, WORK),
        share_text,
        shown=f"at least {share_text(least.mean)}",
        where="Retention Analysis",
        what=f"writes overwritten within a week, {life.load.title}: those overwritten before the file ends",
        published="49 % to 99 % in most cases",
        note=f"the file lasts {minutes:.3g} minutes",
    )


def _table(lives: Sequence[Life]) -> Table:
    return Table(
        name="retention-lifetimes",
        title="Writes of sectors by lifetime",
        columns=("trace", "lifetime", "sectors written", "share as seen", "trimmed", "Kaplan-Meier, a week"),
        rows=[
            (life.load.title, one.name, one.writes, one.share, one.trimmed, _estimated(life.found[0]))
            for life in lives
            for one in life.found[0].classes
        ],
    )


def _estimated(life: Retention) -> float | None:
    return next(mark.kaplan_meier for mark in life.marks if mark.name == "a week")


def _picture(lives: Sequence[Life]) -> Picture:
    """Returns the Kaplan-Meier curves."""

    def curve(life: Life) -> Series:
        found = life.found[0]
        days = found.curve_ns / 86_400e9
        kept = (days >= _FIRST) & (days <= _LAST)
        return Series(life.load.title, days[kept].tolist(), (1.0 - found.curve_survives[kept]).tolist(), points=False)

    return Picture(
        name="retention-lifetimes",
        chart=Chart(
            title="Data that has been overwritten, by its age (Kaplan-Meier)",
            x=Axis("age (days)", log=True, span=(_FIRST, _LAST)),
            y=Axis("share of the sectors written", span=(0.0, 1.0)),
            series=tuple(curve(life) for life in lives),
            marks=(Mark(WEEK_NS / 86_400e9, "a week: reprogrammed", on="x"),),
        ),
    )
