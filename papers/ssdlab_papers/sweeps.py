"""Runs of the experiments as sweeps: each run with several seeds, in all processes, kept in a folder if there is one.

A quantity is computed seed by seed, and its interval is that over the seeds: two runs with the same seed begin in the
same state, so that the ratio of a policy to the baseline varies less than either of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

import ssdlab
from ssdlab.charts import Series
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab.explore.tasks import engine_hash
from ssdlab_papers.setting import Setting

__all__ = ["Points", "Sample", "curve", "over_seeds", "run_search", "run_sweep", "samples"]

#: Rows of a sweep by their names.
Row = Mapping[str, Any]


class Points:
    """Points of a sweep, found by some of their fields. Fields that are tables are found by a part of their text."""

    def __init__(self, table: pa.Table) -> None:
        self.rows = [row for row in table.to_pylist() if row["status"] == "ok"]

    def at(self, where: Mapping[str, object]) -> dict[int, dict[str, Any]]:
        """Returns the rows of a point by their seed.

        Raises:
            LookupError: there is none, or the fields do not suffice.
        """
        found: dict[int, dict[str, Any]] = {}
        for row in self.rows:
            if all(_is(row[name], value) for name, value in where.items()):
                if row["seed"] in found:
                    raise LookupError(f"{dict(where)}: several points of the sweep")
                found[row["seed"]] = row
        if not found:
            raise LookupError(f"{dict(where)}: no point of the sweep")
        return found

    def estimate(self, number: str, where: Mapping[str, object], scale: float = 1.0) -> Estimate:
        """Returns a number of a point, divided by `scale`, with its interval over the seeds."""
        return estimate([row[number] / scale for row in self.at(where).values()])

    def change(self, number: str, first: Mapping[str, object], second: Mapping[str, object]) -> Estimate:
        """Returns by how much a number of the second point exceeds that of the first, seed by seed, as a share."""
        before, after = self.at(first), self.at(second)
        return estimate([after[seed][number] / before[seed][number] - 1.0 for seed in sorted(before.keys() & after.keys())])

    def values(self, field: str) -> list[Any]:
        """Returns the values of a field, in the order of the design."""
        return [*dict.fromkeys(row[field] for row in self.rows)]


def _is(found: object, wanted: object) -> bool:
    return wanted in found if isinstance(found, str) and isinstance(wanted, str) and found.startswith("{") else found == wanted


@dataclass(frozen=True, slots=True)
class Sample:
    """The runs of one point: a row for each seed."""

    rows: Mapping[int, Row]

    def estimate(self, quantity: Callable[[Row], float]) -> Estimate:
        """Returns a quantity of each run, with its interval over the seeds."""
        return over_seeds(quantity, self)


def over_seeds(quantity: Callable[..., float], *of: Sample) -> Estimate:
    """Returns a quantity of the runs of several points with the same seed, with its interval over the seeds.

    Args:
        quantity: Computes it from a row of each point.
        *of: The points. Seeds that not all of them have are left out.
    """
    seeds = sorted(set[int].intersection(*(set(sample.rows) for sample in of)))
    return estimate([quantity(*(sample.rows[seed] for sample in of)) for seed in seeds])


def curve(name: str, x: Sequence[float], found: Sequence[Estimate], scale: float = 1.0, **style: Any) -> Series:
    """Returns a curve of estimates with their intervals, multiplied by `scale`; one seed has no interval."""
    ends = [sorted(scale * (each.mean if end is None else end) for end in (each.low, each.high)) for each in found]
    low, high = [end[0] for end in ends], [end[1] for end in ends]
    return Series(name, [*x], [scale * each.mean for each in found], low=low, high=high, **style)


def samples(
    setting: Setting,
    name: str,
    points: Sequence[Mapping[str, object]],
    *,
    columns: Sequence[str] = (),
    seeds: int | None = None,
    **further: Any,
) -> list[Sample]:
    """Runs points, each with every seed, and returns them in the order given. Equal points are run once.

    Args:
        setting: The setting, which decides the number of seeds unless `seeds` does.
        name: Name of the sweep, in the progress line and in the folder of kept runs.
        points: Fields of each: ``drive``, ``workload``, ``policy``, ``precondition``, fields of the drive,
            ``workload.KEY`` and ``options.NAME``.
        columns: Numbers that are needed beside those that every sweep keeps.
        seeds: Number of seeds.
        further: Further keys of the specification, such as ``lifetime``.

    Raises:
        RuntimeError: a run failed.
        KeyboardInterrupt: Ctrl-C ended the sweep; what is done is kept if the setting has a folder.
    """
    keys = [json.dumps(point, sort_keys=True, default=str) for point in points]
    once = dict(zip(keys, points, strict=True))
    count = seeds or setting.seeds
    kept = {"columns": [*columns]} if columns else {}
    document = {"seeds": count, **kept, "points": [*once.values()], **further}
    table = run_sweep(setting, replace(ssdlab.Spec.open(document), name=name))
    rows = iter(sorted(table.to_pylist(), key=lambda row: row["index"]))
    found = {key: Sample({row["seed"]: row for row in (next(rows) for _ in range(count))}) for key in once}
    return [found[key] for key in keys]


def run_sweep(setting: Setting, spec: ssdlab.Spec) -> pa.Table:
    """Does the runs of a specification, and returns their rows.

    Raises:
        RuntimeError: a run failed.
        KeyboardInterrupt: Ctrl-C ended the sweep; what is done is kept if the setting has a folder.
    """

    def tell(progress: ssdlab.SweepProgress) -> None:
        if setting.progress is not None and progress.total:
            setting.progress(progress.done / progress.total, f"{spec.name}: {progress.done} of {progress.total}")

    with _folder(setting, spec.name, spec.text) as folder:
        done = ssdlab.sweep(spec, folder, progress=tell)
    if done.interrupted:
        raise KeyboardInterrupt
    failed = [row["error"] for row in done.table.select(["status", "error"]).to_pylist() if row["status"] == "failed"]
    if failed:
        raise RuntimeError(f"{spec.name}: {len(failed)} runs failed; the first: {failed[0]}")
    return done.table


def run_search(setting: Setting, spec: ssdlab.Spec, trials: int) -> ssdlab.Optimisation:
    """Does a search, one trial at a time, so that it can be repeated exactly.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the search.
    """

    def tell(progress: ssdlab.OptimisationProgress) -> None:
        if setting.progress is not None and progress.total:
            setting.progress(progress.done / progress.total, f"{spec.name}: {progress.done} of {progress.total}")

    # A search refuses the trials of another engine.
    with _folder(setting, spec.name, spec.text + engine_hash()) as folder:
        done = ssdlab.optimise(spec, folder, trials=trials, jobs=1, comparison=False, progress=tell)
    if done.interrupted:
        raise KeyboardInterrupt
    return done


@contextmanager
def _folder(setting: Setting, name: str, content: str) -> Iterator[Path]:
    """Yields the folder of a sweep, one for each content; it is removed unless the setting keeps sweeps."""
    if setting.runs is not None:
        yield setting.runs / f"{name}-{sha256(content.encode()).hexdigest()[:8]}"
    else:
        with TemporaryDirectory(prefix="ssdlab-") as folder:
            yield Path(folder) / name
