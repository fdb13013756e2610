"""``ssdlab compare --vary``: variants of a drive, of its workload and of the options, beside policies."""

from __future__ import annotations

import json

import pytest

import ssdlab
from ssdlab.explore import variants
from ssdlab.run_names import labels, run_names

SHORT = ("--stop-after", 2000, "--quiet")


def means(comparison):
    return [run.latency["all"].mean_ns for run in comparison.runs]


def test_a_variant_gives_the_results_of_a_run_with_set(cli, job):
    done = cli("compare", "tiny", job, "--vary", "flash.channels=1,2", *SHORT, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["names"] == ["channels 1", "channels 2"]
    for count, run in zip((1, 2), document["runs"], strict=True):
        alone = json.loads(cli("run", "tiny", job, "--set", f"flash.channels={count}", *SHORT, "--json").stdout)
        assert {**run, "wall_s": 0} == {**alone, "wall_s": 0}
    first, second = (run["latency"]["write"]["mean_ns"] for run in document["runs"])
    assert document["ratios"][1]["latency"]["write"]["mean_ns"] == second / first != 1.0


def test_every_policy_runs_under_every_combination(cli, job):
    words = ("--policy", "baseline,all_fast", "--vary", "flash.channels=1,2", "--vary", "workload.iodepth=1,4,16")
    done = cli("compare", "tiny", job, *words, "--stop-after", 200, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    names = [
        f"{policy} · channels {channels} · iodepth {depth}"
        for policy in ("baseline", "all_fast")
        for channels in (1, 2)
        for depth in (1, 4, 16)
    ]
    assert json.loads(done.stdout)["names"] == names
    assert [run["policy"] for run in json.loads(done.stdout)["runs"]] == 6 * ["baseline"] + 6 * ["all_fast"]


def test_table_and_verdicts_name_the_values(cli, job):
    shown = cli("compare", "tiny", job, "--vary", "workload.bs=4k,16k", *SHORT).stdout
    assert "ratios to bs 4k" in shown
    assert "\nbs 16k: mean " in shown


def test_units_names_and_tables_are_values(job):
    drive = {"ftl.victim": ["greedy", {"kind": "d_choices", "d": 3}], "flash.read_time": ["50us", "1ms"]}
    comparison = ssdlab.compare("tiny", job, vary=drive, stop_after=500, precondition="fill")
    assert comparison.names[:2] == ["victim greedy · read_time 50us", "victim greedy · read_time 1ms"]
    reads = [run.latency["read"].p50_ns for run in comparison.runs]
    assert reads[1] > reads[0]
    assert "d = 3" in comparison.runs[2].drive_toml
    assert comparison.runs[0].latency["write"].count > 0


def test_the_texts_of_the_command_are_divided_at_plain_commas():
    texts = ["a=0.07,1ms, true", 'b={ kind = "x", n = 1 },[1, 2]', "workload.bs='4k,8k',16k", "c=''"]
    assert variants.read(texts) == {
        "a": [0.07, "1ms", True],
        "b": [{"kind": "x", "n": 1}, [1, 2]],
        "workload.bs": ["4k,8k", "16k"],
        "c": [""],
    }


def test_a_starting_state_is_shared_unless_a_variant_changes_it(job):
    def states(**vary):
        session = ssdlab.Session()
        names = {name.replace("__", "."): values for name, values in vary.items()}
        session.compare("tiny", job, vary=names, precondition="steady", stop_after=200)
        return session.states.count, session.states.hits

    assert states(buffer__capacity=["1MiB", "2MiB", "4MiB"]) == (1, 2)
    assert states(ftl__overprovisioning=[0.07, 0.28]) == (2, 0)
    assert states(workload__iodepth=[1, 2, 4]) == (1, 2)


def test_the_workload_and_its_options_may_vary(job, examples):
    depths = ssdlab.compare("tiny", job, vary={"workload.iodepth": [1, 16]}, stop_after=500)
    assert means(depths)[1] > 2 * means(depths)[0]
    text = ssdlab.Workload.from_text(job.read_text())
    assert means(ssdlab.compare("tiny", text, vary={"workload.iodepth": [1, 16]}, stop_after=500)) == means(depths)
    model = {"kind": "synthetic", "job": [{"name": "a", "depth": 1, "requests": 100, "read_share": 0.0}]}
    model["job"][0] |= {"pattern": {"kind": "random"}, "sizes": [{"size": "4KiB"}]}
    jobs = ssdlab.compare("tiny", model, vary={"workload.job[0].depth": [1, 16]})
    assert jobs.names == ["depth 1", "depth 16"]
    assert means(jobs)[1] > means(jobs)[0]
    trace = ssdlab.compare("tiny", examples / "trace.csv.gz", vary={"workload.replay": ["closed:1", "closed:16"]})
    assert means(trace)[1] > means(trace)[0]
    stops = ssdlab.compare("tiny", job, vary={"options.stop_after": [100, 200]})
    assert (stops.names, [run.commands["read"] + run.commands["write"] for run in stops.runs]) == (
        ["stop_after 100", "stop_after 200"],
        [100, 200],
    )
    begun = ssdlab.compare("tiny", job, vary={"precondition": ["none", "fill"]}, stop_after=100)
    assert [run.summary["starting_state"]["method"] for run in begun.runs] == ["none", "fill"]


def test_standard_input_may_vary(cli, job):
    words = ("compare", "tiny", "-", "--vary", "workload.iodepth=1,4", *SHORT, "--json")
    done = cli(*words, input=job.read_text())
    assert done.returncode == 0, done.stderr
    piped, read = json.loads(done.stdout), json.loads(cli(*(job if word == "-" else word for word in words)).stdout)
    assert piped["ratios"] == read["ratios"]


def test_a_folder_has_the_names_and_each_run_can_be_repeated(cli, job, tmp_path):
    words = ("--policy", "baseline,all_fast", "--vary", "ftl.overprovisioning=0.07,0.28", "--vary", "workload.bs=4k,8k")
    done = cli("compare", "tiny", job, *words, "--precondition", "steady", "--out", "both", *SHORT)
    assert done.returncode == 0, done.stderr
    names = json.loads((tmp_path / "here" / "both" / "compare.json").read_text())["folders"]
    assert names[0] == "baseline-overprovisioning_0.07-bs_4k"
    assert len(names) == 8
    for name in (names[0], names[3], names[6]):
        again = cli("rerun", f"both/{name}", "--quiet")
        assert again.returncode == 0, again.stdout + again.stderr
    loaded = [ssdlab.load_result(tmp_path / "here" / "both" / name) for name in names]
    assert run_names(loaded)[3] == "baseline · overprovisioning 0.28 · bs 8k"
    assert "baseline · overprovisioning 0.28 · bs 8k" in (tmp_path / "here" / "both" / "report.html").read_text()


def test_names_of_folders_are_plain_and_differ(job, tmp_path):
    runs = [ssdlab.run("tiny", job, stop_after=100, seed=seed) for seed in (1, 2)]
    ssdlab.Comparison([*runs, runs[0]]).save(tmp_path / "seeds")
    assert sorted(path.name for path in (tmp_path / "seeds").iterdir() if path.is_dir()) == ["seed_1", "seed_1-2", "seed_2"]
    ssdlab.Comparison([runs[0], runs[0]]).save(tmp_path / "same")
    assert sorted(path.name for path in (tmp_path / "same").iterdir() if path.is_dir()) == ["baseline", "baseline-2"]
    odd = ssdlab.compare("tiny", job, vary={"workload.name": ["../a b", "c/d"]}, stop_after=100)
    odd.save(tmp_path / "odd")
    assert sorted(path.name for path in (tmp_path / "odd").iterdir() if path.is_dir()) == [
        "workload.name_.._a_b",
        "workload.name_c_d",
    ]


def test_runs_of_different_comparisons_are_named_by_their_settings(job):
    first = ssdlab.compare("tiny", job, vary={"flash.channels": [1, 2]}, stop_after=100)
    second = ssdlab.compare("tiny", job, vary={"workload.iodepth": [8, 4]}, stop_after=100)
    assert labels([first.runs[1], second.runs[1]]) == [("iodepth 8",), ("iodepth 4",)]


def test_the_progress_names_each_run(job):
    seen = []
    ssdlab.compare("tiny", job, ["baseline"], vary={"flash.channels": [1, 2]}, stop_after=100, progress=seen.append)
    assert seen == ["baseline · channels 1", "baseline · channels 2"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["ftl.overprovisionin=0.1,0.2"], ["--vary ftl.overprovisionin=0.1", "unknown field", "did you mean `overprovisioning`"]),
        (["ftl.victim=greedy,gredy"], ['--vary ftl.victim="gredy"', "did you mean `greedy`"]),
        (["ftl.overprovisioning=0.07,much"], ['--vary ftl.overprovisioning="much"', "expected a number"]),
        (["ftl.victim=fifo"], ["--vary ftl.victim=fifo", "at least two values", "--set"]),
        (["ftl.victim=fifo,fifo"], ["fifo is given twice"]),
        (["ftl.victim=fifo,greedy"] * 2, ["ftl.victim is given twice", "one --vary"]),
        (["ftl.victim=fifo,,greedy"], ["expected values between the commas"]),
        (["ftl.victim=[fifo,greedy"], ["expected ] before the end"]),
        (["ftl.victim"], ["expected FIELD=A,B"]),
        (["flash.channels=1,2"], ["--vary flash.channels: given by --set, too"]),
        (["options.stop_after=1,2"], ["--vary options.stop_after: given by --stop-after, too"]),
        (["options.batch=1,2"], ["--vary options.batch", "did you mean `batches`"]),
        (["options.batches=20,many"], ["options.batches=many", "expected a whole number"]),
        (["workload.iodeph=1,2"], ["`iodeph`", "did you mean `iodepth`", "--vary workload.iodeph=1"]),
        (["workload.bs=4k,4x"], ["`4x`", "--vary workload.bs=4x"]),
        (["workload.replay=closed:1,closed:2"], ["applies to traces only"]),
        (["precondition=fill,ful"], ["--vary precondition=ful", "did you mean `fill`"]),
        (["seed=1,2"], ["--vary seed", "`ssdlab sweep`"]),
        (["drive=tiny,tlc-1tb"], ["--vary drive", "`ssdlab sweep`"]),
        (["policy=baseline,ofwar"], ["--vary policy", "--policy A,B"]),
    ],
)
def test_bad_variants_are_refused_before_the_first_run(cli, job, tmp_path, words, parts):
    vary = [part for word in words for part in ("--vary", word)]
    done = cli("compare", "tiny", job, *vary, "--set", "flash.channels=2", "--stop-after", 100, "--save", "kept", "--out", "new")
    assert (done.returncode, done.stdout) == (2, "")
    for part in parts:
        assert part in done.stderr
    assert [*(tmp_path / "here").iterdir()] == []


def test_python_names_its_arguments(job, examples):
    def refused(workload=job, **options):
        with pytest.raises(ssdlab.InputError) as error:
            ssdlab.compare("tiny", workload, **options)
        return str(error.value)

    assert refused().startswith("compare: nothing to compare: expected policies")
    assert "vary ftl.victim=fifo: expected at least two values; a single one is for set" in refused(vary={"ftl.victim": ["fifo"]})
    assert "expected a list of values" in refused(vary={"ftl.victim": "fifo"})
    assert "has no fields" in refused(examples / "trace.csv.gz", vary={"workload.iodepth": [1, 2]})
    given = ssdlab.Workload(examples / "trace.csv.gz", replay="closed:4")
    assert "also given as an option" in refused(given, vary={"workload.replay": ["closed:1", "closed:2"]})
