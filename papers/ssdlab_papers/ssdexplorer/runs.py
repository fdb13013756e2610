"""Sweeps of the experiments: each is a specification in ``specs``, which ``ssdlab sweep`` runs, too."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab_papers import sweeps
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Points

__all__ = ["SPECS", "WORK", "document", "run_search", "run_sweep"]

#: Name of the source work in the entries.
WORK = "SSDExplorer"
#: Folder of the specifications and their loads.
SPECS = Path(__file__).parent / "specs"
#: Seeds of a quick sweep, and the share of its commands.
_QUICK_SEEDS, _QUICK_SHARE = 1, 4
#: Divisor of the trials of a quick search.
_QUICK_TRIALS = 3


def run_sweep(
    setting: Setting,
    name: str,
    *,
    keep_length: bool = False,
    fewer: Mapping[str, Sequence[object]] | None = None,
    quick_seeds: int = _QUICK_SEEDS,
    only: Mapping[str, object] | None = None,
) -> Points:
    """Does the runs of a specification, and returns its points.

    Args:
        setting: The setting; a quick one has fewer seeds and shorter runs.
        name: Name of the specification.
        keep_length: True if a quick run is as long as a full one.
        fewer: Values to which a quick sweep restricts fields of ``[vary]``.
        quick_seeds: Seeds of a quick sweep.
        only: Values of the drive and of zipped fields to whose points the sweep is restricted.

    Raises:
        RuntimeError: a run failed.
        KeyboardInterrupt: Ctrl-C ended the sweep; what is done is kept if the setting has a folder.
    """
    found = _restricted(document(name), only or {})
    if setting.quick:
        found["seeds"] = _first(found.get("seeds", [1]), quick_seeds)
        if not keep_length:
            options = found["options"]
            found["options"] = {**options, "stop_after": options["stop_after"] // _QUICK_SHARE}
        if fewer:
            found["vary"] = {**found["vary"], **fewer}
    return Points(sweeps.run_sweep(setting, _spec(name, found)))


def run_search(setting: Setting, name: str, trials: int) -> ssdlab.Optimisation:
    """Does the search of a specification; a quick setting has a third of the trials.

    Raises:
        KeyboardInterrupt: Ctrl-C ended the search.
    """
    return sweeps.run_search(setting, _spec(name, document(name)), trials // _QUICK_TRIALS if setting.quick else trials)


def document(name: str) -> dict[str, Any]:
    """Returns a specification."""
    return tomllib.loads((SPECS / f"{name}.toml").read_text(encoding="utf-8"))


def _restricted(document: Mapping[str, Any], only: Mapping[str, object]) -> dict[str, Any]:
    """Returns a specification with one value of each of these fields, and of those that are zipped with it."""
    found = {**document, "zip": [dict(each) for each in document.get("zip", [])]}
    for name, value in only.items():
        if name == "drive":
            found["drive"] = value
            continue
        (fields,) = (each for each in found["zip"] if name in each)
        at = fields[name].index(value)
        fields.update({key: [values[at]] for key, values in fields.items()})
    return found if found["zip"] else {key: value for key, value in found.items() if key != "zip"}


def _spec(name: str, document: Mapping[str, Any]) -> ssdlab.Spec:
    return replace(ssdlab.Spec.open(document), name=name, folder=SPECS)


def _first(seeds: int | Sequence[int], count: int) -> int | list[int]:
    return min(seeds, count) if isinstance(seeds, int) else [*seeds[:count]]
