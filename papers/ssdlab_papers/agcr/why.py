"""Supporting runs that explain differences from the paper: load of the drive, known page history, readings of the text.

No work claims these values; they stand beside what is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark
from ssdlab_papers.agcr.figures import KINDS, is_usual, less_one
from ssdlab_papers.agcr.loads import length
from ssdlab_papers.agcr.runs import RIVALS, Case, Cases, Quantity, mean_of, run_cases
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture
from ssdlab_papers.formats import change_text
from ssdlab_papers.real_first import shown_claim
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import curve

#: Speeds relative to the recording.
_SPEEDS, _QUICK_SPEEDS = (1.0, 10.0, 100.0, 300.0, 1000.0), (1.0, 100.0)
#: Published value beside each kind of request.
_PUBLISHED = {"all": "-15 %", "read": "up to -48.3 %", "write": "up to -20.4 %"}
_FILLED: Mapping[str, object] = {"ftl.partial_write": "read_modify_write"}
#: AGCR and both forms of its rival.
_WAYS: Mapping[str, tuple[str, Mapping[str, object]]] = {policy: (policy, {}) for policy in ("AGCR", *RIVALS)}


def entries(setting: Setting, cases: Cases) -> Iterator[Claim | Picture]:
    """Yields the results of the supporting runs, on those of the paper's volumes that do not overload the drive."""
    usual = cases.where(is_usual)
    yield from _speeds(setting, usual)
    yield from _again(setting, usual)
    yield from _readings(setting, usual)


def _speeds(setting: Setting, usual: Cases) -> Iterator[Claim | Picture]:
    """Yields AGCR over its rival, from an idle drive to a busy one."""
    speeds = _QUICK_SPEEDS if setting.quick else _SPEEDS
    found = {speed: run_cases(setting, f"speed-{speed:g}", _WAYS, usual.loads, speed) for speed in speeds}
    series = []
    for rival in RIVALS:
        for kind in ("all", "read", "write"):
            each = [found[speed].find(less_one("AGCR", rival, kind)) for speed in speeds]
            yield shown_claim(
                each[-1],
                change_text,
                shown=", ".join(change_text(one.leading.mean) for one in each),
                where="figures 7 and 8",
                what=f"{KINDS[kind]} of AGCR over the {rival}, mean over the volumes, at "
                f"{', '.join(f'{speed:g}' for speed in speeds)} times the recorded speed",
                published=_PUBLISHED[kind],
                note="how often the rival finds something waiting decides what it pays. The text does not say how busy its drive "
                "is",
            )
            leading = [one.leading for one in each]
            series.append(curve(f"{kind}, {rival}", speeds, leading, scale=100.0, dashed=rival != RIVALS[0]))
    chart = Chart(
        title="AGCR over its rival by speed, mean over the volumes",
        x=Axis("times the recorded speed", log=True),
        y=Axis("change of the mean response [%]", better="lower"),
        series=tuple(series),
        marks=(Mark(-15.0, "the paper: -15 % overall"),),
    )
    yield Picture(name="agcr-speeds", chart=chart)


def second_us(once: Case, twice: Case, policy: str, kind: str, seed: int) -> float | None:
    """Returns the mean response of the second pass [us]: what two passes have more than one.

    It is ``None`` without requests of the kind.
    """
    first, both = once.run(policy, seed), twice.run(policy, seed)
    more = both.count(kind) - first.count(kind)
    if more <= 0:
        return None
    return (both.count(kind) * both.mean_us(kind) - first.count(kind) * first.mean_us(kind)) / more


def _again(setting: Setting, usual: Cases) -> Iterator[Claim]:
    """Yields the results of a second pass over the same requests, in which every page has a history."""
    once = usual.where(lambda case: length(setting, case.load) == case.load.requests)
    if not once.leading:
        return
    twice = run_cases(setting, "twice", _WAYS, once.loads, passes=2)
    first = {id(case.load): case for case in (*once.real, *once.alike)}

    def again(rival: str, kind: str) -> Quantity:
        def ratio(case: Case, seed: int) -> float | None:
            pair = [second_us(first[id(case.load)], case, policy, kind, seed) for policy in ("AGCR", rival)]
            return pair[0] / pair[1] if pair[0] and pair[1] else None

        return mean_of(ratio, 1.0)

    for rival in RIVALS:
        for kind in ("all", "read", "write"):
            before = once.find(less_one("AGCR", rival, kind)).leading.mean
            yield shown_claim(
                twice.find(again(rival, kind)),
                change_text,
                shown=f"{change_text(twice.find(again(rival, kind)).leading.mean)} (first pass {change_text(before)})",
                where="figures 7 and 8",
                what=f"{KINDS[kind]} of AGCR over the {rival}, second pass of the same requests, mean over the volumes",
                published=_PUBLISHED[kind],
                note="in the first pass a page's first write is at high cost; a whole week has few of them. A look-alike has "
                "twice as many requests",
            )


def _readings(setting: Setting, usual: Cases) -> Iterator[Claim]:
    """Yields the effect of what the text leaves open: windows, rewrites of medium cost, writes of parts of pages."""
    ways: dict[str, tuple[str, Mapping[str, object]]] = {
        "AGCR": ("AGCR", {}),
        "rival": ("rival", {}),
        "window 3": ("AGCR", {"policy.agcr.window": 3}),
        "window 4": ("AGCR", {"policy.agcr.window": 4}),
        "medium rewritten": ("AGCR", {"policy.agcr.rewrite_medium": True}),
        "medium kept": ("AGCR", {"policy.agcr.rewrite_medium": False}),
        "AGCR, filled": ("AGCR", _FILLED),
        "rival, filled": ("rival", _FILLED),
    }
    found = run_cases(setting, "readings", ways, usual.loads)
    for window in (3, 4):
        yield shown_claim(
            found.find(less_one(f"window {window}", "AGCR")),
            change_text,
            where="section 4.1",
            what=f"overall response with a window of {window} accesses over that with 2, mean over the volumes",
            published="2 is chosen to trade storage for accuracy",
            note="more history tells classes better (figure 6) and changes little: a first write is at high cost with any window",
        )
    for way, text in (
        ("medium rewritten", "with rewrites of what was written at medium cost (section 3.3: not written at high cost before)"),
        ("medium kept", "with rewrites only of what has the low-cost write tag (section 3.4)"),
    ):
        yield shown_claim(
            found.find(less_one(way, "rival")),
            change_text,
            where="sections 3.3 and 3.4",
            what=f"overall response of AGCR over the rival, mean over the volumes, {text}",
            published="-15 %",
            note=f"rewrites of all accesses, mean over the volumes: {_rewrites(found, way)}",
        )
    yield shown_claim(
        found.find(less_one("AGCR, filled", "rival, filled")),
        change_text,
        where="figure 7",
        what="overall response of AGCR over the rival if a write of a part of a page reads the rest, mean over the volumes",
        published="-15 %",
        note="a drive that holds data must read the rest, at the cost for which that was written: after low-cost writes at high "
        "cost. The paper's simulator reads only what the trace wrote (partial_write = whole)",
    )


def _rewrites(found: Cases, way: str) -> str:
    return f"{100 * found.find(lambda cases, seed: fmean(case.run(way, seed).rewritten for case in cases)).leading.mean:.2f} %"
