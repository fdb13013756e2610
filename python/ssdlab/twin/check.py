"""The check of a twin: its errors on points that it has not seen, and the causes behind the worst of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, damaged, is_file, read_own_text
from ssdlab.manifest import check_format
from ssdlab.report.content import phrase
from ssdlab.results import RunData
from ssdlab.runs import result_of_run
from ssdlab.twin import page
from ssdlab.twin.bench import Bench, Request
from ssdlab.twin.fit import DOCUMENT, DRIVE, POINTS, in_mock_up
from ssdlab.twin.judge import COVERAGE, TARGETS, Judged, Score, judged, scores
from ssdlab.twin.points import Point, Points, read_points
from ssdlab.twin.search import Problem, Steps, run_all, spreads_of
from ssdlab.twin.space import Space
from ssdlab.units import count, percent
from ssdlab.workloads import Workload

__all__ = ["Check", "check", "lines"]

#: Causes that are named for a point, each with this share of its time at least.
_CAUSES, _CONSIDERABLE = 3, 0.1


@dataclass(slots=True)
class Check:
    """Errors of a twin."""

    folder: Path
    document: dict[str, Any]
    rows: list[Judged]
    #: Worst points, with what their time consists of in the twin.
    causes: list[dict[str, Any]]

    @property
    def held(self) -> list[Judged]:
        """Points that the fit has not seen."""
        return [row for row in self.rows if row.use == "held"]

    @property
    def by_metric(self) -> list[Score]:
        """Errors on unseen points, by metric."""
        return scores(self.held, "metric")

    @property
    def by_group(self) -> list[Score]:
        """Errors on unseen points, by group."""
        return scores(self.held, "group")

    def report(self) -> str:
        """Returns the page of the check (HTML)."""
        return page.page(self.document, self.rows)

    def document_of(self) -> dict[str, Any]:
        """Returns the check for JSON."""
        whole = scores(self.held, "all")
        return {
            "folder": str(self.folder),
            "base": self.document["base"],
            "members": len(self.document["members"]),
            "split_sha256": self.document["split_sha256"],
            "mock_up": self.document["mock_up"],
            "held": len(self.held),
            "coverage": whole[0].coverage if whole else None,
            "wanted_coverage": COVERAGE,
            "metrics": [_score(score) for score in self.by_metric],
            "groups": [_score(score) for score in self.by_group],
            "causes": self.causes,
            "points": [row.document() for row in self.rows],
        }


def _score(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "points": score.count,
        "median_error": score.median,
        "worst_error": score.worst,
        "worst_point": score.worst_name,
        "coverage": score.coverage,
        "unfitted_median_error": score.unfitted,
        "nearest_median_error": score.nearest,
        "target": score.target,
    }


def check(
    folder: Path,
    other: str | None = None,
    *,
    jobs: int | None = None,
    max_memory: str | int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Check:
    """Judges a twin by its own points, or by those of another table.

    Args:
        folder: The folder of the fit.
        other: Another table of points.
        jobs: Number of processes; absent: one for each core.
        max_memory: As for a run.
        progress: Called with the number of runs so far.

    Raises:
        InputError: the folder is none of a twin, or the table has faults.
    """
    document = _document(folder)
    with damaged(folder):
        drive = Drive(str(folder / DRIVE), read_own_text(folder / DRIVE))
        settings = [tuple(member["settings"]) for member in document["members"]]
        names = {one.name for one in fields(Judged)}
        rows = [Judged(**{name: row[name] for name in names}) for row in document["points"]]
    points = _points_of(folder / POINTS if other is None else Path(other), document)
    if other is not None:
        if not points.used("fit", "held"):
            raise InputError(f"{other}: no row has use = fit or held: expected points to judge by")
        rows = _simulated(drive, settings, points, document, jobs, max_memory, progress)
    if not any(row.use == "held" for row in rows):
        raise InputError(
            f"{other or folder / POINTS}: no row has use = held: nothing can be said about unseen loads: expected points "
            "that the fit has not seen"
        )
    return Check(folder, document, rows, _causes(drive, settings[0], points, rows, document))


def _document(folder: Path) -> dict[str, Any]:
    if not is_file(folder / DOCUMENT):
        raise InputError(f"{folder}: not the folder of a twin: no {DOCUMENT} in it: expected what `ssdlab twin fit --out` wrote")
    check_format(folder)
    with damaged(folder):
        document = json.loads(read_own_text(folder / DOCUMENT, RESULT_MAX))
        version = document["schema_version"]
        _ = [document[name] for name in ("base", "seed", "mock_up", "user_bytes", "members", "points", "spreads", "nearest")]
    if version != 1:
        raise InputError(f"{folder / DOCUMENT}: schema_version {version}: expected 1")
    found: dict[str, Any] = document
    return found


def _points_of(path: Path, document: dict[str, Any]) -> Points:
    """Returns the points of a table, for the drive that the twin simulates."""
    points = read_points(path)
    if document["mock_up"] is None:
        return points
    return in_mock_up(points, document["user_bytes"])


def _simulated(
    drive: Drive,
    settings: Sequence[tuple[str, ...]],
    points: Points,
    document: dict[str, Any],
    jobs: int | None,
    max_memory: str | int | None,
    progress: Callable[[int], object] | None,
) -> list[Judged]:
    """Returns what the ensemble gives for the points of another table."""
    counted = points.used("fit", "held")
    bench = Bench(drive, counted, document["seed"])
    loads = tuple(dict.fromkeys(point.load for point in counted))
    requests = [Request(one, loads, further_seed=at) for at, one in enumerate(settings)]
    space = Space(drive, settings[0], (), {})

    def runs() -> Steps[dict[Any, float]]:
        yield requests
        for request in requests:
            if errors := bench.errors(request):
                raise InputError(f"{points.name}: {errors[0]}")
        noise = yield from spreads_of(bench, settings[0], counted)
        return noise

    noise = run_all(bench, [runs()], jobs=jobs or os.cpu_count() or 1, memory=max_memory, progress=progress)[0]
    sigmas = [Problem(bench, space, counted, noise).sigma(point) for point in counted]
    return judged(counted, [bench.values(request, counted) for request in requests], sigmas, document["spreads"])


def _causes(
    drive: Drive, settings: tuple[str, ...], points: Points, rows: Sequence[Judged], document: dict[str, Any]
) -> list[dict[str, Any]]:
    """Returns the causes behind the worst unseen point of each metric, from the ledger of a run of the best member."""
    counted = {(point.place, point.metric, point.op): point for point in points.used("fit", "held")}
    by_place = {(point.id, point.metric, point.op): point for point in counted.values()}
    bench = Bench(drive, tuple(counted.values()), document["seed"])
    runs: dict[Any, RunData] = {}
    found = []
    for score in scores([row for row in rows if row.use == "held"], "metric"):
        for row in score.points:
            point = by_place[row.id, row.metric, row.op]
            if point.load not in runs:
                runs[point.load] = _run(bench, settings, point)
            causes = _shares(runs[point.load], point)
            found.append(
                {
                    "id": row.id,
                    "metric": row.metric,
                    "op": row.op,
                    "load": row.load,
                    "error": row.error,
                    "causes": causes,
                    "sentence": _sentence(row, causes),
                }
            )
    return found


def _run(bench: Bench, settings: tuple[str, ...], point: Point) -> RunData:
    facts = bench.described((*settings, *point.load.settings()))
    text = point.load.job(bench.commands(point.load, 1.0), facts["user_bytes"])
    options: Any = {"seed": bench.seed, "set": (*settings, *point.load.settings())}
    return result_of_run(RunData, bench.drive, Workload(text=text), None, setups=None, progress=None, options=options)


def _shares(run: RunData, point: Point) -> dict[str, float]:
    """Returns the largest causes of a point with their shares: of the tail for a percentile, otherwise of the mean."""
    summary = run.summary
    if point.metric == "write_amplification":
        parts = run.write_amplification_by_reason
    else:
        tail = point.metric.removesuffix("_us")
        of_tail = (summary.get("causes_tail") or {}).get(point.op, {}).get(tail)
        parts = of_tail["causes"] if of_tail else summary["causes"][point.op]
    whole = sum(parts.values())
    shares = {name: value / whole for name, value in parts.items() if whole and value / whole >= _CONSIDERABLE}
    return dict(sorted(shares.items(), key=lambda one: (-one[1], one[0]))[:_CAUSES])


def _sentence(row: Judged, causes: dict[str, float]) -> str:
    """Returns a sentence on the worst point of a metric."""
    error = row.error or 0.0
    size = f"{100 * abs(error):.1f} % {'above' if error > 0 else 'below'} the measured value"
    if not causes:
        return f"{row.id} {row.metric}: the twin is {size}."
    named = ", ".join(
        f"{phrase(name) if row.metric != 'write_amplification' else f'programs for {name}'} ({percent(share)})"
        for name, share in causes.items()
    )
    return f"{row.id} {row.metric}: the twin is {size}; in the twin it consists of {named}."


def lines(found: Check) -> list[str]:
    """Returns sentences on a check."""
    whole = scores(found.held, "all")
    said = []
    if whole:
        said.append(
            f"{count(whole[0].count)} unseen points: {percent(whole[0].coverage)} inside the ensemble's 90 % interval "
            f"(wanted: {percent(COVERAGE)})"
        )
    for score in found.by_metric:
        target = TARGETS.get(score.name)
        if score.median is not None and target is not None and score.median > target:
            said.append(f"{score.name}: median error {percent(score.median)}, more than {percent(target)}")
    return [*said, *(cause["sentence"] for cause in found.causes)]
