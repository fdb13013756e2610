"""Facts and needs of a policy in Python, and the names of its calls.

Made from the declaration in Rust, ``crates/ftl/src/policy/exchange.rs``. Do not edit: after a change of the
declaration, ``python tools/contract.py`` writes this file anew.
"""

from dataclasses import dataclass
from typing import TypeAlias

#: Time span in an answer: nanoseconds, or a text such as ``"5ms"``.
Span: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Facts:
    """Constant properties of the drive, which a policy is built with."""

    #: Names of the write modes, in the order of their numbers.
    write_modes: tuple[str, ...]
    #: Names of the erase modes, in the order of their numbers.
    erase_modes: tuple[str, ...]
    #: Names of the read modes, in the order of their numbers.
    read_modes: tuple[str, ...]
    #: Retention limit of each write mode at the wear stated in the description; ``None``: without limit.
    retention: tuple[int | None, ...]
    #: Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; empty: without limit.
    retention_by_wear: tuple[tuple[int, ...], ...]
    #: Program time of each write mode, as a multiple of the nominal time.
    program_scales: tuple[float, ...]
    #: Time that the encoder of each write mode takes for one unit; 0 without an encoder.
    encode_times: tuple[int, ...]
    #: Shallowest level of erase on which each write mode can be programmed.
    write_levels: tuple[int, ...]
    #: Number of units that a block holds in each write mode.
    block_units: tuple[int, ...]
    #: Number of the encoder of each write mode, counted from 1; 0 without an encoder.
    codes: tuple[int, ...]
    #: Level of each erase mode: 0 is the deepest.
    erase_levels: tuple[int, ...]
    #: Wear of a fresh block by one erase in each erase mode, in nominal erases.
    erase_wear: tuple[float, ...]
    #: Erase time of each erase mode, as a multiple of tBERS.
    erase_scales: tuple[float, ...]
    #: Read mode that data of each write mode needs.
    read_mode_of: tuple[str, ...]
    #: Time to sense and transfer one unit in each read mode.
    read_times: tuple[int, ...]
    #: Program and erase cycles that a block is rated for.
    rated_pe_cycles: int
    #: tR + tPROG in the ``normal`` mode: the time for which a die is busy with the move of one program unit.
    move_time: int
    #: Time that one page move takes of the drive as a whole: its die time divided by the number of dies, or its
    #: transfer time divided by the number of channels, whichever is longer.
    page_move_share: int
    #: Time before its retention limit at which the drive itself moves data (``ftl.retention_margin``).
    retention_margin: int
    #: tPROG in the ``normal`` mode.
    program_time: int
    #: tBERS in the first erase mode.
    erase_time: int
    #: Bytes of a mapping unit.
    unit_bytes: int
    #: Number of units that one program writes.
    units_per_program: int
    #: Number of blocks in a die.
    blocks_per_die: int
    #: Number of dies in the drive.
    die_count: int
    #: Number of logical units: the capacity of the drive in mapping units.
    user_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Services that a policy needs from the engine."""

    #: Number of write frontiers on each die for host data; at least 1. Frontiers for relocations are added by the
    #: engine if the drive separates them.
    host_streams: int = 1
    #: Number of write frontiers on each die for relocated data of each write mode; 0 counts as 1. With more than one,
    #: the policy is asked for each unit and may answer with a stream, and relocated data shares no frontier with host
    #: data.
    relocation_streams: int = 0
    #: Bits of declared state for each logical unit: 0, 1, 2, 4 or 8. The engine keeps, reports and saves them.
    bits_per_unit: int = 0
    #: Bytes of declared state for each block. They outlast an erase.
    bytes_per_block: int = 0
    #: Idle time of a die after which :meth:`Policy.idle` is called; 0: at once.
    idle_after: Span = 0
    #: True if data of the first host stream and relocated data must not share a write frontier, because their modes
    #: differ.
    relocations_apart: bool = False
    #: True if the scope of a mode is the page, so that a block holds data of several write modes. The engine then
    #: treats each block as written in the mode of old data, with the shortest retention limit of the modes in use
    #: (``uses``). The policy remembers the mode of each page and answers for its reads.
    page_scope: bool = False
    #: True if the engine is to list the units in :attr:`Moving.units`.
    moving: bool = False
    #: True if the policy reads the age of the data that a host write replaces: the first program of its block is then
    #: loaded ahead. Results do not depend on it.
    ages: bool = False
    #: True if the engine is to call :meth:`Policy.requested`.
    requests: bool = False
    #: True if the engine is to call :meth:`Policy.placed`.
    placed: bool = False
    #: True if the engine is to call :meth:`Policy.dropped`.
    dropped: bool = False
    #: True if the engine is to call :meth:`Policy.opened` and :meth:`Policy.erased`.
    blocks: bool = False
    #: True if the engine is to call :meth:`Policy.read_issued`.
    reads: bool = False
    #: True if the engine is to call :meth:`Policy.read_done`.
    reads_done: bool = False
    #: True if :meth:`Policy.score` replaces the drive's victim rule.
    scores: bool = False
    #: True if the policy moves data: the engine is to call :meth:`Policy.urgent`, :meth:`Policy.forced`,
    #: :meth:`Policy.wake_at` and :meth:`Policy.idle`. :meth:`Policy.drain` is called in any case.
    moves: bool = False
    #: With `moves`: true if the engine is to call :meth:`Policy.idle` alone. The other calls are made whenever a die
    #: chooses its next operation.
    idle_only: bool = False
    #: True if :meth:`Policy.erase` chooses among erase modes.
    erases: bool = False


class Declarations:
    """Needs that a policy declares by its attributes."""

    #: Number of write frontiers on each die for host data; at least 1. Frontiers for relocations are added by the
    #: engine if the drive separates them.
    host_streams: int = 1
    #: Number of write frontiers on each die for relocated data of each write mode; 0 counts as 1. With more than one,
    #: the policy is asked for each unit and may answer with a stream, and relocated data shares no frontier with host
    #: data.
    relocation_streams: int = 0
    #: Bits of declared state for each logical unit: 0, 1, 2, 4 or 8. The engine keeps, reports and saves them.
    bits_per_unit: int = 0
    #: Bytes of declared state for each block. They outlast an erase.
    bytes_per_block: int = 0
    #: Idle time of a die after which :meth:`Policy.idle` is called; 0: at once.
    idle_after: Span = 0
    #: True if data of the first host stream and relocated data must not share a write frontier, because their modes
    #: differ.
    relocations_apart: bool = False
    #: True if the scope of a mode is the page, so that a block holds data of several write modes. The engine then
    #: treats each block as written in the mode of old data, with the shortest retention limit of the modes in use
    #: (``uses``). The policy remembers the mode of each page and answers for its reads.
    page_scope: bool = False
    #: True if the engine is to list the units in :attr:`Moving.units`.
    moving: bool = False
    #: True if the policy reads the age of the data that a host write replaces: the first program of its block is then
    #: loaded ahead. Results do not depend on it.
    ages: bool = False


#: Needs that follow from the calls that a policy overrides, with these calls.
FOLLOWS: dict[str, tuple[str, ...]] = {
    "requests": ("requested",),
    "placed": ("placed",),
    "dropped": ("dropped",),
    "blocks": ("opened", "erased"),
    "reads": ("read_issued",),
    "reads_done": ("read_done",),
    "scores": ("score",),
    "moves": ("urgent", "forced", "wake_at", "idle"),
    "idle_only": ("idle",),
    "erases": ("erase",),
}
#: Calls that a run makes, with the names of their arguments.
CALLS: dict[str, tuple[str, ...]] = {
    "write": ("dispatch", "view"),
    "requested": ("view",),
    "collecting": ("collection", "view"),
    "relocate": ("moving", "view"),
    "placed": ("placed", "view"),
    "dropped": ("lpn", "view"),
    "read_issued": ("read", "view"),
    "read_done": ("lpn", "ppn", "view"),
    "score": ("candidate", "view"),
    "erase": ("collection", "view"),
    "free_list": ("level", "lists", "view"),
    "lazy_erase": ("block", "level", "view"),
    "opened": ("block", "view"),
    "erased": ("block", "view"),
    "urgent": ("view",),
    "forced": ("view",),
    "idle": ("idle", "view"),
    "drain": ("view",),
    "wake_at": ("view",),
    "adopt": ("view",),
    "stats": (),
}
