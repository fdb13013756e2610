"""Sensitivity of the headline gain to what is assumed: what a reader must believe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, unclaimed
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.ofwar.loads import LENGTHS, loads
from ssdlab_papers.ofwar.runs import WORK, Pair, on_bus, over_loads, response
from ssdlab_papers.sensitivity import option, sensitivity
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample
from ssdlab_papers.traces import titles

#: Joint draws: more than there are terms in the fit, 55 for nine numbers.
DRAWS = 192
_LOADS = ("iozone", "telegram")


#: Numbers and choices that FACTS 1, POLICIES 2 and the drive's description mark as assumed, as far as they bear on
#: response times. The recalled numbers (step, verify voltages, code, rated cycles) act through the time of a fast
#: program: the steps of FACTS 1.2, 1.46 to 3.32 times the normal one, are its range.
ASSUMED = (
    option("flash.write_mode[1].program_scale", "time of a fast program over a normal one", (0.3, 0.68), 0.5),
    option("flash.concurrent_dies_per_chip", "operations of a chip at a time", (1, 2), 1),
    option("ftl.gc_spare_fraction", "share of the spare blocks kept free", (0.05, 0.9), 0.2),
    option("policy.ofwar.fast_bias", "preference for fast victims", (0.0, 1.0), 0.5),
    option("policy.ofwar.counted_in", "measure of the write queue", ("pages", "requests"), "pages"),
    option("policy.ofwar.idle", "what must be idle for a rewrite", ("channel", "drive"), "channel"),
    option("policy.ofwar.on_full", "effect of a full rewrite queue", ("normal", "evict"), "normal"),
    option("policy.ofwar.stale", "removal of stale entries", ("when_flushed", "at_top"), "when_flushed"),
    option("precondition", "starting state", ("steady", "fill"), "steady"),
)


def entries(setting: Setting, draws: int = DRAWS) -> Iterator[Claim | Picture | Table]:
    """Yields the sensitivity of the change of the mean response, the mean of two loads, in the full form alone."""
    if not setting.full:
        return
    used = [load for load in loads(setting).leading if load.name in _LOADS]

    def points(fields: Mapping[str, object]) -> list[dict[str, object]]:
        return [on_bus(load, LENGTHS[load.name].quick, policy, fields) for load in used for policy in ("ofwar", "baseline")]

    def gain(runs: Sequence[Sample]) -> Estimate:
        pairs = [Pair(load, runs[2 * at + 1], runs[2 * at]) for at, load in enumerate(used)]
        return over_loads(lambda row, base: 100.0 * response(row, base), pairs)

    found = sensitivity(
        setting,
        "ofwar-response",
        title="change of the mean response time (%)",
        assumed=ASSUMED,
        points=points,
        quantity=gain,
        draws=draws,
    )
    claim = unclaimed(
        found.usual,
        change_text(found.usual.mean / 100.0),
        work=WORK,
        where="figure 10a",
        what="sensitivity of the mean response time to what is assumed",
        load=titles(used),
        real_trace=all(load.is_trace for load in used),
        note=found.text,
    )
    yield from found.entries(claim)
