"""Figure 12: random writes at a constant rate until long after the queue is full, and rewrites at the deadline."""

from __future__ import annotations

from collections.abc import Iterator

from ssdlab.charts import Axis, Chart, Series
from ssdlab.units import duration, percent
from ssdlab_papers.entry import Entry, Picture
from ssdlab_papers.ofwar.figures import change
from ssdlab_papers.ofwar.runs import Effect, Run, run
from ssdlab_papers.setting import Setting

#: Gaps between arrivals [us]. The text gives the three longest and the shortest (10, 5 and 1 ms; 0.02 ms); 0.1 and
#: 0.05 ms are ours [A].
_GAPS = (10_000, 5_000, 1_000, 100, 50, 20)
#: Requests measured after the rewrite queue is full, if it fills at all, in full and in quick runs; then the entries of
#: the queue. Earlier requests are left out of the statistics. The queue is full at the earliest after as many writes as
#: it has entries. The paper's ten billion requests (`RW10B`) are out of reach.
_AFTER, _QUICK_AFTER, _QUEUE = 2_000_000, 150_000, 65_536
_LIMIT = "10s"
#: Deadline case: the limit of a fast write is ten seconds instead of four days, so that it is reached many times.
_SHORT: dict[str, object] = {"flash.write_mode[1].retention": _LIMIT, "ftl.retention_margin": "0s"}
_OVERLOAD = (
    "beyond what the drive can write: 32 programs of 600 us at once, of which collection takes half and more; the write queue "
    "grows without end, and the mean depends on how long one looks. There, all that a second frontier and fast blocks add to "
    "collection counts many times: see the control"
)


def entries(setting: Setting) -> Iterator[Entry | Picture]:
    """Yields the loads of figure 12, then the case with the shortened limit."""
    after = _QUICK_AFTER if setting.quick else _AFTER
    gaps = (1_000, 100, 20) if setting.quick else _GAPS
    busiest = [*reversed(gaps)]
    first = setting.share_out("figure 12", lambda gap: _run(gap, "ofwar", _QUEUE + after), busiest)
    ramps = {gap: _until_full(run, _QUEUE + after) for gap, run in zip(busiest, first, strict=True)}
    pieces = [(gap, policy) for gap in busiest for policy in ("ofwar", "separate", "baseline") if ramps[gap] or policy != "ofwar"]
    runs = setting.share_out("figure 12", lambda piece: _from_full(piece[0], piece[1], ramps[piece[0]], after), pieces)
    found = {(gap, "ofwar"): run for gap, run in zip(busiest, first, strict=True)} | dict(zip(pieces, runs, strict=True))
    effects = {gap: Effect(found[gap, "baseline"], found[gap, "ofwar"]) for gap in gaps}
    controls = {gap: Effect(found[gap, "baseline"], found[gap, "separate"]) for gap in gaps}
    for gap in gaps:
        yield from _load(gap, effects[gap], controls[gap], ramps[gap], after)
    yield Picture(
        name="ofwar-figure-12",
        chart=Chart(
            title="Figure 12a: mean response over the baseline's, random writes at a constant rate",
            x=Axis("gap between arrivals (us)", log=True),
            y=Axis("mean response / baseline", better="lower"),
            series=(
                Series("OFWAR", [*map(float, gaps)], [effects[gap].mean for gap in gaps]),
                Series("separate", [*map(float, gaps)], [controls[gap].mean for gap in gaps], dashed=True),
            ),
        ),
    )
    if not setting.quick:
        yield from _deadline(setting, _QUEUE + after)


def _workload(gap_us: int, requests: int, ramp: int = 0) -> dict[str, object]:
    """Returns random writes, the first `ramp` of which are left out of the statistics."""
    arrival = {"kind": "constant", "gap": f"{gap_us}us"}
    job: dict[str, object] = {"name": "rw", "pattern": "random", "read_share": 0.0, "arrival": arrival, "requests": requests}
    if ramp:
        job["ramp_time"] = f"{ramp * gap_us}us"
    return {"kind": "synthetic", "job": [job]}


def _run(gap_us: int, policy: str, requests: int, settings: dict[str, object] | None = None, precondition: str = "steady") -> Run:
    return run(_workload(gap_us, requests), policy, settings=settings, precondition=precondition)


def _until_full(found: Run, requests: int) -> int:
    """Returns the number of requests until OFWAR's queue was full; 0 if it never was.

    Once the queue is full, every write finds it full, so that the number follows from the count of such writes.
    """
    on_full = int(found.counted.get("writes_on_full_queue", 0))
    return requests - on_full if on_full else 0


def _from_full(gap_us: int, policy: str, ramp: int, after: int) -> Run:
    """Measures the requests after those that fill the queue, or all requests if it never fills."""
    return run(_workload(gap_us, (ramp or _QUEUE) + after, ramp), policy)


def _load(gap: int, effect: Effect, control: Effect, ramp: int, after: int) -> Iterator[Entry]:
    """Yields the response time and the rewritten pages of one load."""
    long = gap >= 1_000
    writes = (
        f"{after:,} random writes after the {ramp:,} until the queue was full, one every {duration(gap * 1000)}"
        if ramp
        else f"{_QUEUE + after:,} random writes, one every {duration(gap * 1000)}; the queue never fills"
    )
    # The write queue grew: the last write waited for thousands of others.
    overloaded = effect.base.mean_ns > 10_000_000
    note = (
        _OVERLOAD
        if overloaded
        else ""
        if long
        else "a constant gap never lets 128 writes wait, as idle dies take the next write wherever it goes"
    )
    yield Entry(
        work="OFWAR",
        where="figure 12a",
        what=f"mean response, {writes}",
        published="negligible degradation" if long else "marginally increases",
        standing="stated",
        ours=effect.mean,
        shown=f"{change(effect.mean)} (separate {change(control.mean)}; baseline {duration(effect.base.mean_ns, 3)})",
        low=0.99,
        high=1.01 if long else 1.05,
        note=note,
    )
    longest = effect.run.counted.get("rewrite_queue_longest", 0.0)
    yield Entry(
        work="OFWAR",
        where="figure 12b",
        what=f"rewritten pages, {writes}",
        published="very few" if long else "none once the queue of 64 K is full",
        standing="stated",
        ours=effect.rewritten,
        shown=f"{percent(effect.rewritten)} (fast writes {percent(effect.run.fast_share)}, queue at most {longest:,.0f})",
        low=0.0,
        high=0.01,
    )


def _deadline(setting: Setting, requests: int) -> Iterator[Entry]:
    """Yields the rewrites of fast data at its limit while the drive is overloaded, or at 94 % of what it can write."""
    cases: dict[str, tuple[str, dict[str, object]]] = {
        "steady, the queue by 128 waiting writes": ("steady", _SHORT),
        "without collection, every write fast while the queue has room": ("fill", {**_SHORT, "policy.ofwar.write_threshold": 0}),
    }
    pieces = [(title, policy) for title in cases for policy in ("baseline", "ofwar")]
    runs = setting.share_out(
        "deadline", lambda piece: _run(20, piece[1], requests, cases[piece[0]][1], cases[piece[0]][0]), pieces
    )
    found = dict(zip(pieces, runs, strict=True))
    for title in cases:
        effect = Effect(found[title, "baseline"], found[title, "ofwar"])
        urgent = effect.run.counted.get("urgent_rewrites", 0.0)
        yield Entry(
            work="OFWAR",
            where="section 3.2, figure 12",
            what=f"urgent rewrites, one write every 20 us, a limit of {_LIMIT}: {title}",
            published="forced when the limit approaches",
            standing="stated",
            ours=urgent,
            shown=f"{urgent:,.0f} ({percent(effect.rewritten)} rewritten; "
            f"mean response {duration(effect.base.mean_ns, 3)} to {duration(effect.run.mean_ns, 3)})",
            low=1.0,
            high=float(requests),
            note="the deadline case, apart: nothing else starts while anything is too old; reading and programming a "
            "full queue again takes two channels two seconds",
        )
        yield Entry(
            work="OFWAR",
            where="section 3.2, figure 12",
            what=f"pages past their limit when they were moved, one write every 20 us, a limit of {_LIMIT}: {title}",
            published="none",
            standing="stated",
            ours=effect.run.deadline_misses,
            shown=f"{effect.run.deadline_misses:,}",
            low=0,
            high=0,
            note="the age threshold leaves the time of 64 K rewrites, 2 s for the two channels that carry them (61.6 us each)",
        )
