"""Trials: short runs of the load of a result, each with one field of the drive changed."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ssdlab import drives
from ssdlab.errors import InputError
from ssdlab.units import duration, significant

if TYPE_CHECKING:
    from ssdlab.provenance import Request
    from ssdlab.results import Result
    from ssdlab.simulate import ProgressHook
    from ssdlab.tails import Why

__all__ = ["Effect", "Trial", "TrialProgress", "tried"]

#: Called with the name of a trial before it; returns the progress hook of its run.
TrialProgress: TypeAlias = Callable[[str], "ProgressHook | None"]

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


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a trial on one number.

    Examples:
        >>> found = ssdlab.Effect("write", "mean", 2e6, 1e6, 0.04)
        >>> str(found), found.is_noise
        ('write mean 2.000 ms -> 1.000 ms (x 0.500 ± 0.040)', False)
    """

    #: Operation.
    op: str
    #: ``mean``, ``p99.9`` or ``p99.99``.
    measure: str
    #: Value without the change [ns]; ``None`` if fewer than ten commands lie beyond it.
    before_ns: float | None
    #: Value with the change [ns].
    after_ns: float | None
    #: Half of the width of the 95 % interval of their ratio; ``None`` if it is not known.
    half: float | None

    @property
    def ratio(self) -> float | None:
        """Value with the change divided by that without it."""
        return self.after_ns / self.before_ns if self.before_ns and self.after_ns is not None else None

    @property
    def is_noise(self) -> bool:
        """True unless the ratio differs from 1 by more than half of its interval."""
        return self.ratio is None or self.half is None or abs(self.ratio - 1.0) <= self.half

    def __str__(self) -> str:
        times = f"{duration(self.before_ns)} -> {duration(self.after_ns)}"
        return f"{self.op} {self.measure} {times} ({self.change()})"

    def change(self) -> str:
        """Returns the ratio with its interval, or what hinders it.

        Examples:
            >>> ssdlab.Effect("read", "p99.99", 2e6, None, None).change()
            'n < 10'
        """
        if self.ratio is None:
            return "n < 10"
        if self.half is None:
            return f"x {significant(self.ratio, 3)}, interval not known"
        text = f"x {significant(self.ratio, 3)} ± {self.half:.3f}"
        return f"{text}, within noise" if self.is_noise else text


@dataclass(frozen=True, slots=True)
class Trial:
    """Run with one field changed, compared with the run without the change.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=3_000)
        >>> for trial in ssdlab.why(result, trials=True, commands=3_000).trials:
        ...     if trial.field == "flash.program_time":
        ...         print(trial.setting, "|", trial.effects[0])
        flash.program_time="300us" | write mean ... -> ... (x 0... ± 0...)
    """

    #: Field that was changed; ``none`` for the run without a change.
    field: str
    #: The change, as ``KEY=VALUE``; empty for the run without a change.
    setting: str
    #: Effects on the latencies of each operation.
    effects: tuple[Effect, ...] = ()
    #: Cost of the change, as :func:`cost_of` says it; empty for the run without a change.
    cost: str = ""
    #: Reason for which the trial could not be run; empty if it was.
    refused: str = ""
    #: Result of the run; ``None`` if it could not be run.
    result: Result | None = dataclasses.field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.refused:
            return f"{self.setting}: not possible: {self.refused}"
        if not self.setting:
            return f"no change: {'; '.join(f'{one.op} {one.measure} {_text(one.after_ns)}' for one in self.effects)}"
        return f"{self.setting}: {'; '.join(map(str, self.effects))}"

    def to_dict(self) -> dict[str, Any]:
        """Returns the trial as a document.

        Examples:
            >>> ssdlab.Trial("flash.channels", "flash.channels=0", refused="expected 1..=256").to_dict()
            {'field': 'flash.channels', ..., 'cost': '', 'refused': 'expected 1..=256', 'effects': []}
        """
        effects = [
            {
                "op": one.op,
                "measure": one.measure,
                "before_ns": one.before_ns,
                "after_ns": one.after_ns,
                "ratio": one.ratio,
                "half": one.half,
                "is_noise": one.is_noise,
            }
            for one in self.effects
        ]
        return {
            "field": self.field,
            "setting": self.setting,
            "cost": self.cost,
            "refused": self.refused or None,
            "effects": effects,
        }


def tried(why: Why, folder: str | PathLike[str] | None, commands: int, progress: TrialProgress | None) -> list[Trial]:
    """Runs the load without a change, then with each field of `why` that has a trial changed.

    Raises:
        InputError: the run cannot be repeated.
        Interrupted: Ctrl-C.
    """
    from ssdlab.provenance import request_of, request_of_folder
    from ssdlab.sessions import Session

    if commands < 1:
        raise InputError(f"commands: {commands}: expected at least 1")
    request = request_of(why.result) if folder is None else request_of_folder(Path(folder))
    session = Session()
    ops = [*why.tails] or [op for op in ("read", "write") if why.result.latency[op].count]

    def one(setting: str) -> Result:
        hook = None if progress is None else progress(setting or "no change")
        return _run(request, setting, commands, session, hook)

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


def cost_of(field: str, base: Result, changed: Result) -> str:
    """Returns what a change of a field costs.

    ``+16.2 dies``: more resources, by the default coefficients of ``[cost]`` (docs/guide/explore.md);
    ``-8 % capacity``: less user capacity of the same flash; ``a setting``: the same parts; ``other parts``: faster
    ones, which have no price here; ``other data``: another state of the same drive.
    """
    from ssdlab.explore.cost import Cost

    before, after = (tomllib.loads(run.drive_toml) for run in (base, changed))
    dies = Cost().of(after) - Cost().of(before)
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


def _run(request: Request, setting: str, commands: int, session: Any, hook: ProgressHook | None) -> Result:
    """Runs a load with a setting.

    Raises:
        Interrupted: Ctrl-C: half a trial says nothing.
    """
    from ssdlab import simulate

    asked: Any = {**request.options, "batches": _BATCHES, "set": [setting] if setting else []}
    asked["stop_after"] = min(commands, int(asked.get("stop_after") or commands))
    return simulate.run(request.drive, request.workload, request.policy, session=session, progress=hook, **asked)


def _effect(base: Result, changed: Result, op: str, measure: tuple[str, str, float | None]) -> Effect:
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


def _half(run: Result, op: str, name: str, beyond: float | None) -> float | None:
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


def _at_rank(run: Result, op: str, beyond: float) -> float:
    """Returns the latency that `beyond` commands of an operation exceed."""
    rows = [row for row in run.latency_table().to_pylist() if row["op"] == op]
    seen = 0.0
    for row in reversed(rows):
        seen += row["count"]
        if seen > beyond:
            return float(row["high_ns"])
    return float(rows[0]["low_ns"])


def _text(ns: float | None) -> str:
    return "n < 10" if ns is None else duration(ns)


def summary_of(trial: Trial) -> list[str]:
    """Returns the cells of a trial in a table: the setting, its cost, and the ratio of each effect."""
    if trial.refused:
        return [trial.setting, "", "not possible"]
    if not trial.setting:
        return ["no change", "", *(_text(one.after_ns) for one in trial.effects)]
    return [trial.setting, trial.cost, *(f"{_text(one.after_ns)}  {_change(one)}".strip() for one in trial.effects)]


def _change(effect: Effect) -> str:
    """Returns a change in percent with its interval, or that it is within noise."""
    if effect.ratio is None:
        return ""
    if effect.half is None:
        return "(interval not known)"
    if effect.is_noise:
        return "(noise)"
    return f"{100 * (effect.ratio - 1):+.0f} ± {100 * effect.half:.0f} %"
