"""LDPC encoder throughput that retention relaxation for codes needs, and that its rival needs.

The rival, `bch_ldpc`, encodes every host write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ssdlab.charts import Axis, Chart, Series
from ssdlab.toml import document
from ssdlab_papers.claim import NOTICEABLE, Claim, falls, rises, sanity
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Found, Loads, shown_claim, value_claim, worded_claim
from ssdlab_papers.retention.loads import WEEK_NS, WEEKS, is_light, minutes, weekly
from ssdlab_papers.retention.runs import CODES, COLUMNS, WORK, Case, Cases, Quantity, Run, Way, run_cases, workload_file
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample, curve, over_seeds, samples

#: The policy and its rival.
POLICIES = ("rr_ecc", "bch_ldpc")
#: Encoder throughputs [MB/s]: those of the slide (recalled), eight times 20 MB/s, which the rival needs (derived), and
#: twice and four times as much. In the functions below ``None`` means an unlimited encoder.
THROUGHPUTS = (5, 10, 20, 40, 80, 160, 320, 640)
_QUICK = (5, 20, 160)
#: A mean performance of at least this share of that with an unlimited encoder counts as near the ideal [A], and other
#: shares beside it.
NEAR, _OTHERS = 0.95, (0.9, 0.98)
#: Published throughput of retention relaxation [MB/s], and how many times as much its rival needs.
ENOUGH, LESS = 20, 8.0
#: Greatest throughput that the slide can have: eight times that of retention relaxation [MB/s].
_SLIDE = 160
#: Half of the last digit of *8x*: on encoders each twice as fast as the next, no other ratio lies in this range.
_DIGIT = 0.5
#: Text of the claim.
NEED = "LDPC throughput that the rival needs over what retention relaxation needs"
#: Ratios that are a fall, and a rise.
_BELOW_1, _ABOVE_1 = 1.0 - NOTICEABLE, 1.0 + NOTICEABLE
#: Loads of the work that are run for minutes beside the weeks of others; only TPC-C writes faster than any of these
#: encoders.
_EXCERPTS = ("tpc_c", "prxy_0")
#: Drive for measuring collection: small enough for all its data to be overwritten during the run.
_SMALL = {"flash.blocks_per_plane": 64}
#: Share of the time that the dies write under the rival once weeks are compressed [A], and number of loads.
PRESSED, _PRESSED_LOADS = 0.1, 2
#: Retention limit, reprogramming age and retention margin of the drive.
_LIMIT_NS, _REPROGRAM_NS, _MARGIN_NS = 2 * WEEK_NS, WEEK_NS, 3600 * 10**9
#: Load of the runs that never pause.
_RANDOM = "random writes without a pause"
#: Time of a run of random writes without a pause, and before it.
_RAMP, _TIME = {True: "20s", False: "60s"}, {True: "50s", False: "120s"}


def throughputs_of(setting: Setting) -> tuple[int, ...]:
    """Returns the encoder throughputs [MB/s] of a setting."""
    return _QUICK if setting.quick else THROUGHPUTS


def encoder(throughput: int | None) -> dict[str, object]:
    """Returns settings for an encoder of `throughput` MB/s; ``None``: without limit."""
    return {"flash.encoder": [{"code": "ldpc", **({} if throughput is None else {"throughput": f"{throughput}MB/s"})}]}


def way(policy: str, throughput: int | None) -> str:
    """Returns the name of the runs of a policy with an encoder."""
    return f"{policy} {throughput}"


def ways(throughputs: Sequence[int], fields: Mapping[str, object] | None = None) -> dict[str, Way]:
    """Returns both policies with every encoder, and with an unlimited one."""
    return {
        way(policy, throughput): (CODES, policy, {**encoder(throughput), **_of(policy, fields or {})})
        for throughput in (*throughputs, None)
        for policy in POLICIES
    }


def _of(policy: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields that concern a policy's drive."""
    other = f"policy.{POLICIES[POLICIES[0] == policy]}."
    return {name: value for name, value in fields.items() if not name.startswith(other)}


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields results of loads at recorded speed, of compressed weeks, and of saturating random writes."""
    throughputs = throughputs_of(setting)
    at_speed, pressed = recorded(setting, throughputs), run_compressed(setting, throughputs)
    yield from needed_claims(at_speed, throughputs, "at recorded speed", _IDLE)
    yield from needed_claims(pressed.found, throughputs, _COMPRESSED, pressed.text, _PRESSED)
    both = at_speed + pressed.found
    yield outperforms(both, throughputs)
    yield off_the_path(at_speed, "at recorded speed")
    yield off_the_path(pressed.found, _COMPRESSED)
    for name, found in (("retention-codes", at_speed), ("retention-codes-compressed", pressed.found)):
        title = "recorded speed" if name == "retention-codes" else f"{WEEKS} weeks compressed"
        yield _picture(name, f"Performance by LDPC throughput, of the ideal's: {title}", throughputs, found.leading)
        yield _table(name, f"Loads on {CODES} by LDPC throughput, {title}", found)
    yield from _saturated(setting, throughputs)


#: Loads of which the times and the retention limits are divided, and the condition under which their claims hold.
_COMPRESSED = "weeks compressed in time with their limits"
_PRESSED = f"if the host writes so much that the rival's dies write {PRESSED:.0%} of the time"
#: Reason for what comes out at recorded speed.
_IDLE = (
    "at recorded speed these traces write a few hundred bytes per second: what is reprogrammed leaves the encoder of "
    "retention relaxation idle, and only the rival's bursts of host writes need a fast one"
)


def recorded(setting: Setting, throughputs: Sequence[int]) -> Cases:
    """Runs loads at recorded speed: weeks of light ones, minutes of heavy ones and of two of the work's own."""
    long = weekly(setting)
    heavy = long.where(lambda load: not is_light(load))
    known = {load.path for load in long.all}
    short = minutes(setting).where(lambda load: not setting.quick and load.name in _EXCERPTS and load.path not in known)
    chosen = ways(throughputs)
    found = run_cases(setting, "codes", chosen, long.where(is_light), weeks=True)
    rest = Loads((*heavy.real, *short.real), (*heavy.alike, *short.alike))
    return found + run_cases(setting, "codes-minutes", chosen, rest) if rest.all else found


@dataclass(frozen=True, slots=True)
class Pressed:
    """Runs of weeks compressed in time, and by how much each was."""

    found: Cases
    scales: Mapping[str, float]

    @property
    def text(self) -> str:
        """The compression in words."""
        rate = ", ".join(
            f"{case.load.title} {self.scales[str(case.load.path)]:,.0f} times faster: {_rate(case)} MB/s, "
            f"{share_text(case.estimate(way('rr_ecc', None), lambda run: run.overhead).mean)} of it reprogrammed"
            for case in self.found.leading
        )
        return f"the write rate is assumed, so that the rival's dies write {PRESSED:.0%} of the time [A] ({rate})"


def _rate(case: Case) -> str:
    return f"{case.estimate(way('rr_ecc', None), lambda run: run.bytes_per_s).mean / 1e6:.2g}"


def run_compressed(setting: Setting, throughputs: Sequence[int], pressed: float = PRESSED, seeds: int | None = None) -> Pressed:
    """Runs weeks compressed in time together with their retention limits.

    The write rate rises by the factor of the compression. At its recorded rate a trace leaves the encoder idle.
    """
    light = weekly(setting).where(is_light)
    most = 1 if setting.quick else _PRESSED_LOADS
    used = Loads(light.real[:most], light.alike[:most])
    usual = run_cases(setting, "codes-usual", {"rival": (CODES, "bch_ldpc", encoder(None))}, used, weeks=True, seeds=1)
    scales = {str(case.load.path): pressed / case.first("rival").writing for case in (*usual.real, *usual.alike)}
    found = Cases((), ())
    for load in used.all:
        scale = scales[str(load.path)]
        one = Loads(*(tuple(each for each in part if each is load) for part in (used.real, used.alike)))
        chosen = ways(throughputs, limits(scale))
        name = f"codes-{load.name}-compressed"
        found += run_cases(setting, name, chosen, one, weeks=True, time_scale=scale, seeds=seeds)
    return Pressed(found, scales)


def limits(scale: float) -> dict[str, object]:
    """Returns settings in which all times of the retention guarantee are divided by `scale`."""
    modes = [{"name": "normal", "code": "ldpc"}, {"name": "fast", "retention": f"{round(_LIMIT_NS / scale)}ns"}]
    return {
        "flash.write_mode": modes,
        "policy.rr_ecc.reprogram_after": f"{round(_REPROGRAM_NS / scale)}ns",
        "ftl.retention_margin": f"{round(_MARGIN_NS / scale)}ns",
    }


def performance(policy: str, throughput: int) -> tuple[tuple[str, str], Quantity]:
    """Returns the mean performance over loads with an encoder, as a share of the ideal's, with the ways it needs.

    Performance is the inverse of the mean write response.
    """
    chosen = (way(policy, None), way(policy, throughput))
    return chosen, lambda runs: fmean(ideal.write_ns / one.write_ns for ideal, one in runs)


def needed(throughputs: Sequence[int], shares: Sequence[float], near: float = NEAR) -> float:
    """Returns the least throughput from which on a performance is near the ideal's; twice the largest if none is."""
    enough = 2.0 * throughputs[-1]
    for throughput, share in zip(reversed(throughputs), reversed(shares), strict=True):
        if share < near:
            break
        enough = float(throughput)
    return enough


def ratio_of(throughputs: Sequence[int], near: float = NEAR) -> tuple[list[str], Quantity]:
    """Returns how many times the throughput of retention relaxation its rival needs, with the ways it needs."""
    chosen = [way(policy, throughput) for policy in POLICIES for throughput in (None, *throughputs)]
    half = len(throughputs) + 1

    def ratio(runs: Sequence[tuple[Run, ...]]) -> float:
        found = []
        for start in (0, half):
            shares = [fmean(one[start].write_ns / one[start + 1 + at].write_ns for one in runs) for at in range(len(throughputs))]
            found.append(needed(throughputs, shares, near))
        return found[1] / found[0]

    return chosen, ratio


def needed_claims(found: Cases, throughputs: Sequence[int], how: str, note: str, condition: str = "") -> Iterator[Claim]:
    """Yields what encoder both need, for loads of one kind."""
    shares = found.find(*performance("rr_ecc", ENOUGH))
    rival = found.find(*performance("bch_ldpc", ENOUGH)).leading.mean
    near_ideal = worded_claim(
        shares,
        share_text,
        shown=f"{share_text(shares.leading.mean)} of the ideal's (rival {share_text(rival)})",
        where="Performance of ECCs",
        what=f"write performance with LDPC of 20 MB/s, of the ideal's, mean over the loads, {how}",
        published=f"near the ideal (at least {NEAR:.0%} [A])",
        low=NEAR,
        headline=True,
        agrees=rises(shares.leading.mean - rival),
        condition=condition,
        note=note,
    )
    busy = _busiest(found)
    yield near_ideal if rises(busy) else sanity(near_ideal, f"no encoder is busy more than {share_text(busy)} of the time")
    ratio = found.find(*ratio_of(throughputs))
    text = _needs(found, throughputs)
    yield value_claim(
        ratio,
        LESS,
        _DIGIT,
        words="8x (20 MB/s in place of 160 MB/s)",
        where="Conclusions",
        what=f"{NEED}, {how}",
        unit=lambda value: f"{value:.3g}x",
        headline=True,
        agrees=lambda value: rises(value - 1.0),
        condition=condition,
        note=f"{text} for {NEAR:.0%} of the ideal performance{f'; {condition}' if condition else ''}",
    )
    for near in _OTHERS:
        yield shown_claim(
            found.find(*ratio_of(throughputs, near)),
            lambda value: f"{value:.3g}x",
            where="Conclusions",
            what=f"{NEED}, {how}, for {near:.0%} of the ideal",
            published="8x",
        )


def _busiest(found: Cases) -> float:
    """Returns the greatest share of the time that the encoder of retention relaxation is busy, of the loads."""
    return found.find((way("rr_ecc", ENOUGH),), lambda runs: max(one.encoder for (one,) in runs)).leading.mean


def _needs(found: Cases, throughputs: Sequence[int]) -> str:
    """Returns the encoders that both need, in words."""
    texts = []
    for policy in reversed(POLICIES):
        means = [found.find(*performance(policy, throughput)).leading.mean for throughput in throughputs]
        least = needed(throughputs, means)
        texts.append(
            f"more than {throughputs[-1]} MB/s"
            if least > throughputs[-1]
            else f"{'at most ' if least == throughputs[0] else ''}{least:g} MB/s"
        )
    return f"the rival needs {texts[0]}, retention relaxation {texts[1]}"


def outperforms(found: Cases, throughputs: Sequence[int]) -> Claim:
    """Returns the claim that retention relaxation is faster with the same encoder."""

    def worst(at_most: int) -> Found:
        chosen = [way(policy, throughput) for throughput in throughputs if throughput <= at_most for policy in POLICIES]
        return found.find(
            chosen,
            lambda runs: max(one[at].write_ns / one[at + 1].write_ns for one in runs for at in range(0, len(chosen), 2)),
        )

    slower = worst(_SLIDE).leading.mean
    return worded_claim(
        worst(throughputs[-1]),
        lambda value: f"{value:.3f}",
        where="Performance of ECCs",
        what="write response under the same LDPC throughput over the rival's: the worst of all loads and encoders",
        published="below 1 (RR-2week outperforms the baseline)",
        high=_BELOW_1,
        headline=True,
        agrees=falls(slower - 1.0),
        note=f"recorded speed and compressed weeks together; up to {_SLIDE} MB/s the worst is {slower:.3f}",
    )


def off_the_path(found: Cases, how: str) -> Claim:
    """Returns the claim that host writes do not wait for an encoder."""

    def share(runs: Sequence[tuple[Run, ...]]) -> float:
        return max(one.encoding_ns / one.write_ns for (one,) in runs)

    waits, strong = found.find((way("rr_ecc", ENOUGH),), share), _strong(found)
    claim = worded_claim(
        waits,
        lambda value: f"{100 * value:.2f} %",
        where="ECC Optimization",
        what=f"share of the mean host write that waits for LDPC of 20 MB/s, most of any load, {how}",
        published="0 (kept out of the critical performance path)",
        high=0.0,
        note=f"{share_text(strong)} of the host's pages take the full guarantee" if strong else "",
    )
    return claim if strong else sanity(claim, "no page of the host is written with LDPC")


def _strong(found: Cases) -> float:
    """Returns the greatest share of a load's host pages that are written with LDPC."""
    name = "modes.host_write.normal"
    return max(
        case.estimate(way("rr_ecc", ENOUGH), lambda run: run.number(name) / max(run.host, 1.0)).mean for case in found.leading
    )


def _saturated(setting: Setting, throughputs: Sequence[int]) -> Iterator[Claim | Picture]:
    """Yields the maximum write throughput with each encoder, where half of the work of the drive is collection."""
    found = _without_a_pause(setting, throughputs)
    yield bottleneck(found, throughputs)
    yield never_slower(found, throughputs)
    ideal = {policy: found[policy, None].estimate(_bytes).mean for policy in POLICIES}
    series = tuple(
        curve(policy, [*map(float, throughputs)], [found[policy, at].estimate(_bytes) for at in throughputs], 1.0 / ideal[policy])
        for policy in POLICIES
    )
    chart = Chart(
        title="Random writes without a pause, by LDPC throughput",
        x=_axis(throughputs),
        y=Axis("share of the ideal", span=(0.0, 1.05), better="higher"),
        series=series,
    )
    yield Picture(name="retention-codes-saturated", chart=chart)


def _without_a_pause(setting: Setting, throughputs: Sequence[int]) -> dict[tuple[str, int | None], Sample]:
    job = {"name": "w", "pattern": "random", "read_share": 0.0, "sizes": [{"size": "8KiB"}], "depth": 64}
    job |= {"ramp_time": _RAMP[setting.quick], "runtime": _TIME[setting.quick]}
    pieces = [(policy, throughput) for throughput in (*throughputs, None) for policy in POLICIES]
    with workload_file(setting, "random", document({"kind": "synthetic", "job": [job]})) as path:
        common: dict[str, Any] = {"drive": CODES, "precondition": "steady", "workload": str(path), **_SMALL}
        points = [{**common, "policy": policy, **encoder(throughput)} for policy, throughput in pieces]
        found = samples(setting, "retention-codes-saturated", points, columns=COLUMNS)
    return dict(zip(pieces, found, strict=True))


def _bytes(row: Mapping[str, Any]) -> float:
    return Run(row).bytes_per_s


def bottleneck(found: Mapping[tuple[str, int | None], Sample], throughputs: Sequence[int]) -> Claim:
    """Returns the claim that the encoder limits the rival."""
    slowest = throughputs[0]
    least = found["bch_ldpc", slowest].estimate(lambda row: Run(row).encoder - Run(row).number("utilisation.dies"))
    busy = found["bch_ldpc", slowest].estimate(lambda row: Run(row).encoder).mean
    return worded_claim(
        Found(least, None, _RANDOM, WORK),
        share_text,
        shown=f"{share_text(least.mean)} (encoder busy {share_text(busy)} of the time)",
        where="ECC Optimization",
        what=f"time that the rival's encoder of {slowest} MB/s is busy less that of the dies, {_RANDOM}",
        published="above 0 (the encoder becomes the bottleneck)",
        low=NOTICEABLE,
        real_trace=None,
        note="the rival encodes every host write",
    )


def never_slower(found: Mapping[tuple[str, int | None], Sample], throughputs: Sequence[int]) -> Claim:
    """Returns the claim that retention relaxation is faster with the same encoder, where writes never pause."""
    pairs = [found[policy, at] for at in throughputs for policy in POLICIES]

    def ratios(*rows: Mapping[str, Any]) -> list[float]:
        return [_bytes(rows[at]) / _bytes(rows[at + 1]) for at in range(0, len(rows), 2)]

    worst = over_seeds(lambda *rows: min(ratios(*rows)), *pairs)
    each = [over_seeds(lambda *rows, place=place: ratios(*rows)[place], *pairs).mean for place in range(len(throughputs))]
    listed = ", ".join(f"{one:.2f} at {at}" for one, at in zip(each, throughputs, strict=True))
    return worded_claim(
        Found(worst, None, _RANDOM, WORK),
        lambda value: f"{value:.2f}",
        shown=f"{worst.mean:.3f} ({listed} MB/s)",
        where="Performance of ECCs",
        what=f"write throughput over the rival's under the same LDPC throughput, {_RANDOM}: the least",
        published="above 1 (RR-2week outperforms the baseline)",
        low=_ABOVE_1,
        real_trace=None,
        note="the hardest case for it: pages that collection moves before they are overwritten pass the encoder, once each",
    )


def _axis(throughputs: Sequence[int]) -> Axis:
    return Axis("LDPC throughput (MB/s)", log=True, ticks=tuple((float(at), str(at)) for at in throughputs))


def _picture(name: str, title: str, throughputs: Sequence[int], cases: Sequence[Case]) -> Picture:
    x = [*map(float, throughputs)]

    def shares(case: Case, policy: str) -> list[float]:
        return [
            over_seeds(_share, case.samples[way(policy, None)], case.samples[way(policy, throughput)]).mean
            for throughput in throughputs
        ]

    series = tuple(
        Series(f"{case.load.name}, {policy}", x, shares(case, policy), dashed=policy == "bch_ldpc", colour=place)
        for place, case in enumerate(cases)
        for policy in POLICIES
    )
    y = Axis("ideal write response / write response", span=(0.0, 1.05), better="higher")
    return Picture(name=name, chart=Chart(title=title, x=_axis(throughputs), y=y, series=series))


def _share(ideal: Mapping[str, Any], row: Mapping[str, Any]) -> float:
    return Run(ideal).write_ns / Run(row).write_ns


def _table(name: str, title: str, found: Cases) -> Table:
    columns = ("trace", "policy", "LDPC MB/s", "seed", "write mean us", "encoding us", "encoder busy", "pages written")
    rows: list[tuple[object, ...]] = []
    for case in (*found.real, *found.alike):
        for each, sample in case.samples.items():
            policy, _, throughput = each.partition(" ")
            for seed, row in sample.rows.items():
                one = Run(row)
                line = (case.load.title, policy, None if throughput == "None" else int(throughput), seed, one.write_ns / 1000)
                rows.append((*line, one.encoding_ns / 1000, one.encoder, one.host, one.overhead, one.misses))
    return Table(name=name, title=title, columns=(*columns, "reprogrammed per page", "past the limit"), rows=rows)
