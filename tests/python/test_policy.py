"""Policies in Python: the contract, invalid answers, exceptions, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from members import AllFast, SlcCache
from policy_drive import LOAD, REASONS, content, run
from ssdlab import policy_file
from ssdlab.policy import CALLS, QUESTIONS, Needs

HERE = Path(__file__).name


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


@pytest.mark.slow
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
    with pytest.raises(ssdlab.InputError, match="policy AllFast: a lifetime"):
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


def test_a_policy_that_splits_what_is_collected_lowers_write_amplification(examples):
    """The example splits by a counter of four bits; the other policy knows which data is hot."""

    class Known(ssdlab.Policy):
        relocation_streams = 2

        def relocate(self, moving, view):
            (unit,) = moving.units
            return "normal", int(unit >= self.facts.user_units // 10)

    sets = {"ftl.overprovisioning": 0.15, "flash.blocks_per_plane": 128}
    counter = policy_file.policy_of(f"{examples / 'policies' / 'hot_cold.py'}:HotCold")
    policies = ["baseline", counter, Known]
    runs = [
        ssdlab.run("tiny", examples / "hot_cold.fio", policy, precondition="steady", set=sets, stop_after=50_000)
        for policy in policies
    ]
    baseline, learned, known = (run.write_amplification for run in runs)
    assert learned < 0.97 * baseline
    assert known < 0.88 * baseline
    # A policy that only places data did something, and is not told that it had no occasion.
    assert not [note for run in runs for note in run.notes if "no occasion" in note]


@pytest.mark.parametrize(
    ("streams", "answer", "complaint"),
    [
        (2, ("normal", 2), "stream 2: expected 0..=1 (relocation_streams = 2)"),
        (0, ("normal", 1), "stream 1: expected 0, as relocation_streams = 0"),
        (2, ("normal", "1"), "expected the number of a relocation stream"),
        (2, ("normal", 1, 1), "expected a write mode, or a write mode and a stream"),
    ],
)
def test_a_stream_that_was_not_declared_is_refused(examples, streams, answer, complaint):
    class Wrong(ssdlab.Policy):
        relocation_streams = streams

        def relocate(self, moving, view):
            return answer

    with pytest.raises(ssdlab.PolicyError, match="relocate") as raised:
        ssdlab.run("tiny", examples / "randwrite.fio", Wrong, precondition="steady", stop_after=2000)
    assert complaint in str(raised.value)


def test_a_policy_that_did_nothing_is_told_so(examples):
    class Idle(ssdlab.Policy):
        host_streams = 2

    class Placing(Idle):
        def write(self, dispatch, view):
            return "normal", 1

    run = ssdlab.run("tiny", examples / "randwrite.fio", Idle, stop_after=200)
    assert [note for note in run.notes if "the load gave it no occasion" in note]
    run = ssdlab.run("tiny", examples / "randwrite.fio", Placing, stop_after=200)
    assert not [note for note in run.notes if "no occasion" in note]


@pytest.mark.parametrize("call", [20, 100])
def test_a_call_that_raises_keyboard_interrupt_is_no_answer(call: int):
    class Fast(ssdlab.Policy):
        def setup(self):
            self.calls = 0

        def write(self, dispatch, view):
            self.calls += 1
            if self.calls == call:
                raise KeyboardInterrupt
            return "fast"

    policy = Fast()
    with pytest.raises(ssdlab.Interrupted) as caught:
        run(policy, stop_after=300)
    result = caught.value.result
    assert (result.status, policy.calls) == ("partial", call)
    assert any("`write` was interrupted and did not return" in note and "had the default answer" in note for note in result.notes)


def test_statistics_that_raise_keyboard_interrupt_end_no_complete_run():
    class Counted(ssdlab.Policy):
        def stats(self):
            raise KeyboardInterrupt

    with pytest.raises(ssdlab.Interrupted) as caught:
        run(Counted())
    assert caught.value.result.status == "partial"
