"""Figures 13 to 20: the depth of the rewrite queue and the two thresholds, one at a time.

The values of the figures are lost, but for those of figure 15 that the text gives; the shapes that the text states are
scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ssdlab.charts import Axis, Chart
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.claim import NOTICEABLE, Claim, on_loads, untestable
from ssdlab_papers.claim import falls as is_fall
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import change_text, points_text
from ssdlab_papers.ofwar.figures import DIGIT
from ssdlab_papers.ofwar.loads import LENGTHS, QUEUE_FULL, STAND_IN, TOO_LIGHT, Loads, loads, stand_ins
from ssdlab_papers.ofwar.regions import with_region_of_load
from ssdlab_papers.ofwar.runs import (
    COLUMNS,
    SIGNIFICANT,
    WORK,
    Line,
    Pair,
    Quantity,
    change_along,
    extra,
    hit_rate,
    number_of,
    on_full,
    over_loads,
    point,
    response,
    short,
    statement_on,
    steps_up,
)
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import curve, samples
from ssdlab_papers.traces import KNOWN, Load, titles

_K = 1024


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the policy, under its name in the paper."""

    name: str
    field: str
    #: Value in section 5.
    standard: int
    #: Values swept here, and in the quick form.
    values: tuple[int, ...]
    few: tuple[int, ...]


DEPTH = Parameter("D_rw", "queue_depth", 64 * _K, (4 * _K, 8 * _K, 16 * _K, 32 * _K, 64 * _K), (4 * _K, 64 * _K))
WAITING = Parameter("N_th_w", "write_threshold", 128, (8, 32, 128, 512, 2048), (8, 32, 2048))
OWED = Parameter("N_th_rw", "rewrite_threshold", 128, (0, 128, 512, 2048), (0, 128, 2048))
_PARAMETERS = (DEPTH, WAITING, OWED)
#: Lowest N_th_w in figures 16 and 17.
_FROM = 32
#: Length that the queue of the paper's traces 1 to 6 never exceeds.
_LONGEST = 20 * _K
#: Published values of figure 15 with N_th_w = 8: change of the mean response, extra writes, half of the last digit of
#: each.
_LIGHT = {"financial1": (-0.163, DIGIT, 0.06, 0.005), "financial2": (-0.08, 0.005, 0.012, DIGIT)}
Lines = dict[tuple[str, bool, str], Line]


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the sweep of each parameter in turn, on the paper's drive at recorded speed."""
    used = loads(setting)
    lines = _measured(setting, used)
    yield from _depth(used, lines)
    yield from _light(setting, used, lines)
    yield from _waiting(used, lines)
    yield from _owed(used, lines)
    yield from _pictures(used, lines)


def _swept(used: Loads) -> list[Load]:
    """Returns the leading loads, and the look-alikes of the traces of figure 15."""
    leading = used.leading
    return [*leading, *(load for load in used.alike if load.name in TOO_LIGHT and load not in leading)]


def _measured(setting: Setting, used: Loads) -> Lines:
    """Runs every point once, and returns the lines, which have the values of section 5 in common."""
    swept = _swept(used)
    values = {parameter: parameter.few if setting.quick else parameter.values for parameter in _PARAMETERS}
    wanted = [
        (load, parameter, value)
        for load in swept
        for parameter in _PARAMETERS
        for value in _of(load, parameter, values[parameter])
    ]
    policies = [_point(setting, load, parameter, value) for load, parameter, value in wanted]
    bases = [point(load, LENGTHS[load.name].requests_of_sweep(setting), "baseline") for load, _, _ in wanted]
    runs = samples(setting, "thresholds and depth", [*policies, *bases], columns=COLUMNS)
    count = len(wanted)
    pairs = [Pair(load, runs[count + at], runs[at]) for at, (load, _, _) in enumerate(wanted)]
    lines: Lines = {}
    for load in swept:
        for parameter in _PARAMETERS:
            along = [at for at, each in enumerate(wanted) if each[0] is load and each[1] is parameter]
            line = Line(load, tuple(wanted[at][2] for at in along), tuple(pairs[at] for at in along))
            lines[load.name, load.is_trace, parameter.name] = line
    return lines


def _of(load: Load, parameter: Parameter, values: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the values for a load: on the traces of figure 15 the threshold of waiting writes alone is lowered."""
    return values if load.name not in TOO_LIGHT or parameter is not DEPTH else values[-1:]


def _point(setting: Setting, load: Load, changed: Parameter, value: int) -> dict[str, object]:
    """Returns the point of section 5 with one of the parameters changed."""
    fields: dict[str, object] = {
        f"policy.ofwar.{each.field}": value if each is changed else each.standard for each in _PARAMETERS
    }
    return point(load, LENGTHS[load.name].requests_of_sweep(setting), "ofwar", fields)


def _chosen(which: Sequence[Load], lines: Lines, parameter: Parameter) -> list[Line]:
    return [lines[load.name, load.is_trace, parameter.name] for load in which]


def _along(lines: Sequence[Line], quantity: Quantity, text: Callable[[float], str]) -> str:
    """Formats a quantity at each value of the parameter, load by load."""
    each = (
        f"{line.load.known.title} "
        + ", ".join(
            f"{short(value)}: {text(pair.estimate(quantity).mean)}" for value, pair in zip(line.values, line.pairs, strict=True)
        )
        for line in lines
    )
    return "; ".join(each)


def _shape(
    which: Sequence[Load], lines: Sequence[Line], quantity: Quantity, *, where: str, what: str, published: str, **further: Any
) -> Claim:
    """Returns a claim that a quantity rises, or falls, from one end of a parameter to the other, on every load.

    Loads on which no write is fast at any value show nothing and are left out; the note names them.
    """
    live = [line for line in lines if not line.is_idle]
    left = [line.load for line in lines if line.is_idle]
    idle = f"left out, as no write is fast: {titles(left)}" if left else ""
    note = "; ".join(filter(None, (further.pop("note", ""), idle)))
    if not live:
        return untestable(
            work=WORK, where=where, what=what, published=published, note=note or "no load of this kind is in the quick form"
        )
    falls = published.startswith("falls")
    found = change_along(quantity, live, max if falls else min)
    text = change_text if quantity is response else percent
    bounds = {"high": further.pop("high", -NOTICEABLE)} if falls else {"low": further.pop("low", NOTICEABLE)}
    return statement_on(
        found,
        f"{points_text(found.mean)} at the worst ({_along(live, quantity, text)})",
        where=where,
        what=f"{what}, end to end, worst of {len(live)} loads",
        published=published,
        load=titles([line.load for line in live]),
        real_trace=all(line.load.is_trace for line in live),
        note=note,
        **bounds,
        **further,
    )


def _depth(used: Loads, lines: Lines) -> Iterator[Claim]:
    """Yields figures 13 and 14."""
    heavy = [load for load in used.leading if load.name not in TOO_LIGHT]
    here = _chosen(heavy, lines, DEPTH)
    filling = [line for line in here if line.pairs[0].estimate(on_full).mean > 0.0]
    never = [line.load for line in here if line not in filling]
    note = f"left out, as their queues never reach {short(DEPTH.values[0])}: {titles(never)}" if never else ""
    for where, quantity, what, published in (
        ("figure 13, section 6.1", response, "mean response time as D_rw grows", "falls"),
        ("figure 14, section 6.1", extra, "extra writes as D_rw grows", "rises"),
    ):
        yield _shape(heavy, filling, quantity, where=where, what=what, published=published, note=note)
    chosen = stand_ins(used.leading)
    longest = max((_longest(line) for line in _chosen(chosen, lines, DEPTH)), default=0.0)
    yield untestable(
        work=WORK,
        where="section 6.1",
        what="depth beyond which traces 1 to 6 gain nothing",
        published="20 K: their queues are never longer",
        shown=f"queues of the loads in their place are at most {longest:,.0f} long",
        note="traces 1 to 6 are not public",
    )


def _longest(line: Line) -> float:
    return max(number_of(row, "policy_stats.rewrite_queue_longest") for row in line.pairs[-1].run.rows.values())


def _light(setting: Setting, used: Loads, lines: Lines) -> Iterator[Entry | Picture | Table]:
    """Yields figure 15: Financial1 and Financial2 with a lower threshold of waiting writes."""
    for name, (mean, mean_digit, writes, writes_digit) in _LIGHT.items():
        real, alike = (next((each for each in which if each.name == name), None) for which in (used.real, used.alike))
        lead = real or alike
        if lead is None:
            if not setting.quick:
                yield from _no_trace(name, mean, writes)
            continue
        for where, quantity, what, published, digit, text in (
            ("figure 15a, section 6.2", response, "mean response time", mean, mean_digit, change_text),
            ("figure 15b, section 6.2", extra, "extra writes", writes, writes_digit, percent),
        ):
            found = [None if each is None else _at_8(each, lines).estimate(quantity) for each in (real, alike)]
            claim = on_loads(
                found[0],
                found[1],
                published,
                digit,
                work=WORK,
                where=where,
                what=f"{what} with N_th_w = 8, {lead.known.title}",
                unit=text,
                load=lead.title,
                agrees=_agrees(published),
                headline=quantity is response,
                words=f"{text(published)} (up to)" if quantity is response else text(published),
                note=lead.note.replace("other workload: ", "") or _along(_chosen([lead], lines, WAITING), response, change_text),
            )
            if quantity is response:
                yield from with_region_of_load(setting, claim, lead, name, "response", {"policy.ofwar.write_threshold": 8})
            else:
                yield claim


def _no_trace(name: str, mean: float, writes: float) -> Iterator[Claim]:
    """Yields the claims of figure 15 about a trace that is not at hand, and has no look-alike."""
    for figure, what, published in (("15a", "mean response time", change_text(mean)), ("15b", "extra writes", percent(writes))):
        claim = untestable(
            work=WORK,
            where=f"figure {figure}, section 6.2",
            what=f"{what} with N_th_w = 8, {KNOWN[name].title}",
            published=published,
            note="no file of this trace is at hand, and no look-alike",
        )
        yield replace(claim, headline=figure == "15a")


def _agrees(published: float) -> Callable[[float], bool]:
    """Returns whether a value points the way of a gain, which is below zero, or of a cost, which is at most this."""
    return is_fall if published < 0.0 else lambda value: value <= published


def _at_8(load: Load, lines: Lines) -> Pair:
    return lines[load.name, load.is_trace, WAITING.name].at(8)


def _waiting(used: Loads, lines: Lines) -> Iterator[Claim]:
    """Yields figures 16 and 17."""
    every = [line.starting(_FROM) for line in _chosen(used.leading, lines, WAITING)]
    for line in every:
        if line.load.name in QUEUE_FULL:
            full = line.pairs[0].estimate(on_full).mean
            yield _shape(
                [line.load],
                [line],
                response,
                where="figure 16, section 6.2",
                what=f"mean response time as N_th_w grows, {line.load.title}",
                published="falls: the queue is already full",
                note=f"{percent(full)} of the writes find the queue full at N_th_w = {_FROM}",
            )
    others = [line for line in every if line.load in stand_ins(used.leading)]
    common = {"where": "figure 16, section 6.2", "what": "mean response time as N_th_w grows, loads in place of traces 1 to 6"}
    yield _shape([line.load for line in others], others, response, published="rises", note=STAND_IN, **common)
    yield _shape(
        used.leading, every, extra, where="figure 17, section 6.2", what="extra writes as N_th_w grows", published="falls"
    )
    live = [line for line in every if not line.is_idle]
    step = steps_up(extra, live)
    yield statement_on(
        step,
        points_text(step.mean),
        where="figure 17, section 6.2",
        what="extra writes as N_th_w grows: largest rise from one value to the next on any load",
        published="continuously drops",
        high=NOTICEABLE,
        load=titles([line.load for line in live]),
        real_trace=all(line.load.is_trace for line in live),
        note="a rise of less than a point cannot be seen in the figure",
    )


def _owed(used: Loads, lines: Lines) -> Iterator[Claim]:
    """Yields figures 18 to 20."""
    every = _chosen(used.leading, lines, OWED)
    live = [line for line in every if not line.is_idle]
    yield from _hits(live)
    others = [line for line in live if line.load in stand_ins(used.leading)]
    for line in live:
        if line.load.name in QUEUE_FULL:
            yield _shape(
                [line.load],
                [line],
                response,
                where="figure 19, section 6.3",
                what=f"mean response time as N_th_rw grows, {line.load.title}",
                published="rises: drops as the threshold decreases",
                note=f"{percent(line.at(128).estimate(on_full).mean)} of the writes find the queue full at N_th_rw = 128",
            )
    if others:
        found = over_loads(_ratio, [pair for line in others for pair in _ends(line)], max)
        yield statement_on(
            found,
            f"{found.mean:.4f} at the worst ({_along(others, response, change_text)})",
            where="figure 19, section 6.3",
            what="mean response time with N_th_rw of 2 K over that with 0, farthest from 1 on loads in place of traces 1 to 6",
            published="no noticeable change",
            low=1.0 - NOTICEABLE,
            high=1.0 + NOTICEABLE,
            load=titles([line.load for line in others]),
            real_trace=all(line.load.is_trace for line in others),
            note=f"{STAND_IN}; most rewrites occur in idle time",
        )
    yield _shape(
        used.leading, every, extra, where="figure 20, section 6.3", what="extra writes as N_th_rw grows", published="falls"
    )


def _ratio(row: Any, base: Any) -> float:
    """Returns the ratio of two runs of the policy, or its inverse: how far one is from the other."""
    ratio = response(row, base) + 1.0
    return max(ratio, 1.0 / ratio)


def _ends(line: Line) -> list[Pair]:
    """Returns the run at the last value beside that at the first."""
    return [Pair(line.load, line.pairs[0].run, line.pairs[-1].run)]


def _hits(live: Sequence[Line]) -> Iterator[Claim]:
    """Yields figure 18."""
    if not live:
        return
    io = next((line for line in live if line.load.name == "iozone"), None)
    rest = [line for line in live if line is not io]
    note = "hit rate: host page writes that find their page's current copy fast, of all; the paper does not define it (assumed)"
    if io is not None and rest:
        pairs = [line.at(0) for line in (io, *rest)]
        lead = over_loads(hit_rate, pairs, lambda values: values[0] - max(values[1:]))
        yield statement_on(
            lead,
            f"{points_text(lead.mean)} ({_along([io, *rest], hit_rate, percent)})",
            where="figure 18a, section 6.3",
            what="hit rate of IOzone with N_th_rw = 0 less the highest of the others",
            published="only IOzone has a high hit rate",
            low=NOTICEABLE,
            load=titles([line.load for line in live]),
            real_trace=all(line.load.is_trace for line in live),
            note=note,
        )
    if not rest:
        return
    found = over_loads(hit_rate, [pair for line in rest for pair in (line.at(0), line.at(2048))], _least_gain)
    yield statement_on(
        found,
        f"{change_text(found.mean)} of the hits at the worst ({_along(rest, hit_rate, percent)})",
        where="figure 18b, section 6.3",
        what="hit rate with N_th_rw of 2 K over that with 0, loads but IOzone: least gain, as a share of the hits",
        published="significantly improves (text: 2 K; caption: 128)",
        low=SIGNIFICANT,
        load=titles([line.load for line in rest]),
        real_trace=all(line.load.is_trace for line in rest),
        note=f"{note}; significant: no less than the smallest change that the paper calls noticeable, 8 %",
    )


def _least_gain(values: list[float]) -> float:
    """Returns the least gain of the second of each two values over the first, as a share of it."""
    return min(after / before - 1.0 if before else 0.0 for before, after in zip(values[::2], values[1::2], strict=True))


def _pictures(used: Loads, lines: Lines) -> Iterator[Picture]:
    """Yields one picture per figure, with one curve per load."""
    for figure, parameter, quantity, name in (
        (13, DEPTH, response, "mean response time"),
        (14, DEPTH, extra, "extra writes"),
        (16, WAITING, response, "mean response time"),
        (17, WAITING, extra, "extra writes"),
        (18, OWED, hit_rate, "hit rate"),
        (19, OWED, response, "mean response time"),
        (20, OWED, extra, "extra writes"),
    ):
        which = [load for load in used.leading if parameter is not DEPTH or load.name not in TOO_LIGHT]
        several = _chosen(which, lines, parameter)
        places = [float(place) for place in range(len(several[0].values))]
        labels = [short(value) for value in several[0].values]
        over = " over the baseline's" if quantity is response else ""
        series = tuple(curve(line.load.name, places, [_over(pair, quantity) for pair in line.pairs]) for line in several)
        chart = Chart(
            title=f"Figure {figure}: {name}{over}, by {parameter.name}",
            x=Axis(parameter.name, ticks=tuple(zip(places, labels, strict=True))),
            y=Axis(name),
            series=series,
        )
        yield Picture(name=f"ofwar-figure-{figure}", chart=chart)


def _over(pair: Pair, quantity: Quantity) -> Estimate:
    """Returns a quantity as the figure shows it: response times over the baseline's."""
    return pair.estimate((lambda row, base: response(row, base) + 1.0) if quantity is response else quantity)
