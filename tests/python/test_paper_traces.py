"""Traces that experiments find by name, and the look-alikes that stand in for them."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

import ssdlab
from ssdlab_papers import Setting
from ssdlab_papers import traces as module
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import KNOWN, Traces

LOOK_ALIKES = sorted((Path(module.__file__).parent / "lookalikes").glob("*.toml"))
DAY = 86_400 * 10_000_000


def msr(path: Path, count: int, *, reads: int = 0, days: float = 7.0) -> Path:
    """Writes a trace in the format of MSR Cambridge over some days; its first `reads` requests are reads."""
    step = round(days * DAY / max(count - 1, 1))
    lines = [
        f"{128_166_372_000_000_000 + index * step},hm,0,{'Read' if index < reads else 'Write'},{index * 4096},4096,100"
        for index in range(count)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("trace", "file", "expected"),
    [
        ("hm_0", "hm_0.csv.gz", True),
        ("hm_0", "MSR-Cambridge_HM_0.csv", True),
        ("hm_0", "hm_01.csv", False),
        ("hm_0", "ahm_0.csv", False),
        ("prxy_1", "prxy_0.csv", False),
        ("src1_2", "src1_2.csv", True),
        ("financial1", "Financial1.spc.gz", True),
        ("financial1", "Financial10.spc", False),
        ("financial2", "financial_2.spc", True),
        ("iozone", "ssd-iozone-aligned2-100K.trace.zst", True),
        ("tpc_c", "tpc-c.csv", True),
        ("tpc_c", "small-tpch.csv", False),
    ],
)
def test_a_trace_is_known_by_its_file_name(trace, file, expected):
    assert KNOWN[trace].matches(Path(file)) is expected


def set_request_count(monkeypatch, count: int) -> None:
    """Sets the number of requests that the whole `hm_0` is known to have."""
    monkeypatch.setitem(KNOWN, "hm_0", dataclasses.replace(KNOWN["hm_0"], requests=count))


def test_a_trace_of_its_length_its_week_and_its_share_of_writes_is_whole(tmp_path, monkeypatch):
    set_request_count(monkeypatch, 1000)
    msr(tmp_path / "hm_0.csv", 1000, reads=355)
    found = Traces(tmp_path).find("hm_0")
    assert found is not None
    assert (found.is_whole, found.requests, found.note, found.title) == (True, 1000, "", "MSR Cambridge hm_0")


def test_what_differs_from_the_whole_trace_is_said(tmp_path, monkeypatch):
    set_request_count(monkeypatch, 1000)
    msr(tmp_path / "hm_0.csv", 1000, reads=500, days=3.5)
    found = Traces(tmp_path).find("hm_0")
    assert found is not None
    assert found.differences == ("3.5 days of 7", "50.0% writes, not 64.5%")
    assert not found.is_whole
    assert found.note == "other workload: hm_0.csv is not the whole trace (3.5 days of 7; 50.0% writes, not 64.5%)"
    assert found.title == "MSR Cambridge hm_0 (part)"


@pytest.mark.parametrize(("count", "whole"), [(1991, True), (2000, True), (2009, True), (1989, False), (2011, False)])
def test_a_count_may_be_off_by_half_a_percent(count, whole):
    known = dataclasses.replace(KNOWN["iozone"], requests=2000, writes=None)
    info = {"requests": count, "writes": count, "span_ns": 1}
    assert (known.differences(info) == ()) is whole


@pytest.mark.parametrize(("writes", "whole"), [(626, True), (664, True), (624, False), (666, False)])
def test_a_share_of_writes_may_be_off_by_two_points(writes, whole):
    info = {"requests": 3_993_316, "writes": 3993 * writes, "span_ns": 6.8 * 86_400e9}
    assert (KNOWN["hm_0"].differences(info) == ()) is whole


def test_a_fragment_of_the_right_span_is_not_whole():
    fragment = {"requests": 1000, "writes": 645, "span_ns": 6.9 * 86_400e9}
    assert KNOWN["hm_0"].differences(fragment) == ("1,000 requests of 3,993,316",)
    assert KNOWN["tpc_c"].differences(fragment | {"span_ns": 86_400e9}) == ("how many requests it has is not known here",)
    assert all(KNOWN[volume].requests for volume in module.MSR_VOLUMES)


def test_of_several_files_the_whole_one_is_taken_else_the_largest(tmp_path, monkeypatch):
    set_request_count(monkeypatch, 200)
    deeper = tmp_path / "deeper"
    deeper.mkdir()
    msr(tmp_path / "hm_0.first.csv", 400, reads=142, days=1)
    msr(tmp_path / "hm_0.long.csv", 900, reads=320, days=2)
    (tmp_path / "hm_0.md").write_text("not a trace")
    found = Traces(tmp_path).find("hm_0")
    assert found is not None
    assert found.path.name == "hm_0.long.csv"
    msr(deeper / "hm_0.csv", 200, reads=71)
    found = Traces(tmp_path).find("hm_0")
    assert found is not None
    assert found.path == deeper / "hm_0.csv"
    assert found.is_whole


def test_a_trace_is_played_again_until_there_are_enough_requests(tmp_path):
    msr(tmp_path / "hm_0.csv", 100, reads=35)
    found = Traces(tmp_path).load("hm_0")
    assert found is not None
    summary = ssdlab.run("tiny", found.workload(250, time_scale=1000.0)).summary
    assert sum(summary["commands"].values()) == 300
    summary = ssdlab.run("tiny", found.workload(60, time_scale=1000.0)).summary
    assert sum(summary["commands"].values()) == 60
    whole = found.workload()
    assert (whole.repeat, whole.max_requests, whole.address, whole.replay) == (1, None, "compact", "open")
    assert found.workload(50, address="wrap", replay="gaps").address == "wrap"


def test_no_more_is_played_than_a_load_allows(tmp_path):
    msr(tmp_path / "hm_0.csv", 100, reads=35)
    for load in (Traces(tmp_path).load("hm_0"), Traces().load("telegram")):
        assert load is not None
        few = dataclasses.replace(load, at_most=30)
        for asked, played in ((None, 30), (20, 20), (250, 30)):
            workload = few.workload(asked, time_scale=1000.0)
            assert (workload.max_requests or tomllib.loads(workload.text or "")["requests"]) == played
            assert workload.repeat in (None, 1)


def test_without_a_file_there_is_a_look_alike_or_nothing():
    load = Traces().load("iozone")
    assert load is not None
    assert (load.is_trace, load.is_whole, load.requests, load.title) == (False, False, 100_000, "IOzone (look-alike)")
    assert load.note.startswith("other workload: look-alikes")
    assert Traces().find("iozone") is None
    assert Traces().load("financial2") is None


def test_a_look_alike_takes_a_length_and_a_speed():
    load = Traces().load("telegram")
    assert load is not None
    model = tomllib.loads(load.workload(1_000, time_scale=2.5).text or "")
    assert (model["requests"], model["speed"]) == (1_000, 2.5)
    assert tomllib.loads(load.workload().text or "")["requests"] == load.requests
    with pytest.raises(ssdlab.InputError, match=r"telegram.toml: a look-alike is played as it is: no slice"):
        load.workload(10, slice="0..5")
    model = tomllib.loads(load.workload(10, replay="gaps", address="wrap").text or "")
    assert (model["replay"], model["address"], model["requests"]) == ("gaps", "wrap", 10)


@pytest.mark.parametrize("given", [{}, {"replay": "gaps", "address": "wrap"}], ids=["as it is", "gaps, wrapped"])
def test_the_fields_of_a_point_are_the_same_workload(tmp_path, given):
    msr(tmp_path / "hm_0.csv", 60)
    for load in (Traces(tmp_path).load("hm_0"), Traces().load("telegram")):
        (sample,) = samples(
            Setting(quick=True), "one", [{"drive": "ofwar-64g", "precondition": "none", **load.fields(100, 2.0, **given)}]
        )
        done = ssdlab.run("ofwar-64g", load.workload(100, 2.0, **given), precondition="none").summary
        row = sample.rows[1]
        assert (row["simulated_ns"], row["commands.write"]) == (done["simulated_ns"], done["commands"]["write"])
        assert row["latency.all.mean_ns"] == pytest.approx(done["latency"]["all"]["mean_ns"])


def test_bad_input_says_what_would_be_right(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ssdlab.InputError, match=r"file: a file: expected a folder"):
        Traces(file)
    with pytest.raises(ssdlab.InputError, match=r"nowhere: no such folder: expected a folder"):
        Traces(tmp_path / "nowhere")
    with pytest.raises(ssdlab.InputError, match=r"unknown trace `hm_2`.*did you mean `hm_1`"):
        Traces().find("hm_2")
    (tmp_path / "iozone.trace").write_text("not a trace at all\n")
    with pytest.raises(ssdlab.InputError, match=r"iozone\.trace"):
        Traces(tmp_path).find("iozone")


@pytest.mark.parametrize("path", LOOK_ALIKES, ids=lambda path: path.stem)
def test_every_look_alike_that_comes_along_is_known_and_runs(path):
    load = Traces().load(path.stem)
    assert load is not None
    assert load.requests == tomllib.loads(path.read_text())["requests"]
    summary = ssdlab.run("ofwar-64g", load.workload(300)).summary
    assert sum(summary["commands"].values()) == 300


def test_the_examples_are_those_that_come_along(examples):
    names = {"iozone": "iozone", "financial": "financial1", "prxy": "prxy_0", "telegram": "telegram"}
    by_name = {path.stem: path.read_text() for path in LOOK_ALIKES}
    for name, ours in names.items():
        # An example names its schema, for editors.
        first, _, rest = (examples / f"{name}-like.toml").read_text().partition("\n")
        assert (first, rest) == ("#:schema workload.schema.json", by_name[ours])
