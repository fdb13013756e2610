"""Section 3.3: data protection during power shutdown.

The experiment measures the pages at risk and lost by power-down time and retention margin, the entries of the rewrite
queue saved by the time of the supercapacitor, and a graceful shutdown. The paper gives no figure. It states that data
survives a power-down that is short compared with its retention, and that the depth of the queue follows from the backup
power.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab import Drive, check
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import count, duration, percent
from ssdlab_papers.entry import Entry, Picture, Table
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
_DEPTH = 65_536


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
    pieces = [(case, down) for case in cases for down in downs]
    found = setting.share_out("power failure", lambda piece: _fail(drive, *piece), pieces)
    yield from _margins(found)
    yield from _losses(found)
    yield from _supercapacitor(setting, drive)
    yield _graceful(drive)
    yield _picture(cases, found)
    yield Table(
        name="ofwar-power",
        title="Pages at risk and lost by power-down time, on the paper's drive at its rated wear",
        columns=("policy", "margin_h", "down_h", "queue_entries", "at_risk_pages", "lost_pages", "deadline_misses"),
        rows=[(f.case.name, f.case.margin, f.down, f.held, f.at_risk, f.lost, f.misses) for f in found],
    )


def _fail(drive: Drive, case: Case, down: float) -> Found:
    job = {"name": "bursts", "pattern": "random", "read_share": 0.0, "arrival": _BURSTS, "requests": _REQUESTS}
    summary = run(
        drive,
        {"kind": "synthetic", "job": [job]},
        "ofwar",
        set={**case.settings, "ftl.retention_margin": f"{case.margin}h"},
        precondition="fill",
        power_cut=_CUT,
        power_down=f"{round(down * _HOUR)}s",
    ).summary
    failure = summary["power_failure"]
    return Found(
        case=case,
        down=down,
        at_risk=int(failure["at_risk_pages"]),
        lost=int(failure["lost_pages"]),
        held=int(failure["policy_entries"]["held"]),
        misses=int(summary["reliability"]["deadline_misses"]),
    )


def _margins(found: list[Found]) -> Iterator[Entry]:
    """Yields the effect of the retention margin.

    No page is at risk in a power-down shorter than the margin; in a longer one, pages are.
    """
    shorter = [each for each in found if each.down < each.case.margin]
    worst = max(each.at_risk + each.misses for each in shorter)
    yield Entry(
        work="OFWAR",
        where="section 3.3",
        what="pages at risk or moved too late, power-down shorter than the retention margin",
        published="0",
        standing="derived",
        ours=worst,
        shown=f"{worst} at most ({len(shorter)} power-downs, up to {count(max(each.held for each in shorter))} fast pages owed)",
        low=0,
        high=0,
        note="power fails after five days of hourly bursts, when fast pages of every age are on the drive",
    )
    for margin in dict.fromkeys(each.case.margin for each in found):
        within = 3 * _DAY / _HOUR
        beyond = [each for each in found if each.case.margin == margin and each.case.settings and margin < each.down < within]
        if not beyond:
            continue
        by_down = ", ".join(f"{duration(each.down * _HOUR * 1e9)}: {count(each.at_risk)}" for each in beyond)
        yield Entry(
            work="OFWAR",
            where="section 3.3",
            what=f"pages at risk, power-down beyond a margin of {margin} h, no rewrites in idle time",
            published="more than 0, rising with the power-down",
            standing="derived",
            ours=min(each.at_risk for each in beyond),
            shown=f"{by_down} (of {count(beyond[0].held)} fast pages owed)",
            low=1,
            high=float(_DEPTH),
        )


def _losses(found: list[Found]) -> Iterator[Entry]:
    """Yields the pages lost, and the share of the pages at risk that are lost."""
    short = [each for each in found if each.down <= 24.0]
    lost = max(each.lost for each in short)
    yield Entry(
        work="OFWAR",
        where="section 3.3",
        what="pages lost, power-down of a day at most",
        published="0: 4 days are significantly longer than the power-down",
        standing="stated",
        ours=lost,
        shown=f"{lost} (at risk: {count(max(each.at_risk for each in short))} at most)",
        low=0,
        high=0,
    )
    for each in found:
        if each.down != 365 * 24.0 or each.case.margin != 1:
            continue
        share = each.lost / each.at_risk if each.at_risk else 0.0
        yield Entry(
            work="OFWAR",
            where="section 3.3",
            what=f"share of the pages at risk that is lost after a year without power, {each.case.name}",
            published="none given",
            standing="derived",
            ours=share,
            shown=f"{percent(share)} ({count(each.lost)} of {count(each.at_risk)})",
            note="a limit is where a codeword fails once in 1e15: long after it most pages are still read. At the rated wear",
        )


def _supercapacitor(setting: Setting, drive: Drive) -> Iterator[Entry | Picture]:
    """Yields the entries of a full queue saved within given times, and the fate of pages whose entries are lost."""
    times = _FEW_TIMES if setting.quick else _TIMES
    runs = setting.share_out("supercapacitor", lambda time: _full_queue(drive, time), times)
    saved = {time: int(summary["power_failure"]["policy_entries"]["saved"]) for time, summary in zip(times, runs, strict=True)}
    least = min(time for time in times if saved[time] == _DEPTH)
    yield Entry(
        work="OFWAR",
        where="section 3.3",
        what="time of the supercapacitor that saves a full rewrite queue of 64 K entries [ms]",
        published="none given: the depth follows from the backup power",
        standing="derived",
        ours=least / 1000,
        shown=f"{least / 1000:g} ms ({', '.join(f'{time / 1000:g} ms: {count(saved[time])}' for time in times)})",
        low=4.8,
        high=4.8,
        note="1 MiB in entries of 16 bytes [A], 32 chips that program 4 KiB in 600 us at once: eight programs. The policy's "
        "default is 10 ms [A]",
    )
    late = max(int(summary["reliability"]["deadline_misses"]) for summary in runs)
    moved = max(int(summary["flash"]["programs"].get("reprogram", 0)) for summary in runs)
    yield Entry(
        work="OFWAR",
        where="section 3.3",
        what="pages past their limit because their entry was lost",
        published="0",
        standing="derived",
        ours=late,
        shown=f"{late} (up to {count(_DEPTH - min(saved.values()))} entries lost, {count(moved)} pages moved by their blocks' "
        "limits)",
        low=0,
        high=0,
        note="what the policy has forgotten is moved when its block nears its limit; five days follow the power failure",
    )
    yield Picture(
        name="ofwar-supercapacitor",
        chart=Chart(
            title="Entries of a full rewrite queue that are saved",
            x=Axis("time of the supercapacitor (ms)"),
            y=Axis("entries saved", better="higher"),
            series=(Series("OFWAR", [time / 1000 for time in times], [float(saved[time]) for time in times]),),
        ),
    )


def _full_queue(drive: Drive, time: int) -> dict[str, Any]:
    """Runs writes that fill the queue within two seconds, an hour without power, then five days of a write per hour."""
    burst = {"name": "burst", "pattern": "random", "read_share": 0.0, "requests": 70_000}
    later = {"name": "later", "pattern": "random", "read_share": 0.0, "requests": 120}
    jobs = [
        {**burst, "arrival": {"kind": "constant", "gap": "25us"}},
        {**later, "arrival": {"kind": "constant", "gap": "1h"}},
    ]
    settings = _FULL | {"policy.ofwar.supercap_time": f"{time}us", "ftl.retention_margin": "2h"}
    workload = {"kind": "synthetic", "job": jobs}
    return run(drive, workload, "ofwar", set=settings, precondition="fill", power_cut="30s", power_down="1h").summary


def _graceful(drive: Drive) -> Entry:
    """Returns the entry on a shutdown that first rewrites a full queue."""
    job = {"name": "burst", "pattern": "random", "read_share": 0.0, "requests": 70_000}
    workload = {"kind": "synthetic", "job": [{**job, "arrival": {"kind": "constant", "gap": "25us"}}]}
    settings = _FULL | {"state.graceful_shutdown": True}
    summary = run(drive, workload, "ofwar", set=settings, precondition="fill").summary
    took = float(summary["shutdown_ns"])
    rewritten = int(summary["flash"]["programs"]["rewrite"])
    return Entry(
        work="OFWAR",
        where="section 3.3",
        what="graceful shutdown with a full rewrite queue of 64 K entries",
        published="around 1 s with the latest SSDs (256 MB)",
        standing="stated",
        ours=took / 1e9,
        shown=f"{duration(took)} ({count(rewritten)} pages rewritten)",
        low=0.5,
        high=1.5,
        note="each page passes one of two channels of 133 MB/s twice, 30.8 us each time: 2.0 s; the paper counts 256 MB at the "
        "speed of a drive",
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
