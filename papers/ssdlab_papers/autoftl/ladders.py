"""Ladders of the two mean gains of figure 9: towards the published values, one change after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.autoftl import model
from ssdlab_papers.autoftl.figures import OF_ENTERPRISE, OF_MOBILE
from ssdlab_papers.autoftl.loads import ENTERPRISE, MOBILE, Case, Cases
from ssdlab_papers.autoftl.runs import WORK, gain, lives
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.ladder import Ladder, Step, steps_of
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import over_seeds
from ssdlab_papers.traces import titles

__all__ = ["STEPS", "entries"]

#: Share of the margin that narrow levels save, as assumed before it was calibrated.
_ASSUMED: Final = 0.6
STEPS: Final = (
    Step("our drive, 60 % of the margin", model.fields(share=_ASSUMED), "assumed: the paper gives no number"),
    Step("40 % of it", model.fields(), "calibrated on the label of one load in figure 9"),
    Step(
        "utilisation sampled per program",
        {"policy.autoftl.sampled_per": "program"},
        "section 4.3 samples at each write, of the host or of a page",
    ),
    Step("background collection by the drive's idle time", {"ftl.gc_idle_of": "drive"}, "between requests, not beside them"),
    Step("data in the buffer replaced", {"buffer.rewritten": "replaced"}, "a buffer need not keep what was written again"),
)
_DRIVES: Final = ((MOBILE, OF_MOBILE, "mobile"), (ENTERPRISE, OF_ENTERPRISE, "the paper's enterprise"))


def entries(setting: Setting, used: Cases) -> Iterator[Entry | Picture | Table]:
    """Yields a ladder for each drive, of its loads at the stated speed."""
    for on, published, words in _DRIVES[: 1 if setting.quick else 2]:
        cases = [one for one in used.leading if one.on is on and one.is_as_stated and (on is MOBILE or one.is_of_paper)]
        cases = cases[:1] if setting.quick else cases
        if not cases:
            continue
        steps = STEPS[:2] if setting.quick else STEPS
        ladder = Ladder(
            work=WORK,
            where="figure 9",
            name=f"autoftl-ladder-{on.name}",
            what=f"gain in MAX P/E, mean over the {words} loads",
            load=titles([case.load for case in cases]),
            real_trace=all(case.load.is_trace for case in cases),
            published=published,
            unit=change_text,
            steps=steps,
            found=_climbed(setting, cases, steps),
        )
        yield from ladder.entries()


def _climbed(setting: Setting, cases: Sequence[Case], steps: Sequence[Step]) -> list[Estimate]:
    """Returns the mean gain after each step."""
    wanted = [(case, "autoftl", fields) for fields in steps_of(steps) for case in cases]
    runs = lives(setting, "ladder", wanted)
    each = [runs[at : at + len(cases)] for at in range(0, len(runs), len(cases))]
    return [over_seeds(lambda *rows: sum(map(gain, rows)) / len(rows), *of) for of in each]
