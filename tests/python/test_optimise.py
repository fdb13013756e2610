"""Searches: the front that they find, and what becomes of them when they are interrupted."""

from __future__ import annotations

import tomllib

import pytest

import ssdlab
from ssdlab.explore.cost import Cost, resources
from ssdlab.explore.goal import Constraint

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=1000\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job, in which the test works."""
    folder = tmp_path / "searches"
    folder.mkdir()
    (folder / "job.fio").write_text(JOB)
    monkeypatch.chdir(folder)
    return folder


def cost_of(**settings: object) -> dict[str, float]:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return resources(tomllib.loads(ssdlab.check("tiny", set=named)))


def test_resources_are_counted():
    none = dict.fromkeys(("buffer_mib", "page_buffer", "dram_mib", "core", "lane"), 0.0)
    assert cost_of() == {"die": 4, "channel": 2, **none}
    assert cost_of(flash__channels=8, flash__dies_per_chip=2) == {"die": 32, "channel": 8, **none}
    buffers = cost_of(
        buffer__policy="write_back",
        buffer__capacity="2MiB",
        buffer__flush_after="1ms",
        buffer__buffers=2,
        controller__dram={"kind": "ddr", "size": "64MiB"},
        controller__firmware={"kind": "cores", "count": 3},
        controller__page_buffers={"count": 4},
        host__interface={"kind": "nvme", "lanes": 8},
    )
    assert buffers == {"die": 4, "channel": 2, "buffer_mib": 2, "page_buffer": 8, "dram_mib": 128, "core": 3, "lane": 8}
    assert cost_of(host__interface={"kind": "sata"})["lane"] == 1


def test_a_sweep_has_the_cost_of_each_row(here):
    spec = {"drive": "tiny", "workload": "job.fio", "options": {"stop_after": 100}, "vary": {"flash.channels": [1, 2, 0]}}
    done = ssdlab.sweep(spec, "out", jobs=1)
    assert done.table["cost"].to_pylist() == [2.25, 4.5, None]
    dear = ssdlab.sweep({**spec, "cost": {"channel": 10, "die": 0}}, "dear", reuse=["out"])
    assert (dear.new, dear.reused) == (1, 2)
    assert dear.table["cost"].to_pylist() == [10, 20, None]
    own = ssdlab.sweep({**spec, "cost": {"formula": "flash.channels ** 2 + ftl.overprovisioning"}}, "own", reuse=["out"])
    assert own.table["cost"].to_pylist() == [1.2, 4.2, None]
    for cost, complaint in (
        ({"dies": 1}, r"cost.dies: unknown key.*did you mean `die`"),
        ({"die": -1}, r"cost.die: -1: expected a number of at least 0"),
        ({"formula": "1 +"}, r"cost.formula: .*expected a value"),
        ({"formula": "flash.chanels"}, r"cost.formula: .*flash.chanels: no such field"),
        ({"formula": "ftl.victim"}, r"cost.formula: .*expected a number"),
    ):
        with pytest.raises(ssdlab.InputError, match=complaint):
            ssdlab.sweep({**spec, "cost": cost}, "bad")
        assert not (here / "bad").exists()


def test_the_cost_is_the_sum_of_its_parts():
    document = tomllib.loads(ssdlab.check("tiny"))
    assert Cost(die=0.0, channel=0.0).of(document) == 0.0
    assert Cost(die=2.0, channel=3.0).of(document) == 14.0


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("a <= 2", 0.0),
        ("a < 2", 1e-12),
        ("a >= 4", 0.5),
        ("1 > a", 0.5),
        ("a * 2 <= max(a, 3)", 0.25),
        ("a <= 1KiB", 0.0),
    ],
)
def test_a_constraint_knows_by_how_much_it_is_violated(text, violation):
    assert Constraint.parse(text).violation({"a": 2}) == violation


@pytest.mark.parametrize("text", ["a", "a == 2", "1 < a < 3", "a < 1 and a > 0", "(a < 1)", "a <", "a in [1]"])
def test_a_constraint_is_one_comparison(text):
    with pytest.raises(ssdlab.InputError):
        Constraint.parse(text)
