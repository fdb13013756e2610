"""One trial of a search: a point, its runs with all seeds, and the row that they make."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from ssdlab import _engine
from ssdlab.errors import InputError, closest
from ssdlab.explore import design, rows
from ssdlab.explore.choices import first_point, point_of
from ssdlab.explore.design import Point
from ssdlab.explore.expression import Expression
from ssdlab.explore.goal import MISFIT, misfit
from ssdlab.explore.names import looked_up
from ssdlab.explore.ranges import Range
from ssdlab.explore.spec import PARTS, REFERENCE, Spec
from ssdlab.explore.tasks import Maker, Task, engine_hash

if TYPE_CHECKING:
    from optuna.trial import Trial as Asked

__all__ = ["Bench", "Trial"]

#: Numbers that a run leaves out where they are 0: operations of the flash by their reason.
_COUNTS = ("flash.programs.", "flash.reads.")
_BEFORE: dict[str, pa.DataType] = {
    "trial": pa.int64(),
    "study_trial": pa.int64(),
    "drive": pa.string(),
    "workload": pa.string(),
    "policy": pa.string(),
    "precondition": pa.string(),
}
_AFTER: dict[str, pa.DataType] = {
    "status": pa.string(),
    "error": pa.string(),
    "is_feasible": pa.bool_(),
    "is_on_front": pa.bool_(),
    "violation": pa.float64(),
    "key": pa.string(),
    "drive_hash": pa.string(),
    "workload_hash": pa.string(),
    "engine": pa.string(),
    "wall_s": pa.float64(),
    "setup_s": pa.float64(),
    "cost": pa.float64(),
}


#: Outcomes of runs, one for each seed, by the name of their load.
_Outcomes: TypeAlias = dict[str, Sequence[Mapping[str, Any]]]


@dataclass(slots=True)
class Trial:
    """A trial under way."""

    asked: Asked
    #: Runs of the point, one for each seed, then those with which they are compared.
    tasks: list[Task]
    #: Short runs, after which it may be given up; empty once they have ended, or if there are none.
    early: list[Task]
    #: Outcomes, by the keys of the runs.
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def current(self) -> list[Task]:
        """Runs that are under way or come next."""
        return self.early or self.tasks

    @property
    def key(self) -> str:
        """Hash of everything that decides the results."""
        return _key(self.tasks)


def _key(tasks: Sequence[Task]) -> str:
    return hashlib.sha256("".join(task.key for task in tasks).encode()).hexdigest()[:32]


class Bench:
    """Makes the runs of the points of a search, and judges their results.

    Raises:
        InputError: the specification names a field, drive, file or number that does not exist.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.maker = Maker(spec)
        #: Numbers of each run, and the columns of the trials, each with its load and its number.
        self.columns = rows.columns(spec)
        self.numbers = rows.columns_of_loads(spec)
        drives = spec.search.get("drive", ())
        for name in () if isinstance(drives, Range) else drives:
            self.maker.drive(name)
        first = self._first_point()
        for point in self._of_loads(first):
            probe = self.maker.task(point, spec.seeds[0], 0)
            if probe.load is None:
                named = next((name for name in design.varied_names(spec) if name.startswith("workload.")), "workload")
                raise spec.error(f"search/{named}", str(probe.error))
        self.schema = self._schema(first)
        self._check_reference(first)
        self._check_goals(first)

    def _first_point(self) -> Point:
        """Returns a point with the first choice of each field, whatever the conditions."""
        found = self.maker.complete(first_point(self.spec), whatever=True)
        assert found is not None
        return found

    def _schema(self, first: Point) -> pa.Schema:
        fields: dict[str, pa.DataType] = dict(_BEFORE)
        for name in design.varied_names(self.spec):
            values = self.spec.search.get(name, (first.fields[name],))
            if isinstance(values, Range):
                number = pa.int64() if values.is_whole else pa.float64()
                fields[name] = number if values.example is None else pa.string()
            else:
                kind = rows.type_of(values)
                # A derived field may have a whole value at one point, and another at the next.
                fields[name] = pa.float64() if name in self.spec.derive and pa.types.is_integer(kind) else kind
        fields |= _AFTER
        fields |= dict.fromkeys(rows.TEXTS, pa.string())
        fields |= {name: pa.float64() for name in self.numbers if name not in fields}
        if self.spec.targets:
            fields[MISFIT] = pa.float64()
        for name in self.spec.measures:
            if name in fields:
                raise self.spec.error(f"measure/{name}", "the name of a number or field of the runs: expected another")
            fields[name] = pa.float64()
        return pa.schema(fields)

    def _check_reference(self, first: Point) -> None:
        """Checks that the fields in which the compared runs differ exist, and that the measures name known numbers."""
        for name in self.spec.reference:
            if name in (*self.spec.search, *self.spec.derive):
                raise self.spec.error(f"reference/{name}", "a field that the search chooses: expected one that it does not")
        if self.spec.loads and "workload" in self.spec.reference:
            raise self.spec.error("reference/workload", "each trial has several workloads: expected fields that they share")
        if self.spec.reference:
            task = self.maker.task(self._reference(first), self.spec.seeds[0], 0)
            if task.error is not None:
                raise self.spec.error("reference", task.error)
        base = self.maker.bases[first.drive]
        for measure, expression in self.spec.measures.items():
            for name in expression.names:
                own = name.removeprefix(REFERENCE)
                if own != name and not self.spec.reference:
                    raise self.spec.error(f"measure/{measure}", f"{name}: no runs to compare with: expected [reference]")
                if not self._is_known(own, base):
                    raise self.spec.error(f"measure/{measure}", f"{own}: {self._unknown_message(own)}")

    def _is_known(self, name: str, base: Mapping[str, Any]) -> bool:
        """Returns True if a name is one of a number of the runs, of a field that is chosen, or of one of the drive."""
        if name in self.schema.names:
            return True
        try:
            looked_up(base, name)
        except KeyError:
            return False
        return True

    def _unknown_message(self, name: str) -> str:
        near = closest(name, self._goal_names)
        hint = f" (did you mean `{near}`?)" if near else ""
        return f"the runs have no such number, and the drive no such field{hint}"

    @property
    def _goal_names(self) -> list[str]:
        """Names of the numbers that may be goals."""
        return [*self.numbers, "cost", *([MISFIT] if self.spec.targets else []), *self.spec.measures]

    def _check_goals(self, first: Point) -> None:
        known = self._goal_names
        for what, goals in (("objective", self.spec.objectives), ("target", self.spec.targets)):
            keys = [goal.key for goal in goals]
            for number, key in enumerate(keys):
                if key not in known:
                    near = closest(key, known)
                    hint = (
                        f" (did you mean `{near}`?)" if near else "; a further number of the summary is named in `columns`, too"
                    )
                    raise self.spec.error(f"{what}#{number}/key", f"{key}: the runs have no such number{hint}")
                if key in keys[:number]:
                    raise self.spec.error(f"{what}#{number}/key", f"{key}: given twice")
        base = self.maker.bases[first.drive]
        for constraint in self.spec.constraints:
            for name in constraint.names:
                if not self._is_known(name, base):
                    raise self.spec.error("constraint", f"{name}: {self._unknown_message(name)}")

    def trial(self, asked: Asked) -> Trial | None:
        """Returns the trial of a point that was chosen; ``None`` if the point does not meet the conditions."""
        point = self.maker.complete(point_of(self.spec, asked.params))
        if point is None:
            return None
        return Trial(asked, self._tasks(point), self._tasks(self._short(point)) if self.spec.method.pruning else [])

    def key(self, params: Mapping[str, Any]) -> str:
        """Returns the hash of everything that decides the results of a point, by what was chosen for its fields."""
        point = self.maker.complete(point_of(self.spec, params), whatever=True)
        assert point is not None
        return _key(self._tasks(point))

    def _tasks(self, point: Point) -> list[Task]:
        """Returns the runs of a point, load by load one for each seed, then those with which they are compared."""
        points = [point, self._reference(point)] if self.spec.reference else [point]
        each = [own for one in points for own in self._of_loads(one)]
        return [self.maker.task(one, seed, number) for one in each for number, seed in enumerate(self.spec.seeds)]

    def _of_loads(self, point: Point) -> list[Point]:
        """Returns a point with each of its workloads."""
        loads = self.spec.loads
        if not loads:
            return [point]
        return [replace(point, workload=load.file, precondition=load.precondition or point.precondition) for load in loads]

    def _reference(self, point: Point) -> Point:
        """Returns the point with whose runs a point's are compared, without fields in tables that it replaces."""
        parts = {name: self.spec.reference.get(name, getattr(point, name)) for name in PARTS}
        fields = {name: value for name, value in self.spec.reference.items() if name not in PARTS}
        within = tuple(name + sign for name in fields for sign in ".[")
        kept = {name: value for name, value in point.fields.items() if not name.startswith(within)}
        return Point(**parts, fields=kept | fields)

    def _short(self, point: Point) -> Point:
        """Returns a point that ends after the commands of a short run."""
        fields = {**point.fields, "options.stop_after": self.spec.method.pruning}
        return Point(point.drive, point.workload, point.policy, point.precondition, fields)

    def row(self, trial: Trial, status: str | None = None) -> dict[str, Any]:
        """Returns the row of a trial: the mean of each number over the seeds.

        Args:
            trial: The trial; all of its current runs have ended.
            status: What is said of it; absent: that of its runs.
        """
        every = [trial.outcomes[task.key] for task in trial.current]
        outcomes, compared = self._by_load(every)
        task = trial.tasks[0]
        point = task.point
        bad = next((outcome for outcome in every if outcome["status"] != "ok"), None)
        found: dict[str, Any] = {
            "trial": None,
            "study_trial": trial.asked.number,
            "drive": point.drive,
            "workload": ", ".join(load.name for load in self.spec.loads) or point.workload,
            "policy": point.policy,
            "precondition": None if self.spec.loads else point.precondition,
            **{name: rows.cell(value, self.schema.field(name).type) for name, value in point.fields.items()},
            "status": status or ("failed" if bad else "ok"),
            "error": bad and bad["error"],
            "key": trial.key,
            "drive_hash": task.drive_hash,
            "workload_hash": task.workload_hash,
            "engine": engine_hash(),
            "cost": task.cost,
            **{name: None if self.spec.loads else every[0].get(name) for name in rows.TEXTS},
        }
        for name in ("wall_s", "setup_s"):
            known = [outcome[name] for outcome in every if outcome.get(name) is not None]
            found[name] = sum(known) if known else None
        for name, (load, number) in self.numbers.items():
            if name not in found:
                found[name] = None if bad else _mean([outcome.get(number) for outcome in outcomes[load]])
        for name, expression in self.spec.measures.items():
            found[name] = None if bad else self._derived_number(expression, found, outcomes, compared, task)
        if self.spec.targets:
            found[MISFIT] = None if bad else self._misfit(found)
        for name in self.schema.names:
            found.setdefault(name, None)
        return found

    def _by_load(self, every: Sequence[Mapping[str, Any]]) -> tuple[_Outcomes, _Outcomes]:
        """Returns the outcomes of the runs of a trial by load, and those with which they are compared."""
        names = [load.name for load in self.spec.loads] or [""]
        seeds = len(self.spec.seeds)
        groups = [every[at : at + seeds] for at in range(0, len(every), seeds)]
        own = dict(zip(names, groups, strict=False))
        return own, dict(zip(names, groups[len(names) :], strict=False))

    def _misfit(self, row: Mapping[str, Any]) -> float | None:
        """Returns how far the numbers of a row are from the targets; ``None`` if one of them is not above 0."""
        values = [row[target.key] for target in self.spec.targets]
        if not all(value is not None and value > 0 for value in values):
            return None
        return misfit(self.spec.targets, values)

    def _derived_number(
        self,
        expression: Expression,
        row: Mapping[str, Any],
        outcomes: _Outcomes,
        compared: _Outcomes,
        task: Task,
    ) -> float | None:
        """Returns a number that follows from the means over the seeds; ``None`` if one of them is not known."""

        def number(name: str) -> Any:
            own = name.removeprefix(REFERENCE)
            if own != name or own in self.numbers:
                load, plain = self.numbers.get(own, ("", own))
                given = [outcome.get(plain) for outcome in (outcomes if own == name else compared).get(load, ())]
                found = _mean([value or 0.0 for value in given] if plain.startswith(_COUNTS) else given)
            elif name in row:
                found = row[name]
            else:
                return looked_up(tomllib.loads(description(task)), name)
            if found is None:
                raise InputError(f"{name}: not known")
            return found

        try:
            value = expression.value(number)
        except InputError:
            return None
        return float(value) if isinstance(value, int | float) else None

    def judge(self, row: dict[str, Any], task: Task) -> tuple[list[float], list[float]] | str:
        """Returns the values of the objectives and the violations of the constraints, and notes the latter in the row.

        If the row lacks a number, the complaint about it is returned.
        """
        values = []
        for objective in self.spec.objectives:
            value = row[objective.key]
            if value is None or not math.isfinite(value):
                lacking = objective.key
                if lacking == MISFIT:
                    lacking = next(target.key for target in self.spec.targets if not (row[target.key] or 0) > 0)
                return f"the run has no {lacking} (a percentile needs enough commands)"
            values.append(float(value))
        document: dict[str, Any] = {}

        def number(name: str) -> Any:
            if name in row:
                return row[name]
            if not document:
                document.update(tomllib.loads(description(task)))
            return looked_up(document, name)

        try:
            violations = [constraint.violation(number) for constraint in self.spec.constraints]
        except InputError as error:
            return str(error)
        row["violation"] = sum(violations)
        row["is_feasible"] = not row["violation"]
        return values, violations

    def losses(self, row: Mapping[str, Any]) -> tuple[float, ...] | None:
        """Returns the objectives of a row, smaller for better; ``None`` if it is no candidate for the front."""
        if row["status"] != "ok" or not row["is_feasible"]:
            return None
        return tuple(objective.loss(row[objective.key]) for objective in self.spec.objectives)


def description(task: Task) -> str:
    """Returns the complete description of the drive of a run, as TOML."""
    name, text = task.drive
    return _engine.check(name, text, [*task.settings, *parts_of(task)])


def parts_of(task: Task) -> list[str]:
    """Returns policy and starting state of a run as overrides; a policy in Python is no part of a description."""
    policy, state = task.point.policy, task.point.precondition
    found = [] if policy is None or ".py:" in policy else [f"policy.kind={policy}"]
    return found + ([] if state is None else [f"state.precondition={state}"])


def _mean(values: Sequence[float | None]) -> float | None:
    """Returns the mean; ``None`` if a value is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def front_task(bench: Bench, params: Mapping[str, Any]) -> Task:
    """Returns a run of the point of a trial that has ended."""
    point = bench.maker.complete(point_of(bench.spec, params), whatever=True)
    assert point is not None
    return bench.maker.task(point, bench.spec.seeds[0], 0)
