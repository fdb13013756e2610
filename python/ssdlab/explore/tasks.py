"""The runs of a sweep: the inputs of each, and the key of everything that decides its results."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ssdlab import _engine, drives, policy_file
from ssdlab.declared import GROUPS
from ssdlab.drives import Drive
from ssdlab.errors import InputError, unknown_name
from ssdlab.explore import design
from ssdlab.explore.design import Point
from ssdlab.explore.expression import alike
from ssdlab.explore.loads import Load
from ssdlab.explore.names import looked_up
from ssdlab.explore.spec import Spec
from ssdlab.files import content_hash, existing_file
from ssdlab.sources import modules_behind, sources_in

__all__ = ["Maker", "Task", "engine_hash", "starting_state", "tasks"]

#: Modules that decide a row, with all that they import: one does a run, the other makes the row of a search's trial.
DECIDING = ("ssdlab.explore.work", "ssdlab.explore.trial")
#: Memory of a run beside the tables of the drive [bytes].
_BESIDE = 64 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """A run of a sweep."""

    #: Place in the design, from 0: that of its point, then that of its seed.
    index: int
    #: Hash of everything that decides the results.
    key: str
    #: Hash of that and of the names and values by which the point is known: two points may be the same run.
    id: str
    #: The point, with its derived fields.
    point: Point
    seed: int
    #: Name and text of the drive, and its overrides.
    drive: tuple[str, str]
    settings: tuple[str, ...]
    load: Load | None
    #: Options of the run.
    options: Mapping[str, Any]
    #: Hashes of the complete description and of the workload.
    drive_hash: str
    workload_hash: str
    #: Runs of one group have the same starting state.
    group: str
    #: Memory that the run needs [bytes].
    memory: int
    #: Reason for which it cannot be run; ``None`` if it can.
    error: str | None = field(default=None)
    #: Cost of the architecture; ``None`` if the description is invalid.
    cost: float | None = None
    #: Options of the lifetime that follows the run; ``None``: there is none.
    life: Mapping[str, Any] | None = None


@cache
def engine_hash() -> str:
    """Returns a hash of what decides a row: the engine's sources, presets and lock file, and the Python code behind it.

    The engine's part was embedded when it was built; the Python code is read, since an editable installation changes
    without a build. Pages, charts and commands are no part of it: they show rows, and decide none.
    """
    own = hashlib.sha256(_engine.build().encode())
    sources = sources_in(Path(__file__).parent.parent)
    for module in sorted(modules_behind(DECIDING, sources)):
        if sources[module].suffix == ".py":
            own.update(module.encode() + b"\0" + sources[module].read_bytes())
    return own.hexdigest()[:16]


def tasks(spec: Spec) -> Iterator[Task]:
    """Yields the runs of a specification in the order of the design, the seeds of a point side by side.

    Raises:
        InputError: the specification names a field, option, drive or file that does not exist; no point meets its
            conditions.
    """
    maker = Maker(spec)
    met = before = index = 0
    for point in design.points(spec):
        before += 1
        complete = maker.complete(point)
        if complete is None:
            continue
        met += 1
        for seed in spec.seeds:
            yield maker.task(complete, seed, index)
            index += 1
    design.check_not_empty(spec, met, before)


def further_tasks(spec: Spec, of: Sequence[tuple[Task, int]], index: int) -> Iterator[Task]:
    """Yields further runs of points.

    Args:
        spec: The specification.
        of: A run of each point, and the seed of the further one.
        index: Place of the first of them in the design.
    """
    maker = Maker(spec)
    for number, (task, seed) in enumerate(of):
        yield maker.task(task.point, seed, index + number)


class Maker:
    """Makes the runs of the points of a specification."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.drives: dict[str, Drive] = {}
        self.presets: dict[str, dict[str, Any]] = {}
        #: With the settings of all points.
        self.bases: dict[str, dict[str, Any]] = {}
        self.known_settings: set[str] = set()
        self.described: dict[tuple[str, tuple[str, ...], str | None, str | None], _Described] = {}
        self.options = self.checked_options({**spec.options})
        # Extrapolation, since a full life takes too long for many points.
        self.life = {"method": "extrapolate", **self.checked_life()} if spec.lifetime_numbers else None

    def checked_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns options whose names and types have been checked."""

        def refusal(name: str, what: str) -> InputError:
            return self.spec.error(f"options/{name}", what)

        design.check_options(options, refusal)
        design.check_values(options, {**GROUPS["run"], **GROUPS["workload"]}, refusal)
        return dict(options)

    def checked_life(self) -> dict[str, Any]:
        """Returns the options of lifetimes, whose names and types have been checked."""
        for name in self.spec.life:
            if name not in GROUPS["life"]:
                raise self.spec.error(f"lifetime/{name}", str(unknown_name("option", name, [*GROUPS["life"]])))
        design.check_values(self.spec.life, GROUPS["life"], lambda name, what: self.spec.error(f"lifetime/{name}", what))
        return dict(self.spec.life)

    def drive(self, name: str) -> Drive:
        """Returns a drive: a preset, or a file beside the specification."""
        if name not in self.drives:
            presets = {preset.name for preset in drives.presets()}
            at = name if name in presets or not Path(self.spec.file(name)).exists() else self.spec.file(name)
            try:
                self.drives[name] = Drive.open(at)
                self.presets[name] = self.bases[name] = tomllib.loads(drives.check(self.drives[name]))
            except InputError as error:
                raise self.spec.error("drive", str(error)) from None
            # The settings of all points may need a varied field to be complete.
            with suppress(InputError):
                self.bases[name] = tomllib.loads(drives.check(self.drives[name], set=dict(self.spec.settings)))
        return self.drives[name]

    def complete(self, point: Point, *, whatever: bool = False) -> Point | None:
        """Returns a point with its derived fields; ``None`` if it does not meet the conditions."""
        self.drive(point.drive)
        fields = dict(point.fields)

        def value(name: str) -> Any:
            parts = {"drive": point.drive, "workload": point.workload, "policy": point.policy}
            if name in fields:
                return fields[name]
            if name in self.spec.settings:
                return self.spec.settings[name]
            if name in parts:
                return parts[name]
            return looked_up(self.bases[point.drive], name)

        for name, expression in self.spec.derive.items():
            try:
                found = expression.value(value)
            except InputError as error:
                raise self.spec.error(f"derive/{name}", str(error)) from None
            plain = int(found) if isinstance(found, float) and found.is_integer() else found
            # A size or time of the preset tells in which unit the engine takes the field.
            with suppress(KeyError):
                plain = alike(plain, looked_up(self.bases[point.drive], name))
            fields[name] = plain
        for where in self.spec.where:
            try:
                if not where.holds(value) and not whatever:
                    return None
            except InputError as error:
                raise self.spec.error("where", str(error)) from None
        return Point(point.drive, point.workload, point.policy, point.precondition, fields)

    def task(self, point: Point, seed: int, index: int) -> Task:
        """Returns the run of a point with a seed."""
        drive = self.drive(point.drive)
        own, for_load, chosen = design.fields_by_part(point.fields)
        given = {**self.spec.settings, **own}
        settings = tuple(
            drives.setting_lines(
                {name: value for name, value in given.items() if not self.removes_nothing(point.drive, name, value)}
            )
        )
        options, contents = self.with_files({**self.options, **self.checked_options(chosen)})
        reading = {name: options.pop(name) for name in [*options] if name in GROUPS["workload"]}
        error = None
        load = None
        try:
            load = Load.from_file(self.spec.file(point.workload), for_load, reading)
        except InputError as refused:
            if point.workload in self.spec.workloads and not for_load:
                named = (f"workload/{one.name}" for one in self.spec.loads if one.file == point.workload)
                raise self.spec.error(next(named, "workload"), str(refused)) from None
            error = str(refused)
        described = self.describe(point, drive, settings)
        policy = _policy_hash(point.policy)
        decides = [
            engine_hash(),
            described.hash,
            load.digest if load else None,
            dict(load.options) if load else {},
            point.policy,
            policy,
            point.precondition,
            seed,
            {**options, **contents},
            [] if described.error is None else settings,
            self.life,
        ]
        key = hashlib.sha256(json.dumps(decides, sort_keys=True, default=str).encode()).hexdigest()[:32]
        known_by = [key, point.drive, point.workload, point.policy, point.precondition, seed, dict(point.fields)]
        return Task(
            index=index,
            key=key,
            id=_hash(json.dumps(known_by, default=str))[:32],
            point=point,
            seed=seed,
            drive=(drive.name, drive.text),
            settings=settings,
            load=load,
            options=options,
            drive_hash=described.hash[:16],
            workload_hash=load.digest[:16] if load else "",
            group=f"{described.group}/{seed}",
            memory=described.memory,
            error=described.error or error,
            cost=described.cost,
            life=self.life,
        )

    def with_files(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns options with the files that they name as seen from here, and the hashes of their contents.

        Raises:
            InputError: there is no such file.
        """
        found, contents = dict(options), {}
        for name in options:
            if name in GROUPS["run"] and GROUPS["run"][name].value == "input":
                found[name] = self.spec.file(options[name])
                try:
                    contents[name] = content_hash(existing_file(found[name]))
                except InputError as error:
                    raise self.spec.error(f"options/{name}", str(error)) from None
        return found, contents

    def removes_nothing(self, drive: str, name: str, value: Any) -> bool:
        """Returns true if a setting removes a field that the drive does not have."""
        if value != "":
            return False
        try:
            looked_up(self.presets[drive], name)
        except KeyError:
            return True
        return False

    def describe(self, point: Point, drive: Drive, settings: tuple[str, ...]) -> _Described:
        """Returns what is known of the drive of a point before it runs."""
        key = (point.drive, settings, point.policy, point.precondition)
        if key not in self.described:
            extra = [] if point.policy is None or ".py:" in point.policy else [f"policy.kind={point.policy}"]
            extra += [] if point.precondition is None else [f"state.precondition={point.precondition}"]
            try:
                text = _engine.check(drive.name, drive.text, [*settings, *extra])
                facts = json.loads(_engine.describe(drive.name, drive.text, [*settings, *extra]))
            except InputError as error:
                self.refuse_unknown(str(error))
                self.described[key] = _Described(_hash(str(error)), "", 0, str(error))
            else:
                group = starting_state(drive, settings, point)
                self.described[key] = _description_facts(text, facts, Path(drive.name).parent, group, self.cost(text))
        return self.described[key]

    def cost(self, text: str) -> float:
        """Returns the cost of a drive with this complete description."""
        try:
            return self.spec.cost.total(tomllib.loads(text))
        except InputError as error:
            raise self.spec.error("cost/formula", str(error)) from None

    def refuse_unknown(self, complaint: str) -> None:
        """Refuses the specification if a complaint is about a field that no drive has.

        A value that does not fit is a failed run; a field that does not exist fails every run.
        """
        for line in complaint.splitlines():
            if "unknown field" in line or "unknown section" in line:
                named = next(
                    (name for name in [*design.varied_names(self.spec), *self.spec.settings] if f"{name}=" in line), None
                )
                table = "set" if named in self.spec.settings else "search" if self.spec.search else "vary"
                place = f"{table}/{named}" if named else table
                raise self.spec.error(place, line.partition(": ")[2] or line)


@dataclass(frozen=True, slots=True)
class _Described:
    hash: str
    group: str
    memory: int
    error: str | None = None
    cost: float | None = None


def starting_state(drive: Drive, settings: tuple[str, ...], point: Point) -> str:
    """Returns a key of the starting state of a point's drive, but for the seed; empty if it has none to be kept."""
    policy = None if point.policy is None or ".py:" in point.policy else point.policy
    request = {
        "drive": {"name": drive.name, "text": drive.text},
        "setup": {"set": settings, "policy": policy, "precondition": point.precondition},
    }
    paths = dict.fromkeys(("workload", "text", "load", "save"))
    return _engine.starting_state_key(json.dumps(request), paths) or ""


def _description_facts(text: str, facts: Mapping[str, Any], folder: Path, group: str, cost: float) -> _Described:
    document = tomllib.loads(text)
    content = text + "".join(sorted(_files(document, folder)))
    units = (facts["user_bytes"] + facts["physical_bytes"]) // 4096
    # The map, the reverse map and the validity of the units; a second copy is kept as a starting state.
    return _Described(_hash(content), group, _BESIDE + 10 * units, cost=cost)


def _files(inner: Any, folder: Path) -> Iterator[str]:
    """Yields the hash of each file that a description names."""
    if isinstance(inner, dict):
        for name, value in inner.items():
            if name == "file" and isinstance(value, str) and (folder / value).is_file():
                yield content_hash(str(folder / value))
            else:
                yield from _files(value, folder)
    elif isinstance(inner, list):
        for value in inner:
            yield from _files(value, folder)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _policy_hash(policy: str | None) -> str | None:
    """Returns the hash of a policy's file; ``None`` for one that comes with ssdlab."""
    file, name = policy_file.split(policy or "")
    return content_hash(file) if name is not None and Path(file).is_file() else None
