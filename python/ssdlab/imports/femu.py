"""FEMU: the options of its device, in a run script. Defaults and meanings: its sources (MoatLab/FEMU, ``bbssd``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from ssdlab.errors import InputError
from ssdlab.imports.common import Setting, put_geometry, put_remaining, times
from ssdlab.imports.draft import Draft, Geometry, rate
from ssdlab.imports.parameters import Entry, Parameters, Read, shortened

NAME = "femu"
TITLE = "FEMU"
ABOUT = "a run script of FEMU (-device femu,...)"

#: Parameters of the black-box drive, by which a file of plain assignments is recognised.
_KNOWN = (
    "secsz",
    "secs_per_pg",
    "pgs_per_blk",
    "blks_per_pl",
    "pls_per_lun",
    "luns_per_ch",
    "nchs",
    "pg_rd_lat",
    "pg_wr_lat",
    "blk_er_lat",
    "ch_xfer_lat",
    "gc_thres_pcent",
    "gc_thres_pcent_high",
)
_DEVICE = re.compile(r"-device\s+femu,?([^\s\"']*)")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+|local\s+|declare\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_OPTION = re.compile(r"[A-Za-z_][\w-]*")
#: Longest text of a variable: each may hold others twice.
_MOST = 1 << 16
_QEMU = "of the virtual machine, not of the drive"
_REASONS = {
    "femu_mode": "1, the black-box drive, is what is imported",
    "namespaces": "the drive has one",
    "queues": "the interface takes no time and has no queues",
    "entries": "the interface takes no time and has no queues",
    "multipoller_enabled": _QEMU,
    "serial": _QEMU,
    "id": _QEMU,
    "bus": _QEMU,
    "lba_index": "logical blocks of 512 bytes",
    "flash_type": "cells have a single time for each operation here, as in FEMU's black-box mode",
}


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of FEMU's."""
    if "-device femu" in text or re.search(r"-device\s+femu\b", text):
        return True
    return sum(1 for name in _KNOWN if re.search(rf"^\s*{name}\s*=", text, re.MULTILINE)) >= 5


def parameters(text: str, file: str, _setting: Setting) -> Parameters:
    """Returns the options of the device, with the variables of the script in their places."""
    variables: dict[str, str] = {}
    places: dict[str, int] = {}
    devices: list[tuple[int, str]] = []
    for number, line in _lines(text):
        found = _ASSIGNMENT.fullmatch(line)
        # A word before the first blank is an assignment; `A=B command` is a command, and rare.
        if found is None:
            devices += [(number, options) for options in _DEVICE.findall(_expanded_text(line, variables, file, number))]
            continue
        value = _expanded_text(found[2], variables, file, number)
        variables[found[1]] = value
        places.setdefault(found[1], number)
        for name in re.findall(r"[,\"']([A-Za-z_]\w*)=", line):
            places.setdefault(f",{name}", number)
    if not devices:
        devices = [(places[name], options) for name, value in variables.items() for options in _DEVICE.findall(value)][-1:]
    if len({options for _, options in devices}) > 1:
        raise InputError(f"{file}:{devices[1][0]}: a second -device femu: expected one drive in the file")
    if devices:
        number, options = devices[0]
        return Parameters(file, _options(options, number, places, file))
    given = {name: Entry(name, variables[name], places[name]) for name in (*_KNOWN, "devsz_mb") if name in variables}
    if "devsz_mb" not in given and "ssd_size" in variables:
        given["devsz_mb"] = Entry("ssd_size", variables["ssd_size"], places["ssd_size"])
    if not given:
        raise InputError(f"{file}: no -device femu,...: expected a run script of FEMU")
    return Parameters(file, given)


def _lines(text: str) -> list[tuple[int, str]]:
    """Returns the lines of a script with their numbers: comments removed, continued lines joined."""
    found: list[tuple[int, str]] = []
    held, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        first = first or number
        if bare.endswith("\\"):
            held += bare[:-1] + " "
            continue
        if (held + bare).strip():
            found.append((first, (held + bare).strip()))
        held, first = "", 0
    if held.strip():
        found.append((first, held.strip()))
    return found


def _expanded_text(text: str, variables: Mapping[str, str], file: str, number: int) -> str:
    """Returns a text without quotes, with the values of variables in their places."""
    value = _VARIABLE.sub(lambda name: variables.get(name[1] or name[2], ""), re.sub(r"[\"']", "", text))
    if len(value) > _MOST:
        raise InputError(f"{file}:{number}: a variable of more than {_MOST:,} characters: expected the options of a drive")
    return value.strip() if text[:1] not in "\"'" else value


def _options(options: str, number: int, places: Mapping[str, int], file: str) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for option in filter(None, options.split(",")):
        name, equals, value = option.partition("=")
        line = places.get(f",{name}", number)
        if not equals or not _OPTION.fullmatch(name):
            raise InputError(f"{file}:{line}: {shortened(option)!r}: expected NAME=VALUE after -device femu")
        if name in entries:
            raise InputError(f"{file}:{line}: {shortened(name)}: given twice")
        entries[name] = Entry(name, value, line)
    return entries


def fill(draft: Draft, given: Parameters, _setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    mode = given.integer("femu_mode", "1", most=100)
    if mode.value != 1:
        raise given.error_about("femu_mode", "1, the black-box drive; others leave the translation to the host")
    draft.lack(mode, _REASONS["femu_mode"])
    geometry = _flash(draft, given)
    _capacity(draft, given, geometry)
    draft.ours("ftl.write_allocation", "round_robin", "the write pointer goes over the channels, then over the LUNs")
    draft.ours("ftl.allocation_order", "CWD", "the write pointer goes over the channels, then over the LUNs")
    draft.ours("ftl.reserve_blocks", 1, "one free block of a die is kept for relocations")
    low, high = (
        given.number(name, default, unit="%", least=0, most=100)
        for name, default in (("gc_thres_pcent", "75"), ("gc_thres_pcent_high", "95"))
    )
    # Collection runs while at most this many lines, each a block of every die, are free.
    lazy, forced = (int((100 - read.value) * geometry.blocks_per_die / 100) + 1 for read in (low, high))
    note = f"free blocks of a die, of {geometry.blocks_per_die}: the rest of the share in use"
    draft.put_collection(geometry, (min(forced, lazy), high), (lazy, low), note=note)
    draft.ours("ftl.victim", "greedy", "the line with the fewest valid pages")
    put_remaining(draft)
    draft.remark(
        Read("lines", "unit of collection", "a block of every LUN", None),
        "a line, a block of each LUN, is collected as one; here each die collects its own blocks",
    )
    draft.lack_rest(_REASONS)
    return geometry


def _flash(draft: Draft, given: Parameters) -> Geometry:
    sector = given.integer("secsz", "512", unit="B", least=1, most=1 << 20)
    sectors = given.integer("secs_per_pg", "8", least=1, most=1 << 20)
    counts = {
        "channels": given.integer("nchs", "8", least=1, most=10**6),
        "chips_per_channel": given.integer("luns_per_ch", "8", least=1, most=10**6),
        "planes_per_die": given.integer("pls_per_lun", "1", least=1, most=10**6),
        "blocks_per_plane": given.integer("blks_per_pl", "256", least=1, most=10**8),
        "pages_per_block": given.integer("pgs_per_blk", "256", least=1, most=10**6),
    }
    channels, chips, planes, blocks, pages = (read.value for read in counts.values())
    geometry = Geometry(channels, chips, 1, planes, blocks, pages, sector.value * sectors.value, multi_plane=False)
    reads: dict[str, tuple[Read[int], ...]] = {name: (read,) for name, read in counts.items()}
    reads["page_size"] = (sector, sectors)
    notes = {"dies_per_chip": "a LUN is a die of its own", "multi_plane": "one plane at a time"}
    put_geometry(draft, geometry, reads, notes)
    draft.ours("flash.concurrent_dies_per_chip", 1, "a LUN is a die of its own")
    draft.ours("flash.cell", "slc", "all pages have the same times")
    names = ("pg_rd_lat", "pg_wr_lat", "blk_er_lat")
    found = times(given, list(names), ["40000", "200000", "2000000"], "ns", Fraction(1))
    for field, read in zip(("read_time", "program_time", "erase_time"), found, strict=True):
        draft.put(f"flash.{field}", read.value, read)
    transfer = given.number("ch_xfer_lat", "0", unit="ns", most=10**9)
    if transfer.value:
        draft.put("flash.interface", "nv_ddr3", transfer, note="an interface that reaches the rate")
        speed = geometry.page_bytes * 10**9 / transfer.value
        draft.put("flash.transfer_rate", rate(speed, "T/s"), transfer, note="a page in this time")
        draft.remark(transfer, "FEMU's black-box mode takes this parameter, but charges no time for the channel")
    else:
        draft.put("flash.interface", "nv_ddr3", transfer, note="the fastest: the channel takes no time in FEMU")
        draft.put("flash.transfer_rate", "4800MT/s", transfer, note="the fastest: the channel takes no time in FEMU")
        draft.remark(transfer, "the channel takes some time here: about 0.9 us for 4 KiB, and a microsecond for commands")
    return geometry


def _capacity(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    megabytes = given.integer("devsz_mb", "1024", unit="MiB", least=1, most=10**9)
    over = Fraction(geometry.physical_bytes, megabytes.value << 20) - 1
    if over <= 0:
        physical = geometry.physical_bytes >> 20
        raise given.error_about("devsz_mb", f"less than the flash has, {physical} MiB: the rest is over-provisioning")
    note = f"the flash has {geometry.physical_bytes >> 20} MiB"
    draft.put("ftl.overprovisioning", min(float(over), 1.0), megabytes, note=note)
    if over > 1:
        draft.put("ftl.user_capacity", f"{megabytes.value}MiB", megabytes)
