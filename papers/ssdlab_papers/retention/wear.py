"""Gain of the two-week guarantee by wear, beside that of the control `wear_adaptive`.

The control keeps the full retention, and uses the margin that the cell has left at its wear.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from math import ceil, inf

from ssdlab import Drive, Workload, check
from ssdlab.charts import Axis, Chart, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.retention.codes import encoder
from ssdlab_papers.retention.loads import excerpt, length, note_of, shape, weekly, weeks_or_part
from ssdlab_papers.retention.runs import CODES, SPEED, Gain, Run, run, times
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Shares of the rated cycles at which everything is run.
WEAR = (0.0, 0.3, 0.5, 1.0)
RATED = 3_000
#: Policies for faster writes: baseline, policy, control and bound. For cheaper codes: rival, policy, control and bound.
_SPEED_POLICIES = ("baseline", "rr_speed", "wear_adaptive", "all_fast")
_CODE_POLICIES = ("bch_ldpc", "rr_ecc", "wear_adaptive", "all_fast")
#: Load that is run for minutes beside the weeks of another, because its writes queue.
_EXCERPT = "vm"
#: Number of wear classes; a limit holds up to the end of its class.
_CLASSES = 64


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the gains at 0, 30, 50 and 100 % of the rated cycles."""
    wear = (0.0, 1.0) if setting.quick else WEAR
    loads = _loads(setting)
    yield from _speed(setting, wear, loads)
    yield from _codes(setting, wear, loads[0])


def _loads(setting: Setting) -> list[Load]:
    other = None if setting.quick else setting.traces.load(_EXCERPT)
    return [*weekly(setting)[:1], *([] if other is None else [other])]


def _workload(setting: Setting, load: Load) -> Workload:
    return excerpt(load, length(setting, load)) if load.name == _EXCERPT else weeks_or_part(load)


def _edge(share: float) -> int:
    """Returns the upper end [cycles] of a block's wear class after one more erase at this share of the rated cycles.

    The rated cycles are divided into 16 classes.
    """
    width = RATED / 16
    return ceil((min(int((share * RATED + 1) / width), 15) + 1) * width)


def speed_drive() -> Drive:
    """Returns the drive with modes whose retention limits follow wear.

    It has the work's two modes and, for the control, the widest steps that keep a year up to each state of wear.
    """
    full = [{"name": "normal", "derive": {"retention": "1y", "at_pe_cycles": RATED}}]
    fast = [{"name": "fast", "derive": {"retention": "2w", "at_pe_cycles": RATED, "by_wear": True}}]
    ladder = [
        {
            "name": f"year-{share:.0%}".replace("%", ""),
            "derive": {"retention": "1y", "at_pe_cycles": _edge(share), "by_wear": True},
        }
        for share in WEAR[:-1]
    ]
    return Drive.from_text(check({"base": SPEED, "flash": {"write_mode": full + fast + ladder}}), f"{SPEED} by wear")


def codes_drive() -> Drive:
    """Returns the drive on which the retention limit of BCH alone follows wear.

    Retention loss is proportional to cycles times time, so a block's limit is inversely proportional to its cycles
    (slide *NAND Flash in Reliable Storage*).
    """
    resolved = tomllib.loads(check(CODES))
    modes = resolved["flash"]["write_mode"]
    normal, fast = ({name: mode[name] for name in ("name", "code", "retention") if name in mode} for mode in modes)
    limit = _days(fast["retention"])
    fast["retention"] = [f"{limit * _CLASSES / (place + 1):.4f}d" for place in range(_CLASSES)]
    return Drive.from_text(check({"base": CODES, "flash": {"write_mode": [normal, fast]}}), f"{CODES} by wear")


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


def _measure(
    setting: Setting,
    what: str,
    drive: Drive,
    policies: Sequence[str],
    wear: Sequence[float],
    loads: Sequence[Load],
    more: dict[str, object],
) -> dict[tuple[Load, float, str], Run]:
    pieces = [(load, share, policy) for share in wear for load in loads for policy in policies]

    def one(piece: tuple[Load, float, str]) -> Run:
        load, share, policy = piece
        settings = {**shape(load), **more, "state.pe_cycles": round(share * RATED)}
        return run(drive, _workload(setting, load), policy, settings)

    return dict(zip(pieces, setting.share_out(what, one, pieces), strict=True))


def _speed(setting: Setting, wear: Sequence[float], loads: list[Load]) -> Iterator[Entry | Picture | Table]:
    found = _measure(setting, "wear", speed_drive(), _SPEED_POLICIES, wear, loads, {})

    def gain(load: Load, share: float, policy: str) -> Gain:
        return Gain(found[load, share, "baseline"], found[load, share, policy])

    for share in wear:
        for load in loads:
            ours, control, bound = (gain(load, share, policy) for policy in _SPEED_POLICIES[1:])
            yield Entry(
                work="retention relaxation",
                where="POLICIES 6",
                what=f"speed-up of rr_speed over that of wear_adaptive at {share:.0%} of the rated cycles, {load.title}",
                published="near 1 on a young drive, where the year is nearly free; more with wear",
                standing="derived",
                ours=ours.speed_up / control.speed_up,
                shown=f"{times(ours.speed_up / control.speed_up)} (rr_speed {times(ours.speed_up)}, "
                f"{percent(ours.run.overhead)} reprogrammed; wear_adaptive {times(control.speed_up)}, "
                f"{percent(control.run.overhead)}; every write fast {times(bound.speed_up)})",
                low=0.97,
                high=1.2 if share == 0.0 else inf,
                note=f"limits follow wear as the cell's do: a step that keeps two weeks after all {RATED:,} cycles keeps a year "
                f"after 4 % of them; the control has the widest step for the year to the end of each class of wear{_and(load)}",
            )
    yield Picture(
        name="retention-wear",
        chart=Chart(
            title=f"Write response speed-up by wear: {loads[0].title}",
            x=Axis("share of the rated cycles", span=(-0.02, 1.02)),
            y=Axis("times", span=(0.0, 2.6)),
            series=tuple(
                Series(policy, [*wear], [gain(loads[0], share, policy).speed_up for share in wear])
                for policy in _SPEED_POLICIES[1:]
            ),
        ),
    )
    yield Table(
        name="retention-wear",
        title="Faster writes by wear",
        columns=(
            "trace",
            "share of the rated cycles",
            "policy",
            "write mean us",
            "speed-up",
            "reprogrammed per page",
            "erases",
            "past the limit",
        ),
        rows=[
            (
                load.title,
                share,
                policy,
                each.write_ns / 1000,
                gain(load, share, policy).speed_up,
                each.overhead,
                each.erases,
                each.misses,
            )
            for (load, share, policy), each in found.items()
        ],
    )


def _and(load: Load) -> str:
    note = note_of(load)
    return f"; {note}" if note else ""


def _codes(setting: Setting, wear: Sequence[float], load: Load) -> Iterator[Entry]:
    found = _measure(setting, "wear, codes", codes_drive(), _CODE_POLICIES, wear, [load], encoder(20))
    for share in wear:
        rival, ours, control, bound = (found[load, share, policy] for policy in _CODE_POLICIES)
        yield Entry(
            work="retention relaxation",
            where="POLICIES 6",
            what=f"write response of rr_ecc over that of wear_adaptive at {share:.0%} of the rated cycles, LDPC of 20 MB/s, "
            f"{load.title}",
            published="1 on a fresh drive, where BCH alone keeps the year; below 1 with wear",
            standing="derived",
            ours=ours.write_ns / control.write_ns,
            shown=f"{ours.write_ns / control.write_ns:.2f} (over the rival's: rr_ecc {ours.write_ns / rival.write_ns:.2f}, "
            f"{percent(ours.overhead)} reprogrammed; wear_adaptive {control.write_ns / rival.write_ns:.2f}, "
            f"{percent(control.overhead)}; BCH on every host write {bound.write_ns / rival.write_ns:.2f})",
            low=0.98 if share == 0.0 else 0.0,
            high=1.02 if share == 0.0 else 0.98,
            note="BCH alone keeps two weeks up to all of the rated cycles, and a year up to 3.8 % of them: so long the control "
            f"takes it, and LDPC beyond{_and(load)}",
        )
