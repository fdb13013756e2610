"""Regions in which the published means come out, over what the paper leaves open or may be read otherwise.

A search has one load. It is IOzone for the means: of the paper's traces at hand it is the one that writes most. For the
value of Financial1 it is that trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.ofwar.runs import SIMULATED, WORK
from ssdlab_papers.regions import Open, Region, between, choice, load_fields, region, speed_field, spread, with_region
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Trials of a search, and requests of each run.
TRIALS, REQUESTS = 80, 4_000
#: Quantities as expressions over the numbers of the runs and those of the baseline.
QUANTITIES = {
    "response": "latency.all.mean_ns / reference.latency.all.mean_ns - 1",
    "deviation": "latency.all.stddev_ns / reference.latency.all.stddev_ns - 1",
    "rewritten": "flash.programs.rewrite / host_units_written",
    "extra": "write_amplification - reference.write_amplification",
}
#: Distance up to which a value counts as the published one, as a share of it: a trial is one run, and runs of a few
#: thousand requests vary by some percent with the seed.
_NEAR = 0.05
#: Parameters that the paper leaves open, and the threshold, which it states: others show where the value appears.
OPEN = (
    choice(
        "flash.channels",
        "buses of the 32 elements",
        (2, 4, 8, 16, 32),
        why="Section 4.2 states two channels, which the simulator calls gangs; without gangs each element has its bus.",
    ),
    choice(
        "ftl.write_allocation",
        "element of a page",
        ("static", "pull"),
        ("static",),
        why="The simulator places a page by its number.",
    ),
    choice(
        "precondition",
        "starting state",
        ("fill", "steady"),
        why="The simulator fills the drive in order; section 4.2: run hundreds of times, with no word on other data.",
    ),
    choice(
        "policy.ofwar.write_threshold",
        "threshold of waiting writes",
        (8, 16, 32, 64, 128, 256),
        (128,),
        why="Section 5 states 128 for the means.",
    ),
    spread(
        "ftl.gc_spare_fraction",
        "share of the spare blocks that is kept free",
        (0.05, 0.2, 0.5, 0.9),
        why="Section 4.2: 20 % of the physical blocks, which with 28 % of spare would be 0.9 of it.",
    ),
    between(
        "policy.ofwar.fast_bias", "preference for fast victims", 0.0, 1.0, why="Section 3.2: a higher priority, with no number."
    ),
    choice(
        "policy.ofwar.counted_in",
        "measure of the write queue",
        ("pages", "requests"),
        why="Section 5 counts requests in the queue; section 4.2 keeps pages in it.",
    ),
    choice(
        "policy.ofwar.on_full",
        "effect of a full rewrite queue",
        ("normal", "evict"),
        why="Section 3.2 names LRU replacement, section 5 that nothing is rewritten once it is full.",
    ),
    choice(
        "policy.ofwar.stale",
        "removal of stale entries",
        ("when_flushed", "at_top"),
        why="Section 3.2: when the old entry is flushed, with no word on when that is.",
    ),
)


def parameters(load: Load) -> list[Open]:
    """Returns what a search on a load may choose."""
    speed = choice(
        speed_field(load), "speed relative to the recording", (1, 2, 4, 8, 16), (1,), why="The paper names no change of speed."
    )
    return [OPEN[0], speed, *OPEN[1:]]


def find_region(
    setting: Setting,
    load: Load,
    name: str,
    quantity: str,
    published: float,
    *,
    fields: Mapping[str, object] | None = None,
    trials: int = TRIALS,
) -> Region:
    """Returns where a quantity has its published value on a load, with these further fields of the drive."""
    return region(
        setting,
        f"ofwar-{name}",
        title=f"{quantity} on {load.title}",
        quantity=QUANTITIES[quantity],
        published=published,
        tolerance=_NEAR * abs(published),
        parameters=[each for each in parameters(load) if each.field not in (fields or {})],
        trials=trials,
        drive=SIMULATED,
        policy="ofwar",
        reference={"policy": "baseline"},
        derive={"flash.chips_per_channel": "32 // flash.channels"},
        set=dict(fields or {}),
        load=load.title,
        **load_fields(load, load.fields(REQUESTS), stop_after=REQUESTS),
    )


def with_region_of_load(
    setting: Setting,
    claim: Claim,
    load: Load | None,
    name: str,
    quantity: str,
    fields: Mapping[str, object] | None = None,
) -> Iterator[Claim | Picture | Table]:
    """Yields a claim, in the full form with the region in which its value comes out, if it is not met as it is."""
    if not setting.searches(claim) or load is None or claim.is_met or claim.value is None:
        yield claim
        return
    assert claim.work == WORK
    found = find_region(setting, load, name, quantity, claim.value, fields=fields)
    part = "" if claim.load == load.title else "one load of the claim's mean"
    yield from with_region(claim, found, f"on {load.title} alone {claim.published}", part)
