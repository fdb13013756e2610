"""Extra writes with the debt of collection paid: each load is repeated until the free blocks stay as they are.

The paper runs its traces hundreds of times (section 4.2). A run from a drive with free blocks to spare leaves the
collection of what it writes to later runs, so that a policy's extra writes are not what they cost in the end. Here each
load is repeated on the drive filled in order, and the last pass is counted. It counts once it is settled: the free
blocks at its end are those at its beginning, and the pass before it gives the same value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from ssdlab.explore.statistics import estimate
from ssdlab.units import percent
from ssdlab_papers.claim import NOTICEABLE, Claim, on_loads, untestable
from ssdlab_papers.entry import Table
from ssdlab_papers.formats import points_text
from ssdlab_papers.ofwar.figures import DIGIT
from ssdlab_papers.ofwar.loads import LENGTHS, loads
from ssdlab_papers.ofwar.runs import COLUMNS, WORK, number_of, point, programs, requested, statement_on
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Row, samples
from ssdlab_papers.traces import Load, titles

#: Pages of a block, and those of all blocks that are free once the drive is filled: more are written before the last
#: pass, whatever is collected.
_PAGES, _POOL = 63, 54_016 * 63
#: The quick form runs a drive of a fraction of the size, so that fewer passes fill it.
_FRACTION = 8
_SMALL: dict[str, object] = {"flash.blocks_per_plane": 2048 // _FRACTION}
#: Largest number of passes.
_MOST = 40
_REWRITES, _FREE = "flash.programs.rewrite", "free_blocks.at_end"
_NAMES = (*COLUMNS, _FREE)


@dataclass(frozen=True, slots=True)
class Pass:
    """Growth of the counts in one of several passes, under a policy and under the baseline."""

    #: Rewritten pages and extra writes, as shares of the requested pages.
    rewritten: float
    extra: float
    #: Pages of the free blocks that the pass used up under the policy and under the baseline, as a share of the pages
    #: that the host wrote in it; the larger of the two.
    debt: float

    @classmethod
    def between(cls, before: Sequence[Row], after: Sequence[Row]) -> Pass:
        """Takes the difference of two pairs of runs, each the policy's and the baseline's, of one pass more."""
        pages = requested(after[0]) - requested(before[0])
        made, saved = (programs(late) - programs(early) for early, late in zip(before, after, strict=True))
        rewrites = number_of(after[0], _REWRITES) - number_of(before[0], _REWRITES)
        debts = [_debt(early, late) for early, late in zip(before, after, strict=True)]
        return cls(rewrites / pages, (made - saved) / pages, max(debts, key=abs))


def _debt(before: Row, after: Row) -> float:
    written = float(after["host_units_written"]) - float(before["host_units_written"])
    return _PAGES * (float(before[_FREE]) - float(after[_FREE])) / written if written else 0.0


@dataclass(frozen=True, slots=True)
class Settled:
    """The last two passes of a load."""

    load: Load
    passes: int
    before: Pass
    last: Pass

    @property
    def is_settled(self) -> bool:
        """True if the last pass uses up no free blocks, and costs what the one before it did."""
        return abs(self.last.debt) < NOTICEABLE and abs(self.last.extra - self.before.extra) < NOTICEABLE


def entries(setting: Setting) -> Iterator[Claim | Table]:
    """Yields the extra writes of the last pass, beside the rewritten pages, and the passes of each load."""
    used = loads(setting)
    found = _measured(setting, used.leading)
    yield from claims(found)
    rows = [
        [each.load.title, each.passes, each.is_settled, each.last.rewritten, each.last.extra, each.before.extra, each.last.debt]
        for each in found
    ]
    columns = ("load", "passes", "settled", "rewritten", "extra", "extra before", "debt")
    yield Table(name="ofwar-settled", title="The last pass of each load, repeated", columns=columns, rows=rows)


def claims(found: Sequence[Settled]) -> Iterator[Claim]:
    """Yields figure 11 and the sentence on it, on the loads that rewrite something and are settled."""
    kept = [each for each in found if each.is_settled and each.last.rewritten > 0.0]
    what = "extra writes, each load repeated until its collection is paid for, mean over the loads"
    if not kept:
        yield untestable(work=WORK, where="figure 11", what=what, published=percent(0.061), note="no load settles")
        return
    real = all(each.load.is_trace for each in kept)
    mean = estimate([fmean(each.last.extra for each in kept)])
    owed = fmean(each.last.rewritten for each in kept)
    left = [each.load for each in found if each not in kept]
    note = f"{percent(owed)} of the pages are rewritten, and the data of each pass dies in the order in which it was written"
    if left:
        note += f"; left out, as nothing is rewritten or the free blocks still change: {titles(left)}"
    common = {"load": titles([each.load for each in kept])}
    yield on_loads(
        mean if real else None,
        None if real else mean,
        0.061,
        DIGIT,
        work=WORK,
        where="figure 11",
        what=what,
        unit=percent,
        agrees=lambda value: value <= 0.061,
        note=note,
        **common,
    )
    less = mean.mean - owed
    yield statement_on(
        estimate([less]),
        f"{points_text(less)} (extra, rewritten: {percent(mean.mean)}, {percent(owed)})",
        where="figures 10b, 11, section 5",
        what="extra writes less rewritten pages, each load repeated until its collection is paid for",
        published="not every rewrite is an extra write (6.1 % less 14.1 %)",
        high=-NOTICEABLE,
        real_trace=real,
        note="the baseline collects blocks without current data, so that a rewrite saves it nothing",
        **common,
    )


def _measured(setting: Setting, used: Sequence[Load]) -> list[Settled]:
    """Runs each load as often as its last three passes require."""
    once = samples(setting, "one pass", [_point(setting, load, "baseline", 1) for load in used], columns=_NAMES, seeds=1)
    passes = [_passes(setting, next(iter(sample.rows.values()))) for sample in once]
    points = [
        _point(setting, load, policy, count)
        for load, most in zip(used, passes, strict=True)
        for count in (most - 2, most - 1, most)
        for policy in ("ofwar", "baseline")
    ]
    runs = samples(setting, "repeated passes", points, columns=_NAMES, seeds=1)
    rows = [next(iter(sample.rows.values())) for sample in runs]
    found = []
    for at, (load, most) in enumerate(zip(used, passes, strict=True)):
        first, second, third = (rows[6 * at + 2 * place : 6 * at + 2 * place + 2] for place in range(3))
        found.append(Settled(load, most, Pass.between(first, second), Pass.between(second, third)))
    return found


def _passes(setting: Setting, row: Row) -> int:
    """Returns the passes after which all blocks that were free at the start have been written, and two more."""
    pool = _POOL // _FRACTION if setting.quick else _POOL
    return min(3 + math.ceil(pool / max(float(row["host_units_written"]), 1.0)), _MOST)


def _point(setting: Setting, load: Load, policy: str, passes: int) -> dict[str, object]:
    """Returns a point that plays the part of a trace which figures 9 to 11 run several times.

    A look-alike draws its requests; it is run so much longer.
    """
    length = LENGTHS[load.name].quick if setting.quick else LENGTHS[load.name].usual
    small = _SMALL if setting.quick else {}
    if not load.is_trace:
        return point(load, passes * length, policy, small)
    again = {"workload.slice": f"0..{length}", "workload.repeat": passes}
    found = point(load, length, policy, {**small, **again})
    del found["workload.max_requests"]
    return found
