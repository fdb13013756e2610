"""Power failure from the command line and from Python, and its display."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ssdlab

JOB = """\
[burst]
rw=randwrite
bs=4k
iodepth=256
number_ios=8000
norandommap=1
io_size=100g
"""
#: A drive with the paper's cell at its rated wear and derived modes.
DRIVE = {
    "base": "tiny",
    "flash": {
        "cell": "mlc",
        "cell_model": "ofwar-mlc",
        "rated_pe_cycles": 10_000,
        "write_mode": [
            {"name": "normal", "derive": {"retention": "10y", "at_pe_cycles": 10_000}},
            {"name": "fast", "derive": {"retention": "4d", "at_pe_cycles": 10_000}},
        ],
    },
    "state": {"pe_cycles": 10_000},
}
ARGUMENTS = ("--policy", "ofwar", "--precondition", "fill", "--power-cut", "300ms,graceful", "--power-down")


@pytest.fixture
def burst(tmp_path: Path) -> Path:
    path = tmp_path / "burst.fio"
    path.write_text(JOB)
    return path


def failed(down: str, **settings: object) -> ssdlab.Result:
    workload = ssdlab.Workload.from_text(JOB)
    given = {f"policy.ofwar.{name}": value for name, value in settings.items()}
    return ssdlab.run(
        DRIVE,
        workload,
        "ofwar",
        set=given,
        precondition="fill",
        record_commands=True,
        power_cut="300ms,graceful",
        power_down=down,
    )


def test_command_line_and_python_tell_the_same(cli, burst):
    drive = "tiny"
    done = cli("run", drive, burst, *ARGUMENTS, "5d", "--json")
    assert done.returncode == 0, done.stderr
    assert "pages were past their retention limit when power came back after 5d" in done.stderr
    printed = json.loads(done.stdout)
    result = ssdlab.run(drive, str(burst), "ofwar", precondition="fill", power_cut="300ms,graceful", power_down="5d")
    assert printed["power_failure"] == result.summary["power_failure"]
    assert printed["reliability"]["at_risk_pages"] == result.summary["power_failure"]["at_risk_pages"] > 0


def test_what_is_at_risk_and_lost_grows_with_the_power_down():
    found = [failed(down).summary["power_failure"] for down in ("3d", "5d", "1y", "9y")]
    at_risk = [each["at_risk_pages"] for each in found]
    lost = [each["lost_pages"] for each in found]
    assert at_risk[0] == 0 < at_risk[1] == at_risk[2] == at_risk[3]
    assert lost[:2] == [0, 0]
    assert 0 < lost[2] < lost[3] < at_risk[3]


def test_the_supercapacitor_saves_what_it_lasts_for():
    found = [failed("1h", supercap_time=time).summary["power_failure"]["policy_entries"] for time in ("0s", "600us", "10ms")]
    assert [each["saved"] for each in found] == [0, min(1024, found[1]["held"]), found[2]["held"]]
    assert all(each["saved"] + each["lost"] == each["held"] > 0 for each in found)


def test_the_power_down_is_in_no_latency_and_no_rate():
    result = failed("30d")
    assert result.simulated_ns < 60e9
    assert result.latency["write"].max_ns < 60e9
    commands = result.command_table()
    assert commands is not None
    assert max(commands["completed_ns"].to_pylist()) > 30 * 86_400e9
    assert result.timeline_table()["time_ns"].to_pylist()[-1] < 60e9


def test_it_is_shown_where_one_looks(cli, burst, tmp_path):
    out = tmp_path / "out"
    done = cli("run", "tiny", burst, *ARGUMENTS, "5d", "--out", out)
    assert done.returncode == 0, done.stderr
    for words in ("power failure", "at risk pages", "policy entries saved", "lost pages unknown"):
        assert words in done.stdout, done.stdout
    report = (out / "report.html").read_text()
    assert "Power failure" in report
    assert "at risk pages" in report
    assert "Power failure" not in cli("run", "tiny", burst, "--precondition", "fill").stdout
    table = cli(
        "compare", "tiny", burst, "--policy", "baseline,ofwar", "--power-cut", "300ms,graceful", "--power-down", "5d"
    ).stdout
    assert "power failure" in table
    assert "policy entries held" in table


def test_a_loss_of_power_without_warning_is_told(cli, burst):
    done = cli("run", "tiny", burst, "--precondition", "fill", "--power-cut", "event:3000", "--json")
    assert done.returncode == 0, done.stderr
    for words in ("at event 3000", "volatile: the write buffer held", "durable: 0 units", "recovery took"):
        assert words in done.stderr, done.stderr
    failure = json.loads(done.stdout)["power_failure"]
    assert (failure["kind"], failure["event"], failure["durable_lost"]) == ("abrupt", 3000, 0)
    assert failure["recovery_reads"] > 0 < failure["recovery_ns"]
    assert failure["policy_entries"] is None


def test_lost_pages_are_a_warning(tmp_path):
    result = failed("9y")
    result.save(tmp_path / "lost")
    assert "pages lost while the drive was without power" in (tmp_path / "lost" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--power-cut", "event:many"), "--power-cut: event:many: expected event:N"),
        (("--power-down", "1d"), "--power-cut: missing"),
        (("--power-cut", "-1s", "--power-down", "1d"), "--power-cut: a negative value"),
        (("--power-cut", "1s", "--power-down", "0s"), "--power-down: 0: expected a duration above zero"),
        (("--power-cut", "1s", "--power-down", "1d", "--steady-state"), "only one of --power-cut, --steady-state"),
    ],
)
def test_bad_input_is_refused(cli, burst, arguments, complaint):
    done = cli("run", "tiny", burst, *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_cut_beyond_the_end_is_told_and_changes_nothing(cli, burst):
    plain = json.loads(cli("run", "tiny", burst, "--json").stdout)
    done = cli("run", "tiny", burst, "--json", "--power-cut", "10h", "--power-down", "1d")
    late = json.loads(done.stdout)
    assert "power did not fail: the workload ended after" in done.stderr
    assert {**late, "wall_s": 0} == {**plain, "wall_s": 0}


def test_a_lifetime_knows_no_power_failure(cli, burst):
    done = cli("lifetime", "tiny", burst, "--power-cut", "1s", "--power-down", "1d")
    assert done.returncode == 2
    assert "No such option: --power-cut" in done.stderr
