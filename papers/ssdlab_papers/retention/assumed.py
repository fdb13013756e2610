"""Sensitivity of the write response speed-up to what is assumed: what a reader must believe.

The recalled numbers of the cell (form and exponent of the retention law, shape of the levels) act through the ratio of
the two program times alone, which the work states. The margin of the retention limit matters once a week.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.retention.loads import DIES, is_of_collections
from ssdlab_papers.retention.runs import COLUMNS, SPEED, Cases, Gain, Run, point
from ssdlab_papers.retention.speed import PAIR
from ssdlab_papers.sensitivity import Assumed, Sensitivity, option, sensitivity
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, over_seeds
from ssdlab_papers.traces import Load

#: Requests of each load, and joint draws: more than the 66 terms of the fit.
_LENGTH, _DRAWS = 14_000, 128
#: Blocks of each plane that keep the capacity, by size of a page; chips of each channel, by number of channels.
_BLOCKS, _CHIPS = {"4KiB": 8192, "8KiB": 4096, "16KiB": 2048}, {2: 8, 4: 4, 8: 2}


#: Numbers and choices that FACTS 2 and the drive's description mark as assumed, with their ranges.
ASSUMED = (
    Assumed(
        title="page size",
        standing="assumed",
        values=("4KiB", "8KiB", "16KiB"),
        usual="8KiB",
        fields=lambda size: {"flash.page_size": size, "flash.blocks_per_plane": _BLOCKS[size]},
    ),
    option("flash.pages_per_block", "pages of a block", (64, 128, 256), 128),
    Assumed(
        title="channels",
        standing="assumed",
        values=(2, 4, 8),
        usual=4,
        fields=lambda channels: {"flash.channels": channels, "flash.chips_per_channel": _CHIPS[channels]},
    ),
    Assumed(
        title="read [us]",
        standing="assumed",
        values=(25.0, 150.0),
        usual=75.0,
        fields=lambda us: {"flash.read_time": f"{1000 * us:.0f}ns"},
    ),
    Assumed(
        title="erase [ms]",
        standing="assumed",
        values=(1.5, 10.0),
        usual=5.0,
        fields=lambda ms: {"flash.erase_time": f"{1000 * ms:.0f}us"},
    ),
    Assumed(
        title="transfer rate [MT/s]",
        standing="assumed",
        values=(40.0, 200.0),
        usual=200.0,
        fields=lambda rate: {"flash.transfer_rate": f"{1e6 * rate:.0f}T/s"},
        log=True,
    ),
    option("ftl.gc_spare_fraction", "share of the spare blocks that is kept free", (0.05, 0.9), 0.2),
    option("ftl.write_allocation", "choice of the die of a write", ("pull", "static", "round_robin"), "pull"),
    option("ftl.partial_write", "writes of parts of pages", ("read_modify_write", "whole"), "read_modify_write"),
    option("precondition", "starting state", ("fill", "steady"), "fill"),
)


def loads_of(found: Cases) -> list[Load]:
    """Returns the leading loads of the work's collections on its smallest drive."""
    return [case.load for case in found.of_loads(is_of_collections).leading if DIES.get(case.load.name, 16) == 16]


def gain_sensitivity(
    setting: Setting, used: Sequence[Load], assumed: Sequence[Assumed] = ASSUMED, draws: int = _DRAWS, length: int = _LENGTH
) -> Sensitivity:
    """Returns the sensitivity of the mean speed-up over loads."""

    def points(fields: Mapping[str, object]) -> list[Mapping[str, object]]:
        return [
            {**point(SPEED, policy, load), **load.fields(min(length, load.requests)), **fields}
            for load in used
            for policy in PAIR
        ]

    def quantity(found: Sequence[Sample]) -> Estimate:
        def mean(*rows: Mapping[str, object]) -> float:
            return fmean(Gain(Run(rows[at]), Run(rows[at + 1])).speed_up for at in range(0, len(rows), 2))

        return over_seeds(mean, *found)

    return sensitivity(
        setting,
        "retention",
        title="write response speed-up (times)",
        assumed=assumed,
        points=points,
        quantity=quantity,
        draws=draws,
        columns=COLUMNS,
    )
