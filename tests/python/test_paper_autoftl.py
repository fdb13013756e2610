"""The autoFTL experiment: its loads, the values taken from a run, and verdicts that can fail."""

from dataclasses import replace

import pytest

from ssdlab_papers.autoftl import checks, gaps, results, runs
from ssdlab_papers.autoftl.results import Found
from ssdlab_papers.autoftl.runs import ENTERPRISE, MOBILE, Case, Life, Replay, cases, live, replay
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Traces

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def download() -> Case:
    load = Traces().load("download")
    assert load is not None
    return Case(MOBILE, load, 1.0)


@pytest.fixture(scope="module")
def lives(download: Case) -> dict[str, Life]:
    return {policy: live(download, policy) for policy in runs.POLICIES}


def a_life(max_pe: float, shares: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 1.0), slow: float = 0.0, lazy: float = 0.0) -> Life:
    erases = {f"ev{index}": share * (1 - slow) for index, share in enumerate(shares)}
    erases |= {f"ev{index}_slow": share * slow for index, share in enumerate(shares)}
    return Life(max_pe=max_pe, erases=erases, lazy=lazy, amplification=1.0, steady=True)


def found(case: Case, with_slow: float, without: float, level: int = 4, lazy: float = 0.0) -> Found:
    calm = Replay(throughput=1e8, delay_ns=0.0, bytes_written=1)
    shares = tuple(float(index == level) for index in range(5))
    lives = {"autoftl": a_life(with_slow, shares, 0.9, lazy), "autoftl_minus": a_life(without, shares)}
    return Found(case, lives, {"baseline": calm, "autoftl": calm})


def test_what_is_run_stands_in_for_what_is_not_there():
    used = cases(Setting())
    assert {case.on for case in used} == {ENTERPRISE, MOBILE}
    assert not any(case.load.is_trace for case in used)
    assert len(used) == 9
    assert len(cases(Setting(quick=True))) == 3
    model = used[0].workload(5).text or ""
    assert 'replay = "gaps"' in model
    assert 'address = "wrap"' in model
    assert "speed = 100.0" in model


def test_lives_of_a_phone(download: Case, lives: dict[str, Life]):
    full, minus = lives["autoftl"], lives["autoftl_minus"]
    # The wear of an erase lies between that of the slow EV4 and the nominal one.
    assert 1.0 < minus.max_pe < full.max_pe < 1.93
    assert full.slow > 0.5
    assert minus.slow == 0.0
    assert sum(full.at_level(level) for level in runs.LEVELS) == pytest.approx(1.0)
    assert all(life.steady for life in lives.values())


def test_slow_erases_are_those_of_the_background(download: Case):
    life = checks.lives(Setting(quick=True))["without background"]()
    assert checks._without_background(download, life).verdict == "met"


def test_a_replay_keeps_its_gaps(download: Case):
    ours, base = (replay(download, policy, 2_000) for policy in ("autoftl", "baseline"))
    assert ours.bytes_written == base.bytes_written > 0
    # Half of the drive's time is idle: slow programs do not show in the throughput.
    assert ours.throughput == pytest.approx(base.throughput, rel=0.01)


def test_gaps_of_a_load(download: Case):
    shares = gaps.bins(download)
    assert sum(shares) == pytest.approx(1.0)
    hurried = gaps.bins(Case(MOBILE, download.load, 100.0))
    assert hurried[0] > shares[0] + 0.2


def test_verdicts_can_go_wrong(download: Case):
    faster = replace(download, speed=2.0)

    def verdicts(*measured: Found) -> list[str]:
        return [entry.verdict for entry in results._mechanisms(measured)]

    assert verdicts(found(download, 1.9, 1.7, 4), found(faster, 1.5, 1.4, 1)) == ["met"] * 4
    # All four fail: the faster replay gains more, at higher voltages, with lazy erases, and slow erases gain nothing.
    assert verdicts(found(download, 1.4, 1.4, 4), found(faster, 1.9, 1.9, 1, lazy=0.5)) == ["missed"] * 4


def test_table_2_is_reproduced():
    assert [checks.buffer_pages(on) for on in (ENTERPRISE, MOBILE)] == [4096, 10]
    assert checks._of_an_erase("table 2", MOBILE, 200).verdict == "met"
    assert all(checks._of_an_erase(on.name, on, checks.buffer_pages(on)).verdict == "met" for on in (ENTERPRISE, MOBILE))
    assert checks._of_an_erase("table 2", MOBILE, 150).verdict == "missed"
