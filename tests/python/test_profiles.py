"""Profiles of diskspd and scenarios of MQSim as workloads of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

import ssdlab
from conftest import Command
from test_bounds import assert_refused

PROFILE = """\
<Profile>
  <TimeSpans>
    <TimeSpan>
      <Duration>1</Duration>
      <Warmup>0</Warmup>
      <Targets>
        <Target>
          <Path>t.dat</Path>
          <FileSize>16777216</FileSize>
          <BlockSize>4096</BlockSize>
          <Random>4096</Random>
          <RequestCount>8</RequestCount>
          <WriteRatio>25</WriteRatio>
          <BurstSize>6</BurstSize>
          <ThinkTime>20</ThinkTime>
        </Target>
      </Targets>
    </TimeSpan>
  </TimeSpans>
</Profile>
"""


def test_bursts_and_pauses():
    result = ssdlab.run("tiny", ssdlab.Workload.from_text(PROFILE), precondition="fill", record_commands=True)
    commands = result.command_table()
    submitted = sorted(commands["submitted_ns"].to_pylist())
    completed = sorted(commands["completed_ns"].to_pylist())
    bursts = [submitted[at : at + 6] for at in range(0, len(submitted), 6)]
    # A burst fits into what may be in flight; the next begins 20 ms after all of it is complete.
    assert 45 <= len(bursts) <= 51
    assert all(len(set(burst)) == 1 for burst in bursts)
    ends = [completed[at + 5] for at in range(0, len(completed), 6)]
    assert {later[0] - end for end, later in zip(ends, bursts[1:], strict=False)} == {20_000_000}
    assert max(commands["offset"].to_pylist()) < 16 << 20


def test_profile_as_a_file(cli: Command, tmp_path: Path):
    path = tmp_path / "profile.xml"
    path.write_text(
        PROFILE.replace("<BurstSize>6</BurstSize>", "<IOPriority>3</IOPriority>").replace("<ThinkTime>20</ThinkTime>", "")
    )
    done = cli("run", "tiny", path, "--precondition", "fill", "--out", "out", process=True)
    assert done.returncode == 0, done.stderr
    assert "read and ignored: IOPriority" in done.stderr
    assert 'kind = "diskspd"' in (tmp_path / "here" / "out" / "workload.toml").read_text()
    path.write_text(PROFILE.replace("<Random>4096", "<Random>many"))
    assert_refused(cli("run", "tiny", path), f"{path}:11: <Random>: `many`: expected a whole number")
    path.write_text(PROFILE.replace("<Path>", "<ThreadTargets/><Path>"))
    assert_refused(cli("run", "tiny", path), f"{path}:8: <ThreadTargets>: refused: threads do not differ")
    done = cli("run", "tiny", path, "--ignore", "ThreadTargets", "--precondition", "fill", process=True)
    assert done.returncode == 0, done.stderr
    assert "left out, as --ignore says: ThreadTargets" in done.stderr


@pytest.mark.parametrize("document", ["<!DOCTYPE x [<!ENTITY a 'b'>]><Profile>&a;</Profile>", "<Profile>", "<svg/>"])
def test_other_documents(cli: Command, tmp_path: Path, document: str):
    path = tmp_path / "other.xml"
    path.write_text(document)
    assert_refused(cli("run", "tiny", path, "--out", "out"), "other.xml:1")
    assert list((tmp_path / "here").iterdir()) == []


def test_scenario_of_mqsim():
    flow = (
        "<Working_Set_Percentage>50</Working_Set_Percentage><Address_Distribution>RANDOM_UNIFORM</Address_Distribution>"
        "<Address_Alignment_Unit>8</Address_Alignment_Unit><Average_Request_Size>8</Average_Request_Size>"
        "<Average_No_of_Reqs_in_Queue>32</Average_No_of_Reqs_in_Queue><Stop_Time>0</Stop_Time>"
        "<Total_Requests_To_Generate>2000</Total_Requests_To_Generate>"
    )
    flow = f"<IO_Flow_Parameter_Set_Synthetic>{flow}</IO_Flow_Parameter_Set_Synthetic>"
    text = f"<MQSim_IO_Scenarios><IO_Scenario>{flow}</IO_Scenario></MQSim_IO_Scenarios>"
    result = ssdlab.run("tiny", ssdlab.Workload.from_text(text), precondition="fill")
    assert result.commands["read"] == 2000
