"""Policies in Python: a class with the calls of the engine's contract.

A policy decides how each write, read and erase is done and what is moved: see :class:`Policy`, and ``docs/PYTHON_POLICY.md``.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ssdlab import _engine
from ssdlab._engine import Candidate, Collection, Dispatch, Idle, Moving, Placed, UnitRead, View

__all__ = [
    "BlockMove",
    "Candidate",
    "Collection",
    "Dispatch",
    "Facts",
    "Idle",
    "Mode",
    "Moving",
    "Needs",
    "PageMove",
    "Placed",
    "Policy",
    "Random",
    "Span",
    "UnitRead",
    "View",
]

#: A mode in an answer: its name, or its number in the drive's table.
Mode: TypeAlias = str | int
#: A span of time in an answer: nanoseconds, or a text such as ``"5ms"``.
Span: TypeAlias = int | str


class PageMove(NamedTuple):
    """A page that a policy wants moved."""

    #: The unit.
    lpn: int
    #: Where its data is; nothing is moved if the map points elsewhere by then.
    ppn: int
    #: The write mode of the new copy.
    mode: Mode
    #: Why, for the statistics: ``rewrite``, ``reprogram``, ``scrub``, ``evacuate``, ``wear`` or ``gc``.
    reason: str = "rewrite"
    #: From then on it goes before host writes [ns since the run began]; ``None``: whenever no host write waits.
    deadline: int | None = None


class BlockMove(NamedTuple):
    """A block that a policy wants emptied: all that it holds is moved, in the mode that :meth:`Policy.relocate` answers."""

    #: The block.
    block: int
    #: Why, for the statistics, as for :class:`PageMove`.
    reason: str = "rewrite"


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change of a drive while a policy runs it.

    Modes are in the order of their numbers; times are in nanoseconds.
    """

    #: Names of the write modes.
    write_modes: tuple[str, ...]
    #: Names of the erase modes.
    erase_modes: tuple[str, ...]
    #: Names of the read modes.
    read_modes: tuple[str, ...]
    #: Retention limit of each write mode at the wear that the description states; ``None``: without limit.
    retention: tuple[int | None, ...]
    #: Retention limits of each write mode by wear class, from fresh to `rated_pe_cycles`; empty: without limit.
    retention_by_wear: tuple[tuple[int, ...], ...]
    #: Program time of each write mode, as a multiple of the nominal.
    program_scales: tuple[float, ...]
    #: Time that the encoder of each write mode takes for one unit; 0 without one.
    encode_times: tuple[int, ...]
    #: The shallowest level of erase on which each write mode can be programmed.
    write_levels: tuple[int, ...]
    #: Units that a block holds in each write mode.
    block_units: tuple[int, ...]
    #: The encoder of each write mode, counted from 1; 0 without.
    codes: tuple[int, ...]
    #: The level of each erase mode: 0 is the deepest.
    erase_levels: tuple[int, ...]
    #: Wear of an erase in each erase mode on a fresh block, in nominal erases.
    erase_wear: tuple[float, ...]
    #: Erase time of each erase mode, as a multiple of tBERS.
    erase_scales: tuple[float, ...]
    #: The read mode that data of each write mode needs.
    read_mode_of: tuple[str, ...]
    #: A read's sensing and transfers in each read mode.
    read_times: tuple[int, ...]
    #: Cycles a block is rated for.
    rated_pe_cycles: int
    #: tR + tPROG in the ``normal`` mode: what moving one program's worth of data costs a die.
    move_time: int
    #: What each page that is moved takes of the whole drive: of its dies or of its channels, whichever take longer.
    page_move_share: int
    #: How long before its limit data is moved by the drive itself.
    retention_margin: int
    #: tPROG in the ``normal`` mode.
    program_time: int
    #: tBERS in the first erase mode.
    erase_time: int
    #: Units that one program writes.
    units_per_program: int
    #: Blocks of a die.
    blocks_per_die: int
    #: Dies in the drive.
    die_count: int
    #: Logical units: the size of the drive in units of 4 KiB.
    user_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a policy needs of the engine: what it declares, and which of the frequent calls it wants."""

    #: Write frontiers on each die for host data; at least 1.
    host_streams: int = 1
    #: Bits of declared state for each logical unit: 0, 1, 2, 4 or 8.
    bits_per_unit: int = 0
    #: Bytes of declared state for each block.
    bytes_per_block: int = 0
    #: Wants :meth:`Policy.placed`.
    placed: bool = False
    #: Wants :meth:`Policy.dropped`.
    dropped: bool = False
    #: Wants :meth:`Policy.opened` and :meth:`Policy.erased`.
    blocks: bool = False
    #: Wants :meth:`Policy.read_issued`.
    reads: bool = False
    #: Wants :meth:`Policy.read_done`.
    reads_done: bool = False
    #: Wants :meth:`Policy.score` instead of the drive's victim rule.
    scores: bool = False
    #: Wants :meth:`Policy.urgent`, :meth:`Policy.forced`, :meth:`Policy.idle` and :meth:`Policy.wake_at`.
    moves: bool = False
    #: Of these, wants :meth:`Policy.idle` alone: the others are asked whenever a die chooses what to do next.
    idle_only: bool = False
    #: Wants :meth:`Policy.idle` only when a die has been idle for so long.
    idle_after: Span = 0
    #: Its first host stream is not written in the mode of relocations: the two cannot share a frontier.
    relocations_apart: bool = False
    #: The scope of a mode is the page: a block holds data of several write modes.
    page_scope: bool = False
    #: Wants to know the units in :attr:`Moving.units`.
    moving: bool = False
    #: Its :meth:`Policy.erase` chooses among erase modes.
    erases: bool = False


class Random(random.Random):
    """A stream of random numbers that the seed of the run decides, with the methods of :class:`random.Random`.

    ``random()`` and ``getrandbits()`` are the same on every machine; the methods made of them are as Python's version has them.
    """

    def __new__(cls, stream: _engine.Stream) -> Random:
        """A stream that no seed of Python's is asked for."""
        return super().__new__(cls)

    def __init__(self, stream: _engine.Stream) -> None:
        self._stream = stream
        self.gauss_next = None

    def random(self) -> float:
        """A number from 0 up to 1."""
        return self._stream.unit()

    def getrandbits(self, k: int, /) -> int:
        """A number of `k` random bits."""
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        words = -(-k // 64)
        return sum(self._stream.next_u64() << (64 * word) for word in range(words)) >> (64 * words - k)

    def seed(self, *_: object, **__: object) -> None:
        """Refused: the seed of the run decides."""
        raise TypeError("the seed of the run decides: give `seed` to the run")

    def getstate(self) -> tuple[Any, ...]:
        """Refused: the state is the engine's."""
        raise TypeError("the state of this stream is the engine's")

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Refused: the state is the engine's."""
        raise TypeError("the state of this stream is the engine's")


class Policy:
    """A mode policy: what decides how each write, read and erase is done, and what is moved.

    Subclass it and override the calls that matter; the others are answered by the engine as the documentation of each says, and
    cost nothing. A policy with nothing overridden is ``baseline``. Pass an instance (or the class) to :func:`ssdlab.run` or
    :func:`ssdlab.compare`, or ``--policy FILE.py:CLASS`` to the command.

    Everything that a policy knows of earlier runs must be forgotten in :meth:`setup`, which is called before each run; what it
    draws must come from :attr:`random`, and nothing from a clock: then equal inputs and seeds give equal results.

    Modes are answered by their names or their numbers. An answer that the engine cannot act on, or an exception, ends the run
    with a :class:`ssdlab.PolicyError` that names file and line.
    """

    #: What results call it; the name of its class if empty.
    name: str = ""
    #: Write frontiers on each die for host data.
    host_streams: int = 1
    #: Bits of state for each logical unit (0, 1, 2, 4 or 8): :attr:`View.bits`. They are kept, saved with the drive, and
    #: reported.
    bits_per_unit: int = 0
    #: Bytes of state for each block: :attr:`View.block_bytes`. They outlast an erase.
    bytes_per_block: int = 0
    #: :meth:`idle` is asked only when a die has been idle for so long.
    idle_after: Span = 0
    #: The first host stream is not written in the mode of relocations: the two cannot share a frontier.
    relocations_apart: bool = False
    #: The scope of a mode is the page: a block holds data of several write modes. The engine then keeps blocks as written in
    #: :meth:`mode_of_old_data`, with the shortest retention limit of all modes; the policy remembers each page's mode and
    #: answers for its reads.
    page_scope: bool = False
    #: :attr:`Moving.units` is wanted.
    moving: bool = False

    #: The drive, as far as it does not change; known from :meth:`setup` on.
    facts: Facts
    #: Random numbers, decided by the seed of the run; known from :meth:`setup` on.
    random: Random

    def setup(self) -> None:
        """A run begins: :attr:`facts` and :attr:`random` are known, the drive is not there yet.

        What is kept in `self` begins here.
        """

    def needs(self) -> Needs:
        """What it needs of the engine: by default what the class declares, and the calls that are overridden."""
        given = set(overridden(self))
        return Needs(
            host_streams=self.host_streams,
            bits_per_unit=self.bits_per_unit,
            bytes_per_block=self.bytes_per_block,
            idle_after=self.idle_after,
            relocations_apart=self.relocations_apart,
            page_scope=self.page_scope,
            moving=self.moving,
            placed="placed" in given,
            dropped="dropped" in given,
            blocks=bool(given & {"opened", "erased"}),
            reads="read_issued" in given,
            reads_done="read_done" in given,
            scores="score" in given,
            moves=bool(given & {"urgent", "forced", "idle", "wake_at"}),
            idle_only="idle" in given and not given & {"urgent", "forced", "wake_at"},
            erases="erase" in given,
        )

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """A host write is dispatched: in which mode, or in which mode and through which host stream (0 if it is not said).

        By default ``normal``, the mode that every drive has.
        """
        return "normal"

    def collecting(self, collection: Collection, view: View) -> None:
        """A block has been taken to be emptied."""

    def relocate(self, moving: Moving, view: View) -> Mode:
        """Data is moved by a collection: in which mode. By default that of :meth:`mode_of_old_data`."""
        return self.mode_of_old_data()

    def placed(self, placed: Placed, view: View) -> None:
        """Data has found its place, written or moved; the map points there."""

    def dropped(self, lpn: int, view: View) -> None:
        """A unit was trimmed."""

    def read_issued(self, read: UnitRead, view: View) -> Mode | None:
        """A read of a unit in flash is issued: in which read mode; ``None``, the default: the one that its data needs."""
        return None

    def read_done(self, lpn: int, ppn: int, view: View) -> None:
        """A host read of a unit in flash is done."""

    def score(self, candidate: Candidate, view: View) -> float:
        """How much the block should be collected now: the greatest score wins.

        Asked for the least-valid closed block of each write mode. By default, without a call, the drive's victim rule decides.
        """
        return 0.0

    def erase(self, collection: Collection, view: View) -> Mode:
        """An emptied block is about to be erased: in which erase mode. By default the first."""
        return 0

    def free_list(self, level: int, lists: Sequence[int], view: View) -> int:
        """A free block is wanted that can be programmed at `level`: from which level's list; `lists` counts the blocks of each.

        From a shallower (higher) level it is first erased further (:meth:`lazy_erase`). By default the nearest level that is
        deep enough, or else the nearest that is not. Asked only where erase modes have several levels.
        """
        deep = [known for known in range(min(level, len(lists) - 1), -1, -1) if lists[known]]
        shallow = [known for known in range(level + 1, len(lists)) if lists[known]]
        return [*deep, *shallow, level][0]

    def lazy_erase(self, block: int, level: int, view: View) -> Mode:
        """A free block must be erased further: as if in which erase mode, of those of `level` or deeper.

        By default the first of that level.
        """
        levels = self.facts.erase_levels
        return levels.index(level) if level in levels else 0

    def opened(self, block: int, view: View) -> None:
        """A free block has become a write frontier."""

    def erased(self, block: int, view: View) -> None:
        """A block has been erased and is free again."""

    def urgent(self, view: View) -> PageMove | None:
        """A page that must be moved before anything else starts.

        While there is one, or one of these is under way, nothing else is started.
        """
        return None

    def forced(self, view: View) -> PageMove | None:
        """A page to be moved at once, but without stopping anything else."""
        return None

    def idle(self, idle: Idle, view: View) -> PageMove | BlockMove | None:
        """What is to be moved while somebody is idle.

        Asked when a die has nothing else to do, at once or after :attr:`idle_after`.
        """
        return None

    def drain(self, view: View) -> PageMove | None:
        """The drive is shutting down gracefully: a page that must be moved first."""
        return None

    def wake_at(self, view: View) -> int | None:
        """When it wants :meth:`urgent` and :meth:`forced` to be asked again although nothing happens [ns since the run began]."""
        return None

    def adopt(self, view: View) -> None:
        """It now runs a drive that may hold data: it learns from `view` what it needs.

        What it declared is as it left it if the drive was loaded and had been run by a policy of the same name, and zero
        otherwise.
        """

    def move_after(self, mode: str) -> Span | None:
        """How long after its first program a block written in `mode` is moved whole; ``None``, the default: never.

        It is moved for ``reprogram``, whenever its die has nothing else to do. Asked once, for each mode, after :meth:`setup`.
        Retention limits hold all the same.
        """
        return None

    def uses(self) -> Sequence[Mode]:
        """The write modes that it chooses among; by default the one of old data alone. Asked once, after :meth:`setup`."""
        return [self.mode_of_old_data()]

    def mode_of_old_data(self) -> Mode:
        """The write mode that data older than the run was written in; ``normal`` by default. Asked once, after :meth:`setup`."""
        return "normal"

    def stats(self) -> Mapping[str, float]:
        """Its numbers, by name, for ``policy_stats`` in the results. Asked when the run is over."""
        return {}


#: What a policy declares by its attributes.
DECLARED = [name for name, value in vars(Policy).items() if not (name.startswith("_") or name == "name" or callable(value))]
#: The calls that a run makes.
_NAMES = """
    write collecting relocate placed dropped read_issued read_done score erase free_list lazy_erase
    opened erased urgent forced idle drain wake_at adopt stats
"""
#: The same, with how many arguments each is given.
CALLS = {name: len(inspect.signature(getattr(Policy, name)).parameters) - 1 for name in _NAMES.split()}
#: The others, asked before the run.
QUESTIONS = {"setup": 0, "needs": 0, "move_after": 1, "uses": 0, "mode_of_old_data": 0}


def overridden(policy: Policy) -> list[str]:
    """The calls of a run that a policy answers itself."""
    return [name for name in CALLS if name in vars(policy) or getattr(type(policy), name) is not getattr(Policy, name)]
