"""Calls of the engine: what every run is asked with, and what one run returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ssdlab import _engine, drives, memory, policy_file
from ssdlab._declared import LimitsKeywords, RecordsKeywords, RunKeywords, SavedDriveKeywords, SetupKeywords
from ssdlab.declared import checked, sorted_by_group
from ssdlab.drives import Drive, DriveLike
from ssdlab.errors import InputError, Interrupted, NotWrittenError
from ssdlab.files import FailedFiles, existing_file, new_run_file
from ssdlab.guest import Guest
from ssdlab.outputs import Outputs, not_written
from ssdlab.policy import Policy
from ssdlab.provenance import Origin, original_workload
from ssdlab.results import RunData
from ssdlab.setups import Setups, check_session
from ssdlab.words import in_own_words
from ssdlab.workloads import Workload, WorkloadLike

__all__ = ["PolicyLike", "Progress", "ProgressHook", "RunOptions", "call_engine", "result_of_run"]

#: Policy as an argument: the name of a policy that comes with ssdlab, or a user's :class:`~ssdlab.Policy`.
PolicyLike: TypeAlias = str | Policy | type[Policy]


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Examples:
        >>> def keep_going(progress):
        ...     return progress.stage != "run" or progress.commands < 1000
        >>> ssdlab.run("tiny", "examples/randwrite.fio", progress=keep_going).status
        'partial'
    """

    #: Stage of the run: ``foresee`` (the future accesses are recorded for a policy that needs them), ``precondition``,
    #: ``run``, ``lifetime``, ``shutdown`` or ``save``.
    stage: str
    #: Simulated time, in nanoseconds.
    simulated_ns: int
    #: Number of commands completed.
    commands: int
    #: Completed share of the stage, 0 to 1; ``None`` where it cannot be known.
    fraction: float | None


#: Called about ten times a second; a run ends cleanly, marked ``partial``, when it returns ``False``.
ProgressHook: TypeAlias = Callable[[Progress], bool | None]

#: Outcome of a call of the engine.
Outcome = TypeVar("Outcome", _engine.Outcome, _engine.LifetimeOutcome)
#: Call of the engine: a request in JSON, the files that it reads and writes, and its hook.
EngineCall: TypeAlias = Callable[[str, dict[str, Any], "EngineHook | None"], Outcome]

#: Groups of options of a run.
GROUPS_OF_RUN = ("setup", "saved_drive", "run", "records", "limits")
#: Class of what a run returns.
Data = TypeVar("Data", bound=RunData)


class RunOptions(SetupKeywords, SavedDriveKeywords, RunKeywords, RecordsKeywords, LimitsKeywords, total=False):
    """Keyword arguments of :func:`ssdlab.run`."""


@in_own_words
def result_of_run(
    kind: type[Data],
    drive: DriveLike,
    workload: WorkloadLike,
    policy: PolicyLike | None,
    *,
    setups: Setups | None,
    progress: ProgressHook | None,
    options: RunOptions,
) -> Data:
    """Runs a workload on a drive and returns the result, of a class that the caller names: with its pages, or without.

    The other arguments are those of :func:`ssdlab.run`, with the errors that it raises.
    """
    asked = sorted_by_group("run", options, *GROUPS_OF_RUN)
    check_session(setups)
    _check_conditions(asked["run"], asked["records"])
    drives.check_places(drive, workload)
    source, stream = Drive.open(drive), original_workload(Workload.open(workload))
    guest = None if policy is None or isinstance(policy, str) else Guest(policy)
    request = {"run": checked("run", asked["run"], lambda option: option.flag)}
    asked["setup"]["policy"] = policy if guest is None else None
    failed: FailedFiles = []
    with Outputs(**asked["records"], failed=failed) as outputs:
        call = outputs.call(guest, None if setups is None else setups.engine)
        outcome = call_engine(call, request, source, stream, asked, failed, progress)
    result = kind.from_outcome(outcome, commands=outputs.commands.table(), spans=outputs.spans.table())
    named = policy if isinstance(policy, str) or policy is None else policy_file.name_of(policy)
    overrides = drives.setting_lines(asked["setup"]["set"])
    origin = Origin.from_options(source.name, stream, named, overrides, options)
    result.origin = replace(origin, standalone=outcome.standalone)
    if outcome.interrupted:
        raise Interrupted(result, failed)
    if failed:
        raise NotWrittenError(failed, result)
    return result


def _check_conditions(course: dict[str, Any], records: dict[str, Any]) -> None:
    """Checks the options that apply only together with another.

    Raises:
        InputError: the other is missing.
    """
    if (course["timeline_from"] or course["timeline_for"]) and records["timeline"] is None and not records["record_spans"]:
        raise InputError("--timeline-from, --timeline-for: a part of --timeline, which is not given")
    length = course["steady_round"]
    if length is not None and not course["steady_state"]:
        raise InputError(f"--steady-round {length}: the length of a round of --steady-state, which is not given")


def call_engine(
    call: EngineCall[Outcome],
    request: dict[str, Any],
    source: Drive,
    stream: Workload,
    asked: dict[str, dict[str, Any]],
    failed: FailedFiles,
    progress: ProgressHook | None,
) -> Outcome:
    """Calls the engine with a request and the inputs of every run: a drive, a workload, files, a progress hook.

    Args:
        call: Calls the engine.
        request: The request, without the parts that every run has.
        source: The drive.
        stream: The workload.
        asked: The options by group: of ``setup``, with the name of the policy, of ``saved_drive`` and of ``limits``.
        failed: Receives the file of a drive that could not be saved.
        progress: As for :func:`ssdlab.run`.
    """
    setup = {**asked["setup"], "set": drives.setting_lines(asked["setup"]["set"])}
    policy = setup.pop("policy")
    whole = {
        "drive": {"name": source.name, "text": source.text},
        "setup": {**checked("setup", setup, lambda option: option.name), "policy": policy},
        "workload": stream.options(),
        "max_memory": memory.limit_bytes(asked["limits"]["max_memory"]),
        **request,
    }
    hook = None if progress is None else EngineHook(progress)
    load, save = asked["saved_drive"]["load"], asked["saved_drive"]["save"]
    paths = {
        "workload": stream.file,
        "text": stream.text,
        "text_name": stream.name,
        "load": None if load is None else existing_file(load),
    }
    with nullcontext() if save is None else new_run_file(Path(save), failed) as saved:
        paths["save"] = None if saved is None else str(saved)
        outcome = call(json.dumps(whole), paths, hook)
        failed += not_written(outcome.unwritten, {} if save is None else {"--save": Path(save)})
        return outcome


class EngineHook:
    """A progress hook in the form that the engine calls."""

    def __init__(self, progress: ProgressHook) -> None:
        self._progress = progress
        #: Method of the hook that takes samples of the drive at work, if it has one.
        self.live: Callable[..., bool | None] | None = getattr(progress, "live", None)

    def __call__(self, fields: dict[str, Any]) -> bool:
        """Reports the progress, and returns true if the run is to go on."""
        return self._progress(Progress(**fields)) is not False
