"""Sweeps of the experiments: each is a specification in ``specs``, which ``ssdlab sweep`` runs, too."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
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

__all__ = ["SPECS", "WORK", "Points", "curve", "searched", "swept"]

#: Name of the source work in the entries.
WORK = "SSDExplorer"
#: Folder of the specifications and their loads.
SPECS = Path(__file__).parent / "specs"
#: Seeds of a quick sweep, and the share of its commands.
_QUICK_SEEDS, _QUICK_SHARE = 3, 4
#: Divisor of the trials of a quick search.
_QUICK_TRIALS = 3


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


def curve(name: str, x: Sequence[float], found: Sequence[Estimate], scale: float = 1.0, **style: Any) -> Series:
    """Returns a curve of estimates with their intervals, multiplied by `scale`; one seed has no interval."""
    ends = [sorted(scale * (each.mean if end is None else end) for end in (each.low, each.high)) for each in found]
    low, high = [end[0] for end in ends], [end[1] for end in ends]
    return Series(name, [*x], [scale * each.mean for each in found], low=low, high=high, **style)


def swept(
    setting: Setting,
    name: str,
    *,
    keep_length: bool = False,
    fewer: Mapping[str, Sequence[object]] | None = None,
    quick_seeds: int = _QUICK_SEEDS,
) -> Points:
    """Does the runs of a specification, and returns its points.

    Args:
        setting: The setting; a quick one has fewer seeds and shorter runs.
        name: Name of the specification.
        keep_length: True if a quick run is as long as a full one.
        fewer: Values to which a quick sweep restricts fields of ``[vary]``.
        quick_seeds: Seeds of a quick sweep.

    Raises:
        RuntimeError: a run failed.
        KeyboardInterrupt: Ctrl-C ended the sweep; what is done is kept if the setting has a folder.
    """
    document = tomllib.loads((SPECS / f"{name}.toml").read_text(encoding="utf-8"))
    if setting.quick:
        document["seeds"] = _first(document.get("seeds", [1]), quick_seeds)
        if not keep_length:
            options = document["options"]
            document["options"] = {**options, "stop_after": options["stop_after"] // _QUICK_SHARE}
        if fewer:
            document["vary"] = {**document["vary"], **fewer}
    spec = replace(ssdlab.Spec.open(document), name=name, folder=SPECS)

    def tell(progress: ssdlab.SweepProgress) -> None:
        if setting.progress is not None and progress.total:
            setting.progress(progress.done / progress.total, f"{name}: {progress.done} of {progress.total}")

    with _folder(setting, name, spec.text) as folder:
        done = ssdlab.sweep(spec, folder, progress=tell)
    if done.interrupted:
        raise KeyboardInterrupt
    failed = [row["error"] for row in done.table.select(["status", "error"]).to_pylist() if row["status"] == "failed"]
    if failed:
        raise RuntimeError(f"{name}: {len(failed)} runs failed; the first: {failed[0]}")
    return Points(done.table)


def searched(setting: Setting, name: str, trials: int) -> ssdlab.Optimisation:
    """Does the search of a specification, one trial at a time, so that it can be repeated exactly.

    Args:
        setting: The setting; a quick one has a third of the trials.
        name: Name of the specification.
        trials: Number of trials.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the search.
    """
    document = tomllib.loads((SPECS / f"{name}.toml").read_text(encoding="utf-8"))
    spec = replace(ssdlab.Spec.open(document), name=name, folder=SPECS)

    def tell(progress: ssdlab.OptimisationProgress) -> None:
        if setting.progress is not None and progress.total:
            setting.progress(progress.done / progress.total, f"{name}: {progress.done} of {progress.total}")

    # A search refuses the trials of another engine.
    with _folder(setting, name, spec.text + engine_hash()) as folder:
        count = trials // _QUICK_TRIALS if setting.quick else trials
        done = ssdlab.optimise(spec, folder, trials=count, jobs=1, comparison=False, progress=tell)
    if done.interrupted:
        raise KeyboardInterrupt
    return done


def _first(seeds: int | Sequence[int], count: int) -> int | list[int]:
    return min(seeds, count) if isinstance(seeds, int) else [*seeds[:count]]


@contextmanager
def _folder(setting: Setting, name: str, content: str) -> Iterator[Path]:
    """Yields the folder of a sweep, one for each content; it is removed unless the setting keeps sweeps."""
    if setting.runs is not None:
        yield setting.runs / f"{name}-{sha256(content.encode()).hexdigest()[:8]}"
    else:
        with TemporaryDirectory(prefix="ssdlab-") as folder:
            yield Path(folder) / name
