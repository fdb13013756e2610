"""Regions in which the published means come out, over what the paper leaves open or may be read otherwise.

A search has one load. It is IOzone for the means: of the paper's traces at hand it is the one that writes most. For the
value of Financial1 it is that trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.ofwar.runs import WORK
from ssdlab_papers.regions import Open, Region, region, settled
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
#: Parameters that the paper leaves open, and the number of chips, which it states: others show where the value appears.
OPEN = (
    Open(
        field="flash.chips_per_channel",
        title="chips per channel",
        choices={"choices": [4, 8, 16]},
        plausible=frozenset({16}),
        why="Section 4.2 states 16.",
    ),
    Open(
        field="flash.concurrent_dies_per_chip",
        title="operations of a chip at a time",
        choices={"choices": [1, 2]},
        plausible=frozenset({1, 2}),
        why="Section 4.2 states two dies per chip, and not whether both work at once.",
    ),
    Open(
        field="workload.SPEED",
        title="speed relative to the recording",
        choices={"choices": [1, 2, 4, 8, 16]},
        plausible=frozenset({1}),
        why="The paper names no change of speed.",
    ),
    Open(
        field="precondition",
        title="starting state",
        choices={"choices": ["steady", "fill"]},
        plausible=frozenset({"steady", "fill"}),
        why="Section 4.2: run hundreds of times; nothing is said of the data outside the trace.",
    ),
    Open(
        field="ftl.gc_spare_fraction",
        title="share of the spare blocks that is kept free",
        choices={"choices": [0.05, 0.2, 0.5, 0.9]},
        plausible=(0.05, 0.9),
        why="Section 4.2: 20 % of the physical blocks, which with 28 % of spare would be 0.9 of it.",
    ),
    Open(
        field="policy.ofwar.fast_bias",
        title="preference for fast victims",
        choices={"low": 0.0, "high": 1.0},
        plausible=(0.0, 1.0),
        why="Section 3.2: a higher priority, with no number.",
    ),
    Open(
        field="policy.ofwar.counted_in",
        title="measure of the write queue",
        choices={"choices": ["pages", "requests"]},
        plausible=frozenset({"pages", "requests"}),
        why="Section 5 counts requests in the queue; section 4.2 keeps pages in it.",
    ),
    Open(
        field="policy.ofwar.on_full",
        title="effect of a full rewrite queue",
        choices={"choices": ["normal", "evict"]},
        plausible=frozenset({"normal", "evict"}),
        why="Section 3.2 names LRU replacement, section 5 that nothing is rewritten once it is full.",
    ),
    Open(
        field="policy.ofwar.stale",
        title="removal of stale entries",
        choices={"choices": ["when_flushed", "at_top"]},
        plausible=frozenset({"when_flushed", "at_top"}),
        why="Section 3.2: when the old entry is flushed, with no word on when that is.",
    ),
)


def parameters(load: Load) -> list[Open]:
    """Returns what a search on a load may choose: its speed is a field of a look-alike, and an option of a trace."""
    key = "time_scale" if load.is_trace else "speed"
    return [replace(each, field=each.field.replace("SPEED", key)) for each in OPEN]


def searched(
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
    # A search changes the speed alone of a workload: the rest are options of the runs.
    given = {key.removeprefix("workload."): value for key, value in load.fields(REQUESTS).items()}
    reading = {key: value for key, value in given.items() if key not in ("workload", "time_scale")}
    return region(
        setting,
        f"ofwar-{name}",
        title=f"{quantity} on {load.title}",
        quantity=QUANTITIES[quantity],
        published=published,
        tolerance=_NEAR * abs(published),
        parameters=parameters(load),
        trials=trials,
        drive="ofwar-64g",
        workload=given["workload"],
        policy="ofwar",
        reference={"policy": "baseline"},
        derive={"flash.blocks_per_plane": "32768 // flash.chips_per_channel"},
        options=reading if load.is_trace else {"stop_after": REQUESTS},
        set=dict(fields or {}),
    )


def with_region(
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
    found = searched(setting, load, name, quantity, claim.value, fields=fields)
    part = "" if claim.load == load.title else "one load of the claim's mean"
    yield settled(claim, found, f"on {load.title} alone {claim.published}", part)
    yield from found.pictures()
    yield found.table()
