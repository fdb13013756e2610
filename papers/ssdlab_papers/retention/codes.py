"""LDPC encoder throughput that retention relaxation for codes needs, and that its rival needs.

The rival, `bch_ldpc`, encodes every host write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

from ssdlab import Workload, WorkloadLike
from ssdlab.charts import Axis, Chart, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention.loads import (
    MANY,
    WEEK_NS,
    WEEKS,
    excerpt,
    is_light,
    length,
    note_of,
    shape,
    weekly,
    weeks_of,
    weeks_or_part,
)
from ssdlab_papers.retention.runs import CODES, Run, run
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: The policy and its rival.
POLICIES = ("rr_ecc", "bch_ldpc")
#: Encoder throughputs [MB/s]: those of the slide (recalled), and eight times 20 MB/s, which the rival needs (derived).
#: In the functions below ``None`` means an unlimited encoder.
THROUGHPUTS = (5, 10, 20, 40, 80, 160)
_QUICK = (5, 20)
#: A response at most this many times that with an unlimited encoder counts as near the ideal [A].
_NEAR = 1.05
#: Loads of the work that are run for minutes; only TPC-C writes faster than any of these encoders.
_EXCERPTS = ("tpc_c", "prxy_0")
#: Drive for measuring collection: small enough for all its data to be overwritten during the run.
_SMALL = {"flash.blocks_per_plane": 64}
#: Approximate share of the time that the dies write under the rival once weeks are compressed.
_PRESSED = 0.1
#: Retention limit, reprogramming age and retention margin of the drive.
_LIMIT_NS, _REPROGRAM_NS, _MARGIN_NS = 2 * WEEK_NS, WEEK_NS, 3600 * 10**9


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields results of saturating random writes, of loads at recorded speed, and of compressed weeks."""
    throughputs: tuple[int, ...] = _QUICK if setting.quick else THROUGHPUTS
    yield from _saturated(setting, throughputs)
    yield from _at_recorded_speed(setting, throughputs)
    if not setting.quick:
        yield from _pressed(setting, throughputs)


def encoder(throughput: int | None) -> dict[str, object]:
    """Returns settings for an encoder of `throughput` MB/s; ``None``: without limit."""
    return {"flash.encoder": [{"code": "ldpc", **({} if throughput is None else {"throughput": f"{throughput}MB/s"})}]}


def _all(
    setting: Setting, what: str, throughputs: Sequence[int], measure: Callable[[str, int | None], Run]
) -> dict[tuple[str, int | None], Run]:
    """Runs both policies with every encoder, and with an unlimited one."""
    pieces = [(policy, throughput) for throughput in (*throughputs, None) for policy in POLICIES]
    return dict(zip(pieces, setting.share_out(what, lambda piece: measure(*piece), pieces), strict=True))


def _saturated(setting: Setting, throughputs: Sequence[int]) -> Iterator[Entry | Picture]:
    """Yields the maximum write throughput with each encoder, where half of the work of the drive is collection."""
    job = {"name": "w", "pattern": "random", "read_share": 0.0, "sizes": [{"size": "8KiB"}], "depth": 64}
    job |= {"ramp_time": "60s", "runtime": "120s"}
    workload = Workload.from_dict({"kind": "synthetic", "job": [job]})

    def measure(policy: str, throughput: int | None) -> Run:
        return run(CODES, workload, policy, {**_SMALL, **encoder(throughput)}, precondition="steady")

    found = _all(setting, "random writes", throughputs, measure)
    ideal = {policy: found[policy, None].bytes_per_s for policy in POLICIES}
    for throughput in throughputs:
        rival, ours = found["bch_ldpc", throughput], found["rr_ecc", throughput]
        if 1e6 * throughput < 0.9 * ideal["bch_ldpc"]:
            yield Entry(
                work="retention relaxation",
                where="ECC Optimization",
                what=f"the rival's throughput over its encoder's, random writes without a pause, {throughput} MB/s",
                published="1: all host writes go through the encoder, which is the bottleneck",
                standing="stated",
                ours=rival.bytes_per_s / (1e6 * throughput),
                shown=f"{rival.bytes_per_s / 1e6:.2f} MB/s (encoder busy {percent(rival.encoder)})",
                low=0.98,
                high=1.02,
            )
        yield Entry(
            work="retention relaxation",
            where="Performance of ECCs",
            what=f"throughput of retention relaxation over the rival's, random writes without a pause, {throughput} MB/s",
            published="at least 1 under the same LDPC throughput",
            standing="stated",
            ours=ours.bytes_per_s / rival.bytes_per_s,
            shown=f"{ours.bytes_per_s / rival.bytes_per_s:.2f} ({ours.bytes_per_s / 1e6:.2f} MB/s, "
            f"{percent(ours.bytes_per_s / ideal['rr_ecc'])} of the ideal)",
            low=0.99,
            high=inf,
            note="the hardest case for it: pages that collection moves before they are overwritten pass the encoder, once each",
        )
    yield Picture(
        name="retention-codes-saturated",
        chart=Chart(
            title="Random writes without a pause, by LDPC throughput",
            x=_axis(throughputs),
            y=Axis("share of the ideal", span=(0.0, 1.05), better="higher"),
            series=tuple(
                Series(policy, [*map(float, throughputs)], [found[policy, at].bytes_per_s / ideal[policy] for at in throughputs])
                for policy in POLICIES
            ),
        ),
    )


def _loads(setting: Setting) -> dict[Load, WorkloadLike]:
    """Returns the loads at recorded speed, each with the workload that is run: weeks, or an excerpt of minutes."""
    played: dict[Load, WorkloadLike] = {load: weeks_or_part(load) for load in weekly(setting)}
    for name in () if setting.quick else _EXCERPTS:
        load = setting.traces.load(name)
        if load is not None and load not in played:
            played[load] = excerpt(load, length(setting, load))
    return played


def _at_recorded_speed(setting: Setting, throughputs: Sequence[int]) -> Iterator[Entry | Picture | Table]:
    played = _loads(setting)
    pieces = [(load, policy, at) for load in played for at in (*throughputs, None) for policy in POLICIES]

    def measure(piece: tuple[Load, str, int | None]) -> Run:
        load, policy, throughput = piece
        return run(CODES, played[load], policy, {**shape(load), **encoder(throughput)})

    found = dict(zip(pieces, setting.share_out("encoders", measure, pieces), strict=True))
    slower = {
        (load, policy): [found[load, policy, at].write_ns / found[load, policy, None].write_ns for at in throughputs]
        for load in played
        for policy in POLICIES
    }
    at_20 = throughputs.index(20)
    for load in played:
        yield _near_at_20(load, slower[load, "rr_ecc"][at_20], slower[load, "bch_ldpc"][at_20])
        yield _needed(load, throughputs, (slower[load, "rr_ecc"], slower[load, "bch_ldpc"]))
    worst = max(
        found[load, "rr_ecc", at].write_ns / found[load, "bch_ldpc", at].write_ns for load in played for at in throughputs
    )
    yield Entry(
        work="retention relaxation",
        where="Performance of ECCs",
        what="write response under the same LDPC throughput over the rival's: the worst of all loads and encoders",
        published="below 1: RR-2week outperforms the baseline",
        standing="stated",
        ours=worst,
        shown=f"{worst:.3f}",
        low=0.0,
        high=1.01,
        note=note_of(*played),
    )
    yield _table(played, found)
    yield _picture("retention-codes", "Performance by LDPC throughput, of the ideal's", throughputs, slower)


def _note(load: Load) -> str:
    """Returns the reason why a published value is not asserted for a load; empty if it may be."""
    return note_of(load) or ("" if is_light(load) else f"its first {MANY:,} requests")


def _near_at_20(load: Load, ours: float, rival: float) -> Entry:
    is_of_the_work = not _note(load)
    return Entry(
        work="retention relaxation",
        where="Performance of ECCs",
        what=f"write response with LDPC of 20 MB/s over the ideal's, {load.title}",
        published="near 1",
        standing="stated",
        ours=ours,
        shown=f"{ours:.3f} (rival {rival:.2f})",
        low=0.9 if is_of_the_work else 0.0,
        high=_NEAR if is_of_the_work else max(rival, 1.0),
        note=_note(load) and f"{_note(load)}: only that the rival does not do better is asserted",
    )


def needed(throughputs: Sequence[int], slower: Sequence[float]) -> int | None:
    """Returns the lowest throughput from which on the response is near the ideal; ``None`` if there is none."""
    enough = None
    for throughput, ratio in zip(reversed(throughputs), reversed(slower), strict=True):
        if ratio > _NEAR:
            break
        enough = throughput
    return enough


def _and(load: Load) -> str:
    note = _note(load)
    return f"; {note}" if note else ""


def _needed(
    load: Load, throughputs: Sequence[int], slower: tuple[Sequence[float], Sequence[float]], compressed: float = 1.0
) -> Entry:
    """Returns the entry on the encoder throughput that each policy needs.

    `slower` holds the response over the ideal by throughput, of retention relaxation and of the rival. The published
    value does not apply to weeks that are `compressed`.
    """
    is_of_the_work = not _note(load) and compressed == 1.0
    least, most = (needed(throughputs, each) for each in slower)
    known = least is not None and most is not None
    rival_needs = f"{most} MB/s" if most else f"above {throughputs[-1]} MB/s"
    we_need = f"{'at most ' if least == throughputs[0] else ''}{least} MB/s" if least else f"above {throughputs[-1]} MB/s"
    reason = (
        "its own load leaves retention relaxation's encoder idle: reprogrammed data loads it where writes have no pause, and "
        "where weeks are compressed"
        if compressed == 1.0
        else "as above"
    )
    return Entry(
        work="retention relaxation",
        where="Performance of ECCs",
        what=f"LDPC throughput that the rival needs over what retention relaxation needs, {load.title}{_faster(compressed)}",
        published="8: 20 MB/s reach the ideal",
        standing="stated",
        ours=(most or 2 * throughputs[-1]) / (least or 2 * throughputs[-1]),
        shown=f"{rival_needs} over {we_need}",
        low=8.0 if is_of_the_work and known else 1.0,
        high=inf,
        note=f"needed: mean write response within {percent(_NEAR - 1)} of the ideal's [A]; {reason}{_and(load)}",
    )


def _faster(compressed: float) -> str:
    return "" if compressed == 1.0 else f" and its limits {compressed:,.0f} times faster"


def _table(played: dict[Load, WorkloadLike], found: dict[tuple[Load, str, int | None], Run]) -> Table:
    return Table(
        name="retention-codes",
        title=f"Loads on {CODES} by LDPC throughput",
        columns=(
            "trace",
            "policy",
            "LDPC MB/s",
            "write mean us",
            "encoding us",
            "mean us",
            "encoder busy",
            "pages written",
            "reprogrammed",
        ),
        rows=[
            (
                load.title,
                policy,
                throughput,
                each.write_ns / 1000,
                each.encoding_ns / 1000,
                each.mean_ns / 1000,
                each.encoder,
                each.host,
                each.reprogrammed,
            )
            for (load, policy, throughput), each in found.items()
        ],
    )


def _axis(throughputs: Sequence[int]) -> Axis:
    return Axis("LDPC throughput (MB/s)", log=True, ticks=tuple((float(at), str(at)) for at in throughputs))


def _picture(name: str, title: str, throughputs: Sequence[int], slower: dict[tuple[Load, str], list[float]]) -> Picture:
    x = [*map(float, throughputs)]
    used = [load for load, policy in slower if policy == POLICIES[0]]
    return Picture(
        name=name,
        chart=Chart(
            title=title,
            x=_axis(throughputs),
            y=Axis("ideal write response / write response", span=(0.0, 1.05), better="higher"),
            series=tuple(
                Series(
                    f"{load.name}, {policy}",
                    x,
                    [1.0 / ratio for ratio in slower[load, policy]],
                    dashed=policy == "bch_ldpc",
                    colour=place,
                )
                for place, load in enumerate(used)
                for policy in POLICIES
            ),
        ),
    )


def _pressed(setting: Setting, throughputs: Sequence[int]) -> Iterator[Entry | Picture | Table]:
    """Yields results of weeks compressed in time together with their retention limits.

    The write rate rises by the factor of the compression. At its recorded rate a trace leaves the encoder idle.
    """
    rows: list[tuple[object, ...]] = []
    curves: dict[tuple[Load, str], list[float]] = {}
    for load in [load for load in weekly(setting) if is_light(load)][:2]:
        usual = run(CODES, weeks_of(load), "bch_ldpc", {**shape(load), **encoder(None)})
        if not usual.writing:
            continue
        scale = _PRESSED / usual.writing
        settings = {**shape(load), **_compressed(scale)}

        def measure(
            policy: str, throughput: int | None, load: Load = load, scale: float = scale, settings: dict[str, object] = settings
        ) -> Run:
            return run(CODES, weeks_of(load, scale), policy, {**settings, **encoder(throughput)})

        found = _all(setting, f"{load.name} compressed", throughputs, measure)
        slower = {
            policy: [found[policy, at].write_ns / found[policy, None].write_ns for at in throughputs] for policy in POLICIES
        }
        rows += [
            (load.title, scale, policy, at, each.write_ns / 1000, each.encoder, each.overhead, each.misses)
            for (policy, at), each in found.items()
        ]
        yield _compressed_entry(load, scale, found, throughputs, slower)
        yield _needed(load, throughputs, (slower["rr_ecc"], slower["bch_ldpc"]), scale)
        curves |= {(load, policy): slower[policy] for policy in POLICIES}
    if curves:
        title = "Weeks compressed: performance by LDPC throughput, of the ideal's"
        yield _picture("retention-codes-compressed", title, throughputs, curves)
    columns = (
        "trace",
        "times faster",
        "policy",
        "LDPC MB/s",
        "write mean us",
        "encoder busy",
        "reprogrammed per page",
        "past the limit",
    )
    yield Table(
        name="retention-codes-compressed", title=f"{WEEKS} weeks compressed, with their limits", columns=columns, rows=rows
    )


def _compressed(scale: float) -> dict[str, object]:
    """Returns settings in which all times of the retention guarantee are divided by `scale`."""
    modes = [{"name": "normal", "code": "ldpc"}, {"name": "fast", "retention": f"{round(_LIMIT_NS / scale)}ns"}]
    return {
        "flash.write_mode": modes,
        "policy.rr_ecc.reprogram_after": f"{round(_REPROGRAM_NS / scale)}ns",
        "ftl.retention_margin": f"{round(_MARGIN_NS / scale)}ns",
    }


def _compressed_entry(
    load: Load,
    scale: float,
    found: dict[tuple[str, int | None], Run],
    throughputs: Sequence[int],
    slower: dict[str, list[float]],
) -> Entry:
    curve = {
        policy: ", ".join(f"{at}: {ratio:.2f}" for at, ratio in zip(throughputs, slower[policy], strict=True))
        for policy in POLICIES
    }
    ours, rival = (slower[policy][throughputs.index(20)] for policy in POLICIES)
    ideal = found["rr_ecc", None]
    return Entry(
        work="retention relaxation",
        where="Performance of ECCs",
        what=f"write response with LDPC of 20 MB/s over the ideal's, {load.title}{_faster(scale)}",
        published="near 1",
        standing="stated",
        ours=ours,
        shown=f"{ours:.3f}, rival {rival:.2f} (by MB/s: {curve['rr_ecc']}; rival {curve['bch_ldpc']}; the host writes "
        f"{ideal.bytes_per_s / 1e6:.1f} MB/s, {percent(ideal.overhead)} of it is reprogrammed)",
        low=0.0,
        high=max(rival, 1.0),
        note="with the trace's writes multiplied: its own load leaves encoders idle. Reprogrammed data must pass the encoder on "
        "average; the rival's host writes, at their fastest",
    )
