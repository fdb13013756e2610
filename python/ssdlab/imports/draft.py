"""A drive's description in the making: each field with its origin, and what of the source has no counterpart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from textwrap import wrap
from typing import Any

from ssdlab import toml
from ssdlab.imports.parameters import Parameters, Read, shortened

__all__ = ["Draft", "Field", "Geometry", "NotMapped", "rate", "size", "span"]

#: Sections in the order in which they are written.
_SECTIONS = (
    "host",
    "host.interface",
    "host.cpu",
    "buffer",
    "controller",
    "controller.firmware",
    "controller.firmware.cycles",
    "controller.dram",
    "flash",
    "flash.suspension",
    "flash.phases",
    "flash.write_mode",
    "ftl",
    "ftl.translation",
    "ftl.victim",
    "ftl.wear_leveling",
    "ftl.map_cache",
    "policy",
    "state",
)
#: Sections that are rows of a table.
_ROWS = ("flash.write_mode",)
_WIDTH = 118
#: Bytes of a mapping unit.
UNIT = 4096


def span(ns: Fraction | int) -> str:
    """Returns a duration in the largest unit that is exact; rounded to whole nanoseconds."""
    whole = round(ns)
    for scale, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if whole and whole % scale == 0:
            return f"{whole // scale}{unit}"
    return f"{whole}ns"


def size(count: int) -> str:
    """Returns a number of bytes in the largest binary unit that is exact."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count and count % scale == 0:
            return f"{count // scale}{unit}"
    return f"{count}B"


def rate(per_second: Fraction | int, unit: str) -> str:
    """Returns a rate of bytes (``B/s``) or transfers (``T/s``) in the largest decimal unit that is exact."""
    whole = round(per_second)
    for scale, prefix in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if whole and whole % scale == 0:
            return f"{whole // scale}{prefix}{unit}"
    return f"{whole}{unit}"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the description."""

    #: Path, such as ``flash.channels``.
    path: str
    #: Value.
    value: Any
    #: Source of the value: ``file``, ``default`` (the source's default) or ``ssdlab`` (not in the source).
    standing: str
    #: Origin in words.
    origin: str
    #: Names of the parameters behind it.
    parameters: tuple[str, ...]
    #: Way in which it follows from them, or the reason of a value that is ssdlab's.
    note: str


@dataclass(frozen=True, slots=True)
class NotMapped:
    """A parameter of the source without a counterpart."""

    #: Name.
    name: str
    #: Value in the source.
    value: str
    #: Reason.
    why: str


@dataclass(frozen=True, slots=True)
class Geometry:
    """Numbers of a drive's parts."""

    channels: int
    chips: int
    dies: int
    planes: int
    blocks: int
    pages: int
    page_bytes: int
    #: True if the planes of a die work together.
    multi_plane: bool

    @property
    def die_count(self) -> int:
        """Returns the number of dies of the drive."""
        return self.channels * self.chips * self.dies

    @property
    def physical_bytes(self) -> int:
        """Returns the capacity of the flash."""
        return self.die_count * self.planes * self.blocks * self.pages * self.page_bytes

    @property
    def blocks_per_die(self) -> int:
        """Returns the blocks of a die that are erased one by one."""
        return self.blocks * (1 if self.multi_plane else self.planes)

    def room(self, stored_bytes: int, open_blocks: int) -> int:
        """Returns the number of blocks of a die that can be kept free beside what is stored."""
        together = self.planes if self.multi_plane else 1
        program = max(1, together * self.page_bytes // UNIT)
        held = max(1, self.pages * together * self.page_bytes // UNIT - program + 1)
        return self.blocks_per_die - ceil(Fraction(stored_bytes, UNIT * held * self.die_count)) - open_blocks


class Draft:
    """A description in the making."""

    def __init__(self, simulator: str, parameters: Parameters) -> None:
        #: Name of the simulator.
        self.simulator = simulator
        self._parameters = parameters
        self.fields: dict[str, Field] = {}
        self.not_mapped: list[NotMapped] = []
        #: Names of the parameters that stand behind a field, or are listed.
        self._named: set[str] = set()

    def put(self, path: str, value: Any, *reads: Read[Any], note: str = "") -> None:
        """Sets a field that follows from parameters of the source."""
        self._named.update(read.name for read in reads)
        standing = "file" if any(read.line is not None for read in reads) else "default"
        origin = ", ".join(read.origin for read in reads)
        names = tuple(read.name for read in reads)
        self._set(Field(path, value, standing, f"{origin}: {note}" if note else origin, names, note))

    def ours(self, path: str, value: Any, why: str) -> None:
        """Sets a field of which the source says nothing."""
        self._set(Field(path, value, "ssdlab", f"no parameter of {self.simulator}: {why}", (), why))

    def _set(self, field: Field) -> None:
        assert field.path not in self.fields, f"{field.path} is set twice"
        assert field.path.rpartition(".")[0] in ("", *_SECTIONS), f"{field.path} has no section"
        self.fields[field.path] = field

    def lack(self, read: Read[Any], why: str) -> None:
        """Lists a parameter of the source that has no counterpart, if the file gives it."""
        if read.line is not None:
            self.remark(read, why)

    def remark(self, read: Read[Any], why: str) -> None:
        """Lists a parameter that is mapped, but whose meaning is not reached, default or not."""
        self._named.add(read.name)
        self.not_mapped.append(NotMapped(read.name, read.raw, why))

    def lack_rest(self, reasons: Mapping[str, str]) -> None:
        """Lists the parameters that stand behind no field, each with its reason."""
        for name, entry, was_asked in self._parameters.all():
            if entry.name not in self._named:
                unknown = "no effect on this drive" if was_asked else f"not a parameter of {self.simulator} that ssdlab knows"
                self.not_mapped.append(NotMapped(entry.name, shortened(entry.raw), reasons.get(name, unknown)))

    def put_collection(
        self,
        geometry: Geometry,
        critical: tuple[int, Read[Any]],
        low: tuple[int, Read[Any]],
        *,
        note: str,
    ) -> None:
        """Sets the free blocks below which a die collects, at most as many as user data and open blocks leave."""
        over = self.fields["ftl.overprovisioning"].value
        has_cache = any(path.startswith("ftl.map_cache.") for path in self.fields)
        # Blocks being written: of host data, relocated data and moved data, and of the map; each plane has its own if
        # planes take turns.
        by_plane = len(self.fields["ftl.allocation_order"].value) == 4 and not geometry.multi_plane
        open_blocks = (4 if has_cache else 3) * (geometry.planes if by_plane else 1)
        user_bytes = int(geometry.physical_bytes / (1 + over))
        # A map page of 4 KiB holds 1024 entries.
        stored = user_bytes + (UNIT * -(-user_bytes // (UNIT * 1024)) if has_cache else 0)
        room = geometry.room(stored, open_blocks)
        least = self.fields["ftl.reserve_blocks"].value + (2 if has_cache else 1)
        for path, (wanted, read), floor in (
            ("ftl.gc_critical_blocks", critical, least),
            ("ftl.gc_low_blocks", low, max(least, min(critical[0], room))),
        ):
            blocks = max(floor, min(wanted, room))
            self.put(path, blocks, read, note=note)
            if blocks < wanted:
                self.remark(
                    read, f"{wanted} free blocks of a die: only {blocks} are left beside the user data, and {path} has these"
                )
            elif blocks > wanted:
                self.remark(read, f"{wanted} free blocks of a die: {path} is {blocks}, the least with its reserve")
            elif path == "ftl.gc_low_blocks" and 4 * (left := room - blocks) < room:
                spare = f"{blocks} of the {room} blocks free that a full die has to spare"
                stale = (
                    f"{left} of {geometry.blocks_per_die} are left for stale data, and a block that is collected is nearly full"
                )
                self.remark(read, f"it keeps {spare}: {stale}")

    def text(self, title: str, head: list[str]) -> str:
        """Returns the description (TOML), with the origin of each field as a comment."""
        lines = [*_comment(*head), f"title = {toml.value(title)}"]
        for section in _SECTIONS:
            fields = [field for field in self.fields.values() if field.path.rpartition(".")[0] == section]
            if fields:
                lines += ["", f"[[{section}]]" if section in _ROWS else f"[{section}]"]
            for field in fields:
                lines += [*_comment(field.origin), f"{field.path.rpartition('.')[2]} = {_value(field.value)}"]
        if self.not_mapped:
            lines += ["", *_comment(f"Parameters of {self.simulator} without a counterpart, or whose meaning is not reached:")]
            for each in self.not_mapped:
                lines += _comment(f"- {each.name} = {each.value}: {each.why}", indent="  ")
        return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """Returns a value as TOML on one line, numbers without a needless exponent."""
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return toml.value(value)


def _comment(*paragraphs: str, indent: str = "") -> list[str]:
    """Returns paragraphs as comment lines."""
    lines = (line for text in paragraphs for line in wrap(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False))
    return [f"# {line}" for line in lines]
