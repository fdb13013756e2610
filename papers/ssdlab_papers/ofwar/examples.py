"""The paper's two worked examples, figures 3 and 4."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab import Workload
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.claim import Claim, falls, number, taken, unclaimed
from ssdlab_papers.ofwar.figures import DIGIT
from ssdlab_papers.ofwar.runs import WORK
from ssdlab_papers.session import run

#: Settings of a drive with one die, for both examples.
_ONE_DIE: dict[str, object] = {"flash.channels": 1, "flash.chips_per_channel": 1}
#: Figure 3 ignores all times but that of the program. Commands therefore take no time, and the 854 ns that 4 KiB take
#: at 4800 MT/s are part of the 600 us: the service time is 600 us, or 300 us in the fast mode, to the nanosecond.
_FIGURE_3 = _ONE_DIE | {
    "flash.phases": dict.fromkeys(("t_cs", "t_cycle", "t_adl", "t_wb", "t_rr", "t_ccs", "t_wpst", "t_dbsy"), "0ns"),
    "flash.transfer_rate": "4800MT/s",
    "flash.program_time": "599146ns",
    "flash.write_mode[1].program_scale": 0.499287319,
}
#: Figure 4: four pages per block, ten blocks, one frontier for normal and one for fast data; relocations share the
#: normal one. Collection begins after a second of idle time if fewer than `gc_idle_target_blocks` are free.
_FIGURE_4 = _ONE_DIE | {
    "flash.pages_per_block": 4,
    "flash.blocks_per_plane": 10,
    "ftl.overprovisioning": 1.0,
    "ftl.user_capacity": "64KiB",
    "ftl.gc_low_blocks": 2,
    "ftl.separate_relocations": False,
    "ftl.gc_idle_after": "1s",
    "ftl.gc_idle_target_blocks": 6,
    "policy.ofwar.write_threshold": 1,
    "policy.ofwar.rewrite_threshold": 2,
}
_MS = 1_000_000
#: Ends of a run of figure 4 [ns]: when one block is collected, which idle time is a second after the last write, and
#: long after as many are as the target asks for.
_ONE_COLLECTED, _LONG_AFTER = 1_212_800_000, 5_000 * _MS


def entries() -> Iterator[Claim]:
    """Yields figures 3 and 4, and the times that section 4 gives to the model."""
    yield from _figure_3()
    yield from _figure_4()
    for what, time in (("normal write", 600), ("fast write", 300), ("read", 50)):
        yield taken(
            Estimate(0, float(time), None, None),
            work=WORK,
            where="section 4.1",
            what=f"time of a {what}",
            published=f"{time} us",
            unit=lambda value: f"{value:.0f} us",
            note="an input of the drive's description",
        )


def responses(policy: str) -> Mapping[str, float]:
    """Returns the statistics of the response times of figure 3's eleven writes, one every 300 us."""
    workload = {
        "kind": "synthetic",
        "job": [
            {
                "name": "eleven",
                "pattern": "sequential",
                "read_share": 0.0,
                "arrival": {"kind": "constant", "gap": "300us"},
                "requests": 11,
            }
        ],
    }
    found: Mapping[str, float] = run("tiny", workload, policy, set=_FIGURE_3).summary["latency"]["all"]
    return found


def _figure_3() -> Iterator[Claim]:
    """Yields the mean response times of the eleven writes at both speeds."""
    normal, fast = (responses(policy) for policy in ("baseline", "all_fast"))
    common: dict[str, Any] = {"work": WORK, "where": "figure 3, section 3.1.2", "load": "eleven writes, one every 300 us"}
    last = f"the last response is {normal['max_ns'] / 1000:,.0f} us, which the paper gives as the mean"
    for what, ours, published, note in (
        ("mean response time, writes of 600 us", normal["mean_ns"] / 1000, 3600.0, last),
        ("mean response time, writes of 300 us", fast["mean_ns"] / 1000, 300.0, "no write waits"),
    ):
        found = Estimate(0, ours, None, None)
        yield number(found, published, 0.5, what=what, unit=lambda value: f"{value:,.0f} us", note=note, **common)
    ratio = fast["mean_ns"] / normal["mean_ns"]
    yield number(
        Estimate(0, ratio, None, None),
        0.083,
        DIGIT,
        what="mean response time, writes of 300 us over writes of 600 us",
        unit=percent,
        agrees=falls(ratio - 1.0),
        note=last,
        **common,
    )


def _figure_4() -> Iterator[Claim]:
    """Yields the pages programmed for eighteen writes and one collection, with fast writes and rewrites and without."""
    title = {"ofwar": "fast writing and rewriting", "baseline": "normal writes"}
    once = {policy: _eighteen_writes(policy, _ONE_COLLECTED) for policy in title}
    for policy, summary in once.items():
        total = _programs(summary)
        yield number(
            Estimate(0, total, None, None),
            20.0,
            0.0,
            work=WORK,
            where="figure 4, section 3.1",
            what=f"pages programmed for 18 writes, with {title[policy]} and one collection",
            unit=lambda value: f"{value:.0f}",
            load="the writes of figure 4",
            note=f"{_split(summary)}; {summary['collections']} collection, the same target of free blocks for both",
        )
    on = {policy: _eighteen_writes(policy, _LONG_AFTER) for policy in title}
    more = _programs(on["ofwar"]) - _programs(on["baseline"])
    yield unclaimed(
        Estimate(0, more, None, None),
        f"{more:+.0f} pages ({_split(on['ofwar'])}; without: {_split(on['baseline'])})",
        work=WORK,
        where="figure 4",
        what="pages programmed more with fast writing if both collect until six blocks are free",
        load="the writes of figure 4",
        note="the frontier for fast data keeps a block open, so that a second collection, with two copies, makes up for it",
    )


def _programs(summary: Mapping[str, Any]) -> float:
    return float(sum(summary["flash"]["programs"].values()))


def _split(summary: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in summary["flash"]["programs"].items() if count)


def _eighteen_writes(policy: str, end: int) -> dict[str, Any]:
    """Runs the eighteen writes of figure 4; a read ends the run at `end` [ns].

    Of writes that arrive together, all but the last find another one waiting: these are the ones that the figure writes
    fast.
    """
    bursts: Sequence[tuple[int, Sequence[int]]] = (
        (0, (1,)),
        (10 * _MS, (2,)),
        (20 * _MS, (3, 4, 5)),
        (30 * _MS, (6,)),
        (40 * _MS, (7, 8, 9)),
        # Arrives while page 9 is being programmed, so that there is no idle time in between.
        (40 * _MS + 900_000, (10,)),
        *((140 * _MS + 10 * _MS * index, (page,)) for index, page in enumerate((1, 2, 7, 8, 11, 12, 13, 14))),
    )
    lines = [f"{at} 0 {8 * page} 8 0" for at, pages in bursts for page in pages]
    # A read of an unwritten page.
    lines.append(f"{end} 0 0 8 1")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "figure-4.trace"
        trace.write_text("\n".join(lines) + "\n")
        return run("tiny", Workload(trace, format="ssdsim"), policy, set=_FIGURE_4).summary
