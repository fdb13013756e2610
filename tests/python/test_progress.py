"""Progress in words, with a clock that the tests set."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from ssdlab import Progress
from ssdlab.cli.progress import Lines, Stage, _Bar, clock_time


class Clock:
    """Wall clock of a test."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_stage_has_share_rate_and_time_left():
    clock = Clock()
    stage = Stage(clock)
    assert stage.enter(Progress("precondition", 0, 0, 0.0))
    clock.now += 3
    half = Progress("precondition", 0, 0, 0.25)
    assert (stage.enter(half), stage.title(), stage.facts(half)) == (False, "preconditioning", "25 % · 0:09 left")
    first = Progress("run", 1_000_000, 100, 0.1)
    assert stage.enter(first)
    clock.now += 10
    later = Progress("run", 2_000_000_000, 5100, 0.6)
    assert not stage.enter(later)
    assert stage.facts(later) == "60 % · 2.00 s simulated · 5,100 commands · 500 commands/s · 0:08 left"
    unknown = Progress("run", 3_000_000_000, 6100, None)
    stage.enter(unknown)
    assert stage.facts(unknown) == "3.00 s simulated · 6,100 commands · 600 commands/s"
    assert stage.enter(Progress("run", 0, 10, 0.0)), "a run that rests in between has two measured parts"


def test_without_a_terminal_a_line_comes_every_ten_seconds():
    clock, said = Clock(), []
    lines = Lines("run", said.append, clock)
    for second in range(36):
        clock.now = 100.0 + second
        assert lines.report(Progress("run", second * 10**9, second * 1000, second / 40))
    assert [line.split(" · ")[0] for line in said] == ["run: running: 25 %", "run: running: 50 %", "run: running: 75 %"]
    assert said[1].endswith("0:20 left")


def test_a_bar_goes_on_after_a_stage_of_known_share():
    bars = Bars(console=Console(file=io.StringIO()))
    bar = _Bar("run", bars)
    bar.report(Progress("precondition", 0, 0, 1.0))
    bar.report(Progress("run", 5, 1, None))
    (task,) = bars.tasks
    assert (task.description, task.total, task.completed) == ("run: running", None, 0.0)
    bar.report(Progress("run", 9, 2, 0.5))
    assert (bars.tasks[0].total, bars.tasks[0].completed) == (1.0, 0.5)


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, "0:00"), (65, "1:05"), (7205, "2:00:05")])
def test_wall_time_is_shown_as_on_a_clock(seconds, shown):
    assert clock_time(seconds) == shown


def test_no_line_is_said_of_a_short_run(cli, job):
    done = cli("run", "tiny", job)
    assert done.returncode == 0
    assert "run: running" not in done.stderr
