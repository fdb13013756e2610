"""Runs repeated from what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ssdlab import _engine, policy_file, simulate
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, damaged, read_text
from ssdlab.folder import load_result
from ssdlab.manifest import MANIFEST
from ssdlab.presentation import Result
from ssdlab.provenance import Origin, input_hash
from ssdlab.results import RunData, flat
from ssdlab.runs import PolicyLike
from ssdlab.workloads import Workload

__all__ = ["Request", "Rerun", "request_of", "request_of_folder", "rerun"]

#: Times of a run, which differ between equal runs.
_TIMES = ("wall_s",)


@dataclass(frozen=True, slots=True)
class Rerun:
    """A run that was repeated from its folder.

    Examples:
        >>> folder = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").save("out")
        >>> again = ssdlab.rerun(folder)
        >>> again.is_same, again.differences
        (True, [])
    """

    #: The new result.
    result: Result
    #: Numbers and files in which it differs from that in the folder.
    differences: list[str]
    #: Build of the engine that made the result in the folder.
    engine: str

    @property
    def is_same(self) -> bool:
        """True if the results agree in everything but the time that the run took."""
        return not self.differences


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a run, with which it can be done again."""

    #: The drive, complete.
    drive: Drive
    workload: Workload
    policy: PolicyLike | None
    #: Options, the seed included.
    options: Mapping[str, Any]
    #: Build of the engine that made the result.
    engine: str


def request_of(result: RunData) -> Request:
    """Returns the request of a result of this process.

    Raises:
        InputError: the result was read from a folder, or ran under a policy given as a Python object.
    """
    origin = result.origin
    if not isinstance(origin, Origin):
        raise InputError("the result was read from a folder: expected the folder itself")
    if origin.policy is not None and origin.policy.startswith("class "):
        raise InputError(
            f"the run was under a policy given as a Python object ({origin.policy}), which only its program can repeat"
        )
    policy = None if origin.policy is None else policy_file.policy_of(origin.policy)
    options = {**origin.options, "seed": result.seed}
    return Request(Drive(origin.drive, result.drive_toml), origin.workload, policy, options, _engine.build())


def request_of_folder(path: Path) -> Request:
    """Returns the request of the run of a result folder.

    Raises:
        InputError: the folder is none of a result, or does not say how it was made; or an input is missing or changed.
    """
    before = load_result(path)
    try:
        record = json.loads(read_text(path / MANIFEST, RESULT_MAX))["run"]
        policy = None if record["policy"] is None else str(record["policy"])
        options = {**record["options"], "seed": int(record["seed"])}
        drive, engine, loaded = str(record["drive"]), str(record["engine"]), record["sha256"]["loaded"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{path}: its manifest does not say how it was made: it was written by an earlier version") from None
    if policy is not None and policy.startswith("class "):
        raise InputError(f"{path}: ran under a policy given as a Python object ({policy}), which only its program can repeat")
    if loaded is not None and input_hash(str(options["load"])) != loaded:
        raise InputError(f"{path}: started from {options['load']}, which is another file now")
    chosen = None if policy is None else policy_file.policy_of(policy)
    return Request(Drive(drive, before.drive_toml), Workload(path / "workload.toml"), chosen, options, engine)


def rerun(folder: str | PathLike[str], **hooks: Any) -> Rerun:
    """Does the run of a result folder again, and compares the results.

    Args:
        folder: A folder that ``--out`` or :meth:`ssdlab.Result.save` wrote.
        **hooks: `session` and `progress` of :func:`ssdlab.run`.

    Raises:
        InputError: the folder is none of a result, or does not say how it was made; or an input is missing or changed.

    Examples:
        >>> folder = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill").save("out")
        >>> ssdlab.rerun(folder).result.write_amplification
        1.0
    """
    path = Path(folder)
    with damaged(path):
        before = load_result(path)
        is_complete = before.status == "complete"
    if not is_complete:
        raise InputError(f"{path}: its run was stopped before its end, and a whole run gives another result")
    asked = request_of_folder(path)
    result = simulate.run(asked.drive, asked.workload, asked.policy, **{**asked.options, **hooks})
    with damaged(path):
        return Rerun(result, _differences(before, result), asked.engine)


def _differences(before: RunData, after: RunData) -> list[str]:
    """Returns where two results differ, numbers of the summary first."""
    old, new = (dict(flat(each.summary, "")) for each in (before, after))
    names = [name for name in {**old, **new} if name not in _TIMES and old.get(name) != new.get(name)]
    found = [f"{name}: {old.get(name)!r}, now {new.get(name)!r}" for name in names]
    if before.drive_toml != after.drive_toml:
        found.append("drive.toml")
    for name, tables in (
        ("latency.parquet", (before.latency_table(), after.latency_table())),
        ("timeline.parquet", (before.timeline_table(), after.timeline_table())),
    ):
        if not tables[0].equals(tables[1]):
            found.append(name)
    return found
