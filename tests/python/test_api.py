"""The Python interface."""

from __future__ import annotations

import ast
import inspect
import os
import pickle
import pydoc
import signal
import threading
import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ssdlab
from conftest import LONG
from ssdlab import toml


def test_numbers_are_typed(result):
    assert isinstance(result.latency["read"].p99_ns, int)
    assert isinstance(result.latency["read"].mean_ns, float)
    assert isinstance(result.iops, float)
    assert result.status == "complete"
    assert result.latency["all"].count == result.commands["read"] + result.commands["write"]


def test_a_percentile_without_ten_samples_beyond_is_none(job):
    few = ssdlab.run("tiny", ssdlab.Workload.from_text("[few]\nrw=randread\nnumber_ios=50\n"))
    assert few.latency["read"].p50_ns is not None
    assert few.latency["read"].p99_ns is None
    assert few.latency["write"].count == 0
    assert few.latency["write"].mean_ns is None
    assert few.write_amplification is None


@pytest.mark.parametrize("name", [name for name in dir(ssdlab.Result) if name.startswith("plot_")])
def test_every_plot_is_a_figure(result, name):
    assert isinstance(getattr(result, name)(), go.Figure)


def test_recorded_commands_add_up(result):
    table = result.command_table()
    assert table is not None
    assert table.num_rows == sum(result.commands.values())
    submitted, completed = (table.column(name).to_numpy() for name in ("submitted_ns", "completed_ns"))
    causes = [name for name in table.column_names if name.endswith("_ns") and name not in ("submitted_ns", "completed_ns")]
    assert causes
    total = sum(table.column(name).to_numpy() for name in causes)
    assert (total == completed - submitted).all()


def test_tables_are_recorded_only_when_asked_for(job):
    plain = ssdlab.run("tiny", job)
    assert plain.command_table() is None
    assert plain.span_table() is None


def test_a_drive_may_be_a_dictionary(job):
    fields = tomllib.loads(ssdlab.check("tiny"))
    assert tomllib.loads(ssdlab.check(fields)) == fields
    assert ssdlab.run(fields, job).summary["latency"] == ssdlab.run("tiny", job).summary["latency"]


def test_a_run_stops_when_told_to():
    seen: list[ssdlab.Progress] = []

    def stop(progress: ssdlab.Progress) -> bool:
        seen.append(progress)
        return len(seen) < 3

    result = ssdlab.run("tiny", ssdlab.Workload.from_text(LONG), progress=stop)
    assert result.status == "partial"
    assert len(seen) == 3
    assert seen[-1].commands > 0


def test_an_error_in_the_progress_hook_comes_through():
    def fail(progress: ssdlab.Progress) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ssdlab.run("tiny", ssdlab.Workload.from_text(LONG), progress=fail)


def test_ctrl_c_hands_over_the_partial_result():
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(ssdlab.Interrupted) as stopped:
        ssdlab.run("tiny", ssdlab.Workload.from_text(LONG))
    timer.join()
    assert stopped.value.result.status == "partial"
    assert stopped.value.result.latency["write"].count > 0


def test_the_interpreter_is_free_while_the_engine_runs():
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.005):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    ssdlab.run(
        "tiny",
        ssdlab.Workload.from_text("[job]\nrw=randwrite\niodepth=8\ntime_based=1\nruntime=60s\nnorandommap=1\n"),
    )
    done.set()
    thread.join()
    assert ticks >= 5


def test_two_drives_at_once_share_nothing(job):
    alone = ssdlab.run("tiny", job).summary["latency"]
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(ssdlab.run("tiny", job).summary["latency"])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [alone] * 3


def test_ratios_are_null_where_there_is_no_number(comparison):
    ratios = comparison.ratios
    assert ratios[0]["write_amplification"] in (1.0, None)
    for run, ratio in zip(comparison.runs, ratios, strict=True):
        assert list(ratio["latency"]) == list(run.summary["latency"])
        for op, numbers in ratio["latency"].items():
            assert list(numbers) == list(run.summary["latency"][op])
            for name, value in numbers.items():
                both = (run.summary["latency"][op][name], comparison.runs[0].summary["latency"][op][name])
                assert (value is None) == (both[0] is None or not both[1])


def test_everything_public_is_documented():
    for name in ssdlab.__all__:
        thing = getattr(ssdlab, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__.startswith("ssdlab."):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_help_shows_texts_and_not_objects():
    page = pydoc.plain(pydoc.render_doc(ssdlab.Result))
    assert "Latency of ``all``, ``read`` and ``write`` commands." in page
    assert "functools" not in page


def test_the_greatest_seed(job):
    assert ssdlab.run("tiny", job, seed=2**64 - 1).seed == 2**64 - 1


def test_every_public_name_is_imported_from_its_module():
    typed = ast.parse(Path(ssdlab.__file__).read_text())
    block = next(node for node in typed.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    names = {node.module: tuple(alias.name for alias in node.names) for node in imports}
    assert names.pop("ssdlab") == ssdlab._MODULES
    assert names == ssdlab._NAMES
    assert {*ssdlab._MODULES, *ssdlab._HOMES, "__version__"} == {*ssdlab.__all__}
    assert {*ssdlab.__all__} <= {*dir(ssdlab)}
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        ssdlab.rnu  # noqa: B018


def test_a_result_can_be_copied_to_another_process(job):
    result = ssdlab.run("tiny", job, stop_after=100)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.latency_table() == result.latency_table()
    assert copy.timeline_table() == pickle.loads(pickle.dumps(result)).timeline_table()


SCALARS = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_any_dictionary_survives_the_way_through_toml(fields):
    assert tomllib.loads(toml.document(fields)) == fields
    line = toml.value(fields)
    assert "\n" not in line
    assert tomllib.loads(f"value = {line}")["value"] == fields


@pytest.mark.parametrize("value", [None, [None], {"a": {1: 2}}, object()])
def test_a_value_that_toml_does_not_have_is_refused(value):
    with pytest.raises(ssdlab.InputError, match="a description cannot hold this"):
        ssdlab.Drive.from_dict({"base": "tiny", "title": value})


def test_an_argument_that_nothing_can_be_made_of_is_refused(job):
    itself: dict[str, object] = {}
    itself["a"] = itself
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    for drive in (itself, {"base": "tiny", "flash": {"write_mode": deep}}):
        with pytest.raises(ssdlab.InputError, match="more than 64 tables or lists in each other"):
            ssdlab.run(drive, job)
    for call in (
        lambda: ssdlab.run("tiny", itself),
        lambda: ssdlab.run("tiny", job, set={"flash.channels": itself}),
        lambda: ssdlab.compare("tiny", job, vary={"flash.channels": [itself, 1]}),
        lambda: ssdlab.run("tiny", job, load=b"x"),
        lambda: ssdlab.run("tiny", job, faults=b"x"),
        lambda: ssdlab.run("tiny", job, save="\0"),
        lambda: ssdlab.run("tiny", job, timeline="\0"),
        lambda: ssdlab.run("tiny", "n" * 300),
        lambda: ssdlab.run("n" * 300, job),
        lambda: ssdlab.load_result("n" * 300),
        lambda: ssdlab.load_sweep("n" * 300),
        lambda: ssdlab.load_optimisation("n" * 300),
    ):
        with pytest.raises(ssdlab.InputError):
            call()
    for call in (lambda: ssdlab.run("tiny", job, session=5), lambda: ssdlab.lifetime("tiny", job, session=5)):
        with pytest.raises(TypeError, match=r"session: 5: expected an ssdlab\.Session"):
            call()


def test_a_script_of_faults_may_be_a_path(job, tmp_path):
    script = tmp_path / "faults.toml"
    script.write_text("erase_fails = [{ block = 3, number = 1 }]\n")
    one, two = (ssdlab.run("tiny", job, faults=name, stop_after=100) for name in (script, str(script)))
    assert one.summary["health"] == two.summary["health"]
