"""Workloads as a newcomer has them: job files of others, tables with a header, pipes."""

from __future__ import annotations

import json

import pytest

from ssdlab.explore.expression import Expression, quantity

JOB = "[job]\nrw=randwrite\nnumber_ios=10\nfsync=2\nwrite_lat_log=x\nlog_avg_msec=100\n"
TABLE = "Timestamp,Type,Offset,Size\n2024-05-01T12:00:00Z,WRITE,0,4KiB\n2024-05-01T12:00:01Z,read,0,4096\n"


def test_a_job_is_read_from_standard_input(cli):
    done = cli("run", "tiny", "-", "--json", input=JOB)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["commands"] == {"read": 0, "write": 10, "trim": 0, "flush": 4}
    assert "standard input: read and ignored: write_lat_log, log_avg_msec" in done.stderr


def test_standard_input_is_read_once_for_all_policies(cli):
    done = cli("compare", "tiny", "-", "--policy", "baseline,all_fast", "--json", input=JOB)
    assert done.returncode == 0, done.stderr
    assert [run["commands"]["write"] for run in json.loads(done.stdout)["runs"]] == [10, 10]


def test_a_table_with_a_header_is_read_from_standard_input(cli):
    columns = "time=Timestamp:iso,op=Type,offset=Offset:B,size=Size:B"
    done = cli("trace", "info", "-", "--columns", columns, "--json", input=TABLE)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["reads"], facts["writes"], facts["span_ns"]) == (1, 1, 1_000_000_000)
    done = cli("trace", "info", "-", "--columns", columns.replace("Type", "Kind"), input=TABLE)
    assert done.returncode == 2
    assert "standard input:1: header: " in done.stderr


def test_a_refused_key_says_why_and_can_be_left_out(cli, tmp_path):
    job = tmp_path / "job.fio"
    job.write_text(JOB + "verify=crc32c\n")
    done = cli("run", "tiny", job)
    assert done.returncode == 2
    assert "job.fio:7: fio key `verify` is refused: commands carry no data here" in " ".join(done.stderr.split())
    done = cli("run", "tiny", job, "--ignore", "verify,fsync", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["commands"]["flush"] == 0
    assert "left out, as --ignore says: fsync, verify" in done.stderr


@pytest.mark.parametrize("unit", ["us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"])
def test_microseconds_have_three_spellings(cli, tmp_path, unit):
    assert quantity(f"5{unit}") == quantity("5us")
    assert Expression.parse(f"t < 5{unit}") is not None
    model = tmp_path / "model.toml"
    job = f'name = "a"\npattern = "random"\nread_share = 0.0\nrequests = 10\nstart_delay = "5{unit}"\n'
    model.write_text(f'kind = "synthetic"\n[[job]]\n{job}', encoding="utf-8")
    assert cli("check", "tiny").returncode == 0
    done = cli("run", "tiny", model, "--json")
    assert done.returncode == 0, done.stderr
