"""Regions in which the published gains come out, over what the paper leaves open or may be read otherwise.

A search has one load: prxy_0 for the enterprise drive, the one of the paper's traces of which most is at hand, and a
download for the mobile one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab_papers.autoftl import model
from ssdlab_papers.autoftl.loads import ENTERPRISE, MOBILE, Case, Cases
from ssdlab_papers.autoftl.runs import AGREEMENT, WORK
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.regions import Open, Region, between, choice, load_fields, region, speed_field, spread, with_region
from ssdlab_papers.setting import Setting

#: Trials of a search.
TRIALS = 60
#: Quantity as an expression: all erases of the baseline are nominal, so that its own ratio is 1.
_QUANTITY = "lifetime.max_pe_ratio - 1"
#: Distance up to which a value counts as the published one: the last digit of the claim.
_NEAR = 0.01
_LOADS = {ENTERPRISE.name: "prxy_0", MOBILE.name: "download"}


def _speed(case: Case) -> Open:
    """Returns the replay speed, a field of a look-alike and an option of a trace."""
    return choice(
        speed_field(case.load),
        "speed relative to the recording",
        [case.on.speed * factor for factor in (0.25, 0.5, 1.0, 4.0, 16.0)],
        (case.on.speed,),
        why="Section 5.2 states 100 for the enterprise traces, and no change for the mobile ones.",
    )


def _capacity(case: Case) -> Open:
    """Returns the size of the buffer, which the paper states."""
    sizes = {ENTERPRISE.name: (8, 32, 128, "MiB"), MOBILE.name: (40, 80, 320, "KiB")}
    *values, unit = sizes[case.on.name]
    return choice(
        "buffer.capacity",
        "buffer",
        [f"{value}{unit}" for value in values],
        (f"{values[1]}{unit}",),
        why="Section 5.1 states 80 KB and 32 MB.",
    )


#: Parameters that the paper leaves open; those that it states otherwise show where the value appears.
OPEN = (
    between(
        "ftl.overprovisioning",
        "over-provisioning",
        0.2,
        0.4,
        why="Nothing is said of it; each write mode has open blocks of its own.",
    ),
    choice(
        "ftl.gc_idle_after",
        "idle time before background collection",
        ("300ms", "100d"),
        ("300ms",),
        why="Section 5.3 states 300 ms.",
    ),
    spread(
        "ftl.gc_idle_target_blocks",
        "blocks kept free in idle time",
        (3, 5, 8, 16),
        why="Nothing is said of how much a background collection collects.",
    ),
    choice(
        "ftl.gc_preemptible",
        "host writes within a collection",
        (True, False),
        why="Section 4.6: requests cannot be programmed while pages are copied; nothing is said of other chips.",
    ),
    choice(
        "policy.autoftl.sampled_per",
        "sample of the past utilisation",
        ("request", "program"),
        ("request",),
        why="Section 4.4 states write requests.",
    ),
    choice(
        "policy.autoftl.erases_by",
        "what sets the erase voltage",
        ("utilisation", "with_copies"),
        why="Section 4.4 names the current utilisation, section 4.6 one with the copies.",
    ),
    choice(
        "precondition", "starting state", ("steady", "fill"), why="Nothing is said of the drive's state before the first trace."
    ),
)


def parameters(case: Case) -> list[Open]:
    """Returns what a search on a load may choose."""
    fixed = [] if case.load.is_trace else [_fixed("workload.replay", "gaps"), _fixed("workload.address", "wrap")]
    return [_speed(case), _capacity(case), *OPEN, *fixed]


def _fixed(field: str, value: str) -> Open:
    """Returns a field of a look-alike that every trial has, as an option of a trace is."""
    return choice(field, field, (value,), (value,), why="Section 5.1: as recorded.")


def find_region(setting: Setting, case: Case, published: float, trials: int = TRIALS) -> Region:
    """Returns where the gain on a load has its published value."""
    return region(
        setting,
        f"autoftl-{case.on.name}",
        title=f"gain in MAX P/E on {case.title}",
        quantity=_QUANTITY,
        published=published,
        tolerance=_NEAR,
        parameters=parameters(case),
        trials=trials,
        drive=case.on.preset,
        policy="autoftl",
        lifetime={"round_cycles": case.on.round_cycles / 2.0, "agreement": AGREEMENT},
        set=model.fields(),
        load=case.title,
        **load_fields(case.load, case.fields()),
    )


def with_region_of_case(setting: Setting, used: Cases, claim: Claim, trials: int = TRIALS) -> Iterator[Claim | Picture | Table]:
    """Yields a headline, in the full form with the region in which its value comes out, if it is not met as it is."""
    case = _case(used, claim)
    if not setting.searches(claim) or case is None or claim.is_met or claim.value is None or claim.unscored:
        yield claim
        return
    assert claim.work == WORK
    found = find_region(setting, case, claim.value, trials)
    part = "" if claim.load == case.title else "one load of the claim's mean"
    yield from with_region(claim, found, f"on {case.title} alone {claim.published}", part)


def _case(used: Cases, claim: Claim) -> Case | None:
    """Returns the load of a headline about one drive."""
    on = next((on for on in (ENTERPRISE, MOBILE) if f"{on.name} " in claim.what), None)
    if on is None or not claim.headline:
        return None
    leading = used.leading
    return next((case for case in leading if case.on is on and case.load.name == _LOADS[on.name]), None)
