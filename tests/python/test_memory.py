"""--max-memory: what is too large is refused before it is built, and what grows beyond the limit ends with an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ssdlab
from conftest import Command
from ssdlab import memory
from ssdlab.explore import pool

MIB = 1 << 20
JOB = "[job]\nrw=randwrite\nbs=4k\nnumber_ios=200\n"
LONG = "[job]\nrw=randwrite\nbs=4k\niodepth=4\ntime_based=1\nruntime=10d\nnorandommap=1\n"
SPEC = 'drive = "tlc-1tb"\nworkload = "job.fio"\nprecondition = "fill"\nvary."flash.channels" = [8, 16]\n'
REFUSED = r"--max-memory: the tables of tlc-1tb take [\d.]+ MiB, and the limit is 20 MiB: expected a smaller drive"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "tlc-1tb", "job.fio"),
        ("run", "tlc-1tb", "job.fio", "--out", "out", "--log-commands", "log.csv"),
        ("compare", "tlc-1tb", "job.fio", "--policy", "baseline,all_fast"),
        ("lifetime", "tlc-1tb", "job.fio", "--max-passes", "1"),
    ],
    ids=" ".join,
)
def test_a_drive_that_is_too_large_is_refused_before_it_is_built(cli: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "here" / "job.fio").write_text(JOB)
    done = cli(*words, "--precondition", "fill", "--max-memory", "20MiB")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert re.search(REFUSED, done.stderr), done.stderr
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["job.fio"]
    assert cli(*words, "--precondition", "fill", "--max-memory", "2GiB").returncode == 0


@pytest.mark.parametrize("words", [("sweep", "spec.toml"), ("optimise", "spec.toml", "--trials", "2")], ids=" ".join)
def test_runs_of_a_sweep_share_the_limit(cli: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    here = tmp_path / "here"
    (here / "job.fio").write_text(JOB)
    search = '\n[[objective]]\nkey = "cost"\n[optimise]\ncomparison = false\n'
    (here / "spec.toml").write_text(SPEC if words[0] == "sweep" else SPEC.replace("vary", "search") + search)
    done = cli(*words, "--out", "out", "--jobs", "2", "--max-memory", "20MiB")
    assert "2 failed" in done.stdout, done.stderr
    assert len(re.findall(REFUSED.replace("--max-", "max_"), done.stderr)) == 2, done.stderr


def test_no_run_gets_more_than_its_part() -> None:
    class Need:
        def __init__(self, memory: int) -> None:
            self.memory = memory

    few = pool.Pool(4, (), 100 * MIB)
    given = []
    for need in (10, 30, 40):
        given.append(few._allowance(Need(need * MIB)))
        few.workers.append(pool._Worker(None, None, Need(0), "", given[-1]))
    assert [one // MIB for one in given] == [25, 30, 40]
    assert few._allowance(Need(6 * MIB)) is None, "5 MiB are left"
    few.workers.clear()
    assert few._allowance(Need(500 * MIB)) == 100 * MIB, "alone, a run gets all"


def write_trace(path: Path, requests: int, step: int, region: int) -> Path:
    """Writes a trace of writes of 4 KiB that are `step` hundreds of nanoseconds apart, spread over 300,007 regions."""
    with path.open("w") as file:
        for at in range(requests):
            file.write(f"{128166372003061629 + step * at},hm,0,Write,{at * 7919 % 300007 * region},4096,1\n")
    return path


def test_a_backlog_without_end_ends_with_an_error(cli: Command, tmp_path: Path) -> None:
    """An open loop that submits far faster than the drive completes: 384 B for each command that waits."""
    behind = write_trace(tmp_path / "behind.csv", 400_000, 1, 4096)
    words = ("run", "tiny", behind, "--address", "wrap", "--max-memory", "60MiB")
    done = cli(*words, "--out", "out", "--log-commands", "log.csv", process=True)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert re.search(r"--max-memory: [\d.]+ MiB are in use, and the limit is 60 MiB: expected a smaller", done.stderr), (
        done.stderr
    )
    assert [*(tmp_path / "here").iterdir()] == []


def test_rows_in_memory_are_counted() -> None:
    with pytest.raises(ssdlab.InputError, match=r"max_memory: .* are in use, and the limit is 60 MiB"):
        ssdlab.run("tiny", ssdlab.Workload.from_text(LONG), record_commands=True, max_memory=60 * MIB)


def test_a_footprint_is_counted_before_the_run(cli: Command, sparse: Path) -> None:
    """Compact addresses are known once the whole trace has been read."""
    done = cli("run", "tiny", sparse, "--address", "compact", "--max-memory", "5MiB", process=True)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "are in use, and the limit is 5 MiB" in done.stderr


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace each of whose requests touches a region of its own, 1.2 KiB in an analysis."""
    return write_trace(tmp_path_factory.mktemp("sparse") / "sparse.csv", 300_000, 1000, 1 << 26)


@pytest.mark.parametrize("words", [("info",), ("retention",), ("access",), ("fit",)], ids=" ".join)
def test_an_analysis_of_a_sparse_trace_is_bounded(cli: Command, sparse: Path, words: tuple[str, ...]) -> None:
    done = cli("trace", *words, sparse, "--max-memory", "30MiB", process=True)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert re.search(r"--max-memory: [\d.]+ MiB are in use, and the limit is 30 MiB", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("many", "`many`"),
        ("0", "`0`"),
        ("-1GiB", "`-1GiB`"),
        ("0%", "expected more than nothing"),
        ("-5%", "expected a share of the free memory, such as 50%, or a size, such as 4GiB"),
        ("nan%", "expected a share"),
    ],
)
@pytest.mark.parametrize("words", [("run", "tiny", "job.fio"), ("trace", "info", "job.fio")], ids=" ".join)
def test_a_limit_that_is_none_is_refused(cli: Command, tmp_path: Path, words: tuple[str, ...], given: str, said: str) -> None:
    (tmp_path / "here" / "job.fio").write_text(JOB)
    done = cli(*words, f"--max-memory={given}")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert f"--max-memory: `{given}`" in done.stderr, done.stderr
    assert said in done.stderr


def test_the_limit_is_a_share_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine", lambda: (16 << 30, 10 << 30))
    assert memory.limit_bytes(None) == 9 << 30
    assert memory.limit_bytes("50%") == 5 << 30
    assert memory.limit_bytes("200 %") == 20 << 30
    assert memory.limit_bytes("1.5GiB") == 3 << 29
    monkeypatch.setattr(memory, "machine", lambda: (None, None))
    assert memory.limit_bytes(None) > 64 * MIB


def test_control_groups_limit_what_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, free = memory.machine()
    assert whole is not None
    assert free is not None
    group = tmp_path / "memory" / "jobs" / "mine"
    group.mkdir(parents=True)
    (group.parent / "memory.limit_in_bytes").write_text(f"{100 * MIB}\n")
    (group.parent / "memory.usage_in_bytes").write_text(f"{70 * MIB}\n")
    (group.parent / "memory.stat").write_text(f"cache 5\ntotal_inactive_file {20 * MIB}\n")
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    monkeypatch.setattr(memory, "_folders", lambda: iter([(1, group), (1, group.parent)]))
    assert memory.machine() == (100 * MIB, 50 * MIB)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    monkeypatch.setattr(memory, "_folders", lambda: iter([(2, tmp_path)]))
    assert memory.machine()[0] == whole


def test_a_limit_changes_no_result(tmp_path: Path) -> None:
    load = ssdlab.Workload.from_text(JOB)
    one, other = ssdlab.run("tiny", load), ssdlab.run("tiny", load, max_memory="1GiB")
    one.save(tmp_path / "one")
    other.save(tmp_path / "other")
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "other" / "manifest.json").read_bytes()
    first, second = ({**result.summary, "wall_s": 0} for result in (one, other))
    assert first == second
