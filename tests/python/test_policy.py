"""Policies in Python: the contract, invalid answers, exceptions, Ctrl-C, the command line."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import SSDLAB
from members import AllFast, Ofwar, SlcCache
from ssdlab.policy import CALLS, QUESTIONS, Needs

#: A load with reads, single writes, bursts, trims, and pauses in which dies are idle.
LOAD = """\
[mixed]
rw=randrw
rwmixread=30
bs=4k
iodepth=32
number_ios=4000
norandommap=1
rate_iops=3000
[bursts]
startdelay=1
rw=randwrite
bs=16k
iodepth=64
number_ios=3000
norandommap=1
[trims]
rw=randtrim
bs=4k
number_ios=300
rate_iops=200
"""
#: A drive with several erase levels, small enough that all its blocks are collected.
LEVELS = """\
base = "tiny"
[[flash.erase_mode]]
name = "deep"
level = 0
[[flash.erase_mode]]
name = "shallow"
level = 1
wear = 0.5
"""
SMALL = [
    "flash.blocks_per_plane=32",
    "flash.pages_per_block=16",
    "ftl.overprovisioning=0.6",
    "ftl.retention_margin=0ns",
    "state.precondition=random",
    "state.graceful_shutdown=true",
    "flash.write_mode[0].erase_level=0",
]
JOB = (
    "[a]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=3000\nio_size=1g\nnorandommap=1\n"
    "[b]\nstonewall\nstartdelay=1\nrw=randread\nnumber_ios=10\n[c]\nstonewall\nrw=randtrim\nbs=4k\nnumber_ios=10\n"
)
HERE = Path(__file__).name


def run(policy, seed=1, **options):
    """Runs a policy on the small drive with erase levels."""
    drive = ssdlab.Drive.from_text(LEVELS)
    return ssdlab.run(drive, ssdlab.Workload.from_text(JOB), policy, set=SMALL, seed=seed, **options)


def content(result):
    """Returns all results of a run, except the policy's name and the wall time."""
    summary = {name: value for name, value in result.summary.items() if name not in ("policy", "wall_s")}
    return summary, result.latency_table(), result.timeline_table(), result.command_table(), result.span_table()


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


REASONS = ["gc", "wear", "rewrite", "reprogram", "scrub", "evacuate"]


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


def test_calls_that_are_not_overridden_are_not_made(monkeypatch):
    def never(*_):
        raise AssertionError("called")

    names = [name for name in CALLS if name != "write"]
    plain = {name: vars(ssdlab.Policy)[name] for name in names}

    class Writes(ssdlab.Policy):
        def write(self, dispatch, view):
            return "normal"

    # `Needs` was computed from the calls overridden at this moment.
    given = Writes().needs()
    assert given == Needs()
    for name in names:
        monkeypatch.setattr(ssdlab.Policy, name, never)
    assert run(Writes).status == "complete"
    assert plain["score"] is not never


class Told(ssdlab.Policy):
    """Keeps the arguments of its calls."""

    host_streams = 2
    moving = True

    def setup(self):
        self.kept = {}

    def _keep(self, call, argument, view):
        # The first 50 arguments of each call: a kept argument must not change during later calls.
        told = self.kept.setdefault(call, [])
        if len(told) < 50:
            told.append((argument, repr(argument), view.now))

    def write(self, dispatch, view):
        assert 0 <= dispatch.die < self.facts.die_count
        assert dispatch.units
        assert all(0 <= lpn < self.facts.user_units for lpn in dispatch.units)
        assert dispatch.waiting <= view.queued_write_pages
        assert 0 <= dispatch.others_idle < self.facts.die_count
        self._keep("write", dispatch, view)
        return "normal", 1

    def relocate(self, moving, view):
        assert moving.units
        assert moving.reason in REASONS
        self._keep("relocate", moving, view)
        return 0

    def placed(self, placed, view):
        assert view.place_of(placed.lpn) == placed.ppn
        assert view.unit_at(placed.ppn) == placed.lpn
        assert placed.ppn in range(*view.places_of(view.block_of(placed.ppn)))
        assert (placed.stream == 1) == (placed.reason == "host")
        self._keep("placed", placed, view)

    def score(self, candidate, view):
        assert view.block_valid(candidate.block) == candidate.valid
        assert view.block_mode(candidate.block) == candidate.mode
        assert view.least_valid(view.die_of(candidate.block), candidate.mode) == (candidate.block, candidate.valid)
        assert candidate.block in view.closed_blocks(view.die_of(candidate.block))
        self._keep("score", candidate, view)
        return candidate.invalid

    def erased(self, block, view):
        assert view.block_state(block) == "free"
        assert view.block_erases(block) > 0

    def idle(self, idle, view):
        assert view.channel_of(idle.die) == idle.channel
        assert idle.drive_for is None or view.commands_in_flight == 0
        self._keep("idle", idle, view)


def test_what_a_policy_is_told_is_so_and_stays_so():
    policy = Told()
    run(policy)
    assert set(policy.kept) == {"write", "relocate", "placed", "score", "idle"}
    for told in policy.kept.values():
        assert len(told) == 50
        assert len({id(argument) for argument, _, _ in told}) == 50
        assert [repr(argument) for argument, _, _ in told] == [shown for _, shown, _ in told]
        assert [now for _, _, now in told] == sorted(now for _, _, now in told)


def test_a_view_is_for_the_call():
    views = []

    class Looks(ssdlab.Policy):
        bits_per_unit = 2

        def write(self, dispatch, view):
            views.append(view)
            for wrong, error in [
                (lambda: view.free_blocks(4), IndexError),
                (lambda: view.place_of(-1), IndexError),
                (lambda: view.bits[self.facts.user_units], IndexError),
                (lambda: view.bits.__setitem__(0, 4), ValueError),
                (lambda: view.block_bytes[0], ValueError),
                (lambda: view.least_valid(0, "slow"), ValueError),
                (lambda: setattr(view, "now", 0), AttributeError),
                (lambda: setattr(dispatch, "die", 0), AttributeError),
            ]:
                with pytest.raises(error):
                    wrong()
            return "normal"

    run(Looks)
    with pytest.raises(RuntimeError, match="only while one of its methods is called"):
        _ = views[0].now


class Counting(ssdlab.Policy):
    """Counts the writes of each unit, up to 15, in its declared state."""

    bits_per_unit = 4
    bytes_per_block = 2

    def placed(self, placed, view):
        view.bits[placed.lpn] = min(15, view.bits[placed.lpn] + 1)
        view.block_bytes[view.block_of(placed.ppn)] = b"\x01\x02"

    def adopt(self, view):
        self.found = view.bits.used(), {view.block_bytes[block] for block in range(len(view.block_bytes))}


def test_what_is_declared_is_saved_and_reported(tmp_path):
    saved = tmp_path / "aged.state"
    first, second = Counting(), Counting()
    result = run(first, save=saved)
    assert first.found == ((), {b"\0\0"})
    assert result.summary["declared_state_bits_per_unit"] == 4
    assert result.summary["declared_state_bytes_per_block"] == 2
    run(second, load=saved)
    used, block_bytes = second.found
    assert block_bytes == {b"\0\0", b"\x01\x02"}
    assert used == tuple(sorted(used))
    assert {value for _, value in used} == set(range(1, max(value for _, value in used) + 1))
    # A policy of another name does not get the declared state.
    other = Counting()
    other.name = "other"
    assert run(other, load=saved).policy == "other"
    assert other.found == ((), {b"\0\0"})


#: Methods that a policy needs so that certain calls are made at all.
HELPED = {
    "lazy_erase": {"free_list": lambda self, level, lists, view: max(at for at, blocks in enumerate(lists) if blocks)},
    "free_list": {},
}


@pytest.mark.parametrize("call", [*CALLS, *QUESTIONS])
def test_an_exception_ends_the_run_with_file_and_line(call, tmp_path):
    def failing(self, *_):
        return 1 // 0  # here

    helped = {"erase": lambda self, collection, view: "shallow"} if call in HELPED else {}
    policy = type("Failing", (ssdlab.Policy,), {**helped, **HELPED.get(call, {}), call: failing})
    line = failing.__code__.co_firstlineno + 1
    saved = tmp_path / "aged.state"
    with pytest.raises(ssdlab.PolicyError) as caught:
        run(policy, save=saved)
    said = str(caught.value)
    assert f"{HERE}:{line}: " in said
    assert said.endswith("failing: ZeroDivisionError: integer division or modulo by zero")
    assert isinstance(caught.value, ssdlab.InputError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.__cause__.__traceback__ is not None
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("call", "answer", "words"),
    [
        ("write", None, "None: expected the name or the number of a write mode (normal, fast)"),
        ("write", "fsat", "unknown write mode `fsat`: expected one of normal, fast (did you mean `fast`?)"),
        ("write", 2, "write mode 2: expected 0..=1 (normal, fast)"),
        ("write", -1, "write mode -1: expected 0..=1"),
        ("write", True, "True: expected the name or the number"),
        ("write", ("fast", 3), "stream 3: expected 0..=0 (host_streams = 1)"),
        ("write", ("fast", "1"), "stream '1': expected the number of a host stream"),
        ("write", ("fast", 0, 0), "('fast', 0, 0): expected a write mode, or a write mode and a stream"),
        ("write", 1.0, "1.0: expected the name or the number"),
        ("relocate", "slow", "unknown write mode `slow`"),
        ("read_issued", "fast", "unknown read mode `fast`"),
        ("score", "high", "'high': expected a number"),
        ("score", float("nan"), "NaN: expected a number"),
        ("erase", "gentle", "unknown erase mode `gentle`: expected one of deep, shallow"),
        ("free_list", 7, "level 7: expected one with free blocks"),
        ("free_list", None, "None: expected the number of a level"),
        ("urgent", "now", "'now': expected a PageMove or None"),
        ("urgent", ssdlab.BlockMove(0), "BlockMove(block=0, reason='rewrite'): expected a PageMove or None"),
        ("idle", 5, "5: expected a PageMove, a BlockMove or None"),
        ("idle", ssdlab.BlockMove(128), "block 128: expected 0..=127"),
        ("idle", ssdlab.BlockMove(-1), "block -1: expected the number of a block"),
        ("idle", ssdlab.BlockMove(0, "host"), "reason `host`: expected one of gc, wear, rewrite"),
        ("idle", ssdlab.BlockMove(0, "rewrit"), "unknown reason `rewrit`"),
        ("forced", ssdlab.PageMove(10**6, 0, "fast"), "unit 1000000: expected 0..="),
        ("forced", ssdlab.PageMove(0, 10**6, "fast"), "place 1000000: expected 0..=2047"),
        ("drain", ssdlab.PageMove(0, 0, "fast", deadline=0.5), "0.5: expected a time in nanoseconds"),
        ("wake_at", "soon", "'soon': expected a time in nanoseconds since the run began, or None"),
        ("stats", [1], "[1]: expected a dictionary of names and numbers"),
        ("stats", {"a": float("inf")}, "a = inf: expected a finite number"),
        ("needs", Needs(host_streams=0), "0: expected at least 1"),
        ("needs", Needs(bits_per_unit=3), "3: expected 0, 1, 2, 4 or 8"),
        ("needs", Needs(bytes_per_block=256), "256: expected 0..=255"),
        ("needs", Needs(idle_after="5 parsecs"), "'5 parsecs': "),
        ("move_after", 0, "0: expected a time above zero"),
        ("move_after", "1ms", "1ms is too short for `normal`"),
        ("uses", ["normal", "quick"], "unknown write mode `quick`"),
        ("mode_of_old_data", 5, "write mode 5: expected 0..=1"),
    ],
)
def test_a_wrong_answer_ends_the_run_with_what_would_be_right(call, answer, words):
    def wrong(self, *_):
        return answer

    helped = {"erase": lambda self, collection, view: "shallow"} if call == "free_list" else {}
    policy = type("Mistaken", (ssdlab.Policy,), {**helped, call: wrong})
    with pytest.raises(ssdlab.PolicyError) as caught:
        run(policy)
    assert words in str(caught.value)
    assert "Mistaken" in str(caught.value)
    if call != "needs":
        assert f"{HERE}:{wrong.__code__.co_firstlineno}: Mistaken.{call}: " in str(caught.value)


def test_a_policy_that_cannot_be_called_is_refused_before_the_run():
    class Misshapen(ssdlab.Policy):
        def write(self, dispatch):
            return "normal"

        def Idle(self, idle, view):  # noqa: N802
            return None

        def relocated(self, moving, view):
            return "normal"

    with pytest.raises(ssdlab.PolicyError) as caught:
        run(Misshapen)
    first, second, third = sorted(str(caught.value).splitlines(), key=lambda line: "never" in line)
    assert (
        f"{HERE}:{Misshapen.write.__code__.co_firstlineno}: Misshapen.write: expected to be called as write(self, dispatch, view)"
        in first
    )
    assert "Misshapen.Idle: never called: did you mean `idle`?" in second
    assert "Misshapen.relocated: never called: did you mean `relocate`?" in third


@pytest.mark.parametrize("name", ["ofwar", "two words", "../results", ".hidden", "n" * 256])
def test_a_name_is_a_name_of_its_own(name):
    policy = ssdlab.Policy()
    policy.name = name
    with pytest.raises(ssdlab.PolicyError, match="expected"):
        run(policy)


def test_numbers_may_be_numpys():
    class Numbers(ssdlab.Policy):
        def write(self, dispatch, view):
            return np.int64(1), np.uint8(0)

        def score(self, candidate, view):
            return np.float32(candidate.invalid)

        def idle(self, idle, view):
            found = view.least_valid(np.int32(idle.die), np.int64(0))
            return None if found is None else ssdlab.BlockMove(np.int64(found[0]))

        def stats(self):
            return {"mean": np.float64(0.5)}

    assert run(Numbers).summary["policy_stats"] == {"mean": 0.5}


def test_a_policy_runs_until_the_state_is_steady():
    load = ssdlab.Workload.from_text("[w]\nrw=randwrite\nbs=4k\niodepth=8\ntime_based=1\nruntime=1d\nnorandommap=1\n")
    options = {"steady_state": True, "steady_round": "20s", "precondition": "steady"}
    member, copy = (ssdlab.run("tiny", load, policy, **options) for policy in ("all_fast", AllFast))
    assert content(copy) == content(member)
    assert copy.status == "complete"


@pytest.mark.parametrize("policy", [3, int, object()])
def test_something_else_is_no_policy(policy):
    with pytest.raises(ssdlab.InputError, match=r"ssdlab\.Policy"):
        run(policy)


def test_policies_are_compared_by_name_and_by_class(tmp_path):
    load = ssdlab.Workload.from_text(LOAD)
    comparison = ssdlab.compare("tiny", load, ["baseline", AllFast, SlcCache()])
    assert [result.policy for result in comparison.runs] == ["baseline", "AllFast", "SlcCache"]
    folder = comparison.save(tmp_path / "compared")
    assert (folder / "AllFast" / "drive.toml").read_text().startswith("# The run's policy was `AllFast`")
    assert ssdlab.load_comparison(folder).runs[1].policy == "AllFast"


def test_a_lifetime_is_not_for_a_policy_in_python(cli, job):
    with pytest.raises(ssdlab.InputError, match="a lifetime runs under a policy that comes with ssdlab"):
        ssdlab.lifetime("tiny", job, AllFast)
    with pytest.raises(ssdlab.InputError, match="--policy AllFast: a lifetime"):
        ssdlab.lifetime("tiny", job, AllFast())
    done = cli("lifetime", "tiny", job, "--policy", "mine.py:Mine")
    assert done.returncode == 2
    assert "mine.py:Mine: a lifetime runs under a policy that comes with ssdlab" in done.stderr


def test_ctrl_c_in_a_policy_ends_the_run_with_what_was_measured():
    class Slow(ssdlab.Policy):
        def setup(self):
            self.calls = 0

        def write(self, dispatch, view):
            self.calls += 1
            if self.calls == 500:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                time.sleep(60)
            return "normal"

    policy = Slow()
    began = time.monotonic()
    with pytest.raises(ssdlab.Interrupted) as caught:
        run(policy)
    assert time.monotonic() - began < 30
    assert caught.value.result.status == "partial"
    assert policy.calls == 500


MINE = """\
import ssdlab


class Mine(ssdlab.Policy):
    relocations_apart = True

    def write(self, dispatch, view):
        return "fast"
"""


def test_the_command_takes_a_file_and_a_class(cli, job, tmp_path):
    (tmp_path / "here" / "mine.py").write_text(MINE)
    whole = cli("run", "tiny", job, "--policy", "mine.py:Mine", "--json")
    assert whole.returncode == 0, whole.stderr
    assert '"policy": "Mine"' in whole.stdout
    assert cli("run", "tiny", job, "--policy", "mine.py", "--json").returncode == 0
    both = cli("compare", "tiny", job, "--policy", "baseline,mine.py:Mine")
    assert both.returncode == 0, both.stderr
    assert "Mine" in both.stdout


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (MINE.replace('"fast"', "1 / 0"), "Mine", "mine.py:8: Mine.write: ZeroDivisionError: division by zero"),
        (MINE.replace('"fast"', '"fats"'), "Mine", "mine.py:7: Mine.write: unknown write mode `fats`"),
        (
            MINE.replace("import ssdlab", "import ssdlab, nowhere"),
            "Mine",
            "mine.py:1: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (MINE.replace("return", "retrun"), "Mine", "mine.py:8: SyntaxError: "),
        (MINE + "raise SystemExit(0)\n", "Mine", "SystemExit: 0"),
        (MINE + "    def __init__(self):\n        raise SystemExit\n", "Mine", "Mine.__init__: SystemExit"),
        (MINE + "    idle_afer = '1ms'\n", "Mine", "Mine.idle_afer: never read: did you mean `idle_after`?"),
        (
            MINE + "    def setup(self):\n        pass\n    def __init__(self):\n        self.host_steams = 2\n",
            "Mine",
            "`host_streams`?",
        ),
        (MINE, "Nine", "mine.py: unknown policy `Nine`: expected one of Mine (did you mean `Mine`?)"),
        (MINE, "ssdlab", "mine.py: `ssdlab` is not a subclass of ssdlab.Policy"),
        ("import ssdlab\n", None, "mine.py: defines no subclass of ssdlab.Policy"),
        (MINE + "class Other(Mine): pass\n", None, "mine.py: defines Mine, Other: expected mine.py:CLASS"),
        (None, "Mine", "mine.py: no such file"),
    ],
)
def test_the_command_says_where_a_file_is_wrong(cli, job, tmp_path, text, name, words):
    file = tmp_path / "here" / "mine.py"
    if text is not None:
        file.write_text(text)
    at = "mine.py" if name is None else f"mine.py:{name}"
    done = cli("run", "tiny", job, "--policy", at, "--out", "results", "--save", "aged.state", "--log-commands", "log.csv")
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert {path.name for path in (tmp_path / "here").iterdir()} <= {"mine.py", "__pycache__"}


def test_ctrl_c_ends_the_command_with_what_was_measured(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "long.fio").write_text("[long]\nrw=randwrite\nbs=4k\niodepth=8\ntime_based=1\nruntime=10d\nnorandommap=1\n")
    command = [SSDLAB, "run", "tiny", "long.fio", "--policy", "mine.py:Mine", "--json"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    running.send_signal(signal.SIGINT)
    said, complaints = running.communicate(timeout=60)
    assert running.returncode == 130, complaints
    assert '"status": "partial"' in said


def test_the_example_does_what_it_says(examples, cli, tmp_path):
    load = tmp_path / "bursts.fio"
    load.write_text(LOAD + "[later]\nstonewall\nstartdelay=2\nrw=randread\nnumber_ios=10\n")
    file = examples / "policies" / "burst_fast.py"
    done = cli("run", "tiny", load, "--policy", f"{file}:BurstFast", "--precondition", "fill", "--json")
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout)["policy_stats"]
    assert stats["fast_pages"] > 1000
    assert stats["rewritten_pages"] > 100
