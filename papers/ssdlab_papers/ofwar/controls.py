"""Controls: the claims of figures 9 to 11 scored with another policy in OFWAR's place.

One does nothing, one is wrong on purpose, one is OFWAR turned round: fast while few writes wait. What they reproduce
does not depend on the paper's idea.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ssdlab_papers.claim import Claim, of_control
from ssdlab_papers.ofwar.figures import Found, claims, key
from ssdlab_papers.ofwar.loads import LENGTHS, Loads, loads
from ssdlab_papers.ofwar.runs import COLUMNS, WORK, Pair, point
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import titles

_FILE = Path(__file__).with_name("wrong.py")
#: Policies in OFWAR's place, by what they are.
CONTROLS = {
    "nothing": ("a policy that does nothing", "baseline"),
    "wrong": ("a policy that rewrites for nothing", f"{_FILE}:RewriteForNothing"),
    "turned": ("a policy that writes fast while few writes wait, and not in a burst,", f"{_FILE}:FastWhenIdle"),
}
#: Runs of a load that :func:`ssdlab_papers.ofwar.figures.claims` needs, with the starting state of each.
_STATES = {"ofwar": "fill", "steady": "steady", "greedy": "steady"}


def entries(setting: Setting) -> Iterator[Claim]:
    """Yields for each control how many of the claims it reproduces."""
    used = loads(setting)
    for name, (what, policy) in CONTROLS.items():
        yield scored(what, used, _measured(setting, used, name, policy))


def scored(what: str, used: Loads, found: Found) -> Claim:
    """Returns how many claims the runs `found` reproduce."""
    return of_control(
        claims(used, found),
        work=WORK,
        where="section 5",
        what=f"claims of figures 9 to 11 that {what} reproduces",
        load=titles(used.leading),
        real_trace=all(load.is_trace for load in used.leading),
    )


def _measured(setting: Setting, used: Loads, name: str, policy: str) -> Found:
    """Runs every leading load under a control, from each state, and look-alikes beside traces from the first of them.

    The runs with the bound serve for the notes.
    """
    wanted = [(load, state) for load in used.leading for state in dict.fromkeys(_STATES.values())]
    wanted += [(load, "fill") for load in used.alike if load not in used.leading]
    policies: Sequence[str] = ("baseline", policy, "all_fast")
    points = [point(load, LENGTHS[load.name].quick, of, {"precondition": state}) for load, state in wanted for of in policies]
    runs = iter(samples(setting, f"control: {name}", points, columns=COLUMNS, seeds=1))
    found: Found = {}
    for load, state in wanted:
        base, run, bound = next(runs), next(runs), next(runs)
        found |= {key(load, way): Pair(load, base, run) for way, start in _STATES.items() if start == state}
        if state == "fill":
            found |= {key(load, "separate"): Pair(load, base, run), key(load, "all_fast"): Pair(load, base, bound)}
    return found
