"""Write response under queueing: with long queues, a faster program gains more than its own speed-up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from statistics import median

from ssdlab import describe
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention.loads import excerpt, excerpts, length, note_of, shape
from ssdlab_papers.retention.runs import SPEED, Gain, Run, change, run, times
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Write utilisations of the baseline, to each of which one load is sped up.
_TARGETS = (0.1, 0.3, 0.5, 0.7, 0.85)
#: Published ranges of the write response speed-up: of all loads, and of the two Hadoop traces.
PUBLISHED = {"all": (1.8, 5.7), "hadoop": (3.9, 5.7)}


@dataclass(frozen=True, slots=True)
class Sped:
    """Gain of one load at one time scale."""

    time_scale: float
    gain: Gain


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the gains of many loads, minutes of each at recorded speed, and of one load sped up."""
    used = excerpts(setting)
    pieces = [(load, policy) for load in used for policy in ("baseline", "rr_speed")]
    found = dict(zip(pieces, setting.share_out("queueing", lambda piece: _run(setting, *piece), pieces), strict=True))
    gains = {load: Gain(found[load, "baseline"], found[load, "rr_speed"]) for load in used}
    for load in used:
        yield _speed_up(load, gains[load])
    yield _typical(gains, note_of(*used))
    queued = [gain for gain in gains.values() if gain.is_queued and gain.run.waiting_ns]
    if queued:
        yield _order(queued, note_of(*used))
    yield _table(gains)
    yield from _sped_up(setting, used[0], gains[used[0]])


def _run(setting: Setting, load: Load, policy: str, time_scale: float = 1.0) -> Run:
    return run(SPEED, excerpt(load, length(setting, load), time_scale), policy, shape(load))


def _speed_up(load: Load, gain: Gain) -> Entry:
    is_hadoop = load.name == "hadoop"
    asserted = note_of(load) and f"{note_of(load)}: only that writes do not get slower is asserted"
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"write response speed-up, {gain.base.writes:,} writes of {load.title} at recorded speed",
        published="3.9x to 5.7x: long queueing time" if is_hadoop else "1.8x to 5.7x, typically 2x to 2.5x",
        standing="stated" if is_hadoop else "found",
        ours=gain.speed_up,
        shown=f"{times(gain.speed_up)} ({change(gain.base.write_ns, gain.run.write_ns)}; waiting "
        f"{change(gain.base.waiting_ns, gain.run.waiting_ns)})",
        low=1.0,
        high=inf,
        note="; ".join(part for part in (_why(gain, PUBLISHED["hadoop" if is_hadoop else "all"]), asserted) if part),
    )


def _why(gain: Gain, published: tuple[float, float]) -> str:
    """Returns the reason why a load gains less or more than published; empty if it is within the range."""
    low, high = published
    if low <= gain.speed_up <= high:
        return ""
    waits = percent(gain.base.waiting_ns / gain.base.write_ns if gain.base.write_ns else 0.0)
    what = "less" if gain.speed_up < low else "more"
    return (
        f"{what} than published, as {waits} of the baseline's response is waiting: what that adds is seen on a busy drive, below"
    )


def _typical(gains: dict[Load, Gain], note: str) -> Entry:
    all_of_them = sorted(gain.speed_up for gain in gains.values())
    low, high = PUBLISHED["all"]
    inside = sum(low <= ratio <= high for ratio in all_of_them)
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"typical write response speed-up: median of {len(gains)} loads, minutes of each",
        published="2x to 2.5x",
        standing="stated",
        ours=median(all_of_them),
        shown=f"{times(median(all_of_them))} (from {times(all_of_them[0])} to {times(all_of_them[-1])}; {inside} of {len(gains)} "
        "between 1.8x and 5.7x)",
        note=note,
    )


def _order(queued: list[Gain], note: str) -> Entry:
    least = min(gain.queueing / gain.speed_up for gain in queued)
    return Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"queueing falls more than the response: least ratio of the two, {len(queued)} loads that mostly wait",
        published="above 1: 5.4x to 6.1x at 3.9x to 5.7x",
        standing="stated",
        ours=least,
        shown=f"{least:.2f} ({', '.join(f'{times(gain.queueing)} at {times(gain.speed_up)}' for gain in queued)})",
        low=1.0,
        high=inf,
        note=note,
    )


def _table(gains: dict[Load, Gain]) -> Table:
    return Table(
        name="retention-queueing",
        title=f"Minutes of each load on {SPEED} at recorded speed",
        columns=(
            "trace",
            "writes",
            "write utilisation",
            "mean us",
            "waiting us",
            "rr_speed mean us",
            "rr_speed waiting us",
            "speed-up",
            "queueing",
        ),
        rows=[
            (
                load.title,
                gain.base.writes,
                gain.base.writing,
                gain.base.write_ns / 1000,
                gain.base.waiting_ns / 1000,
                gain.run.write_ns / 1000,
                gain.run.waiting_ns / 1000,
                gain.speed_up,
                gain.queueing,
            )
            for load, gain in gains.items()
        ],
    )


def program_speed_up() -> float:
    """Returns the speed-up of the array alone: the ratio of the two modes' program times."""
    normal, fast = (float(mode["program_ns"]) for mode in describe(SPEED)["write_modes"])
    return normal / fast


def _sped_up(setting: Setting, load: Load, recorded: Gain) -> Iterator[Entry | Picture]:
    """Yields the gains of the same requests replayed faster, which explain by queueing how loads differ."""
    targets = (0.7,) if setting.quick else _TARGETS
    scales = [target / recorded.base.writing for target in targets]
    pieces = [(scale, policy) for scale in scales for policy in ("baseline", "rr_speed")]
    runs = setting.share_out("speed", lambda piece: _run(setting, load, piece[1], piece[0]), pieces)
    made = dict(zip(pieces, runs, strict=True))
    sped = [Sped(1.0, recorded)] + [Sped(scale, Gain(made[scale, "baseline"], made[scale, "rr_speed"])) for scale in scales]
    alone, last = program_speed_up(), sped[-1].gain
    curve = ", ".join(f"{times(each.gain.speed_up)} at {each.gain.base.writing:.2f}" for each in sped)
    yield Entry(
        work="retention relaxation",
        where="Improving Write Speed",
        what=f"write response speed-up on a busy drive, {load.title} sped up {sped[-1].time_scale:.0f} times",
        published=f"above the program's own {alone:.2f}x, due to long queueing time",
        standing="stated",
        ours=last.speed_up,
        shown=f"{curve} of the time that the baseline's dies write; queueing {times(last.queueing)} less",
        low=alone,
        high=inf,
        note="why some loads gain more than twice what others do: a queue shortens by more than its server gets faster",
    )
    if len(sped) > 2:
        yield Picture(
            name="retention-queueing",
            chart=Chart(
                title=f"Write response speed-up by utilisation: {load.title}, sped up",
                x=Axis("share of the time that the baseline's dies write", span=(0.0, 1.0)),
                y=Axis("times", log=True),
                series=(
                    Series("response", [each.gain.base.writing for each in sped], [each.gain.speed_up for each in sped]),
                    Series(
                        "queueing", [each.gain.base.writing for each in sped], [each.gain.queueing for each in sped], dashed=True
                    ),
                ),
                marks=(Mark(alone, "program alone"),),
            ),
        )
