"""Mode policies in Python: a class with the calls of the engine's contract.

A policy chooses the mode of each write, read and erase, and the data that is moved: see :class:`Policy`, and
``docs/guide/policy.md``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ssdlab import _contract, _engine
from ssdlab._contract import FOLLOWS, Span
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

#: Mode in an answer: its name, or its number in the drive's table.
Mode: TypeAlias = str | int


class PageMove(NamedTuple):
    """Page that a policy requests to be moved.

    Examples:
        >>> class Rewrites(ssdlab.Policy):
        ...     idle_after = "1ms"
        ...     def setup(self):
        ...         self.fast = []
        ...     def write(self, dispatch, view):
        ...         return "fast"
        ...     def placed(self, placed, view):
        ...         if placed.mode == "fast":
        ...             self.fast.append((placed.lpn, placed.ppn))
        ...     def idle(self, idle, view):
        ...         return ssdlab.PageMove(*self.fast.pop(), "normal") if self.fast else None
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Rewrites)
        >>> result.summary["flash"]["programs"]
        {'host': 2599, 'rewrite': 2156}
    """

    #: Unit that is moved.
    lpn: int
    #: Present place of its data. Nothing is moved if the map points elsewhere by the time of the move.
    ppn: int
    #: Write mode of the new copy.
    mode: Mode
    #: Reason of the move, for the statistics: ``rewrite``, ``reprogram``, ``scrub``, ``evacuate``, ``wear`` or ``gc``.
    reason: str = "rewrite"
    #: Instant from which the move goes before host writes [ns since the run began]; ``None``: it always yields to host
    #: writes.
    deadline: int | None = None


class BlockMove(NamedTuple):
    """Block that a policy requests to be emptied.

    All its valid data is moved, in the mode that :meth:`Policy.relocate` chooses; an open block is closed first.

    Examples:
        >>> class Emptier(ssdlab.Policy):
        ...     def setup(self):
        ...         self.blocks = [0, 1]
        ...     def idle(self, idle, view):
        ...         return ssdlab.BlockMove(self.blocks.pop()) if self.blocks else None
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Emptier, precondition="fill")
        >>> result.summary["flash"]["erases"]
        {'rewrite': 2}
    """

    #: Block that is emptied.
    block: int
    #: Reason of the move, for the statistics, as for :class:`PageMove`.
    reason: str = "rewrite"


@dataclass(frozen=True, slots=True)
class Facts(_contract.Facts):
    """Constant properties of the drive that a policy runs.

    Entries for modes are in the order of the modes' numbers. Times are in nanoseconds.

    Examples:
        >>> class Shown(ssdlab.Policy):
        ...     def setup(self):
        ...         print(self.facts.write_modes, self.facts.program_scales, self.facts.die_count)
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Shown)
        ('normal', 'fast') (1.0, 0.5) 4
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs(_contract.Needs):
    """Services that a policy needs from the engine: its declared state, and the frequent calls that it uses.

    Examples:
        >>> class Chosen(ssdlab.Policy):
        ...     def __init__(self, history):
        ...         self.history = history
        ...     def needs(self):
        ...         return ssdlab.policy.Needs(bits_per_unit=2 if self.history else 0)
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Chosen(history=True))
        >>> result.summary["declared_state_bits_per_unit"]
        2
    """


class Random(random.Random):
    """Random stream derived from the seed of the run, with the methods of :class:`random.Random`.

    ``random()`` and ``getrandbits()`` give the same numbers on every machine. The methods that build on them are those
    of the installed version of Python.

    Examples:
        >>> class Dice(ssdlab.Policy):
        ...     host_streams = 2
        ...     def write(self, dispatch, view):
        ...         return self.random.choice(["normal", ("fast", 1)])
        >>> runs = [ssdlab.run("tiny", "examples/trace.csv.gz", Dice, seed=seed) for seed in (1, 1, 2)]
        >>> drawn = [run.summary["modes"]["host_write"] for run in runs]
        >>> drawn[0] == drawn[1], drawn[0] == drawn[2]
        (True, False)
    """

    def __new__(cls, stream: _engine.Stream) -> Random:
        """Creates the stream without a seed of Python's own."""
        return super().__new__(cls)

    def __init__(self, stream: _engine.Stream) -> None:
        self._stream = stream
        self.gauss_next = None

    def random(self) -> float:
        """Returns a number from 0 up to, but not including, 1.

        Examples:
            >>> class Coin(ssdlab.Policy):
            ...     host_streams = 2
            ...     def write(self, dispatch, view):
            ...         return ("fast", 1) if self.random.random() < 0.25 else "normal"
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Coin)
            >>> result.summary["modes"]["host_write"]
            {'normal': 1903, 'fast': 696}
        """
        return self._stream.unit()

    def getrandbits(self, k: int, /) -> int:
        """Returns a number of `k` random bits.

        Examples:
            >>> class Bits(ssdlab.Policy):
            ...     host_streams = 2
            ...     def write(self, dispatch, view):
            ...         return ("fast", 1) if self.random.getrandbits(2) == 0 else "normal"
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Bits)
            >>> result.summary["modes"]["host_write"]
            {'normal': 1903, 'fast': 696}
        """
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        words = -(-k // 64)
        return sum(self._stream.next_u64() << (64 * word) for word in range(words)) >> (64 * words - k)

    def seed(self, *_: object, **__: object) -> None:
        """Refuses: the seed of the run determines the stream."""
        raise TypeError("the seed of the run decides: give `seed` to the run")

    def getstate(self) -> tuple[Any, ...]:
        """Refuses: the engine keeps the state."""
        raise TypeError("the state of this stream is the engine's")

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Refuses: the engine keeps the state."""
        raise TypeError("the state of this stream is the engine's")


class Policy(_contract.Declarations):
    """Mode policy: chooses the mode of each write, read and erase, and the data that is moved.

    Subclass it and override the calls that matter. The engine answers the other calls itself, as the documentation of
    each call states, at no cost. A policy that overrides nothing is ``baseline``. Pass an instance (or the class) to
    :func:`ssdlab.run` or :func:`ssdlab.compare`, or ``--policy FILE.py:CLASS`` to the command.

    A policy must forget all earlier runs in :meth:`setup`, which is called before each run. It must draw random numbers
    from :attr:`random` only, and must not depend on a clock: then equal inputs and seeds give equal results.

    Answers give modes by their names or their numbers. An answer that the engine cannot act on, or an exception, ends
    the run with a :class:`ssdlab.PolicyError` that names file and line.

    Examples:
        >>> class Bursts(ssdlab.Policy):
        ...     host_streams = 2
        ...     def write(self, dispatch, view):
        ...         return ("fast", 1) if view.queued_write_pages > 8 else "normal"
        >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", Bursts], precondition="fill")
        >>> comparison.runs[1].summary["modes"]["host_write"]
        {'normal': 2372, 'fast': 227}
        >>> comparison.ratios[1]["latency"]["write"]["mean_ns"]
        0.8399
    """

    #: Name of the policy in results; empty: the name of its class.
    name: str = ""
    #: Constant properties of the drive; known from :meth:`setup` on.
    facts: Facts
    #: Random numbers, determined by the seed of the run; known from :meth:`setup` on.
    random: Random

    def setup(self) -> None:
        """Prepares the policy for a run: :attr:`facts` and :attr:`random` are known, the drive does not exist yet.

        State that the policy keeps in `self` during a run must be initialised here.

        Examples:
            >>> class Counting(ssdlab.Policy):
            ...     def setup(self):
            ...         self.slow = self.facts.write_modes.index("normal")
            ...         self.writes = 0
            ...     def write(self, dispatch, view):
            ...         self.writes += len(dispatch.units)
            ...         return self.slow
            ...     def stats(self):
            ...         return {"written_units": self.writes}
            >>> policy = Counting()
            >>> for _ in range(2):
            ...     print(ssdlab.run("tiny", "examples/trace.csv.gz", policy).summary["policy_stats"])
            {'written_units': 2599.0}
            {'written_units': 2599.0}
        """

    def needs(self) -> Needs:
        """Returns the services that the policy needs: by default its declarations, and the calls that it overrides.

        Examples:
            >>> class Idler(ssdlab.Policy):
            ...     bits_per_unit = 1
            ...     def idle(self, idle, view):
            ...         return None
            >>> needs = Idler().needs()
            >>> needs.bits_per_unit, needs.moves, needs.idle_only, needs.placed
            (1, True, True, False)
        """
        given = set(overridden_calls(self))
        follows = {need: not given.isdisjoint(calls) for need, calls in FOLLOWS.items()}
        follows["idle_only"] &= given.isdisjoint(("urgent", "forced", "wake_at"))
        return Needs(**{name: getattr(self, name) for name in DECLARED}, **follows)

    def write(self, dispatch: Dispatch, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the write mode and the host stream of a host write that is being dispatched.

        Returns a mode, for stream 0, or a mode and the number of a stream. Called again for the same data if a free
        block had to be erased further first. By default ``normal``, the mode that every drive has.

        Examples:
            >>> class Crowded(ssdlab.Policy):
            ...     host_streams = 2
            ...     def write(self, dispatch, view):
            ...         return ("fast", 1) if dispatch.others_idle == 0 else "normal"
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Crowded)
            >>> result.summary["modes"]["host_write"]
            {'normal': 1921, 'fast': 678}
        """
        return "normal"

    def requested(self, view: View) -> None:
        r"""Notifies the policy that all data of a write request is in the write queue or the write buffer.

        Examples:
            >>> class Requests(ssdlab.Policy):
            ...     def setup(self):
            ...         self.requests = 0
            ...     def requested(self, view):
            ...         self.requests += 1
            ...     def stats(self):
            ...         return {"requests": self.requests}
            >>> writes = ssdlab.Workload.from_text("[writes]\nrw=write\nbs=16k\nnumber_ios=100")
            >>> ssdlab.run("tiny", writes, Requests).summary["policy_stats"]
            {'requests': 100.0}
        """

    def collecting(self, collection: Collection, view: View) -> None:
        """Notifies the policy that a block has been taken to be emptied.

        Examples:
            >>> class Victims(ssdlab.Policy):
            ...     def setup(self):
            ...         self.valid = []
            ...     def collecting(self, collection, view):
            ...         self.valid.append(collection.valid)
            ...     def stats(self):
            ...         return {"mean_valid_units": sum(self.valid) / len(self.valid)}
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", Victims, precondition="steady", stop_after=2000)
            >>> result.summary["policy_stats"]
            {'mean_valid_units': 44.96}
        """

    def relocate(self, moving: Moving, view: View) -> Mode | tuple[Mode, int]:
        """Chooses the write mode of data that a collection moves. By default that of :meth:`mode_of_old_data`.

        With several :attr:`relocation_streams` it is called for each unit that has been read (``moving.units`` holds it
        alone), and may return a mode and the number of a stream: units with the same answer are programmed together, so
        that data can be split by how often it changes. What is left at the end of a block and fills no program is
        programmed together, with the answer that most of its units have.

        Examples:
            >>> class Hurried(ssdlab.Policy):
            ...     def relocate(self, moving, view):
            ...         return "normal" if moving.background else "fast"
            >>> sets = {"ftl.gc_idle_after": "1ms", "ftl.gc_idle_target_blocks": 6}
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Hurried, precondition="steady", set=sets)
            >>> result.summary["modes"]["write"]
            {'normal': 10261, 'fast': 32}
            >>> class Survivors(ssdlab.Policy):
            ...     bits_per_unit, relocation_streams = 1, 2
            ...     def placed(self, placed, view):
            ...         view.bits[placed.lpn] = placed.reason != "host"
            ...     def relocate(self, moving, view):
            ...         return "normal", view.bits[moving.units[0]]
            >>> ssdlab.run("tiny", "examples/trace.csv.gz", Survivors, precondition="steady").write_amplification
            3.2
        """
        return self.mode_of_old_data()

    def placed(self, placed: Placed, view: View) -> None:
        """Notifies the policy that a unit has been bound to a place.

        The map points there already; the program has not completed.

        Examples:
            >>> class Moves(ssdlab.Policy):
            ...     def setup(self):
            ...         self.moved = set()
            ...     def placed(self, placed, view):
            ...         if placed.reason == "gc":
            ...             self.moved.add(placed.lpn)
            ...     def stats(self):
            ...         return {"units_moved": len(self.moved)}
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", Moves, precondition="steady", stop_after=2000)
            >>> result.summary["policy_stats"]
            {'units_moved': 4726.0}
        """

    def dropped(self, lpn: int, view: View) -> None:
        r"""Notifies the policy that a unit was trimmed.

        Examples:
            >>> class Trims(ssdlab.Policy):
            ...     def setup(self):
            ...         self.dropped_units = 0
            ...     def dropped(self, lpn, view):
            ...         self.dropped_units += 1
            ...     def stats(self):
            ...         return {"dropped_units": self.dropped_units}
            >>> trims = ssdlab.Workload.from_text("[trims]\nrw=randtrim\nbs=8k\nnumber_ios=100")
            >>> ssdlab.run("tiny", trims, Trims, precondition="fill").summary["policy_stats"]
            {'dropped_units': 200.0}
        """

    def read_issued(self, read: UnitRead, view: View) -> Mode | None:
        """Chooses the read mode of a unit in flash whose read is being issued.

        By default ``None``: the read mode that belongs to the write mode of the block. Called for the reads of
        collections only where the scope of a mode is the page.

        Examples:
            >>> class Reads(ssdlab.Policy):
            ...     def setup(self):
            ...         self.reads = 0
            ...     def read_issued(self, read, view):
            ...         self.reads += read.reason == "host"
            ...         return None
            ...     def stats(self):
            ...         return {"units_read_for_the_host": self.reads}
            >>> ssdlab.run("tiny", "examples/trace.csv.gz", Reads, precondition="fill").summary["policy_stats"]
            {'units_read_for_the_host': 296.0}
        """
        return None

    def read_done(self, lpn: int, ppn: int, view: View) -> None:
        """Notifies the policy that a host read of a unit in flash is done.

        Examples:
            >>> class Popular(ssdlab.Policy):
            ...     host_streams = 2
            ...     bits_per_unit = 2
            ...     def read_done(self, lpn, ppn, view):
            ...         view.bits[lpn] = min(view.bits[lpn] + 1, 3)
            ...     def write(self, dispatch, view):
            ...         return "normal" if any(view.bits[lpn] for lpn in dispatch.units) else ("fast", 1)
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Popular, precondition="fill")
            >>> result.summary["modes"]["host_write"]
            {'normal': 70, 'fast': 2529}
        """

    def score(self, candidate: Candidate, view: View) -> float:
        """Returns the priority of collecting a block: the candidate with the highest score is collected.

        Called for the closed block with the fewest valid units of each write mode. Within a mode, scores must not fall
        as valid units become fewer. By default, without a call, the drive's victim rule decides.

        Examples:
            >>> class FastFirst(ssdlab.Policy):
            ...     host_streams = 2
            ...     def setup(self):
            ...         self.victims = {"fast": 0, "normal": 0}
            ...     def write(self, dispatch, view):
            ...         return ("fast", 1) if self.random.random() < 0.5 else "normal"
            ...     def score(self, candidate, view):
            ...         return candidate.invalid + (16 if candidate.mode == "fast" else 0)
            ...     def collecting(self, collection, view):
            ...         self.victims[view.block_mode(collection.block)] += 1
            ...     def stats(self):
            ...         return self.victims
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", FastFirst, precondition="steady", stop_after=5000)
            >>> result.summary["policy_stats"]
            {'fast': 32.0, 'normal': 270.0}
        """
        return 0.0

    def erase(self, collection: Collection, view: View) -> Mode:
        """Chooses the erase mode of an emptied block. By default the first.

        Examples:
            >>> class Gentle(ssdlab.Policy):
            ...     def erase(self, collection, view):
            ...         return "slow" if collection.background else "fast"
            >>> modes = [{"name": "fast"}, {"name": "slow", "erase_scale": 3.0, "wear": 0.8}]
            >>> ftl = {"gc_idle_after": "1ms", "gc_idle_target_blocks": 6}
            >>> drive = {"base": "tiny", "flash": {"erase_mode": modes}, "ftl": ftl}
            >>> result = ssdlab.run(drive, "examples/trace.csv.gz", Gentle, precondition="steady")
            >>> result.summary["modes"]["erase"]
            {'fast': 2, 'slow': 176}
        """
        return 0

    def free_list(self, level: int, lists: Sequence[int], view: View) -> int:
        """Chooses the list of free blocks from which a block is taken for a write mode of `level`.

        The write mode can be programmed on blocks of `level` and deeper (lower) levels. There is a list for each level,
        and `lists` counts their blocks on the die; the chosen list must not be empty. A block of a shallower (higher)
        level is first erased further (:meth:`lazy_erase`). By default the nearest level that is deep enough, otherwise
        the nearest that is not. Called only where erase modes have several levels.

        Examples:
            >>> policy = ssdlab.Policy()
            >>> policy.free_list(1, [4, 0, 7], None)
            0
            >>> policy.free_list(1, [0, 0, 7], None)
            2
        """
        deep = [known for known in range(min(level, len(lists) - 1), -1, -1) if lists[known]]
        shallow = [known for known in range(level + 1, len(lists)) if lists[known]]
        return [*deep, *shallow, level][0]

    def lazy_erase(self, block: int, level: int, view: View) -> Mode:
        """Chooses the erase mode of a lazy erase: a free block must be erased further before it can be used at `level`.

        The mode must be of that level or deeper. Afterwards the block counts as erased in that mode in the first place,
        its wear included. By default the first erase mode of that level, otherwise the first of the table.

        Examples:
            >>> class Shallow(ssdlab.Policy):
            ...     def erase(self, collection, view):
            ...         return "shallow"
            ...     def lazy_erase(self, block, level, view):
            ...         return "deep"
            >>> modes = [{"name": "deep", "level": 0}, {"name": "shallow", "level": 1, "wear": 0.5}]
            >>> drive = {"base": "tiny", "flash": {"erase_mode": modes}}
            >>> result = ssdlab.run(drive, "examples/randwrite.fio", Shallow, precondition="steady", stop_after=2000)
            >>> result.summary["flash"]["operations"]["lazy_erase"]
            100
        """
        levels = self.facts.erase_levels
        return levels.index(level) if level in levels else 0

    def opened(self, block: int, view: View) -> None:
        """Notifies the policy that a free block has become a write frontier.

        Examples:
            >>> class Frontiers(ssdlab.Policy):
            ...     def setup(self):
            ...         self.blocks = []
            ...     def opened(self, block, view):
            ...         self.blocks.append(block)
            ...     def stats(self):
            ...         return {"blocks_opened": len(self.blocks)}
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", Frontiers, precondition="steady", stop_after=2000)
            >>> result.summary["policy_stats"]
            {'blocks_opened': 105.0}
        """

    def erased(self, block: int, view: View) -> None:
        """Notifies the policy that a block has been erased: it is free again or, if worn out, retired.

        Examples:
            >>> class Worn(ssdlab.Policy):
            ...     def setup(self):
            ...         self.most = 0
            ...     def erased(self, block, view):
            ...         self.most = max(self.most, view.block_erases(block))
            ...     def stats(self):
            ...         return {"most_erases": self.most}
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", Worn, precondition="steady", stop_after=2000)
            >>> result.summary["policy_stats"], result.summary["wear"]["max"]
            ({'most_erases': 1.0}, 1)
        """

    def urgent(self, view: View) -> PageMove | None:
        """Returns a page that must be moved before any other operation starts.

        While there is one, or one is being moved, no other operation is started except a collection that makes space
        for the move.

        Examples:
            >>> class MoveFirst(ssdlab.Policy):
            ...     def setup(self):
            ...         self.moved = False
            ...     def urgent(self, view):
            ...         if self.moved:
            ...             return None
            ...         self.moved = True
            ...         return ssdlab.PageMove(0, view.place_of(0), "fast", "scrub")
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", MoveFirst, precondition="fill")
            >>> result.summary["flash"]["programs"]
            {'host': 2599, 'scrub': 1}
        """
        return None

    def forced(self, view: View) -> PageMove | None:
        """Returns a page to be moved at once, beside other operations.

        Examples:
            >>> class Bounded(ssdlab.Policy):
            ...     def setup(self):
            ...         self.fast = []
            ...     def write(self, dispatch, view):
            ...         return "fast"
            ...     def placed(self, placed, view):
            ...         if placed.mode == "fast":
            ...             self.fast.append((placed.lpn, placed.ppn))
            ...     def forced(self, view):
            ...         return ssdlab.PageMove(*self.fast.pop(0), "normal") if len(self.fast) > 100 else None
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Bounded)
            >>> result.summary["flash"]["programs"]
            {'host': 2599, 'rewrite': 1223}
        """
        return None

    def idle(self, idle: Idle, view: View) -> PageMove | BlockMove | None:
        """Returns data to be moved in idle time.

        Called when a die has nothing else to do, at once or after :attr:`idle_after`.

        Examples:
            >>> class Cleaner(ssdlab.Policy):
            ...     idle_after = "5ms"
            ...     def idle(self, idle, view):
            ...         victim = view.least_valid(idle.die, "normal")
            ...         return ssdlab.BlockMove(victim[0]) if victim and victim[1] < 20 else None
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Cleaner, precondition="fill")
            >>> result.summary["flash"]["erases"]
            {'rewrite': 20}
        """
        return None

    def drain(self, view: View) -> PageMove | None:
        """Returns a page that must be moved before a graceful shutdown can end.

        Examples:
            >>> class Tidy(ssdlab.Policy):
            ...     def setup(self):
            ...         self.fast = []
            ...     def write(self, dispatch, view):
            ...         return "fast"
            ...     def placed(self, placed, view):
            ...         if placed.mode == "fast":
            ...             self.fast.append((placed.lpn, placed.ppn))
            ...     def drain(self, view):
            ...         while self.fast:
            ...             lpn, ppn = self.fast.pop()
            ...             if view.place_of(lpn) == ppn:
            ...                 return ssdlab.PageMove(lpn, ppn, "normal")
            ...         return None
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Tidy, set={"state.graceful_shutdown": True})
            >>> result.summary["flash"]["programs"], result.summary["shutdown_ns"]
            ({'host': 2599, 'rewrite': 770}, 126861310)
        """
        return None

    def wake_at(self, view: View) -> int | None:
        """Returns the instant at which :meth:`urgent` and :meth:`forced` are to be called again [ns].

        The instant counts from the beginning of the run. The calls are made even if nothing happens until then. By
        default ``None``: no such instant.

        Examples:
            >>> class Periodic(ssdlab.Policy):
            ...     def setup(self):
            ...         self.next = self.wakes = 0
            ...     def forced(self, view):
            ...         if view.now >= self.next:
            ...             self.wakes += 1
            ...             self.next = view.now + 1_000_000_000
            ...     def wake_at(self, view):
            ...         return self.next
            ...     def stats(self):
            ...         return {"wakes": self.wakes}
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Periodic)
            >>> result.simulated_ns, result.summary["policy_stats"]
            (82765424183, {'wakes': 82.0})
        """
        return None

    def adopt(self, view: View) -> None:
        """Notifies the policy that it now runs a drive that may hold data, so that it can derive its state from `view`.

        Its declared state is as the policy left it if the drive was loaded and had been run by a policy of the same
        name, and zero otherwise.

        Examples:
            >>> class Start(ssdlab.Policy):
            ...     def adopt(self, view):
            ...         self.free = sum(view.free_blocks(die) for die in range(self.facts.die_count))
            ...     def stats(self):
            ...         return {"free_at_start": self.free}
            >>> ssdlab.run("tiny", "examples/trace.csv.gz", Start, precondition="fill").summary["policy_stats"]
            {'free_at_start': 84.0}
        """

    def move_after(self, mode: str) -> Span | None:
        """Returns the age at which a block written in `mode` is moved whole; ``None``, the default: never.

        The age counts from the first program of the block. The block is moved for ``reprogram``, as soon as its die has
        nothing else to do. Retention limits are kept in any case. Called once for each mode, after :meth:`setup`.

        Examples:
            >>> class Reprogram(ssdlab.Policy):
            ...     def write(self, dispatch, view):
            ...         return "fast"
            ...     def move_after(self, mode):
            ...         return "10s" if mode == "fast" else None
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Reprogram)
            >>> result.summary["flash"]["programs"]
            {'host': 2599, 'reprogram': 1090}
        """
        return None

    def uses(self) -> Sequence[Mode]:
        """Returns the write modes that the policy chooses among; by default that of old data alone.

        Called once, after :meth:`setup`.

        Examples:
            >>> class Both(ssdlab.Policy):
            ...     def uses(self):
            ...         return ["normal", "fast"]
            >>> ssdlab.Policy().uses(), Both().uses()
            (['normal'], ['normal', 'fast'])
        """
        return [self.mode_of_old_data()]

    def mode_of_old_data(self) -> Mode:
        """Returns the write mode in which data older than the run counts as written; by default ``normal``.

        Called once, after :meth:`setup`.

        Examples:
            >>> class Old(ssdlab.Policy):
            ...     def mode_of_old_data(self):
            ...         return "fast"
            >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", Old, precondition="fill")
            >>> result.summary["starting_state"]["write_mode_of_old_data"]
            'fast'
        """
        return "normal"

    def stats(self) -> Mapping[str, float]:
        """Returns the policy's counters and other figures by name, for ``policy_stats``. Called after the run.

        Examples:
            >>> class Queue(ssdlab.Policy):
            ...     def setup(self):
            ...         self.longest = 0
            ...     def write(self, dispatch, view):
            ...         self.longest = max(self.longest, view.queued_write_pages)
            ...         return "normal"
            ...     def stats(self):
            ...         return {"longest_queue": self.longest}
            >>> ssdlab.run("tiny", "examples/trace.csv.gz", Queue).summary["policy_stats"]
            {'longest_queue': 49.0}
        """
        return {}


#: Names of the attributes by which a policy declares its needs.
DECLARED = [*_contract.Declarations.__annotations__]
#: Calls that a run makes, each with the number of its arguments.
CALLS = {name: len(arguments) for name, arguments in _contract.CALLS.items()}
#: Calls that are made before a run, each with the number of its arguments.
QUESTIONS = {"setup": 0, "needs": 0, "move_after": 1, "uses": 0, "mode_of_old_data": 0}


def overridden_calls(policy: Policy) -> list[str]:
    """Returns the calls of a run that a policy overrides."""
    return [name for name in CALLS if name in vars(policy) or getattr(type(policy), name) is not getattr(Policy, name)]
