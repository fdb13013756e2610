"""Sweeps: all runs of a specification, kept in a folder, and taken up where they were left."""

from __future__ import annotations

import math
import os
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ssdlab.charts import Chart
from ssdlab.errors import InputError
from ssdlab.explore import figure, pool, rows, statistics
from ssdlab.explore.folder import SPEC, Folder, read_rows, rows_with, varied_columns
from ssdlab.explore.page import page
from ssdlab.explore.spec import Spec, SpecLike
from ssdlab.explore.statistics import Difference, Estimate, estimate
from ssdlab.explore.tasks import Task, further_tasks, tasks
from ssdlab.files import read_own_text, undisturbed
from ssdlab.manifest import check_format
from ssdlab.memory import limit_bytes
from ssdlab.notebook import sweep_table
from ssdlab.units import counted
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from ssdlab.explore.cluster import Cluster

__all__ = ["Sweep", "SweepProgress", "load_sweep", "sweep"]


@dataclass(frozen=True, slots=True)
class SweepProgress:
    """Progress of a sweep.

    Examples:
        >>> ssdlab.SweepProgress(done=3, total=8, failed=0, seconds=1.5).rate
        2.0
    """

    #: Runs done now, without those that were there.
    done: int
    #: Runs to be done now.
    total: int
    #: Runs that failed.
    failed: int
    #: Time since the first began [s].
    seconds: float
    #: Row of the run that has just ended; ``None`` before the first.
    row: dict[str, Any] | None = None

    @property
    def rate(self) -> float:
        """Runs per second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Time that the rest will take at this rate [s]; ``None`` before the first run has ended."""
        return (self.total - self.done) / self.rate if self.rate else None


class Sweep:
    """Results of a sweep: a row for each run, in the order of the design.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 500}}
        >>> spec["vary"] = {"ftl.victim": ["greedy", "fifo"]}
        >>> done = ssdlab.sweep(spec, "victims")
        >>> done
        <ssdlab.Sweep victims · 2 runs, 0 failed>
        >>> done.table.select(["ftl.victim", "seed", "status"]).to_pylist()
        [{'ftl.victim': 'greedy', 'seed': 1, 'status': 'ok'}, {'ftl.victim': 'fifo', 'seed': 1, 'status': 'ok'}]
        >>> ssdlab.sweep(spec, "victims").new
        0
    """

    def __init__(
        self, folder: Path, table: pa.Table, *, new: int = 0, reused: int = 0, left: int = 0, interrupted: bool = False
    ) -> None:
        #: Folder of the sweep.
        self.folder = folder
        #: The rows (Arrow).
        self.table = table
        #: Number of runs that were done now.
        self.new = new
        #: Number of runs that were taken over from other sweeps.
        self.reused = reused
        #: Number of runs that are still missing.
        self.left = left
        #: True if Ctrl-C ended it; the same call goes on with what is missing.
        self.interrupted = interrupted
        #: Names in `columns` that no run has a number for, each with the name that was probably meant, if any.
        self.without_number: dict[str, str | None] = {}

    def _repr_html_(self) -> str:
        return sweep_table(repr(self), self.table, self.varied)

    def report(self) -> str:
        """Returns the report: a page of HTML that works offline.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 200}}
            >>> "Main effects" in ssdlab.sweep({**spec, "vary": {"flash.channels": [1, 2]}}, "one").report()
            True
        """
        text = read_own_text(self.folder / SPEC)
        return page(self, tomllib.loads(text).get("title", ""), text)

    def __repr__(self) -> str:
        return f"<ssdlab.Sweep {self.folder} · {counted(self.table.num_rows, 'run')}, {self.failed} failed>"

    @property
    def varied(self) -> list[str]:
        """Names of the columns that make a point: the varied fields, and what else has several values."""
        return varied_columns(self.table)

    def estimates(self, number: str) -> list[tuple[dict[str, Any], Estimate]]:
        """Returns each point with the mean of a number over its seeds, and its confidence interval.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "precondition": "steady", "seeds": 3}
            >>> spec |= {"options": {"stop_after": 3000}, "vary": {"ftl.victim": ["greedy", "fifo"]}}
            >>> done = ssdlab.sweep(spec, "rules")
            >>> for point, found in done.estimates("write_amplification"):
            ...     print(point, round(found.mean, 2), found.low < found.mean < found.high)
            {'ftl.victim': 'greedy'} 3.40 True
            {'ftl.victim': 'fifo'} 3.51 True
        """
        return statistics.estimates(self.table, self.varied, number)

    def differences(self, number: str, field: str, first: object) -> list[Difference]:
        """Returns by how much a number differs from that at one value of a field, over the same seeds.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "precondition": "steady", "seeds": 6}
            >>> spec |= {"options": {"stop_after": 3000}, "vary": {"ftl.victim": ["greedy", "fifo"]}}
            >>> done = ssdlab.sweep(spec, "rules")
            >>> (found,) = done.differences("write_amplification", "ftl.victim", "greedy")
            >>> found.second, found.is_supported
            ('fifo', True)
        """
        return statistics.differences(self.table, self.varied, number, field, first)

    def chart(self, number: str, over: str | None = None) -> Chart:
        """Returns a chart of a number over a varied field (absent: the first), a curve for each of the other points.

        Raises:
            InputError: the sweep has no such number, or does not vary the field.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 500}}
            >>> spec |= {"vary": {"flash.channels": [1, 2], "ftl.victim": ["greedy", "fifo"]}}
            >>> done = ssdlab.sweep(spec, "two")
            >>> [curve.name for curve in done.chart("latency.all.mean_ns").series]
            ['victim greedy', 'victim fifo']
            >>> done.chart("throughput.iops", over="ftl.victim").save("iops.pdf").name
            'iops.pdf'
        """
        return figure.chart(self, number, over)

    @property
    def failed(self) -> int:
        """Number of runs that failed; their rows have the error."""
        return self.table["status"].to_pylist().count("failed")


@in_own_words
def sweep(
    spec: SpecLike,
    out: str | PathLike[str],
    *,
    jobs: int | None = None,
    reuse: Sequence[str | PathLike[str]] = (),
    retry: bool = False,
    scheduler: str | None = None,
    max_memory: str | int | None = None,
    progress: Callable[[SweepProgress], object] | None = None,
    remark: Callable[[str], object] | None = None,
) -> Sweep:
    """Does all runs of a specification that its folder does not have yet.

    A run is identified by everything that decides its results: the complete description of its drive, the content of
    its workload, its policy, seed and options, and the engine that does it. Each row has the numbers that
    :func:`ssdlab.run` gives for its inputs.

    Args:
        spec: A file, or a dictionary with its fields (docs/guide/explore.md).
        out: Folder of the results: a new one, or one with runs of the same specification, which are kept.
        jobs: Number of processes; absent: one for each core.
        reuse: Folders of other sweeps, whose runs are taken over where they are the same.
        retry: Runs that failed are done again.
        scheduler: Address of the scheduler of a Dask cluster, whose workers do the runs in place of processes of this
            machine.
        max_memory: Most memory that all runs under way take: a size, or a share of what is free; absent: ``90%``. A run
            that comes to take more than its part fails.
        progress: Called after each run.
        remark: Called with what happens to the workers of a cluster: one is refused, or lost.

    Raises:
        InputError: the specification is invalid, the folder has something else in it, or the scheduler does not answer.
        OSError: the scheduler is lost, or processes cannot start; the rows so far are kept.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 200}}
        >>> done = ssdlab.sweep({**spec, "vary": {"flash.channels": [1, 2, 3]}, "seeds": 2}, "channels")
        >>> done.table.num_rows, done.table["status"].to_pylist().count("ok")
        (6, 6)
    """
    asked = Spec.open(spec)
    asked.check_for("sweep")
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs: {jobs}: expected at least 1")
    if scheduler is not None:
        _check_cluster(jobs, max_memory)
    wanted = {task.id: task for task in tasks(asked)}
    if asked.until is not None and asked.until.number not in rows.columns(asked):
        raise asked.error("until", f"{asked.until.number}: no column: name it in `columns`, too")
    whole = rows.schema(asked, (task.point for task in wanted.values()))
    with ExitStack() as stack:
        # First: nothing is written if the scheduler does not answer.
        runner = _runner(stack, jobs, scheduler, rows.columns(asked), remark, max_memory)
        folder = stack.enter_context(Folder.opened(out, asked.text, whole))
        kept = {name for name, status in folder.done.items() if not (retry and status == "failed")}
        missing = _by_key(task for name, task in wanted.items() if name not in kept)
        reused = _take_over(reuse, missing, folder, rows.outcome_columns(asked))
        state = _State(progress)
        interrupted = not _run_all(asked, wanted, missing, folder, runner, state)
        table = folder.compact({name: task.index for name, task in wanted.items()})
        left = state.total - state.done
        found = Sweep(Path(out), table, new=state.done, reused=reused, left=left, interrupted=interrupted)
        if "ok" in table["status"].to_pylist():
            empty = [name for name in asked.columns if table[name].null_count == table.num_rows]
            found.without_number = {name: state.near.get(name) for name in empty}
        if state.done or reused or not folder.has_report:
            folder.write_report(found.report())
    return found


def _check_cluster(jobs: int | None, max_memory: str | int | None) -> None:
    """Checks that no option says how processes of this machine do the runs.

    Raises:
        InputError: one does.
    """
    for name, value in (("--jobs", jobs), ("--max-memory", max_memory)):
        if value is not None:
            raise InputError(f"{name}: with --scheduler the workers of the cluster do the runs: expected one or the other")


def _runner(
    stack: ExitStack,
    jobs: int | None,
    scheduler: str | None,
    names: tuple[str, ...],
    remark: Callable[[str], object] | None,
    max_memory: str | int | None,
) -> Callable[[int], pool.Pool | Cluster]:
    """Returns what makes the runner of a number of runs: the cluster, to which it connects, or processes."""
    if scheduler is not None:
        # Start-up: few sweeps have a cluster, with which come threads and event loops.
        from ssdlab.explore.cluster import Cluster

        cluster = stack.enter_context(Cluster(scheduler, names, remark))
        return lambda _: cluster

    # Before the folder is begun: the limit may be none.
    limit = limit_bytes(max_memory)

    def processes(count: int) -> pool.Pool:
        return pool.Pool(min(jobs or os.cpu_count() or 1, count), names, limit)

    return processes


def _run_all(
    spec: Spec,
    wanted: dict[str, Task],
    missing: dict[str, list[Task]],
    folder: Folder,
    runner: Callable[[int], pool.Pool | Cluster],
    state: _State,
) -> bool:
    """Does the missing runs, and those that the stopping rule adds to `wanted`. Returns False if Ctrl-C ended it."""

    def keep(task: Task, outcome: dict[str, Any]) -> None:
        for same in missing[task.key]:
            row = rows.row(same, outcome, folder.schema)
            # A row that is kept is counted, whenever Ctrl-C comes.
            with undisturbed():
                folder.add(row)
                state.count_row(row)
            state.report(row)
        state.near |= outcome.get("near", {})

    try:
        while missing or (missing := _by_key(_further(spec, wanted, folder))):
            state.total += sum(map(len, missing.values()))
            runner(len(missing)).run([same[0] for same in missing.values()], keep)
            missing = {}
    except KeyboardInterrupt:
        # Further runs of an earlier call are rows of this design, too.
        _further(spec, wanted, folder)
        return False
    return True


def _take_over(
    folders: Sequence[str | PathLike[str]], missing: dict[str, list[Task]], folder: Folder, columns: Sequence[str]
) -> int:
    """Takes runs over from the folders of other sweeps. Returns the number of rows; `missing` keeps the rest."""
    count = 0
    for other in folders:
        for found in rows_with(other, missing, columns):
            # Names and place are those of this design; everything else is the same run.
            for task in missing.pop(found["key"], ()):
                folder.add(rows.row(task, found, folder.schema))
                count += 1
    return count


def _further(spec: Spec, wanted: dict[str, Task], folder: Folder) -> list[Task]:
    """Returns the runs that the stopping rule asks for after those in `wanted`, to which they are added.

    Those that are there already are not returned, but count for the rule.
    """
    until = spec.until
    while until is not None:
        values = {row["id"]: row[until.number] for row in read_rows(folder.path, ["id", until.number]).to_pylist()}
        by_point: dict[str, list[Task]] = {}
        for task in wanted.values():
            by_point.setdefault(repr(task.point), []).append(task)
        asked = []
        for runs in by_point.values():
            known = [values[task.id] for task in runs if values.get(task.id) is not None]
            # A point whose runs fail gets no further seeds.
            if len(known) < len(runs) or len(runs) >= until.most:
                continue
            share = estimate(known).share
            if len(known) >= 2 and (share is None or share <= until.share):
                continue
            # The width falls with the root of the number of seeds; it is looked at again before they have doubled.
            needed = math.ceil(len(runs) * (share / until.share) ** 2) if share else 3
            count = min(max(needed, len(runs) + 1), 2 * len(runs) + 1, until.most) - len(runs)
            first = max(task.seed for task in runs) + 1
            asked += [(runs[0], seed) for seed in range(first, first + count)]
        more = list(further_tasks(spec, asked, len(wanted)))
        wanted |= {task.id: task for task in more}
        left = [task for task in more if task.id not in folder.done]
        if left or not more:
            return left
    return []


def _by_key(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    """Returns the points of each run: several may be the same."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.key, []).append(task)
    return found


class _State:
    """Counts of a sweep under way."""

    def __init__(self, progress: Callable[[SweepProgress], object] | None) -> None:
        self.progress = progress
        self.total = self.done = self.failed = 0
        #: Names in `columns` that a summary lacked, each with the name that was probably meant, if any.
        self.near: dict[str, str | None] = {}
        self.begun = time.monotonic()

    def count_row(self, row: dict[str, Any]) -> None:
        self.done += 1
        self.failed += row["status"] == "failed"

    def report(self, row: dict[str, Any]) -> None:
        if self.progress is not None:
            self.progress(SweepProgress(self.done, self.total, self.failed, time.monotonic() - self.begun, row))


def load_sweep(folder: str | PathLike[str]) -> Sweep:
    """Returns the runs in the folder of a sweep, also of one that is under way.

    Raises:
        InputError: the folder is not that of a sweep.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 200}}
        >>> ssdlab.sweep(spec, "one").table.equals(ssdlab.load_sweep("one").table)
        True
    """
    check_format(Path(folder))
    table = read_rows(folder)
    return Sweep(Path(folder), table.sort_by("index") if table.num_rows else table)
