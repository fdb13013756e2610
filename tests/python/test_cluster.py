"""Sweeps on a Dask cluster: the rows are those of one process, whatever happens to the workers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import ssdlab
from conftest import LONG, wait_for
from ssdlab.explore import cluster as clusters
from ssdlab.explore import errands
from ssdlab.explore.cluster import Cluster, difference
from ssdlab.explore.errands import Errand, File
from ssdlab.explore.folder import read_rows
from ssdlab.explore.spec import Spec
from ssdlab.explore.tasks import tasks

JOB = "[mixed]\nrw=randrw\nbs=4k\niodepth=8\nnorandommap=1\nnumber_ios=1000\n"
SPEC = """\
drive = "tiny"
workload = "job.fio"
precondition = "steady"
seeds = [1, 2]
[vary]
"ftl.overprovisioning" = [0.07, 0.28]
"ftl.victim" = ["greedy", "fifo"]
"""
#: Columns that differ between equal runs.
TIMES = ["wall_s", "setup_s"]


@pytest.fixture(scope="module")
def local():
    """A cluster of two worker processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def address(local):
    """The address of its scheduler, with both workers there."""
    local.wait_for_workers(2)
    return local.scheduler_address


@pytest.fixture
def client(address):
    """A client of the test's own."""
    with Client(address, set_as_default=False) as client:
        yield client


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a job and a specification, in which the test works."""
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "job.fio").write_text(JOB)
    (folder / "spec.toml").write_text(SPEC)
    monkeypatch.chdir(folder)
    return folder


def test_rows_are_those_of_one_process_in_the_order_of_the_design(here, address, cli):
    seen = []
    done = ssdlab.sweep("spec.toml", "out", scheduler=address, progress=lambda _: seen.append(read_rows("out").num_rows))
    assert (done.table.num_rows, done.new, done.failed) == (8, 8, 0)
    # Each row is written as it arrives.
    assert seen == list(range(1, 9))
    alone = ssdlab.sweep("spec.toml", "alone", jobs=1)
    assert done.table.drop(TIMES).equals(alone.table.drop(TIMES))
    again = cli("sweep", here / "spec.toml", "--out", here / "out", "--scheduler", address, "--json")
    assert (again.returncode, json.loads(again.stdout)["new"]) == (0, 0)


def processing(client: Client) -> dict[str, int]:
    """Returns the number of runs that each worker has, as the scheduler knows it."""
    return {worker: len(keys) for worker, keys in client.processing().items()}


PATIENT = """\
import os, time
import ssdlab


class Patient(ssdlab.Policy):
    number = None

    def write(self, dispatch, view):
        if self.number is None:
            self.number = self.begun()
        if self.number == 3:
            with open("HERE/waits.new", "w") as file:
                file.write(str(os.getpid()))
            os.replace("HERE/waits.new", "HERE/waits")
            while True:
                time.sleep(1)
        return "normal"

    def begun(self):
        number = 0
        while True:
            try:
                os.close(os.open(f"HERE/run-{number}", os.O_CREAT | os.O_EXCL))
                return number
            except FileExistsError:
                number += 1
"""


class Killer:
    """Kills the worker whose run waits for that, once some rows are there."""

    def __init__(self, client: Client, waits: Path) -> None:
        self.client = client
        self.waits = waits
        self.killed: str | None = None
        self.said = ""

    def __call__(self, progress: ssdlab.SweepProgress) -> None:
        if self.killed is not None or progress.done < 1:
            return
        wait_for(self.waits.exists, "no run waits to be killed")
        pid = int(self.waits.read_text())
        self.killed = next(worker for worker, own in self.client.run(os.getpid).items() if own == pid)
        self.said = f"after {progress.done} rows: kill -9 {pid}, the worker {self.killed}, in the middle of a run"
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_no_row(here, address, client):
    """The fourth run to begin waits in its middle until its worker is killed; begun again, it does not."""
    (here / "patient.py").write_text(PATIENT.replace("HERE", str(here)))
    text = SPEC.replace("[1, 2]", "3").replace("[vary]", f"policy = '{here}/patient.py:Patient'\n[vary]")
    (here / "spec.toml").write_text(text)
    # First, so that nothing is imported while the cluster works. No run of it is the fourth.
    (here / "run-3").touch()
    alone = ssdlab.sweep("spec.toml", "alone", jobs=1)
    for begun in here.glob("run-*"):
        begun.unlink()
    killer = Killer(client, here / "waits")
    said: list[str] = []
    done = ssdlab.sweep("spec.toml", "out", scheduler=address, progress=killer, remark=said.append)
    assert killer.killed is not None
    assert said == [f"worker {killer.killed} is lost: 1 run is begun again"]
    assert (done.table.num_rows, done.new, done.failed) == (12, 12, 0)
    assert done.table["index"].to_pylist() == list(range(12))
    is_same = done.table.drop(TIMES).equals(alone.table.drop(TIMES))
    there = f"{len(client.nthreads())} workers at the end, the killed one among them: {killer.killed in client.nthreads()}"
    same = f"{done.table.num_rows} rows, those of one process but for wall times: {is_same}"
    # For the record: `pytest -s` shows it.
    sys.stdout.write("\n".join(["", killer.said, *said, there, same, ""]))
    assert is_same


DEADLY = """\
import os, signal
import ssdlab


class Deadly(ssdlab.Policy):
    def write(self, dispatch, view):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_run_that_kills_its_workers_fails_and_the_sweep_goes_on(here, address, monkeypatch):
    monkeypatch.setattr(clusters, "_ATTEMPTS", 2)
    (here / "deadly.py").write_text(DEADLY)
    said: list[str] = []
    spec = {"drive": "tiny", "workload": "job.fio", "policy": ["baseline", str(here / "deadly.py:Deadly")]}
    done = ssdlab.sweep(spec, "out", scheduler=address, remark=said.append)
    assert done.table["status"].to_pylist() == ["ok", "failed"]
    assert done.table["error"].to_pylist()[1] == "its worker was lost, 2 times"
    assert len([line for line in said if "is lost" in line]) == 2


MINE = """\
import ssdlab


class Mine(ssdlab.Policy):
    def write(self, dispatch, view):
        return "normal"
"""


def test_workers_need_no_file_of_the_machine_of_the_sweep(here, address, client, examples):
    """The paths are relative to a folder in which the workers are not; drives name files, too."""
    shutil.copy(examples / "trace.csv.gz", here / "trace.csv.gz")
    (here / "bad.csv").write_text("no trace\n")
    (here / "faults.toml").write_text('die_fails = [{ die = 1, at = "0s" }]\n')
    (here / "mine.py").write_text(MINE)
    (here / "rates.csv").write_text("pe_cycles,days,rate\n0,0,1e-3\n0,3650,1e-3\n3000,0,2e-3\n3000,3650,2e-3\n")
    (here / "worn.toml").write_text('base = "tiny"\necc.errors = { kind = "table", file = "rates.csv" }\n')
    ssdlab.run("tiny", "job.fio", record_firmware="job.fw")
    (here / "replay.toml").write_text('base = "tiny"\nftl.translation = { kind = "replay", file = "job.fw" }\n')
    loads = ["job.fio", "trace.csv.gz", "bad.csv"]
    specs: list[dict] = [
        {"drive": ["tiny", "worn.toml"], "workload": loads, "policy": ["baseline", "mine.py:Mine"]},
        {"drive": "replay.toml", "workload": "job.fio"},
        {"drive": "tiny", "workload": "job.fio", "options": {"faults": "faults.toml"}},
    ]
    for number, spec in enumerate(specs):
        done = ssdlab.sweep(spec, f"out{number}", scheduler=address)
        alone = ssdlab.sweep(spec, f"alone{number}", jobs=1)
        assert done.table.drop(TIMES).equals(alone.table.drop(TIMES))
        assert set(done.table["status"].to_pylist()) == ({"ok", "failed"} if number == 0 else {"ok"})
    stored = client.run(lambda dask_worker: [path.name for path in Path(dask_worker.local_directory).glob("ssdlab/*/*")])
    names = {name for found in stored.values() for name in found}
    assert names >= {"job.fio", "trace.csv.gz", "mine.py", "rates.csv", "job.fw", "faults.toml"}


def test_the_files_of_a_task_are_placed(here, tmp_path):
    for name in ("code.json", "rates.csv", "x.fw"):
        (here / name).write_text(name)
    text = 'flash.measured_code = "code.json"\n[ecc]\nerrors = { kind = "table", file = "old.csv" }\n'
    task = next(tasks(Spec.open({"drive": "tiny", "workload": "job.fio"})))
    settings = ('ecc.errors.file="rates.csv"', "ftl.translation={kind='replay',file='x.fw'}", "flash.channels=2")
    task = type(task)(**{**{name: getattr(task, name) for name in task.__slots__}, "drive": ("my.toml", text)})
    task = type(task)(**{**{name: getattr(task, name) for name in task.__slots__}, "settings": settings})
    errand = Errand.for_task(task, (), "sweep")
    assert [*errand.files] == ["workload", *errands.FILE_FIELDS]
    folder = tmp_path / "worker"
    assert errand.missing(folder) == [*errand.files]
    for file in errand.files.values():
        content = Path(file.path).read_bytes()
        errands.store(file, 0, content[:3], False, "sweep", folder=folder)
        errands.store(file, 3, content[3:], True, "sweep", folder=folder)
    assert errand.missing(folder) == []
    placed = errand.task_in(folder)
    assert placed.settings[:3] == settings
    for line, field in zip(placed.settings[3:], errands.FILE_FIELDS, strict=True):
        assert line == f'{field}="{errand.files[field].place(folder)}"'
    assert Path(placed.load.path).read_text() == JOB
    assert errand.as_named(f"{placed.load.path}:1: bad", folder) == "job.fio:1: bad"
    with pytest.raises(OSError, match=r"x\.fw: it has changed since the sweep began"):
        errands.store(File("x.fw", "0" * 64), 0, b"other", True, "sweep", folder=folder)


def test_every_field_that_names_a_file_is_known():
    """The engine reads the files of a description through one function."""
    root = Path(__file__).parents[2] / "crates" / "drive" / "src"
    files = [*root.glob("description/**/*.rs"), root / "description.rs"]
    calls = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(bool(re.search(r"\bfile\(&", line)) for line in calls) == len(errands.FILE_FIELDS)


@pytest.mark.parametrize("size", [0, 1, 4, 5, 8])
def test_a_file_is_sent_in_parts(tmp_path, monkeypatch, size):
    monkeypatch.setattr(clusters, "_PART", 4)
    (tmp_path / "file").write_bytes(b"abcdefgh"[:size])
    parts = [*clusters._parts(str(tmp_path / "file"))]
    assert b"".join(content for _, content, _ in parts) == b"abcdefgh"[:size]
    assert [offset for offset, _, _ in parts] == [*range(0, max(size, 1), 4)]
    assert [is_last for _, _, is_last in parts] == [False] * (len(parts) - 1) + [True]


def test_a_worker_that_differs_is_refused(here, address, client, cli):
    first, second = client.nthreads()
    code = "from ssdlab.explore import errands as e; e.kept = e.engine_hash; e.engine_hash = lambda: 'another'"
    client.run(exec, code, workers=[first])
    try:
        said: list[str] = []
        done = ssdlab.sweep("spec.toml", "out", scheduler=address, remark=said.append)
        own = errands.engine_hash()
        assert said == [f"worker {first} is refused: engine another, expected {own}"]
        assert (done.table.num_rows, done.failed) == (8, 0)
        client.run(exec, code, workers=[second])
        refused = cli("sweep", here / "spec.toml", "--out", here / "none", "--scheduler", address)
        assert refused.returncode == 2
        assert refused.stderr.count(f"is refused: engine another, expected {own}") >= 2
        assert not (here / "none").exists()
    finally:
        client.run(exec, "from ssdlab.explore import errands as e; e.engine_hash = getattr(e, 'kept', e.engine_hash)")


def test_a_difference_is_named():
    own = {"engine": "a", "Python": "3.11.2", "pyarrow": "17.0.0"}
    assert difference({"versions": dict(own)}, own) is None
    other = {"versions": {**own, "Python": "3.12.1", "pyarrow": "18.0.0"}}
    assert difference(other, own) == "Python 3.12.1, expected 3.11.2; pyarrow 18.0.0, expected 17.0.0"
    assert difference(ModuleNotFoundError("No module named 'ssdlab'"), own) == (
        "it cannot import ssdlab as it is here: No module named 'ssdlab'"
    )
    assert difference(RuntimeError("no"), own) == "RuntimeError: no"


@pytest.mark.parametrize("kind", ["silent", "closed", "nonsense"])
def test_a_scheduler_that_does_not_answer_is_an_error_and_nothing_is_written(here, cli, monkeypatch, kind):
    assert clusters._PATIENCE < 10
    monkeypatch.setattr(clusters, "_PATIENCE", 1.0)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if kind == "silent":
            listening.listen()
        address = "nonsense://x:1" if kind == "nonsense" else f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        done = cli("sweep", here / "spec.toml", "--out", here / "out", "--scheduler", address)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--scheduler: {address}: no" in done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["job.fio", "spec.toml"]


def test_without_dask_the_error_says_how_to_get_it(here, cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = cli("sweep", here / "spec.toml", "--out", here / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert "--scheduler: needs Dask: pip install 'ssdlab[cluster]'" in done.stderr
    assert not (here / "out").exists()


def test_dask_is_imported_for_a_cluster_alone():
    code = "import sys, ssdlab, ssdlab.cli; ssdlab.sweep; print('distributed' in sys.modules, 'dask' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_processes_and_a_cluster_exclude_each_other(here, cli):
    done = cli("sweep", here / "spec.toml", "--out", here / "out", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert "--jobs: with --scheduler" in done.stderr


def test_an_interrupt_keeps_what_is_done_and_ends_the_rest(here, address, client):
    (here / "long.fio").write_text(LONG)
    spec = {"drive": "tiny", "workload": ["job.fio", "long.fio"], "seeds": 2}

    def interrupt(progress: ssdlab.SweepProgress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    done = ssdlab.sweep(spec, "out", scheduler=address, progress=interrupt)
    assert (done.interrupted, done.new, done.left, done.table.num_rows) == (True, 2, 2, 2)
    assert set(done.table["workload"].to_pylist()) == {"job.fio"}
    assert not any(processing(client).values())
    # Runs of ten simulated days end at once, and the workers are free.
    wait_for(lambda: not any(client.run(lambda dask_worker: dict(dask_worker.active_threads)).values()), "a run goes on")
    left = ssdlab.sweep({**spec, "workload": "job.fio"}, "more", scheduler=address, reuse=["out"])
    assert (left.reused, left.new) == (2, 0)


@pytest.mark.slow
def test_ctrl_c_in_the_command(here, address, start):
    # More runs than can end before the signal, however late it comes on a busy machine.
    (here / "spec.toml").write_text(SPEC.replace("seeds = [1, 2]", "seeds = 1000") + '"workload.number_ios" = [200000]\n')
    words = ("sweep", here / "spec.toml", "--out", here / "out", "--scheduler", address)
    running = start(*words, "--json", lock=here / ".out.lock")
    wait_for(lambda: len([*(here / "out" / "runs.parquet").glob("*.parquet")]) >= 3, "no rows")
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate()
    assert running.returncode == 130, stderr
    assert f"are missing; to go on: ssdlab sweep {here / 'spec.toml'} --out {here / 'out'} --scheduler {address}" in stderr
    partial = json.loads(stdout)
    assert partial["status"] == "partial"
    assert 3 <= partial["runs"] == read_rows(here / "out").num_rows == 4000 - partial["missing"]


@pytest.mark.slow
def test_a_sweep_ends_when_its_scheduler_is_lost(here, monkeypatch):
    monkeypatch.setattr(clusters, "_ENDURANCE", 2.0)
    (here / "long.fio").write_text(LONG)
    spec = {"drive": "tiny", "workload": ["job.fio", "long.fio"]}
    local = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"]
    scheduler = dask("scheduler", "--scheduler-file", "s.json", *local)
    wait_for(lambda: Path("s.json").exists(), "no scheduler")
    worker = dask("worker", "--scheduler-file", "s.json", "--nthreads", "1", "--no-nanny", "--dashboard-address", ":0")
    try:
        address = json.loads(Path("s.json").read_text())["address"]
        with pytest.raises(OSError, match="the scheduler is lost; the rows so far are kept"):
            ssdlab.sweep(spec, "out", scheduler=address, progress=lambda _: scheduler.kill())
        assert read_rows("out").num_rows == 1
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


class NobodyAnswers:
    """A client whose scheduler has gone."""

    status = "connecting"

    def run(self, *_: object, **__: object) -> None:
        raise OSError("Timed out trying to connect")

    def nthreads(self) -> None:
        raise OSError("Timed out trying to connect")


@pytest.mark.parametrize("asked", [lambda it, _: it._check(["tcp://w"], {"tcp://w": 1}), lambda it, worker: it.has(worker)])
def test_a_scheduler_may_be_lost_whatever_it_is_asked(asked):
    lost = Cluster("tcp://s", ())
    lost._client = NobodyAnswers()
    with pytest.raises(clusters.SchedulerLostError, match="tcp://s: the scheduler is lost; the rows so far are kept"):
        asked(lost, clusters._Worker("tcp://w", 1, 1 << 30))


def dask(*words: str) -> subprocess.Popen[bytes]:
    """Starts `dask ...`, as a person does."""
    command = [str(Path(sys.executable).with_name("dask")), *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_one_run_of_a_process_makes_a_starting_state():
    under_way, most, order = [0], [0], []
    first = threading.Event()

    def run(number: int) -> None:
        with errands.one_makes("a state of this test/1"):
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            order.append(number)
            first.wait(0.3)
            under_way[0] -= 1

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: order, "none began")
    assert (len(order), most[0]) == (1, 1)
    first.set()
    for thread in threads:
        thread.join()
    assert len(order) == 4


def test_runs_with_one_starting_state_go_to_one_worker(here):
    vary = {"ftl.overprovisioning": [0.07, 0.28], "workload.iodepth": [1, 2, 4]}
    spec = {"drive": "tiny", "workload": "job.fio", "precondition": "fill", "seeds": 2, "vary": vary}
    wanted = [*tasks(Spec.open(spec))]
    cluster = Cluster("tcp://none:1", ())
    for name in ("one", "two", "three"):
        cluster.workers[name] = clusters._Worker(name, 2, 1 << 40)
    runs = clusters._Runs(cluster, wanted)
    one, two, three = cluster.workers.values()
    groups = [*runs.groups]
    assert len(groups) == 4, "two settings of the spare area, two seeds"
    one.groups, two.groups = {groups[0]}, {groups[1]}
    assert runs._next_group(one) == groups[0]
    assert runs._next_group(three) == groups[2]
    one.groups = {*groups}
    assert runs._next_group(three) in groups


class Future:
    """A future that ends when a test says so."""

    status = "pending"

    def result(self, timeout: float) -> dict:
        return {"status": "ok", "error": None}

    def cancel(self) -> None:
        self.status = "cancelled"


class Late(Cluster):
    """A cluster without machines, whose first worker is lost and delivers nevertheless."""

    def __init__(self) -> None:
        super().__init__("tcp://none:1", ())
        self.looks = 0
        self.futures: list[tuple[str, str, Future]] = []

    def look(self) -> list:
        self.looks += 1
        name = {1: "first", 2: "second"}.get(self.looks)
        lost = [self.workers.pop("first")] if self.looks == 2 else []
        if name is not None:
            self.workers[name] = clusters._Worker(name, 1, 1 << 40)
        return lost

    def submit(self, worker, task, ended) -> clusters._Sent:
        key = f"{task.key} {len(self.futures)}"
        self.futures.append((worker.address, key, Future()))
        sent = worker.sent[key] = clusters._Sent(task, worker, self.futures[-1][2], key)
        if worker.address == "second":
            for _, late, future in (self.futures[0], self.futures[-1], self.futures[0]):
                future.status = "finished"
                ended(late)
        return sent


def test_a_lost_worker_that_still_delivers_adds_no_row(here, monkeypatch):
    monkeypatch.setattr(clusters, "_LOOK", 0.05)
    cluster, found = Late(), []
    said: list[str] = []
    cluster.remark = said.append
    task = next(tasks(Spec.open("spec.toml")))
    cluster.run([task], lambda task, outcome: found.append((task.key, outcome["status"])))
    assert found == [(task.key, "ok")]
    assert said == ["worker first is lost: 1 run is begun again"]
    assert [address for address, _, _ in cluster.futures] == ["first", "second"]


def test_a_worker_takes_no_more_than_its_memory_holds(here):
    task = next(tasks(Spec.open("spec.toml")))
    for memory, expected in ((0, 1), (task.memory * 2, 1), (task.memory * 4, 2), (task.memory * 100, 3)):
        worker = clusters._Worker("here", 3, memory)
        while worker.has_room(task):
            worker.sent[str(len(worker.sent))] = clusters._Sent(task, worker, None, "")
        assert len(worker.sent) == expected
