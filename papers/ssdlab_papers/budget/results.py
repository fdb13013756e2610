"""Results of each policy under the one budget: tail, lifetime, extra writes, and shares of clairvoyant's gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate, estimate
from ssdlab.units import percent
from ssdlab_papers.budget import errors, front
from ssdlab_papers.budget.runs import (
    BASELINE,
    BY_WEAR,
    COLUMNS,
    CONTENDERS,
    LEAST_NS,
    SECONDARY,
    Busy,
    Contender,
    Drives,
    Run,
    busy,
    drives_of,
    loads,
    point,
    resolved_drive,
    seeds_of,
    wears,
    wears_of,
)
from ssdlab_papers.budget.tables import RATED, gentlest, wear_of
from ssdlab_papers.budget.unscored import half_of, result_claim, text_of
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import curve, samples
from ssdlab_papers.traces import Load

#: Gain of `clairvoyant` up to which no share of it is given.
_SOME = 0.02
#: Least gain over its control with which an idea counts as paying [A].
_PAYS = 0.05
#: Policies in the pictures; the table has all of them.
_DRAWN = ("wear_adaptive", "ofwar", "rr_speed", "agcr", "autoftl", BY_WEAR, "ofwar + autoftl", "margin", "clairvoyant")


@dataclass(frozen=True, slots=True)
class Found:
    """Run of a contender with a load at one stage of wear, beside the baseline's with the same seed."""

    contender: Contender
    on: Busy
    wear: float
    run: Run
    base: Run

    @property
    def tail(self) -> float:
        """99.99 % latency over the baseline's."""
        return max(self.run.tail_ns, LEAST_NS) / self.base.tail_ns

    @property
    def mean(self) -> float:
        """Mean latency over the baseline's."""
        return max(self.run.mean_ns, LEAST_NS) / self.base.mean_ns

    @property
    def life(self) -> float:
        """Host pages written until the drive is worn out, over the baseline's, as if it were always at this wear."""
        return self.base.wear / self.run.wear

    @property
    def energy(self) -> float:
        """Energy of the flash for each byte of the host over the baseline's."""
        return self.run.joule_per_gb / self.base.joule_per_gb

    @property
    def extra(self) -> float:
        """Pages programmed beyond the baseline's, per page that the host wrote."""
        return self.run.programs - self.base.programs


class Board:
    """Results of all contenders with one seed, by contender and wear."""

    def __init__(self, found: Sequence[Found], at: Sequence[float]) -> None:
        """Indexes the results; `at` holds the stages of wear."""
        self.found = found
        self.wears = at
        self._by = {(one.contender.name, one.wear, one.on.load.name): one for one in found}
        self.loads = [*dict.fromkeys(one.on.load.name for one in found)]
        self.names = frozenset(one.contender.name for one in found)

    def results(self, name: str, wear: float) -> list[Found]:
        """Returns the results of one contender on all loads."""
        return [self._by[name, wear, load] for load in self.loads]

    def on(self, name: str, wear: float, load: str) -> Found:
        """Returns the result of one contender on one load."""
        return self._by[name, wear, load]

    def over_loads(self, name: str, wear: float, value: Callable[[Found], float]) -> float:
        """Returns the geometric mean of a ratio over the loads."""
        return geometric_mean(value(one) for one in self.results(name, wear))

    def mean(self, name: str, wear: float) -> float:
        """Returns the mean latency over the baseline's."""
        return self.over_loads(name, wear, lambda one: one.mean)

    def tail(self, name: str, wear: float) -> float:
        """Returns the 99.99 % latency over the baseline's."""
        return self.over_loads(name, wear, lambda one: one.tail)

    def life(self, name: str, wear: float) -> float:
        """Returns the lifetime over the baseline's."""
        return self.over_loads(name, wear, lambda one: one.life)

    def energy(self, name: str, wear: float) -> float:
        """Returns the energy for each byte of the host over the baseline's."""
        return self.over_loads(name, wear, lambda one: one.energy)

    def extra(self, name: str, wear: float) -> float:
        """Returns the mean extra writes per page that the host wrote."""
        return fmean(one.extra for one in self.results(name, wear))

    def share(self, name: str, wear: float, gain: Gain) -> float | None:
        """Returns a contender's gain on all loads together as a share of that of `clairvoyant`.

        The share is ``None`` if `clairvoyant` gains nothing.
        """
        own, best = (gain.together(self, each, wear) for each in (name, "clairvoyant"))
        return own / best if best > _SOME else None


class Boards:
    """Results with every seed. A quantity is computed seed by seed over all loads; its interval is that over seeds."""

    def __init__(self, by_seed: Mapping[int, Board]) -> None:
        """Takes the board of each seed; the first has all contenders."""
        self.by_seed = by_seed
        self.first = by_seed[min(by_seed)]
        self.wears = self.first.wears
        self.loads = self.first.loads

    def estimate(self, quantity: Callable[[Board], float], *names: str) -> Estimate:
        """Returns a quantity of the contenders `names`, over the seeds with which all of them were run."""
        return estimate([quantity(board) for board in self.by_seed.values() if board.names.issuperset(names)])

    def mean(self, name: str, wear: float) -> Estimate:
        """Returns the mean latency over the baseline's."""
        return self.estimate(lambda board: board.mean(name, wear), name)

    def tail(self, name: str, wear: float) -> Estimate:
        """Returns the 99.99 % latency over the baseline's."""
        return self.estimate(lambda board: board.tail(name, wear), name)

    def life(self, name: str, wear: float) -> Estimate:
        """Returns the lifetime over the baseline's."""
        return self.estimate(lambda board: board.life(name, wear), name)

    def energy(self, name: str, wear: float) -> Estimate:
        """Returns the energy for each byte of the host over the baseline's."""
        return self.estimate(lambda board: board.energy(name, wear), name)

    def extra(self, name: str, wear: float) -> Estimate:
        """Returns the mean extra writes per page that the host wrote."""
        return self.estimate(lambda board: board.extra(name, wear), name)

    def share(self, name: str, wear: float, gain: Gain) -> float | None:
        """Returns a contender's gain as a share of that of `clairvoyant`, which gains something with every seed."""
        shares = [board.share(name, wear, gain) for board in self.by_seed.values() if name in board.names]
        known = [share for share in shares if share is not None]
        return fmean(known) if len(known) == len(shares) else None


@dataclass(frozen=True, slots=True)
class Gain:
    """A gain over the baseline, also expressed as a share of that of `clairvoyant`."""

    #: Gain on one load.
    alone: Callable[[Found], float]
    #: Gain on all loads together, from the means that are shown.
    together: Callable[[Board, str, float], float]


#: Gains: reduction of the tail latency, increase of the lifetime, and reduction of the pages programmed per page that
#: the host wrote.
TAIL = Gain(lambda one: 1.0 - one.tail, lambda board, name, wear: 1.0 - board.tail(name, wear))
LIFE = Gain(lambda one: one.life - 1.0, lambda board, name, wear: board.life(name, wear) - 1.0)
WRITES = Gain(lambda one: -one.extra, lambda board, name, wear: -board.extra(name, wear))
GAINS = (TAIL, LIFE, WRITES)


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the results of every contender on every load at every stage of wear."""
    with drives_of(setting) as drives:
        fit, unfit = at_speed(setting, drives, loads(setting))
        yield from (_left_out(on) for on in unfit)
        if not fit:
            return
        boards = measure(setting, drives, fit)
        in_path = [*errors.entries(setting, drives, fit)]
    for contender in CONTENDERS[1:]:
        for wear in boards.wears:
            yield _summary(boards, contender, wear)
    yield from _where_they_pay(boards)
    yield from _what_it_teaches(boards)
    yield from front.entries(boards)
    yield from in_path
    yield every_run(boards)
    yield from _pictures(boards)


def at_speed(setting: Setting, drives: Drives, on_loads: Sequence[Load]) -> tuple[list[Busy], list[Busy]]:
    """Finds the speed of each load, and returns the loads on which policies can be compared and the others."""
    found = busy(setting, drives, on_loads)
    return [on for on in found if not on.unfit], [on for on in found if on.unfit]


def measure(setting: Setting, drives: Drives, on_loads: Sequence[Busy], seeds: int | None = None) -> Boards:
    """Runs all contenders; one whose modes do not follow wear is run at one stage of wear only.

    Args:
        setting: The setting.
        drives: The folder of the drives.
        on_loads: The loads.
        seeds: Number of seeds of all contenders; absent: that of the setting.
    """
    at = wears(setting)
    # Each drive is resolved once, in advance, by several threads.
    needed = dict.fromkeys((one.table, wear) for one in CONTENDERS for wear in (at if one.follows_wear else at[:1]))
    setting.share_out("modes", lambda drive: resolved_drive(*drive), [*needed])
    found: dict[int, list[Found]] = {}
    bases: dict[tuple[int, str], Run] = {}
    for group in ([one for one in CONTENDERS if (one.name in SECONDARY) == is_second] for is_second in (False, True)):
        pieces = [(one, on, wear) for on in on_loads for one in group for wear in (at if one.follows_wear else at[:1])]
        count = seeds or seeds_of(setting, group[0])
        points = [point(drives, one, on.load, on.speed, wear) for one, on, wear in pieces]
        runs = samples(setting, "budget", points, columns=COLUMNS, seeds=count)
        for (one, on, wear), sample in zip(pieces, runs, strict=True):
            for seed, row in sample.rows.items():
                run = Run.from_row(row, wears_of(one, wear))
                if one is BASELINE:
                    bases[seed, on.load.name] = run
                same = (wear,) if one.follows_wear else at
                found.setdefault(seed, []).extend(Found(one, on, each, run, bases[seed, on.load.name]) for each in same)
    return Boards({seed: Board(each, at) for seed, each in sorted(found.items())})


def _left_out(on: Busy) -> Entry:
    return result_claim(
        estimate([on.speed]),
        f"at {on.speed:.3g} times its speed",
        where="left out",
        what=f"{on.load.title}: {on.unfit}",
        note="policies cannot be compared on it",
    )


def _percent_or_none(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _change(share: float) -> str:
    return f"{share:+.0%}"


def _summary(boards: Boards, contender: Contender, wear: float) -> Entry:
    name = contender.name
    tail = boards.estimate(lambda board: board.tail(name, wear) - 1.0, name)
    energy = boards.estimate(lambda board: board.energy(name, wear) - 1.0, name)
    mean = boards.estimate(lambda board: board.mean(name, wear) - 1.0, name)
    shares = ", ".join(_percent_or_none(boards.share(name, wear, gain)) for gain in GAINS)
    life, extra = text_of(boards.life(name, wear)), text_of(boards.extra(name, wear), percent)
    return result_claim(
        mean,
        f"{text_of(mean, _change)}; {text_of(tail, _change)}; {life} times; {extra}; {text_of(energy, _change)}; {shares}",
        where=contender.work,
        what=f"{name}, {wear:.0%} worn: mean latency, 99.99 % latency, lifetime, extra writes, energy; shares of clairvoyant's "
        "gains in tail, lifetime and writes",
        load=", ".join(boards.loads),
    )


def _where_they_pay(boards: Boards) -> Iterator[Entry]:
    """Yields the lowest stage of wear at which an idea gains at least :data:`_PAYS` over its control."""
    wears_at = boards.wears

    def over(name: str, control: str, wear: float) -> Estimate:
        return boards.estimate(lambda board: 1.0 - board.mean(name, wear) / board.mean(control, wear), name, control)

    for name in ("ofwar", "rr_speed"):
        gains = [over(name, "wear_adaptive", wear) for wear in wears_at]
        yield _pays(boards, name, "mean latency beside wear_adaptive's, the widest step that keeps the full promise", gains)
    for name in ("autoftl_minus", "autoftl"):
        # Control of gentle erases: the gentlest erase that writing at the normal speed allows.
        free = [wear_of(gentlest(round(wear * RATED), 1.0), False) for wear in wears_at]
        gains = [_fewer_cycles(boards, name, wear, control) for wear, control in zip(wears_at, free, strict=True)]
        yield _pays(boards, name, "cycles beside those of the gentlest fast erase that the normal speed allows", gains)
    gains = [over("agcr", "baseline", wear) for wear in wears_at]
    yield _pays(boards, "agcr", "mean latency beside the baseline's, which senses once", gains)


def _fewer_cycles(boards: Boards, name: str, wear: float, control: float) -> Estimate:
    return boards.estimate(lambda board: control / board.over_loads(name, wear, lambda one: one.run.wear_per_erase) - 1.0, name)


def _pays(boards: Boards, name: str, what: str, gains: Sequence[Estimate]) -> Entry:
    first = next((wear for wear, gain in zip(boards.wears, gains, strict=True) if gain.mean >= _PAYS), None)
    by_wear = ", ".join(f"{text_of(gain, _change)} at {wear:.0%}" for wear, gain in zip(boards.wears, gains, strict=True))
    return result_claim(
        Estimate(gains[0].count, 2.0 if first is None else first, None, None),
        f"{'nowhere' if first is None else f'from {first:.0%}'} ({by_wear})",
        where="where it starts to pay",
        what=f"{name}: least wear with a gain of {_PAYS:.0%}; {what}",
        note="the least gain that counts as paying is assumed",
    )


def _what_it_teaches(boards: Boards) -> Iterator[Entry]:
    """Yields relations that follow if all mechanisms share one budget, and says whether they were found."""
    young, old = boards.wears[0], boards.wears[-1]

    def ratio(number: Callable[[Board, str, float], float], name: str, other: str, wear: float) -> Estimate:
        return boards.estimate(lambda board: number(board, name, wear) / number(board, other, wear), name, other)

    def foresight(board: Board) -> float:
        ends = [board.mean("clairvoyant", wear) / board.life("clairvoyant", wear) for wear in board.wears]
        own = [board.mean("margin", wear) / board.life("margin", wear) for wear in board.wears]
        return geometric_mean(end / each for end, each in zip(ends, own, strict=True))

    of_both, ends = "ofwar + autoftl", boards.estimate(lambda board: board.life("autoftl", young) / board.life("autoftl", old))
    checks = (
        (
            "a short promise brings nothing that a young cell does not give anyway: ofwar's mean latency over wear_adaptive's, "
            f"{young:.0%} worn, is at least 1",
            ratio(Board.mean, "ofwar", "wear_adaptive", young),
            (1.0, 10.0),
        ),
        (
            f"it is all there is on an old one: rr_speed's mean latency over wear_adaptive's, {old:.0%} worn, is below 0.95",
            ratio(Board.mean, "rr_speed", "wear_adaptive", old),
            (0.0, 0.95),
        ),
        (
            f"gentle erases end with the window: autoftl's lifetime, {young:.0%} worn over {old:.0%} worn, is above 1.1",
            ends,
            (1.1, 5.0),
        ),
        (
            f"nor does it beside gentle erases: mean latency of ofwar + autoftl over {BY_WEAR}'s, {young:.0%} worn, "
            "is 0.9 to 1.1",
            ratio(Board.mean, of_both, BY_WEAR, young),
            (0.9, 1.1),
        ),
        (
            f"on an old cell the two combined keep most of both: mean latency over {BY_WEAR}'s, {old:.0%} worn, is below 0.95",
            ratio(Board.mean, of_both, BY_WEAR, old),
            (0.0, 0.95),
        ),
        (f"and lifetime, {old:.0%} worn, is above 0.8", ratio(Board.life, of_both, BY_WEAR, old), (0.8, 1.5)),
        (
            "knowing the future helps: mean latency times wear of clairvoyant over margin's, mean of all wears, is below 1",
            boards.estimate(foresight),
            (0.0, 1.0),
        ),
    )
    for what, ours, (low, high) in checks:
        found = "found" if low <= ours.mean <= high else "**not found**"
        note = "expected of one budget, by no work; the bounds are ours, and the tests of this page check that each can fail"
        yield result_claim(ours, f"{text_of(ours)}: {found}", where="what it teaches", what=what, note=note)


#: Quantities of a run in the table of every run, with the names of their columns.
_OF_RUN: dict[str, Callable[[Found], float]] = {
    "99.99 % us": lambda one: one.run.tail_ns / 1000,
    "99.99 % / baseline": lambda one: one.tail,
    "mean / baseline": lambda one: one.mean,
    "lifetime / baseline": lambda one: one.life,
    "extra writes": lambda one: one.extra,
    "J/GB": lambda one: one.run.joule_per_gb,
    "J/GB / baseline": lambda one: one.energy,
}


def every_run(boards: Boards) -> Table:
    """Returns the table of all runs, one load, wear and policy per row, with half of the interval over the seeds."""
    columns = [name for quantity in _OF_RUN for name in (quantity, f"{quantity} ±")]
    shares = [f"share of clairvoyant's {what} gain" for what in ("tail", "lifetime", "writes")]
    return Table(
        name="one-budget",
        title="Every policy on one drive, at the speed at which the baseline's dies write half the time",
        columns=("load", "speed", "wear", "policy", "of", "seeds", *columns, *shares),
        rows=[_row(boards, one) for one in boards.first.found],
    )


def _row(boards: Boards, one: Found) -> tuple[object, ...]:
    name = one.contender.name

    def over_seeds(quantity: Callable[[Found], float]) -> Estimate:
        return boards.estimate(lambda board: quantity(board.on(name, one.wear, one.on.load.name)), name)

    found = [over_seeds(quantity) for quantity in _OF_RUN.values()]
    cells = [cell for each in found for cell in (each.mean, half_of(each))]
    shares = [_share_of(boards.first, one, gain) for gain in GAINS]
    return one.on.load.title, one.on.speed, one.wear, name, one.contender.work, found[0].count, *cells, *shares


def _share_of(board: Board, one: Found, gain: Gain) -> float | None:
    best = board.on("clairvoyant", one.wear, one.on.load.name)
    return gain.alone(one) / gain.alone(best) if gain.alone(best) > _SOME else None


def _is_dashed(name: str) -> bool:
    """Returns true for a combination and for the reference `clairvoyant`."""
    return " + " in name or name == "clairvoyant"


def _pictures(boards: Boards) -> Iterator[Picture]:
    """Yields latency against lifetime at the first and the last stage of wear, and both by wear."""
    names = [contender.name for contender in CONTENDERS if contender.name in _DRAWN]
    percents = [100.0 * wear for wear in boards.wears]
    for key, title, value in (
        ("tail", "99.99 % latency", boards.tail),
        ("mean", "mean latency", boards.mean),
        ("life", "lifetime", boards.life),
        ("energy", "energy for each byte of the host", boards.energy),
    ):
        chart = Chart(
            title=f"One budget: {title} over the baseline's, mean of the loads",
            x=Axis("wear [% of the rated cycles]"),
            y=Axis(f"{title} / baseline"),
            series=tuple(
                curve(name, percents, [value(name, wear) for wear in boards.wears], dashed=_is_dashed(name)) for name in names
            ),
            marks=(Mark(1.0, "baseline"),),
        )
        yield Picture(name=f"one-budget-{key}", chart=chart)
    for wear in (boards.wears[0], boards.wears[-1]):
        chart = Chart(
            title=f"One budget, {wear:.0%} worn: what each policy buys",
            x=Axis("mean latency / baseline", log=True, better="lower"),
            y=Axis("lifetime / baseline", better="higher"),
            series=tuple(Series(name, [boards.mean(name, wear).mean], [boards.life(name, wear).mean]) for name in names),
            marks=(Mark(1.0, "baseline"), Mark(1.0, "", on="x")),
            labelled=True,
        )
        yield Picture(name=f"one-budget-{wear:.0%}".replace("%", ""), chart=chart)
