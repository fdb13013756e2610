"""Policies in Python from the command line: a file and a class."""

from __future__ import annotations

import json
import signal

import pytest

from conftest import PATIENCE, wait_for_work, wait_until_heard
from policy_drive import LOAD

pytestmark = pytest.mark.slow

MINE = """\
import ssdlab


class Mine(ssdlab.Policy):
    relocations_apart = True

    def write(self, dispatch, view):
        return "fast"
"""


def test_the_command_takes_a_file_and_a_class(cli, job, tmp_path):
    (tmp_path / "here" / "mine.py").write_text(MINE)
    whole = cli("run", "tiny", job, "--policy", "mine.py:Mine", "--json")
    assert whole.returncode == 0, whole.stderr
    assert '"policy": "Mine"' in whole.stdout
    assert cli("run", "tiny", job, "--policy", "mine.py", "--json").returncode == 0
    both = cli("compare", "tiny", job, "--policy", "baseline,mine.py:Mine")
    assert both.returncode == 0, both.stderr
    assert "Mine" in both.stdout


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (MINE.replace('"fast"', "1 / 0"), "Mine", "mine.py:8: Mine.write: ZeroDivisionError: division by zero"),
        (MINE.replace('"fast"', '"fats"'), "Mine", "mine.py:7: Mine.write: unknown write mode `fats`"),
        (
            MINE.replace("import ssdlab", "import ssdlab, nowhere"),
            "Mine",
            "mine.py:1: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (MINE.replace("return", "retrun"), "Mine", "mine.py:8: SyntaxError: "),
        (MINE + "raise SystemExit(0)\n", "Mine", "SystemExit: 0"),
        (MINE + "    def __init__(self):\n        raise SystemExit\n", "Mine", "Mine.__init__: SystemExit"),
        (MINE + "    idle_afer = '1ms'\n", "Mine", "Mine.idle_afer: never read: did you mean `idle_after`?"),
        (
            MINE + "    def setup(self):\n        pass\n    def __init__(self):\n        self.host_steams = 2\n",
            "Mine",
            "`host_streams`?",
        ),
        (MINE, "Nine", "mine.py: unknown policy `Nine`: expected one of Mine (did you mean `Mine`?)"),
        (MINE, "ssdlab", "mine.py: `ssdlab` is not a subclass of ssdlab.Policy"),
        ("import ssdlab\n", None, "mine.py: defines no subclass of ssdlab.Policy"),
        (MINE + "class Other(Mine): pass\n", None, "mine.py: defines Mine, Other: expected mine.py:CLASS"),
        (None, "Mine", "mine.py: no such file"),
    ],
)
def test_the_command_says_where_a_file_is_wrong(cli, job, tmp_path, text, name, words):
    file = tmp_path / "here" / "mine.py"
    if text is not None:
        file.write_text(text)
    at = "mine.py" if name is None else f"mine.py:{name}"
    done = cli("run", "tiny", job, "--policy", at, "--out", "results", "--save", "aged.state", "--log-commands", "log.csv")
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert {path.name for path in (tmp_path / "here").iterdir()} <= {"mine.py", "__pycache__"}


def test_ctrl_c_ends_the_command_with_what_was_measured(start, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    running = start("run", "tiny", "LONG", "--policy", "mine.py:Mine", "--json")
    wait_until_heard(running)
    wait_for_work(running, 2.5)
    running.send_signal(signal.SIGINT)
    said, complaints = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, complaints
    assert '"status": "partial"' in said


def test_the_example_does_what_it_says(examples, cli, tmp_path):
    load = tmp_path / "bursts.fio"
    load.write_text(LOAD + "[later]\nstonewall\nstartdelay=2\nrw=randread\nnumber_ios=10\n")
    file = examples / "policies" / "burst_fast.py"
    done = cli("run", "tiny", load, "--policy", f"{file}:BurstFast", "--precondition", "fill", "--json")
    assert done.returncode == 0, done.stderr
    stats = json.loads(done.stdout)["policy_stats"]
    assert stats["fast_pages"] > 1000
    assert stats["rewritten_pages"] > 100
