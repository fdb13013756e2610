"""Sessions: starting states that are kept, and the runs that begin with them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ssdlab
from ssdlab import _engine
from ssdlab.guest import Guest

LOAD = "examples/randwrite.fio"


def results(result: ssdlab.Result) -> dict[str, Any]:
    """Returns the summary of a run without the wall time."""
    return {key: value for key, value in result.summary.items() if key != "wall_s"}


class Plain(ssdlab.Policy):
    """Writes everything in the first mode, with two bits for each unit."""

    bits_per_unit = 2

    def write(self, dispatch: Any, view: Any) -> Any:
        return 0

    def relocate(self, moving: Any, view: Any) -> Any:
        return 0


def key(seed: int = 1, guest: type[ssdlab.Policy] | None = None, load: str | None = None, **setup: Any) -> str | None:
    drive = ssdlab.Drive.open("tiny")
    request = {"drive": {"name": drive.name, "text": drive.text}, "setup": {"seed": seed, **setup}}
    paths = {"workload": None, "text": "", "load": load, "save": None}
    made = None if guest is None else (Guest(guest).name, Guest(guest))
    return _engine.starting_state_key(json.dumps(request), paths, made)


def test_a_sweep_has_the_results_of_lone_runs():
    session = ssdlab.Session(limit="64MiB")
    points = [(kind, seed, method) for kind in ("fifo", "read_first") for seed in (1, 2) for method in ("fill", "steady")]
    for kind, seed, method in points:
        options: dict[str, Any] = {"precondition": method, "seed": seed, "stop_after": 500}
        options["set"] = {"flash.scheduler": kind}
        assert results(session.run("tiny", LOAD, **options)) == results(ssdlab.run("tiny", LOAD, **options))
    states = session.states
    assert (states.count, states.hits) == (4, 4), "one for each seed and method, whatever the scheduler"
    assert 0 < states.bytes <= states.limit == 64 << 20


def test_threads_share_the_states_of_a_session():
    session = ssdlab.Session(limit=1 << 30)
    first = results(session.run("tiny", LOAD, precondition="steady", stop_after=500))
    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(session.run, "tiny", LOAD, precondition="steady", stop_after=500) for _ in range(9)]
        assert all(results(run.result()) == first for run in runs)
    assert (session.states.count, session.states.hits) == (1, 9)


def test_a_policy_in_python_begins_with_a_kept_state():
    session = ssdlab.Session(limit="1GiB")
    alone = results(ssdlab.run("tiny", LOAD, Plain, precondition="fill", stop_after=300))
    for _ in range(2):
        assert results(session.run("tiny", LOAD, Plain, precondition="fill", stop_after=300)) == alone
    assert (session.states.count, session.states.hits) == (1, 1)


def test_states_give_way_within_the_limit():
    session = ssdlab.Session(limit="1GiB")
    session.run("tiny", LOAD, precondition="fill", stop_after=1)
    size = session.states.bytes
    narrow = ssdlab.Session(limit=2 * size)
    for seed in (1, 2, 3, 3, 1):
        narrow.run("tiny", LOAD, precondition="fill", seed=seed, stop_after=1)
    assert (narrow.states.count, narrow.states.hits) == (2, 1)
    for limit in (0, size - 1):
        none = ssdlab.Session(limit=limit)
        for _ in range(2):
            none.run("tiny", LOAD, precondition="fill", stop_after=1)
        assert none.states == ssdlab.StartingStates(count=0, hits=0, bytes=0, limit=limit)


def test_the_limit_is_a_size():
    assert ssdlab.Session(limit="1.5GiB").states.limit == 3 << 29
    assert ssdlab.Session().states.limit > 1 << 20, "a share of the memory"
    for wrong in ("much", "-1B", "12", -5):
        with pytest.raises(ssdlab.InputError, match=r"limit: .*expected a size such as"):
            ssdlab.Session(limit=wrong)


def test_the_key_of_a_starting_state_is_known_without_a_run(tmp_path):
    fill = {"precondition": "fill"}
    assert key(**fill) == key(**fill) == key(**fill, set=["flash.transfer_rate=800MT/s"])
    others = [key(2, **fill), key(precondition="steady"), key(**fill, policy="ofwar"), key(**fill, set=["state.age=1h"])]
    assert len({key(**fill), *others}) == 5
    assert key(**fill, guest=Plain) == key(**fill), "bits of its own are zero in a starting state"
    assert key(set=['ftl.translation={ kind = "waf" }']) is None
    saved = tmp_path / "drive.ssd"
    ssdlab.run("tiny", LOAD, stop_after=1, save=saved)
    assert key(load=str(saved)) is None
    with pytest.raises(ssdlab.InputError, match=r"flash\.channels"):
        key(set=["flash.channels=many"])
