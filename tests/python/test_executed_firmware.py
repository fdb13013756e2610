"""Firmware that a core executes, from the command line and from Python."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ssdlab

JOB = """\
[mix]
rw=randrw
bs=4k
iodepth=8
number_ios=3000
io_size=100g
"""
#: A drive whose decisions the built-in firmware makes.
EXECUTED = {"controller.firmware.kind": "riscv", "ftl.wear_leveling": "none", "ftl.partial_write": "whole"}
SETS = [argument for field, value in EXECUTED.items() for argument in ("--set", f"{field}={value}")]


@pytest.fixture
def mix(tmp_path: Path) -> Path:
    path = tmp_path / "mix.fio"
    path.write_text(JOB, encoding="utf-8")
    return path


def test_its_work_adds_up_and_its_time_is_that_of_its_clock(mix):
    def run(clock: str) -> ssdlab.Result:
        return ssdlab.run("tiny", mix, set={**EXECUTED, "controller.firmware.clock": clock}, precondition="steady")

    slow, fast = run("50MHz"), run("800MHz")
    firmware = slow.summary["firmware"]
    for parts in (firmware["tasks"], firmware["functions"]):
        for unit in ("instructions", "cycles"):
            assert sum(part[unit] for part in parts.values()) == firmware[unit] > 0
    assert firmware["tasks"]["look_up"]["instructions"] > 0
    assert {"collect", "firmware"} <= firmware["functions"].keys()
    assert slow.summary["commands"] == fast.summary["commands"]
    assert slow.latency["read"].mean_ns > fast.latency["read"].mean_ns
    of_slow, of_fast = (each.summary["causes"]["read"]["firmware"] for each in (slow, fast))
    assert of_slow > 10 * of_fast > 0


def test_the_work_of_several_cores_adds_up_and_is_printed(cli, mix):
    cores = {"controller.firmware.cores": 3, "controller.firmware.split": "task"}
    firmware = ssdlab.run("tiny", mix, set={**EXECUTED, **cores}, precondition="steady").summary["firmware"]
    for unit in ("instructions", "cycles"):
        assert sum(core[unit] for core in firmware["cores"].values()) == firmware[unit]
    assert list(firmware["cores"]) == ["0", "1", "2"]
    # The first core serves the reads alone, of some tens of instructions each.
    assert 0 < firmware["cores"]["0"]["cycles"] < firmware["cores"]["1"]["cycles"]
    several = [argument for field, value in cores.items() for argument in ("--set", f"{field}={value}")]
    done = cli("run", "tiny", str(mix), *SETS, *several, "--precondition", "steady", "--profile-firmware", "--quiet")
    assert done.returncode == 0, done.stderr
    assert re.search(r"firmware by task.*firmware by core.*firmware by function.*lock wait", done.stdout, re.DOTALL)


def test_a_record_has_the_cycles_of_a_run_and_its_replay_their_time(cli, mix, tmp_path):
    trace = tmp_path / "x.fw"
    first = ssdlab.run("tiny", mix, set=EXECUTED, precondition="steady", record_firmware=trace)
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["ssdlab firmware trace 2", "processor 1 400000000"]
    replay = {"ftl.translation": {"kind": "replay", "file": str(trace)}, "ftl.partial_write": "whole"}
    again = ssdlab.run("tiny", mix, set={**replay, "ftl.wear_leveling": "none"}, precondition="steady")
    assert again.summary["latency"] == first.summary["latency"]
    played = again.summary["translation"]["processor_ns"]
    assert 0.99 < played / (first.summary["firmware"]["cycles"] * 2.5) <= 1.0


def test_its_profile_is_printed(cli, mix):
    done = cli("run", "tiny", str(mix), *SETS, "--precondition", "steady", "--profile-firmware", "--quiet")
    assert done.returncode == 0, done.stderr
    assert re.search(r"firmware by task.*look_up.*firmware by function.*collect.*", done.stdout, re.DOTALL)
    assert re.search(r"^\W*all\W+[\d,]+\W+[\d,]+\W+100", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile-firmware"], "no core executes firmware of kind"),
        ([*SETS, "--profile-firmware", "--json"], "--json has it as `firmware`"),
        ([*SETS, "--set", "policy.kind=ofwar"], "executed firmware does not make"),
        ([*SETS, "--set", "ftl.wear_leveling=static"], "ftl.wear_leveling"),
        ([*SETS, "--set", "controller.firmware.image=nothing.elf"], "nothing.elf"),
        ([*SETS, "--power-cut", "1ms"], "--power-cut"),
        ([*SETS, "--save", "saved.ssdlab"], "--save"),
    ],
)
def test_what_it_does_not_do_is_refused(cli, mix, arguments, message):
    done = cli("run", "tiny", str(mix), *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_file_that_is_no_executable_is_refused_by_name(cli, mix, tmp_path):
    image = tmp_path / "text.elf"
    image.write_text("no executable", encoding="utf-8")
    done = cli("run", "tiny", str(mix), *SETS, "--set", f"controller.firmware.image={image}")
    assert done.returncode == 2
    assert "text.elf" in done.stderr


def test_a_hang_ends_the_run_with_its_place(cli, mix):
    done = cli("run", "tiny", str(mix), *SETS, "--set", "controller.firmware.watchdog=1us", "--json")
    assert done.returncode == 2
    assert re.search(r"0x[0-9a-f]+", done.stderr), done.stderr
    with pytest.raises(json.JSONDecodeError):
        json.loads(done.stdout)
