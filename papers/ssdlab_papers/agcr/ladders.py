"""Ladders of the three gains of the abstract: from our drive towards each published value, one change after the other.

The changes are readings of what the text says of the rival, or leaves open, in the order in which they are named; the
third contradicts the text. All of them run on the volumes that are run whole, so that passes can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ssdlab_papers.agcr.figures import is_usual
from ssdlab_papers.agcr.idle import MEDIUM
from ssdlab_papers.agcr.loads import length
from ssdlab_papers.agcr.regions import GAINS
from ssdlab_papers.agcr.runs import RIVALS, WORK, Cases, run_cases
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.ladder import Ladder, Step
from ssdlab_papers.setting import Setting

__all__ = ["RUNGS", "entries"]


@dataclass(frozen=True, slots=True)
class Rung:
    """The runs after a change."""

    name: str
    why: str
    #: Fields of the rival.
    rival: Mapping[str, object]
    #: Fields of AGCR and of the rival.
    both: Mapping[str, object]
    #: Times the recorded speed, and passes over the requests.
    speed: float = 1.0
    passes: int = 1


_OLD: Final = {"policy.queue_driven.old_data": "normal"}
_REST: Final = {"ftl.partial_write": "read_modify_write"}
#: The runs after each change, those before it among them.
RUNGS: Final = (
    Rung("our drive", "the text as it stands, at recorded speed", {}, {}),
    Rung("the rival's old data at medium cost", "the text says nothing of it", _OLD, {}),
    Rung("ten times the speed", "the text names no speed", _OLD, {}, speed=10.0),
    Rung("the rival writes at medium cost while nothing waits", "contradicts the text (section 1)", MEDIUM, {}, speed=10.0),
    Rung("two passes", "the paper's volumes write pages over for a week", MEDIUM, {}, 10.0, 2),
    Rung("three passes", "the same", MEDIUM, {}, 10.0, 3),
    Rung("writes of parts of pages read the rest", "a drive that holds data must", MEDIUM, _REST, 10.0, 3),
)
_WHERE: Final = {"overall": "figure 7", "reads": "figure 8a", "writes": "figure 8b"}


def entries(setting: Setting, cases: Cases) -> Iterator[Entry | Picture | Table]:
    """Yields a ladder for each gain."""
    whole = cases.where(lambda case: is_usual(case) and length(setting, case.load) == case.load.requests)
    if not whole.leading:
        return
    rungs = RUNGS[:4] if setting.quick else RUNGS
    found = [_run(setting, number, rung, whole) for number, rung in enumerate(rungs)]
    for name, (what, published, _, quantity) in GAINS.items():
        ladder = Ladder(
            work=WORK,
            where=_WHERE[name],
            name=f"agcr-ladder-{name}",
            what=what,
            load=whole.text,
            real_trace=bool(whole.real),
            published=published,
            unit=change_text,
            steps=[Step(rung.name, {**rung.rival, **rung.both}, rung.why) for rung in rungs],
            found=[each.find(quantity).leading for each in found],
        )
        yield from ladder.entries()


def _run(setting: Setting, number: int, rung: Rung, whole: Cases) -> Cases:
    ways = {"AGCR": ("AGCR", rung.both), RIVALS[0]: (RIVALS[0], {**rung.rival, **rung.both})}
    return run_cases(setting, f"ladder-{number}", ways, whole.loads, rung.speed, rung.passes, seeds=1)
