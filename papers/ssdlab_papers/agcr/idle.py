"""The rival's write while nothing waits, read as one at medium cost: a reading that contradicts the text.

Section 1 of the paper says that the rival applies *high-cost writes otherwise*. The paper on the rival is not at hand.
With medium cost in its place, and old data at medium cost, the published gains overall and of the best write lie
between those of two and three passes over the requests. No claim is scored on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ssdlab_papers.agcr.figures import is_usual, least, less_one
from ssdlab_papers.agcr.loads import length
from ssdlab_papers.agcr.regions import IDLE_COSTS
from ssdlab_papers.agcr.runs import Cases, Quantity, run_cases
from ssdlab_papers.claim import Claim
from ssdlab_papers.formats import change_text
from ssdlab_papers.real_first import shown_claim
from ssdlab_papers.setting import Setting

__all__ = ["MEDIUM", "entries"]

#: Fields of the rival that writes at medium cost while nothing waits, and finds its old data at that cost.
MEDIUM: Mapping[str, object] = {
    "policy.queue_driven.high": IDLE_COSTS["medium cost"],
    "policy.queue_driven.old_data": IDLE_COSTS["medium cost"],
}
_RIVAL = "rival at medium cost"
_WAYS: Mapping[str, tuple[str, Mapping[str, object]]] = {"AGCR": ("AGCR", {}), _RIVAL: ("rival", MEDIUM)}
#: Passes over the requests: the volumes of the paper write their pages over for a week.
_PASSES, _QUICK_PASSES = (1, 2, 3), (1, 2)
#: Gains of the abstract, with their quantities.
_GAINS: tuple[tuple[str, str, str, Quantity], ...] = (
    ("figure 7, abstract", "overall response, mean over the volumes", "-15 %", less_one("AGCR", _RIVAL)),
    (
        "figure 8b, abstract, conclusion",
        "writes, greatest gain among the volumes",
        "up to -20.4 %",
        least("AGCR", _RIVAL, "write"),
    ),
    ("figure 8a, abstract, conclusion", "reads, greatest gain among the volumes", "up to -48.3 %", least("AGCR", _RIVAL, "read")),
)


def entries(setting: Setting, cases: Cases) -> Iterator[Claim]:
    """Yields the three gains over the rival in this reading, on the volumes that are run whole, by passes."""
    once = cases.where(lambda case: is_usual(case) and length(setting, case.load) == case.load.requests)
    if not once.leading:
        return
    passes = _QUICK_PASSES if setting.quick else _PASSES
    found = [run_cases(setting, f"idle-{count}", _WAYS, once.loads, passes=count) for count in passes]
    for where, what, published, quantity in _GAINS:
        values = [each.find(quantity) for each in found]
        yield shown_claim(
            values[-1],
            change_text,
            shown="; ".join(
                f"{change_text(value.leading.mean)} after {count} {'pass' if count == 1 else 'passes'}"
                for count, value in zip(passes, values, strict=True)
            ),
            where=where,
            what=f"AGCR over a rival that writes at medium cost while nothing waits: {what}",
            published=published,
            note="a reading that contradicts the text, which says high-cost writes otherwise (section 1); old data, too, is "
            "at medium cost",
        )
