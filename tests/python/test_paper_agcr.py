"""The AGCR experiment: exact tests of its helpers, and its pieces that take only seconds."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ssdlab.analyses import access
from ssdlab_papers import agcr
from ssdlab_papers.agcr import costs, figures, shares, why
from ssdlab_papers.agcr.loads import NAMES, OF_MSR, is_of_the_paper, length, loads, note_on
from ssdlab_papers.agcr.runs import POLICIES, RIVALS, Run
from ssdlab_papers.entry import Entry
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import KNOWN, MSR_VOLUMES, Load, Traces

pytestmark = pytest.mark.slow


def measured(**fields) -> Run:
    """A run with made-up numbers."""
    numbers = {"read_us": 100.0, "write_us": 600.0, "all_us": 350.0, "reads": 50, "writes": 50, "busy": 0.1}
    return Run(**(numbers | fields))


def look_alike(name: str) -> Load:
    load = Traces().load(name)
    assert load is not None
    return load


def test_a_run_is_taken_from_its_summary():
    counted = {"low_cost_reads": 3, "medium_cost_reads": 0, "high_cost_reads": 1, "rewrites_started": 2}
    counted |= {"low_cost_writes": 4, "medium_cost_writes": 4, "high_cost_writes": 8}
    latency = {
        "read": {"mean_ns": 70_000, "count": 4},
        "write": {"mean_ns": None, "count": 0},
        "all": {"mean_ns": 70_000, "count": 4},
    }
    run = Run.from_summary({"latency": latency, "policy_stats": counted, "utilisation": {"dies": 0.25}})
    assert (run.read_us, run.write_us, run.busy, run.accesses, run.rewritten) == (70.0, 0.0, 0.25, 20, 0.1)
    assert [run.share("reads", cost) for cost in ("low", "medium", "high")] == [0.75, 0.0, 0.25]
    assert run.share("writes", "high") == 0.5
    assert run.read_share == 1.0


def test_what_was_not_asked_for_has_no_ratio_and_no_share():
    run = measured(write_us=0.0, writes=0)
    assert (measured().over(run, "write"), run.over(measured(), "read"), run.share("reads", "low")) == (None, 1.0, None)


def test_the_second_pass_is_what_two_passes_have_more_than_one():
    first = measured(read_us=100.0, reads=10, write_us=800.0, writes=90)
    both = measured(read_us=70.0, reads=20, write_us=600.0, writes=180)
    twice = why.Twice(look_alike("hm_0"), first, both)
    assert (twice.second_us("read"), twice.second_us("write")) == (40.0, 400.0)
    assert why.Twice(look_alike("hm_0"), measured(reads=0), measured(reads=0)).second_us("read") is None


def test_loads_are_look_alikes_no_longer_than_what_they_were_fitted_to():
    used = loads(Setting())
    assert [load.name for load in used] == [*NAMES]
    assert len(used) == 12
    assert [load.name for load in loads(Setting(quick=True))] == ["hm_0", "prxy_0", "slideshow", "desktop"]
    assert all(length(Setting(), load) <= load.requests for load in used)
    assert [length(Setting(), look_alike(name)) for name in ("hm_0", "prxy_0", "telegram")] == [1_000, 20_000, 60_000]
    assert length(Setting(quick=True), look_alike("prxy_0")) == 8_000


def test_a_value_is_asserted_of_twelve_whole_volumes_only(tmp_path):
    assert not is_of_the_paper(Setting(), loads(Setting()))
    volumes = [Load(known=KNOWN[name], path=tmp_path, is_trace=True, requests=1_000_000) for name in MSR_VOLUMES]
    assert is_of_the_paper(Setting(), volumes[:12])
    assert not is_of_the_paper(Setting(), volumes[:11])
    assert not is_of_the_paper(Setting(quick=True), volumes[:12])
    assert not is_of_the_paper(Setting(), [*volumes[:12], look_alike("mail")])
    part = Load(known=KNOWN["hm_0"], path=tmp_path, is_trace=True, requests=1_000, differences=("a part",))
    assert not is_of_the_paper(Setting(), [part, *volumes[1:12]])


class Folder(Traces):
    """A user's folder that holds the named volumes, complete."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._names = names

    def find(self, name: str) -> Load | None:
        if name not in self._names:
            return None
        return Load(known=KNOWN[name], path=Path(name), is_trace=True, requests=5_000_000)


def test_a_user_with_as_many_volumes_as_the_paper_runs_nothing_else():
    few, many = (Setting(traces=Folder(*MSR_VOLUMES[:count])) for count in (11, 12))
    assert [load.name for load in loads(many)] == [*MSR_VOLUMES[:12]]
    assert {load.name for load in loads(few)} == {*MSR_VOLUMES[:11], *NAMES}
    assert [length(setting, loads(setting)[0]) for setting in (many, Setting(quick=True, traces=many.traces))] == [
        4_000_000,
        8_000,
    ]
    # The named loads among those that are run; if there are none, as many others.
    other = Setting(traces=Folder(*MSR_VOLUMES[-12:]))
    assert [load.name for load in why._chosen(many, ("hm_0", "mail"), ())] == ["hm_0"]
    assert [load.name for load in why._chosen(other, ("hm_0", "mail"), ())] == [*MSR_VOLUMES[-12:-10]]


def test_every_load_says_what_it_is():
    assert len(MSR_VOLUMES) == 36
    assert set(OF_MSR) & set(NAMES) == {"hm_0", "prxy_0", "rsrch_1", "msr_mixed", "msr_reads"}
    assert note_on(look_alike("hm_0")).startswith("other workload: look-alikes")
    assert note_on(look_alike("mail")).startswith("other workload: in place of the paper's volumes; look-alikes")


def case(**ours) -> figures.Case:
    """Returns a load whose runs are equal, except AGCR's."""
    runs = {policy: measured() for policy in POLICIES}
    return figures.Case(look_alike("prxy_0"), {**runs, "AGCR": measured(**ours)})


def verdicts(found) -> dict[str, str]:
    return {entry.what: entry.verdict for entry in found}


def test_cheaper_writes_are_asked_of_loads_that_overwrite():
    known = {"low": 80, "medium": 0, "high": 20}
    for write_us, verdict in ((590.0, "met"), (610.0, "missed")):
        found = verdicts(figures._mechanisms([case(write_us=write_us, page_writes=known)]))
        assert [
            value for what, value in found.items() if what.startswith("writes, loads that mostly write what they have acc")
        ] == [verdict]
    found = verdicts(figures._mechanisms([case(write_us=610.0, page_writes={"low": 20, "medium": 0, "high": 80})]))
    assert [what for what, verdict in found.items() if verdict == "shown"] == [
        "writes, loads that mostly write what they have not: AGCR over the rival, mean of prxy_0"
    ]


def test_cheaper_reads_are_asked_of_loads_that_read():
    def reads(read_us: float) -> list[str]:
        found = verdicts(figures._mechanisms([case(read_us=read_us, page_writes={"low": 1, "medium": 0, "high": 0})]))
        return [verdict for what, verdict in found.items() if what.startswith("reads")]

    # Verdicts over the rival whose old data is read at medium cost, and over the one whose old data is as AGCR's.
    assert (reads(99.0), reads(101.0), reads(103.0)) == (["met", "met"], ["missed", "met"], ["missed", "missed"])


def test_an_overload_stays_out_of_the_means():
    usual, flooded = case(all_us=175.0), case(all_us=3500.0)
    flooded.runs["MCW/MCR"] = measured(write_us=10_001.0)
    found = [*figures._figure_7([usual, flooded], whole=False)]
    assert [entry.ours for entry in found if entry.what.startswith("mean response of AGCR over the rival, mean")] == [-0.5, -0.5]
    (alone,) = [entry for entry in found if entry.what.endswith("prxy_0 (look-alike)")]
    assert alone.ours == 9.0
    # The note of a whole trace consists of the reason only.
    whole = figures.Case(dataclasses.replace(flooded.load, is_trace=True), flooded.runs)
    (alone,) = [entry for entry in figures._figure_7([usual, whole], whole=False) if entry.what.endswith("prxy_0")]
    assert alone.note == figures._OVERLOAD


def test_what_is_slower_than_the_default_says_why():
    for all_us, verdict, bursts in ((340.0, "met", False), (360.0, "missed", True)):
        over_default = next(iter(figures._figure_7([case(all_us=all_us)], whole=True)))
        assert (over_default.verdict, figures._BURSTS in over_default.note) == (verdict, bursts)


def test_lone_requests_cost_what_the_table_says():
    found = [*costs.entries()]
    assert [entry.verdict for entry in found] == ["met"] * 11 + ["shown"]
    assert [entry.shown for entry in found[-2:]] == ["4 MiB (2 bits for each page)", "8 MiB (4 bits for each page)"]
    relations = {entry.what.split(" over")[0]: entry.ours for entry in found if entry.where.startswith("figure 1")}
    assert relations["reads of HCW/LCR"] < 0.45 < 1.8 < relations["reads of LCW/HCR"]
    assert relations["writes of LCW/HCR"] < 0.8 < 1.25 < relations["writes of HCW/LCR"]


def test_a_look_alike_written_down_is_the_load(tmp_path):
    load = look_alike("hm_0")
    once = shares.written_down(load, 500, tmp_path / "hm_0.csv")
    found = access(once)
    assert (found.reads + found.writes, found.to_dict()) == (500, shares.accesses(load, 500).to_dict())
    both = access(why._again(once))
    assert (both.reads, both.writes, both.pages) == (2 * found.reads, 2 * found.writes, found.pages)


def test_who_overwrites_writes_cheaper_and_rewrites_little():
    load = look_alike("prxy_0")
    runs = {
        policy: agcr.figures.run(load.workload(4_000), policy) for policy in ("MCW/MCR", "LCW/HCR", "HCW/LCR", "AGCR", *RIVALS)
    }
    found = figures.Case(load, runs)
    assert found.over("LCW/HCR", "MCW/MCR", "write") < found.over("AGCR", "MCW/MCR", "write") < 1
    assert found.over("HCW/LCR", "MCW/MCR", "write") > 1
    assert found.over("AGCR", "rival", "write") < 0.8
    # One rival reads old data as cheaply as AGCR, the other at medium cost.
    assert found.over("AGCR", RIVALS[1], "read") < 0.6 < found.over("AGCR", RIVALS[0], "read")
    assert 0 <= found.runs["AGCR"].rewritten <= 0.01
    assert (found.overwrites, found.is_overload) == (True, False)


def test_a_burst_of_first_writes_is_cheaper_under_the_rival_until_they_are_known():
    load = look_alike("desktop")
    of = why._play_twice(load, 4_000, ("AGCR", "rival"))
    first = of["AGCR"].first.write_us / of["rival"].first.write_us
    second = [of[policy].second_us("write") for policy in ("AGCR", "rival")]
    assert second[0] / second[1] < 1 < first


def test_the_rest_of_a_page_hides_what_low_cost_writes_gain():
    found = [*why._partial_writes(Setting(quick=True))]
    assert [entry.verdict for entry in found] == ["met"]
    assert found[0].ours > 0.05


def test_figures_2_and_6_have_shares_curves_and_a_row_for_each_load():
    found = [*shares.entries(Setting(quick=True))]
    entries = [each for each in found if isinstance(each, Entry)]
    assert [entry.verdict for entry in entries] == ["shown", "shown", "met", "met", "met", "shown"]
    assert all(-0.01 <= entry.ours <= 1 for entry in entries)
    bars, curves, table = found[len(entries) :]
    for place in range(4):
        assert sum(series.y[place] for series in bars.chart.series) == pytest.approx(1.0)
    assert curves.chart.series[-1].y == sorted(curves.chart.series[-1].y)
    assert [len(row) for row in table.rows] == [len(table.columns)] * 4
