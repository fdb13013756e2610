"""Members of the policy family, reimplemented in Python: runs under them must equal runs under the engine's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import ssdlab
from ssdlab.policy import Candidate, Collection, Dispatch, Idle, Mode, Moving, Placed, View


class AllFast(ssdlab.Policy):
    """``all_fast``."""

    relocations_apart = True

    def write(self, dispatch: Dispatch, view: View) -> Mode:
        return "fast"


class SlcCache(ssdlab.Policy):
    """``slc_cache``, with its parameters."""

    host_streams = 2
    bytes_per_block = 1
    idle_after = "5ms"

    def __init__(self, cache: str = "fast", static_blocks: int = 2, dynamic_blocks: int = 64, keep_free: int = 8) -> None:
        self.cache, self.static_blocks, self.dynamic_blocks, self.keep_free = cache, static_blocks, dynamic_blocks, keep_free

    def setup(self) -> None:
        self.cached = [0] * self.facts.die_count
        self.left = [0] * self.facts.die_count
        self.block_units = self.facts.block_units[self.facts.write_modes.index(self.cache)]
        self.cached_units = self.direct_units = self.folded = self.most = 0

    def write(self, dispatch: Dispatch, view: View) -> tuple[Mode, int]:
        die, units = dispatch.die, len(dispatch.units)
        if not self._has_room(die, view):
            self.direct_units += units
            return "normal", 0
        self.cached_units += units
        self.left[die] = max(0, self.left[die] - self.facts.units_per_program)
        return self.cache, 1

    def _has_room(self, die: int, view: View) -> bool:
        cached = self.cached[die]
        if self.left[die] > 0 or cached < self.static_blocks:
            return True
        return cached < self.static_blocks + self.dynamic_blocks and view.free_blocks(die) > self.keep_free

    def collecting(self, collection: Collection, view: View) -> None:
        self.folded += collection.reason == "rewrite"

    def opened(self, block: int, view: View) -> None:
        is_cache = view.block_mode(block) == self.cache
        view.block_bytes[block] = bytes([is_cache])
        if is_cache:
            die = view.die_of(block)
            self.cached[die] += 1
            self.left[die] = self.block_units - self.facts.units_per_program
            self.most = max(self.most, sum(self.cached))

    def erased(self, block: int, view: View) -> None:
        if view.block_bytes[block][0] == 1:
            self.cached[view.die_of(block)] -= 1
            view.block_bytes[block] = b"\0"

    def idle(self, idle: Idle, view: View) -> ssdlab.BlockMove | None:
        found = view.least_valid(idle.die, self.cache)
        return None if found is None else ssdlab.BlockMove(found[0])

    def adopt(self, view: View) -> None:
        self.cached = [0] * self.facts.die_count
        for block in range(self.facts.blocks_per_die * self.facts.die_count):
            is_cache = view.block_mode(block) == self.cache and view.block_state(block) != "free"
            view.block_bytes[block] = bytes([is_cache])
            self.cached[view.die_of(block)] += is_cache

    def uses(self) -> Sequence[Mode]:
        return ["normal", self.cache]

    def stats(self) -> dict[str, float]:
        return {
            "cached_units": self.cached_units,
            "direct_units": self.direct_units,
            "blocks_folded": self.folded,
            "cached_blocks": sum(self.cached),
            "cached_blocks_most": self.most,
        }


#: An entry of the rewrite queue: unit, place, erase count of its block, time of the write.
Entry = tuple[int, int, int, int]


class Ofwar(ssdlab.Policy):
    """``ofwar``, with its thresholds."""

    host_streams = 2
    bits_per_unit = 1

    def __init__(self, write_threshold: int = 128, rewrite_threshold: int = 128, queue_depth: int = 65_536) -> None:
        self.write_threshold, self.rewrite_threshold, self.queue_depth = write_threshold, rewrite_threshold, queue_depth

    def setup(self) -> None:
        facts = self.facts
        limits = facts.retention_by_wear[facts.write_modes.index("fast")]
        # The engine's threshold if limits do not depend on wear: the limit less the margin and the time to rewrite a
        # full queue.
        moved_at = max(0, min(limits, default=2**64 - 1) - facts.retention_margin)
        self.age_threshold = max(moved_at - self.queue_depth * facts.page_move_share, moved_at // 2) if limits else 2**64 - 1
        self.queue: deque[Entry] = deque()
        self.by_hit = self.by_queue = self.normal = self.rewrites = self.urgent_rewrites = self.stale = self.full = 0
        self.longest = 0

    def write(self, dispatch: Dispatch, view: View) -> tuple[Mode, int]:
        units = dispatch.units
        hit = any(view.bits[lpn] for lpn in units)
        if not hit and view.queued_write_pages <= self.write_threshold:
            self.normal += len(units)
            return "normal", 0
        if len(self.queue) + len(units) > self.queue_depth:
            self.full += len(units)
            self.normal += len(units)
            return "normal", 0
        if hit:
            self.by_hit += len(units)
        else:
            self.by_queue += len(units)
        return "fast", 1

    def placed(self, placed: Placed, view: View) -> None:
        is_fast = placed.mode == "fast"
        view.bits[placed.lpn] = is_fast
        if is_fast:
            self.queue.append((placed.lpn, placed.ppn, view.block_erases(view.block_of(placed.ppn)), view.now))
            self.longest = max(self.longest, len(self.queue))

    def dropped(self, lpn: int, view: View) -> None:
        view.bits[lpn] = 0

    def score(self, candidate: Candidate, view: View) -> float:
        return candidate.invalid + (0.5 if candidate.mode == "fast" else 0.0) * candidate.valid

    def _is_live(self, entry: Entry, view: View) -> bool:
        lpn, ppn, erases, _ = entry
        return view.place_of(lpn) == ppn and view.block_erases(view.block_of(ppn)) == erases

    def _flush_top(self, view: View) -> ssdlab.PageMove | None:
        entry = self.queue.popleft()
        if not self._is_live(entry, view):
            self.stale += 1
            return None
        self.rewrites += 1
        return ssdlab.PageMove(entry[0], entry[1], "normal")

    def _moves(self, view: View) -> Iterator[ssdlab.PageMove]:
        while self.queue:
            move = self._flush_top(view)
            if move is not None:
                yield move

    def _drop_stale(self, view: View) -> None:
        while self.queue and not self._is_live(self.queue[0], view):
            self.queue.popleft()
            self.stale += 1

    def _top_is_too_old(self, now: int) -> bool:
        return bool(self.queue) and now - self.queue[0][3] > self.age_threshold

    def urgent(self, view: View) -> ssdlab.PageMove | None:
        if not self._top_is_too_old(view.now):
            return None
        self._drop_stale(view)
        if not self._top_is_too_old(view.now):
            return None
        self.urgent_rewrites += 1
        return next(self._moves(view), None)

    def idle(self, idle: Idle, view: View) -> ssdlab.PageMove | None:
        while idle.channel_for is not None and len(self.queue) > self.rewrite_threshold:
            move = self._flush_top(view)
            if move is not None:
                return move
        return None

    def drain(self, view: View) -> ssdlab.PageMove | None:
        return next(self._moves(view), None)

    def wake_at(self, view: View) -> int | None:
        return self.queue[0][3] + self.age_threshold + 1 if self.queue else None

    def adopt(self, view: View) -> None:
        found = []
        for block in range(self.facts.blocks_per_die * self.facts.die_count):
            if view.block_mode(block) != "fast" or view.block_state(block) in ("free", "retired"):
                continue
            written = view.now - view.block_age(block)
            units = ((ppn, view.unit_at(ppn)) for ppn in range(*view.places_of(block)))
            erases = view.block_erases(block)
            found += [(written, ppn, (lpn, ppn, erases, max(written, 0))) for ppn, lpn in units if lpn is not None]
        self.queue = deque(entry for _, _, entry in sorted(found))
        for lpn, *_ in self.queue:
            view.bits[lpn] = 1

    def uses(self) -> Sequence[Mode]:
        return ["normal", "fast"]

    def relocate(self, moving: Moving, view: View) -> Mode:
        return "normal"

    def stats(self) -> dict[str, float]:
        return {
            "fast_writes_by_hit": self.by_hit,
            "fast_writes_by_queue": self.by_queue,
            "normal_writes": self.normal,
            "rewrites_started": self.rewrites,
            "urgent_rewrites": self.urgent_rewrites,
            "evictions": 0,
            "stale_entries_dropped": self.stale,
            "writes_on_full_queue": self.full,
            "rewrite_queue_entries": len(self.queue),
            "rewrite_queue_longest": self.longest,
        }
