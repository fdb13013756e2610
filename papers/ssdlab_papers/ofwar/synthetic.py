"""Figure 12: random requests at a constant rate until long after the queue is full, and rewrites at the deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ssdlab.charts import Axis, Chart
from ssdlab.explore.statistics import Estimate
from ssdlab.units import duration, percent
from ssdlab_papers.claim import NOTICEABLE, Claim, sanity, untestable
from ssdlab_papers.entry import Entry, Picture
from ssdlab_papers.formats import change_text
from ssdlab_papers.ofwar.runs import (
    COLUMNS,
    SIGNIFICANT,
    SIMULATED,
    WORK,
    Quantity,
    fast,
    number_of,
    reads,
    response,
    rewritten,
    statement_on,
)
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, curve, over_seeds, samples

_WORKLOAD = Path(__file__).with_name("random.toml")


@dataclass(frozen=True, slots=True)
class Rate:
    """A load: requests at a constant rate."""

    #: Gap between arrivals [us].
    gap: int
    #: Share of reads.
    reads: float = 0.0
    #: Starting state.
    state: str = "steady"

    @property
    def is_long(self) -> bool:
        """True for the gaps with which the text expects no degradation."""
        return self.gap >= 1_000

    @property
    def title(self) -> str:
        """Name in tables."""
        kind = "reads and writes in equal numbers" if self.reads else "writes"
        return f"random {kind}, one every {duration(self.gap * 1000)}" + (", drive filled once" if self.state == "fill" else "")


#: The text gives the three longest gaps and the shortest; 100 us is assumed between them. Its claim on reads needs
#: some: half of the requests is assumed.
_RATES = (Rate(10_000), Rate(5_000), Rate(1_000), Rate(100), Rate(20), Rate(20, 0.5), Rate(20, 0.0, "fill"))
_FEW = (Rate(1_000), Rate(20, 0.5))
#: Requests measured after the rewrite queue is full, if it fills at all, by the form of the experiment; then the
#: entries of the queue. Earlier requests are left out of the statistics. The paper's ten billion are out of reach.
_QUICK_AFTER, _USUAL_AFTER, _FULL_AFTER, _QUEUE = 30_000, 400_000, 5_000_000, 65_536
#: Deadline case: the limit of a fast write is ten seconds instead of four days, so that it is reached many times.
_SHORT: dict[str, object] = {"flash.write_mode[1].retention": "10s", "ftl.retention_margin": "0s"}
#: Mean response beyond which the baseline's write queue has grown without end [ns].
_ENDLESS = 10_000_000
_POLICIES = ("ofwar", "separate", "baseline")


@dataclass(frozen=True, slots=True)
class Found:
    """Runs of one load under every policy, after the queue was full."""

    rate: Rate
    #: Requests until the queue was full; 0 if it never was.
    ramp: int
    runs: dict[str, Sample]

    def estimate(self, quantity: Quantity, policy: str = "ofwar") -> Estimate:
        """Returns a quantity of a policy beside the baseline's."""
        return over_seeds(quantity, self.runs[policy], self.runs["baseline"])


def entries(setting: Setting) -> Iterator[Entry | Picture]:
    """Yields the loads of figure 12, then the case with the shortened limit."""
    after = _QUICK_AFTER if setting.quick else _FULL_AFTER if setting.full else _USUAL_AFTER
    several = _measured(setting, _FEW if setting.quick else _RATES, after)
    for found in several:
        yield from _of_load(found, after)
    yield _of_reads(several)
    yield _picture(several)
    if not setting.quick:
        yield from _deadline(setting, _QUEUE + after)


def _point(rate: Rate, policy: str, requests: int, ramp: int = 0) -> dict[str, object]:
    """Returns a point of `requests` requests, the first `ramp` of which are left out of the statistics."""
    job: dict[str, object] = {"read_share": rate.reads, "arrival.gap": f"{rate.gap}us", "requests": requests}
    if ramp:
        job["ramp_time"] = f"{ramp * rate.gap}us"
    load = {"workload": str(_WORKLOAD), **{f"workload.job[0].{key}": value for key, value in job.items()}}
    return {**load, "precondition": rate.state, "drive": SIMULATED, "policy": policy}


def _measured(setting: Setting, rates: Sequence[Rate], after: int) -> list[Found]:
    """Finds out when each load fills the queue, and measures every policy from there on."""
    pilots = [_point(rate, "ofwar", round((_QUEUE + after) / (1.0 - rate.reads))) for rate in rates]
    first = samples(setting, "figure 12, until full", pilots, columns=COLUMNS, seeds=1)
    ramps = [_until_full(run) for run in first]
    points = [
        _point(rate, policy, (ramp or _QUEUE) + after, ramp)
        for rate, ramp in zip(rates, ramps, strict=True)
        for policy in _POLICIES
    ]
    runs = iter(samples(setting, "figure 12", points, columns=COLUMNS))
    return [Found(rate, ramp, {policy: next(runs) for policy in _POLICIES}) for rate, ramp in zip(rates, ramps, strict=True)]


def _until_full(found: Sample) -> int:
    """Returns the number of requests until the queue was full; 0 if it never was.

    Once the queue is full, every write finds it full, so that the number follows from the count of such writes.
    """
    (row,) = found.rows.values()
    full, written = number_of(row, "policy_stats.writes_on_full_queue"), float(row["host_units_written"])
    requests = float(row["commands.read"] + row["commands.write"])
    return round(requests * (1.0 - full / written)) if full else 0


def _of_load(found: Found, after: int) -> Iterator[Claim]:
    """Yields the response time and the rewritten pages of one load."""
    rate = found.rate
    base = found.runs["baseline"].estimate(lambda row: row["latency.all.mean_ns"]).mean
    ratio = found.estimate(lambda row, other: response(row, other) + 1.0)
    control = found.estimate(response, "separate")
    when = f"{after:,} after the {found.ramp:,} until the queue was full" if found.ramp else "the queue never fills"
    common = {"load": f"{rate.title}; {when}"}
    note = "the paper measures ten billion requests" if rate.is_long else _why(found, base)
    if rate.state == "steady" or base < _ENDLESS:
        claim = statement_on(
            ratio,
            f"{ratio.mean:.4f} (separate {change_text(control.mean)}; baseline {duration(base, 3)})",
            where="figure 12a, section 5",
            what=f"mean response time over the baseline's, {rate.title}",
            published="negligible degradation" if rate.is_long else "marginally increases",
            low=float("-inf") if rate.is_long else 1.0 + NOTICEABLE,
            high=1.0 + (NOTICEABLE if rate.is_long else SIGNIFICANT),
            note=note,
            **common,
        )
        yield _unless_idle(claim, found)
    share = found.estimate(rewritten)
    longest = max(number_of(row, "policy_stats.rewrite_queue_longest") for row in found.runs["ofwar"].rows.values())
    shown = f"{percent(share.mean)} (fast {percent(found.estimate(fast).mean)}, queue at most {longest:,.0f})"
    if not rate.is_long and not found.ramp:
        yield untestable(
            work=WORK,
            where="figure 12b, section 5",
            what=f"rewritten pages, {rate.title}",
            published="none once the queue is full",
            shown=shown,
            note="the queue never fills: idle dies take each write at once",
        )
        return
    claim = statement_on(
        share,
        shown,
        where="figure 12b, section 5",
        what=f"rewritten pages, {rate.title}",
        published="very few" if rate.is_long else "none once the queue is full",
        high=NOTICEABLE,
        note="fewer than one page in a hundred cannot be seen in the figure",
        **common,
    )
    yield _unless_idle(claim, found)


def _unless_idle(claim: Claim, found: Found) -> Claim:
    """Returns a claim, which cannot fail if nothing is written fast."""
    return claim if found.estimate(fast).mean else sanity(claim, "no write is fast")


def _why(found: Found, base: float) -> str:
    """Returns the reason for the response time of a load with short gaps."""
    if base >= _ENDLESS:
        return (
            "beyond what the drive can write: 32 programs of 600 us at once, of which collection takes half and more; the write "
            "queue grows without end, and the mean depends on how long one looks"
        )
    if not found.ramp:
        return "a constant gap never lets 128 writes wait, as the elements serve them faster than they come"
    return "range: slower at all, but by less than the smallest change that the paper calls noticeable, 8 %"


def _of_reads(several: Sequence[Found]) -> Claim:
    """Returns the change of the response time of reads at the shortest gap."""
    (mixed,) = (found for found in several if found.rate.reads)
    common = {
        "where": "section 5, figure 12",
        "what": f"mean response time of reads over the baseline's, {mixed.rate.title}",
        "published": "degradation almost negligible",
    }
    if not mixed.estimate(fast).mean:
        return untestable(work=WORK, note="no write is fast at this rate, so that nothing is rewritten", **common)
    ratio = mixed.estimate(lambda row, base: reads(row, base) + 1.0)
    return statement_on(
        ratio,
        f"{ratio.mean:.4f}",
        high=1.0 + NOTICEABLE,
        load=mixed.rate.title,
        note="the share of reads is assumed: the paper calls the load random and speaks of reads",
        **common,
    )


def _picture(several: Sequence[Found]) -> Picture:
    """Returns the mean response of OFWAR and of the control by the gap, for writes in the steady state."""
    shown = [found for found in several if not found.rate.reads and found.rate.state == "steady"]
    gaps = [float(found.rate.gap) for found in shown]
    chart = Chart(
        title="Figure 12a: mean response over the baseline's, random writes at a constant rate",
        x=Axis("gap between arrivals (us)", log=True),
        y=Axis("mean response / baseline", better="lower"),
        series=tuple(
            curve(policy, gaps, [found.estimate(lambda row, base: response(row, base) + 1.0, policy) for found in shown])
            for policy in ("ofwar", "separate")
        ),
    )
    return Picture(name="ofwar-figure-12", chart=chart)


def _deadline(setting: Setting, requests: int) -> Iterator[Claim]:
    """Yields the rewrites of fast data at its limit while the drive is overloaded, or at 94 % of what it can write."""
    cases = {
        "steady, the queue by 128 waiting writes": (Rate(20), _SHORT),
        "without collection, every write fast while the queue has room": (
            Rate(20, 0.0, "fill"),
            {**_SHORT, "policy.ofwar.write_threshold": 0},
        ),
    }
    wanted = [{**_point(rate, "ofwar", requests), **fields} for rate, fields in cases.values()]
    for title, run in zip(cases, samples(setting, "deadline", wanted, columns=COLUMNS), strict=True):
        urgent = run.estimate(lambda row: number_of(row, "policy_stats.urgent_rewrites"))
        late = run.estimate(lambda row: number_of(row, "reliability.deadline_misses"))
        common = {"where": "section 3.2, figure 12", "load": f"{Rate(20).title}, a limit of 10 s: {title}"}
        yield statement_on(
            urgent,
            f"{urgent.mean:,.0f}",
            what=f"rewrites before all other operations, a limit of 10 s: {title}",
            published="forced when the limit approaches",
            low=1.0,
            note="the deadline case, apart, with a limit that is reached",
            **common,
        )
        yield statement_on(
            late,
            f"{late.mean:,.0f}",
            what=f"pages past their limit when they were moved, a limit of 10 s: {title}",
            published="none: data is rewritten before its limit",
            high=0.0,
            note="the age threshold leaves the time of 64 K rewrites, 2 s for two channels (61.6 us each)",
            **common,
        )
