"""Searches: the best drives of a space, found by Optuna, kept in a folder that several processes may share."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ssdlab.errors import InputError
from ssdlab.explore import front
from ssdlab.explore.front import Front, drive_text, not_beaten
from ssdlab.explore.goal import MISFIT
from ssdlab.explore.page import search_page
from ssdlab.explore.pool import Pool
from ssdlab.explore.shared import SPEC, SearchFolder, check_search_folder, read_trials
from ssdlab.explore.spec import Spec, SpecLike
from ssdlab.explore.tasks import Task, engine_hash
from ssdlab.explore.trial import Bench, Trial, front_task
from ssdlab.files import damaged, read_own_text, undisturbed
from ssdlab.manifest import check_format
from ssdlab.memory import limit_bytes
from ssdlab.units import counted
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    from ssdlab.explore.study import Study

__all__ = ["Optimisation", "OptimisationProgress", "load_optimisation", "optimise"]

COMPARISON = "comparison"
COMPARED = "comparison.json"
IMPORTANCE = "importance.json"
PARETO = "pareto"
_REPORT = "report.html"
#: Points in a row that may fail the conditions of a specification before it is refused.
_MOST_EXCLUDED = 1000


@dataclass(frozen=True, slots=True)
class OptimisationProgress:
    """Progress of a search.

    Examples:
        >>> ssdlab.OptimisationProgress("search", done=3, total=8, failed=0, seconds=1.5, front=2, best=None).rate
        2.0
    """

    #: ``search``, or ``random`` for the random search of equal cost.
    phase: str
    #: Trials done now, without those that were there.
    done: int
    #: Trials to be done now.
    total: int
    #: Trials that failed.
    failed: int
    #: Time since the first began [s].
    seconds: float
    #: Trials that no other beats, those of earlier calls included.
    front: int
    #: Best value so far, if there is one objective and a trial has met the constraints.
    best: float | None
    #: Row of the trial that has just ended.
    row: dict[str, Any] | None = None

    @property
    def rate(self) -> float:
        """Trials per second so far."""
        return self.done / self.seconds if self.seconds > 0 else 0.0


class Optimisation:
    """Results of a search.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 300}}
        >>> spec["search"] = {"flash.channels": {"choices": [1, 2, 4]}}
        >>> spec["objective"] = [{"key": "latency.all.mean_ns"}, {"key": "cost"}]
        >>> done = ssdlab.optimise(spec, "search", trials=6, jobs=1, comparison=False)
        >>> done
        <ssdlab.Optimisation search · 6 trials, 0 failed, ... on the front>
        >>> sorted(path.suffix for path in done.drives)[0]
        '.toml'
    """

    def __init__(
        self, folder: Path, table: pa.Table, spec: Spec, *, new: int = 0, left: int = 0, interrupted: bool = False
    ) -> None:
        #: Folder of the search.
        self.folder = folder
        #: A row for each trial (Arrow), with the means over its seeds.
        self.table = table
        #: The specification.
        self.spec = spec
        #: Number of trials that were done now, those of the random search included.
        self.new = new
        #: Number of trials that are still missing.
        self.left = left
        #: True if Ctrl-C ended it; the same call goes on.
        self.interrupted = interrupted

    def __repr__(self) -> str:
        count, front = self.table.num_rows, len(self.front)
        return f"<ssdlab.Optimisation {self.folder} · {counted(count, 'trial')}, {self.failed} failed, {front} on the front>"

    @property
    def failed(self) -> int:
        """Number of trials that failed; their rows have the error."""
        return self.table["status"].to_pylist().count("failed") if self.table.num_rows else 0

    @property
    def front(self) -> list[dict[str, Any]]:
        """Rows of the trials that no other beats; with one objective that of the best."""
        return [row for row in self.table.to_pylist() if row.get("is_on_front")]

    @property
    def drives(self) -> list[Path]:
        """Files with the drives of the front."""
        return sorted((self.folder / PARETO).glob("*.toml"))

    @property
    def importance(self) -> dict[str, dict[str, float] | None]:
        """Importance of each field for each objective, as shares; ``None`` where the trials do not say it."""
        found = {}
        for key, shares in self._importance().items():
            found[key] = None if shares is None else {name: float(one[0]) for name, one in shares.items()}
        return found

    @property
    def importance_intervals(self) -> dict[str, dict[str, tuple[float, float]] | None]:
        """Interval of each importance: nine tenths of the values that it has when the trials are drawn again."""
        found = {}
        for key, shares in self._importance().items():
            found[key] = None if shares is None else {name: (float(one[1]), float(one[2])) for name, one in shares.items()}
        return found

    def _importance(self) -> dict[str, dict[str, list[float]] | None]:
        """Returns share, low and high of each field; a folder of an earlier version has shares without intervals."""
        found: dict[str, Any] = _json(self.folder / IMPORTANCE) or {}
        return {
            key: None if shares is None or not all(isinstance(one, list) for one in shares.values()) else shares
            for key, shares in found.items()
        }

    @property
    def comparison(self) -> dict[str, Any] | None:
        """Comparison with a random search of equal cost; ``None`` if there is none."""
        found: dict[str, Any] | None = _json(self.folder / COMPARISON / COMPARED)
        return found

    def report(self) -> str:
        """Returns the report: a page of HTML that works offline.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 300}}
            >>> spec |= {"search": {"flash.channels": [1, 2]}, "objective": [{"key": "cost"}]}
            >>> "parallel" in ssdlab.optimise(spec, "search", trials=2, jobs=1, comparison=False).report()
            True
        """
        return search_page(self)


@in_own_words
def optimise(
    spec: SpecLike,
    out: str | PathLike[str],
    *,
    trials: int | None = None,
    jobs: int | None = None,
    comparison: bool | None = None,
    max_memory: str | int | None = None,
    progress: Callable[[OptimisationProgress], object] | None = None,
) -> Optimisation:
    """Searches the fields of a specification for the best drives.

    Args:
        spec: A file, or a dictionary with its fields (docs/guide/explore.md).
        out: Folder of the results: a new one, or one of the same specification, which goes on. Several processes may
            work on one folder at the same time.
        trials: Number of trials, those in the folder included; absent: that of the specification.
        jobs: Number of processes; absent: one for each core. With one, the trials follow from the specification alone.
        comparison: True: a random search with as many trials is done, too; absent: as the specification says.
        max_memory: As for :func:`ssdlab.sweep`.
        progress: Called after each trial.

    Raises:
        InputError: the specification is invalid, or the folder has something else in it, or Optuna is not installed.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 300}}
        >>> spec["search"] = {"flash.channels": {"low": 1, "high": 4}}
        >>> spec["objective"] = [{"key": "latency.all.mean_ns", "direction": "minimise"}]
        >>> done = ssdlab.optimise(spec, "search", trials=12, jobs=1)
        >>> [row["flash.channels"] for row in done.front], done.comparison["random"]["trials"]
        ([4], 12)
    """
    asked = Spec.open(spec)
    asked.check_for("optimise")
    _check_optuna(asked)
    most = _trial_count(asked, trials, jobs)
    bench = Bench(asked)
    is_new = check_search_folder(Path(out), asked.text)
    wanted = asked.method.comparison if comparison is None else comparison
    other = None
    search = _Search(bench, most, jobs or os.cpu_count() or 1, limit_bytes(max_memory), progress)
    with SearchFolder.opened(out, asked.text, bench.schema) as folder:
        try:
            table, interrupted = search.run(folder, asked.method.sampler, "search")
        except InputError:
            if is_new and not search.state.done:
                folder.clear()
            raise
        study = search.study
        if wanted and not interrupted and asked.method.sampler != "random":
            with SearchFolder.opened(folder.path / COMPARISON, asked.text, bench.schema) as beside:
                other, interrupted = search.run(beside, "random", "random")
                # Other processes may have ended trials of the search meanwhile.
                table = _finish(bench, folder, study)
                _compare(bench, table, other, beside, search.study)
        left = max(0, most - table.num_rows) + (max(0, most - other.num_rows) if other is not None else 0)
        found = Optimisation(Path(out), table, asked, new=search.new, left=left, interrupted=interrupted)
        with folder.locked():
            if _is_latest(table, study):
                folder.write(_REPORT, found.report())
            folder.write_manifest()
    return found


def _check_optuna(spec: Spec) -> None:
    """Checks that what the search needs is installed.

    Raises:
        InputError: it is not; the message has the command that installs it.
    """
    if importlib.util.find_spec("optuna") is None:
        raise InputError("a search needs Optuna: pip install 'ssdlab[search]'")
    if spec.method.sampler == "gp":
        missing = [name for name in ("torch", "scipy") if importlib.util.find_spec(name) is None]
        if missing:
            raise spec.error("optimise/sampler", f"gp: needs {' and '.join(missing)}: pip install {' '.join(missing)}")


def _trial_count(spec: Spec, trials: int | None, jobs: int | None) -> int:
    """Returns the number of trials.

    Raises:
        InputError: there is none, or a number is below 1.
    """
    if trials is None and not spec.method.trials:
        raise InputError("--trials: missing: expected a number, here or as `trials` in [optimise]")
    for name, value in (("trials", trials), ("jobs", jobs)):
        if value is not None and value < 1:
            raise InputError(f"--{name}: {value}: expected at least 1")
    return spec.method.trials if trials is None else trials


class _Search:
    """Does the trials of a search, and those of the random search after it."""

    def __init__(
        self, bench: Bench, most: int, jobs: int, memory: int, progress: Callable[[OptimisationProgress], object] | None
    ) -> None:
        self.bench, self.most, self.jobs, self.memory, self.progress = bench, most, jobs, memory, progress
        #: Trials done now.
        self.new = 0
        #: Rows by the keys of their trials: a point that is drawn again is not run again.
        self.known: dict[str, dict[str, Any]] = {}

    def run(self, folder: SearchFolder, sampler: str, phase: str) -> tuple[pa.Table, bool]:
        """Fills a folder. Returns its rows, and True if Ctrl-C ended it."""
        # Optuna may be missing.
        from ssdlab.explore.study import Study

        self.folder, self.study, self.phase = folder, Study(self.bench.spec, folder, sampler), phase
        with folder.locked():
            there = read_trials(folder.path).to_pylist()
        self._check_same(there)
        self.known |= {row["key"]: row for row in there if row["status"] == "ok" and set(self.bench.schema.names) <= set(row)}
        self.state = _State(self.bench, there)
        self.total = max(0, self.most - len(self.study.ended_trials()))
        self.flight: list[Trial] = []
        self.waiting: dict[str, list[Trial]] = {}
        interrupted = False
        try:
            begun = self._begin()
            if begun:
                Pool(self.jobs, self.bench.columns, self.memory).run(begun, self._take_outcome)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            for trial in self.flight:
                self.study.give_up(trial.asked)
        self.new += self.state.done
        return _finish(self.bench, folder, self.study), interrupted

    def _check_same(self, there: Iterable[Mapping[str, Any]]) -> None:
        """Checks that the trials in the folder are those of these inputs and of this version: results are not mixed.

        Raises:
            InputError: they are not.
        """
        params = {trial.number: trial.params for trial in self.study.ended_trials()}
        # One of each drive, workload and policy, the last of each, tells.
        last = {(row["drive"], row["workload"], row["policy"]): row for row in there if row["study_trial"] in params}
        for row in last.values():
            if row["key"] != self.bench.key(params[row["study_trial"]]):
                what = "another version of ssdlab" if row["engine"] != engine_hash() else "a drive or workload that has changed"
                raise InputError(f"{self.folder.path}: has trials of {what}: expected another folder for new ones")

    def _begin(self) -> list[Task]:
        """Begins trials for idle processes. Returns the runs that they need."""
        found: list[Task] = []
        excluded = 0
        while len(self.flight) < self.jobs:
            asked = self.study.ask(self.most)
            if asked is None:
                break
            try:
                trial = self.bench.trial(asked)
            except BaseException:
                self.study.give_up(asked)
                raise
            if trial is None:
                self.study.fail(asked, excluded=True)
                excluded += 1
                if excluded >= _MOST_EXCLUDED:
                    raise self.bench.spec.error("where", f"none of {excluded} points that were drawn in a row meets it")
                continue
            excluded = 0
            self.flight.append(trial)
            same = self.known.get(trial.key)
            if same is not None:
                self._conclude(trial, {**same, "trial": None, "study_trial": asked.number, "is_on_front": None})
            else:
                found += self._wait_for(trial)
        return found

    def _wait_for(self, trial: Trial) -> list[Task]:
        """Notes the runs that a trial waits for. Returns those that are not under way yet."""
        found = []
        for task in trial.current:
            if task.key not in self.waiting:
                found.append(task)
            waiting = self.waiting.setdefault(task.key, [])
            # A run may be the one with which it is compared.
            if not any(one is trial for one in waiting):
                waiting.append(trial)
        return found

    def _take_outcome(self, task: Task, outcome: dict[str, Any]) -> list[Task]:
        """Takes the outcome of a run. Returns the runs that follow."""
        found = []
        for trial in self.waiting.pop(task.key):
            trial.outcomes[task.key] = outcome
            if all(one.key in trial.outcomes for one in trial.current):
                found += self._phase_ended(trial)
        return found + self._begin()

    def _phase_ended(self, trial: Trial) -> list[Task]:
        row = self.bench.row(trial)
        if not trial.early:
            self._conclude(trial, row)
            return []
        value = row[self.bench.spec.objectives[0].key]
        if row["status"] == "ok" and value is not None:
            # The row first: one without an end is dropped, an end without a row would be a hole.
            pruned = self.bench.row(trial, "pruned")
            with undisturbed():
                self.folder.add(pruned)
                is_hopeless = self.study.is_hopeless(trial.asked, value)
                if is_hopeless:
                    self._count(trial, pruned)
            if is_hopeless:
                self._report(pruned)
                return []
        trial.early = []
        return self._wait_for(trial)

    def _conclude(self, trial: Trial, row: dict[str, Any]) -> None:
        """Ends a trial whose runs have ended."""
        judged = self.bench.judge(row, trial.tasks[0]) if row["status"] == "ok" else ""
        if isinstance(judged, str):
            if judged and not self.state.has_values:
                raise self.bench.spec.error(self._place(row), judged)
            row |= {"status": "failed", "error": row["error"] or judged}
        # A trial that has ended is counted, whenever Ctrl-C comes.
        with undisturbed():
            self.folder.add(row)
            if isinstance(judged, str):
                self.study.fail(trial.asked)
            else:
                self.study.complete(trial.asked, *judged)
                self.known[row["key"]] = row
            self._count(trial, row)
        self._report(row)

    def _place(self, row: Mapping[str, Any]) -> str:
        """Returns the key of the specification whose number a row lacks."""
        for number, objective in enumerate(self.bench.spec.objectives):
            if row[objective.key] is None and objective.key == MISFIT:
                targets = self.bench.spec.targets
                return next(f"target#{at}/key" for at, target in enumerate(targets) if not (row[target.key] or 0) > 0)
            if row[objective.key] is None:
                return f"objective#{number}/key"
        return "constraint"

    def _count(self, trial: Trial, row: dict[str, Any]) -> None:
        self.flight.remove(trial)
        self.state.count_row(row)

    def _report(self, row: dict[str, Any]) -> None:
        if self.progress is not None:
            state = self.state
            best = state.best
            self.progress(
                OptimisationProgress(
                    self.phase,
                    state.done,
                    self.total,
                    state.failed,
                    time.monotonic() - state.begun,
                    len(state.front.losses),
                    best,
                    row,
                )
            )


class _State:
    """Counts of a search under way."""

    def __init__(self, bench: Bench, there: Iterable[Mapping[str, Any]]) -> None:
        self.bench = bench
        self.front = Front()
        self.done = self.failed = 0
        self.has_values = False
        self.begun = time.monotonic()
        for row in there:
            self._take(row)

    def _take(self, row: Mapping[str, Any]) -> None:
        self.has_values |= row["status"] == "ok"
        self.front.add(self.bench.losses(row))

    def count_row(self, row: Mapping[str, Any]) -> None:
        self.done += 1
        self.failed += row["status"] == "failed"
        self._take(row)

    @property
    def best(self) -> float | None:
        """The best value of a single objective."""
        objectives = self.bench.spec.objectives
        if len(objectives) > 1 or not self.front.losses:
            return None
        return objectives[0].loss(min(self.front.losses)[0])


def _finish(bench: Bench, folder: SearchFolder, study: Study) -> pa.Table:
    """Numbers the trials, marks the front and writes its drives. Returns the rows of all trials that have ended."""
    with folder.locked():
        ended = {trial.number: trial for trial in study.ended_trials()}
        rows = [row for row in read_trials(folder.path).to_pylist() if row["study_trial"] in ended]
        on_front = not_beaten([bench.losses(row) for row in rows])
        drives = {}
        for place, row in enumerate(rows):
            row |= {"trial": place, "is_on_front": place in on_front}
            if row["is_on_front"]:
                task = front_task(bench, ended[row["study_trial"]].params)
                drives[f"trial-{place:05}.toml"] = drive_text(bench, task, row)
        table = folder.compact(rows)
        folder.replace_folder(PARETO, drives)
        folder.write(IMPORTANCE, json.dumps(_importance_of(study), indent=2) + "\n")
    return table


def _is_latest(table: pa.Table, study: Study) -> bool:
    """Returns True if no other process has ended a trial since; if one has, it writes what follows from the rows."""
    return table.num_rows == len(study.ended_trials())


def _compare(bench: Bench, table: pa.Table, other: pa.Table, folder: SearchFolder, study: Study) -> None:
    """Writes the comparison of a search with a random one."""
    with folder.locked():
        if not _is_latest(other, study):
            return
        found = front.comparison(bench, table.to_pylist(), other.to_pylist())
        folder.write(COMPARED, json.dumps(found, indent=2) + "\n")


def _json(path: Path) -> Any:
    if not path.is_file():
        return None
    with damaged(path):
        return json.loads(read_own_text(path))


def load_optimisation(folder: str | PathLike[str]) -> Optimisation:
    """Returns the trials in the folder of a search, also of one that is under way.

    Raises:
        InputError: the folder is not that of a search.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "examples/randwrite.fio", "options": {"stop_after": 300}}
        >>> spec |= {"search": {"flash.channels": [1, 2]}, "objective": [{"key": "cost"}]}
        >>> done = ssdlab.optimise(spec, "search", trials=2, jobs=1, comparison=False)
        >>> ssdlab.load_optimisation("search").table.equals(done.table)
        True
    """
    check_format(Path(folder))
    table = read_trials(folder)
    if "status" not in table.column_names:
        raise InputError(f"{folder}: no trial has ended yet")
    return Optimisation(Path(folder), table, Spec.open(Path(folder) / SPEC))


def _importance_of(study: Study) -> dict[str, dict[str, list[float]] | None]:
    """Returns the importances as the folder keeps them: share, low and high of each field."""
    found = study.importance()
    return {
        key: None if shares is None else {name: [one.share, one.low, one.high] for name, one in shares.items()}
        for key, shares in found.items()
    }
