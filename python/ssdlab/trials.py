"""Trials of a field of a drive: what a change of it does."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ssdlab.units import duration, significant

if TYPE_CHECKING:
    from ssdlab.results import RunData

__all__ = ["Effect", "Trial", "summary_of"]


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
    #: RunData of the run; ``None`` if it could not be run.
    result: RunData | None = dataclasses.field(default=None, compare=False, repr=False)

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
