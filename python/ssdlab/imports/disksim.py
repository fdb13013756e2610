"""DiskSim with the SSD extension (Agrawal et al., USENIX ATC 2008): the block ``ssdmodel_ssd`` of a ``.parv`` file."""

from __future__ import annotations

import re
from fractions import Fraction

from ssdlab.errors import InputError
from ssdlab.imports.common import Setting, put_geometry, put_interface, put_remaining
from ssdlab.imports.draft import Draft, Geometry, rate, span
from ssdlab.imports.parameters import Entry, Parameters, Read, shortened

NAME = "disksim"
TITLE = "DiskSim"
ABOUT = "a .parv of DiskSim with its SSD extension"

_BLOCK = re.compile(r"\b(?:ssdmodel_ssd|disksim_ssd)\s+([\w-]+)\s*\{")
_MS = Fraction(10**6)
#: Deepest nesting of blocks.
_DEPTH = 16
_ENERGY = "power is computed from the section [power]"
_REASONS = {
    "Block count": "the capacity follows from the flash",
    "Bus transaction latency": "the interface has one time for each command",
    "Never disconnect": "a bus of SCSI",
    "Print stats": "output of the simulator",
    "Timing model": "1, the model of the extension",
    "Blocks per element": "follows from planes and blocks of a plane",
    "Write policy": "pages are always written in new places, policy 2",
    "Plane block mapping": "blocks have no numbers across planes",
    "Gang share": "the elements of a gang share the channel",
    "Allocation pool logic": "free blocks are those of a die",
    "Element stride pages": "units go to the dies one by one",
    "Page write max latency": "one time for all programs",
    "Channel switch delay": "part of the channel's phases",
    "Channel": "follows from elements and gangs",
    "Flash input voltage": _ENERGY,
    "Page read current": _ENERGY,
    "Page write current": _ENERGY,
    "Page erase current": _ENERGY,
    "Flash idle current": _ENERGY,
    "Flash bus current": _ENERGY,
    "CPU normal mode power": _ENERGY,
    "CPU idle mode power": _ENERGY,
    "CPU slow mode power": _ENERGY,
    "SSD bus current": _ENERGY,
    "Scheduler": "reads go before programs, and older ones first",
}


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of DiskSim's with an SSD."""
    return bool(_BLOCK.search(text))


def parameters(text: str, file: str, _setting: Setting) -> Parameters:
    """Returns the parameters of the first SSD of a file."""
    text = re.sub(r"#[^\n]*", "", text)
    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        raise InputError(f"{file}: no `ssdmodel_ssd NAME {{`: expected {ABOUT}")
    if len(blocks) > 1:
        line = text.count("\n", 0, blocks[1].start()) + 1
        raise InputError(f"{file}:{line}: a second SSD, {blocks[1][1]}: expected one drive in the file")
    entries: dict[str, Entry] = {}
    at, line = blocks[0].end(), text.count("\n", 0, blocks[0].end()) + 1
    start, depth = at, 0
    while True:
        if at >= len(text):
            raise InputError(f"{file}:{line}: the block ends with the file: expected `}}`")
        letter = text[at]
        if letter in "{[":
            depth += 1
            if depth > _DEPTH:
                raise InputError(f"{file}:{line}: expected at most {_DEPTH} levels")
        elif letter in "}]" and depth:
            depth -= 1
        elif letter in ",}" and not depth:
            _take(entries, text[start:at], file, line)
            start = at + 1
            if letter == "}":
                return Parameters(file, entries)
        line += letter == "\n"
        at += 1


def _take(entries: dict[str, Entry], piece: str, file: str, line: int) -> None:
    """Adds a parameter, `piece`, that ends in `line`."""
    if not piece.strip():
        return
    first = line - piece.lstrip().count("\n")
    name, equals, value = (" ".join(part.split()) for part in piece.partition("="))
    if not equals or not re.fullmatch(r"[\w /-]+", name):
        raise InputError(f"{file}:{first}: {shortened(piece)!r}: expected NAME = VALUE and a comma")
    if name in entries:
        raise InputError(f"{file}:{first}: {name}: given twice, first in line {entries[name].line}")
    entries[name] = Entry(name, value, first)


def fill(draft: Draft, given: Parameters, _setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    _host(draft, given)
    geometry = _flash(draft, given)
    copy = given.integer("Copy back", "0", most=1)
    draft.put("flash.copyback", bool(copy.value), copy)
    logic = given.choice("Allocation pool logic", {"0": "static", "1": "static", "2": "static"}, "1")
    draft.put("ftl.write_allocation", logic.value, logic, note="the element follows from the logical address")
    draft.ours("ftl.allocation_order", "WCD", "consecutive pages are on consecutive elements, those of a gang first")
    _capacity(draft, given, geometry)
    policies = {
        "1": ("random", ""),
        "2": ("greedy", ""),
        "3": ("rate_limited_greedy", "greedy, with fewer collections of worn blocks"),
    }
    victim = given.choice("Cleaning policy", policies, "2")
    draft.put("ftl.victim", victim.value[0], victim, note=victim.value[1])
    background = given.integer("Cleaning in background", "0", most=1)
    if background.value:
        draft.put("ftl.gc_idle_after", "1ms", background, note="DiskSim begins at once; a millisecond is ssdlab's")
    else:
        draft.lack(background, "no background collection, as without the field ftl.gc_idle_after")
    put_remaining(draft)
    draft.lack_rest(_REASONS)
    return geometry


def _host(draft: Draft, given: Parameters) -> None:
    depth = given.integer("Max queue length", "1024", least=1, most=10**9)
    sector = given.number("Bulk sector transfer time", "0", unit="ms", most=10**6)
    overhead = given.number("Command overhead", "0", unit="ms", most=10**6)
    draft.ours("host.interface.kind", "plain", "its buses and controllers are outside this block")
    draft.put("host.interface.queue_depth", depth.value, depth)
    bandwidth = rate(512 * 10**9 / (sector.value * _MS), "B/s") if sector.value else "0B/s"
    draft.put(
        "host.interface.bandwidth", bandwidth, sector, note="512 bytes in this time" if sector.value else "data takes no time"
    )
    draft.put("host.interface.command_time", span(overhead.value * _MS), overhead)


def _flash(draft: Draft, given: Parameters) -> Geometry:
    elements = given.integer("Flash chip elements", None, least=1, most=10**6)
    gang = given.integer("Elements per gang", "1", least=1, most=10**6)
    units = given.integer("Number of parallel units", "1", least=1, most=10**6)
    planes = given.integer("Planes per package", None, least=1, most=10**6)
    blocks = given.integer("Blocks per plane", None, least=1, most=10**8)
    pages = given.integer("Pages per block", None, least=2, most=10**6)
    page = given.integer("Page size", None, unit="sectors of 512 B", least=1, most=10**6)
    channels, odd = divmod(elements.value, gang.value)
    if odd:
        raise given.error_about("Elements per gang", f"a divisor of the {elements.value} elements")
    of_die, odd = divmod(planes.value, units.value)
    if odd:
        raise given.error_about("Number of parallel units", f"a divisor of the {planes.value} planes")
    bytes_of_page = page.value * 512
    geometry = Geometry(channels, gang.value, units.value, of_die, blocks.value, pages.value, bytes_of_page, multi_plane=False)
    reads: dict[str, tuple[Read[int], ...]] = {
        "channels": (elements, gang),
        "chips_per_channel": (gang,),
        "dies_per_chip": (units,),
        "planes_per_die": (planes, units),
        "blocks_per_plane": (blocks,),
        "pages_per_block": (pages,),
        "page_size": (page,),
    }
    notes = {
        "dies_per_chip": "parts of an element that work at the same time",
        "multi_plane": "one plane of a parallel unit at a time",
    }
    put_geometry(draft, geometry, reads, notes)
    draft.put("flash.concurrent_dies_per_chip", units.value, units)
    draft.ours("flash.cell", "slc", "all pages have the same times")
    for field, name in (
        ("read_time", "Page read latency"),
        ("program_time", "Page write latency"),
        ("erase_time", "Block erase latency"),
    ):
        read = given.number(name, None, unit="ms", most=10**6)
        draft.put(f"flash.{field}", span(read.value * _MS), read)
    draft.ours("flash.rated_pe_cycles", 1000000, "a constant of its code, SSD_MAX_ERASURES")
    transfer = given.number("Chip xfer latency", None, unit="ms", least=0, most=10)
    if not transfer.value or transfer.value * _MS > 10_000:
        raise given.error_about("Chip xfer latency", "the time of one byte in ms, such as 0.000025")
    put_interface(draft, 1000 / (transfer.value * _MS), transfer, note="a byte in this time")
    return geometry


def _capacity(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    """Sets the user capacity: whole blocks of each plane are reserved, and a page of each block holds its summary."""
    reserve = given.integer("Reserve pages percentage", "15", unit="%", most=90)
    usable = geometry.blocks - reserve.value * geometry.blocks // 100
    user = geometry.die_count * geometry.planes * usable * (geometry.pages - 1) * geometry.page_bytes
    note = f"{usable} of {geometry.blocks} blocks of a plane, and all pages of a block but one, for its summary"
    draft.put("ftl.overprovisioning", float(Fraction(geometry.physical_bytes, user) - 1), reserve, note=note)
    draft.ours("ftl.reserve_blocks", 1, "one free block of a die is kept for relocations")
    least = given.number("Minimum free blocks percentage", "5", unit="%", least=0, most=100)
    blocks = int(least.value * geometry.blocks_per_die / 100) + 1
    note = f"free blocks of a die, of {geometry.blocks_per_die}"
    draft.put_collection(geometry, (blocks, least), (blocks, least), note=note)
