"""Figures 9 to 11 on the paper's drive: response times, rewritten pages, extra writes; beside the controls.

The paper divides rewritten and extra pages by the pages that the trace requests, read or written; the table has the
shares of written pages, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, on_loads, sanity, unclaimed
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.formats import as_sample_text, change_text, points_text
from ssdlab_papers.ofwar.loads import LENGTHS, STAND_IN, TOO_LIGHT, Loads, loads, of_paper, stand_ins
from ssdlab_papers.ofwar.regions import with_region_of_load
from ssdlab_papers.ofwar.runs import (
    COLUMNS,
    SIGNIFICANT,
    WORK,
    Pair,
    Quantity,
    deviation,
    extra,
    extra_of_written,
    fast,
    on_full,
    over_loads,
    point,
    response,
    rewritten,
    rewritten_of_written,
    statement_on,
)
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import Load, titles

#: The policy; the control, which writes at one speed into the same frontiers; the bound, which writes everything fast
#: and rewrites nothing.
POLICIES = ("ofwar", "separate", "all_fast")
#: Half of the last digit that the text gives.
DIGIT = 0.0005
#: The paper's means over its ten traces: figure, quantity, title, value, format, and whether a value agrees with the
#: claim that it makes: times fall, and costs are at most these.
MEANS: dict[str, tuple[str, Quantity, str, float, Callable[[float], str], Callable[[float], bool]]] = {
    "response": ("figure 10a, abstract", response, "mean response time", -0.523, change_text, falls),
    "deviation": (
        "figure 9",
        deviation,
        "standard deviation of the response time",
        -0.399,
        change_text,
        falls,
    ),
    "rewritten": ("figure 10b", rewritten, "rewritten pages", 0.141, percent, lambda value: value <= 0.141),
    "extra": ("figure 11", extra, "extra writes", 0.061, percent, lambda value: value <= 0.061),
}
#: Runs of a leading load: policy and further fields, by name.
_WAYS: dict[str, tuple[str, dict[str, object]]] = {
    **{policy: (policy, {}) for policy in POLICIES},
}
_STEADY: dict[str, object] = {"precondition": "steady"}
#: Runs of a leading load from the steady state, where blocks are collected: further fields, by name.
_COLLECTING: dict[str, dict[str, object]] = {"steady": {}, "greedy": {"policy.ofwar.fast_bias": 0.0}}

Found = dict[tuple[str, bool, str], Pair]


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the means, every trace beside the statements of the text, and the sources of the extra writes."""
    used = loads(setting)
    found = _measured(setting, used)
    largest = next((load for load in used.leading if load.name == "iozone"), None)
    scored = claims(used, found)
    for name in MEANS:
        yield from with_region_of_load(setting, next(scored), largest, name, name)
    yield from scored
    yield _order(used, found)
    yield _picture(used, found)
    yield _table(used, found)


def key(load: Load, way: str) -> tuple[str, bool, str]:
    """Returns the place of the runs of a load."""
    return load.name, load.is_trace, way


def _measured(setting: Setting, used: Loads) -> Found:
    """Runs every leading load under all policies and from the steady state, other look-alikes under OFWAR alone."""
    leading = used.leading
    wanted: list[tuple[Load, str, dict[str, object], dict[str, object]]] = []
    for load in (*leading, *(load for load in used.alike if load not in leading)):
        every = _WAYS if load in leading else {"ofwar": _WAYS["ofwar"]}
        requests = LENGTHS[load.name].requests(setting)
        base = point(load, requests, "baseline")
        wanted += [(load, way, point(load, requests, policy, more), base) for way, (policy, more) in every.items()]
        if load in leading:
            base = point(load, requests, "baseline", _STEADY)
            wanted += [
                (load, way, point(load, requests, "ofwar", {**_STEADY, **more}), base) for way, more in _COLLECTING.items()
            ]
    runs = samples(setting, "figures 9 to 11", [run for *_, run, base in wanted for run in (run, base)], columns=COLUMNS)
    pairs = [Pair(each[0], base, run) for each, run, base in zip(wanted, runs[::2], runs[1::2], strict=True)]
    return {key(pair.load, each[1]): pair for pair, each in zip(pairs, wanted, strict=True)}


def _of(which: Sequence[Load], found: Found, way: str = "ofwar") -> list[Pair]:
    return [found[key(load, way)] for load in which]


def claims(used: Loads, found: Found) -> Iterator[Claim]:
    """Yields the claims of figures 9 to 11: the four means, the largest reduction, each trace, the extra writes."""
    yield from means(used, found)
    yield _up_to(used, found)
    for load in of_paper(used.leading):
        yield _of_trace(load, found)
    if stand_ins(used.leading):
        yield _others(used, found)
    yield from _extra_writes(used, found)


def means(used: Loads, found: Found) -> Iterator[Claim]:
    """Yields the four means of section 5."""
    lead = used.real or used.alike
    for name, (where, quantity, what, published, unit, agrees) in MEANS.items():
        yield on_loads(
            over_loads(quantity, _of(used.real, found)) if used.real else None,
            over_loads(quantity, _of(used.alike, found)),
            published,
            DIGIT,
            work=WORK,
            where=where,
            what=f"{what}, mean over the loads at the stated setting",
            unit=unit,
            load=titles(lead),
            agrees=agrees,
            headline=True,
            words=unit(published) + (" (average in section 5, up to in the abstract)" if name == "response" else ""),
            note="; ".join(filter(None, (_as_sample(quantity, lead, found, unit), _why(name, lead, found)))),
        )


def _as_sample(quantity: Quantity, used: Sequence[Load], found: Found, unit: Callable[[float], str]) -> str:
    """Returns the interval of a mean over the loads."""
    return as_sample_text([over_loads(quantity, [pair]).mean for pair in _of(used, found)], unit)


def _why(name: str, used: Sequence[Load], found: Found) -> str:
    """Returns the reason why a mean over these loads is what it is."""
    ofwar = _of(used, found)
    if name in ("response", "deviation"):
        idle = [pair.load.known.title for pair in ofwar if pair.estimate(fast).mean < 0.01]
        bound = over_loads(MEANS[name][1], _of(used, found, "all_fast")).mean
        light = f", and on {' and '.join(idle)} less than 1 % of the writes are" if idle else ""
        why = f"all writes fast without any rewrite give {change_text(bound)} at recorded speed on {len(used)} loads{light}"
        return why + (
            "; in the paper, with Financial1 and Financial2 near 0, the other eight average -65 %" if name == "response" else ""
        )
    if name == "rewritten":
        written = over_loads(fast, ofwar).mean
        of_written = percent(over_loads(rewritten_of_written, ofwar).mean)
        return f"{percent(written)} of the written pages are written fast, and {of_written} of them all are rewritten"
    steady = percent(over_loads(extra, _of(used, found, "steady")).mean)
    of_written = percent(over_loads(extra_of_written, ofwar).mean)
    return (
        "on a drive filled in order nothing is collected in a run, and each rewritten page is an extra write "
        f"({of_written} of the written pages); from the steady state it is {steady}"
    )


def _up_to(used: Loads, found: Found) -> Claim:
    """Yields the abstract's reading of -52.3 %: the largest reduction."""
    return on_loads(
        over_loads(response, _of(used.real, found), min) if used.real else None,
        over_loads(response, _of(used.alike, found), min),
        -0.523,
        DIGIT,
        work=WORK,
        where="abstract, section 1",
        what="mean response time, largest reduction on any load at the stated setting",
        unit=change_text,
        load=titles(used.real or used.alike),
        agrees=falls,
        headline=True,
        words="-52.3 % (up to)",
        note="section 5 gives the same number as the average; the largest of ten cannot equal their average unless all do",
    )


def _beside(load: Load, found: Found, quantity: Quantity = response) -> str:
    """Formats OFWAR's change beside the control's and the bound's."""
    ofwar, separate, bound = (change_text(found[key(load, policy)].estimate(quantity).mean) for policy in POLICIES)
    return f"{ofwar} (separate {separate}, all fast {bound})"


def _of_trace(load: Load, found: Found) -> Claim:
    """Returns section 5's statement about a trace of the paper."""
    pair = found[key(load, "ofwar")]
    light = load.name in TOO_LIGHT
    full = pair.estimate(on_full).mean
    note = load.note
    if not light:
        bound = found[key(load, "all_fast")].estimate(response).mean
        note = (
            f"{percent(pair.estimate(fast).mean)} of the writes are fast and {percent(full)} find the rewrite queue full; "
            f"the bound, with all of them fast, gives {change_text(bound)}: "
            + ("the depth of the queue is a limit" if full > 0.1 else "few requests wait")
        )
    gain = pair.estimate(response)
    claim = statement_on(
        gain,
        _beside(load, found),
        where="section 5, figure 10a",
        what=f"mean response time, {load.title}",
        published="fails to noticeably reduce" if light else "significant reduction",
        low=-SIGNIFICANT if light else float("-inf"),
        high=float("inf") if light else -SIGNIFICANT,
        load=load.title,
        real_trace=load.is_trace,
        note=note,
    )
    return claim if pair.estimate(fast).mean else sanity(claim, "no write is fast")


def _others(used: Loads, found: Found) -> Claim:
    """Returns section 5's statement about traces 1 to 6, on the loads in their place."""
    chosen = stand_ins(used.leading)
    each = "; ".join(f"{load.known.title} {_beside(load, found)}" for load in chosen)
    worst = over_loads(response, _of(chosen, found), max)
    return statement_on(
        worst,
        f"least on any: {each}",
        where="section 5, figure 10a",
        what="mean response time, loads in place of traces 1 to 6",
        published="significant reduction on all but Financial1 and Financial2",
        high=-SIGNIFICANT,
        load=titles(chosen),
        real_trace=all(load.is_trace for load in chosen),
        note=STAND_IN,
    )


def _extra_writes(used: Loads, found: Found) -> Iterator[Claim]:
    """Yields what the text says of extra writes: not every rewrite is one, and preferring fast blocks saves some."""
    lead = used.real or used.alike
    common = {"load": titles(lead), "real_trace": bool(used.real)}
    for way, state, why in (
        ("steady", "steady state", "fast blocks hold little once they are rewritten, and collections move less than before"),
        ("ofwar", "drive filled once", "nothing is collected, so that each rewritten page is an extra write"),
    ):
        pairs = _of(lead, found, way)
        less = over_loads(lambda row, base: extra(row, base) - rewritten(row, base), pairs)
        both = ", ".join(percent(over_loads(quantity, pairs).mean) for quantity in (extra, rewritten))
        yield statement_on(
            less,
            f"{points_text(less.mean)} (extra, rewritten: {both})",
            where="figures 10b, 11, section 5",
            what=f"extra writes less rewritten pages, mean over the loads, {state}",
            published="not every rewrite is an extra write (6.1 % less 14.1 %)",
            high=-NOTICEABLE,
            note=why,
            **common,
        )
    plain, preferring = (over_loads(extra, _of(lead, found, way)).mean for way in ("greedy", "steady"))
    saved = over_loads(
        extra,
        [Pair(load, found[key(load, "steady")].run, found[key(load, "greedy")].run) for load in lead],
    )
    yield statement_on(
        saved,
        f"{points_text(saved.mean)} ({percent(plain)} without, {percent(preferring)} with the preference)",
        where="section 3.2",
        what="extra writes of a collection that does not prefer fast blocks, less those of one that does",
        published="more: the preference reduces the loss of endurance",
        low=NOTICEABLE,
        note="what is preferred for being fast is collected before its data dies",
        **common,
    )


def _order(used: Loads, found: Found) -> Claim:
    """Returns the change under the control and the bound, which no work gives."""
    lead = used.real or used.alike
    each = {policy: over_loads(response, _of(lead, found, policy)) for policy in POLICIES}
    return unclaimed(
        each["separate"],
        f"separate {change_text(each['separate'].mean)}, OFWAR {change_text(each['ofwar'].mean)}, "
        f"all fast {change_text(each['all_fast'].mean)}",
        work=WORK,
        where="section 5",
        what="mean response time of the control, OFWAR and the bound, mean over the loads",
        load=titles(lead),
        note="the control writes at one speed into OFWAR's frontiers; the bound writes all fast and rewrites nothing",
    )


def _picture(used: Loads, found: Found) -> Picture:
    """Returns the mean response of each policy, load by load."""
    names = [load.known.name for load in used.leading]
    estimates = {policy: [pair.estimate(response) for pair in _of(used.leading, found, policy)] for policy in POLICIES}
    chart = Chart(
        title="Figure 10a: mean response time over the baseline's, paper's drive, recorded speed",
        x=Axis(""),
        y=Axis("mean response / baseline", span=(0.0, 1.1), better="lower"),
        series=tuple(Series(policy, names, [1.0 + each.mean for each in several]) for policy, several in estimates.items()),
        marks=(Mark(0.477, "the paper's mean of ten traces: -52.3 %"),),
        cases=True,
    )
    return Picture(name="ofwar-figure-10a", chart=chart)


def _table(used: Loads, found: Found) -> Table:
    """Returns the numbers of every load."""
    quantities = [entry[1] for entry in MEANS.values()]
    rows: list[list[object]] = []
    for load in (*used.leading, *(load for load in used.alike if load not in used.leading)):
        for way in (*_WAYS, *_COLLECTING):
            pair = found.get(key(load, way))
            if pair is None:
                continue
            further = (rewritten_of_written, extra_of_written, fast, on_full)
            cells = [pair.estimate(quantity) for quantity in (*quantities, *further)]
            low, high = cells[0].low, cells[0].high
            rows.append([load.title, way, cells[0].count, *(cell.mean for cell in cells), low, high])
    columns = ("load", "policy", "seeds", *MEANS, "rewritten of written", "extra of written", "fast writes")
    columns += ("writes on a full queue", "response low", "response high")
    return Table(name="ofwar-figures-9-to-11", title="Figures 9 to 11, load by load", columns=columns, rows=rows)
