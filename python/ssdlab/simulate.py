"""Running a drive under a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from ssdlab import drives
from ssdlab.comparison import Comparison
from ssdlab.declared import GROUPS, documented, sorted_by_group
from ssdlab.drives import DriveLike
from ssdlab.errors import InputError, Interrupted, NotWrittenError, unknown_name
from ssdlab.files import FailedFiles
from ssdlab.guest import Guest
from ssdlab.presentation import Result
from ssdlab.provenance import Origin
from ssdlab.runs import GROUPS_OF_RUN, PolicyLike, ProgressHook, RunOptions, result_of_run
from ssdlab.setups import Setups
from ssdlab.words import in_own_words
from ssdlab.workloads import WorkloadLike

if TYPE_CHECKING:
    from ssdlab.explore.variants import Variant

__all__ = ["compare", "run"]


@in_own_words
@documented(*GROUPS_OF_RUN)
def run(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: PolicyLike | None = None,
    *,
    session: Setups | None = None,
    progress: ProgressHook | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Runs `workload` on `drive` and returns the results.

    The GIL is released while the engine runs, except for a policy in Python.

    Args:
        drive: A preset's name, a description file, a :class:`~ssdlab.Drive`, or a dictionary of fields.
        workload: A trace, fio job or workload file, or a :class:`~ssdlab.Workload` with options.
        policy: The mode policy: a name, or a :class:`~ssdlab.Policy`; absent: the drive's own.
        **options: The options that the engine declares.
        session: Runs of one session share the results of their set-up; by default each run is a session of its own.
        progress: Called about ten times a second with a :class:`Progress`; return ``False`` to stop.

    Raises:
        InputError: the input is invalid; the message lists every problem, one line each.
        PolicyError: an InputError: a policy in Python is invalid; an exception that it raised is the cause.
        Interrupted: Ctrl-C; the partial result is in its ``result``.
        NotWrittenError: a file could not be written; the result is in its ``result``.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/trace.csv.gz", precondition="fill", set={"flash.channels": 1})
        >>> result.commands
        {'read': 60, 'write': 1940, 'trim': 0, 'flush': 0}
        >>> result.latency["write"].p99_ns / 1e6
        13.9
        >>> ssdlab.run("tiny", "examples/trace.csv.gz", "ofvar")
        Traceback (most recent call last):
        ssdlab.InputError: policy: unknown policy `ofvar`: expected one of ... (did you mean `ofwar`?)
    """
    return result_of_run(Result, drive, workload, policy, setups=session, progress=progress, options=options)


@in_own_words
@documented(*GROUPS_OF_RUN)
def compare(
    drive: DriveLike,
    workload: WorkloadLike,
    policies: Sequence[PolicyLike] | None = None,
    *,
    vary: Mapping[str, Sequence[Any]] | None = None,
    session: Setups | None = None,
    progress: Callable[[str], ProgressHook | None] | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Runs `workload` on `drive` once under each policy and each variant, with the same seed.

    Runs whose drives have the same starting state begin from it; a variant that changes it begins from its own. A file
    of `save` gets the drive of the first run. Files of a single run (`log_commands`, `timeline`, `history`,
    `record_firmware`) are not allowed.

    Args:
        drive: As for :func:`run`.
        workload: As for :func:`run`.
        policies: The policies, by name or as a :class:`~ssdlab.Policy`; absent: the drive's own. Ratios are taken to
            the first run.
        **options: The options that the engine declares.
        vary: The values of each varied field: of the drive, ``workload.FIELD``, ``options.NAME`` or ``precondition``.
            Every combination of them is run under every policy.
        session: As for :func:`run`; by default a new session for all runs.
        progress: Called with each run's name before it: policy and values; returns the progress hook of the run.

    Raises:
        InputError: the input is invalid; the message lists every problem, one line each.
        Interrupted: Ctrl-C; the runs so far, of which the last may be partial, are in its ``result``.
        NotWrittenError: the drive could not be saved; the comparison is in its ``result``.

    Examples:
        >>> comparison = ssdlab.compare("tiny", "examples/trace.csv.gz", ["baseline", "all_fast"], precondition="fill")
        >>> for run, ratio in zip(comparison.runs, comparison.ratios):
        ...     print(run.policy, ratio["latency"]["write"]["mean_ns"])
        baseline 1.0
        all_fast 0.4899
        >>> ssdlab.compare("tiny", "examples/trace.csv.gz", vary={"flash.channels": [1, 2]})
        <ssdlab.Comparison channels 1, channels 2>
    """
    drives.check_places(drive, workload)
    sorted_by_group("compare", options, *GROUPS_OF_RUN)
    single_files = ("log_commands", "timeline", "history", "record_firmware")
    single = [name for name in single_files if options.get(name) is not None]
    if single:
        raise InputError(f"compare: {', '.join(single)}: a file of one run; run each policy by itself")
    session = session or Setups()
    asked = _planned_runs(drive, workload, policies, vary or {}, options)
    return _comparison_of(drive, asked, options.get("save"), session, progress)


def _comparison_of(
    drive: DriveLike,
    asked: Sequence[_Asked],
    save: Any,
    session: Setups,
    progress: Callable[[str], ProgressHook | None] | None,
) -> Comparison:
    """Does the runs of a comparison one after the other; `save` is of the first."""
    runs: list[Result] = []
    failed: FailedFiles = []
    stopped = False
    for index, each in enumerate(asked):
        hook = None if progress is None else progress(each.name)
        chosen: RunOptions = {**each.options, "save": save if index == 0 else None}
        try:
            result = run(drive, each.workload, each.policy, session=session, progress=hook, **chosen)
        except NotWrittenError as unwritten:
            result = cast(Result, unwritten.result)
            failed += unwritten.files
        except KeyboardInterrupt as interrupt:
            # It may come before a run has begun.
            if not isinstance(interrupt, Interrupted):
                if not runs:
                    raise
                raise Interrupted(Comparison(runs), failed) from None
            result = cast(Result, interrupt.result)
            failed += interrupt.files
            stopped = True
        if each.varied and isinstance(result.origin, Origin):
            result.origin = replace(result.origin, varied=each.varied)
        runs.append(result)
        if stopped:
            raise Interrupted(Comparison(runs), failed)
    comparison = Comparison(runs)
    if failed:
        raise NotWrittenError(failed, comparison)
    return comparison


@dataclass(frozen=True, slots=True)
class _Asked:
    """A run of a comparison."""

    #: Policy and varied values, for the progress.
    name: str
    policy: PolicyLike | None
    workload: WorkloadLike
    options: RunOptions
    #: Values of the varied fields.
    varied: Mapping[str, Any] = field(default_factory=dict)


def _planned_runs(
    drive: DriveLike,
    workload: WorkloadLike,
    policies: Sequence[PolicyLike] | None,
    vary: Mapping[str, Sequence[Any]],
    options: RunOptions,
) -> list[_Asked]:
    """Returns the runs of a comparison, every variant under one policy before the next policy.

    Raises:
        InputError: a policy or a variant is invalid; none has run.
    """
    if policies is None and not vary:
        raise InputError("compare: nothing to compare: expected policies (--policy A,B), or fields (--vary FIELD=A,B)")
    names = [None] if policies is None else _names(policies)
    chosen: list[PolicyLike | None] = [None] if policies is None else [*policies]
    settings = drives.setting_lines(options.get("set", ()))
    if not vary:
        # A policy that cannot run this drive is refused before the first has run.
        for policy in chosen:
            if isinstance(policy, str):
                drives.check(drive, set=[*settings, f"policy.kind={policy}"])
        return [_Asked(name or "", policy, workload, options) for name, policy in zip(names, chosen, strict=True)]
    # Start-up: only a comparison with varied fields needs them.
    from ssdlab.explore import variants

    found = variants.variants(workload, vary, settings, options)
    for policy in chosen:
        for variant in found:
            variants.check_drive(drive, variant, policy if isinstance(policy, str) else None)
    for variant in variants.loads_to_check(found):
        _check_load(drive, variant, options)
    return [
        _Asked(
            " · ".join(part for part in (name, variant.label) if part),
            policy,
            variant.workload,
            cast(RunOptions, {**options, **variant.options, "set": variant.settings}),
            variant.fields,
        )
        for name, policy in zip(names, chosen, strict=True)
        for variant in found
    ]


def _check_load(drive: DriveLike, variant: Variant, options: RunOptions) -> None:
    """Begins a run of a variant and stops it at once, so that an invalid workload is found before the first run.

    Raises:
        InputError: workload or options are invalid.
    """
    kept = {name: value for name, value in options.items() if name in GROUPS["run"] or name == "seed"}
    begun: dict[str, Any] = {**kept, **variant.options, "set": variant.settings, "precondition": "none"}
    try:
        run(drive, variant.workload, progress=lambda progress: progress.stage != "run", **begun)
    except InputError as error:
        fields = ", ".join(f"{name}={value}" for name, value in variant.fields.items())
        raise InputError(f"{error}\n(with --vary {fields})") from None


def _names(policies: Sequence[PolicyLike]) -> list[str]:
    """Returns the names of the policies of a comparison.

    Raises:
        InputError: there is no policy, or one does not exist.
    """
    if isinstance(policies, str) or not policies:
        raise InputError("compare: give a list with at least one policy")
    known = [*drives.policies()]
    names = []
    for policy in policies:
        if isinstance(policy, str) and policy not in known:
            raise unknown_name("policy", policy, known)
        names.append(policy if isinstance(policy, str) else Guest(policy).name)
    return names
