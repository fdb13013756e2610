"""Fields that no source has, and those that several sources have in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ssdlab.errors import InputError
from ssdlab.imports.draft import Draft, Geometry, rate, size, span
from ssdlab.imports.parameters import Parameters, Read

__all__ = ["CELLS", "Setting", "interface_of", "overprovisioning_of", "put_geometry", "put_interface", "put_remaining", "times"]

#: Bits per cell by the names that simulators use.
CELLS = {"SLC": "slc", "MLC": "mlc", "TLC": "tlc", "QLC": "qlc"}

#: Fields of which no source says anything, or which a source leaves to ssdlab: value, reason.
_REMAINING: dict[str, tuple[Any, str]] = {
    "host.interface.kind": ("ideal", "no host interface: a command takes no time on its way"),
    "buffer.policy": ("none", "no write buffer"),
    "flash.one_shot": (False, "pages are programmed one by one"),
    "flash.copyback": (False, "data that is relocated passes through the controller"),
    "flash.rated_pe_cycles": (10000, "no limit of wear; it matters for lifetimes only"),
    "flash.scheduler": ("read_first", "reads go before programs and erases"),
    "flash.write_mode.name": ("normal", "one write mode, without a limit of retention"),
    "ftl.victim": ("greedy", "the block with the fewest valid units"),
    "ftl.wear_leveling": ("none", "no wear levelling"),
    "ftl.separate_relocations": (True, "relocated data has blocks of its own"),
    "ftl.superblock_blocks": (1, "blocks are collected one by one"),
    "ftl.reserve_blocks": (1, "one free block of a die is kept for relocations"),
    "ftl.gc_spare_fraction": (0.0, "the thresholds are numbers of blocks"),
    "ftl.gc_preemptible": (True, "host writes may come between the steps of a collection"),
    "ftl.gc_idle_target_blocks": (1, "no background collection"),
    "ftl.unmapped_read": ("zero", "a read of data that was never written needs no flash"),
    "ftl.read_in_flight": ("buffer", "data of a program under way is read from the controller"),
    "ftl.retention_margin": ("1h", "data has no limit of retention"),
    "state.precondition": ("none", "the drive is empty; --precondition changes it"),
}


def overprovisioning_of(ratio: Fraction) -> float:
    """Returns over-provisioning as ssdlab counts it, of the user capacity, from a share of the physical capacity."""
    return float(ratio / (1 - ratio))


def interface_of(transfers: Fraction) -> str:
    """Returns the slowest electrical interface that reaches a rate [MT/s]."""
    limits = {"sdr": 50, "nv_ddr": 200, "nv_ddr2": 533}
    return next((name for name, most in limits.items() if transfers <= most), "nv_ddr3")


def put_interface(draft: Draft, transfers: Fraction, *reads: Read[Any], kind: str | None = None, note: str = "") -> None:
    """Sets the channel's interface and rate [MT/s]; `kind`: interface of the source, if it names one."""
    name = kind or interface_of(transfers)
    draft.put("flash.interface", name, *reads, note="" if kind else "the slowest interface with this rate")
    draft.put("flash.transfer_rate", rate(transfers * 10**6, "T/s"), *reads, note=note)


def put_geometry(draft: Draft, geometry: Geometry, reads: Mapping[str, tuple[Read[Any], ...]], notes: Mapping[str, str]) -> None:
    """Sets the numbers of the flash's parts; `reads`: the parameters behind each."""
    values = {
        "channels": geometry.channels,
        "chips_per_channel": geometry.chips,
        "dies_per_chip": geometry.dies,
        "planes_per_die": geometry.planes,
        "blocks_per_plane": geometry.blocks,
        "pages_per_block": geometry.pages,
        "page_size": size(geometry.page_bytes),
        "multi_plane": geometry.multi_plane,
    }
    for name, value in values.items():
        if reads.get(name):
            draft.put(f"flash.{name}", value, *reads[name], note=notes.get(name, ""))
        else:
            draft.ours(f"flash.{name}", value, notes.get(name, ""))


def put_remaining(draft: Draft) -> None:
    """Sets the required fields that are not set yet."""
    for path, (value, why) in _REMAINING.items():
        # A member of a family stands as a name, or as a table of its own.
        is_set = path in draft.fields or any(each.startswith(f"{path}.") for each in draft.fields)
        if not is_set:
            draft.ours(path, value, why)


def times(parameters: Parameters, names: list[str], defaults: list[str], unit: str, ns: Fraction) -> list[Read[str]]:
    """Returns times in the unit of the source (`ns`: its length) as durations of ssdlab."""
    found = []
    for name, default in zip(names, defaults, strict=True):
        read = parameters.number(name, default, unit=unit, least=0, most=1e18)
        found.append(Read(span(read.value * ns), read.name, read.raw, read.line))
    return found


class Setting:
    """Facts that some sources keep outside their file. One that is given but not used is an error."""

    def __init__(self, variant: str | None = None, capacity: str | None = None, occupancy: float | None = None) -> None:
        shown = None if occupancy is None else f"{occupancy:g}"
        self._given = {"variant": variant, "capacity": capacity, "occupancy": shown}
        self._used: set[str] = set()

    def take(self, name: str) -> str | None:
        """Returns a fact, which then counts as used; ``None`` if it was not given."""
        self._used.add(name)
        return self._given[name]

    def check_used(self, simulator: str) -> None:
        """Checks that nothing was given in vain.

        Raises:
            InputError: it was.
        """
        for name, value in self._given.items():
            if value is not None and name not in self._used:
                if name == "occupancy":
                    raise InputError(f"--occupancy {value}: only workloads of MQSim say how full the drive is, not {simulator}'s")
                raise InputError(f"--{name} {value}: a file of {simulator} says it itself: expected no --{name}")
