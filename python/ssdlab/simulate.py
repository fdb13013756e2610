"""Running a drive under a workload."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from ssdlab import _engine, drives, numbers
from ssdlab.comparison import Comparison
from ssdlab.drives import Drive, DriveLike, Settings
from ssdlab.errors import InputError, Interrupted, PolicyError, unknown_name
from ssdlab.files import existing_file, new_drive_file
from ssdlab.guest import Guest
from ssdlab.policy import Policy
from ssdlab.results import Result
from ssdlab.workloads import Workload, WorkloadLike

__all__ = ["PolicyLike", "Progress", "compare", "run"]

#: What stands for a policy: the name of one that comes with ssdlab, or a :class:`~ssdlab.Policy` of one's own.
PolicyLike: TypeAlias = str | Policy | type[Policy]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    #: ``precondition``, ``run``, ``lifetime``, ``shutdown`` or ``save``.
    stage: str
    #: Simulated time, in nanoseconds.
    simulated_ns: int
    #: Commands completed.
    commands: int
    #: Part of the stage that is done, 0 to 1; ``None`` where it cannot be known.
    fraction: float | None


#: Called about ten times a second; a run ends cleanly, marked ``partial``, when it returns ``False``.
ProgressHook: TypeAlias = Callable[[Progress], bool | None]

#: What the engine hands back.
Outcome = TypeVar("Outcome")
#: What the engine calls now and then; it stops when this returns ``False``.
EngineHook: TypeAlias = Callable[[dict[str, Any]], bool]
#: A call of the engine: a request in JSON, the files that it reads and writes, and its hook.
EngineCall: TypeAlias = Callable[[str, dict[str, str | None], EngineHook | None], Outcome]


def run(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: PolicyLike | None = None,
    *,
    set: Settings = (),
    seed: int = 1,
    precondition: str | None = None,
    load: str | PathLike[str] | None = None,
    save: str | PathLike[str] | None = None,
    record_commands: bool = False,
    record_spans: bool = False,
    steady_state: bool = False,
    steady_round: str | None = None,
    power_cut: str | None = None,
    power_down: str | None = None,
    progress: ProgressHook | None = None,
) -> Result:
    """Runs `workload` on `drive` and returns what was measured.

    The GIL is released while the engine runs, but for a policy in Python.

    Args:
        drive: A preset's name, a description file, a :class:`~ssdlab.Drive`, or a dictionary of fields.
        workload: A trace, fio job or workload file, or a :class:`~ssdlab.Workload` with options.
        policy: The mode policy: a name, or a :class:`~ssdlab.Policy`; the drive's own when absent.
        set: Fields of the drive to override, as ``{"flash.channels": 16}`` or ``["flash.channels=16"]``.
        seed: Seed of every random stream, 0 to 2**64 - 1. Equal inputs and seeds give equal results, byte for byte, but for
            ``wall_s``.
        precondition: ``none``, ``fill``, ``random`` or ``steady``; the drive's own when absent.
        load: An aged drive to start from, saved by an earlier run.
        save: Where to save the drive as the run leaves it; a file that is there is replaced.
        record_commands: Keep a row per command (:meth:`~ssdlab.Result.command_table`).
        record_spans: Keep what each channel and die did (:meth:`~ssdlab.Result.span_table`).
        steady_state: Run until the SNIA rule finds a steady state, then measure for five rounds.
        steady_round: Length of a round of that rule, as ``"1s"``; only with `steady_state`.
        power_cut: When power fails after the start of the run, as ``"10s"`` (docs/POWER.md); only with `power_down`.
        power_down: For how long the drive is then off, as ``"30d"``; its data ages meanwhile.
        progress: Called about ten times a second with a :class:`Progress`; return ``False`` to stop.

    Raises:
        InputError: everything that is wrong with the input, one line each.
        PolicyError: an InputError: what is wrong with a policy in Python; an exception that it raised is the cause.
        Interrupted: Ctrl-C; the partial result is in its ``result``.
    """
    if steady_round is not None and not steady_state:
        raise InputError(f"--steady-round {steady_round}: the length of a round of --steady-state, which is not given")
    guest = None if policy is None or isinstance(policy, str) else Guest(policy)
    request = {
        "policy": policy if guest is None else None,
        "precondition": precondition,
        "record": {"commands": record_commands, "spans": record_spans},
        "steady_state": steady_state,
        "steady_round": steady_round,
        "power_cut": power_cut,
        "power_down": power_down,
    }
    call = _engine.run if guest is None else _guided(guest)
    outcome = call_engine(call, request, drive, workload, set=set, seed=seed, load=load, save=save, progress=progress)
    result = Result.from_outcome(outcome)
    if outcome.interrupted:
        raise Interrupted(result)
    return result


def call_engine(
    call: EngineCall[Outcome],
    request: dict[str, Any],
    drive: DriveLike,
    workload: WorkloadLike,
    *,
    set: Settings,
    seed: int,
    load: str | PathLike[str] | None,
    save: str | PathLike[str] | None,
    progress: ProgressHook | None,
) -> Outcome:
    """What `call` of the engine makes of a request and what every run takes: a drive, a workload, files, a hook."""
    source, stream = Drive.open(drive), Workload.open(workload)
    whole = {
        "drive": {"name": source.name, "text": source.text},
        "set": drives.setting_lines(set),
        "seed": numbers.whole("seed", seed, 64),
        "workload": stream.options(),
        **request,
    }
    hook = None if progress is None else _hook(progress)
    paths = {
        "workload": stream.file,
        "text": stream.text,
        "load": None if load is None else existing_file(load),
    }
    with nullcontext() if save is None else new_drive_file(Path(save)) as saved:
        paths["save"] = None if saved is None else str(saved)
        return call(json.dumps(whole), paths, hook)


def _guided(guest: Guest) -> EngineCall[_engine.Outcome]:
    """The engine's run under a policy in Python; what goes wrong in it is explained."""

    def call(request_json: str, paths: dict[str, str | None], hook: EngineHook | None) -> _engine.Outcome:
        try:
            return _engine.run(request_json, paths, hook, (guest.name, guest))
        except PolicyError as error:
            raise guest.explained(error) from error.__cause__

    return call


def compare(
    drive: DriveLike,
    workload: WorkloadLike,
    policies: Sequence[PolicyLike],
    *,
    save: str | PathLike[str] | None = None,
    progress: Callable[[str], ProgressHook | None] | None = None,
    **options: Any,
) -> Comparison:
    """Runs `workload` on `drive` once under each policy, from the same starting state and seed.

    Args:
        drive: As for :func:`run`.
        workload: As for :func:`run`.
        policies: The policies, by name or as a :class:`~ssdlab.Policy`; ratios are taken to the first.
        save: Where to save the drive as the first run leaves it; a file that is there is replaced.
        progress: Called with each policy's name before its run; what it returns is that run's progress hook.
        **options: As for :func:`run`.

    Raises:
        InputError: everything that is wrong with the input, one line each.
        Interrupted: Ctrl-C; the runs so far, the last one partial, are in its ``result``.
    """
    if isinstance(policies, str) or not policies:
        raise InputError("compare: give a list with at least one policy")
    known = [*drives.policies()]
    names = []
    for policy in policies:
        if isinstance(policy, str) and policy not in known:
            raise unknown_name("policy", policy, known)
        names.append(policy if isinstance(policy, str) else Guest(policy).name)
    runs: list[Result] = []
    for index, (policy, name) in enumerate(zip(policies, names, strict=True)):
        hook = None if progress is None else progress(name)
        try:
            runs.append(run(drive, workload, policy, save=save if index == 0 else None, progress=hook, **options))
        except Interrupted as stopped:
            raise Interrupted(Comparison([*runs, cast(Result, stopped.result)])) from None
    return Comparison(runs)


def _hook(progress: ProgressHook) -> Callable[[dict[str, Any]], bool]:
    """`progress` as the engine calls it."""
    return lambda fields: progress(Progress(**fields)) is not False
