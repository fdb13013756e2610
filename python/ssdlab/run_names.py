"""Names of runs, by what differs between them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Largest number of settings that a name of a run states.
_MOST_SETTINGS = 3
#: Longest name that is made of what differs, if the runs lie in folders whose names tell them apart.
_LONGEST = 44
#: Parts of a workload's description that follow from its file and the drive.
_DERIVED = ("user_capacity", "user_bytes", "scan", "source")
#: Names of settings that say nothing without the section that they are in.
_VAGUE = frozenset({"kind", "name", "size", "file", "op"})


def run_names(runs: Sequence[RunData], without: Set[str] = frozenset()) -> list[str]:
    """Returns names that tell the runs apart: their labels, or what differs, or the names of their folders.

    What differs is policy, drive, workload, seed, and up to three settings: those of the descriptions of drives and
    workloads and the parameters of the policies, except those `without` which the runs are to be named. Where that is
    long, or tells too little, runs have the names of the folders they were read from. Runs that nothing tells apart are
    numbered.
    """
    names = [" · ".join(parts) for parts in labels(runs, without)]
    if len(set(names)) < len(names) or max(map(len, names)) > _LONGEST:
        names = _folders(runs) or names
    names = [run.label or name for run, name in zip(runs, names, strict=True)]
    repeated = len(set(names)) < len(names)
    return [f"run {index + 1}" for index in range(len(names))] if repeated else names


def _folders(runs: Sequence[RunData]) -> list[str] | None:
    """Returns the names of the folders of runs, with as many parents as tell them apart; ``None`` if they do not."""
    folders = [run.folder.resolve().parts for run in runs if run.folder is not None]
    if len(set(folders)) < len(runs):
        return None
    parts = next(count for count in range(1, max(map(len, folders)) + 1) if len({each[-count:] for each in folders}) == len(runs))
    return ["/".join(each[-parts:]) for each in folders]


def labels(runs: Sequence[RunData], without: Set[str] = frozenset()) -> list[tuple[str, ...]]:
    """Returns the parts of the names of runs, without the numbers of those that nothing tells apart.

    Runs of one comparison are named by the fields that it varied, not by the settings that follow from them.
    """
    chosen = [values for values in _fields(runs) if len(set(values)) > 1]
    settings = _varied_fields(runs, without)
    if settings is None:
        settings = differences(runs, without)
        settings = settings if len(settings) <= _MOST_SETTINGS else []
    chosen += [[f"{title} {value}" for value in values] for title, values in settings]
    chosen = chosen or [[run.policy for run in runs]]
    return [*zip(*chosen, strict=True)]


def _varied_fields(runs: Sequence[RunData], without: Set[str]) -> list[tuple[str, list[str]]] | None:
    """Returns the fields that a comparison varied; ``None`` if these are not the runs of one, or differ otherwise."""
    fields = [{} if run.origin is None else run.origin.varied for run in runs]
    if not fields[0] or any(each.keys() != fields[0].keys() for each in fields):
        return None
    texts = {tuple(name.split(".")): [_text(each[name]) or "–" for each in fields] for name in fields[0]}
    told = {
        (run.policy, run.drive, run.workload, run.seed, *own)
        for run, own in zip(runs, zip(*texts.values(), strict=True), strict=True)
    }
    if len(told) < len(runs):
        return None
    return _titled_settings({path: own for path, own in texts.items() if len(set(own)) > 1 and path[-1] not in without})


def _fields(runs: Sequence[RunData]) -> list[list[str]]:
    """Returns policy, drive, workload and seed; paths without their folders, if that tells as many runs apart."""
    columns = []
    for field in ("policy", "drive", "workload", "seed"):
        whole = [f"seed {run.seed}" if field == "seed" else str(getattr(run, field)) for run in runs]
        brief = [name.rstrip("/").rsplit("/", 1)[-1] or name for name in whole]
        columns.append(brief if len(set(brief)) == len(set(whole)) else whole)
    return columns


def differences(runs: Sequence[RunData], without: Set[str] = frozenset()) -> list[tuple[str, list[str]]]:
    """Returns the settings in which the runs differ, beyond what their names say: short title, and text in each run."""
    return _titled_settings(varied_settings(runs, without))


def varied_settings(runs: Sequence[RunData], without: Set[str] = frozenset()) -> dict[tuple[str, ...], list[str]]:
    """Returns the settings in which the runs differ, by their whole path: the text in each run."""
    same_drive, same_load = (len({getattr(run, field) for run in runs}) == 1 for field in ("drive", "workload"))
    same_seed = len({run.seed for run in runs}) == 1
    tables: list[dict[tuple[str, ...], Any]] = [{} for _ in runs]
    policies = {run.policy for run in runs}
    for table, run in zip(tables, runs, strict=True):
        drive = dict(_leaves(tomllib.loads(run.drive_toml))) if same_drive else {}
        load = _load(run) if same_load else {}
        table |= {path: value for path, value in drive.items() if _counts(path, policies)}
        table |= {path: value for path, value in load.items() if same_seed or path[-1] != "seed"}
    paths = [path for path in dict.fromkeys(path for table in tables for path in table) if path and path[-1] not in without]
    columns = {path: ["–" if (value := table.get(path)) is None else _text(value) for table in tables] for path in paths}
    return {path: values for path, values in columns.items() if len(set(values)) > 1}


def _titled_settings(varied: Mapping[tuple[str, ...], list[str]]) -> list[tuple[str, list[str]]]:
    """Returns settings with short titles."""
    last = [_title(path, 1) for path in varied]
    return [
        (title if last.count(title) == 1 and title not in _VAGUE else _title(path, 2), values)
        for title, (path, values) in zip(last, varied.items(), strict=True)
    ]


def _load(run: RunData) -> dict[tuple[str, ...], Any]:
    """Returns the settings of a workload; sizes equal to the drive's capacity follow from the drive, and say so."""
    described = tomllib.loads(run.workload_toml)
    capacity = described.get("user_capacity")
    described = {name: value for name, value in described.items() if name not in _DERIVED}
    return {path: "all" if value == capacity else value for path, value in _leaves(described)}


def _counts(path: tuple[str, ...], policies: Set[str]) -> bool:
    """Returns True if a setting of a drive can make a difference that its name and the policy's do not state."""
    if path[0] == "policy":
        return len(path) > 2 and path[1] in policies
    return path != ("title",)


def _title(path: tuple[str, ...], parts: int) -> str:
    return ".".join([part for part in path if not part.isdigit()][-parts:])


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the values of nested tables with their paths; a list without tables counts as one value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, str(index)))
    else:
        yield path, value
