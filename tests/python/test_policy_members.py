"""Policies in Python beside the engine's own: equal answers give equal bytes, random answers do no harm."""

from __future__ import annotations

import random

import pytest

import ssdlab
from members import AllFast, Ofwar, SlcCache
from policy_drive import LOAD, REASONS, SMALL, content, run
from ssdlab.policy import Needs

MEMBERS = [
    ("baseline", ssdlab.Policy, []),
    ("all_fast", AllFast, []),
    (
        "slc_cache",
        lambda: SlcCache("fast", static_blocks=1, dynamic_blocks=4),
        ["policy.slc_cache.cache=fast", "policy.slc_cache.static_blocks=1", "policy.slc_cache.dynamic_blocks=4"],
    ),
    (
        "ofwar",
        lambda: Ofwar(write_threshold=16, rewrite_threshold=8),
        ["policy.ofwar.write_threshold=16", "policy.ofwar.rewrite_threshold=8"],
    ),
]


@pytest.mark.parametrize(("name", "make", "sets"), MEMBERS, ids=[member[0] for member in MEMBERS])
@pytest.mark.parametrize(
    "sized", [["state.precondition=fill"], ["state.graceful_shutdown=true", *SMALL[:4]]], ids=["full", "small"]
)
def test_a_copy_of_a_member_gives_the_same_bytes(name, make, sets, sized):
    recorded = {"record_commands": True, "record_spans": True, "seed": 7}
    load = ssdlab.Workload.from_text(LOAD)
    member = ssdlab.run("tiny", load, name, set=[*sets, *sized], **recorded)
    copy = ssdlab.run("tiny", load, make(), set=[*sets, *sized], **recorded)
    for ours, theirs in zip(content(copy), content(member), strict=True):
        assert ours == theirs


def test_what_the_copies_are_compared_on_is_decided_by_them():
    class Otherwise(SlcCache):
        def _has_room(self, die, view):
            return view.now % 2 == 0 and super()._has_room(die, view)

    load, sets = ssdlab.Workload.from_text(LOAD), MEMBERS[2][2]
    one, other = (ssdlab.run("tiny", load, policy, set=sets) for policy in (SlcCache("fast", 1, 4), Otherwise("fast", 1, 4)))
    assert content(one)[0] != content(other)[0]
    assert one.summary["declared_state_bytes_per_block"] == 1


class RandomPolicy(ssdlab.Policy):
    """Gives random answers within the contract."""

    def setup(self):
        chance = self.random.random
        self.declared = Needs(
            host_streams=self.random.randint(1, 3),
            bits_per_unit=self.random.choice([0, 1, 2, 4, 8]),
            bytes_per_block=self.random.randint(0, 2),
            idle_after=self.random.choice([0, "2ms"]),
            page_scope=chance() < 0.2,
            **{
                name: chance() < 0.6
                for name in [
                    "placed",
                    "dropped",
                    "blocks",
                    "reads",
                    "reads_done",
                    "scores",
                    "moves",
                    "relocations_apart",
                    "moving",
                    "erases",
                ]
            },
        )
        self.eager = self.random.choice([0.02, 0.3, 0.9])
        self.wishes = 600

    def needs(self):
        return self.declared

    def _scribble(self, view):
        if self.declared.bits_per_unit:
            view.bits[self.random.randrange(self.facts.user_units)] = self.random.getrandbits(self.declared.bits_per_unit)
        if self.declared.bytes_per_block:
            blocks = self.facts.blocks_per_die * self.facts.die_count
            view.block_bytes[self.random.randrange(blocks)] = self.random.randbytes(self.declared.bytes_per_block)

    def _page(self, view):
        if self.wishes == 0 or self.random.random() > self.eager:
            return None
        self.wishes -= 1
        lpn = self.random.randrange(self.facts.user_units)
        places = self.facts.blocks_per_die * self.facts.die_count * 16
        ppn = self.random.randrange(places) if self.random.random() < 0.1 else view.place_of(lpn)
        deadline = view.now + self.random.randrange(20_000_000) if self.random.random() < 0.3 else None
        mode = self.random.choice(self.facts.write_modes)
        return None if ppn is None else ssdlab.PageMove(lpn, ppn, mode, self.random.choice(REASONS), deadline)

    def write(self, dispatch, view):
        self._scribble(view)
        return self.random.choice(self.facts.write_modes), self.random.randrange(self.declared.host_streams)

    def relocate(self, moving, view):
        return self.random.choice(self.facts.write_modes)

    def collecting(self, collection, view):
        self._scribble(view)

    def placed(self, placed, view):
        self._scribble(view)

    def read_issued(self, read, view):
        return self.random.choice([None, *self.facts.read_modes])

    def score(self, candidate, view):
        return self.random.random() * 100 - 50

    def erase(self, collection, view):
        return self.random.choice(self.facts.erase_modes)

    def free_list(self, level, lists, view):
        return self.random.choice([at for at, blocks in enumerate(lists) if blocks])

    def lazy_erase(self, block, level, view):
        return self.random.choice([mode for mode, reached in enumerate(self.facts.erase_levels) if reached <= level])

    def urgent(self, view):
        return self._page(view) if self.random.random() < 0.05 else None

    def forced(self, view):
        return self._page(view) if self.random.random() < 0.1 else None

    def idle(self, idle, view):
        if self.random.random() < 0.3:
            return ssdlab.BlockMove(self.random.randrange(self.facts.blocks_per_die * self.facts.die_count))
        return self._page(view)

    def drain(self, view):
        return self._page(view)

    def wake_at(self, view):
        return view.now + self.random.randrange(1_000, 5_000_000) if self.random.random() < 0.2 else None


@pytest.mark.parametrize("seed", range(12))
def test_random_answers_do_a_drive_no_harm(seed, tmp_path):
    saved = tmp_path / "aged.state"
    one = run(RandomPolicy, seed, save=saved, record_commands=True)
    assert one.commands["read"] + one.commands["write"] + one.commands["trim"] == 3020
    # Loading audits the drive: its map, its valid counts, its blocks.
    again = run("baseline", seed, load=saved)
    assert again.status == "complete"
    assert content(run(RandomPolicy, seed, record_commands=True)) == content(one)


def test_the_seed_decides_what_a_policy_draws():
    drawn = []

    class Drawing(ssdlab.Policy):
        def setup(self):
            drawn.append([self.random.random(), self.random.getrandbits(100), self.random.randrange(10**9)])
            with pytest.raises(TypeError):
                self.random.seed(1)

    for seed in (1, 1, 2):
        random.seed(seed + len(drawn))
        run(Drawing, seed)
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
