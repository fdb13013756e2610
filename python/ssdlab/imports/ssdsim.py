"""SSDsim (Hu et al., ICS 2011): its parameters (``page.parameters``). Meanings: its copies, as huaicheng/ssdsim."""

from __future__ import annotations

import re

from ssdlab.errors import InputError
from ssdlab.imports.common import Setting, overprovisioning_of, put_geometry, put_interface, put_remaining
from ssdlab.imports.draft import UNIT, Draft, Geometry, size, span
from ssdlab.imports.parameters import Entry, Parameters, Read, shortened

NAME = "ssdsim"
TITLE = "SSDsim"
ABOUT = "SSDsim's page.parameters"

_NAME = re.compile(r"[\w ]+(?:\[\d+\])?")
#: Orders of static allocation, 0 to 5.
_STATIC = {"0": "WDPC", "1": "CWDP", "2": "CPWD", "3": "CDWP", "4": "CPDW", "5": "CDPW"}
#: Times that are parts of a cycle of the channel.
_PARTS = "CLS CLH CH WP ALS ALH DS DH WH AR CLR RP REA CEA RHZ CHZ RHOH RLOH COH REH IR RHW WHR"
_CYCLE = "part of a cycle: its sum, t_WC or t_RC, is used"
_POWER = "power is computed from the currents of each operation: the section [power]"
_AGE = "the preconditioning of a run says how data is spread: --precondition"
_REASONS = {
    **dict.fromkeys((f"t_{name}" for name in _PARTS.split()), _CYCLE),
    "t_RST": "a die is never reset",
    "flash operating current": _POWER,
    "flash supply voltage": _POWER,
    "dram active current": _POWER,
    "dram standby current": _POWER,
    "dram refresh current": _POWER,
    "dram voltage": _POWER,
    "subpage page": "data is mapped in units of 4 KiB",
    "subpage capacity": "data is mapped in units of 4 KiB",
    "gc threshold": "the soft threshold, at which SSDsim collects when it is idle: --set ftl.gc_idle_after=TIME",
    "gc": "collection is always on",
    "buffer management": "one kind of buffer",
    "scheduling algorithm": "a die's reads go before its programs, and older ones first, as in SSDsim",
    "advanced command priority": "planes of a die work together, and dies side by side",
    "greed CB command": "data is copied back where source and destination share a plane",
    "greed MPW command": "planes of a die always work together",
    "aged": _AGE,
    "aged ratio": _AGE,
    "static_allocation": "allocation is dynamic",
    "dynamic_allocation": "allocation is static",
    "queue length": "the interface takes no time and has no queue",
    "requset queue depth": "the interface takes no time and has no queue",
    "request queue depth": "the interface takes no time and has no queue",
    "trace file": "the workload",
    "active write": "no writes of its own",
    "update reqeust max": "no limit on updates",
}


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of SSDsim's."""
    return bool(re.search(r"^\s*t_PROG\s*=", text, re.MULTILINE)) and bool(
        re.search(r"^\s*channel number\s*=", text, re.MULTILINE)
    )


def parameters(text: str, file: str, _setting: Setting) -> Parameters:
    """Returns the parameters of a file. As in SSDsim, a line without ``=`` says nothing."""
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.partition("#")[0]
        name, equals, value = bare.partition("=")
        name = " ".join(name.split())
        if not equals:
            if bare.strip():
                raise InputError(f"{file}:{number}: {shortened(bare)!r}: expected NAME = VALUE;")
            continue
        if not _NAME.fullmatch(name):
            raise InputError(f"{file}:{number}: {shortened(name)!r}: expected the name of a parameter")
        if name in entries:
            raise InputError(f"{file}:{number}: {shortened(name)}: given twice, first in line {entries[name].line}")
        entries[name] = Entry(name, value.strip().rstrip(";").strip(), number)
    return Parameters(file, entries)


def fill(draft: Draft, given: Parameters, _setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    commands = given.integer("advanced command", "0", most=31)
    geometry = _flash(draft, given, commands)
    _channel(draft, given)
    _buffer(draft, given)
    _translation(draft, given, commands)
    draft.ours("ftl.reserve_blocks", 1, "one free block of a die is kept for relocations")
    hard = given.number("gc hard threshold", None, least=0, most=1)
    blocks = int(hard.value * geometry.blocks_per_die) + 1
    note = f"free blocks of a die, of {geometry.blocks_per_die}; SSDsim counts free pages of a plane"
    draft.put_collection(geometry, (blocks, hard), (blocks, hard), note=note)
    put_remaining(draft)
    reasons = dict(_REASONS)
    for name in given:
        if name.startswith("chip number["):
            reasons[name] = "a channel that the drive does not have"
    draft.lack_rest(reasons)
    return geometry


def _flash(draft: Draft, given: Parameters, commands: Read[int]) -> Geometry:
    channels = given.integer("channel number", None, least=1, most=10**6)
    chips, of_each = _chips(given, channels)
    dies = given.integer("die number", None, least=1, most=10**6)
    planes = given.integer("plane number", None, least=1, most=10**6)
    blocks = given.integer("block number", None, least=1, most=10**8)
    pages = given.integer("page number", None, least=1, most=10**6)
    page = given.integer("page capacity", None, unit="B", least=1, most=10**8)
    joined = UNIT // page.value if page.value < UNIT and UNIT % page.value == 0 and pages.value % (UNIT // page.value) == 0 else 1
    together = bool(commands.value & 4) and planes.value > 1
    numbers = (channels.value, chips.value, dies.value, planes.value, blocks.value, pages.value // joined)
    geometry = Geometry(*numbers, page_bytes=page.value * joined, multi_plane=together)
    note = (
        f"{joined} pages of {page.value} B make a page of a mapping unit, and take {joined} times as long" if joined > 1 else ""
    )
    reads: dict[str, tuple[Read[int], ...]] = {
        "channels": (channels,),
        "chips_per_channel": (chips, *of_each),
        "dies_per_chip": (dies,),
        "planes_per_die": (planes,),
        "blocks_per_plane": (blocks,),
        "pages_per_block": (pages,),
        "page_size": (page,),
        "multi_plane": (commands,),
    }
    put_geometry(draft, geometry, reads, {"pages_per_block": note, "page_size": note, "multi_plane": "bit 2, two-plane programs"})
    if joined > 1:
        draft.remark(page, f"pages are at least {UNIT} B, a mapping unit: {note}")
    side = dies.value if commands.value & 8 else 1
    draft.put("flash.concurrent_dies_per_chip", side, commands, note="bit 3, interleaved dies")
    draft.ours("flash.cell", "slc", "all pages have the same times")
    for field, name, factor in (("read_time", "t_R", joined), ("program_time", "t_PROG", joined), ("erase_time", "t_BERS", 1)):
        read = given.number(name, None, unit="ns", most=10**12)
        draft.put(f"flash.{field}", span(read.value * factor), read, note=note if factor > 1 else "")
    limit = given.integer("erase limit", "100000", least=1, most=10**8)
    draft.put("flash.rated_pe_cycles", limit.value, limit)
    return geometry


def _chips(given: Parameters, channels: Read[int]) -> tuple[Read[int], list[Read[int]]]:
    """Returns the chips of a channel, which are the same for all channels, and the counts of single channels."""
    total = given.integer("chip number", None, least=1, most=10**6)
    of_each = [
        given.integer(f"chip number[{at}]", None, most=10**6) for at in range(channels.value) if f"chip number[{at}]" in given
    ]
    counts = {read.value for read in of_each}
    if len(counts) > 1:
        other = next(read for read in of_each if read.value != of_each[0].value)
        raise given.error_about(
            other.name, f"{of_each[0].value}, as in {of_each[0].name}: channels have the same number of chips"
        )
    each, odd = divmod(total.value, channels.value)
    if odd or (of_each and of_each[0].value != each):
        raise given.error_about("chip number", f"the chips of {channels.value} channels together")
    return Read(each, total.name, f"{total.raw} on {channels.value} channels", total.line), of_each


def _channel(draft: Draft, given: Parameters) -> None:
    """Sets the channel: a byte in a cycle, t_RC for reads and t_WC for writes."""
    read = given.number("t_RC", "25", unit="ns", least=0.1, most=10**6)
    write = given.number("t_WC", "25", unit="ns", least=0.1, most=10**6)
    put_interface(draft, 1000 / max(read.value, write.value), read, write, note="a byte in a cycle")
    if read.value != write.value:
        draft.remark(min(read, write, key=lambda each: each.value), "one rate for both directions: the slower one")
    draft.put("flash.phases.t_cycle", span(write.value), write)
    defaults = {
        "t_cs": ("t_CS", "20"),
        "t_adl": ("t_ADL", "70"),
        "t_wb": ("t_WB", "100"),
        "t_rr": ("t_RR", "20"),
        "t_dbsy": ("t_DBSY", "500"),
    }
    for field, (name, default) in defaults.items():
        phase = given.number(name, default, unit="ns", most=10**9)
        draft.put(f"flash.phases.{field}", span(phase.value), phase)
    draft.ours("flash.phases.t_ccs", "0ns", "no change of column between planes")
    draft.ours("flash.phases.t_wpst", "0ns", "nothing follows a burst")


def _buffer(draft: Draft, given: Parameters) -> None:
    capacity = given.integer("dram capacity", "0", unit="B", most=1 << 40)
    kept = capacity.value // UNIT * UNIT
    if not kept:
        draft.put("buffer.policy", "none", capacity, note="no room for a mapping unit")
        return
    draft.put("buffer.policy", "write_back", capacity)
    draft.put("buffer.capacity", size(kept), capacity, note="whole mapping units" if kept != capacity.value else "")
    draft.ours("buffer.flush_after", "1s", "data leaves the buffer only when room is needed")
    draft.ours("buffer.flush_above", 0.9, "data leaves the buffer only when room is needed")
    draft.ours("buffer.flush_below", 0.9, "data leaves the buffer only when room is needed")
    draft.ours("buffer.flush_order", "lru", "the least recently used data leaves first")


def _translation(draft: Draft, given: Parameters, commands: Read[int]) -> None:
    mapping = given.text("address mapping", "1")
    if mapping.value != "1":
        raise given.error_about("address mapping", "1, page mapping: ssdlab has no block mapping and no FAST")
    draft.put("ftl.translation.kind", "page_map", mapping)
    draft.put("flash.copyback", bool(commands.value & 2), commands, note="bit 1, copyback")
    ratio = given.number("overprovide", "0.1", least=0, most=0.9)
    note = "of the user capacity: SSDsim's ratio r is of the physical capacity, r / (1 - r)"
    draft.put("ftl.overprovisioning", overprovisioning_of(ratio.value), ratio, note=note)
    scheme = given.choice("allocation", {"0": "dynamic", "1": "static"}, "0")
    if scheme.value == "static":
        order = given.choice("static_allocation", _STATIC, "1")
        draft.put("ftl.write_allocation", "static", scheme)
        draft.put("ftl.allocation_order", order.value, order, note="static allocation of ICS 2011")
    else:
        kind = given.choice("dynamic_allocation", {"0": "pull", "1": "round_robin"}, "0")
        draft.put("ftl.write_allocation", kind.value, scheme, kind, note="the place is chosen as late as possible")
        draft.ours("ftl.allocation_order", "CWD", "channels, chips and dies take turns")
        if kind.value == "round_robin":
            draft.remark(kind, "the channel follows from the logical address, the rest is chosen late; here places take turns")
    wear = given.choice("wear leveling", {"0": "none", "1": "dynamic"}, "1")
    draft.put("ftl.wear_leveling", wear.value, wear)
