"""Why a tail is long, tried: short runs of the load of a result, each with one field of the drive changed."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from ssdlab import drives, simulate
from ssdlab.errors import InputError
from ssdlab.explore.cost import Cost
from ssdlab.folder import load_result
from ssdlab.reruns import Request, request_of, request_of_folder
from ssdlab.results import RunData
from ssdlab.runs import ProgressHook
from ssdlab.setups import Setups
from ssdlab.tails import Why, why_of
from ssdlab.trials import Effect, Trial

__all__ = ["TrialProgress", "cost_of", "trials_of", "why"]

#: Called with the name of a trial before it; returns the progress hook of its run.
TrialProgress: TypeAlias = Callable[[str], ProgressHook | None]

#: Numbers that a trial compares: field of a latency, its name, and the share of the commands beyond it.
MEASURES: tuple[tuple[str, str, float | None], ...] = (
    ("mean_ns", "mean", None),
    ("p99_9_ns", "p99.9", 0.001),
    ("p99_99_ns", "p99.99", 0.0001),
)
#: Beginnings of the fields whose change needs no other part.
_SETTINGS = (
    "buffer.flush_",
    "controller.firmware.assignment",
    "controller.sequencer.",
    "controller.target_queues.",
    "ecc.calibration",
    "ecc.delivery",
    "ecc.read_levels",
    "ecc.retries_hold",
    "ecc.retry_place",
    "flash.scheduler",
    "flash.suspension.",
    "ftl.",
    "host.interface.queue",
    "power.cap",
)
#: Batches from which the intervals of a trial follow.
_BATCHES = 10
#: Quantile of the standard normal distribution for an interval of 95 %.
_NORMAL = 1.96


def why(
    result: RunData | str | PathLike[str],
    *,
    trials: bool = False,
    commands: int = 200_000,
    progress: TrialProgress | None = None,
) -> Why:
    """Returns why the tails of a run are long.

    Args:
        result: A result, or the folder of one.
        trials: Runs the load again with each field that bears on the largest causes changed, from the same seed and
            starting state.
        commands: Commands of each job after which a trial stops; not more than those of the run.
        progress: Called with the name of each trial before it; returns the progress hook of its run, as for
            :func:`ssdlab.compare`.

    Raises:
        InputError: the folder is none of a result; the result has no causes of tails (an earlier version made it); or,
            with `trials`, its run cannot be repeated.
        Interrupted: Ctrl-C during a trial.

    Examples:
        >>> folder = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=5_000).save("out")
        >>> found = ssdlab.why(folder, trials=True, commands=2_000)
        >>> found.trials[0].field
        'none'
        >>> [trial.setting for trial in found.trials if trial.field == "flash.program_time"]
        ['flash.program_time="300us"']
    """
    folder = None if isinstance(result, RunData) else result
    found = why_of(result if isinstance(result, RunData) else load_result(result))
    if not trials:
        return found
    return Why(found.result, found.tails, trials_of(found, folder, commands, progress))


def trials_of(why: Why, folder: str | PathLike[str] | None, commands: int, progress: TrialProgress | None) -> list[Trial]:
    """Runs the load without a change, then with each field of `why` that has a trial changed.

    Raises:
        InputError: the run cannot be repeated.
        Interrupted: Ctrl-C.
    """
    if commands < 1:
        raise InputError(f"commands: {commands}: expected at least 1")
    request = request_of(why.result) if folder is None else request_of_folder(Path(folder))
    setups = Setups()
    ops = [*why.tails] or [op for op in ("read", "write") if why.result.latency[op].count]

    def one(setting: str) -> RunData:
        hook = None if progress is None else progress(setting or "no change")
        return _run(request, setting, commands, setups, hook)

    base = one("")
    found = [Trial("none", "", tuple(_effect(base, base, op, measure) for op in ops for measure in MEASURES), result=base)]
    for each in why.fields:
        if each.trial is None:
            continue
        try:
            drives.check(request.drive, set=[each.trial])
            result = one(each.trial)
        except InputError as error:
            found.append(Trial(each.name, each.trial, refused=" ".join(str(error).split())))
            continue
        effects = tuple(_effect(base, result, op, measure) for op in ops for measure in MEASURES)
        found.append(Trial(each.name, each.trial, effects, cost_of(each.name, base, result), result=result))
    return found


def cost_of(field: str, base: RunData, changed: RunData) -> str:
    """Returns what a change of a field costs.

    ``+16.2 dies``: more resources, by the default coefficients of ``[cost]`` (docs/guide/explore.md);
    ``-8 % capacity``: less user capacity of the same flash; ``a setting``: the same parts; ``other parts``: faster
    ones, which have no price here; ``other data``: another state of the same drive.
    """
    before, after = (tomllib.loads(run.drive_toml) for run in (base, changed))
    dies = Cost().total(after) - Cost().total(before)
    capacity = _spare(before) / _spare(after) - 1.0
    if dies:
        return f"{dies:+.3g} dies"
    if abs(capacity) >= 0.0005:
        return f"{100 * capacity:+.2g} % capacity"
    if field.startswith("state."):
        return "other data"
    return "a setting" if field.startswith(_SETTINGS) else "other parts"


def _spare(description: Mapping[str, Any]) -> float:
    """Returns the flash of a drive as a multiple of its user capacity."""
    return 1.0 + float(description.get("ftl", {}).get("overprovisioning", 0.0))


def _run(request: Request, setting: str, commands: int, setups: Setups, hook: ProgressHook | None) -> RunData:
    """Runs a load with a setting.

    Raises:
        Interrupted: Ctrl-C: half a trial says nothing.
    """
    asked: Any = {**request.options, "batches": _BATCHES, "set": [setting] if setting else []}
    asked["stop_after"] = min(commands, int(asked.get("stop_after") or commands))
    return simulate.run(request.drive, request.workload, request.policy, session=setups, progress=hook, **asked)


def _effect(base: RunData, changed: RunData, op: str, measure: tuple[str, str, float | None]) -> Effect:
    """Returns the effect on a number of an operation, with the interval of the ratio.

    The intervals of the two runs are taken as independent. As the runs have the same seed, they are rather alike, and
    the interval of their ratio is too wide rather than too narrow.
    """
    name, title, beyond = measure
    values = [getattr(run.latency[op], name) for run in (base, changed)]
    halves = [_half(run, op, name, beyond) for run in (base, changed)]
    half = None
    if base is not changed and all(values) and None not in halves:
        parts = [cast(float, width) / value for width, value in zip(halves, values, strict=True)]
        half = values[1] / values[0] * math.hypot(*parts)
    return Effect(op, title, values[0], values[1], 0.0 if base is changed else half)


def _half(run: RunData, op: str, name: str, beyond: float | None) -> float | None:
    """Returns half of the width of the 95 % interval of a number, from its batches.

    A percentile of which they have too few commands has one from the ranks of the commands beyond it (binomial, as if
    they were independent).
    """
    found: Mapping[str, Any] = run.summary.get("intervals", {}).get(op, {}).get(name) or {}
    if found.get("low") is not None:
        return float(found["high"] - found["low"]) / 2.0
    number = run.latency[op].count
    if beyond is None or getattr(run.latency[op], name) is None:
        return None
    expected = number * beyond
    spread = _NORMAL * math.sqrt(expected)
    low, high = (_at_rank(run, op, expected + spread), _at_rank(run, op, max(expected - spread, 0.0)))
    return (high - low) / 2.0


def _at_rank(run: RunData, op: str, beyond: float) -> float:
    """Returns the latency that `beyond` commands of an operation exceed."""
    rows = [row for row in run.latency_table().to_pylist() if row["op"] == op]
    seen = 0.0
    for row in reversed(rows):
        seen += row["count"]
        if seen > beyond:
            return float(row["high_ns"])
    return float(rows[0]["low_ns"])
