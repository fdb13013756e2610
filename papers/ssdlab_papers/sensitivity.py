"""Sensitivity of a result to the numbers that are assumed or recalled: what a reader must believe.

One at a time, each number is set to both ends of its range while the others stay. Jointly, all are drawn from their
ranges, and a polynomial in orthogonal terms is fitted to the results, whose squared coefficients are parts of the
variance (Sudret, Reliability Engineering & System Safety 93, 2008): the first-order Sobol index of a number is the
share of the terms in it alone, the total index that of all terms in which it occurs. The fit is judged by the results
that it predicts without having seen them, and has the degree that predicts them best.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import Claim, unclaimed
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, samples

__all__ = ["Assumed", "Sensitivity", "indices", "option", "sensitivity"]

#: Highest degrees of the terms of a fit, of which the best is taken.
_DEGREES = (1, 2)
#: Number of bootstrap samples for the intervals of the indices, and their seed.
_RESAMPLED, _SEED = 200, 1

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """A number that is assumed or recalled, and its range."""

    #: Name on the page, with its unit.
    title: str
    #: Standing: ``assumed`` or ``recalled``.
    standing: str
    #: Values from one end of the range to the other; two numbers: all between them.
    values: tuple[Any, ...]
    #: Value in the model.
    usual: Any
    #: Fields of a point with a value of the number.
    fields: Callable[[Any], Mapping[str, object]]
    #: True if the range of two numbers is evenly spaced by its logarithm.
    log: bool = False

    def at(self, share: float) -> Any:
        """Returns the value at a share of the range, 0 to 1."""
        if len(self.values) != 2 or not all(isinstance(value, float) for value in self.values):
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        low, high = self.values
        return low * (high / low) ** share if self.log else low + (high - low) * share


def option(field: str, title: str, values: tuple[Any, ...], usual: Any, standing: str = "assumed") -> Assumed:
    """Returns an assumed or recalled choice or number that is a field of a point."""
    return Assumed(title=title, standing=standing, values=values, usual=usual, fields=lambda value: {field: value})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Sensitivity of one result."""

    name: str
    #: The result, with its unit.
    title: str
    assumed: tuple[Assumed, ...]
    #: The result with the usual values, and at both ends of each number.
    usual: Estimate
    ends: tuple[tuple[Estimate, Estimate], ...]
    #: Results of the joint draws.
    drawn: tuple[float, ...]
    #: First-order and total Sobol indices, with the bounds of their 95 % intervals (rows: index, low, high).
    first: Numbers
    total: Numbers
    #: Share of the variance that the fit predicts of results that it has not seen.
    predicted: float

    @property
    def text(self) -> str:
        """The result in words: its range, and the numbers that matter most."""
        low, high = np.quantile(self.drawn, [0.025, 0.975])
        order = sorted(range(len(self.assumed)), key=lambda at: -self.total[0][at])
        most = ", ".join(f"{self.assumed[at].title} {self.total[0][at]:.2f}" for at in order[:3])
        return (
            f"{self.title}: {self.usual.mean:.3g} as assumed, {low:.3g} to {high:.3g} in 95 % of {len(self.drawn)} joint draws; "
            f"total Sobol indices: {most} (the fit predicts {max(self.predicted, 0.0):.0%} of the variance)"
        )

    def claim(self, **place: Any) -> Claim:
        """Returns the result in words, which no work claims; `place` has at least the fields `work` and `where`."""
        standing = " and ".join(dict.fromkeys(each.standing for each in self.assumed))
        return unclaimed(self.usual, self.text, what="what a reader must believe: " + self.title, standing=standing, **place)

    def entries(self, claim: Claim) -> Iterator[Claim | Picture | Table]:
        """Yields a claim on the result, the picture and the table."""
        yield from (claim, self.picture(), self.table())

    def table(self) -> Table:
        """Returns ends and indices of each number."""
        columns: tuple[str, ...] = ("number", "standing", "usual", "low end", "high end", "ours at low end", "ours at high end")
        columns += tuple(f"{index}{bound}" for index in ("first-order index", "total index") for bound in ("", " low", " high"))
        rows = [
            [
                each.title, each.standing, str(each.usual), str(each.values[0]), str(each.values[-1]),
                self.ends[at][0].mean, self.ends[at][1].mean,
                *(float(bounds[at]) for index in (self.first, self.total) for bounds in index),
            ]
            for at, each in enumerate(self.assumed)
        ]  # fmt: skip
        return Table(name=f"sensitivity-{self.name}", title=f"Sensitivity of {self.title}", columns=columns, rows=rows)

    def picture(self) -> Picture:
        """Returns the results at both ends of each number."""
        order = sorted(range(len(self.assumed)), key=lambda at: -abs(self.ends[at][1].mean - self.ends[at][0].mean))
        names = [self.assumed[at].title for at in order]
        series = tuple(
            Series(end, names, [self.ends[at][side].mean for at in order]) for side, end in enumerate(("low end", "high end"))
        )
        chart = Chart(
            title=f"{self.title}: one number at a time, from end to end of its range",
            x=Axis(""),
            y=Axis(self.title),
            series=series,
            marks=(Mark(self.usual.mean, "as assumed"),),
            cases=True,
        )
        return Picture(name=f"sensitivity-{self.name}", chart=chart)


def sensitivity(
    setting: Setting,
    name: str,
    *,
    title: str,
    assumed: Sequence[Assumed],
    points: Callable[[Mapping[str, object]], Sequence[Mapping[str, object]]],
    quantity: Callable[[Sequence[Sample]], Estimate],
    draws: int,
    columns: Sequence[str] = (),
    **further: Any,
) -> Sensitivity:
    """Returns the sensitivity of a result.

    Args:
        setting: The setting.
        name: Name of the sweeps, the picture and the table.
        title: The result.
        assumed: The numbers.
        points: Returns the points of the runs from which the result follows, with these fields.
        quantity: Returns the result of those runs.
        draws: Number of joint draws. Each has one seed: its noise is a part of the variance.
        columns: Numbers that are needed beside those that every sweep keeps.
        further: Further keys of the specification of the sweeps, such as ``lifetime``.
    """
    run = partial(_results, setting, assumed=assumed, points=points, quantity=quantity, columns=columns, further=further)
    usual = {each.title: each.usual for each in assumed}
    alone = [usual] + [{**usual, each.title: each.values[end]} for each in assumed for end in (0, -1)]
    found = run(f"{name}-ends", alone, None)
    shares = _spread(draws, len(assumed))
    joint = [{each.title: each.at(share) for each, share in zip(assumed, row, strict=True)} for row in shares.tolist()]
    drawn = [one.mean for one in run(f"{name}-draws", joint, 1)]
    first, total, predicted = indices(shares, np.array(drawn))
    return Sensitivity(
        name=name,
        title=title,
        assumed=tuple(assumed),
        usual=found[0],
        ends=tuple(zip(found[1::2], found[2::2], strict=True)),
        drawn=tuple(drawn),
        first=first,
        total=total,
        predicted=predicted,
    )


def _spread(count: int, width: int) -> Numbers:
    """Returns a Latin hypercube: in each column, one number in each of `count` equal parts of 0 to 1."""
    rng = np.random.default_rng(_SEED)
    parts = np.array([rng.permutation(count) for _ in range(width)]).T
    spread: Numbers = (parts + rng.random((count, width))) / count
    return spread


def _results(
    setting: Setting,
    name: str,
    given: Sequence[Mapping[str, Any]],
    seeds: int | None,
    *,
    assumed: Sequence[Assumed],
    points: Callable[[Mapping[str, object]], Sequence[Mapping[str, object]]],
    quantity: Callable[[Sequence[Sample]], Estimate],
    columns: Sequence[str],
    further: Mapping[str, Any],
) -> list[Estimate]:
    """Returns the result for each set of values of the numbers."""
    wanted = []
    for values in given:
        fields: dict[str, object] = {}
        for each in assumed:
            fields |= each.fields(values[each.title])
        wanted.append([*points(fields)])
    found = iter(samples(setting, name, [*itertools.chain(*wanted)], columns=columns, seeds=seeds, **further))
    return [quantity([next(found) for _ in each]) for each in wanted]


def indices(shares: Numbers, results: Numbers) -> tuple[Numbers, Numbers, float]:
    """Returns Sobol indices of the first order and in total, with bounds, and how much of the variance is predicted.

    Args:
        shares: Place of each draw in the ranges, 0 to 1: a row for each draw.
        results: Result of each draw.
    """
    fits = [(terms, _basis(shares, terms)) for terms in (_terms(shares.shape[1], degree) for degree in _DEGREES)]
    terms, basis = max(fits, key=lambda fit: _predicted(fit[1], results))
    rng = np.random.default_rng(_SEED)
    resampled = [rng.integers(len(results), size=len(results)) for _ in range(_RESAMPLED)]
    drawn = np.array([_of_fit(basis[chosen], results[chosen], terms) for chosen in resampled])
    whole = np.array([_of_fit(basis, results, terms), *np.quantile(drawn, [0.025, 0.975], axis=0)])
    return whole[:, 0], whole[:, 1], _predicted(basis, results)


def _terms(width: int, most: int) -> list[tuple[int, ...]]:
    """Returns the degrees in each number of the terms of a fit of degree `most`; the first is the constant."""
    degrees = itertools.product(range(most + 1), repeat=width)
    return sorted((each for each in degrees if sum(each) <= most), key=sum)


def _basis(shares: Numbers, terms: Sequence[tuple[int, ...]]) -> Numbers:
    """Returns the value of each term, a product of normalised Legendre polynomials, at each draw."""
    places = 2.0 * shares - 1.0
    degrees = range(max(map(max, terms)) + 1)
    single = [np.polynomial.legendre.Legendre.basis(degree)(places) * np.sqrt(2 * degree + 1) for degree in degrees]
    return np.array([np.prod([single[degree][:, at] for at, degree in enumerate(term)], axis=0) for term in terms]).T


def _of_fit(basis: Numbers, results: Numbers, terms: Sequence[tuple[int, ...]]) -> Numbers:
    """Returns the first-order and the total index of each number (2 rows); 0 where nothing varies."""
    parts = np.linalg.lstsq(basis, results, rcond=None)[0][1:] ** 2
    if results.std() <= 1e-9 * abs(results.mean()):
        return np.zeros((2, len(terms[0])))
    occurs = np.array(terms[1:]) > 0
    alone = occurs & (occurs.sum(axis=1, keepdims=True) == 1)
    found: Numbers = np.array([parts @ alone, parts @ occurs]) / parts.sum()
    return found


def _predicted(basis: Numbers, results: Numbers) -> float:
    """Returns the share of the variance that the fit predicts where each result is left out in turn."""
    left = 1.0 - np.einsum("ij,ji->i", basis, np.linalg.pinv(basis))
    residuals = results - basis @ np.linalg.lstsq(basis, results, rcond=None)[0]
    variance = results.var()
    if not variance > 0.0:
        return 0.0
    return float(1.0 - np.mean((residuals / np.maximum(left, 1e-12)) ** 2) / variance)
