"""Results of each policy under the one budget: tail, lifetime, extra writes, and shares of clairvoyant's gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.budget import front
from ssdlab_papers.budget.runs import (
    BASELINE,
    BY_WEAR,
    CONTENDERS,
    LEAST_NS,
    Busy,
    Contender,
    Run,
    busy,
    loads,
    resolved,
    run,
    wears,
)
from ssdlab_papers.budget.tables import RATED, gentlest, wear_of
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Gain of `clairvoyant` up to which no share of it is given.
_SOME = 0.02
#: Least gain over its control with which an idea counts as paying [A].
_PAYS = 0.05
#: Policies in the pictures; the table has all of them.
_DRAWN = ("wear_adaptive", "ofwar", "rr_speed", "agcr", "autoftl", BY_WEAR, "ofwar + autoftl", "margin", "clairvoyant")


@dataclass(frozen=True, slots=True)
class Found:
    """Run of a contender with a load at one stage of wear, beside the baseline."""

    contender: Contender
    on: Busy
    wear: float
    run: Run

    @property
    def tail(self) -> float:
        """99.99 % latency over the baseline's."""
        return max(self.run.tail_ns, LEAST_NS) / self.on.base.tail_ns

    @property
    def mean(self) -> float:
        """Mean latency over the baseline's."""
        return max(self.run.mean_ns, LEAST_NS) / self.on.base.mean_ns

    @property
    def life(self) -> float:
        """Host pages written until the drive is worn out, over the baseline's, as if it were always at this wear."""
        return self.on.base.wear / self.run.wear

    @property
    def energy(self) -> float:
        """Energy of the flash for each byte of the host over the baseline's."""
        return self.run.joule_per_gb / self.on.base.joule_per_gb

    @property
    def extra(self) -> float:
        """Pages programmed beyond the baseline's, per page that the host wrote."""
        return self.run.programs - self.on.base.programs


class Board:
    """Results of all contenders, by contender and wear."""

    def __init__(self, found: Sequence[Found], at: Sequence[float]) -> None:
        """Indexes the results; `at` holds the stages of wear."""
        self.found = found
        self.wears = at
        self._by = {(one.contender.name, one.wear, one.on.load.name): one for one in found}
        self.loads = [*dict.fromkeys(one.on.load.name for one in found)]

    def of(self, name: str, wear: float) -> list[Found]:
        """Returns the results of one contender on all loads."""
        return [self._by[name, wear, load] for load in self.loads]

    def over_loads(self, name: str, wear: float, value: Callable[[Found], float]) -> float:
        """Returns the geometric mean of a ratio over the loads."""
        return geometric_mean(value(one) for one in self.of(name, wear))

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
        return fmean(one.extra for one in self.of(name, wear))

    def share(self, name: str, wear: float, gain: Gain) -> float | None:
        """Returns a contender's gain on all loads together as a share of that of `clairvoyant`.

        The share is ``None`` if `clairvoyant` gains nothing.
        """
        own, best = (gain.together(self, each, wear) for each in (name, "clairvoyant"))
        return own / best if best > _SOME else None


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
    fit, unfit = at_speed(setting, loads(setting))
    yield from (_left_out(on) for on in unfit)
    if not fit:
        return
    board = measure(setting, fit)
    for contender in CONTENDERS[1:]:
        for wear in board.wears:
            yield _summary(board, contender, wear)
    yield from _where_they_pay(board)
    yield from _what_it_teaches(board)
    yield from front.entries(board)
    yield every_run(board)
    yield from _pictures(board)


def at_speed(setting: Setting, on_loads: Sequence[Load]) -> tuple[list[Busy], list[Busy]]:
    """Finds the speed of each load, and returns the loads on which policies can be compared and the others."""
    found = setting.share_out("speeds", busy, on_loads)
    return [on for on in found if not on.unfit], [on for on in found if on.unfit]


def measure(setting: Setting, on_loads: Sequence[Busy]) -> Board:
    """Runs all contenders; one whose modes do not follow wear is run at one stage of wear only."""
    at = wears(setting)
    pieces = [
        (contender, on, wear)
        for on in on_loads
        for contender in CONTENDERS[1:]
        for wear in (at if contender.follows_wear else at[:1])
    ]
    # Each drive is resolved once, in advance: otherwise two threads could derive the same modes at the same time.
    drives = dict.fromkeys((contender.table, wear) for contender, _, wear in pieces)
    setting.share_out("modes", lambda drive: resolved(*drive), [*drives])
    runs = setting.share_out("one budget", lambda piece: run(piece[0], piece[1].load, piece[1].speed, piece[2]), pieces)
    found = [
        Found(contender, on, wear, one)
        for (contender, on, first), one in zip(pieces, runs, strict=True)
        for wear in ((first,) if contender.follows_wear else at)
    ]
    found += [Found(BASELINE, on, wear, on.base) for on in on_loads for wear in at]
    return Board(found, at)


def _left_out(on: Busy) -> Entry:
    return Entry(
        work="one budget",
        where="left out",
        what=f"{on.load.title}: {on.unfit}",
        published="–",
        standing="",
        ours=on.speed,
        shown=f"at {on.speed:.3g} times its speed",
    )


def _percent_or_none(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _summary(board: Board, contender: Contender, wear: float) -> Entry:
    name = contender.name
    tail, life = board.tail(name, wear), board.life(name, wear)
    shares = ", ".join(_percent_or_none(board.share(name, wear, gain)) for gain in GAINS)
    return Entry(
        work="one budget",
        where=contender.work,
        what=f"{name}, {wear:.0%} worn: 99.99 % latency, lifetime, extra writes, energy; shares of clairvoyant's gains in each",
        published="– (no work could show it)",
        standing="",
        ours=tail,
        shown=f"{tail - 1:+.0%}; {life:.2f}x; {percent(board.extra(name, wear))}; {board.energy(name, wear) - 1:+.0%}; {shares}",
    )


def _where_they_pay(board: Board) -> Iterator[Entry]:
    """Yields the lowest stage of wear at which an idea gains at least :data:`_PAYS` over its control."""
    mean = board.mean
    for name in ("ofwar", "rr_speed"):
        gains = [1.0 - mean(name, wear) / mean("wear_adaptive", wear) for wear in board.wears]
        yield _pays(board, name, "mean latency beside wear_adaptive's, the widest step that keeps the full promise", gains)
    for name in ("autoftl_minus", "autoftl"):
        # Control of gentle erases: the gentlest erase that writing at the normal speed allows.
        free = [wear_of(gentlest(round(wear * RATED), 1.0), False) for wear in board.wears]
        worn = [board.over_loads(name, wear, lambda one: one.run.wear_per_erase) for wear in board.wears]
        gains = [control / own - 1.0 for control, own in zip(free, worn, strict=True)]
        yield _pays(board, name, "cycles beside those of the gentlest fast erase that the normal speed allows", gains)
    yield _pays(
        board, "agcr", "mean latency beside the baseline's, which senses once", [1.0 - mean("agcr", wear) for wear in board.wears]
    )


def _pays(board: Board, name: str, what: str, gains: Sequence[float]) -> Entry:
    first = next((wear for wear, gain in zip(board.wears, gains, strict=True) if gain >= _PAYS), None)
    by_wear = ", ".join(f"{gain:+.0%} at {wear:.0%}" for wear, gain in zip(board.wears, gains, strict=True))
    return Entry(
        work="one budget",
        where="where it starts to pay",
        what=f"{name}: least wear with a gain of {_PAYS:.0%}; {what}",
        published="–",
        standing="",
        ours=2.0 if first is None else first,
        shown=f"{'nowhere' if first is None else f'from {first:.0%}'} ({by_wear})",
    )


def _what_it_teaches(board: Board) -> Iterator[Entry]:
    """Yields relations that must hold if all mechanisms share one budget."""
    young, old = board.wears[0], board.wears[-1]
    mean, life = board.mean, board.life
    checks = (
        (
            "a short promise brings nothing that a young cell does not give anyway: ofwar's mean latency over wear_adaptive's, "
            f"{young:.0%} worn",
            mean("ofwar", young) / mean("wear_adaptive", young),
            (1.0, 10.0),
        ),
        (
            f"it is all there is on an old one: rr_speed's mean latency over wear_adaptive's, {old:.0%} worn",
            mean("rr_speed", old) / mean("wear_adaptive", old),
            (0.0, 0.95),
        ),
        (
            f"gentle erases end with the window: autoftl's lifetime, {young:.0%} worn over {old:.0%} worn",
            life("autoftl", young) / life("autoftl", old),
            (1.1, 5.0),
        ),
        (
            f"nor does it beside gentle erases: mean latency of ofwar + autoftl over {BY_WEAR}'s, {young:.0%} worn",
            mean("ofwar + autoftl", young) / mean(BY_WEAR, young),
            (0.9, 1.1),
        ),
        (
            f"on an old cell the two combined keep most of both: mean latency over {BY_WEAR}'s, {old:.0%} worn",
            mean("ofwar + autoftl", old) / mean(BY_WEAR, old),
            (0.0, 0.95),
        ),
        (
            f"and lifetime, {old:.0%} worn",
            life("ofwar + autoftl", old) / life(BY_WEAR, old),
            (0.8, 1.5),
        ),
        (
            "knowing the future helps: mean latency times wear of clairvoyant over margin's, mean of all wears",
            geometric_mean(
                mean("clairvoyant", wear) / life("clairvoyant", wear) * life("margin", wear) / mean("margin", wear)
                for wear in board.wears
            ),
            (0.0, 1.0),
        ),
    )
    for what, ours, (low, high) in checks:
        yield Entry(
            work="one budget",
            where="what it teaches",
            what=what,
            published="–",
            standing="",
            ours=ours,
            shown=f"{ours:.2f}",
            low=low,
            high=high,
        )


def every_run(board: Board) -> Table:
    """Returns the table of every run, one per row."""
    columns = (
        "load",
        "speed",
        "wear",
        "policy",
        "of",
        "99.99 % us",
        "99.99 % / baseline",
        "mean / baseline",
        "lifetime / baseline",
    )
    return Table(
        name="one-budget",
        title="Every policy on one drive, at the speed at which the baseline's dies write half the time",
        columns=(
            *columns,
            "extra writes",
            *(f"share of clairvoyant's {what} gain" for what in ("tail", "lifetime", "writes")),
            "J/GB",
            "J/GB / baseline",
        ),
        rows=[
            (
                one.on.load.title,
                one.on.speed,
                one.wear,
                one.contender.name,
                one.contender.work,
                one.run.tail_ns / 1000,
                one.tail,
                one.mean,
                one.life,
                one.extra,
                *(_share_of(board, one, gain) for gain in GAINS),
                one.run.joule_per_gb,
                one.energy,
            )
            for one in board.found
        ],
    )


def _share_of(board: Board, one: Found, gain: Gain) -> float | None:
    best = next(best for best in board.of("clairvoyant", one.wear) if best.on.load.name == one.on.load.name)
    return gain.alone(one) / gain.alone(best) if gain.alone(best) > _SOME else None


def _is_dashed(name: str) -> bool:
    """Returns true for a combination and for the reference `clairvoyant`."""
    return " + " in name or name == "clairvoyant"


def _pictures(board: Board) -> Iterator[Picture]:
    """Yields latency against lifetime at the first and the last stage of wear, and both by wear."""
    names = [contender.name for contender in CONTENDERS if contender.name in _DRAWN]
    percents = [100.0 * wear for wear in board.wears]
    for key, title, value in (
        ("tail", "99.99 % latency", lambda one: one.tail),
        ("mean", "mean latency", lambda one: one.mean),
        ("life", "lifetime", lambda one: one.life),
        ("energy", "energy for each byte of the host", lambda one: one.energy),
    ):
        chart = Chart(
            title=f"One budget: {title} over the baseline's, mean of the loads",
            x=Axis("wear [% of the rated cycles]"),
            y=Axis(f"{title} / baseline"),
            series=tuple(
                Series(name, percents, [board.over_loads(name, wear, value) for wear in board.wears], dashed=_is_dashed(name))
                for name in names
            ),
            marks=(Mark(1.0, "baseline"),),
        )
        yield Picture(name=f"one-budget-{key}", chart=chart)
    for wear in (board.wears[0], board.wears[-1]):
        chart = Chart(
            title=f"One budget, {wear:.0%} worn: what each policy buys",
            x=Axis("mean latency / baseline", log=True, better="lower"),
            y=Axis("lifetime / baseline", better="higher"),
            series=tuple(Series(name, [board.mean(name, wear)], [board.life(name, wear)]) for name in names),
            marks=(Mark(1.0, "baseline"), Mark(1.0, "", on="x")),
            labelled=True,
        )
        yield Picture(name=f"one-budget-{wear:.0%}".replace("%", ""), chart=chart)
