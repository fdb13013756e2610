"""Effect of the collection's rules that the text fixes or leaves open on the four means."""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab.units import percent
from ssdlab_papers.claim import Claim, unclaimed
from ssdlab_papers.formats import change_text
from ssdlab_papers.ofwar.figures import MEANS
from ssdlab_papers.ofwar.loads import LENGTHS, loads
from ssdlab_papers.ofwar.runs import COLUMNS, WORK, Pair, on_bus, over_loads
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import titles

#: Requests of a run over those of a quick one, unless it is one.
_LONGER = 2
#: Readings of the rules: fields, place in the text, and why there is a choice. The first is the preset.
RULES: dict[str, tuple[dict[str, object], str, str]] = {
    "the preset's rules": ({}, "sections 3.2 and 4.2", "rate-limited greedy victims; 20 % of the spare blocks are kept free"),
    "plain greedy victims": (
        {"ftl.victim": {"kind": "greedy"}},
        "section 4.2",
        "the simulator that the paper extends passes worn blocks over at times, which matters only once wear is uneven",
    ),
    "no preference for fast victims": (
        {"policy.ofwar.fast_bias": 0.0},
        "section 3.2",
        "the text gives fast blocks a higher priority, and no number",
    ),
    "20 % of all blocks kept free": (
        {"ftl.gc_fraction_of": "all"},
        "section 4.2",
        "the text says of the total physical blocks: that leaves hardly any room for invalid data",
    ),
}


def entries(setting: Setting) -> Iterator[Claim]:
    """Yields the four means under each reading of the rules, policy and baseline under the same."""
    used = loads(setting).leading
    points = []
    for fields, _, _ in RULES.values():
        for load in used:
            requests = LENGTHS[load.name].quick * (1 if setting.quick else _LONGER)
            own = {name: value for name, value in fields.items() if not name.startswith("policy.")}
            points += [on_bus(load, requests, "ofwar", fields), on_bus(load, requests, "baseline", own)]
    runs = samples(setting, "rules of collection", points, columns=COLUMNS)
    pairs = [Pair(load, base, run) for load, run, base in zip([*used] * len(RULES), runs[::2], runs[1::2], strict=True)]
    for at, (name, (_, where, why)) in enumerate(RULES.items()):
        of = pairs[at * len(used) : (at + 1) * len(used)]
        found = {key: over_loads(quantity, of) for key, (_, quantity, *_) in MEANS.items()}
        shares = ", ".join(f"{key} {percent(found[key].mean)}" for key in ("rewritten", "extra"))
        yield unclaimed(
            found["extra"],
            f"{change_text(found['response'].mean)}, deviation {change_text(found['deviation'].mean)}, {shares}",
            work=WORK,
            where=where,
            what=f"mean response, its deviation, rewritten pages and extra writes, mean over the loads: {name}",
            published="-52.3 %, -39.9 %, 14.1 %, 6.1 %",
            load=titles(used),
            real_trace=all(load.is_trace for load in used),
            note=why,
        )
