"""The fit of a twin: searches, ensemble, knowledge and the folder that keeps them."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ssdlab import _engine, drives, toml
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore.front import made_absolute
from ssdlab.files import check_new_folder, write_folder
from ssdlab.manifest import MANIFEST
from ssdlab.twin import knowledge, page
from ssdlab.twin.bench import LONGEST, Bench, Request
from ssdlab.twin.judge import Judged, class_spreads, judged
from ssdlab.twin.points import Point, Points, read_points
from ssdlab.twin.runs import Runs, kept_runs
from ssdlab.twin.search import MIDDLE, Found, Problem, Steps, run_all, search, spreads_of
from ssdlab.twin.space import Space, space_of

__all__ = ["DOCUMENT", "DRIVE", "KIND", "Asked", "fit", "in_mock_up"]

#: Kind of the folder in its manifest, and files in it.
KIND, DOCUMENT, DRIVE, POINTS, PAGE = "twin", "twin.json", "drive.toml", "points.csv", "report.html"
#: Version of the document.
_VERSION = 1
#: Searches, of which the first begins at the base, and trials of the others together.
SEARCHES, TRIALS = 3, 60
#: Factor by which a value may be beyond both corners of the space: the corners are no bounds, least of all of tails.
_REACH = {"p99_us": 4.0, "p99_9_us": 10.0, "p99_99_us": 10.0}
_REACH_ELSE = 1.5
#: The same for an unseen point: one that the model does not reach is an error of the twin, to be shown.
_REACH_HELD = 10.0
#: Ratio to the base from which a value out of reach looks like one in another unit.
_SLIP = 300.0
#: Fields of which more is faster; of all others less is.
_MORE_IS_FASTER = ("transfer_rate", "capacity", "overprovisioning", "dynamic_blocks", "static_blocks", "most")
#: Presets that are simulated as the nearest other drive, and largest ratio of their size to that of the twin.
_NEIGHBOURS, _TOO_LARGE = 2, 2.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Request for a fit."""

    points: str
    base: str
    spec: str | None = None
    trials: int = TRIALS
    seed: int = 1
    #: User capacity of the mock-up that is simulated in place of the base; ``None``: the base itself.
    shrink: str | None = None
    jobs: int | None = None
    max_memory: str | int | None = None
    #: Most commands of a run of the search; what is judged in the end has as many as its percentiles need.
    commands: int = LONGEST
    #: File in which the runs are kept, so that an interrupted fit goes on.
    runs: Path | None = None


@dataclass(slots=True)
class _Fitted:
    """Outcome of the runs of a fit."""

    found: list[Found]
    learnt: knowledge.Knowledge
    rows: list[Judged]
    spreads: dict[str, float]
    neighbour: dict[str, Any] | None


def fit(asked: Asked, out: Path, *, force: bool = False, progress: Callable[[str, int], object] | None = None) -> dict[str, Any]:
    """Fits drives to points, and writes the folder of the twin; returns its document.

    Args:
        asked: Points, base and options.
        out: The folder.
        force: Replace it, if ssdlab wrote it.
        progress: Called with the phase and the number of runs so far.

    Raises:
        InputError: an input is invalid; the message names each fault by its row or field.
    """
    check_new_folder(out, force)
    if asked.runs is not None:
        with kept_runs(asked.runs) as runs:
            return _fit_with(asked, out, runs, force, progress)
    return _fit_with(asked, out, None, force, progress)


def _fit_with(
    asked: Asked, out: Path, runs: Runs | None, force: bool, progress: Callable[[str, int], object] | None
) -> dict[str, Any]:
    """Fits drives to points like :func:`fit`, with the runs in a file."""
    if importlib.util.find_spec("optuna") is None:
        raise InputError("a fit needs Optuna: pip install 'ssdlab[search]'")
    points = read_points(asked.points)
    points.check_for_fit()
    # Before anything is run: the split cannot follow from the fit.
    split = points.split_hash()
    source = Drive.open(asked.base)
    simulated = source
    if asked.shrink is not None:
        simulated = Drive(source.name, drives.mock_up(source, asked.shrink, beside=Path(source.name)).text)
        points = in_mock_up(points, drives.describe(source)["user_bytes"])
    space = space_of(asked.base, asked.spec, is_mock_up=asked.shrink is not None, drive=simulated)
    counted = points.used("fit", "held")
    bench = Bench(simulated, counted, asked.seed, asked.commands, kept=None if runs is None else runs.of(simulated))

    def run(phase: str, works: Sequence[Steps[Any]]) -> list[Any]:
        hook = None if progress is None else lambda runs: progress(phase, runs)
        return run_all(bench, works, jobs=asked.jobs or os.cpu_count() or 1, memory=asked.max_memory, progress=hook)

    fitted = _fit(asked, bench, space, points, run, runs, progress)
    document = _document(asked, split, bench, space, fitted)
    write_folder(out, KIND, lambda folder: _write(folder, document, asked, space, fitted, points), force=force)
    return document


def in_mock_up(points: Points, whole: int) -> Points:
    """Returns the points with parts of the drive as shares of its bytes, `whole`: a mock-up has fewer.

    Raises:
        InputError: a part is larger than the drive.
    """

    def scaled(point: Point) -> Point:
        load = point.load
        if load.span <= 1:
            return point
        if load.span > whole:
            raise InputError(f"{point.place}: size: {load.span:,.0f} bytes: the drive has {whole:,}: expected less")
        return replace(point, load=replace(load, span=load.span / whole))

    return Points(points.name, tuple(scaled(point) for point in points.rows), points.text)


def _corners(space: Space) -> list[list[float]]:
    """Returns the fastest and the slowest drive of a space, and its base."""
    fast = [1.0 if field.name.endswith(_MORE_IS_FASTER) else 0.0 for field in space.fields]
    return [fast, [1 - share for share in fast], list(space.start)]


def _check_reach(bench: Bench, space: Space, points: Sequence[Point]) -> Steps[None]:
    """Checks that the fields can move to the measured values.

    Raises:
        InputError: no drive of the space could give a value; the message names each by its row.
    """
    loads = tuple(dict.fromkeys(point.load for point in points))
    requests = [Request(space.settings(shares), loads, 1.0) for shares in _corners(space)]
    yield requests
    for request in requests:
        if errors := bench.errors(request):
            raise InputError(f"{bench.drive.name}: {errors[0]}")
    faults = []
    for point in points:
        values = [value for request in requests if (value := bench.values(request, [point])[0]) is not None]
        factor = _REACH.get(point.metric, _REACH_ELSE) if point.use == "fit" else _REACH_HELD
        if not values or min(values) / factor <= point.value <= max(values) * factor:
            continue
        ratio = max(point.value / values[-1], values[-1] / point.value)
        slip = "a unit slip of 1,000? " if ratio > _SLIP else ""
        faults.append(
            f"{point.place}: value: {point.metric} {point.value:g} under {point.load.name}: no drive of {space.drive.name} "
            f"reaches it: {slip}expected {min(values):.4g} to {max(values):.4g}, from the fastest to the slowest drive of the "
            "ranges, or another base"
        )
    if faults:
        raise InputError("\n".join(faults))


def _fit(
    asked: Asked,
    bench: Bench,
    space: Space,
    points: Points,
    run: Callable[[str, Sequence[Steps[Any]]], list[Any]],
    runs: Runs | None,
    progress: Callable[[str, int], object] | None,
) -> _Fitted:
    """Does the runs of a fit."""
    fitting, counted = points.used("fit"), points.used("fit", "held")
    noise: dict[Any, float] = run("reach and noise", [_reach_and_noise(bench, space, counted)])[0]
    problem = Problem(bench, space, fitting, noise)
    each = max(asked.trials // (SEARCHES - 1), 1)
    found: list[Found] = run("search", [search(problem, number, each, asked.seed) for number in range(SEARCHES)])
    found.sort(key=lambda one: one.loss)
    if not math.isfinite(found[0].loss):
        raise InputError(f"{space.drive.name}: no drive of the search could be run: expected narrower ranges")
    learnt: knowledge.Knowledge = run("ensemble", [knowledge.learned(problem, [one.shares for one in found], asked.seed)])[0]
    # The noise of the fitted drive is not that of the base. Each member has a seed of its own.
    every = Problem(bench, space, counted, noise)
    bench.longest = LONGEST
    requests = [replace(every.request(shares, 1.0), further_seed=at) for at, shares in enumerate(learnt.members)]
    start = every.request(space.start, 1.0)
    best_noise = spreads_of(bench, space.settings(learnt.best), counted)
    every = replace(every, spreads=run("held out", [_runs([*requests, start]), best_noise])[-1])
    sigmas = [float(sigma) for sigma in problem.sigmas()]
    spreads = class_spreads(fitting, learnt.left_out, sigmas)
    rows = judged(
        counted, [bench.values(request, counted) for request in requests], [float(one) for one in every.sigmas()], spreads
    )
    for row, value in zip(rows, bench.values(start, counted), strict=True):
        row.unfitted = value
    errors = iter(learnt.left_out)
    for row in rows:
        if row.use == "fit":
            error = next(errors)
            row.left_out = None if math.isnan(error) else math.exp(error) - 1
    return _Fitted(found, learnt, rows, spreads, _neighbour(asked, bench, rows, runs, progress))


def _reach_and_noise(bench: Bench, space: Space, points: Sequence[Point]) -> Steps[dict[Any, float]]:
    """Checks that the fields can move to the measured values; returns the spread of the base's values between seeds."""
    yield from _check_reach(bench, space, points)
    found = yield from spreads_of(bench, space.settings(space.start), points)
    return found


def _runs(requests: Sequence[Request]) -> Steps[None]:
    yield requests


def _neighbour(
    asked: Asked,
    bench: Bench,
    rows: Sequence[Judged],
    runs: Runs | None,
    progress: Callable[[str, int], object] | None,
) -> dict[str, Any] | None:
    """Simulates the presets that are most like the base, and keeps the one that is nearest to the points."""
    best: tuple[float, str, str, list[float | None]] | None = None
    simulated = 0
    for name, size in _candidates(bench.drive):
        if simulated == _NEIGHBOURS:
            break
        try:
            drive = Drive.open(name) if size is None else Drive(name, drives.shrink(name, size))
            other = Bench(drive, bench.points, asked.seed, kept=None if runs is None else runs.of(drive))
            loads = tuple(dict.fromkeys(point.load for point in bench.points))
            request = Request((), loads, MIDDLE)
            hook = None if progress is None else lambda runs: progress("nearest other drive", runs)
            run_all(other, [_runs([request])], jobs=asked.jobs or os.cpu_count() or 1, memory=asked.max_memory, progress=hook)
        except InputError:
            # A preset that has no such mock-up, or is too small for a load, is no neighbour.
            continue
        values = other.values(request, bench.points)
        known = [abs(math.log(value / row.measured)) for value, row in zip(values, rows, strict=True) if value is not None]
        if known:
            simulated += 1
            distance = sorted(known)[len(known) // 2]
            best = min(best or (math.inf, "", "", []), (distance, name, size or "", values), key=lambda one: one[0])
    if best is None:
        return None
    for row, value in zip(rows, best[3], strict=True):
        row.nearest = value
    return {"name": best[1], "mock_up": best[2] or None}


def _candidates(drive: Drive) -> list[tuple[str, str | None]]:
    """Returns presets like a drive, the nearest first, each with the size of its mock-up if it is much larger."""
    facts = drives.describe(drive)
    kind = tomllib.loads(drives.check(drive))["host"]["interface"]
    wanted = kind["kind"] if isinstance(kind, dict) else kind
    found = []
    for preset in drives.presets():
        if preset.name == drive.name:
            continue
        there = tomllib.loads(drives.check(preset.name))["host"]["interface"]
        if (there["kind"] if isinstance(there, dict) else there) != wanted:
            continue
        other = drives.describe(preset.name)
        names = ("read_at_depth_1_ns", "random_read_iops", "program_ns", "write_bytes_per_s")
        distance = sum(abs(math.log(max(other["bounds"][name], 1) / max(facts["bounds"][name], 1))) for name in names)
        is_large = other["user_bytes"] > _TOO_LARGE * facts["user_bytes"]
        found.append((distance, preset.name, f"{facts['user_bytes'] >> 20}MiB" if is_large else None))
    return [(name, size) for _, name, size in sorted(found, key=lambda one: one[:2])]


def _document(asked: Asked, split: str, bench: Bench, space: Space, fitted: _Fitted) -> dict[str, Any]:
    """Returns the document of a fit."""
    fitting = [point for point in bench.points if point.use == "fit"]
    members = []
    for at, shares in enumerate(fitted.learnt.members):
        request = Request(space.settings(shares), tuple(dict.fromkeys(point.load for point in fitting)))
        members.append(
            {
                "file": f"drives/member-{at:02}.toml",
                "values": space.values(shares),
                "settings": list(space.settings(shares)),
                "median_error": _median_error(bench, request, fitting),
            }
        )
    return {
        "schema_version": _VERSION,
        "base": asked.base,
        "spec": asked.spec,
        "seed": asked.seed,
        "trials": asked.trials,
        "mock_up": asked.shrink,
        "user_bytes": drives.describe(asked.base, set=space.fixed)["user_bytes"],
        "split_sha256": split,
        "runs": bench.runs,
        "engine": _engine.build(),
        "searches": [{"start": one.start, "loss": one.loss, "values": space.values(one.shares)} for one in fitted.found],
        "members": members,
        "knowledge": knowledge.summary(fitted.learnt),
        "spreads": fitted.spreads,
        "nearest": fitted.neighbour,
        "points": [row.document() for row in fitted.rows],
    }


def _median_error(bench: Bench, request: Request, points: Sequence[Point]) -> float | None:
    values = zip(bench.values(request, points), points, strict=True)
    errors = sorted(abs(value / point.value - 1) for value, point in values if value is not None)
    return errors[len(errors) // 2] if errors else None


def _write(folder: Path, document: dict[str, Any], asked: Asked, space: Space, fitted: _Fitted, points: Points) -> None:
    """Writes the folder of a twin."""
    text = json.dumps(document, indent=2) + "\n"
    (folder / DOCUMENT).write_text(text, encoding="utf-8")
    (folder / POINTS).write_text(points.text, encoding="utf-8")
    (folder / MANIFEST).write_text(json.dumps({"run": {"split_sha256": document["split_sha256"]}}), encoding="utf-8")
    (folder / DRIVE).write_text(_complete(space.drive, space.fixed), encoding="utf-8")
    (folder / "drives").mkdir()
    whole = Drive.open(asked.base)
    for member in document["members"]:
        head = [
            f"# Member of the ensemble of a twin of {asked.base}: fitted to {Path(asked.points).name}.",
            *(f"# {name}: {value}" for name, value in member["values"].items()),
        ]
        description = _complete(whole, member["settings"])
        (folder / member["file"]).write_text("\n".join(head) + "\n" + description, encoding="utf-8")
    (folder / PAGE).write_text(page.page(document, fitted.rows), encoding="utf-8")


def _complete(drive: Drive, settings: Sequence[str]) -> str:
    """Returns the complete description of a drive, which no other file has to be beside."""
    text = drives.check(drive, set=settings)
    fields = tomllib.loads(text)
    return toml.document(fields) if made_absolute(fields, Path(drive.name).parent) else text
