"""Settings at which published values come out that do not at the stated one, over what the work leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.regions import Open, Region, choice, claim_with_region, load_fields, region, speed_field, spread, with_region
from ssdlab_papers.retention.codes import LESS, NEED, ratio_of, run_compressed, throughputs_of
from ssdlab_papers.retention.loads import DIES
from ssdlab_papers.retention.runs import CODES, SPEED, Case, Cases
from ssdlab_papers.retention.speed import ALL, DIGIT, HADOOP, MOSTLY, QUEUEING, waits
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load, titles

#: Trials of a search, and requests of each run.
TRIALS, REQUESTS = 60, 20_000
#: Blocks of each plane of the smallest drive, in the dies of all drives together.
_BLOCKS = 16 * 4096
#: Quantities as expressions over the numbers of the runs and those of the baseline.
_SERVICE = ("program", "transfer", "bus_command")


def _waiting(prefix: str) -> str:
    return f"({prefix}latency.write.mean_ns - {' - '.join(f'{prefix}causes.write.{cause}' for cause in _SERVICE)})"


_SPEED_UP = "reference.latency.write.mean_ns / latency.write.mean_ns"
_QUEUEING = f"{_waiting('reference.')} / max({_waiting('')}, 1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A claim for whose value there is a search."""

    #: Name of the search, and beginning of the claim's text.
    name: str
    what: str
    #: Load of the search, the quantity with its expression, and the range of its published value.
    load: str
    #: Load that is searched instead if writes of the first mostly do not wait, where only queueing can bring the value
    #: out; empty: none.
    instead: str = ""
    title: str
    quantity: str
    low: float
    high: float


#: Load of the collections whose gain moves most with the number of dies and the speed: its queues grow with both.
_MOVES = "tpc_c"
#: The claims. The greatest speed-up of the work is that of a Hadoop trace, whose queues are long; ours hardly waits.
TARGETS = (
    Target(
        name="least",
        what="write response speed-up, least",
        load="prxy_0",
        title="write response speed-up",
        quantity=_SPEED_UP,
        low=ALL[0] - DIGIT,
        high=ALL[0] + DIGIT,
    ),
    Target(
        name="greatest",
        what="write response speed-up, greatest",
        load=_MOVES,
        title="write response speed-up",
        quantity=_SPEED_UP,
        low=ALL[1] - DIGIT,
        high=ALL[1] + DIGIT,
    ),
    Target(
        name="hadoop",
        what="write response speed-up, Hadoop",
        load="hadoop",
        instead=_MOVES,
        title="write response speed-up",
        quantity=_SPEED_UP,
        low=HADOOP[0] - DIGIT,
        high=HADOOP[1] + DIGIT,
    ),
    Target(
        name="queueing",
        what="queueing time of writes",
        load="hadoop",
        instead=_MOVES,
        title="reduction of the queueing time",
        quantity=_QUEUEING,
        low=QUEUEING[0] - DIGIT,
        high=QUEUEING[1] + DIGIT,
    ),
)


def parameters(load: Load) -> list[Open]:
    """Returns what a search on a load may choose."""
    return [
        spread(
            speed_field(load),
            "times the recorded speed",
            (1, 2, 3, 5, 10, 30, 100, 300),
            (1, 10),
            why="the slides name no speed; the traces at hand are other runs of the same programs, so that up to tenfold is "
            "allowed for [A]",
        ),
        spread(
            "flash.channels", "channels", (2, 4, 8, 16), why="the slides give the number of dies, and not how they are connected"
        ),
        choice(
            "flash.transfer_rate",
            "transfer rate",
            ("40MT/s", "83MT/s", "133MT/s", "200MT/s"),
            why="the slides give none; those of 2012 reach from asynchronous buses to the second generation of fast ones",
        ),
        choice(
            "ftl.write_allocation",
            "choice of the die of a write",
            ("pull", "static", "round_robin"),
            why="the slides say nothing",
        ),
        choice(
            "ftl.partial_write",
            "writes of parts of pages",
            ("read_modify_write", "whole"),
            why="the slides say nothing; simulators of their time read only what the trace wrote",
        ),
        choice("precondition", "starting state", ("fill", "steady"), why="the slides say nothing"),
    ]


def find_region(setting: Setting, load: Load, target: Target, trials: int = TRIALS, requests: int = REQUESTS) -> Region:
    """Returns where a claim's value comes out on a load.

    The drive has the dies that the work gives for the trace, and the blocks of the smallest drive, as a part of a trace
    touches little of it.
    """
    dies = DIES.get(load.name, 16)
    return region(
        setting,
        f"retention-{target.name}",
        title=f"{target.title} on {load.title}",
        quantity=target.quantity,
        published=(target.low + target.high) / 2.0,
        tolerance=(target.high - target.low) / 2.0,
        parameters=parameters(load),
        trials=trials,
        drive=SPEED,
        policy="rr_speed",
        reference={"policy": "baseline"},
        derive={"flash.chips_per_channel": f"{dies} // flash.channels"},
        set={"flash.blocks_per_plane": _BLOCKS // dies},
        load=f"{dies} dies, {load.title}",
        **load_fields(load, load.fields(requests), stop_after=requests),
    )


def with_regions(setting: Setting, claims: Iterator[Claim], found: Cases) -> Iterator[Claim | Picture | Table]:
    """Yields claims, in the full form those that are not met with the region in which their value comes out."""
    for claim in claims:
        target = next((each for each in TARGETS if claim.what.startswith(each.what)), None)
        case = None if target is None else case_of(target, found)
        if not setting.searches(claim) or target is None or case is None or claim.is_met or claim.unscored:
            yield claim
            continue
        where = find_region(setting, case.load, target)
        yield from with_region(claim, where, part="" if case.load.name == target.load else _instead(target, case, found))


def case_of(target: Target, found: Cases) -> Case | None:
    """Returns the load of a search: the target's own or, if that hardly waits, the one in its place."""
    cases = {case.load.name: case for case in found.leading}
    own = cases.get(target.load)
    if own is None or not target.instead or waits(own) >= MOSTLY:
        return own
    return cases.get(target.instead, own)


def _instead(target: Target, case: Case, found: Cases) -> str:
    """Returns why a claim is searched on another load, in words."""
    own = next(each for each in found.leading if each.load.name == target.load)
    others, its = share_text(waits(case)), share_text(waits(own))
    return f"on {case.load.title}, of whose response {others} is waiting; of that of {own.load.title} {its} is"


#: Parameters that decide how many times the throughput the rival needs.
ENCODERS = (
    spread(
        "pressed",
        "share of the time that the rival's dies write",
        (0.01, 0.03, 0.1, 0.3),
        why="the slides do not say how busy their drives are; without queues, 3.9x to 5.7x in write response would not come out",
    ),
    spread(
        "near",
        "performance that counts as near the ideal",
        (0.9, 0.95, 0.98),
        why="the slides say that the ideal is approached, with no number",
    ),
)


def encoders(setting: Setting, shares: Sequence[float] = (0.01, 0.03, 0.1, 0.3)) -> Region:
    """Returns where the rival needs eight times the encoder throughput, by load of the drive and by what is near."""
    throughputs = throughputs_of(setting)
    rows: list[dict[str, Any]] = []
    text = ""
    for share in shares:
        found = run_compressed(setting, throughputs, share, seeds=1).found
        text = titles([case.load for case in found.leading])
        for near in ENCODERS[1].choices["choices"]:
            value = found.find(*ratio_of(throughputs, near)).leading.mean
            rows.append({"pressed": share, "near": near, "value": value, "off": abs(value - LESS)})
    title = f"LDPC throughput that the rival needs over what retention relaxation needs, {text}"
    fixed = f"{CODES}, {text}, precondition fill"
    return Region("retention-encoders", title, LESS, DIGIT, ENCODERS, tuple(rows), ENCODERS, fixed)


def with_encoders(setting: Setting, entries: Iterator[Claim | Picture | Table]) -> Iterator[Claim | Picture | Table]:
    """Yields entries on encoders, in the full form the claims of eight times with their region."""
    where: Region | None = None
    for each in entries:
        if not (
            isinstance(each, Claim)
            and setting.searches(each)
            and each.headline
            and each.what.startswith(NEED)
            and not each.is_met
        ):
            yield each
            continue
        where = where or encoders(setting)
        yield claim_with_region(each, where)
    if where is not None:
        yield from where.entries()
