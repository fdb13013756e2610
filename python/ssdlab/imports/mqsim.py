"""MQSim: the device configuration (``ssdconfig.xml``). Defaults and meanings: the sources of CMU-SAFARI/MQSim."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ssdlab.errors import InputError
from ssdlab.imports.common import CELLS, Setting, overprovisioning_of, put_geometry, put_interface, put_remaining, times
from ssdlab.imports.draft import Draft, Geometry, rate, size, span
from ssdlab.imports.parameters import Entry, Parameters, Read
from ssdlab.imports.xml import Element, root_of

NAME = "mqsim"
TITLE = "MQSim"
ABOUT = "MQSim's device configuration (ssdconfig.xml)"

_ROOT = "Execution_Parameter_Set"
#: Bytes that a lane of each generation of PCI Express carries in a second.
_LANES = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9}
_ORDERS = ("C", "W", "D", "P")
_OUTPUT = "output of the simulator; see --log-commands and --timeline"
#: Parameters without a counterpart.
_REASONS = {
    "Enable_ResponseTime_Logging": _OUTPUT,
    "ResponseTime_Logging_Period_Length": _OUTPUT,
    "Seed": "the seed is an option of a run, --seed",
    "Data_Cache_Sharing_Mode": "one write buffer for all streams",
    "CMT_Sharing_Mode": "one mapping cache for all streams",
    **dict.fromkeys(
        (
            f"Data_Cache_DRAM_{name}"
            for name in ("Row_Size", "Data_Rate", "Data_Busrt_Size", "Data_Burst_Size", "tRCD", "tCL", "tRP")
        ),
        "in MQSim only cached data passes through the memory, here all data would: --set controller.dram=...",
    ),
    "Page_Read_Latency_CSB": "the cell has no page of this type",
    "Page_Program_Latency_CSB": "the cell has no page of this type",
    "Page_Read_Latency_MSB": "the cell has no page of this type",
    "Page_Program_Latency_MSB": "the cell has no page of this type",
    "Preferred_suspend_erase_time_for_write": "programs and erases are suspended for reads only",
    "Preferred_suspend_erase_time_for_read": "erases are not suspended, or share the time of programs",
    "Preferred_suspend_write_time_for_read": "programs are not suspended",
    "Suspend_Erase_Time": "erases are not suspended, or share the time of programs",
    "Suspend_Program_Time": "programs are not suspended",
    "SATA_Processing_Delay": "the interface is NVMe",
    "PCIe_Lane_Bandwidth": "the interface is SATA",
    "PCIe_Lane_Count": "the interface is SATA",
    "Queue_Fetch_Size": "the interface is SATA, whose queue is in the device",
    "Static_Wearleveling_Threshold": "no static wear levelling",
    "GC_Hard_Threshold": "collection is not preemptible: it always goes before host writes",
    "CMT_Capacity": "the mapping table is ideal",
    "Flash_Channel_Width": "1 B, the width of a channel here",
    "Dynamic_Wearleveling_Enabled": "static wear levelling includes the dynamic kind",
    "Memory_Type": "flash is the only kind of memory",
}


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of MQSim's."""
    return f"<{_ROOT}" in text


def parameters(text: str, file: str, _setting: Setting) -> Parameters:
    """Returns the parameters of a file."""
    root = root_of(text, file)
    if root.name != _ROOT:
        raise InputError(f"{file}:{root.line}: <{root.name}>: expected <{_ROOT}>, MQSim's device configuration")
    entries: dict[str, Entry] = {}
    for section, leaf in _leaves(root, ""):
        if leaf.name in entries:
            raise InputError(f"{file}:{leaf.line}: {leaf.name}: given twice, first in line {entries[leaf.name].line}")
        entries[leaf.name] = Entry(f"{section}{leaf.name}", leaf.text.strip(), leaf.line)
    return Parameters(file, entries)


def _leaves(element: Element, section: str) -> Iterator[tuple[str, Element]]:
    for child in element.children:
        if child.children:
            yield from _leaves(child, f"{child.name}/")
        else:
            yield section, child


def fill(draft: Draft, given: Parameters, setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    _host(draft, given)
    _buffer(draft, given)
    geometry = _flash(draft, given)
    _suspension(draft, given)
    _mapping(draft, given, setting)
    _collection(draft, given, geometry)
    _wear(draft, given)
    on = given.flag("Enabled_Preconditioning", "true")
    full = "here the user capacity is full: --occupancy makes it that of the workload's Initial_Occupancy_Percentage"
    note = full if on.value else "the drive is empty"
    draft.put("state.precondition", "steady" if on.value else "none", on, note=note)
    put_remaining(draft)
    draft.lack_rest(_REASONS)
    return geometry


def _host(draft: Draft, given: Parameters) -> None:
    kind = given.choice("HostInterface_Type", {"NVME": "nvme", "SATA": "sata"}, "NVME")
    depth = given.integer("IO_Queue_Depth", "1024", least=1, most=65536)
    if kind.value == "sata":
        draft.put("host.interface.kind", "sata", kind)
        draft.put("host.interface.queue_depth", min(depth.value, 32), depth, note="slots of the native command queue")
        if depth.value > 32:
            draft.lack(depth, "native command queuing has 32 tags")
        delay = given.integer("SATA_Processing_Delay", "400000", unit="ns", most=10**9)
        if delay.value:
            draft.ours("host.cpu.cores", 64, "as many as there can be commands, so that the delay of one is no wait of another")
            for name in ("submission", "completion"):
                draft.put(f"host.cpu.{name}", span(delay.value), delay, note="of each message, on either way")
        return
    lane = given.number("PCIe_Lane_Bandwidth", "0.4", unit="GB/s", least=1e-6, most=1000)
    lanes = given.integer("PCIe_Lane_Count", "4", least=1, most=64)
    fetch = given.integer("Queue_Fetch_Size", "512", least=1, most=65535)
    generation = next((number for number, share in _LANES.items() if abs(float(lane.value) * 1e9 / share - 1) <= 0.05), None)
    if generation is not None and lanes.value in (1, 2, 4, 8, 16):
        draft.put("host.interface.kind", "nvme", kind)
        draft.put("host.interface.generation", generation, lane, note="the generation whose lanes carry this within 5 %")
        draft.put("host.interface.lanes", lanes.value, lanes)
        draft.ours("host.interface.queues", 8, "a pair of queues for each flow, of which a scenario has at most 8")
        draft.put("host.interface.queue_depth", max(2, depth.value), depth, note="entries of a submission queue")
        draft.put(
            "host.interface.commands",
            fetch.value,
            fetch,
            note="commands in the device at a time; MQSim counts each flow by itself",
        )
        return
    draft.put("host.interface.kind", "plain", kind, lane, note="no generation of PCI Express has lanes of this rate")
    draft.put("host.interface.queue_depth", fetch.value, fetch, note="commands in the device at a time, of all flows")
    draft.put("host.interface.bandwidth", rate(lane.value * lanes.value * 10**9, "B/s"), lane, lanes)
    draft.ours("host.interface.command_time", "0ns", "only bytes take time on its link")
    draft.lack(depth, "the plain interface has no submission queues: commands beyond those in the device wait at the host")


def _buffer(draft: Draft, given: Parameters) -> None:
    """Sets the data cache, which MQSim turns on and off for each flow of the workload."""
    mechanism = given.choice("Caching_Mechanism", {"SIMPLE": "simple", "ADVANCED": "advanced"}, "ADVANCED")
    capacity = given.integer("Data_Cache_Capacity", str(512 << 20), unit="B", most=1 << 40)
    note = "on if the workload's Device_Level_Data_Caching_Mode is WRITE_CACHE, as in MQSim's examples"
    if not capacity.value:
        draft.put("buffer.policy", "none", capacity, note="no room for data")
    else:
        draft.put("buffer.policy", "write_back", mechanism, note=note)
        draft.put("buffer.capacity", size(capacity.value), capacity)
        draft.ours("buffer.flush_after", "1us", "a page is written to flash at once, however little of it is new")
    if mechanism.value == "advanced":
        draft.remark(mechanism, "reads are cached where a flow says READ_CACHE or WRITE_READ_CACHE: --set buffer.read_cache=SIZE")


def _flash(draft: Draft, given: Parameters) -> Geometry:
    cell = given.choice("Flash_Technology", {name: CELLS[name] for name in ("SLC", "MLC", "TLC")}, "MLC")
    names = {"slc": ["LSB"], "mlc": ["LSB", "MSB"], "tlc": ["LSB", "CSB", "MSB"]}[cell.value]
    counts = {
        "channels": given.integer("Flash_Channel_Count", "8", least=1, most=10**6),
        "chips_per_channel": given.integer("Chip_No_Per_Channel", "4", least=1, most=10**6),
        "dies_per_chip": given.integer("Die_No_Per_Chip", "2", least=1, most=10**6),
        "planes_per_die": given.integer("Plane_No_Per_Die", "2", least=1, most=10**6),
        "blocks_per_plane": given.integer("Block_No_Per_Plane", "2048", least=1, most=10**8),
        "pages_per_block": given.integer("Page_No_Per_Block", "256", least=1, most=10**6),
        "page_size": given.integer("Page_Capacity", "8192", unit="B", least=1, most=10**8),
    }
    channels, chips, dies, planes, blocks, pages, page = (read.value for read in counts.values())
    geometry = Geometry(channels, chips, dies, planes, blocks, pages, page, multi_plane=planes > 1)
    reads: dict[str, tuple[Read[int], ...]] = {name: (read,) for name, read in counts.items()}
    reads["multi_plane"] = (counts["planes_per_die"],)
    together = "MQSim programs the planes of a die together where pages of all of them wait, as under load"
    put_geometry(draft, geometry, reads, {"multi_plane": together if geometry.multi_plane else "one plane"})
    draft.put(
        "flash.concurrent_dies_per_chip",
        geometry.dies,
        counts["dies_per_chip"],
        note="MQSim issues to the dies of a chip together, and to none of them while one works",
    )
    draft.put("flash.cell", cell.value, cell)
    for field, name, default in (("read_time", "Read", "75000"), ("program_time", "Program", "750000")):
        listed = [f"Page_{name}_Latency_{page}" for page in names]
        found = times(given, listed, [default] * len(listed), "ns", Fraction(1))
        draft.put(f"flash.{field}", [read.value for read in found], *found)
    erase = times(given, ["Block_Erase_Latency"], ["3800000"], "ns", Fraction(1))[0]
    draft.put("flash.erase_time", erase.value, erase)
    cycles = given.integer("Block_PE_Cycles_Limit", "10000", least=1, most=10**8)
    draft.put("flash.rated_pe_cycles", cycles.value, cycles)
    spare = given.integer("Page_Metadat_Capacity", "1872", unit="B", most=10**8)
    if spare.value:
        draft.put("flash.spare_size", size(spare.value), spare)
    _channel(draft, given)
    return geometry


def _channel(draft: Draft, given: Parameters) -> None:
    transfers = given.number("Channel_Transfer_Rate", "300", unit="MT/s", least=1, most=10**6)
    width = given.integer("Flash_Channel_Width", "1", unit="B", least=1, most=64)
    protocol = given.choice("Flash_Comm_Protocol", {"NVDDR2": "nv_ddr2"}, "NVDDR2")
    total = transfers.value * width.value
    reads = (protocol, transfers) if width.value == 1 else (protocol, transfers, width)
    cycle = int(1000 / transfers.value)
    # MQSim keeps the time of a transfer in whole nanoseconds, rounded down.
    note = "" if cycle * transfers.value == 1000 or not cycle else f"MQSim rounds the time of a transfer down to {cycle} ns"
    put_interface(draft, total, *reads, kind="nv_ddr2" if total <= 533 else "nv_ddr3", note=note)
    policy = given.text("Transaction_Scheduling_Policy", "OUT_OF_ORDER")
    draft.put(
        "flash.scheduler",
        "read_first",
        policy,
        note="reads before programs before erases, without a limit on waiting; ssdlab's out_of_order has limits",
    )
    draft.put("flash.copyback", (copy := given.flag("Use_Copyback_for_GC", "true")).value, copy)


def _suspension(draft: Draft, given: Parameters) -> None:
    support = given.choice(
        "CMD_Suspension_Support",
        {"NONE": (False, False), "PROGRAM": (True, False), "ERASE": (False, True), "PROGRAM_ERASE": (True, True)},
        "ERASE",
    )
    program, erase = support.value
    if not program and not erase:
        draft.lack(support, "no suspension, as without the section [flash.suspension]")
        return
    draft.put("flash.suspension.program", program, support)
    draft.put("flash.suspension.erase", erase, support)
    kind, defaults = ("Program", ("100000", "100000")) if program else ("Erase", ("700000", "700000"))
    spent = given.integer(f"Suspend_{kind}_Time", defaults[0], unit="ns", most=10**12)
    name = "write" if program else "erase"
    least = given.integer(f"Preferred_suspend_{name}_time_for_read", defaults[1], unit="ns", most=10**12)
    shared = "one time for programs and erases" if program and erase else ""
    draft.put("flash.suspension.suspend_time", span(spent.value), spent, note=shared)
    draft.ours("flash.suspension.resume_time", "0ns", "going on takes no time")
    draft.put("flash.suspension.least_remaining", span(least.value), least, note=shared)
    draft.ours("flash.suspension.most", 1000000, "no limit on the suspensions of an operation")


def _mapping(draft: Draft, given: Parameters, setting: Setting) -> None:
    mapping = given.text("Address_Mapping", "PAGE_LEVEL")
    if mapping.value.upper() != "PAGE_LEVEL":
        raise given.error_about("Address_Mapping", "PAGE_LEVEL: ssdlab has no hybrid mapping")
    draft.put("ftl.translation.kind", "page_map", mapping, note="units of 4 KiB; MQSim maps whole pages")
    ratio = given.number("Overprovisioning_Ratio", "0.02", least=0, most=0.9)
    note = "of the user capacity: MQSim's ratio r is of the physical capacity, r / (1 - r)"
    over = overprovisioning_of(ratio.value)
    occupancy = setting.take("occupancy")
    if occupancy is not None:
        percent = float(occupancy)
        if not 1 <= percent <= 100:
            raise InputError(f"--occupancy {occupancy}: expected a percentage from 1 to 100")
        over = float(f"{(1 + over) * 100 / percent - 1:.6g}")
        note += f"; the rest of the flash beside the {percent:g} % that is stored is spare"
    draft.put("ftl.overprovisioning", over, ratio, note=note)
    orders = {"".join((a, b, c, d)): None for a in _ORDERS for b in _ORDERS for c in _ORDERS for d in _ORDERS}
    orders = {order: None for order in orders if len(set(order)) == 4}
    scheme = given.choice("Plane_Allocation_Scheme", {order: order for order in orders}, "CWDP", expected="an order such as CWDP")
    draft.put("ftl.write_allocation", "static", scheme, note="the place follows from the logical address")
    draft.put("ftl.allocation_order", scheme.value, scheme)
    ideal = given.flag("Ideal_Mapping_Table", "false")
    if ideal.value:
        draft.lack(ideal, "the whole map is in memory, as without the section [ftl.map_cache]")
        return
    capacity = given.integer("CMT_Capacity", str(2 << 20), unit="B", most=1 << 40)
    draft.put("ftl.map_cache.size", size(max(4096, capacity.value // 4096 * 4096)), capacity, note="map pages of 4 KiB")
    draft.remark(
        capacity,
        "MQSim's cache holds single entries: here the changed ones have nine tenths of it, and an entry that is read brings "
        "the 1024 of its map page",
    )
    draft.put("ftl.map_cache.memory", "sram", ideal, note="MQSim's cache is read in no time")
    note = "changes are held one by one, and one that leaves takes those of its map page along"
    draft.put("ftl.map_cache.update_share", 0.9, capacity, note=note)
    draft.ours("ftl.map_cache.dirty_share", 1.0, "entries are written when they leave the cache")


def _collection(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    draft.ours("ftl.reserve_blocks", 1, "one free block of a die is kept for relocations")
    start = given.number("GC_Exect_Threshold" if "GC_Exect_Threshold" in given else "GC_Exec_Threshold", "0.05", least=0, most=1)
    preemptible = given.flag("Preemptible_GC_Enabled", "true")
    hard = given.number("GC_Hard_Threshold", "0.005", least=0, most=1) if preemptible.value else start
    scale = geometry.blocks_per_die // geometry.blocks
    low, critical = (max(1, int(read.value * geometry.blocks)) * scale for read in (start, hard))
    note = f"free blocks of a die, of {geometry.blocks_per_die}"
    draft.put_collection(geometry, (min(critical, low), hard), (low, start), note=note)
    draft.put("ftl.gc_preemptible", preemptible.value, preemptible)
    policies = {
        "GREEDY": ("greedy", ""),
        "RGA": ("d_choices", "the best of log2(blocks of a plane) blocks drawn"),
        "RANDOM": ("random", ""),
        "RANDOM_P": ("random", "a full block drawn at random"),
        "RANDOM_PP": ("random", "a block drawn until it has enough invalid pages; here one that frees space"),
        "FIFO": ("fifo", ""),
    }
    victim = given.choice("GC_Block_Selection_Policy", policies, "RGA")
    kind, note = victim.value
    draft.put("ftl.victim.kind", kind, victim, note=note)
    if kind == "d_choices":
        draft.put("ftl.victim.d", max(1, geometry.blocks.bit_length() - 1), victim, note="log2 of the blocks of a plane")


def _wear(draft: Draft, given: Parameters) -> None:
    dynamic = given.flag("Dynamic_Wearleveling_Enabled", "true")
    static = given.flag("Static_Wearleveling_Enabled", "true")
    if not static.value:
        draft.put("ftl.wear_leveling", "dynamic" if dynamic.value else "none", dynamic, static)
        return
    spread = given.integer("Static_Wearleveling_Threshold", "100", least=0, most=10**9)
    draft.put("ftl.wear_leveling.kind", "static_cold", static)
    draft.put("ftl.wear_leveling.spread", min(max(1, spread.value), 10**6), spread, note="difference of erases")
    if not dynamic.value:
        draft.lack(dynamic, "static wear levelling includes the dynamic kind")
