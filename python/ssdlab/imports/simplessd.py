"""SimpleSSD 2.0: its configuration (``.cfg``). Defaults and meanings: the sample and sources (SimpleSSD/SimpleSSD)."""

from __future__ import annotations

import re
from fractions import Fraction

from ssdlab.errors import InputError
from ssdlab.imports.common import Setting, overprovisioning_of, put_geometry, put_interface, put_remaining, times
from ssdlab.imports.draft import Draft, Geometry, rate, size, span
from ssdlab.imports.parameters import Entry, Parameters, Read, shortened

NAME = "simplessd"
TITLE = "SimpleSSD"
ABOUT = "SimpleSSD's configuration (.cfg)"

_SECTION = re.compile(r"^\s*\[(pal|ftl|icl|nvme|dram|cpu)\]\s*(#.*)?$", re.MULTILINE)
#: Picoseconds, the unit of its times, in nanoseconds.
_PS = Fraction(1, 1000)
_IMAGE = "the data itself is not kept"
_HOST = "the namespace is the whole drive"
_DMA = "bus between the link and the first layer of the firmware, faster than the link; not modelled"
_FORMATION = "the preconditioning of a run says how data is spread"
#: Parameters without a counterpart, by section and name.
_REASONS = {
    "nvme.WorkInterval": "commands are fetched as they come, not at intervals",
    "nvme.MaxRequestCount": "commands are fetched as they come, not at intervals",
    "nvme.MaxIOCQueue": "each submission queue has a completion queue of its own",
    "nvme.WRRHigh": "the host chooses the arbitration: --set host.interface.arbitration=...",
    "nvme.WRRMedium": "the host chooses the arbitration: --set host.interface.arbitration=...",
    "nvme.DefaultNamespace": _HOST,
    "nvme.EnableDiskImage": _IMAGE,
    "nvme.StrictSizeCheck": _IMAGE,
    "nvme.DiskImageFile": _IMAGE,
    "nvme.DiskImageFile1": _IMAGE,
    "nvme.UseCopyOnWriteDisk": _IMAGE,
    "nvme.AXIBusWidth": _DMA,
    "nvme.AXIClock": _DMA,
    "nvme.FIFOTransferUnit": _DMA,
    "pal.SuperblockSize": "data is mapped in units of 4 KiB, and blocks of a die are collected one by one",
    "pal.UseMultiPlaneOperation": "see EnableMultiPlaneOperation",
    "pal.CSBRead": "the cell has no page of this type",
    "pal.CSBWrite": "the cell has no page of this type",
    "pal.MSBRead": "the cell has no page of this type",
    "pal.MSBWrite": "the cell has no page of this type",
    "ftl.GCMode": "a collection goes on until the threshold is reached",
    "ftl.GCReclaimBlocks": "a collection goes on until the threshold is reached",
    "ftl.GCReclaimThreshold": "a collection goes on until the threshold is reached",
    "ftl.DChoiceParam": "the victim is not drawn",
    "ftl.MinFillBytes": _FORMATION,
    "ftl.Latency": "SimpleSSD 2.0 has cores in its place",
    "ftl.RequestQueue": "SimpleSSD 2.0 has cores in its place",
    "icl.CacheWaySize": "the buffer is fully associative",
    "icl.ReadPrefetchCount": "a read that begins where the one before it ended is followed",
    "icl.ReadPrefetchRatio": "a read that begins where the one before it ended is followed",
    "icl.EvictPolicy": "no buffer for writes",
    "icl.CacheSize": "neither reads nor writes are cached",
    "dram.PageSize": "the memory is a rate and a latency",
    "dram.DRAMPageSize": "the memory is a rate and a latency",
    "dram.tRP": "the memory is a rate and a latency: an access within a row, as most are",
    "dram.DRAMtRP": "the memory is a rate and a latency: an access within a row, as most are",
    "dram.DRAMModel": "the memory is a rate and a latency",
    "dram.Model": "the memory is a rate and a latency",
}
_SECTIONS_OF_OTHERS = {
    "global": "output of the simulator, or its workload",
    "generator": "the workload: a fio job or a workload TOML",
    "trace": "the workload: a trace",
    "none": "host interface of its own",
    "ufs": "UFS is not modelled",
    "sata": "the interface is NVMe: --set host.interface=sata",
    "dram": "the memory is a rate and a latency; energy: the section [power]",
}


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of SimpleSSD's."""
    return "<simplessd" in text or len({found[1] for found in _SECTION.finditer(text)}) >= 2


def parameters(text: str, file: str, _setting: Setting) -> Parameters:
    """Returns the parameters of a file, by section and name."""
    if text.lstrip().startswith("<"):
        raise InputError(f"{file}:1: XML: expected the .cfg of SimpleSSD 2.0, with sections such as [pal]")
    entries: dict[str, Entry] = {}
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].strip()
        if not line or line.startswith(";"):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name or not section:
            raise InputError(f"{file}:{number}: {shortened(line)!r}: expected [section] or NAME = VALUE")
        key = f"{section}.{name}"
        if key in entries:
            raise InputError(f"{file}:{number}: {shortened(key)}: given twice, first in line {entries[key].line}")
        entries[key] = Entry(f"[{shortened(section)}] {shortened(name)}", value, number)
    return Parameters(file, entries)


def fill(draft: Draft, given: Parameters, _setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    _host(draft, given)
    _firmware(draft, given)
    _memory(draft, given)
    geometry = _flash(draft, given)
    _buffer(draft, given, geometry)
    _translation(draft, given, geometry)
    _state(draft, given)
    put_remaining(draft)
    others = {
        name: _SECTIONS_OF_OTHERS[name.partition(".")[0]] for name in given if name.partition(".")[0] in _SECTIONS_OF_OTHERS
    }
    draft.lack_rest({**others, **_REASONS})
    return geometry


def _host(draft: Draft, given: Parameters) -> None:
    generation = given.integer("nvme.PCIEGeneration", "2", least=0, most=4)
    lanes = given.integer("nvme.PCIELane", "4", least=1, most=64)
    queues = given.integer("nvme.MaxIOSQueue", "16", least=1, most=65535)
    draft.ours("host.interface.kind", "nvme", "its section [nvme]; the interface is chosen outside this file")
    draft.put("host.interface.generation", generation.value + 1, generation, note="counted from 0 in SimpleSSD")
    draft.put("host.interface.lanes", lanes.value, lanes)
    draft.put("host.interface.queues", queues.value, queues)
    block = given.integer("nvme.LBASize", "512", unit="B", least=1, most=1 << 20)
    draft.put("host.logical_block", size(block.value), block)


def _firmware(draft: Draft, given: Parameters) -> None:
    """Sets the cores. SimpleSSD counts the instructions of its own code, which is not part of its file."""
    if not any(name.startswith("cpu.") for name in given):
        return
    clock = given.number("cpu.ClockSpeed", "400000000", unit="Hz", least=1, most=10**12)
    layers = [given.integer(f"cpu.{name}CoreCount", "1", least=0, most=1024) for name in ("HIL", "ICL", "FTL")]
    count = sum(layer.value for layer in layers)
    if not count:
        for layer in layers:
            draft.lack(layer, "no cores: firmware takes no time")
        draft.lack(clock, "no cores: firmware takes no time")
        return
    draft.put("controller.firmware.kind", "cores", *layers)
    draft.put("controller.firmware.count", count, *layers, note="of all layers")
    draft.put("controller.firmware.clock", rate(clock.value, "Hz"), clock)
    draft.put("controller.firmware.assignment", "by_task", *layers, note="each layer has its cores")
    draft.remark(clock, "the cycles of each task are counted in SimpleSSD's code; here they are ssdlab's defaults")


def _memory(draft: Draft, given: Parameters) -> None:
    prefix = "dram.DRAM" if any(name.startswith("dram.DRAM") for name in given) else "dram."
    channels = given.integer(f"{prefix}Channel", "1", least=1, most=64)
    width = given.integer(f"{prefix}BusWidth", "32", unit="bits", least=8, most=1024)
    cycle, row, column = (
        given.number(f"{prefix}{name}", default, unit="ps", least=least, most=10**9)
        for name, default, least in (("tCK", "1250", 1), ("tRCD", "18000", 0), ("tCL", "15000", 0))
    )
    draft.put("controller.dram.kind", "bandwidth", channels, note="a rate and a latency, as SimpleSSD's model 0")
    per_second = channels.value * Fraction(width.value, 8) * 2 * 10**12 / cycle.value
    draft.put("controller.dram.rate", rate(per_second, "B/s"), channels, width, cycle, note="two transfers in a clock cycle")
    draft.put("controller.dram.latency", span((row.value + column.value) * _PS), row, column)


def _flash(draft: Draft, given: Parameters) -> Geometry:
    cell = given.choice("pal.NANDType", {"0": "slc", "1": "mlc", "2": "tlc"}, "1")
    together = given.flag("pal.EnableMultiPlaneOperation", "1")
    counts = {
        "channels": given.integer("pal.Channel", "8", least=1, most=10**6),
        "chips_per_channel": given.integer("pal.Package", "4", least=1, most=10**6),
        "dies_per_chip": given.integer("pal.Die", "2", least=1, most=10**6),
        "planes_per_die": given.integer("pal.Plane", "2", least=1, most=10**6),
        "blocks_per_plane": given.integer("pal.Block", "512", least=1, most=10**8),
        "pages_per_block": given.integer("pal.Page", "512", least=1, most=10**6),
        "page_size": given.integer("pal.PageSize", "16384", unit="B", least=1, most=10**8),
    }
    channels, chips, dies, planes, blocks, pages, page = (read.value for read in counts.values())
    geometry = Geometry(channels, chips, dies, planes, blocks, pages, page, multi_plane=together.value)
    reads: dict[str, tuple[Read[int] | Read[bool], ...]] = {name: (read,) for name, read in counts.items()}
    reads["multi_plane"] = (together,)
    put_geometry(draft, geometry, reads, {})
    draft.put(
        "flash.concurrent_dies_per_chip", geometry.dies, counts["dies_per_chip"], note="dies of a package work at the same time"
    )
    draft.put("flash.cell", cell.value, cell)
    names = {"slc": ["LSB"], "mlc": ["LSB", "MSB"], "tlc": ["LSB", "CSB", "MSB"]}[cell.value]
    sample = {"LSBRead": "40000000", "MSBRead": "65000000", "LSBWrite": "500000000", "MSBWrite": "1300000000"}
    for field, kind in (("read_time", "Read"), ("program_time", "Write")):
        listed = [f"{page}{kind}" for page in names]
        defaults = [sample.get(name, sample[f"LSB{kind}"]) for name in listed]
        found = times(given, [f"pal.{name}" for name in listed], defaults, "ps", _PS)
        draft.put(f"flash.{field}", [read.value for read in found], *found)
    erase = times(given, ["pal.Erase"], ["3500000000"], "ps", _PS)[0]
    draft.put("flash.erase_time", erase.value, erase)
    speed = given.number("pal.DMASpeed", "400", unit="MT/s", least=1, most=10**6)
    width = given.integer("pal.DMAWidth", "8", unit="bits", least=8, most=64)
    put_interface(draft, speed.value * Fraction(width.value, 8), speed, width)
    return geometry


def _buffer(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    """Sets the cache, which SimpleSSD shares between reads and writes."""
    writes, reads = given.flag("icl.EnableWriteCache", "1"), given.flag("icl.EnableReadCache", "1")
    prefetch = given.flag("icl.EnableReadPrefetch", "1")
    if not writes.value:
        draft.put("buffer.policy", "none", writes, note="writes are not cached")
    if not writes.value and not reads.value:
        return
    total = given.integer("icl.CacheSize", str(512 << 20), unit="B", least=4096, most=1 << 40)
    both = writes.value and reads.value
    part = total.value // (2 if both else 1) // 4096 * 4096
    note = "half of it: SimpleSSD's cache is shared by reads and writes, ssdlab's are two" if both else ""
    if writes.value:
        order = given.choice("icl.EvictPolicy", {"0": "fifo", "1": "fifo", "2": "lru"}, "2")
        draft.put("buffer.policy", "write_back", writes)
        draft.put("buffer.capacity", size(part), total, note=note)
        draft.ours("buffer.flush_after", "1s", "data leaves the cache only when room is needed")
        draft.ours("buffer.flush_above", 0.9, "data leaves the cache only when room is needed")
        draft.ours("buffer.flush_below", 0.9, "data leaves the cache only when room is needed")
        draft.put("buffer.flush_order", order.value, order)
        if order.raw == "0":
            draft.remark(order, "data does not leave the buffer at random; it leaves in the order of its arrival")
    if reads.value:
        draft.put("buffer.read_cache", size(part), reads, total, note=note)
        if prefetch.value:
            ahead = geometry.page_bytes * (geometry.planes if geometry.multi_plane else 1) * geometry.channels
            draft.put("buffer.read_ahead", size(ahead), prefetch, note="a page of each channel")
            return
    draft.lack(
        prefetch, "data is read ahead only into a read cache" if prefetch.value else "no reading ahead, as without the field"
    )


def _translation(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    mode = given.text("ftl.MappingMode", "0")
    if mode.value not in ("0", "PageMapping"):
        raise given.error_about("ftl.MappingMode", "0: ssdlab has page mapping only")
    draft.put("ftl.translation.kind", "page_map", mode, note="units of 4 KiB; SimpleSSD maps pages of a superblock")
    ratio = given.number("ftl.OverProvisioningRatio", "0.25", least=0, most=0.9)
    note = "of the user capacity: SimpleSSD's ratio r is of the physical capacity, r / (1 - r)"
    draft.put("ftl.overprovisioning", overprovisioning_of(ratio.value), ratio, note=note)
    order = given.text("pal.PageAllocation", "CWDP")
    letters = order.value.upper()
    if sorted(letters) not in (sorted("CWDP"), sorted("CWD")):
        raise given.error_about("pal.PageAllocation", "an order of C, W, D and P, such as CWDP")
    draft.put("ftl.allocation_order", letters, order)
    draft.put("ftl.write_allocation", "round_robin", order, note="written data takes the places in turn")
    draft.ours("ftl.reserve_blocks", 1, "one free block of a die is kept for relocations")
    limit = given.integer("ftl.EraseThreshold", "100000", least=1, most=10**8)
    draft.put("flash.rated_pe_cycles", limit.value, limit)
    draft.put("ftl.retire_at_cycles", min(limit.value, 4_000_000), limit, note="erases after which a block is marked as bad")
    start = given.number("ftl.GCThreshold", "0.05", least=0, most=1)
    blocks = int(start.value * geometry.blocks_per_die) + 1
    note = f"free blocks of a die, of {geometry.blocks_per_die}; collection goes before writes"
    draft.put_collection(geometry, (blocks, start), (blocks, start), note=note)
    draft.ours("ftl.gc_preemptible", False, "a write waits until the collection that it caused is done")
    victims = {"0": "greedy", "1": "cost_benefit", "2": "random", "3": "d_choices"}
    victim = given.choice("ftl.EvictPolicy", victims, "0")
    draft.put("ftl.victim.kind", victim.value, victim)
    if victim.value == "d_choices":
        drawn = given.integer("ftl.DChoiceParam", "3", least=1, most=1000)
        draft.put("ftl.victim.d", drawn.value, drawn)
    draft.ours("ftl.wear_leveling", "dynamic", "the free block with the fewest erases is used first")


def _state(draft: Draft, given: Parameters) -> None:
    fill = given.number(
        "ftl.Warmup" if "ftl.Warmup" in given and "ftl.FillRatio" not in given else "ftl.FillRatio", "0", least=0, most=1
    )
    invalid = given.number("ftl.InvalidPageRatio", "0", least=0, most=1)
    mode = given.choice("ftl.FillingMode", {"0": "fill", "1": "random", "2": "random"}, "0")
    if not fill.value:
        draft.put("state.precondition", "none", fill)
        for read in (invalid, mode):
            draft.lack(read, "the drive is empty")
        return
    draft.put("state.precondition", mode.value if invalid.value else "fill", fill, invalid, mode)
    if fill.value < 1 or invalid.value:
        draft.remark(fill, "the drive is full, and overwritten as a whole: the shares are not kept")
