"""Gain of the two-week guarantee by wear, beside that of the control `wear_adaptive`.

The control keeps the full retention, and uses the margin that the cell has left at its wear. No work claims these
values (POLICIES 6).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from ssdlab import check
from ssdlab.charts import Axis, Chart
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Loads, shown_claim
from ssdlab_papers.retention.codes import encoder
from ssdlab_papers.retention.loads import is_light, minutes, weekly
from ssdlab_papers.retention.runs import CODES, SPEED, Case, Cases, Run, Way, found_alone, run_cases, times_text
from ssdlab_papers.retention.speed import speed_up
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import curve

#: Shares of the rated cycles at which everything is run.
WEAR = (0.0, 0.3, 0.5, 1.0)
RATED = 3_000
#: Policies for faster writes: baseline, policy, control and bound. For cheaper codes: rival, policy, control and bound.
_SPEED_POLICIES = ("baseline", "rr_speed", "wear_adaptive", "all_fast")
_CODE_POLICIES = ("bch_ldpc", "rr_ecc", "wear_adaptive", "all_fast")
#: Encoder [MB/s].
_ENCODER = 20
#: Load that is run for minutes beside the weeks of another, because its writes queue.
_EXCERPT = "vm"
#: Number of wear classes; a limit holds up to the end of its class.
_CLASSES = 64


def entries(setting: Setting) -> Iterator[Claim | Picture | Table]:
    """Yields the gains at 0, 30, 50 and 100 % of the rated cycles."""
    wear = WEAR[-1:] if setting.quick else WEAR
    light = weekly(setting).where(is_light)
    used = Loads(light.real[:1], ()) if light.real else Loads((), light.alike[:1])
    yield from _speed(setting, wear, used)
    if not setting.quick:
        yield from _codes(setting, wear, used)


def way(policy: str, share: float) -> str:
    """Returns the name of the runs of a policy at a state of wear."""
    return f"{policy} {share:g}"


def _edge(share: float) -> int:
    """Returns the upper end [cycles] of a block's wear class after one more erase at this share of the rated cycles.

    The rated cycles are divided into 16 classes.
    """
    width = RATED / 16
    return ceil((min(int((share * RATED + 1) / width), 15) + 1) * width)


def speed_modes() -> list[dict[str, Any]]:
    """Returns write modes whose retention limits follow wear.

    They are the work's two modes and, for the control, the widest steps that keep a year up to each state of wear.
    """
    full = [{"name": "normal", "derive": {"retention": "1y", "at_pe_cycles": RATED}}]
    fast = [{"name": "fast", "derive": {"retention": "2w", "at_pe_cycles": RATED, "by_wear": True}}]
    ladder = [
        {"name": f"year-{100 * share:.0f}", "derive": {"retention": "1y", "at_pe_cycles": _edge(share), "by_wear": True}}
        for share in WEAR[:-1]
    ]
    return full + fast + ladder


def code_modes() -> list[dict[str, Any]]:
    """Returns write modes with which the retention limit of BCH alone follows wear.

    Retention loss is proportional to cycles times time, so a block's limit is inversely proportional to its cycles
    (slide *NAND Flash in Reliable Storage*).
    """
    modes = tomllib.loads(check(CODES))["flash"]["write_mode"]
    normal, fast = ({name: mode[name] for name in ("name", "code", "retention") if name in mode} for mode in modes)
    limit = _days(fast["retention"])
    fast["retention"] = [f"{limit * _CLASSES / (place + 1):.4f}d" for place in range(_CLASSES)]
    return [normal, fast]


def _days(text: str) -> float:
    """Returns a time span in days."""
    units = {
        "ns": 1 / 86_400e9,
        "us": 1 / 86_400e6,
        "ms": 1 / 86_400e3,
        "s": 1 / 86_400,
        "min": 1 / 1440,
        "h": 1 / 24,
        "d": 1.0,
        "w": 7.0,
    }
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * units[text[len(number) :]]


def _ways(drive: str, policies: Sequence[str], wear: Sequence[float], fields: Mapping[str, object]) -> dict[str, Way]:
    return {
        way(policy, share): (drive, policy, {**fields, "state.pe_cycles": round(share * RATED)})
        for share in wear
        for policy in policies
    }


def _speed(setting: Setting, wear: Sequence[float], used: Loads) -> Iterator[Claim | Picture | Table]:
    ways = _ways(SPEED, _SPEED_POLICIES, wear, {"flash.write_mode": speed_modes()})
    found = run_cases(setting, "wear", ways, used, weeks=True)
    if not setting.quick:
        busy = minutes(setting).where(lambda load: load.name == _EXCERPT)
        found += run_cases(setting, "wear-minutes", ways, Loads(busy.real, () if busy.real else busy.alike))
    for share in wear:
        for case in found.leading:
            yield _gain(case, share)
    if len(wear) > 1:
        yield _picture(found.leading[0], wear)
    yield _table(found, wear)


def _gain(case: Case, share: float) -> Claim:
    base = way("baseline", share)
    ours, control, bound = (case.gain(way(policy, share), speed_up, base) for policy in _SPEED_POLICIES[1:])
    moved = [case.estimate(way(policy, share), lambda run: run.overhead).mean for policy in _SPEED_POLICIES[1:3]]
    return shown_claim(
        found_alone(case, ours),
        times_text,
        shown=f"rr_speed {times_text(ours.mean)} ({share_text(moved[0])} reprogrammed), wear_adaptive {times_text(control.mean)} "
        f"({share_text(moved[1])}), every write fast {times_text(bound.mean)}",
        where="POLICIES 6",
        what=f"write response speed-up at {share:.0%} of the rated cycles, {case.load.title}",
        published="not given",
        note=f"limits follow wear as the cell's do: a step that keeps two weeks after all {RATED:,} cycles keeps a year "
        "after 4 % of them; the control has the widest step for the year to the end of each class of wear",
    )


def _picture(case: Case, wear: Sequence[float]) -> Picture:
    def along(policy: str) -> list[Any]:
        return [case.gain(way(policy, share), speed_up, way("baseline", share)) for share in wear]

    chart = Chart(
        title=f"Write response speed-up by wear: {case.load.title}",
        x=Axis("share of the rated cycles", span=(-0.02, 1.02)),
        y=Axis("times"),
        series=tuple(curve(policy, [*wear], along(policy)) for policy in _SPEED_POLICIES[1:]),
    )
    return Picture(name="retention-wear", chart=chart)


def _table(found: Cases, wear: Sequence[float]) -> Table:
    columns = ("trace", "share of the rated cycles", "policy", "seed", "write mean us", "reprogrammed per page", "erases")
    rows: list[tuple[object, ...]] = []
    for case in (*found.real, *found.alike):
        for share in wear:
            for policy in _SPEED_POLICIES:
                for seed, row in case.samples[way(policy, share)].rows.items():
                    one = Run(row)
                    rows.append((case.load.title, share, policy, seed, one.write_ns / 1000, one.overhead, one.erases, one.misses))
    return Table(name="retention-wear", title="Faster writes by wear", columns=(*columns, "past the limit"), rows=rows)


def _codes(setting: Setting, wear: Sequence[float], used: Loads) -> Iterator[Claim]:
    ways = _ways(CODES, _CODE_POLICIES, wear, {"flash.write_mode": code_modes(), **encoder(_ENCODER)})
    found = run_cases(setting, "wear-codes", ways, used, weeks=True)
    for case in found.leading:
        for share in wear:
            rival = way("bch_ldpc", share)
            ours, control, bound = (
                case.gain(way(policy, share), lambda gain: 1.0 / gain.speed_up, rival) for policy in _CODE_POLICIES[1:]
            )
            yield shown_claim(
                found_alone(case, ours),
                lambda value: f"{value:.2f}",
                shown=f"rr_ecc {ours.mean:.2f}, wear_adaptive {control.mean:.2f}, BCH on every host write {bound.mean:.2f}",
                where="POLICIES 6",
                what=f"write response over the rival's at {share:.0%} of the rated cycles, LDPC of {_ENCODER} MB/s, "
                f"{case.load.title}",
                published="not given",
                note="BCH alone keeps two weeks up to all of the rated cycles, and a year up to 3.8 % of them: so long the "
                "control takes it, and LDPC beyond",
            )
