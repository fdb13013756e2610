"""The study of a search: Optuna's choice of points, kept in a journal that several processes share.

Each choice has a seed of its own, from the seed of the search and the number of trials before it. So a search that was
interrupted goes on with the points that it would have had.
"""

from __future__ import annotations

import hashlib
import math
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import optuna
from optuna import create_study, samplers
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.samplers import BaseSampler
from optuna.storages.journal import JournalFileBackend, JournalStorage
from optuna.trial import FrozenTrial, Trial, TrialState

from ssdlab.explore.choices import is_ordered, labels
from ssdlab.explore.ranges import Range
from ssdlab.explore.shared import JOURNAL, JournalLock, SearchFolder
from ssdlab.explore.spec import Spec
from ssdlab.files import damaged

__all__ = ["Study"]

#: Trials with points chosen at random before a model is made, and before any trial is given up.
_STARTUP = 10
#: Draws of the trials, with replacement, from which the intervals of importances come.
_DRAWS = 40
#: Least share of the draws that agree on the most important field.
_AGREEMENT = 0.9
#: Trials below which nothing is said: the best tenth, which is compared with the others, needs a few.
_LEAST_TRIALS = 50
#: Attributes of a trial: the process that does it, and that its point was not to be run.
_BY = "by"
_EXCLUDED = "excluded"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences Optuna's messages for the time of a call; the user's own studies keep theirs."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)


class Study:
    """A study in the folder of a search."""

    def __init__(self, spec: Spec, folder: SearchFolder, sampler: str) -> None:
        """Opens the study of a folder; trials that ended processes left under way are given up."""
        self.spec, self.folder, self.sampler = spec, folder, sampler
        journal = folder.path / JOURNAL
        with _quiet(), folder.locked(), damaged(journal):
            journal.touch()
            lock = cast("Any", JournalLock(journal))
            lock.repair()
            self.inner = create_study(
                storage=JournalStorage(JournalFileBackend(str(journal), lock_obj=lock)),
                study_name="ssdlab",
                directions=["maximize" if objective.is_maximised else "minimize" for objective in spec.objectives],
                pruner=optuna.pruners.MedianPruner(n_startup_trials=_STARTUP // 2),
                load_if_exists=True,
            )
            self._give_up_abandoned()

    def _give_up_abandoned(self) -> None:
        alone = self.folder.is_alone()
        for trial in self.inner.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if alone or not self.folder.is_alive(trial.user_attrs.get(_BY, "")):
                self.inner.tell(trial.number, state=TrialState.FAIL)

    def ended_trials(self) -> list[FrozenTrial]:
        """Returns the trials that have ended and count, in their order."""
        states = (TrialState.COMPLETE, TrialState.PRUNED)
        with _quiet():
            found = self.inner.get_trials(deepcopy=False, states=states)
        return [trial for trial in found if not trial.user_attrs.get(_EXCLUDED)]

    def ask(self, most: int) -> Trial | None:
        """Returns a new trial; ``None`` if there are `most` already, with those under way in other processes."""
        with _quiet(), self.folder.locked():
            known = [trial for trial in self.inner.get_trials(deepcopy=False) if trial.state != TrialState.FAIL]
            if sum(not trial.user_attrs.get(_EXCLUDED) for trial in known) >= most:
                return None
            self.inner.sampler = self._sampler(len(known))
            trial = self.inner.ask()
            trial.set_user_attr(_BY, self.folder.member)
            for name, values in self.spec.search.items():
                _suggest(trial, name, values)
            return trial

    def _sampler(self, number: int) -> BaseSampler:
        """Returns the sampler of the trial with this number of trials before it."""
        text = f"{self.spec.method.seed}/{self.sampler}/{number}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
        if self.sampler == "random":
            return samplers.RandomSampler(seed=seed)
        if self.sampler == "nsga2":
            return samplers.NSGAIISampler(seed=seed, population_size=self.spec.method.population)
        if self.sampler == "gp":
            return samplers.GPSampler(seed=seed, n_startup_trials=_STARTUP)
        return samplers.TPESampler(seed=seed, n_startup_trials=_STARTUP)

    def complete(self, trial: Trial, values: Sequence[float], violations: Sequence[float]) -> None:
        """Ends a trial with the values of its objectives, and by how much it violates each constraint."""
        with _quiet():
            trial.set_constraint("run", 0.0)
            for number, violation in enumerate(violations):
                trial.set_constraint(f"constraint {number}", violation)
            self.inner.tell(trial, list(values))

    def fail(self, trial: Trial, excluded: bool = False) -> None:
        """Ends a trial that has no values; the sampler avoids its like. One that is `excluded` does not count."""
        with _quiet():
            if excluded:
                trial.set_user_attr(_EXCLUDED, True)
            trial.set_constraint("run", 1.0)
            self.inner.tell(trial, state=TrialState.PRUNED)

    def is_hopeless(self, trial: Trial, value: float) -> bool:
        """Returns True if a trial with this value after its short run should be given up, and does so."""
        with _quiet():
            trial.report(value, step=1)
            if not trial.should_prune():
                return False
            self.inner.tell(trial, state=TrialState.PRUNED)
            return True

    def give_up(self, trial: Trial) -> None:
        """Ends a trial that was interrupted: its place is free again."""
        with _quiet():
            self.inner.tell(trial, state=TrialState.FAIL, skip_if_finished=True)

    def importance(self) -> dict[str, dict[str, Share] | None]:
        """Returns the importance of each field for each objective (PED-ANOVA), with its interval.

        ``None`` where it is not known: there are too few trials, all have one value, or the trials, drawn again with
        replacement, do not agree on the field that matters most. The interval holds nine tenths of the draws.
        """
        with _quiet():
            trials = self.inner.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        found: dict[str, dict[str, Share] | None] = {}
        rng = random.Random(f"{self.spec.method.seed}/importance")
        for at, objective in enumerate(self.spec.objectives):
            if len(trials) < _LEAST_TRIALS:
                found[objective.key] = None
                continue
            shares = self._shares(trials, at, objective.is_maximised)
            draws = [self._shares(rng.choices(trials, k=len(trials)), at, objective.is_maximised) for _ in range(_DRAWS)]
            found[objective.key] = _with_intervals(shares, [draw for draw in draws if draw is not None])
        return found

    def _shares(self, trials: Sequence[FrozenTrial], at: int, is_maximised: bool) -> dict[str, float] | None:
        """Returns the shares of the fields for one objective in these trials; ``None``: not known."""

        def loss(trial: FrozenTrial) -> float:
            value = float(trial.values[at])
            return -value if is_maximised else value

        try:
            with _quiet():
                drawn = create_study(directions=self.inner.directions)
                drawn.add_trials(trials)
                shares = get_param_importances(drawn, evaluator=PedAnovaImportanceEvaluator(), target=loss)
        except (ValueError, RuntimeError, ZeroDivisionError):
            # Too few trials, or all of one value.
            return None
        known = {name: float(share) for name, share in shares.items()}
        return known if all(map(math.isfinite, known.values())) else None


@dataclass(frozen=True, slots=True)
class Share:
    """Importance of a field: its share, and an interval of nine tenths of the draws."""

    share: float
    low: float
    high: float


def _with_intervals(shares: Mapping[str, float] | None, draws: Sequence[Mapping[str, float]]) -> dict[str, Share] | None:
    """Returns the shares with their intervals; ``None`` if the draws do not agree on the field that matters most."""
    if shares is None or len(draws) < _AGREEMENT * _DRAWS:
        return None
    first = max(shares, key=lambda name: shares[name])
    if sum(max(draw, key=lambda name: draw[name]) == first for draw in draws) < _AGREEMENT * _DRAWS:
        return None
    found = {}
    for name, share in shares.items():
        sorted_ = sorted(draw.get(name, 0.0) for draw in draws)
        edge = len(sorted_) // 20
        found[name] = Share(share, min(share, sorted_[edge]), max(share, sorted_[-1 - edge]))
    return found


def _suggest(trial: Trial, name: str, values: Sequence[Any] | Range) -> None:
    """Has the value of a field chosen."""
    if not isinstance(values, Range):
        if is_ordered(values):
            trial.suggest_int(name, 0, len(values) - 1)
        else:
            trial.suggest_categorical(name, [*labels(values)])
    elif values.is_whole:
        step = 1 if values.log or values.step is None else int(values.step)
        # Multiples of the step.
        low = min(-(-int(values.low) // step) * step, int(values.high))
        high = low + (int(values.high) - low) // step * step
        trial.suggest_int(name, low, high, step=step, log=values.log)
    else:
        # Steps that do not end at the upper end, and those of a logarithm, are rounded to afterwards.
        trial.suggest_float(name, values.low, values.high, log=values.log)
