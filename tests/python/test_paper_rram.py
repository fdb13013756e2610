"""Chapter 3 of the SSDExplorer thesis: all-RRAM drives; and the places of the translation layer."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import ssdlab
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.ssdexplorer import placements
from ssdlab_papers.ssdexplorer.rram import breakdown, cases, chunks, distributions, pages
from ssdlab_papers.ssdexplorer.rram.cases import BYTES, DEPTHS, IOPS, MEAN, MLC, PAGES, QOS, RRAM, Found
from ssdlab_papers.ssdexplorer.runs import SPECS
from ssdlab_papers.sweeps import Points

#: Page with the lowest latency, by depth, as the thesis states it.
AS_STATED = {1: "1KiB", 2: "1KiB", 4: "1KiB", 8: "2KiB", 16: "2KiB", 32: "2KiB"}


def a_row(seed: int, depth: int, page: str, mean_us: float, **numbers: object) -> dict[str, object]:
    """Returns a point whose rate obeys depth = rate x latency."""
    iops = 1e6 * depth / mean_us
    parts = {"host": 10.6, "firmware": 2.0, "sense": 1.0, "transfer": BYTES[page] / 200.0, "bus_command": 0.4}
    causes = {"bus_wait": 0.5, "core_wait": 0.5, **parts}
    return {
        "seed": seed,
        "workload.iodepth": depth,
        "flash.page_size": page,
        MEAN: 1e3 * mean_us,
        cases.MEDIAN: 1e3 * mean_us,
        QOS: 2e3 * mean_us,
        "latency.read.max_ns": 3e3 * mean_us,
        IOPS: iops,
        cases.BANDWIDTH: iops * BYTES[page],
        "utilisation.channels": depth / 34.0,
        "utilisation.dies": 0.002 * depth,
        "utilisation.link_to_host": 0.9,
        "bottleneck.resource": "core_0",
        "bottleneck.utilisation": 0.9,
        **{f"causes.read.{name}": 1e3 * value for name, value in causes.items()},
        "causes.read.map": None,
        **numbers,
    }


def points(rows: list[dict[str, object]]) -> Points:
    made = Points.__new__(Points)
    made.rows = rows
    return made


def made_up(*, best: dict[int, str] | None = None, whole_us: float = 33.0) -> Found:
    """Returns runs in which these pages are the best by depth, and reads of 4 KiB take so long at depth 16."""
    optimum = best or AS_STATED
    of_pages, of_chunks = [], []
    for seed in (1, 2, 3):
        for depth in DEPTHS:
            for place, page in enumerate(PAGES):
                mean = 33.0 if page != "4KiB" or depth != 16 else whole_us
                of_pages.append(a_row(seed, depth, page, mean, **{"flash.read_time": RRAM}))
                distance = abs(place - PAGES.index(optimum[depth]))
                of_chunks.append(a_row(seed, depth, page, (1.0 + 0.1 * distance) * 2.0 * depth))
            slow = {"flash.read_time": MLC, "causes.read.sense": 40e3}
            of_pages.append(a_row(seed, depth, "4KiB", 76.0, **slow))
    overhead = [
        a_row(
            seed,
            16,
            "4KiB",
            40.0,
            **{
                "host.cpu.submission": f"{time}us",
                "controller.firmware.cycles.decode": 0,
                "causes.read.host": 2e3 * time,
                "causes.read.firmware": 60.0,
                "utilisation.channels": use,
            },
        )
        for seed in (1, 2, 3)
        for time, use in ((6, 0.44), (3, 0.52))
    ]
    return Found(pages=points(of_pages), chunks=points(of_chunks), overhead=points(overhead))


def claims_of(runs: Found) -> dict[str, Claim]:
    each = [*pages.entries(runs), *distributions._inputs(runs), *distributions._as_flash(runs)]
    each += [*breakdown.entries(runs), *chunks.entries(runs)]
    return {claim.what: claim for claim in each if isinstance(claim, Claim)}


def test_a_drive_that_did_as_stated_would_be_told():
    claims = claims_of(made_up())
    for depth in (2, 4, 16, 32):
        stated = cases.in_words(AS_STATED[depth])
        claim = claims[f"mean latency with pages of {stated} over that of the best other size, depth {depth}"]
        # Statements that rest on an input hold under a condition.
        assert claim.verdict == "holds if"
        assert "input" in claim.condition
    assert claims["mean latency with pages of 4 KiB over that with 256 B, depth 16"].verdict == "reproduced"
    assert claims["bandwidth with pages of 4 KiB over that with 256 B, depth 16"].verdict == "reproduced"
    other = claims_of(made_up(best={**AS_STATED, 16: "4KiB"}, whole_us=50.0))
    missed = other["mean latency with pages of 2 KiB over that of the best other size, depth 16"]
    assert (missed.verdict, missed.shown.split(":")[0]) == ("differs", "4 KiB")
    assert other["mean latency with pages of 4 KiB over that with 256 B, depth 16"].verdict == "differs"


def test_what_was_chosen_for_a_figure_is_an_input():
    inputs = {what for what, claim in claims_of(made_up()).items() if claim.verdict == "input"}
    assert inputs == {
        "99.99th percentile, 256 B, depth 1",
        "median, 256 B, depth 32",
        "mean latency, 4 KiB pages, depth 1",
        "page with the lowest mean latency and the highest bandwidth, depth 1",
        # Ratios of a stated rate and a stated array time.
        "transfer over tR, RRAM",
        "transfer over tR, 1X-MLC",
    }


def test_every_scored_claim_can_fail():
    scored = [claim for claim in claims_of(made_up()).values() if not claim.unscored]
    assert len(scored) >= 20
    for claim in scored:
        assert claim.low is not None
        assert claim.high is not None
        bounds = [(claim.low, -1.0), (claim.high, 1.0)]
        values = [bound + sign * 1e-6 for bound, sign in bounds if math.isfinite(bound)]
        assert values, claim.what
        for value in values:
            assert dataclasses.replace(claim, ours=value, agrees=False, region="").verdict == "differs", claim.what


def test_the_overhead_with_which_the_channels_are_used_as_stated():
    region, spread = pages._region(made_up())
    # The mean of 12.06 us, with which the channels are used to 44 %, and 6.06 us, with 52 %.
    assert region.startswith("an overhead of 9.1 us")
    assert "44 % at 12.1 us" in spread
    claim = claims_of(made_up())["use of the channels by reads of 4 KiB, depth 16 [%]"]
    assert (claim.verdict, claim.ours) == ("holds if", pytest.approx(100 * 16 / 34))


def test_a_tail_of_few_commands_is_not_shown():
    rows = made_up()
    short = Found(
        pages=points([{**row, QOS: None} for row in rows.pages.rows]),
        chunks=points([{**row, QOS: None} for row in rows.chunks.rows]),
        overhead=rows.overhead,
    )
    assert not [
        what for what in claims_of(short) if what.startswith("99.99th percentile with") or ("1X-MLC" in what and "99.99" in what)
    ]
    names = [each.name for each in chunks.entries(short) if isinstance(each, Picture)]
    assert "ssdexplorer-rram-chunks-mean" in names
    assert "ssdexplorer-rram-chunks-qos" not in names
    (table,) = [each for each in chunks.entries(short) if isinstance(each, Table)]
    assert {row[table.columns.index("p99.99 us")] for row in table.rows} == {None}


def test_a_distribution_ends_at_the_tail():
    curve = distributions.cumulative("a drive", np.arange(1.0, 100_001.0))
    assert (curve.y[0], curve.y[-1]) == (pytest.approx(0.0), pytest.approx(99.99))
    assert curve.x[-1] == 99_990.0
    assert [*curve.x] == sorted(curve.x)
    half = curve.y.index(min(curve.y, key=lambda share: abs(share - 50.0)))
    assert curve.x[half] == pytest.approx(50_000.0, rel=0.01)


def test_the_ledger_has_the_time_of_a_read():
    where = {"flash.page_size": "4KiB"}
    reads = str(SPECS / "reads.fio")
    done = ssdlab.run("rram-512g", reads, set=where, stop_after=2_000).summary
    parts = done["causes"]["read"]
    assert sum(parts.values()) == pytest.approx(done["latency"]["read"]["mean_ns"], rel=1e-9)
    # 4 KiB at 200 MT/s.
    assert parts["transfer"] == 20_480.0
    assert set(breakdown.STORAGE) <= parts.keys()


def placed(seed: int, place: str, load: placements.Load) -> dict[str, object]:
    counted = {"flash": 0.3, "static": 0.1, **({"dram": 0.6} if place == "drive" else {})}
    return {
        "seed": seed,
        **load.at(place),
        "latency.all.mean_ns": 60e3,
        "latency.all.p99_ns": 70e3,
        load.field: 5e8,
        "energy.mean_w": 2.0,
        **{f"energy.{part}_j": counted.get(part) for part in placements._PARTS},
        "bottleneck.resource": "die_12" if place == "drive" else "core_3",
        "bottleneck.utilisation": 0.8,
        "causes.all.sense": 50e3,
        "causes.all.decode": 10e3 * seed,
        "causes.all.map": None,
    }


def test_power_says_what_it_counts():
    load = placements.LOADS[0]
    runs = points([placed(seed, place, each) for seed in (1, 3) for place in placements.PLACES for each in placements.LOADS])
    total, flash, parts = placements._power(runs, load, "drive")
    assert (total.mean, flash.mean, parts) == (2.0, pytest.approx(0.6), ["flash", "dram", "static"])
    assert placements._power(runs, load, "host")[2] == ["flash", "static"]
    assert placements._bottleneck(runs, load, "host") == ("core", pytest.approx(0.8))
    claim = placements._answer(runs, load, "accelerator")
    assert (claim.verdict, claim.seeds) == ("shown", 2)
    assert "sense 50.0, decode 20.0;" in claim.note
    assert len(placements._table(runs).rows) == 12
    bars = {each.name: each.y for each in placements._picture(runs).chart.series}
    assert bars["decode"] == [pytest.approx(20.0)] * 3
    assert bars["others"] == [0] * 3


def test_the_interval_of_a_ratio_is_taken_seed_by_seed():
    rows = [a_row(seed, 1, page, us * seed) for seed in (1, 2) for page, us in (("256B", 2.0), ("4KiB", 3.0))]
    one = cases.ratio(points(rows), MEAN, {"flash.page_size": "4KiB"}, {"flash.page_size": "256B"})
    assert one == Estimate(2, pytest.approx(1.5), pytest.approx(1.5), pytest.approx(1.5))


@pytest.mark.slow
def test_chapter_3(tmp_path):
    runs = cases.measure(Setting(quick=True, runs=tmp_path))
    claims = claims_of(runs)
    assert claims["99.99th percentile, 256 B, depth 1"].ours == pytest.approx(15.9, abs=0.1)
    assert claims["median, 256 B, depth 32"].ours == pytest.approx(66.0, abs=0.2)
    assert claims["mean latency, 4 KiB pages, depth 1"].ours == pytest.approx(9.425, abs=0.02)
    assert claims["use of the channels by reads of 4 KiB, depth 16 [%]"].ours == pytest.approx(44.6, abs=0.5)
    # In short runs the link limits 1 to 4 KiB alike: a lead of less than 1 % is none.
    for depth in (16, 32):
        tied = claims[f"mean latency with pages of 2 KiB over that of the best other size, depth {depth}"]
        assert (tied.verdict, tied.shown.split(":")[0]) == ("differs", "2 KiB")
        assert 0.99 < tied.ours < 1.0
    assert claims["bandwidth with pages of 4 KiB over that of the best other size, depth 32"].verdict == "differs"
