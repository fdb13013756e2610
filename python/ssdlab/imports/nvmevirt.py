"""NVMeVirt: its ``ssd_config.h``. Meanings: ``ssd.c``, ``conv_ftl.c`` and ``channel_model.c`` of snu-csl/nvmevirt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from ssdlab.errors import InputError, unknown_name
from ssdlab.imports.common import Setting, put_geometry, put_interface, put_remaining
from ssdlab.imports.draft import UNIT, Draft, Geometry, rate, size, span
from ssdlab.imports.expression import Unknown, evaluate, names
from ssdlab.imports.parameters import Entry, Parameters, Read, shortened

NAME = "nvmevirt"
TITLE = "NVMeVirt"
ABOUT = "NVMeVirt's ssd_config.h"

_DIRECTIVE = re.compile(r"\s*#\s*(define|undef|if|ifdef|ifndef|elif|else|endif|include|error|pragma)\b(.*)")
_DEFINE = re.compile(r"\s+(\w+)(\([^)]*\))?\s*(.*)")
#: Capacity of the flash in NVMeVirt's example: a parameter of the kernel module, not of the header.
_CAPACITY = "64GiB"
#: Most zones that are active at a time.
_ACTIVE = 14
_DELAY = "as many cores as there are, so that what takes time is a delay and no queue"
_REASONS = {
    "MDTS": "commands may have any length",
    "NR_NAMESPACES": "the drive is one namespace",
    "NS_SSD_TYPE_1": "the drive is one namespace",
    "NS_CAPACITY_0": "the capacity is that of the flash",
    "NS_CAPACITY_1": "the drive is one namespace",
    "SSD_PARTITIONS": "one translation layer for all channels; NVMeVirt has one for each part of them",
    "MAX_CH_XFER_SIZE": "data crosses the channel in mapping units, and the link as it arrives",
    "WRITE_UNIT_SIZE": "the smallest write is a logical block of 512 bytes",
    "BLK_SIZE": "the size of a block follows from the capacity",
    "BLKS_PER_PLN": "the number of blocks follows from BLK_SIZE",
    "NAND_READ_LATENCY_CSB": "the cell has no page of this type",
    "NAND_4KB_READ_LATENCY_LSB": "one time for reads of all sizes: that of a whole page",
    "NAND_4KB_READ_LATENCY_MSB": "one time for reads of all sizes: that of a whole page",
    "NAND_4KB_READ_LATENCY_CSB": "one time for reads of all sizes: that of a whole page",
    "FW_READ_LATENCY": "the time of reads of more than 4 KiB; that of 4 KiB is taken for all",
    "MAX_ZRWA_ZONES": "no random write areas in zones",
    "ZRWAFG_SIZE": "no random write areas in zones",
    "ZRWA_SIZE": "no random write areas in zones",
    "ZRWA_BUFFER_SIZE": "no random write areas in zones",
    "ZONE_SIZE": "the drive has no zones",
    "DIES_PER_ZONE": "the drive has no zones",
}
_NUMBERS_OF_NAMES = ("SSD_TYPE_", "CELL_MODE_")


def recognises(text: str) -> bool:
    """Returns true if a file looks like one of NVMeVirt's."""
    return bool(re.search(r"^\s*#\s*define\s+NAND_CHANNELS\b", text, re.MULTILINE))


def parameters(text: str, file: str, setting: Setting) -> Parameters:
    """Returns the macros of one configuration, the one of `variant`."""
    lines = list(_lines(text))
    variants = sorted({name for _, line in lines if "BASE_SSD" in line for name in _compared_names(line)})
    variant = setting.take("variant")
    if variant is not None and variant not in variants:
        raise unknown_name("configuration", variant, variants or ["none: the file has a single one"])
    if variant is None and variants:
        fitting = [name for name in variants if _is_flash(_macros(lines, file, name))]
        if len(fitting) != 1:
            several = ", ".join(fitting or variants)
            raise InputError(f"{file}: several configurations, by BASE_SSD: choose one with --variant: {several}")
        variant = fitting[0]
    macros = _macros(lines, file, variant)
    values = {name: entry for name, entry in macros.items() if not name.startswith(_NUMBERS_OF_NAMES) and name not in variants}
    if variant is not None:
        values["BASE_SSD"] = Entry("BASE_SSD", variant, 0)
    numbers: dict[str, Entry] = {}
    plain = {name: entry.raw for name, entry in macros.items()}
    for name, entry in values.items():
        try:
            value = evaluate(entry.raw, plain)
        except Unknown as why:
            if name in _NEEDED:
                raise InputError(f"{file}:{entry.line}: {name}: {shortened(entry.raw)!r}: {why}: expected a number") from None
            numbers[name] = entry
            continue
        whole = str(value) if value.denominator == 1 else repr(float(value))
        numbers[name] = Entry(name, whole, entry.line)
    numbers.pop("BASE_SSD", None)
    return Parameters(file, numbers)


_NEEDED = (
    "NAND_CHANNELS",
    "LUNS_PER_NAND_CH",
    "FLASH_PAGE_SIZE",
    "ONESHOT_PAGE_SIZE",
    "NAND_CHANNEL_BANDWIDTH",
    "PCIE_BANDWIDTH",
    "NAND_PROG_LATENCY",
    "NAND_ERASE_LATENCY",
    "BLK_SIZE",
    "ZONE_SIZE",
    "GLOBAL_WB_SIZE",
    "OP_AREA_PERCENT",
)


def _is_flash(macros: Mapping[str, Entry]) -> bool:
    """Returns true if a configuration has flash; others are a delay for each command, or key-value drives."""
    return "NAND_CHANNELS" in macros


def _compared_names(line: str) -> set[str]:
    """Returns the names that a line compares with BASE_SSD."""
    return set(re.findall(r"BASE_SSD\s*==\s*([A-Za-z_]\w*)", line))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines of a header with their numbers: comments removed, continued lines joined."""
    text = re.sub(r"/\*.*?(\*/|\Z)", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
    held, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.partition("//")[0].rstrip()
        first = first or number
        if bare.endswith("\\"):
            held += bare[:-1] + " "
            continue
        yield first, held + bare
        held, first = "", 0


def _macros(lines: list[tuple[int, str]], file: str, variant: str | None) -> dict[str, Entry]:
    """Returns the macros that are defined where BASE_SSD is `variant`."""
    macros: dict[str, Entry] = {}
    # For each open condition: whether its branch is read, and whether one of its branches was.
    open_conditions: list[tuple[bool, bool]] = []
    for number, line in lines:
        found = _DIRECTIVE.match(line)
        if found is None:
            continue
        word, rest = found[1], found[2]
        is_read = all(state for state, _ in open_conditions)
        if word in ("if", "ifdef", "ifndef"):
            holds = is_read and _holds(word, rest, macros, file, number, variant)
            open_conditions.append((holds, holds))
        elif word in ("elif", "else", "endif"):
            if not open_conditions:
                raise InputError(f"{file}:{number}: #{word}: expected it after an #if")
            _, was = open_conditions.pop()
            if word != "endif":
                around = all(state for state, _ in open_conditions)
                holds = around and not was and (word == "else" or _holds("if", rest, macros, file, number, variant))
                open_conditions.append((holds, was or holds))
        elif word == "define" and is_read:
            definition = _DEFINE.fullmatch(rest)
            if definition is None:
                raise InputError(f"{file}:{number}: {shortened(line)!r}: expected #define NAME VALUE")
            if definition[2] is None and definition[3].strip():
                macros[definition[1]] = Entry(definition[1], definition[3].strip(), number)
    if open_conditions:
        raise InputError(f"{file}: an #if without its #endif")
    return macros


def _holds(word: str, rest: str, macros: Mapping[str, Entry], file: str, number: int, variant: str | None) -> bool:
    """Returns whether a condition holds."""
    if word != "if":
        return (rest.strip() in macros) == (word == "ifdef")
    plain = {name: entry.raw for name, entry in macros.items()}
    if variant is not None:
        plain["BASE_SSD"] = plain.get(variant, "-1")
    text = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda name: "1" if name[1] in plain else "0", rest)
    for name in names(text) - plain.keys() - {"KB", "MB", "GB", "TB"}:
        # As in C, a name that is not defined is 0 in a condition.
        plain[name] = "0"
    try:
        return bool(evaluate(text, plain))
    except Unknown as why:
        raise InputError(f"{file}:{number}: #{word}{shortened(rest)}: {why}: expected a condition") from None


def fill(draft: Draft, given: Parameters, setting: Setting) -> Geometry:
    """Sets the fields of a drive."""
    is_zoned = given.integer("NS_SSD_TYPE_0", "1", most=100) if "NS_SSD_TYPE_0" in given else None
    kind = given.entry("ZONE_SIZE")
    zoned = kind is not None
    if is_zoned is not None:
        draft.lack(is_zoned, "seen from ZONE_SIZE")
    _host(draft, given)
    geometry = _flash(draft, given, setting, zoned)
    _channel(draft, given)
    if zoned:
        _zones(draft, given, geometry)
    else:
        _buffer(draft, given)
        over = given.number("OP_AREA_PERCENT", "0", least=0, most=1)
        # NVMeVirt counts in whole per cent.
        draft.put(
            "ftl.overprovisioning", int((1 + over.value) * 100) / 100 - 1, over, note="a share of the user capacity here, too"
        )
    draft.ours("ftl.write_allocation", "round_robin", "the write pointer goes over the channels, then over the LUNs")
    draft.ours("ftl.allocation_order", "CWD", "the write pointer goes over the channels, then over the LUNs")
    draft.ours("ftl.victim", "greedy", "the line with the fewest valid pages")
    draft.ours("ftl.gc_critical_blocks", 3, "it collects while two lines or fewer are free")
    draft.ours("ftl.gc_low_blocks", 3, "it collects while two lines or fewer are free")
    put_remaining(draft)
    draft.lack_rest(_REASONS)
    return geometry


def _host(draft: Draft, given: Parameters) -> None:
    link = given.number("PCIE_BANDWIDTH", None, unit="MiB/s", least=1, most=10**7)
    draft.put("host.interface.kind", "plain", link, note="a rate, and no protocol")
    draft.put("host.interface.bandwidth", rate(link.value * (1 << 20), "B/s"), link, note="its MB are 2^20 bytes")
    draft.ours("host.interface.full_duplex", False, "one rate for both directions together")
    draft.ours("host.interface.command_time", "0ns", "only bytes take time on its link")
    read = given.number("FW_4KB_READ_LATENCY", "0", unit="ns", most=10**9)
    first = given.number("FW_WBUF_LATENCY0", "0", unit="ns", most=10**9)
    each = given.number("FW_WBUF_LATENCY1", "0", unit="ns", most=10**9)
    if not (read.value or first.value or each.value):
        return
    draft.ours("controller.firmware.kind", "cores", "its firmware is a delay")
    draft.ours("controller.firmware.count", 1024, _DELAY)
    draft.ours("controller.firmware.clock", "1GHz", "so that a cycle is a nanosecond")
    common = min(read.value, first.value)
    note = "the delay of a command, as far as reads and writes share it"
    draft.put("controller.firmware.cycles.decode", round(common), read, first, note=note)
    draft.ours("controller.firmware.cycles.look_up", 0, "part of the delays")
    draft.put("controller.firmware.cycles.receive", round(read.value - common), read, note="the rest of the delay of a read")
    draft.put("controller.firmware.cycles.allocate", round(each.value), each, note="for each 4 KiB")
    for name in ("issue", "complete", "collect"):
        draft.ours(f"controller.firmware.cycles.{name}", 0, "part of the delays")
    if first.value > common:
        draft.remark(first, f"a write's delay is {span(common)} here: a read's is not longer")


def _flash(draft: Draft, given: Parameters, setting: Setting, zoned: bool) -> Geometry:
    channels = given.integer("NAND_CHANNELS", None, least=1, most=10**6)
    luns = given.integer("LUNS_PER_NAND_CH", None, least=1, most=10**6)
    planes = given.integer("PLNS_PER_LUN", "1", least=1, most=10**6)
    page = given.integer("FLASH_PAGE_SIZE", None, unit="B", least=UNIT, most=1 << 26)
    shot = given.integer("ONESHOT_PAGE_SIZE", str(page.value), unit="B", least=UNIT, most=1 << 28)
    pages, odd = divmod(shot.value, page.value)
    if odd:
        raise given.error_about("ONESHOT_PAGE_SIZE", "a multiple of FLASH_PAGE_SIZE")
    cell = given.choice("CELL_MODE", {"0": pages, "1": 1, "2": 2, "3": 3, "4": 4}, "0")
    bits = pages if pages > 1 else max(1, cell.value)
    if not 1 <= bits <= 4:
        raise given.error_about("ONESHOT_PAGE_SIZE", "one to four pages of a wordline")
    total = _capacity(given, setting)
    dies = channels.value * luns.value * planes.value
    fixed, counted = given.integer("BLK_SIZE", "0", unit="B", most=1 << 50), given.integer("BLKS_PER_PLN", "0", most=10**9)
    if counted.value:
        blocks = counted.value
        block_bytes = -(-total.value // (blocks * dies))
    elif fixed.value:
        block_bytes = fixed.value
        blocks = max(4, -(-total.value // (block_bytes * dies)))
    else:
        raise given.error_about("BLKS_PER_PLN", "BLKS_PER_PLN or BLK_SIZE above 0")
    together = -(-block_bytes // shot.value) * pages
    geometry = Geometry(channels.value, luns.value, 1, planes.value, blocks, together, page.value, multi_plane=False)
    source = counted if counted.value else fixed
    reads: dict[str, tuple[Read[int], ...]] = {
        "channels": (channels,),
        "chips_per_channel": (luns,),
        "planes_per_die": (planes,),
        "blocks_per_plane": (source, total),
        "pages_per_block": (source, total),
        "page_size": (page,),
    }
    notes = {"dies_per_chip": "a LUN is a die of its own", "multi_plane": "one plane at a time"}
    put_geometry(draft, geometry, reads, notes)
    draft.ours("flash.concurrent_dies_per_chip", 1, "a LUN is a die of its own")
    names = {1: "slc", 2: "mlc", 3: "tlc", 4: "qlc"}
    draft.put("flash.cell", names[bits], shot if pages > 1 else cell, note="pages of one program" if pages > 1 else "")
    draft.put("flash.one_shot", pages > 1, page, shot, note="one program writes all pages of a wordline")
    _times(draft, given, bits)
    if zoned and draft.fields["flash.blocks_per_plane"].value == 4:
        draft.remark(total, "at least 4 blocks of a plane")
    return geometry


def _capacity(given: Parameters, setting: Setting) -> Read[int]:
    """Returns the size of the flash, which NVMeVirt takes from a parameter of its kernel module."""
    text = setting.take("capacity")
    units = {"MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    found = re.fullmatch(r"(\d{1,9})\s*([MGT]i?B)", text or _CAPACITY)
    if found is None:
        raise InputError(f"--capacity {text}: expected a size such as {_CAPACITY}")
    value = int(found[1]) * units[found[2]]
    if not value:
        raise InputError(f"--capacity {text}: expected a size such as {_CAPACITY}")
    return Read(value, "memmap_size", text or f"{_CAPACITY} of its example", None if text is None else 0)


def _times(draft: Draft, given: Parameters, bits: int) -> None:
    pages = {1: ["LSB"], 2: ["LSB", "MSB"], 3: ["LSB", "CSB", "MSB"], 4: ["LSB", "CSB", "MSB", "MSB"]}[bits]
    reads = [given.number(f"NAND_READ_LATENCY_{page}", None, unit="ns", most=10**12) for page in pages]
    draft.put("flash.read_time", [span(read.value) for read in reads], *dict.fromkeys(reads), note="of a whole page")
    program = given.number("NAND_PROG_LATENCY", None, unit="ns", most=10**12)
    draft.put("flash.program_time", span(program.value), program)
    erase = given.number("NAND_ERASE_LATENCY", "0", unit="ns", most=10**12)
    draft.put("flash.erase_time", span(erase.value or 1), erase, note="" if erase.value else "at least 1 ns")


def _channel(draft: Draft, given: Parameters) -> None:
    speed = given.number("NAND_CHANNEL_BANDWIDTH", None, unit="MiB/s", least=1, most=10**6)
    extra = given.number("FW_CH_XFER_LATENCY", "0", unit="ns", most=10**9)
    # A byte in a transfer; the firmware adds its time to that of each 4 KiB.
    ns = UNIT * Fraction(10**9, (1 << 20)) / speed.value + extra.value
    reads = (speed, extra) if extra.value else (speed,)
    put_interface(
        draft,
        UNIT * 1000 / ns,
        *reads,
        note="its MB are 2^20 bytes; with the firmware's time for each 4 KiB" if extra.value else "its MB are 2^20 bytes",
    )


def _buffer(draft: Draft, given: Parameters) -> None:
    name = "GLOBAL_WB_SIZE" if "GLOBAL_WB_SIZE" in given else "WRITE_BUFFER_SIZE"
    room = given.integer(name, "0", unit="B", most=1 << 40)
    early = given.flag("WRITE_EARLY_COMPLETION", "1")
    if not room.value:
        draft.put("buffer.policy", "none", room, note="no room for data")
        draft.lack(early, "no write buffer")
        return
    note = "a write is done once buffered, or once programmed"
    draft.put("buffer.policy", "write_back" if early.value else "write_through", early, note=note)
    draft.put("buffer.capacity", size(max(UNIT, room.value // UNIT * UNIT)), room)
    if early.value:
        _wait_for_a_page(draft)


def _buffer_of_zones(draft: Draft, given: Parameters, program_bytes: int) -> None:
    """Sets the write buffer of a drive with zones, which has room for a program of each active zone."""
    total = given.integer("GLOBAL_WB_SIZE", "0", unit="B", most=1 << 40)
    each = given.integer("ZONE_WB_SIZE", "0", unit="B", most=1 << 36)
    early = given.flag("WRITE_EARLY_COMPLETION", "1")
    draft.put("buffer.policy", "write_back", early, note="zones need a buffer")
    if not early.value:
        draft.remark(early, "writes to zones are done once they are buffered")
    wanted, least = total.value + _ACTIVE * each.value, _ACTIVE * program_bytes
    note = f"for {_ACTIVE} active zones"
    draft.put("buffer.capacity", size(max(wanted, least) // UNIT * UNIT), total, each, note=note)
    if wanted < least:
        draft.remark(total, f"{wanted} B: at least a program of each active zone")
    _wait_for_a_page(draft)


def _wait_for_a_page(draft: Draft) -> None:
    draft.ours("buffer.flush_after", "1ms", "data that does not fill a page waits")
    draft.ours("buffer.partial_flush", "wait", "data that does not fill a page waits")


def _zones(draft: Draft, given: Parameters, geometry: Geometry) -> None:
    zone = given.integer("ZONE_SIZE", None, unit="B", least=1, most=1 << 50)
    dies = given.integer("DIES_PER_ZONE", "1", least=1, most=10**6)
    draft.put("ftl.translation.kind", "zns", zone)
    draft.put("ftl.translation.zone_dies", dies.value, dies)
    block = geometry.planes * geometry.pages * geometry.page_bytes
    blocks = max(1, -(-zone.value // (block * dies.value)))
    draft.put("ftl.translation.zone_blocks", blocks, zone, dies, note="blocks of each die")
    held = block * blocks * dies.value
    draft.put("ftl.translation.zone_size", size(max(zone.value, held)), zone, note="" if held <= zone.value else "whole blocks")
    for name in ("max_open", "max_active"):
        draft.ours(f"ftl.translation.{name}", _ACTIVE, "no limit in this file; the limit of a drive in the field")
    program = given.integer("ONESHOT_PAGE_SIZE", str(geometry.page_bytes), unit="B", most=1 << 28)
    _buffer_of_zones(draft, given, program.value * geometry.planes)
    over = given.number("OP_AREA_PERCENT", "0", least=0, most=1)
    draft.put("ftl.overprovisioning", float(over.value), over)
