"""Regions in which a published value comes out: a search over the parameters that its work leaves open.

A claim that is not met at the stated setting holds under a condition if its value appears at settings that are
plausible for the work. Two searches (``ssdlab optimise``) make the distance to the published value small, one among
plausible settings alone and one among all; the trials of both are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import run_search
from ssdlab_papers.traces import Load

__all__ = [
    "Open",
    "Region",
    "between",
    "choice",
    "claim_with_region",
    "fixed_text",
    "load_fields",
    "region",
    "speed_field",
    "spread",
    "with_region",
]

#: Names of the measures of a search.
_VALUE, _OFF = "value", "off"
#: Colours of trials above, below and at the published value; those drawn last are on top.
_SIDES = {"above": "#b9b9b9", "below": "#6b8fb5", "published": "#b3261e"}
#: Colours of trials at settings that are plausible for the work or not, and of those with the published value.
_KINDS = {"not plausible": "#b9b9b9", "plausible": "#33415c", "published": "#b3261e"}
#: Plausible settings that are a region.
_FEWEST = 2
#: Share of the distance between neighbouring choices over which trials at the same place of a map are spread.
_SPREAD = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A parameter that a work leaves open."""

    #: Field of the drive, ``workload``, ``workload.KEY`` or ``options.NAME``.
    field: str
    #: Name on the page, with its unit.
    title: str
    #: Choices of a search, as a specification has them: ``{"choices": [..]}`` or ``{"low": .., "high": ..}``.
    choices: Mapping[str, Any]
    #: Least and greatest value that the set-up of the work makes plausible, or the plausible choices.
    plausible: tuple[float, float] | frozenset[Any]
    #: Reason for these bounds: what the work says, or that it says nothing.
    why: str

    def is_plausible(self, value: Any) -> bool:
        """Returns True if a value is plausible for the set-up of the work."""
        if isinstance(self.plausible, frozenset):
            return value in self.plausible
        low, high = self.plausible
        return bool(low <= value <= high)

    def among_plausible(self) -> dict[str, Any]:
        """Returns the choices of a search among plausible values alone."""
        if "choices" in self.choices:
            return {"choices": [value for value in self.choices["choices"] if self.is_plausible(value)]}
        assert not isinstance(self.plausible, frozenset), f"{self.field}: bounds are expected for a range"
        low, high = self.plausible
        return {**self.choices, "low": max(low, self.choices["low"]), "high": min(high, self.choices["high"])}

    @property
    def has_numbers(self) -> bool:
        """True if its values are numbers, so that they have a place on an axis."""
        return "choices" not in self.choices or all(type(value) in (int, float) for value in self.choices["choices"])


def choice(field: str, title: str, values: Sequence[Any], plausible: Iterable[Any] | None = None, *, why: str) -> Open:
    """Returns a parameter with choices, of which these are plausible, by default all."""
    given = frozenset(values if plausible is None else plausible)
    return Open(field=field, title=title, choices={"choices": [*values]}, plausible=given, why=why)


def spread(field: str, title: str, values: Sequence[Any], plausible: tuple[float, float] | None = None, *, why: str) -> Open:
    """Returns a parameter with numbers to choose from, of which those between two are plausible, by default all."""
    ends = plausible or (min(values), max(values))
    return Open(field=field, title=title, choices={"choices": [*values]}, plausible=ends, why=why)


def between(field: str, title: str, low: float, high: float, plausible: tuple[float, float] | None = None, *, why: str) -> Open:
    """Returns a parameter between two ends, of which the part between two numbers is plausible, by default all."""
    return Open(field=field, title=title, choices={"low": low, "high": high}, plausible=plausible or (low, high), why=why)


@dataclass(frozen=True, slots=True)
class Region:
    """Trials of a search, and those in which the published value comes out."""

    name: str
    #: The quantity, with its unit.
    title: str
    published: float
    tolerance: float
    parameters: tuple[Open, ...]
    #: Rows of the trials that ended.
    rows: tuple[Mapping[str, Any], ...]
    #: Parameters in the order of their importance for the distance.
    by_importance: tuple[Open, ...]
    #: Drive, load and state before the run that all trials have in common, in words.
    fixed: str = ""

    @property
    def hits(self) -> list[Mapping[str, Any]]:
        """Trials in which the published value comes out."""
        return [row for row in self.rows if row[_OFF] <= self.tolerance]

    @property
    def plausible(self) -> list[Mapping[str, Any]]:
        """Those of them at settings that are plausible for the work."""
        return [row for row in self.hits if self.is_plausible(row)]

    def is_plausible(self, row: Mapping[str, Any]) -> bool:
        """Returns True if a trial's setting is plausible for the work."""
        return all(each.is_plausible(row[each.field]) for each in self.parameters)

    @property
    def text(self) -> str:
        """Where the published value comes out, in words. What is not found is said with what the search held fixed."""
        at = f" at {self.fixed}" if self.fixed else ""
        sought = [row for row in self.rows if self.is_plausible(row)]
        if self.plausible:
            return f"in {len(self.plausible)} of {len(sought)} plausible settings{self._spans(self.plausible, sought)}"
        if not self.hits:
            settings = f"{len(self.rows)} settings{at}, {len(sought)} of them plausible"
            return f"nowhere among {settings}; nearest {self._nearest(self.rows)}"
        missed = f"in none of {len(sought)} plausible settings{at}" + (f" (nearest {self._nearest(sought)})" if sought else "")
        others = len(self.rows) - len(sought)
        return f"{missed}, and in {len(self.hits)} of {others} others{self._spans(self.hits, self.rows)}"

    def _nearest(self, rows: Sequence[Mapping[str, Any]]) -> str:
        nearest = min(rows, key=lambda row: row[_OFF])
        at = ", ".join(f"{each.title} {_short(nearest[each.field])}" for each in self.parameters)
        return f"{nearest[_VALUE]:.3g} at {at}"

    def _spans(self, chosen: Sequence[Mapping[str, Any]], among: Sequence[Mapping[str, Any]]) -> str:
        spans = "; ".join(text for each in self.by_importance if (text := self._span(each, chosen, among)))
        return f": {spans}" if spans else ""

    def _span(self, parameter: Open, chosen: Sequence[Mapping[str, Any]], among: Sequence[Mapping[str, Any]]) -> str:
        """Returns the values of a parameter among chosen trials; empty if they are as many as those of all."""
        here, every = ({row[parameter.field] for row in rows} for rows in (chosen, among))
        if parameter.has_numbers:
            if (min(here), max(here)) == (min(every), max(every)):
                return ""
            ends = dict.fromkeys(_short(value) for value in (min(here), max(here)))
            return f"{parameter.title} {' to '.join(ends)} (of {_short(min(every))} to {_short(max(every))})"
        return "" if here == every else f"{parameter.title} {', '.join(sorted(map(str, here)))}"

    def pictures(self) -> Iterator[Picture]:
        """Yields the values of the trials by the parameter with numbers that matters most, and a map over two of them.

        In the map, trials at the same place are spread around it in the order of their values.
        """
        axes = [each for each in self.by_importance if each.has_numbers][:2]
        title = f"{self.title}: where {self.published:g} comes out"
        yield Picture(name=f"region-{self.name}", chart=self._values(title, axes[0]))
        if len(axes) > 1:
            yield Picture(name=f"region-{self.name}-map", chart=self._map(title, axes[0], axes[1]))

    def _values(self, title: str, parameter: Open) -> Chart:
        def kind(row: Mapping[str, Any]) -> str:
            if row[_OFF] <= self.tolerance:
                return "published"
            return "plausible" if self.is_plausible(row) else "not plausible"

        places = {id(row): (float(row[parameter.field]), float(row[_VALUE])) for row in self.rows}
        return Chart(
            title=title,
            x=_axis(parameter),
            y=Axis(self.title),
            series=self._series(_KINDS, kind, places),
            marks=(Mark(self.published, "published"),),
            legend="settings",
        )

    def _map(self, title: str, x: Open, y: Open) -> Chart:
        def kind(row: Mapping[str, Any]) -> str:
            return "published" if row[_OFF] <= self.tolerance else "above" if row[_VALUE] > self.published else "below"

        places = _spread_out(sorted(self.rows, key=lambda row: row[_VALUE]), x, y)
        return Chart(title=title, x=_axis(x), y=_axis(y), series=self._series(_SIDES, kind, places), legend="ours")

    def _series(
        self, colours: Mapping[str, str], kind: Callable[[Mapping[str, Any]], str], places: Mapping[int, tuple[float, float]]
    ) -> tuple[Series, ...]:
        """Returns the trials by their kind, each at its place."""
        parts = {name: [places[id(row)] for row in self.rows if kind(row) == name] for name in colours}
        return tuple(
            Series(f"{name} ({len(at)})", [x for x, _ in at], [y for _, y in at], colour=colours[name], joined=False)
            for name, at in parts.items()
            if at
        )

    def entries(self) -> Iterator[Picture | Table]:
        """Yields the pictures and the table."""
        yield from self.pictures()
        yield self.table()

    def table(self) -> Table:
        """Returns all trials."""
        columns = [each.field for each in self.parameters]
        return Table(
            name=f"region-{self.name}",
            title=f"Trials of the search for {self.title}",
            columns=(*columns, "ours", "distance", "plausible"),
            rows=[
                [
                    *(row[name] for name in columns),
                    row[_VALUE],
                    row[_OFF],
                    self.is_plausible(row),
                ]
                for row in self.rows
            ],
        )


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _is_log(parameter: Open) -> bool:
    values = parameter.choices.get("choices", ())
    return bool(parameter.choices.get("log")) or (len(values) > 1 and min(values) > 0 and max(values) / min(values) >= 16)


def _axis(parameter: Open) -> Axis:
    ticks = tuple((float(value), str(value)) for value in parameter.choices.get("choices", ()))
    return Axis(parameter.title, log=_is_log(parameter), ticks=ticks)


def _spread_out(rows: Sequence[Mapping[str, Any]], *axes: Open) -> dict[int, tuple[float, float]]:
    """Returns a place for each row: rows at the same place are spread around it, row by row of a square."""
    groups: dict[tuple[float, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(float(row[axis.field]) for axis in axes), []).append(row)
    found = {}
    for place, group in groups.items():
        side = math.ceil(math.sqrt(len(group)))
        for number, row in enumerate(group):
            shares = ((at + 0.5) / side - 0.5 for at in (number % side, number // side))
            x, y = (_moved(axis, at, share) for axis, at, share in zip(axes, place, shares, strict=True))
            found[id(row)] = (x, y)
    return found


def _moved(parameter: Open, value: float, share: float) -> float:
    """Returns a value moved by a share of the smallest distance between neighbouring choices, as the axis has it."""
    choices = sorted(float(each) for each in parameter.choices.get("choices", ()))
    if len(choices) < 2:
        return value
    if _is_log(parameter):
        ratio = min(after / before for before, after in pairwise(choices))
        return value * math.exp(_SPREAD * share * math.log(ratio))
    return value + _SPREAD * share * min(after - before for before, after in pairwise(choices))


def fixed_text(spec: Mapping[str, Any], parameters: Sequence[Open], load: str = "") -> str:
    """Returns what a search holds fixed, in words.

    Args:
        spec: The specification: ``drive``, ``workload``, and ``options`` or ``set`` with a ``precondition``.
        parameters: What the search varies, and so does not hold fixed.
        load: The load in words; by default the name of its file.
    """
    varied = {each.field for each in parameters if len(each.choices.get("choices", (0, 1))) > 1}
    given = {**spec, **spec.get("set", {})}
    state = given.get("precondition", "")
    found = [
        str(given["drive"]) if "drive" not in varied and isinstance(given.get("drive"), str) else "",
        load or (Path(str(given["workload"])).stem if "workload" not in varied and "workload" in given else ""),
        f"precondition {state}" if state and "precondition" not in varied else "",
    ]
    return ", ".join(filter(None, found))


def region(
    setting: Setting,
    name: str,
    *,
    title: str,
    quantity: str,
    published: float,
    tolerance: float,
    parameters: Sequence[Open],
    trials: int,
    load: str = "",
    **spec: Any,
) -> Region:
    """Searches for the settings at which a quantity has its published value.

    Args:
        setting: The setting.
        name: Name of the search, its picture and its table.
        title: The quantity.
        quantity: Expression for it, over the numbers of the runs and those of their ``reference``.
        published: The published value.
        tolerance: Distance up to which a value counts as the published one: the resolution of the claim.
        parameters: What the work leaves open.
        trials: Number of trials of each search.
        load: The load in words, for what the search held fixed.
        **spec: The rest of the specification: ``drive``, ``workload``, ``policy``, ``reference``, ``options``, ...
    """
    document = {
        **spec,
        "search": {each.field: dict(each.choices) for each in parameters},
        "measure": {_VALUE: quantity, _OFF: f"abs({_VALUE} - ({published!r}))"},
        "objective": [{"key": _OFF}],
    }
    done = run_search(setting, replace(ssdlab.Spec.open(document), name=name), trials)
    within = {**document, "search": {each.field: each.among_plausible() for each in parameters}}
    plausible = run_search(setting, replace(ssdlab.Spec.open(within), name=f"{name}-plausible"), trials)
    # A search may come back to a setting.
    rows = {
        tuple(row[each.field] for each in parameters): row
        for row in (*plausible.table.to_pylist(), *done.table.to_pylist())
        if row["status"] == "ok"
    }
    shares = done.importance.get(_OFF) or {}
    ordered = tuple(sorted(parameters, key=lambda each: -shares.get(each.field, 0.0)))
    fixed = fixed_text(spec, parameters, load)
    return Region(name, title, published, tolerance, tuple(parameters), tuple(rows.values()), ordered, fixed)


def claim_with_region(claim: Claim, found: Region, published: str = "", part: str = "") -> Claim:
    """Returns a claim with the region in which its value comes out.

    It holds there if the region is plausible for the work: at two settings at least, as a single one among so many may
    have the value by chance. Otherwise the verdict stays, and the note says what the search found. A claim that is met
    needs no region.

    Args:
        claim: The claim.
        found: The region.
        published: The value that was searched for, in words, if it is not the published value as it stands.
        part: What of the claim was searched, if not all of it, such as one load of a mean: the verdict stays then.
    """
    if claim.is_met:
        return claim
    said = f"{published or claim.published} comes out {found.text}"
    if part:
        said += f" ({part})"
    elif len(found.plausible) >= _FEWEST:
        return replace(claim, region=found.text, note=said)
    elif found.plausible:
        said += ", which alone is no region"
    return replace(claim, note="; ".join(filter(None, (claim.note, said))))


def with_region(claim: Claim, found: Region, published: str = "", part: str = "") -> Iterator[Claim | Picture | Table]:
    """Yields a claim with the region in which its value comes out (:func:`settled`), and what the region shows."""
    yield claim_with_region(claim, found, published, part)
    yield from found.entries()


def load_fields(load: Load, fields: Mapping[str, object], stop_after: int | None = None) -> dict[str, object]:
    """Returns the workload of a search and its options, from the fields of a point with the load.

    A search changes the speed alone of a workload: the rest are options of the runs. A look-alike takes none, and is
    run for `stop_after` requests, if not whole.
    """
    given = {key.removeprefix("workload."): value for key, value in fields.items()}
    reading = {key: value for key, value in given.items() if key not in ("workload", "time_scale")}
    stopped = {} if stop_after is None else {"stop_after": stop_after}
    return {"workload": given["workload"], "options": reading if load.is_trace else stopped}


def speed_field(load: Load) -> str:
    """Returns the field of the replay speed: an option of a trace, and a field of a look-alike."""
    return "workload.time_scale" if load.is_trace else "workload.speed"
