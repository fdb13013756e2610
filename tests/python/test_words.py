"""The Python functions in their own words: names in messages, numbers of numpy, text forms, data frames, notebooks."""

from __future__ import annotations

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import ssdlab
from ssdlab import words

TRACE = "trace.csv.gz"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precondition": "stedy"}, "precondition: unknown starting state `stedy`"),
        ({"policy": "ofvar"}, "policy: unknown policy `ofvar`"),
        ({"stop_after": 0}, "stop_after: 0: expected"),
        ({"steady_round": "1s"}, "steady_round 1s: the length of a round of steady_state"),
        ({"timeline_from": "1s"}, "timeline_from, timeline_for: a part of timeline"),
        ({"power_down": "1d"}, "power_cut: missing"),
        ({"set": {"flash.channels": 0}}, "set flash.channels=0: flash.channels: 0"),
        ({"log_commands": "log.txt"}, "log_commands log.txt: expected a name"),
        ({"load": "JOB", "precondition": "fill"}, "expected only one of load, precondition"),
        ({"skip_commands": 10**9}, "commands that skip_commands and rest_after take"),
    ],
)
def test_errors_name_arguments(job, options, said):
    options = {name: job if value == "JOB" else value for name, value in options.items()}
    with pytest.raises(ssdlab.InputError) as refused:
        ssdlab.run("tiny", job, **options)
    assert said in str(refused.value)
    assert "--" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "var", "said"),
    [
        (
            "[j]\nbs=${BLOCK_X}\n",
            None,
            'variable `BLOCK_X` has no value: expected `var=["BLOCK_X=VALUE"]`, or `BLOCK_X` in the env',
        ),
        ("[j]\nbs=${BLOCK_X}\n", ["BLOCK_X"], "var: `BLOCK_X`: expected NAME=VALUE, such as BS=4k"),
        ("[j]\nbs=4k\n", ["BLOCK_X=4k"], "var: `BLOCK_X` does not occur in the job file"),
        ("[j]\nbs=${BLOCK_X}\n", ["BLOCK_X=4k;8k"], "variable `BLOCK_X` has the value `4k;8k`: expected no comment and one line"),
        ("[j]\nverify=md5\n", None, '`ignore=["KEY", ...]` leaves keys out'),
    ],
)
def test_errors_of_variables_name_the_argument(text, var, said):
    with pytest.raises(ssdlab.InputError) as refused:
        ssdlab.run("tiny", ssdlab.Workload(text=text, var=var))
    assert said in str(refused.value)
    assert "--" not in str(refused.value)


def test_the_command_names_its_flags_of_variables(cli):
    assert "expected `--var BLOCK_X=VALUE`" in cli("run", "tiny", "-", input="[j]\nbs=${BLOCK_X}\n").stderr


def test_other_functions_name_arguments(job, tmp_path):
    calls = (
        lambda: ssdlab.compare("tiny", job, ["baseline"], batches=1),
        lambda: ssdlab.lifetime("tiny", job, max_passes=0),
        lambda: ssdlab.lifetime("tiny", job, wear_limit=float("inf")),
        lambda: ssdlab.lifetime("tiny", job, "mine.py:Mine"),
        lambda: ssdlab.check("tiny", set=["flash.channels"]),
        lambda: ssdlab.Session().run("tiny", job, precondition="stedy"),
        lambda: ssdlab.sweep({"drive": "tiny", "workload": str(job)}, tmp_path / "runs", jobs=0),
    )
    for call in calls:
        with pytest.raises(ssdlab.InputError) as refused:
            call()
        assert "--" not in str(refused.value)


def test_a_folder_is_replaced_with_an_argument(result, tmp_path):
    result.save(tmp_path / "out")
    with pytest.raises(ssdlab.InputError, match=r"or replace its results with force=True"):
        result.save(tmp_path / "out")


def test_notes_name_arguments(job, cli):
    (note,) = [note for note in ssdlab.run("tiny", job).notes if "never written" in note]
    assert "(precondition fill gives" in note
    assert "(--precondition fill gives" in cli("run", "tiny", job).stderr
    assert "(--precondition fill gives" in cli("run", "tiny", job, process=True).stderr


def test_the_command_names_flags(cli, job):
    for process in (False, True):
        assert "--precondition: unknown" in cli("run", "tiny", job, "--precondition", "stedy", process=process).stderr
        assert "--set flash.channels=0: " in cli("check", "tiny", "--set", "flash.channels=0", process=process).stderr


def test_a_quoted_command_keeps_its_flags():
    said = "x: as `ssdlab cell code --out` writes it; replace it with --force, or give --no-such-name"
    assert (
        words.with_argument_names(said)
        == "x: as `ssdlab cell code --out` writes it; replace it with force=True, or give no_such_name"
    )
    with words.as_flags():
        assert words.with_argument_names(said) == said


def test_the_cause_of_an_error_in_a_policy_is_kept(job):
    class Broken(ssdlab.Policy):
        def setup(self):
            raise KeyError("x")

    with pytest.raises(ssdlab.PolicyError) as refused:
        ssdlab.run("tiny", job, Broken)
    assert isinstance(refused.value.__cause__, KeyError)


def test_numbers_of_numpy_are_numbers(job, examples):
    plain = ssdlab.run("tiny", job, seed=7, stop_after=100, batches=2, set={"flash.channels": 4}).summary
    seed, stop, batches = np.uint64(7), np.int16(100), np.int32(2)
    found = ssdlab.run("tiny", job, seed=seed, stop_after=stop, batches=batches, set={"flash.channels": np.int64(4)}).summary
    assert {**plain, "wall_s": 0} == {**found, "wall_s": 0}
    workload = ssdlab.Workload(examples / TRACE, repeat=np.int64(2), time_scale=np.float32(2), max_requests=np.array(5))
    assert workload.options() == {"repeat": 2, "time_scale": 2.0, "max_requests": 5}
    assert sum(ssdlab.run("tiny", workload).commands.values()) == 10
    drive = ssdlab.Drive.from_dict({"base": "tiny", "flash": {"channels": np.int8(4)}})
    assert ssdlab.describe(drive)["channels"] == 4
    assert ssdlab.Session(limit=np.int64(1 << 20)).states.limit == 1 << 20
    assert ssdlab.lifetime("tiny", examples / TRACE, max_passes=np.int64(1)).report["passes"] == 1
    assert ssdlab.run("tiny", job, steady_state=np.bool_(False), stop_after=10).status == "complete"


def test_numbers_of_numpy_are_checked(job):
    with pytest.raises(ssdlab.InputError, match=r"seed = -1: expected a whole number"):
        ssdlab.run("tiny", job, seed=np.int64(-1))
    with pytest.raises(ssdlab.InputError, match=r"seed = 1\.5: expected a whole number"):
        ssdlab.run("tiny", job, seed=np.float64(1.5))


@pytest.mark.parametrize(
    ("drive", "shown"),
    [
        (lambda: ssdlab.Drive.open("tiny"), "<ssdlab.Drive tiny: 4 dies, 107 MiB, for tests>"),
        (lambda: ssdlab.Drive.from_text('base = "tiny"\n[flash]\ntitle = "no"'), "<ssdlab.Drive drive.toml>"),
        (lambda: ssdlab.Drive.from_dict({"title": "mine", "base": "tiny"}), "<ssdlab.Drive drive: mine>"),
        (lambda: ssdlab.Workload.from_text("[a]\nrw=read"), "<ssdlab.Workload text of 2 lines>"),
    ],
)
def test_what_is_long_is_shown_in_one_line(drive, shown):
    assert repr(drive()) == shown


def test_every_preset_is_shown_in_one_line():
    for preset in ssdlab.presets():
        assert repr(preset) == f"<ssdlab.Preset {preset.name}{preset.title.removeprefix(preset.name)}>" or preset.title in repr(
            preset
        )
        assert repr(ssdlab.Drive.open(preset.name)).replace("Drive", "Preset", 1) == repr(preset)


def test_tables_by_name(job):
    result = ssdlab.run("tiny", job, stop_after=100, record_commands=True, record_spans=True)
    assert result.to_arrow() is result.latency_table()
    assert result.to_arrow("timeline") is result.timeline_table()
    assert result.to_arrow("commands").num_rows == 100
    assert result.to_arrow("spans") == result.span_table()
    with pytest.raises(ssdlab.InputError, match=r"unknown table `comands`.*did you mean `commands`"):
        result.to_arrow("comands")
    with pytest.raises(ssdlab.InputError, match=r"spans: not recorded: expected a run with record_spans=True"):
        ssdlab.run("tiny", job, stop_after=10).to_arrow("spans")


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named_with_what_works_without_it(result, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"to_{package} needs {package}: pip install .*; to_arrow needs no other"):
        getattr(result, f"to_{package}")()
    if package == "pandas":
        with pytest.raises(ModuleNotFoundError, match="to_arrow"):
            result.timeline_frame()


class Tags(HTMLParser):
    """Tags that are open, and the texts."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def texts(page):
    """Returns the texts of a piece of HTML whose tags are closed in order."""
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags.texts


def test_notebooks_show_tables(result, comparison, job, tmp_path):
    assert {"latency", "p99.9", "write amplification"} <= {*texts(result._repr_html_())}
    shown = texts(comparison._repr_html_())
    assert {"write latency", *(run.policy for run in comparison.runs)} <= {*shown}
    assert any("×" in text for text in shown)
    spec = {"drive": "tiny", "workload": str(job), "options": {"stop_after": 50}, "seeds": 11}
    done = ssdlab.sweep({**spec, "vary": {"ftl.victim": ["greedy", "fifo"]}}, tmp_path / "runs", jobs=1)
    shown = texts(done._repr_html_())
    assert {"ftl.victim", "greedy", "throughput.iops", "2 more rows in .table"} <= {*shown}


def test_a_name_is_text_and_not_a_tag(tmp_path):
    path = tmp_path / "<b>.fio"
    path.write_text("[a]\nrw=read\nsize=1m\nnumber_ios=2")
    assert any("<b>.fio" in text for text in texts(ssdlab.run("tiny", path)._repr_html_()))
