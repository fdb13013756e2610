"""The paper's simulator: its gangs, the drive with a shared bus, and the path from there to the published means.

The SSD extension of DiskSim gives each element (chip) a bus of its own, stripes pages over the elements and fills the
drive in order. Elements may be ganged; the paper calls its two channels so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.claim import unclaimed
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.ladder import Ladder, Step, steps_of
from ssdlab_papers.ofwar.figures import MEANS
from ssdlab_papers.ofwar.loads import LENGTHS, loads
from ssdlab_papers.ofwar.runs import COLUMNS, SIMULATED, WORK, Pair, over_loads, point
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, samples
from ssdlab_papers.traces import Load, titles

#: From the drive with shared buses to the readings of the paper's simulator.
STEPS = (
    Step("16 chips behind one bus, steady state", {"drive": "ofwar-64g", "precondition": "steady"}, "section 4.2"),
    Step("filled in order", {"precondition": "fill"}, "the simulator maps all pages in order at the start"),
    Step(
        "a bus for each chip",
        {"flash.channels": 32, "flash.chips_per_channel": 1},
        "the simulator's elements share no bus unless they are ganged",
    ),
    Step("static striping", {"ftl.write_allocation": "static"}, "the simulator places a page by its number"),
    Step(
        "all rules of the simulator",
        {"drive": SIMULATED},
        "planes with the most room, summaries of blocks, collection before a write; victims are those of an element",
    ),
    Step("20 % of all blocks kept free", {"ftl.gc_fraction_of": "all"}, "section 4.2, to the word"),
)
#: Readings of the simulator beside the scored one: fields, and what they stand for.
BESIDE: dict[str, tuple[dict[str, object], str]] = {
    "16 chips behind one bus, steady state": (dict(STEPS[0].fields), "the drive of section 4.2 without the simulator's rules"),
    "elements of a channel behind one bus": (
        {"flash.channels": 2, "flash.chips_per_channel": 16},
        "the channels of section 4.2 as buses, with the other rules of the simulator",
    ),
    "gangs that serve one page at a time": (
        {"flash.channels": 2, "flash.chips_per_channel": 1, "flash.planes_per_die": 64},
        "the extension's gangs with shared pins: an operation blocks the 16 elements of its channel",
    ),
    "gangs in lockstep": (
        {
            "flash.channels": 2,
            "flash.page_size": "64KiB",
            "ftl.mapping_unit": "64KiB",
            "flash.interface": "nv_ddr3",
            "flash.transfer_rate": "2063.52MT/s",
        },
        "the extension's synchronous gangs: a page is a stripe over the 16 elements of a channel, each with its own pins",
    ),
    "waiting writes counted in requests": (
        {"policy.ofwar.counted_in": "requests"},
        "section 5 counts requests in the queue; section 4.2 keeps pages in it",
    ),
    "rewrites only while the whole drive is idle": (
        {"policy.ofwar.idle": "drive"},
        "section 3.1 says idle, and not of what",
    ),
}
_LADDERS = {"response": "figure 10a", "deviation": "figure 9", "rewritten": "figure 10b", "extra": "figure 11"}


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the four means under each reading beside the scored one, then the ladder of each mean."""
    used = loads(setting).leading
    readings = [*(fields for fields, _ in BESIDE.values()), *steps_of(STEPS)]
    points = [
        point(load, _requests(setting, load), policy, _for(policy, fields))
        for fields in readings
        for load in used
        for policy in ("ofwar", "baseline")
    ]
    runs = samples(setting, "the simulator", points, columns=COLUMNS, seeds=1)
    pairs = [_pairs(used, runs[2 * at * len(used) : 2 * (at + 1) * len(used)]) for at in range(len(readings))]
    for (name, (_, why)), of in zip(BESIDE.items(), pairs, strict=False):
        yield _beside(name, why, used, _means(of))
    climbed = [_means(of) for of in pairs[len(BESIDE) :]]
    for name, where in _LADDERS.items():
        _, _, what, published, unit, _ = MEANS[name]
        ladder = Ladder(
            work=WORK,
            where=where,
            name=f"ofwar-ladder-{name}",
            what=f"{what}, mean over the loads",
            load=titles(used),
            real_trace=all(load.is_trace for load in used),
            published=published,
            unit=unit,
            steps=STEPS,
            found=[means[name] for means in climbed],
        )
        yield from ladder.entries()


def _requests(setting: Setting, load: Load) -> int:
    """Returns the requests of a run: under some readings the drive cannot keep up with more than the usual number."""
    length = LENGTHS[load.name]
    return length.quick if setting.quick else length.usual


def _for(policy: str, fields: dict[str, object]) -> dict[str, object]:
    """Returns the fields that a run under a policy takes: the baseline has no parameters of OFWAR."""
    return {name: value for name, value in fields.items() if policy == "ofwar" or not name.startswith("policy.")}


def _pairs(used: Sequence[Load], runs: Sequence[Sample]) -> list[Pair]:
    return [Pair(load, base, run) for load, run, base in zip(used, runs[::2], runs[1::2], strict=True)]


def _means(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    return {name: over_loads(quantity, pairs) for name, (_, quantity, *_) in MEANS.items()}


def _beside(name: str, why: str, used: Sequence[Load], found: dict[str, Estimate]) -> Entry:
    shares = ", ".join(f"{key} {percent(found[key].mean)}" for key in ("rewritten", "extra"))
    return unclaimed(
        found["response"],
        f"{change_text(found['response'].mean)}, deviation {change_text(found['deviation'].mean)}, {shares}",
        work=WORK,
        where="section 4.2",
        what=f"mean response, its deviation, rewritten pages and extra writes, mean over the loads: {name}",
        published="-52.3 %, -39.9 %, 14.1 %, 6.1 %",
        load=titles(used),
        real_trace=all(load.is_trace for load in used),
        note=why,
    )
