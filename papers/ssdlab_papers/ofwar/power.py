"""Section 3.3: data protection during power shutdown.

The experiment measures the pages at risk and lost by power-down time and retention margin, the entries of the rewrite
queue saved by the time of the supercapacitor, and a graceful shutdown. Its few runs are not in a sweep, as a sweep
keeps no time of a shutdown. The paper gives no figure. It states that data
survives a power-down that is short compared with its retention, and that the depth of the queue follows from the backup
power.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import Drive, check
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import estimate
from ssdlab.units import count
from ssdlab_papers.claim import Claim, number, unclaimed
from ssdlab_papers.entry import Entry, Picture, Table
from ssdlab_papers.ofwar.runs import WORK, statement_on
from ssdlab_papers.session import run
from ssdlab_papers.setting import Setting

_HOUR = 3_600.0
_DAY = 24 * _HOUR
_RATED = 10_000
#: The paper's two modes, derived from its cell for its rated cycles.
_MODES = (
    {"name": "normal", "derive": {"retention": "10y", "at_pe_cycles": _RATED}},
    {"name": "fast", "derive": {"retention": "4d", "at_pe_cycles": _RATED}},
)
_FAST_LIMIT = 4 * _DAY
#: Bursts of 600 writes on average, one per hour, for about seven days. They leave fast pages of every age up to the
#: limit, in a queue that does not fill up.
_BURSTS = {"kind": "on_off", "on_time": "3ms", "off_time": "1h", "on_gap": "5us"}
_REQUESTS = 600 * 24 * 7
_CUT = "5d"
#: No rewrites in idle time: ageing data is moved only because of its limit.
_NEVER: dict[str, object] = {"policy.ofwar.rewrite_threshold": 65_536}
#: Settings that fill the queue of 64 K entries: every write is fast, and nothing is rewritten in idle time.
_FULL: dict[str, object] = _NEVER | {"policy.ofwar.write_threshold": 0}


@dataclass(frozen=True, slots=True)
class Case:
    """Settings of the policy, and retention margin."""

    name: str
    #: Retention margin [h].
    margin: int
    settings: Mapping[str, object]


_CASES = (
    Case("as in the paper", 1, {}),
    Case("no idle rewrites", 1, _NEVER),
    Case("no idle rewrites", 12, _NEVER),
    Case("no idle rewrites", 48, _NEVER),
)
#: Power-down times [h].
_DOWNS = (0.5, 6.0, 11.5, 24.0, 47.5, 90.0, 120.0, 30 * 24.0, 365 * 24.0, 3 * 365 * 24.0)
_FEW_DOWNS = (0.5, 24.0, 47.5, 365 * 24.0)
#: Times of the supercapacitor [us]: eight programs of 600 us save a full queue.
_TIMES = (0, 500, 600, 1_200, 2_400, 3_600, 4_700, 4_800, 10_000)
_FEW_TIMES = (0, 2_400, 4_800)


@dataclass(frozen=True, slots=True)
class Found:
    """Effects of a power failure."""

    case: Case
    #: Power-down time [h].
    down: float
    seed: int
    at_risk: int
    lost: int
    #: Fast pages that the policy still had to rewrite.
    held: int
    #: Moves of data past its limit, pages at risk left out.
    misses: int


def aged_drive() -> Drive:
    """Returns the paper's drive at its rated wear, with modes derived from its cell."""
    text = check({"base": "ofwar-64g", "flash": {"write_mode": [*_MODES]}, "state": {"pe_cycles": _RATED}})
    return Drive.from_text(text, "ofwar-64g at its rated wear")


def entries(setting: Setting) -> Iterator[Entry | Picture | Table]:
    """Yields the effects of power-down time and of the supercapacitor, and a graceful shutdown."""
    drive = aged_drive()
    downs = _FEW_DOWNS if setting.quick else _DOWNS
    cases = (_CASES[0], _CASES[1], _CASES[3]) if setting.quick else _CASES
    pieces = [(case, down, seed) for case in cases for down in downs for seed in range(1, setting.seeds + 1)]
    found = setting.share_out("power failure", lambda piece: _fail(drive, *piece), pieces)
    yield _losses(found)
    yield from _saved(setting, drive)
    yield _graceful(setting, drive)
    yield _picture(cases, [each for each in found if each.seed == 1])
    yield Table(
        name="ofwar-power",
        title="Pages at risk and lost by power-down time, on the paper's drive at its rated wear",
        columns=("policy", "margin_h", "down_h", "seed", "queue_entries", "at_risk_pages", "lost_pages", "deadline_misses"),
        rows=[(f.case.name, f.case.margin, f.down, f.seed, f.held, f.at_risk, f.lost, f.misses) for f in found],
    )


def _fail(drive: Drive, case: Case, down: float, seed: int) -> Found:
    job = {"name": "bursts", "pattern": "random", "read_share": 0.0, "arrival": _BURSTS, "requests": _REQUESTS}
    summary = run(
        drive,
        {"kind": "synthetic", "job": [job]},
        "ofwar",
        set={**case.settings, "ftl.retention_margin": f"{case.margin}h"},
        precondition="fill",
        power_cut=f"{_CUT},graceful",
        power_down=f"{round(down * _HOUR)}s",
        seed=seed,
    ).summary
    failure = summary["power_failure"]
    return Found(
        case=case,
        down=down,
        seed=seed,
        at_risk=int(failure["at_risk_pages"]),
        lost=int(failure["lost_pages"]),
        held=int(failure["policy_entries"]["held"]),
        misses=int(summary["reliability"]["deadline_misses"]),
    )


def _losses(found: list[Found]) -> Claim:
    """Returns the pages lost in power-downs that are short compared with the retention of fast data."""
    short = [each for each in found if each.down <= 24.0]
    lost = estimate([max(each.lost for each in short if each.seed == seed) for seed in dict.fromkeys(e.seed for e in short)])
    return statement_on(
        lost,
        f"{lost.mean:,.0f} ({len(short)} power-downs, at most {count(max(each.held for each in short))} fast pages owed)",
        where="section 3.3",
        what="pages lost, power-down of a day at most",
        published="none: 4 days are significantly longer than the power-down",
        high=0.0,
        load="five days of hourly bursts, then a power failure",
        note="fast pages of every age are on the drive when power fails",
    )


def _saved(setting: Setting, drive: Drive) -> Iterator[Claim | Picture]:
    """Yields the entries of a full queue saved within given times."""
    times = _FEW_TIMES if setting.quick else _TIMES
    runs = setting.share_out("supercapacitor", lambda time: full_queue(drive, time), times)
    saved = [float(summary["power_failure"]["policy_entries"]["saved"]) for summary in runs]
    each = ", ".join(f"{time / 1000:g} ms: {count(int(entries))}" for time, entries in zip(times, saved, strict=True))
    yield unclaimed(
        estimate(saved[-1:]),
        each,
        work=WORK,
        where="section 3.3",
        what="entries of a full rewrite queue that are saved, by the time of the backup power",
        published="no number: the depth follows from the backup power",
        standing="stated",
        note="entries of 16 bytes are assumed; 32 chips program 4 KiB of them in 600 us at once",
    )
    yield Picture(
        name="ofwar-supercapacitor",
        chart=Chart(
            title="Entries of a full rewrite queue that are saved",
            x=Axis("time of the supercapacitor (ms)"),
            y=Axis("entries saved", better="higher"),
            series=(Series("OFWAR", [time / 1000 for time in times], saved),),
        ),
    )


def full_queue(drive: Drive, time: int) -> dict[str, Any]:
    """Runs writes that fill the queue within two seconds, an hour without power, then five days of a write per hour."""
    burst = {"name": "burst", "pattern": "random", "read_share": 0.0, "requests": 70_000}
    later = {"name": "later", "pattern": "random", "read_share": 0.0, "requests": 120}
    jobs = [
        {**burst, "arrival": {"kind": "constant", "gap": "25us"}},
        {**later, "arrival": {"kind": "constant", "gap": "1h"}},
    ]
    settings = _FULL | {"policy.ofwar.supercap_time": f"{time}us", "ftl.retention_margin": "2h"}
    workload = {"kind": "synthetic", "job": jobs}
    return run(drive, workload, "ofwar", set=settings, precondition="fill", power_cut="30s,graceful", power_down="1h").summary


def _graceful(setting: Setting, drive: Drive) -> Claim:
    """Returns the time of a shutdown that first rewrites a full queue."""
    job = {"name": "burst", "pattern": "random", "read_share": 0.0, "requests": 70_000}
    workload = {"kind": "synthetic", "job": [{**job, "arrival": {"kind": "constant", "gap": "25us"}}]}
    settings = _FULL | {"state.graceful_shutdown": True}
    seeds = range(1, setting.seeds + 1)
    done = [run(drive, workload, "ofwar", set=settings, precondition="fill", seed=seed).summary for seed in seeds]
    took = estimate([float(summary["shutdown_ns"]) / 1e9 for summary in done])
    return number(
        took,
        1.0,
        0.5,
        work=WORK,
        where="section 3.3",
        what="graceful shutdown with a full rewrite queue of 64 K entries",
        unit=lambda seconds: f"{seconds:.2f} s",
        words="around 1 s with the latest SSDs (256 MB)",
        agrees=False,
        load="a full rewrite queue",
        note="each page passes one of two channels of 133 MB/s twice, 30.8 us each time; the paper counts 256 MB at the speed "
        "of another drive",
    )


def _picture(cases: tuple[Case, ...], found: list[Found]) -> Picture:
    """Returns the curves of pages at risk in each case, and of pages lost with a margin of one hour."""
    series = []
    for place, case in enumerate(cases):
        of_case = [each for each in found if each.case is case]
        days = [each.down / 24.0 for each in of_case]
        name = f"{case.name}, {case.margin} h"
        series.append(Series(f"at risk, {name}", days, [float(each.at_risk) for each in of_case], colour=place))
        if case.margin == 1:
            lost = [float(each.lost) for each in of_case]
            series.append(Series(f"lost, {name}", days, lost, dashed=True, colour=place))
    return Picture(
        name="ofwar-power",
        chart=Chart(
            title="Pages at risk and lost, by retention margin",
            x=Axis("power-down (days)", log=True),
            y=Axis("pages"),
            series=tuple(series),
            marks=(Mark(_FAST_LIMIT / _DAY, "limit of fast data", on="x"),),
        ),
    )
