"""Regions in which a published value comes out, and sensitivity to what is assumed."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from ssdlab.explore.statistics import Estimate
from ssdlab_papers import Setting
from ssdlab_papers.claim import number
from ssdlab_papers.regions import Open, Region, choice, claim_with_region, fixed_text, region
from ssdlab_papers.sensitivity import Assumed, indices, sensitivity
from ssdlab_papers.sweeps import over_seeds, samples

JOB = "[mixed]\nrw=randwrite\nbs=4k\niodepth=1\nnorandommap=1\nnumber_ios=100000\n"
DEPTH = Open(field="workload.iodepth", title="queue depth", choices={"choices": [1, 2, 4, 8]}, plausible=(1, 2), why="not stated")
CHANNELS = Open(
    field="flash.channels", title="channels", choices={"choices": [1, 2, 4]}, plausible=frozenset({2, 4}), why="not stated"
)


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return str(path)


@pytest.fixture
def setting(tmp_path):
    return Setting(runs=tmp_path / "runs", full=True)


def test_samples_are_in_the_order_of_the_points_with_every_seed(job, setting):
    setting.runs.mkdir()
    common = {"drive": "tiny", "workload": job, "precondition": "steady", "options.stop_after": 400}
    points = [{**common, "policy": policy} for policy in ("all_fast", "baseline", "all_fast")]
    fast, base, again = samples(setting, "few", points, seeds=3)
    assert fast.rows == again.rows
    assert [sorted(one.rows) for one in (fast, base)] == [[1, 2, 3]] * 2
    assert {row["policy"] for row in fast.rows.values()} == {"all_fast"}
    ratio = over_seeds(lambda one, other: one["latency.all.mean_ns"] / other["latency.all.mean_ns"], fast, base)
    by_hand = [fast.rows[seed]["latency.all.mean_ns"] / base.rows[seed]["latency.all.mean_ns"] for seed in (1, 2, 3)]
    assert ratio.count == 3
    assert ratio.mean == pytest.approx(sum(by_hand) / 3)
    assert fast.estimate(lambda row: row["commands.write"]).mean == pytest.approx(400, rel=0.05)


def test_a_search_finds_where_a_value_comes_out(job, setting):
    setting.runs.mkdir()
    found = region(
        setting,
        "iops",
        title="IOPS over those of one channel",
        quantity="throughput.iops / reference.throughput.iops",
        published=1.0,
        tolerance=0.2,
        parameters=[DEPTH, CHANNELS],
        trials=12,
        drive="tiny",
        workload=job,
        precondition="none",
        reference={"ftl.overprovisioning": 0.28},
        options={"stop_after": 200},
    )
    settings = {(row["workload.iodepth"], row["flash.channels"]) for row in found.rows}
    assert len(settings) == len(found.rows) > 6
    assert {depth for depth, _ in settings} == {1, 2, 4, 8}
    assert found.fixed.startswith("tiny, ")
    assert found.fixed.endswith("precondition none")
    # One of the searches is among plausible settings alone, and finds each of these few.
    plausible = {
        (depth, channels) for depth, channels in settings if DEPTH.is_plausible(depth) and CHANNELS.is_plausible(channels)
    }
    every = itertools.product(*(each.among_plausible()["choices"] for each in (DEPTH, CHANNELS)))
    assert plausible == {*every}
    assert all(row["off"] == abs(row["value"] - 1.0) for row in found.rows)
    assert found.hits
    assert len(found.table().rows) == len(settings)
    assert [sum(len(series.x) for series in picture.chart.series) for picture in found.pictures()] == [len(settings)] * 2
    assert {part.field for part in found.by_importance} == {"workload.iodepth", "flash.channels"}


def region_of(*rows: tuple[int, int, float]) -> Region:
    """Returns a region of trials: queue depth, channels, value."""
    given = tuple(
        {DEPTH.field: depth, CHANNELS.field: channels, "value": value, "off": abs(value - 0.4)} for depth, channels, value in rows
    )
    return Region("made", "gain", 0.4, 0.05, (DEPTH, CHANNELS), given, (DEPTH, CHANNELS))


def test_a_claim_holds_if_its_region_is_plausible():
    claim = number(Estimate(0, 0.1, None, None), 0.4, 0.05, work="W", where="f", what="w", unit=str, agrees=True)
    assert claim.verdict == "direction only"
    plausible = region_of((1, 2, 0.41), (8, 4, 0.1), (1, 4, 0.38), (2, 4, 0.1), (8, 2, 0.4))
    assert plausible.text == "in 2 of 3 plausible settings: queue depth 1 (of 1 to 2)"
    assert region_of((1, 2, 0.41), (2, 4, 0.38)).text == "in 2 of 2 plausible settings"
    assert claim_with_region(claim, plausible).verdict == "holds if"
    part = claim_with_region(claim, plausible, "on one load 0.4", "one load of the mean")
    assert (part.verdict, part.region) == ("direction only", "")
    assert part.note.startswith("on one load 0.4 comes out in 2 of 3 plausible settings")
    assert part.note.endswith(" (one load of the mean)")
    single = claim_with_region(claim, region_of((1, 2, 0.41), (8, 4, 0.1)))
    assert (single.verdict, single.note.endswith("in 1 of 1 plausible settings, which alone is no region")) == (
        "direction only",
        True,
    )
    implausible = region_of((8, 4, 0.41), (1, 2, 0.1))
    assert implausible.text == (
        "in none of 1 plausible settings (nearest 0.1 at queue depth 1, channels 2), and in 1 of 1 others: "
        "queue depth 8 (of 1 to 8); channels 4 (of 2 to 4)"
    )
    found = claim_with_region(claim, implausible)
    assert (found.verdict, "in none of 1 plausible" in found.note) == ("direction only", True)
    nowhere = region_of((8, 4, 0.9), (1, 2, 0.1))
    assert nowhere.text == "nowhere among 2 settings, 1 of them plausible; nearest 0.1 at queue depth 1, channels 2"
    held = replace(nowhere, fixed="tiny, a load, precondition fill")
    assert held.text.startswith("nowhere among 2 settings at tiny, a load, precondition fill, 1 of them plausible; ")
    assert "in none of 1 plausible settings at tiny (nearest" in replace(implausible, fixed="tiny").text
    assert claim_with_region(claim, nowhere).verdict == "direction only"
    met = replace(claim, ours=0.4)
    assert claim_with_region(met, nowhere) is met


def test_what_a_search_holds_fixed_is_what_it_does_not_vary():
    spec = {"drive": "tiny", "workload": "/traces/prxy_0.csv", "precondition": "fill", "set": {"flash.channels": 2}}
    assert fixed_text(spec, [DEPTH]) == "tiny, prxy_0, precondition fill"
    state = choice("precondition", "state", ("fill", "steady"), why="open")
    assert fixed_text(spec, [state], "a load") == "tiny, a load"
    # A single choice is no variation.
    only = choice("workload", "load", ("/traces/prxy_0.csv",), why="stated")
    assert fixed_text(spec, [only, state]) == "tiny, prxy_0"


def test_the_pictures_of_a_region_show_every_trial():
    found = region_of((1, 2, 0.41), (8, 4, 0.1), (8, 4, 0.39), (2, 4, 0.9), (8, 4, 0.7), (8, 4, 0.2))
    values, places = (picture.chart for picture in found.pictures())
    assert [one.name for one in values.series] == ["not plausible (3)", "plausible (1)", "published (2)"]
    points = [point for one in values.series for point in zip(one.x, one.y, strict=True)]
    assert sorted(points) == [(1, 0.41), (2, 0.9), (8, 0.1), (8, 0.2), (8, 0.39), (8, 0.7)]
    assert [mark.at for mark in values.marks] == [0.4]
    assert [one.name for one in places.series] == ["above (2)", "below (2)", "published (2)"]
    points = {point for one in places.series for point in zip(one.x, one.y, strict=True)}
    assert len(points) == 6
    # The four at one place stay nearer to it than to the neighbouring choices, half as deep and with two channels less.
    assert sum(4 * math.sqrt(2) < x < 8 * math.sqrt(2) and 3 < y < 5 for x, y in points) == 4
    assert {(1, 2), (2, 4)} < points
    # From the smallest value on: below, below, published, above.
    assert max(places.series[1].y) <= min(places.series[0].y)
    lone = Region("made", "gain", 0.4, 0.05, (DEPTH,), found.rows, (DEPTH,))
    assert len([*lone.pictures()]) == 1


def test_indices_are_those_of_the_closed_form():
    # The variance of a + 2 b + 0 c, of independent uniform numbers, is one part of a and four of b.
    rng = np.random.default_rng(3)
    shares = rng.random((128, 3))
    first, total, predicted = indices(shares, shares[:, 0] + 2 * shares[:, 1])
    assert first[0] == pytest.approx([0.2, 0.8, 0.0], abs=1e-9)
    assert total[0] == pytest.approx([0.2, 0.8, 0.0], abs=1e-9)
    assert predicted == pytest.approx(1.0)
    # A product of centred numbers has no index of the first order, and is all interaction.
    first, total, _ = indices(shares, (shares[:, 0] - 0.5) * (shares[:, 1] - 0.5))
    assert first[0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert total[0] == pytest.approx([1.0, 1.0, 0.0], abs=1e-9)
    # Noise is not predicted, and the bounds are wide.
    _, total, predicted = indices(shares, rng.random(128))
    assert predicted < 0.2
    assert (total[2] - total[1]).max() > 0.1
    assert not indices(shares, np.ones(128))[0].any()


def test_the_sensitivity_of_a_run_to_two_numbers(job, setting):
    setting.runs.mkdir()
    assumed = (
        Assumed(
            title="program [us]",
            standing="assumed",
            values=(300.0, 900.0),
            usual=600.0,
            fields=lambda value: {"flash.program_time": f"{round(1000 * value)}ns"},
        ),
        Assumed(
            title="erase [ms]",
            standing="recalled",
            values=(1, 2, 4),
            usual=2,
            fields=lambda value: {"flash.erase_time": f"{value}ms"},
        ),
    )
    found = sensitivity(
        setting,
        "times",
        title="mean latency [ms]",
        assumed=assumed,
        points=lambda fields: [{"drive": "tiny", "workload": job, "precondition": "none", "options.stop_after": 100, **fields}],
        quantity=lambda runs: runs[0].estimate(lambda row: row["latency.all.mean_ns"] / 1e6),
        draws=16,
    )
    low, high = found.ends[0]
    assert low.mean < found.usual.mean < high.mean
    assert found.ends[1][0].mean == pytest.approx(found.ends[1][1].mean)
    assert found.total[0][0] > 0.99
    assert found.predicted > 0.9
    assert "program [us] 1.00" in found.text
    assert len(found.table().rows) == 2
    assert math.isclose(found.picture().chart.marks[0].at, found.usual.mean)
