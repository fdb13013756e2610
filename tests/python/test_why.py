"""Why a tail is long: causes of the slowest commands, the fields that bear on them, trials."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from ssdlab import terms
from ssdlab.report import content, verdict
from ssdlab.units import duration

EXAMPLE = Path(__file__).parents[2] / "examples" / "randwrite.fio"
#: Mixed load: the reads that wait for an erase are few, and the slowest.
MIXED = "[mixed]\nrw=randrw\nrwmixread=70\nbs=4k\niodepth=4\nnorandommap=1\nio_size=10g\nnumber_ios=60000\n"
OTHER = ", and 80 % of the slowest 0.1 % waiting for earlier commands"
#: An erase may be suspended once: a second read waits for its end.
ONCE = (
    'flash.suspension={ program = true, erase = true, suspend_time = "20us", resume_time = "20us", '
    'least_remaining = "100us", most = 1 }'
)


@pytest.fixture(scope="module")
def mixed():
    """Result of the mixed load, with its log of commands."""
    job = ssdlab.Workload.from_text(MIXED)
    return ssdlab.run("tiny", job, precondition="steady", set=[ONCE], record_commands=True)


@pytest.fixture(scope="module")
def folder(mixed, tmp_path_factory):
    return mixed.save(tmp_path_factory.mktemp("why") / "out")


@pytest.mark.parametrize("op", ["read", "write", "all"])
def test_the_causes_of_a_tail_are_those_of_its_commands_in_the_log(mixed, op):
    log = mixed.command_table()
    if op != "all":
        log = log.filter(np.array(log["op"]) == op)
    latency = np.array(log["completed_ns"]) - np.array(log["submitted_ns"])
    order = np.argsort(latency)
    causes = [name for name in log.column_names if name.endswith("_ns") and name not in ("submitted_ns", "completed_ns")]
    for name, share in (("p99", 0.01), ("p99_9", 0.001)):
        stated = mixed.summary["causes_tail"][op][name]
        slowest = order[-stated["count"] :]
        assert stated["count"] == int(share * len(latency))
        assert stated["mean_ns"] == pytest.approx(latency[slowest].mean(), rel=1 / 64)
        assert sum(stated["causes"].values()) == pytest.approx(stated["mean_ns"], rel=1e-9)
        for column in causes:
            exact = np.array(log[column])[slowest].mean()
            found = stated["causes"].get(column.removesuffix("_ns"), 0.0)
            assert found == pytest.approx(exact, abs=0.03 * latency[slowest].mean()), (op, name, column)


def test_commands_that_take_no_time_have_no_tail(cli, tmp_path):
    job = tmp_path / "empty.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nrate_iops=1000\nnumber_ios=2000\n")
    done = cli("run", "tiny", job, "--out", "out")
    assert (done.returncode, "slowest" in done.stdout) == (0, False)
    assert ssdlab.load_result(tmp_path / "here" / "out").why().tails == {}


def test_a_tail_of_fewer_than_ten_commands_is_null_like_its_percentile(mixed):
    for op in ("all", "read", "write"):
        for name in ("p99", "p99_9", "p99_99"):
            is_known = mixed.summary["latency"][op][f"{name}_ns"] is not None
            assert (mixed.summary["causes_tail"][op][name] is not None) == is_known, (op, name)
    assert mixed.summary["causes_tail"]["read"]["p99_99"] is None
    short = ssdlab.run("tiny", EXAMPLE, precondition="steady", stop_after=900)
    assert not short.why().tails
    assert short.why().sentences == ["No operation has a tail: fewer than ten commands lie beyond the 99th percentile."]
    assert "Why the tail is long" not in short.report()


def test_the_sentence_names_the_cause_of_the_tail_the_resource_and_the_operations(mixed):
    found = mixed.why()
    (sentence,) = (one for one in found.sentences if "of the reads" in one)
    tail = found.tails["read"][-1]
    assert tail.largest == "die_erase"
    assert tail.share("die_erase") > 0.9
    mean = mixed.causes["read"]["die_erase"] / mixed.latency["read"].mean_ns
    assert mean < 0.3
    assert sentence.startswith("The slowest 0.1 % of the reads (42 commands) take ")
    assert f"waiting for erases (die_erase): {tail.causes['die_erase'] / 1e6:.3f} ms" in sentence
    assert f"in the mean of all reads it is {100 * mean:.1f} %" in sentence
    assert "Behind it: the dies (busy for " in sentence
    assert f"blocks erased during the run: {mixed.summary['flash']['erases']['gc']:,} for gc" in sentence


def test_every_cause_of_the_results_says_what_stands_behind_it():
    for cause in ssdlab.definitions()["causes"]:
        facts = terms.facts_behind(cause["name"])
        assert facts["resource"], cause["name"]
        assert facts["fields"], cause["name"]
    assert terms.facts_behind("moonlight") == {}


def test_fields_are_those_of_the_drive_with_its_values(mixed):
    fields = {field.name: field for field in mixed.why().fields}
    most = fields["flash.suspension.most"]
    assert (most.value, most.helps, most.trial) == ("1", "1000", "flash.suspension.most=1000")
    assert "Largest number of suspensions" in most.meaning
    assert fields["flash.erase_time"].trial == 'flash.erase_time="1.5ms"'
    # Erases may be suspended already, and the drive has a suspension: neither is something to be changed.
    assert "flash.suspension.erase" not in fields
    assert "flash.suspension" not in fields


def test_trials_tell_what_helps_the_tail_from_what_does_not(mixed):
    found = ssdlab.why(mixed, trials=True, commands=30_000)
    effects = {trial.field: {(one.op, one.measure): one for one in trial.effects} for trial in found.trials}
    helps = effects["flash.suspension.most"]["read", "p99.9"]
    assert helps.ratio < 0.2
    assert not helps.is_noise
    noise = effects["flash.suspension.least_remaining"]["read", "p99.9"]
    assert noise.is_noise
    assert abs(noise.ratio - 1) < 0.1
    assert effects["flash.erase_time"]["read", "p99.9"].ratio == pytest.approx(0.5, abs=0.1)
    # Every trial begins from the same seed, and none changes more than its field.
    base = found.trials[0]
    assert (base.field, base.setting) == ("none", "")
    assert {trial.result.seed for trial in found.trials} == {mixed.seed}
    assert base.result.latency["all"].count == 30_000


def test_a_trial_says_what_its_change_costs(mixed):
    costs = {trial.field: trial.cost for trial in ssdlab.why(mixed, trials=True, commands=1_000).trials}
    assert costs["none"] == ""
    assert costs["flash.suspension.most"] == "a setting"
    assert costs["flash.erase_time"] == "other parts"
    # From 1.2 to 1.4 times the user capacity.
    assert costs["ftl.overprovisioning"] == f"{100 * (1.2 / 1.4 - 1):+.2g} % capacity"


def test_more_dies_have_a_price_and_an_age_has_none(mixed):
    from ssdlab.trying import cost_of

    def cost(setting):
        field = setting.partition("=")[0]
        return cost_of(field, mixed, ssdlab.run("tiny", EXAMPLE, precondition="steady", stop_after=10, set=[ONCE, setting]))

    # The drive has four.
    assert cost("flash.dies_per_chip=2") == "+4 dies"
    assert cost('state.age="2d"') == "other data"


def test_the_trials_of_a_folder_are_those_of_its_result(mixed, folder):
    of_result = ssdlab.why(mixed, trials=True, commands=5_000)
    of_folder = ssdlab.why(folder, trials=True, commands=5_000)
    assert [trial.to_dict() for trial in of_folder.trials] == [trial.to_dict() for trial in of_result.trials]
    assert of_folder.sentences == mixed.why().sentences


def test_a_trial_that_the_drive_refuses_is_said(mixed):
    from ssdlab.trying import trials_of

    found = mixed.why()
    field = ssdlab.BearingField("flash.channels", "2", "more", "flash.channels=1000", "", "die_erase")
    found.__dict__["_fields"] = [field]
    trial = trials_of(found, None, 100, None)[1]
    assert trial.refused.startswith("set flash.channels=1000: ")
    assert not trial.effects
    assert str(trial).startswith("flash.channels=1000: not possible: ")


def test_values_are_scaled_in_their_unit():
    from ssdlab.tails import scaled_value

    assert [scaled_value(*one) for one in (("3ms", 0.5), ("32MiB", 4.0), (0.1081, 2.0), (5, 2.0), (["50us", "70us"], 0.5))] == [
        "1.5ms",
        "128MiB",
        0.2162,
        10,
        ["25us", "35us"],
    ]
    assert [scaled_value(*one) for one in (("greedy", 2.0), (True, 2.0), (1, 0.5), ([], 2.0), ({}, 2.0))] == [None] * 5


def test_the_command_prints_the_same(cli, folder, mixed):
    done = cli("why", folder)
    assert done.returncode == 0
    for text in (*mixed.why().sentences, "reads by cause", "flash.suspension.most"):
        assert " ".join(text.split()) in " ".join(done.stdout.split())
    assert "trial" not in done.stdout
    document = json.loads(cli("why", folder, "--json").stdout)
    assert document["tails"]["read"]["p99_9"] == mixed.summary["causes_tail"]["read"]["p99_9"]
    assert document["trials"] == []
    tried = cli("why", folder, "--try", "--commands", 2000)
    assert tried.returncode == 0
    assert "flash.suspension.most=1000" in tried.stdout
    assert "no change" in tried.stdout
    assert "read p99.9" in tried.stdout
    document = json.loads(cli("why", folder, "--try", "--commands", 2000, "--json").stdout)
    assert next(trial["setting"] for trial in document["trials"]) == ""


def test_bad_folders_are_refused(cli, folder, tmp_path):
    done = cli("why", tmp_path)
    assert done.returncode == 2
    assert "not a result folder" in done.stderr
    assert not done.stdout
    old = tmp_path / "old"
    old.mkdir()
    for file in folder.iterdir():
        (old / file.name).write_bytes(file.read_bytes())
    summary = json.loads((old / "summary.json").read_text())
    del summary["causes_tail"]
    (old / "summary.json").write_text(json.dumps(summary))
    done = cli("why", old)
    assert done.returncode == 2
    assert "an earlier version" in done.stderr
    # Such a result has a report all the same, without the section.
    assert cli("report", old).returncode == 0
    assert "Why the tail is long" not in (old / "report.html").read_text()


def test_the_report_and_the_table_lead_with_it(mixed, folder, cli):
    page = (folder / "report.html").read_text(encoding="utf-8")
    tail = page.split("<h3>Why the tail is long</h3>")[1].split("<h3>")[0]
    assert "waiting for erases (die_erase)" in tail
    assert "slowest 0.1 %" in page
    assert "Fields of the description that bear on it" in page
    shown = cli("run", "tiny", EXAMPLE, "--precondition", "steady", "--stop-after", 10_000).stdout
    assert "The slowest 0.1 % of the writes (10 commands) take" in shown


PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "tail.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_is_what_the_drive_does(tmp_path):
    (drive,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (job,) = re.findall(r"```ini\n(.*?)```", PAGE, flags=re.DOTALL)
    result = ssdlab.run(ssdlab.Drive.from_text(drive), ssdlab.Workload.from_text(job), precondition="random")
    found = ssdlab.why(result, trials=True)
    (quoted,) = re.findall(r"^> (.*)$", PAGE, flags=re.MULTILINE)
    assert quoted in found.sentences
    effects = {trial.setting: {(one.op, one.measure): one for one in trial.effects} for trial in found.trials}
    rows = [
        [cell.strip().strip("`") for cell in row.split("|")[1:-1]]
        for row in re.findall(r"^\| (?:no change|`).*\|$", PAGE, flags=re.MULTILINE)
    ]
    assert len(rows) == 4
    costs = {trial.setting: trial.cost for trial in found.trials}
    for setting, cost, *cells in rows:
        own = effects["" if setting == "no change" else setting]
        assert cost == costs["" if setting == "no change" else setting]
        shown = [own["read", "mean"], own["read", "p99.9"], own["write", "mean"]]
        assert cells == [stated(one, setting) for one in shown], setting


def stated(effect, setting):
    """Returns an effect as the page has it."""
    if setting == "no change":
        return duration(effect.after_ns)
    change = "within noise" if effect.is_noise else f"{100 * (effect.ratio - 1):+.0f} ± {100 * effect.half:.0f} %"
    return f"{duration(effect.after_ns)}, {change}"


def test_a_verdict_names_another_cause_of_the_tail():
    comparison = ssdlab.compare(
        "tiny", ssdlab.Workload.from_text(MIXED), vary={"ftl.overprovisioning": [0.2, 0.28]}, precondition="steady", set=[ONCE]
    )
    run = comparison.runs[1]
    tail = run.summary["causes_tail"]["all"]["p99_9"]
    largest = max(tail["causes"], key=tail["causes"].__getitem__)
    mean = max(run.causes["all"], key=run.causes["all"].__getitem__)
    said = verdict.largest_cause(run)
    assert ("of the slowest 0.1 %" in said) == (largest != mean)
    # With a tail of another cause.
    run.summary["causes_tail"]["all"]["p99_9"] = {"count": 10, "mean_ns": 100.0, "causes": {"order": 80.0, mean: 20.0}}
    assert verdict.largest_cause(run).endswith("% of the time is " + content.phrase(mean) + OTHER)


def test_a_damaged_summary_is_bad_input(cli, folder, tmp_path):
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    summary = json.loads((damaged / "summary.json").read_text())
    (damaged / "summary.json").write_text(json.dumps({**summary, "latency": {}}))
    for words in ([], ["--json"]):
        done = cli("why", damaged, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"ssdlab: error: {damaged}: damaged, or written by another version: "), done.stderr
