"""Settings at which the published gains over the rival come out: a grid over what the paper leaves open.

A claim is about a mean, or an extreme, over volumes, so that each setting takes a run of every volume. The grid serves
all claims at once, and shows whether one setting gives all of their values.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance
from typing import Any

from ssdlab_papers.agcr.figures import least, less_one
from ssdlab_papers.agcr.runs import COLUMNS, DRIVE, Case, Quantity, point
from ssdlab_papers.claim import Claim, statement
from ssdlab_papers.regions import Open, Region, choice, spread
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import Load, titles

#: Requests of each load.
_LENGTH = 10_000
#: Channels, chips of each and blocks of each plane, by the number of dies; the capacity stays.
_DIES = {8: (4, 2, 16384), 16: (4, 4, 8192), 32: (8, 4, 4096), 64: (8, 8, 2048)}
#: Write mode of the rival while nothing waits, by its cost: names of the preset.
IDLE_COSTS = {"high cost": "fine", "medium cost": "normal"}
#: Parameters that the paper leaves open, and one that it states, of which only the stated choice is plausible.
PARAMETERS = (
    spread(
        "speed",
        "times the recorded speed",
        (1, 3, 10, 30, 100),
        (1, 10),
        why="the text names no speed, and its simulator replays arrivals as recorded; up to tenfold is allowed for [A]",
    ),
    spread("dies", "dies", [*_DIES], (8, 64), why="the text gives 64 GB and no structure: 1 to 8 GB for each die"),
    spread(
        "passes",
        "passes over the requests",
        (1, 2, 3),
        why="the paper's volumes write pages over for a week, and the parts at hand are hours and less",
    ),
    choice("old_data", "the rival's old data", ("high cost", "medium cost"), why="the text says nothing"),
    choice(
        "policy.queue_driven.high",
        "the rival's write while nothing waits",
        (IDLE_COSTS["high cost"], IDLE_COSTS["medium cost"]),
        (IDLE_COSTS["high cost"],),
        why="section 1 states high-cost writes where no request is queued; medium cost contradicts it, and is searched as the "
        "only reading of the rival near which the overall and the best write gain come out together",
    ),
    choice(
        "partial_write",
        "writes of parts of pages",
        ("read nothing", "read the rest"),
        ("read nothing",),
        why="the paper's simulator reads only what the trace wrote; a drive that holds data must read the rest",
    ),
)
#: Published values with the quantity, and the distance up to which a setting has it: half of the last digit of a mean,
#: and for an extreme of volumes that are not at hand a point [A].
GAINS: Mapping[str, tuple[str, float, float, Quantity]] = {
    "overall": ("overall response of AGCR over the rival, mean over the volumes", -0.15, 0.005, less_one("AGCR", "rival")),
    "reads": ("reads of AGCR over the rival, greatest gain", -0.483, 0.01, least("AGCR", "rival", "read")),
    "writes": ("writes of AGCR over the rival, greatest gain", -0.204, 0.01, least("AGCR", "rival", "write")),
}


@dataclass(frozen=True, slots=True)
class Maps:
    """The regions of the gains, and how many settings have all of them."""

    regions: Mapping[str, Region]
    load: str

    def region(self, claim: Claim) -> Region | None:
        """Returns the region of a headline claim."""
        found = [each for each in self.regions.values() if claim.headline and each.published == claim.value]
        return found[0] if found else None

    @property
    def together(self) -> Claim:
        """The number of plausible settings that have all of the published values at once."""
        hits = {name: [_place(row) for row in each.plausible] for name, each in self.regions.items()}
        common = [place for place in hits["overall"] if all(place in each for each in hits.values())]
        where = "; ".join(common[:3])
        region = self.regions["overall"]
        count = sum(region.is_plausible(row) for row in region.rows)
        among = f"of {count} plausible settings"
        return statement(
            len(common),
            f"{len(common)} {among}{f': {where}' if where else ''}",
            work="AGCR",
            where="abstract, section 4.2",
            what="plausible settings of one drive at which the gains overall, of reads and of writes all have their values",
            published="at least one",
            low=1.0,
            load=self.load,
            note="each alone: "
            + ", ".join(f"{name} {len(found)}" for name, found in hits.items())
            + f"; settings of all {len(region.rows)}, whether plausible or not, with the overall and the best write gain: "
            f"{self._both(region)}",
        )

    def _both(self, overall: Region) -> str:
        """Returns how many settings have the overall and the best write gain, and with which rival, in words."""
        writes = {_place(row) for row in self.regions["writes"].hits}
        found = [row for row in overall.hits if _place(row) in writes]
        contrary = sum(row["policy.queue_driven.high"] == IDLE_COSTS["medium cost"] for row in found)
        return f"{len(found)}, {contrary} of them with the rival's write at medium cost while nothing waits" if found else "none"


def _place(row: Mapping[str, Any]) -> str:
    """Returns a setting in words."""
    return ", ".join(f"{each.title} {row[each.field]}" for each in PARAMETERS)


def fields(setting: Mapping[str, Any], policy: str) -> dict[str, object]:
    """Returns the fields of a point at a setting of the grid, beside the load."""
    channels, chips, blocks = _DIES[setting["dies"]]
    found: dict[str, object] = {
        "flash.channels": channels,
        "flash.chips_per_channel": chips,
        "flash.blocks_per_plane": blocks,
        "ftl.partial_write": "whole" if setting["partial_write"] == "read nothing" else "read_modify_write",
    }
    if policy == "rival":
        found["policy.queue_driven.old_data"] = IDLE_COSTS[setting["old_data"]]
        found["policy.queue_driven.high"] = setting["policy.queue_driven.high"]
    return found


def maps(setting: Setting, used: Sequence[Load], parameters: Sequence[Open] = PARAMETERS, length: int = _LENGTH) -> Maps:
    """Runs the grid on loads, and returns the regions."""
    choices = [each.choices["choices"] for each in parameters]
    grid = [dict(zip((each.field for each in parameters), chosen, strict=True)) for chosen in itertools.product(*choices)]
    points = [
        point(load, one["passes"] * min(length, load.requests), policy, float(one["speed"]), **fields(one, policy))
        for one in grid
        for load in used
        for policy in ("AGCR", "rival")
    ]
    found = iter(samples(setting, "agcr-map", points, columns=COLUMNS, seeds=1))
    cases = [[Case(load, {policy: next(found) for policy in ("AGCR", "rival")}) for load in used] for _ in grid]
    # The points name no precondition: the preset's is ``fill``.
    fixed = f"{DRIVE}, {titles(used)}, precondition fill"
    regions = {name: _region(name, grid, cases, parameters, fixed) for name in GAINS}
    return Maps(regions, titles(used))


def _region(
    name: str,
    grid: Sequence[dict[str, Any]],
    cases: Sequence[Sequence[Case]],
    parameters: Sequence[Open],
    fixed: str = "",
) -> Region:
    title, published, tolerance, quantity = GAINS[name]
    values = [quantity(each, 1) for each in cases]
    rows = tuple(
        {**one, "value": value, "off": abs(value - published)}
        for one, value in zip(grid, values, strict=True)
        if value is not None
    )
    ordered = sorted(parameters, key=lambda each: -_spread(rows, each.field))
    return Region(f"agcr-{name}", title, published, tolerance, tuple(parameters), rows, tuple(ordered), fixed)


def _spread(rows: Sequence[Mapping[str, Any]], field: str) -> float:
    """Returns the variance of the means over the values of a parameter: how much it decides."""
    means = [fmean(row["value"] for row in rows if row[field] == value) for value in dict.fromkeys(row[field] for row in rows)]
    return pvariance(means)
