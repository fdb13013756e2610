"""Write response with a guarantee of two weeks beside one of a year: speed-up and queueing, at recorded speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ssdlab import describe
from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.explore.statistics import Estimate
from ssdlab_papers.claim import NOTICEABLE, Claim, rises, set_apart, untestable
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import share_text
from ssdlab_papers.real_first import Loads, shown_claim, value_claim, worded_claim
from ssdlab_papers.retention.loads import about, is_of_collections, minutes, weekly
from ssdlab_papers.retention.runs import SPEED, WORK, Case, Cases, Gain, Quantity, Run, Way, found_alone, run_cases, times_text
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import curve

#: Write utilisations of the baseline, to each of which one load is sped up. A case further than this share from its
#: target is named by what it reached.
_TARGETS = (0.1, 0.3, 0.5, 0.7, 0.85)
#: The baseline and the policy.
PAIR = ("baseline", "rr_speed")
#: The same, and the bound: every write fast, and reprogrammed only at its limit.
POLICIES = (*PAIR, "all_fast")
#: Published ends of the write response speed-up: of all traces, of what is typical, of the two Hadoop traces, and of
#: the reduction of the queueing time in these.
ALL, TYPICAL, HADOOP, QUEUEING = (1.8, 5.7), (2.0, 2.5), (3.9, 5.7), (5.4, 6.1)
#: Half of the last digit that the work gives.
DIGIT = 0.05
#: Least ratio that is a rise.
ABOVE_1 = 1.0 + NOTICEABLE
#: Share of the baseline's response from which a load mostly waits.
MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Speeds:
    """Runs of weeks, which include the bound, and runs of minutes."""

    weeks: Cases
    minutes: Cases

    @property
    def all(self) -> Cases:
        """All runs."""
        return self.weeks + self.minutes


def runs(setting: Setting) -> Speeds:
    """Runs weeks of some loads and minutes of others."""
    ways: dict[str, Way] = {policy: (SPEED, policy, {}) for policy in POLICIES}
    pair: dict[str, Way] = {policy: ways[policy] for policy in PAIR}
    long, short = weekly(setting), minutes(setting)
    known = {load.path for load in long.all}
    return Speeds(
        run_cases(setting, "weeks", ways, long, weeks=True),
        run_cases(setting, "minutes", pair, short.where(lambda load: load.path not in known)),
    )


def claims(found: Speeds) -> Iterator[Claim]:
    """Yields the claims on the speed-up and on queueing."""
    ours = found.all.of_loads(is_of_collections)
    if ours.leading:
        yield from range_claims(ours)
    yield from hadoop_claims(found.all.of_loads(lambda load: load.name == "hadoop"))
    yield from _beside(found.all)
    yield from _order(found.all)


def entries(setting: Setting, found: Speeds) -> Iterator[Picture | Table | Claim]:
    """Yields what explains the claims: the gains of all loads, and those of one load sped up."""
    yield _table(found.all)
    yield _picture(found.all)
    busy = found.minutes.of_loads(lambda load: load.name == "prxy_0")
    if busy.leading:
        yield from _sped_up(setting, busy)


def least_of(quantity: Callable[[Gain], float]) -> Quantity:
    """Returns the least value of a quantity among loads."""
    return lambda runs: min(quantity(Gain(*pair)) for pair in runs)


def most_of(quantity: Callable[[Gain], float]) -> Quantity:
    """Returns the greatest value of a quantity among loads."""
    return lambda runs: max(quantity(Gain(*pair)) for pair in runs)


def middle_of(quantity: Callable[[Gain], float]) -> Quantity:
    """Returns the median of a quantity over loads."""
    return lambda runs: median(quantity(Gain(*pair)) for pair in runs)


def speed_up(gain: Gain) -> float:
    """Returns the speed-up of the mean write response."""
    return gain.speed_up


def queueing(gain: Gain) -> float:
    """Returns by how many times the queueing time of writes falls."""
    return gain.queueing


def waits(case: Case) -> float:
    """Returns the share of the baseline's mean write response that is waiting."""
    return case.estimate("baseline", lambda run: run.waiting_ns / run.write_ns if run.write_ns else 0.0).mean


def range_claims(ours: Cases) -> Iterator[Claim]:
    """Yields both ends of the speed-up of all traces, and what is typical of them."""
    remark = about(ours.loads.leading)
    for what, chosen, published, where in (
        ("least", min, ALL[0], "abstract"),
        ("greatest", max, ALL[1], "abstract, Conclusions"),
    ):
        extreme = chosen(ours.leading, key=lambda case: case.gain("rr_speed", speed_up).mean)
        yield value_claim(
            ours.find(PAIR, least_of(speed_up) if chosen is min else most_of(speed_up)),
            published,
            DIGIT,
            words=f"{published}x",
            where=where,
            what=f"write response speed-up, {what} of any load of the work's collections",
            unit=times_text,
            headline=True,
            agrees=lambda value: rises(value - 1.0),
            note="; ".join(
                filter(
                    None, (f"{extreme.load.title}: {share_text(waits(extreme))} of the baseline's response is waiting", remark)
                )
            ),
        )
    ordered = sorted(ours.leading, key=lambda case: case.gain("rr_speed", speed_up).mean)
    every = [case.gain("rr_speed", speed_up).mean for case in ordered]
    middle = ours.find(PAIR, middle_of(speed_up))
    typical = worded_claim(
        middle,
        times_text,
        shown=f"{times_text(middle.leading.mean)} (of {', '.join(map(times_text, every))})",
        where="Write Response Time Speedup",
        what=f"typical write response speed-up: median of {len(every)} loads of the work's collections",
        published="2x to 2.5x",
        low=TYPICAL[0] - DIGIT,
        high=TYPICAL[1] + DIGIT,
        headline=True,
        agrees=rises(middle.leading.mean - 1.0),
        note=remark,
    )
    waiting = max(waits(case) for case in ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])
    yield typical if waiting >= MOSTLY else set_apart(typical, "input", _is_input(waiting, remark))


def _is_input(waiting: float, remark: str) -> str:
    """Returns why the speed-up of a load that hardly waits is an input."""
    reason = (
        f"the ratio of the two program times, {times_text(program_speed_up())}, is an input, and transfers take from it: "
        f"{share_text(waiting)} of the middle load's response is waiting"
    )
    return "; ".join(filter(None, (reason, remark)))


def hadoop_claims(ours: Cases) -> Iterator[Claim]:
    """Yields the two claims on the Hadoop traces."""
    where, what = "Workload", "write response speed-up, Hadoop"
    if not ours.leading:
        note = "no trace of Hadoop is run in this form"
        lost = untestable(work=WORK, where=where, what=what, published="3.9x to 5.7x, due to long queueing time", note=note)
        yield replace(lost, headline=True)
        return
    (case,) = ours.leading
    waiting = share_text(waits(case))
    note = f"{waiting} of the baseline's response is waiting in this part of another Hadoop run, of one node and few writes"
    for quantity, (low, high), text, title, head in (
        (speed_up, HADOOP, "3.9x to 5.7x, due to long queueing time", what, True),
        (queueing, QUEUEING, "5.4x to 6.1x", "queueing time of writes, how many times less, Hadoop", False),
    ):
        found = ours.find(PAIR, middle_of(quantity))
        yield worded_claim(
            found,
            times_text,
            where=where,
            what=title,
            published=text,
            low=low - DIGIT,
            high=high + DIGIT,
            headline=head,
            agrees=rises(found.leading.mean - 1.0),
            note=note,
        )


def _beside(every: Cases) -> Iterator[Claim]:
    """Yields the speed-up on all loads, those of other collections among them."""
    for what, quantity in (("least", least_of), ("median", middle_of), ("greatest", most_of)):
        yield shown_claim(
            every.find(PAIR, quantity(speed_up)),
            times_text,
            where="abstract",
            what=f"write response speed-up, {what} of loads of any collection",
            published="1.8x to 5.7x, typically 2x to 2.5x",
        )


def _order(every: Cases) -> Iterator[Claim]:
    """Yields the claim that queueing falls more than the response, where writes mostly wait."""
    chosen = {id(case.load) for case in (*every.real, *every.alike) if Gain(*_pair(case)).is_queued}
    queued = every.of_loads(lambda load: id(load) in chosen)
    if not queued.leading:
        return
    each = ", ".join(
        f"{times_text(case.gain('rr_speed', queueing).mean)} at {times_text(case.gain('rr_speed', speed_up).mean)}"
        for case in queued.leading
    )
    found = queued.find(PAIR, least_of(lambda gain: gain.queueing / gain.speed_up))
    yield worded_claim(
        found,
        lambda value: f"{value:.2f}",
        shown=f"{found.leading.mean:.2f} ({each})",
        where="Workload",
        what="reduction of the queueing time over that of the response: least of the loads that mostly wait",
        published="above 1: 5.4x to 6.1x at 3.9x to 5.7x",
        low=ABOVE_1,
    )


def _pair(case: Case) -> tuple[Run, Run]:
    return case.first("baseline"), case.first("rr_speed")


def _table(every: Cases) -> Table:
    columns = ("trace", "seed", "writes", "write utilisation", "mean us", "waiting us")
    rows: list[tuple[object, ...]] = []
    for case in (*every.real, *every.alike):
        for seed, row in case.samples["baseline"].rows.items():
            gain = Gain(Run(row), Run(case.samples["rr_speed"].rows[seed]))
            base, made = gain.base, gain.run
            line = (case.load.title, seed, base.writes, base.writing, base.write_ns / 1000, base.waiting_ns / 1000)
            rows.append((*line, made.write_ns / 1000, made.waiting_ns / 1000, gain.speed_up, gain.queueing))
    return Table(
        name="retention-speed",
        title=f"Each load on {SPEED} at recorded speed",
        columns=(*columns, "rr_speed mean us", "rr_speed waiting us", "speed-up", "queueing"),
        rows=rows,
    )


def _picture(every: Cases) -> Picture:
    """Returns the slide *Write Response Time Speedup* with the loads at hand."""
    ordered = sorted(every.leading, key=lambda case: not is_of_collections(case.load))
    names = [case.load.name for case in ordered]
    kinds = (("response", speed_up), ("queueing", queueing))
    chart = Chart(
        title="Write response and queueing, how many times less",
        x=Axis(""),
        y=Axis("times", log=True, better="higher"),
        series=tuple(Series(name, names, [case.gain("rr_speed", kind).mean for case in ordered]) for name, kind in kinds),
        cases=True,
        marks=(Mark(ALL[0], "the work: from 1.8x"), Mark(ALL[1], "to 5.7x")),
    )
    return Picture(name="retention-speed", chart=chart)


def program_speed_up() -> float:
    """Returns the speed-up of the array alone: the ratio of the two modes' program times."""
    normal, fast = (float(mode["program_ns"]) for mode in describe(SPEED)["write_modes"])
    return normal / fast


def _sped_up(setting: Setting, recorded: Cases) -> Iterator[Claim | Picture]:
    """Yields the gains of the same requests replayed faster, which explain by queueing how loads differ."""
    targets = (0.7,) if setting.quick else _TARGETS
    pair: dict[str, Way] = {policy: (SPEED, policy, {}) for policy in PAIR}
    (first,) = recorded.leading
    loads = recorded.loads if recorded.real == () else Loads(recorded.loads.real, ())
    usual = first.estimate("baseline", lambda run: run.writing).mean
    found = [run_cases(setting, f"sped-up-{target:g}", pair, loads, time_scale=target / usual) for target in targets]
    cases = [first, *(each.leading[0] for each in found)]
    yield _of_busy(cases, targets[-1] / usual)
    if len(cases) > 2:
        yield _curves(cases)


def _of_busy(cases: Sequence[Case], scale: float) -> Claim:
    alone_ns, last = program_speed_up(), cases[-1]
    each = ", ".join(
        f"{times_text(case.gain('rr_speed', speed_up).mean)} at {case.estimate('baseline', lambda run: run.writing).mean:.2f}"
        for case in cases
    )
    less: Estimate = last.gain("rr_speed", queueing)
    return worded_claim(
        found_alone(last, last.gain("rr_speed", speed_up)),
        times_text,
        shown=f"{each} of the time that the baseline's dies write; queueing {times_text(less.mean)} less",
        where="Workload",
        what=f"write response speed-up on a busy drive, {last.load.title} sped up {scale:.0f} times",
        published=f"above the program's own {alone_ns:.2f}x, due to long queueing time",
        low=ABOVE_1 * alone_ns,
        condition=f"if the load is {scale:.0f} times as fast as recorded",
        note="a queue shortens by more than its server gets faster",
    )


def _curves(cases: Sequence[Case]) -> Picture:
    at = [case.estimate("baseline", lambda run: run.writing).mean for case in cases]
    title = cases[0].load.title
    return Picture(
        name="retention-queueing",
        chart=Chart(
            title=f"Write response speed-up by utilisation: {title}, sped up",
            x=Axis("share of the time that the baseline's dies write", span=(0.0, 1.0)),
            y=Axis("times", log=True),
            series=(
                curve("response", at, [case.gain("rr_speed", speed_up) for case in cases]),
                curve("queueing", at, [case.gain("rr_speed", queueing) for case in cases], dashed=True),
            ),
            marks=(Mark(program_speed_up(), "program alone"),),
        ),
    )
