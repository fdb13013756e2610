"""The one budget: tables that close, figures computed as documented, verdicts that can fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

import ssdlab
import ssdlab_papers
from ssdlab.explore.rows import flat
from ssdlab_papers.budget import errors, front, results, runs, tables, unscored
from ssdlab_papers.budget.results import Board, Boards, Found
from ssdlab_papers.budget.runs import BASELINE, COLUMNS, CONTENDERS, SECONDARY, Busy, Drives, Run
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, samples
from ssdlab_papers.traces import Load, Traces

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def load():
    found = Traces().load("financial1")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def drives(tmp_path_factory) -> Drives:
    return Drives(tmp_path_factory.mktemp("drives"))


def measured(drives: Drives, load: Load, wear: float, *names: str, speed: float = 200.0) -> list[Run]:
    """Returns runs of contenders with the first seed."""
    named = {contender.name: contender for contender in CONTENDERS}
    load = dataclasses.replace(load, at_most=40_000)
    points = [runs.point(drives, named[name], load, speed, wear) for name in names]
    found = samples(Setting(quick=True), "test", points, columns=COLUMNS)
    return [Run.from_row(sample.rows[1], runs.wears_of(named[name], wear)) for name, sample in zip(names, found, strict=True)]


def a_run(**fields: float) -> Run:
    plain = {
        "tail_ns": 1e6,
        "mean_ns": 1e5,
        "wear": 0.02,
        "wear_per_erase": 1.0,
        "programs": 2.0,
        "erased": 1.0,
        "utilisation": 0.5,
        "joule_per_gb": 20.0,
    }
    return Run(**(plain | fields))


def test_the_window_is_spent_once():
    # With a worn cell, the normal step leaves no margin for a gentler erase; a slower program or a younger cell does.
    at_end = [tables.gentlest(tables.RATED, slower) for slower in tables.GENTLE]
    assert at_end[0] == pytest.approx(0.0, abs=1e-3)
    assert 0.1 < at_end[1] < at_end[2] < tables.gentlest(5000, 2.0) <= 1.061
    assert tables.wear_of(0.0, slow=False) == 1.0
    assert tables.wear_of(1.0606, slow=False) == pytest.approx(0.46, abs=0.001)
    assert tables.wear_of(1.0606, slow=True) == pytest.approx(0.45, abs=0.001)


def test_every_mode_is_derived_and_every_combination_closes():
    for wear in (0.0, 1.0):
        text = runs.resolved_drive("all", wear).text
        for contender in CONTENDERS:
            if contender.table == "all":
                settings = {"policy.kind": contender.policy, **contender.settings}
                assert ssdlab.check(ssdlab.Drive.from_text(text), set=settings)
    modes = ssdlab.describe(runs.resolved_drive("all", 1.0))["write_modes"]
    times = {mode["name"]: mode["program_ns"] for mode in modes}
    # At the rated wear, the full promise allows no step wider than the normal one; a short promise or softer sensing
    # does.
    assert times["full_quick_0"] == pytest.approx(times["normal"], rel=1e-3)
    assert times["fast"] < 0.65 * times["normal"]
    assert times["short_slow_0"] < times["full_slow_0"] < times["full_quick_0"] < times["full_quick_2"]


def test_a_contender_is_run_on_its_modes(load, drives):
    base, gentle, slow = measured(drives, load, 0.5, "baseline", "autoftl_minus", "autoftl")
    # Slow erases wear less than fast ones of the same depth.
    assert slow.wear_per_erase < gentle.wear_per_erase
    assert base.wear_per_erase == 1.0
    assert 0.4 < gentle.wear_per_erase < 0.8
    assert gentle.wear < base.wear
    assert base.tail_ns > base.mean_ns


def test_large_requests_are_fewer():
    most = {load.name: load.at_most for load in runs.loads(Setting())}
    assert (most["postmark"], most["copy"], most["telegram"]) == (20_000, 20_000, None)
    assert set(most) == set(runs.LOADS)


def test_one_bit_per_cell_and_weak_codes_are_on_the_same_drive(load, drives):
    base, cached, relaxed, rival = measured(drives, load, 0.0, "baseline", "slc_cache", "rr_ecc", "bch_ldpc")
    # Cached data is written fast, fills blocks of half the pages, and is written again.
    assert cached.mean_ns < base.mean_ns
    assert (cached.programs, cached.wear) > (base.programs, 1.2 * base.wear)
    # The strong code is the bottleneck unless it is used only for data that outlives the weak code.
    assert relaxed.mean_ns < 1.1 * base.mean_ns < 0.5 * rival.mean_ns
    modes = {mode["name"]: mode for mode in ssdlab.describe(runs.resolved_drive("codes", 0.0))["write_modes"]}
    assert modes["fast"]["program_ns"] == modes["normal"]["program_ns"]
    assert 0 < modes["fast"]["retention_ns"] < 0.5 * modes["normal"]["retention_ns"]


def test_a_run_without_an_erase_wears_less_than_one_would():
    summary = {
        "latency": {"all": {"p99_99_ns": None, "max_ns": 7, "mean_ns": 5.0}},
        "host_units_written": 100,
        "modes": {"erase": {"nominal": 0, "ev1": 0}},
        "flash": {
            "programs": dict.fromkeys(("host", "rmw", "gc", "wear", "rewrite", "reprogram", "map", "padding", "journal"), 0)
        },
        "utilisation": {"dies_writing": 0.1},
        "energy": {"per_host_byte_j": 2e-8},
    }
    summary["flash"]["programs"]["host"] = 100
    quiet = Run.from_row(dict(flat(summary, "")), {"nominal": 1.0, "ev1": 0.5})
    assert (quiet.wear, quiet.wear_per_erase, quiet.tail_ns, quiet.erased) == (0.0025, 1.0, 7.0, 0.0)
    assert quiet.joule_per_gb == pytest.approx(20.0)
    summary["modes"]["erase"]["ev1"] = 4
    worn = Run.from_row(dict(flat(summary, "")), {"nominal": 1.0, "ev1": 0.5})
    assert (worn.wear, worn.erased) == (0.02, 2.56)


def test_a_load_on_which_nothing_can_be_compared_is_left_out(load, monkeypatch):
    assert Busy(load, 1.0, a_run()).unfit == ""
    for fields, why in (
        ({"mean_ns": 999.0}, "nothing waits"),
        ({"tail_ns": 0.0}, "nothing waits"),
        ({"erased": 0.4}, "wears none"),
    ):
        assert why in Busy(load, 1.0, a_run(**fields)).unfit
    quiet = dataclasses.replace(load, known=dataclasses.replace(load.known, name="quiet", title="Quiet"))
    bases = {"quiet": a_run(mean_ns=0.0), load.name: a_run()}
    monkeypatch.setattr(results, "busy", lambda _, __, of: [Busy(each, 3.0, bases[each.name]) for each in of])
    fit, unfit = results.at_speed(Setting(), Drives(Path()), [quiet, load])
    assert ([on.load.name for on in fit], [on.load.name for on in unfit]) == ([load.name], ["quiet"])
    monkeypatch.setattr(results, "loads", lambda _: [quiet])
    (said,) = results.entries(Setting())
    assert said.what == "Quiet (look-alike): the write buffer takes nearly all at once, and nothing waits"


def test_what_waits_for_nothing_is_as_fast_as_can_be_told(load):
    found = Found(CONTENDERS[1], Busy(load, 1.0, a_run()), 0.0, a_run(mean_ns=0.0, tail_ns=0.0), a_run())
    assert (found.mean, found.tail) == (0.01, 0.001)


def board(load, **tweaks: dict[str, float]) -> Board:
    """Returns a board on which every contender equals the baseline, except for the given fields."""
    on = Busy(load, 1.0, a_run())
    plain = {contender.name: {} for contender in CONTENDERS}
    found = []
    for wear in (0.0, 1.0):
        for contender in CONTENDERS:
            fields = (plain | tweaks).get(f"{contender.name}@{wear:g}") or (plain | tweaks)[contender.name]
            found.append(Found(contender, on, wear, on.base if contender is BASELINE else a_run(**fields), on.base))
    return Board(found, (0.0, 1.0))


def boards(load, **tweaks: dict[str, float]) -> Boards:
    """Returns the boards of one seed."""
    return Boards({1: board(load, **tweaks)})


def test_shares_are_those_of_what_clairvoyance_gains(load):
    best = {"tail_ns": 5e5, "wear": 0.01, "programs": 1.5}
    shown = board(load, clairvoyant=best, ofwar={"tail_ns": 7.5e5, "wear": 0.04, "programs": 2.5})
    assert shown.share("ofwar", 0.0, results.TAIL) == pytest.approx(0.5)
    assert shown.share("ofwar", 0.0, results.LIFE) == pytest.approx(-0.5)
    assert shown.extra("ofwar", 0.0) == pytest.approx(0.5)
    assert shown.share("ofwar", 0.0, results.WRITES) == pytest.approx(-1.0)
    assert board(load).share("ofwar", 0.0, results.TAIL) is None


def test_where_an_idea_starts_to_pay(load):
    worn = boards(load, **{"wear_adaptive@0": {"mean_ns": 5e4}, "ofwar": {"mean_ns": 6e4}, "autoftl": {"wear_per_erase": 0.3}})
    entries = {entry.what.split(":")[0]: entry for entry in results._where_they_pay(worn)}
    assert (entries["ofwar"].ours, entries["rr_speed"].shown.split(" ")[0]) == (1.0, "nowhere")
    assert entries["autoftl"].ours == 0.0


def test_what_it_teaches_could_be_otherwise(load):
    def findings(**tweaks: dict[str, float]) -> list[bool]:
        return [entry.shown.endswith(": found") for entry in results._what_it_teaches(boards(load, **tweaks))]

    # Of equal policies three relations hold, and none holds of these.
    assert findings() == [True, False, False, True, False, True, True]
    worst = {"ofwar": {"mean_ns": 5e4}, "ofwar + autoftl": {"mean_ns": 2e5, "wear": 0.04}, "clairvoyant": {"mean_ns": 2e5}}
    assert not any(findings(**worst))
    best = {
        "ofwar": {"mean_ns": 2e5},
        "rr_speed": {"mean_ns": 5e4},
        "autoftl@0": {"wear": 0.01},
        "ofwar + autoftl@1": {"mean_ns": 5e4},
        "clairvoyant": {"mean_ns": 5e4},
    }
    assert all(findings(**best))


def test_intervals_are_those_over_the_seeds_of_a_policy(load):
    first, second = board(load, ofwar={"mean_ns": 5e4}), board(load, ofwar={"mean_ns": 7e4})
    less = Board([one for one in second.found if one.contender.name not in SECONDARY], second.wears)
    both = Boards({1: first, 2: less})
    found = both.mean("ofwar", 0.0)
    assert (found.count, found.mean) == (2, pytest.approx(0.6))
    # Student's t with one degree of freedom.
    assert (found.low, found.high) == (pytest.approx(0.6 - 1.2706, abs=1e-3), pytest.approx(0.6 + 1.2706, abs=1e-3))
    assert (both.mean("separate", 0.0).count, both.mean("separate", 0.0).low) == (1, None)
    assert unscored.text_of(found) == "0.60 ± 1.27"
    table = results.every_run(both)
    row = next(row for row in table.rows if row[3] == "ofwar")
    assert row[table.columns.index("seeds")] == 2
    assert row[table.columns.index("mean / baseline ±")] == pytest.approx(1.2706, abs=1e-3)
    alone = next(row for row in table.rows if row[3] == "separate")
    assert (alone[5], alone[table.columns.index("mean / baseline ±")]) == (1, None)
    contender = next(one for one in CONTENDERS if one.name == "ofwar")
    claim = results._summary(both, contender, 0.0)
    assert isinstance(claim, Claim)
    assert (claim.verdict, claim.seeds, claim.shown.split(";")[0]) == ("shown", 2, "-40% ± 127%")


@pytest.mark.parametrize(("setting", "seeds"), [(Setting(quick=True), 1), (Setting(), 2), (Setting(full=True), 3)])
def test_the_experiment_has_three_seeds_at_most(monkeypatch, setting, seeds):
    monkeypatch.setattr("ssdlab_papers.budget.results.entries", lambda given: [given.seeds])
    assert [*ssdlab_papers.budget.experiment(setting)] == [seeds]


def test_secondary_contenders_have_fewer_seeds():
    named = {contender.name: contender for contender in CONTENDERS}
    assert set(SECONDARY) < set(named)
    assert [runs.seeds_of(Setting(), named[name]) for name in ("ofwar", "separate")] == [2, 1]
    assert [runs.seeds_of(Setting(full=True), named[name]) for name in ("ofwar", "separate")] == [5, 3]
    assert [runs.seeds_of(Setting(quick=True), named[name]) for name in ("ofwar", "separate")] == [1, 1]


def test_the_speeds_of_all_loads_are_searched_together(load, drives, monkeypatch):
    other = dataclasses.replace(load, known=dataclasses.replace(load.known, name="other"))
    swept: list[list[float]] = []

    class Of:
        def __init__(self, speed: float, factor: float) -> None:
            self.rows = {1: (speed, factor)}

    def instead(_: Setting, name: str, points: list[dict[str, float]], **further: object) -> Iterator[Of]:
        assert (name, further["seeds"]) == ("budget-speeds", 1)
        swept.append([one["speed"] for one in points])
        return iter([Of(one["speed"], one["factor"]) for one in points])

    factors = {"financial1": 0.05, "other": 0.001}
    monkeypatch.setattr(runs, "point", lambda _, __, load, speed, ___: {"speed": speed, "factor": factors[load.name]})
    monkeypatch.setattr(runs, "samples", instead)
    monkeypatch.setattr(Run, "from_row", classmethod(lambda _, row, __: a_run(utilisation=row[0] * row[1])))
    found = runs.busy(Setting(), drives, [load, other])
    # Utilisation grows with speed: half is reached at ten and five hundred times the recorded speed, in two sweeps.
    assert [on.speed for on in found] == [pytest.approx(10.0), pytest.approx(500.0)]
    assert swept == [[1.0, 1.0], [pytest.approx(10.0), pytest.approx(500.0)]]


def test_a_drive_with_power_does_the_same(load, tmp_path):
    drive, histories = runs.resolved_drive("speed", 0.0), [tmp_path / "with.csv", tmp_path / "without.csv"]
    found = [
        ssdlab.run(drive, load.workload(4_000, 200.0, address="wrap"), "ofwar", set=given, precondition="fill", history=path)
        for given, path in zip(({}, {"power": ""}), histories, strict=True)
    ]
    assert histories[0].read_bytes() == histories[1].read_bytes()
    assert len(histories[0].read_bytes()) > 100_000
    assert found[0].summary["energy"]["per_host_byte_j"] > 0.0
    assert found[1].summary["energy"]["per_host_byte_j"] is None


def test_the_front_of_the_one_budget(load):
    assert front.front(boards(load), 0.0) == ["baseline"]
    saves = boards(load, ofwar={"joule_per_gb": 10.0}, **{"agcr@1": {"mean_ns": 5e4, "joule_per_gb": 30.0}})
    assert saves.energy("ofwar", 0.0).mean == pytest.approx(0.5)
    assert front.front(saves, 0.0) == ["ofwar"]
    assert front.front(saves, 1.0) == ["ofwar", "agcr"]
    assert front.front(saves, 1.0, ("mean latency", "lifetime")) == ["agcr"]
    told = {each.what.split(", ")[3]: each for each in front.entries(saves) if isinstance(each, Entry)}
    assert told["100% worn"].shown == "2: ofwar, agcr; by energy alone: ofwar"
    # Clairvoyance competes with nobody.
    assert front.front(boards(load, clairvoyant={"mean_ns": 1e4}), 0.0) == ["baseline"]
    (table,) = [each for each in front.entries(saves) if isinstance(each, Table)]
    assert len(table.rows) == 2 * len(CONTENDERS)


def test_fixed_levels_close_the_budget_too():
    limit = tables.CORRECTS["quick"][1]
    for cycles in (0, tables.RATED):
        shift = tables.gentlest(cycles, 2.0, "fixed")
        assert 0.0 < shift < tables.gentlest(cycles, 2.0)
        step = tables.normal_step("fixed") / 2.0
        rates = [
            ssdlab.cell.rber(tables.CELL, pe=cycles, age="10y", step=step, erase_shift=shift + more).worst
            for more in (0.0, 0.001)
        ]
        assert rates[0] <= limit < rates[1]
    assert tables.bisected(lambda value: value <= 0.3, 1.0) == pytest.approx(0.3, abs=1e-4)
    assert (tables.bisected(lambda _: True, 1.0), tables.bisected(lambda _: False, 1.0)) == (1.0, 0.0)
    for wear in (0.0, 1.0):
        modes = ssdlab.describe(runs.resolved_drive("all", wear, "fixed"))["write_modes"]
        assert len(modes) == 13


def test_errors_are_in_the_path(load, drives):
    short = dataclasses.replace(load, at_most=10_000)
    fields = {"precondition": "steady", "state.age": errors.AGE, **short.fields(10_000, 200.0, address="wrap")}
    of = {
        (name, way, wear): {**fields, **errors._of(drives, name, way, wear), **more}
        for name, way, more in errors._ways()
        for wear in (0.0, 1.0)
        if name in ("baseline", "margin", "rr_ecc") and way in ("without", "with", "weak")
    }
    found = samples(Setting(quick=True), "test", [*of.values()], columns=errors.COLUMNS)
    rows = dict(zip(of, (sample.rows[1] for sample in found), strict=True))
    # Nearly ten years old on a worn cell, some blocks are beyond a hard decision; on a young cell, none is.
    assert 0.1 < errors.retries(rows["baseline", "with", 1.0]) < 10.0
    assert errors.retries(rows["baseline", "with", 0.0]) == errors.retries(rows["baseline", "without", 1.0]) == 0.0
    assert errors.read_ns(rows["baseline", "with", 1.0]) > errors.read_ns(rows["baseline", "without", 1.0])
    # On a young cell `margin` spends so much on step and erase that fresh data needs all that the code can sense: some
    # blocks vary beyond that. On a worn cell the promise of retention is most of the margin.
    assert errors.media(rows["margin", "with", 0.0]) > 10 > errors.media(rows["margin", "with", 1.0])
    assert rows["margin", "with", 1.0]["modes.read.slow"] > 0
    for name in ("rr_ecc", "baseline"):
        assert errors.media(rows[name, "with", 1.0]) == 0.0
    assert rows["rr_ecc", "with", 1.0]["read_errors.media_errors"] == 0.0
    assert rows["baseline", "weak", 0.0]["read_errors.media_errors"] == 0.0


def test_data_at_and_beyond_its_limit(drives):
    found = errors.run_aged(Setting(quick=True), drives)
    often = {key: errors.retries(sample.rows[1]) for key, sample in found.items()}
    # At their limits both modes have the same error rate, and about as many retries.
    assert often["fast", "4d"] == pytest.approx(often["normal", "3650d"], rel=0.5)
    assert often["fast", "0s"] < 0.1 < 1.0 < often["fast", "4d"] < often["fast", "6d"] < often["fast", "30d"] / 3.0
    assert often["fast", "365d"] > 100.0
    latency = [errors.read_ns(found["fast", age].rows[1]) for age in ("0s", "4d", "30d", "365d")]
    assert latency == sorted(latency)
    claims = [*errors._aged(found)]
    assert [claim.verdict for claim in claims] == ["shown"] * len(errors.AGES)
    assert claims[2].ours == often["fast", "4d"]


def test_what_the_engine_does_not_model_is_refused(drives):
    moved = runs.resolved_drive("speed", 0.0)
    with pytest.raises(ssdlab.InputError, match="moves the levels of the cell"):
        ssdlab.check(moved, set={"ecc.errors": {"kind": "cell"}})
    weak = ssdlab.Drive.from_text(errors._with_codes(True), "weak")
    with pytest.raises(ssdlab.InputError, match="the code is BCH"):
        ssdlab.check(weak, set=dict(errors.ERRORS))
    # Both codes have a limit of their own only if no read mode states what it corrects.
    text = errors._with_codes(False)
    assert "flash.read_mode" not in text
    assert ssdlab.check(ssdlab.Drive.from_text(text, "codes"), set=dict(errors.RETRY))


def a_row(**fields: float) -> dict[str, float | None]:
    plain = {
        "latency.all.mean_ns": 1e5,
        "latency.all.p99_9_ns": 1e6,
        "latency.read.mean_ns": 2e5,
        "energy.per_host_byte_j": 1e-8,
        "reliability.retries": 10.0,
        "flash.operations.read": 10_010.0,
        "read_errors.media_errors": 0.0,
        "read_errors.lost_units": 0.0,
        "modes.read.quick": 3.0,
        "modes.read.slow": 1.0,
    }
    return plain | {name.replace("__", "."): value for name, value in fields.items()}


def made_up(**of: dict[str, float]) -> errors.Runs:
    """Returns runs that equal the baseline without errors, but for the fields given by policy and way."""
    by = {}
    for load in ("one", "two"):
        for wear in (0.0, 1.0):
            for name, way, _ in errors._ways():
                row = a_row(**of.get(f"{name}_{way}", {}))
                by[name, wear, way, load] = Sample({1: row, 2: row})
    return errors.Runs(by, ("one", "two"), (0.0, 1.0))


def test_gains_are_told_without_and_with_errors():
    runs_of = made_up(
        ofwar_without={"latency__all__mean_ns": 5e4},
        ofwar_with={"latency__all__mean_ns": 8e4, "reliability__retries": 40.0, "flash__operations__read": 10_040.0},
        baseline_with={"latency__all__mean_ns": 1.6e5, "latency__all__p99_9_ns": 4e6},
    )
    # A gain with errors is that over the baseline with errors.
    assert runs_of.gain("ofwar", 1.0, "with", errors.mean_ns).mean == pytest.approx(-0.5)
    assert runs_of.cost(1.0, errors.tail_ns).mean == pytest.approx(3.0)
    told_of = {claim.what: claim for claim in errors._what_survives(runs_of)}
    claim = told_of["ofwar, 100% worn: over the baseline, without errors and with them"]
    assert claim.shown.startswith("mean latency -50.0% ± 0.0% without, -50.0% ± 0.0% with; 99.9 % latency +0.0%")
    assert claim.shown.endswith("; 4 ± 0 retries for 1,000 reads, 0 media errors and lost units")
    assert (claim.ours, claim.seeds, claim.verdict) == (pytest.approx(-0.5), 2, "shown")
    table = errors._table(runs_of)
    row = next(row for row in table.rows if row[:2] == (1.0, "ofwar"))
    cells = dict(zip(table.columns, row, strict=True))
    assert cells["mean latency / baseline, without errors"] == pytest.approx(0.5)
    assert cells["mean latency / baseline, with errors"] == pytest.approx(0.5)
    assert cells["99.9 % latency / baseline, with errors"] == pytest.approx(0.25)
    assert (cells["retries / 1,000 reads"], cells["the baseline's"]) == (pytest.approx(4.0), pytest.approx(1.0))
    assert isinstance(errors._picture(runs_of), Picture)


def test_margin_reads_rightly_or_not():
    def words(**fields: float) -> set[str]:
        return {claim.shown.split(":")[0] for claim in errors._margin(made_up(margin_with=fields))}

    assert words(reliability__retries=5.0) == {"rightly"}
    assert words(reliability__retries=50.0) == {"not always"}
    assert words(reliability__retries=5.0, read_errors__lost_units=1.0) == {"not always"}


def test_read_levels_are_compared_with_those_of_the_policy():
    found = made_up(agcr_with={"latency__read__mean_ns": 4e5}, agcr_progressive={"latency__read__mean_ns": 1e5})
    claims = [claim for claim in errors._read_levels(found) if "100% worn" in claim.what]
    assert [claim.ours for claim in claims] == [pytest.approx(1.0), pytest.approx(0.0), pytest.approx(-0.5)]
    assert claims[2].shown.startswith("-50.0% ± 0.0%; over by_write_mode -75.0%")


def test_each_code_alone_is_told():
    found = made_up(
        baseline_weak={"latency__read__mean_ns": 3e5, "reliability__retries": 20.0, "flash__operations__read": 10_020.0}
    )
    claim = next(errors._codes(found))
    assert claim.ours == pytest.approx(0.5)
    assert "; weak: 2 ± 0 retries" in claim.shown
    assert "; strong: 1 ± 0 retries" in claim.shown
