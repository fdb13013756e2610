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
from ssdlab.errors import InputError, Interrupted, NotWrittenError, unknown_name
from ssdlab.files import FailedFiles, existing_file, new_run_file
from ssdlab.guest import Guest
from ssdlab.outputs import Outputs, not_written
from ssdlab.policy import Policy
from ssdlab.results import Result
from ssdlab.sessions import Session
from ssdlab.workloads import Workload, WorkloadLike

__all__ = ["PolicyLike", "Progress", "compare", "run"]

#: What stands for a policy: the name of one that comes with ssdlab, or a :class:`~ssdlab.Policy` of one's own.
PolicyLike: TypeAlias = str | Policy | type[Policy]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Examples:
        >>> def keep_going(progress):
        ...     return progress.stage != "run" or progress.commands < 1000
        >>> ssdlab.run("tiny", "examples/randwrite.fio", progress=keep_going).status
        'partial'
    """

    #: ``foresee``, ``precondition``, ``run``, ``lifetime``, ``shutdown`` or ``save``.
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
Outcome = TypeVar("Outcome", _engine.Outcome, _engine.LifetimeOutcome)
#: What the engine calls now and then; it stops when this returns ``False``.
EngineHook: TypeAlias = Callable[[dict[str, Any]], bool]
#: A call of the engine: a request in JSON, the files that it reads and writes, and its hook.
EngineCall: TypeAlias = Callable[[str, dict[str, Any], EngineHook | None], Outcome]


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
    log_commands: str | PathLike[str] | None = None,
    timeline: str | PathLike[str] | None = None,
    timeline_from: str | None = None,
    timeline_for: str | None = None,
    history: str | PathLike[str] | None = None,
    steady_state: bool = False,
    steady_round: str | None = None,
    power_cut: str | None = None,
    power_down: str | None = None,
    skip_commands: int = 0,
    stop_after: int | None = None,
    rest_after: int | None = None,
    session: Session | None = None,
    progress: ProgressHook | None = None,
) -> Result:
    """Runs `workload` on `drive` and returns what was measured.

    The GIL is released while the engine runs, but for a policy in Python.

    Args:
        drive: A preset's name, a description file, a :class:`~ssdlab.Drive`, or a dictionary of fields.
        workload: A trace, fio job or workload file, or a :class:`~ssdlab.Workload` with options.
        policy: The mode policy: a name, or a :class:`~ssdlab.Policy`; the drive's own when absent.
        set: Fields of the drive to override, as ``{"flash.channels": 16}`` or ``["flash.channels=16"]``.
        seed: Seed of every random stream, 0 to 2**64 - 1. Equal inputs and seeds give equal results, byte for byte, but
            for ``wall_s``.
        precondition: ``none``, ``fill``, ``random`` or ``steady``; the drive's own when absent.
        load: A drive to start from, saved by an earlier run. Under the same description, policy and seed it goes on
            exactly where it was; otherwise the saved state is adopted, and :attr:`Result.notes` says why
            (docs/SAVING.md).
        save: Where to save the drive as the run leaves it; a file that is there is replaced.
        record_commands: Keep a row per command in memory (:meth:`~ssdlab.Result.command_table`).
        record_spans: Keep what each channel and die did in memory (:meth:`~ssdlab.Result.span_table`).
        log_commands: Where to write a row per command with its causes while the run goes on: ``.parquet``, ``.csv``,
            ``.csv.gz`` (:func:`~ssdlab.read_commands`).
        timeline: Where to write what each channel and die did, for Perfetto; packed if it ends in ``.gz`` or ``.zst``
            (:func:`~ssdlab.read_timeline`).
        timeline_from: When the timeline and the spans begin after the start of the run, as ``"10ms"``.
        timeline_for: For how long they go on, as ``"1ms"``; to the end when absent.
        history: Where to write the physical history as text: every completion, and every start and end of a flash
            operation; packed if it ends in ``.gz`` or ``.zst`` (:func:`~ssdlab.read_history`,
            :func:`~ssdlab.compare_histories`).
        steady_state: Run until the SNIA rule finds a steady state, then measure for five rounds.
        steady_round: Length of a round of that rule, as ``"1s"``; only with `steady_state`.
        power_cut: When power fails after the start of the run, as ``"10s"`` (docs/POWER.md); only with `power_down`.
        power_down: For how long the drive is then off, as ``"30d"``; its data ages meanwhile.
        skip_commands: Commands of each job to leave out at its beginning: how a workload goes on with a loaded drive.
        stop_after: Commands of each job after which the host stops.
        rest_after: Commands of each job after which the drive is brought to rest, as it would be to be saved, and goes
            on; what is measured begins there.
        session: Runs of one session share what takes time to find out about a drive; by default each run is a session
            of its own.
        progress: Called about ten times a second with a :class:`Progress`; return ``False`` to stop.

    Raises:
        InputError: everything that is wrong with the input, one line each.
        PolicyError: an InputError: what is wrong with a policy in Python; an exception that it raised is the cause.
        Interrupted: Ctrl-C; the partial result is in its ``result``.
        NotWrittenError: a file could not be written; the result is in its ``result``.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set={"flash.channels": 1})
        >>> result.commands
        {'read': 60, 'write': 1940, 'trim': 0, 'flush': 0}
        >>> result.latency["write"].p99_ns / 1e6
        14.4
        >>> ssdlab.run("tiny", "examples/trace.csv.gz", "ofvar")
        Traceback (most recent call last):
        ssdlab.InputError: --policy: unknown policy `ofvar`: expected one of ... (did you mean `ofwar`?)
    """
    if (timeline_from or timeline_for) and timeline is None and not record_spans:
        raise InputError("--timeline-from, --timeline-for: a part of --timeline, which is not given")
    if steady_round is not None and not steady_state:
        raise InputError(f"--steady-round {steady_round}: the length of a round of --steady-state, which is not given")
    guest = None if policy is None or isinstance(policy, str) else Guest(policy)
    request = {
        "policy": policy if guest is None else None,
        "precondition": precondition,
        "timeline_from": timeline_from,
        "timeline_for": timeline_for,
        "steady_state": steady_state,
        "steady_round": steady_round,
        "power_cut": power_cut,
        "power_down": power_down,
        "skip_commands": numbers.whole("--skip-commands", skip_commands, 63),
        "stop_after": None if stop_after is None else numbers.whole("--stop-after", stop_after, 63),
        "rest_after": None if rest_after is None else numbers.whole("--rest-after", rest_after, 63),
    }
    failed: FailedFiles = []
    with Outputs(record_commands, record_spans, log_commands, timeline, history, failed) as outputs:
        call = outputs.call(guest, session)
        outcome = call_engine(
            call, request, drive, workload, set=set, seed=seed, load=load, save=save, failed=failed, progress=progress
        )
    result = Result.from_outcome(outcome, commands=outputs.commands.table(), spans=outputs.spans.table())
    if outcome.interrupted:
        raise Interrupted(result, failed)
    if failed:
        raise NotWrittenError(failed, result)
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
    failed: FailedFiles,
    progress: ProgressHook | None,
) -> Outcome:
    """Calls the engine with a request and the inputs of every run: a drive, a workload, files, a progress hook.

    `failed` gets the file of a drive that could not be saved.
    """
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
    with nullcontext() if save is None else new_run_file(Path(save), failed) as saved:
        paths["save"] = None if saved is None else str(saved)
        outcome = call(json.dumps(whole), paths, hook)
        failed += not_written(outcome.unwritten, {} if save is None else {"--save": Path(save)})
        return outcome


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
        Interrupted: Ctrl-C; the runs so far, the last one perhaps partial, are in its ``result``.
        NotWrittenError: the drive could not be saved; the comparison is in its ``result``.

    Examples:
        >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"], precondition="fill")
        >>> for run, ratio in zip(comparison.runs, comparison.ratios):
        ...     print(run.policy, ratio["latency"]["write"]["mean_ns"])
        baseline 1.0
        all_fast 0.5039
    """
    single = [name for name in ("log_commands", "timeline", "history") if options.get(name) is not None]
    if single:
        raise InputError(f"compare: {', '.join(single)}: a file of one run; run each policy by itself")
    if isinstance(policies, str) or not policies:
        raise InputError("compare: give a list with at least one policy")
    known = [*drives.policies()]
    names = []
    for policy in policies:
        if isinstance(policy, str) and policy not in known:
            raise unknown_name("policy", policy, known)
        names.append(policy if isinstance(policy, str) else Guest(policy).name)
    # A policy that cannot run this drive is refused before the first has run.
    settings = drives.setting_lines(options.get("set", ()))
    for name in (policy for policy in policies if isinstance(policy, str)):
        drives.check(drive, set=[*settings, f"policy.kind={name}"])
    runs: list[Result] = []
    failed: FailedFiles = []
    options.setdefault("session", Session())
    for index, (policy, name) in enumerate(zip(policies, names, strict=True)):
        hook = None if progress is None else progress(name)
        try:
            runs.append(run(drive, workload, policy, save=save if index == 0 else None, progress=hook, **options))
        except NotWrittenError as unwritten:
            runs.append(cast(Result, unwritten.result))
            failed += unwritten.files
        except KeyboardInterrupt as stopped:
            # It may come before a run has begun.
            if isinstance(stopped, Interrupted):
                runs.append(cast(Result, stopped.result))
                failed += stopped.files
            if not runs:
                raise
            raise Interrupted(Comparison(runs), failed) from None
    comparison = Comparison(runs)
    if failed:
        raise NotWrittenError(failed, comparison)
    return comparison


def _hook(progress: ProgressHook) -> Callable[[dict[str, Any]], bool]:
    """`progress` as the engine calls it."""
    return lambda fields: progress(Progress(**fields)) is not False
