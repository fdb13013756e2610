"""Effect of each rule: the policy and its buffer read as in the text, and otherwise, on a busy load of each drive.

The paper's mechanism on the mobile drive is a gain of 38 % with hardly any slow or lazy erase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab.units import percent
from ssdlab_papers.autoftl.figures import LITTLE, OF_MOBILE, RARE
from ssdlab_papers.autoftl.loads import ENTERPRISE, MOBILE, Case, Cases
from ssdlab_papers.autoftl.runs import WORK, gain, lazy, lives, slow, wait_ns
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample

#: Distance from the published gain up to which it counts as restored: a point beyond those of the two traces.
_NEAR = 0.02
#: Rules by their names, and the fields of the drive that make them; the first is the usual one.
RULES: Mapping[str, Mapping[str, object]] = {
    "as described": {},
    "past utilisation sampled at each program, not at each write request": {"policy.autoftl.sampled_per": "program"},
    "data in the buffer replaced, not queued": {"buffer.rewritten": "replaced"},
    "an erase counted in programs of the copies, not of the host": {"policy.autoftl.erases_in": "copy_mode"},
    "all three of these": {
        "policy.autoftl.sampled_per": "program",
        "buffer.rewritten": "replaced",
        "policy.autoftl.erases_in": "copy_mode",
    },
    "erase voltage by the utilisation with the copies": {"policy.autoftl.erases_by": "with_copies"},
    "background collection keeps 3 blocks free, not 8": {"ftl.gc_idle_target_blocks": 3},
    "no background collection": {"ftl.gc_idle_after": "100d"},
    "background collection once the drive is idle, not the die": {"ftl.gc_idle_of": "drive"},
}
#: Names of the rules in pictures, in the same order.
_SHORT = ("as described", "per program", "replaced", "in copies", "these three", "by u*", "3 free", "no background", "drive idle")
#: Rules of a quick run, on the phone alone.
_QUICK = ("as described", "no background collection")
#: Loads: a phone, and a server that fills the buffer.
_LOADS = ((MOBILE, "download"), (ENTERPRISE, "vm"))


@dataclass(frozen=True, slots=True)
class Effect:
    """The runs of one rule, by the drive's name."""

    rule: str
    runs: Mapping[str, Sample]

    def text(self, drive: str) -> str:
        """Returns what came out on a drive, in words."""
        run = self.runs[drive]
        shares = f"slow {percent(run.estimate(slow).mean)}, lazy {percent(run.estimate(lazy).mean)}"
        return f"{drive} {change_text(run.estimate(gain).mean)} ({shares}, write {run.estimate(wait_ns).mean / 1e6:.2f} ms)"

    @property
    def restores(self) -> tuple[bool, bool, bool]:
        """True for the gain, the slow and the lazy erases if they are as published for the mobile drive."""
        run = self.runs[MOBILE.name]
        found = [run.estimate(quantity).mean for quantity in (gain, slow, lazy)]
        return abs(found[0] - OF_MOBILE) <= _NEAR, found[1] <= LITTLE, found[2] <= RARE


def run_effects(setting: Setting, used: Cases) -> tuple[list[Case], list[Effect]]:
    """Runs both loads under every rule."""
    leading = used.leading
    chosen = [
        case
        for on, name in _LOADS[: 1 if setting.quick else 2]
        for case in leading
        if case.on is on and case.load.name == name and case.is_as_stated
    ]
    rules = [*(_QUICK if setting.quick else RULES)]
    wanted = [(case, "autoftl", RULES[rule]) for rule in rules for case in chosen]
    found = iter(lives(setting, "rules", wanted))
    return chosen, [Effect(rule, {case.on.name: next(found) for case in chosen}) for rule in rules]


def entries(cases: Sequence[Case], effects: Sequence[Effect]) -> Iterator[Claim | Picture | Table]:
    """Yields what each rule gives, which of them restores the published mechanism, and the numbers."""
    load = ", ".join(case.title for case in cases)
    for effect in effects:
        run = next(iter(effect.runs.values()))
        yield _shown(
            run.estimate(gain).mean,
            "; ".join(effect.text(drive) for drive in effect.runs),
            what=f"rule: {effect.rule}",
            load=load,
            seeds=len(run.rows),
        )
    if all(MOBILE.name in effect.runs for effect in effects):
        yield _mechanism(effects, load)
    yield _picture(effects)
    yield _table(cases, effects)


def _mechanism(effects: Sequence[Effect], load: str) -> Claim:
    """Returns which rules restore the published mechanism on the mobile drive."""
    parts = ("a gain of 38 %", f"at most {percent(LITTLE)} slow", f"at most {percent(RARE)} lazy")
    met = {part: [effect.rule for effect in effects if effect.restores[at]] for at, part in enumerate(parts)}
    together = [effect.rule for effect in effects if all(effect.restores)]
    each = "; ".join(f"{part}: {', '.join(rules) or 'none'}" for part, rules in met.items())
    return _shown(
        len(together),
        f"{', '.join(together) or 'none'} ({each})",
        what="rules that restore the published mechanism on the mobile drive: the gain, and hardly any slow or lazy erase",
        load=load,
        seeds=len(next(iter(effects[0].runs.values())).rows),
    )


def _shown(ours: float, shown: str, **further: object) -> Claim:
    return Claim(
        work=WORK,
        where="sections 4.2 to 4.6",
        published="–",
        standing="",
        ours=ours,
        shown=shown,
        unscored="shown",
        **further,  # type: ignore[arg-type]
    )


def _picture(effects: Sequence[Effect]) -> Picture:
    """Returns the gain, and the shares of slow and lazy erases, of every rule on the mobile drive."""
    of_mobile = [effect for effect in effects if MOBILE.name in effect.runs]
    short = dict(zip(RULES, _SHORT, strict=True))
    names = [short[effect.rule] for effect in of_mobile]
    chart = Chart(
        title="What each rule changes: a download to a phone",
        x=Axis(""),
        y=Axis("gain, share of erases", span=(0.0, 1.0)),
        series=tuple(
            Series(name, names, [effect.runs[MOBILE.name].estimate(quantity).mean for effect in of_mobile])
            for name, quantity in (("gain in MAX P/E", gain), ("slow erases", slow), ("lazy erases", lazy))
        ),
        marks=(Mark(OF_MOBILE, "the paper's gain: +38 %"),),
        cases=True,
    )
    return Picture(name="autoftl-rules", chart=chart)


def _table(cases: Sequence[Case], effects: Sequence[Effect]) -> Table:
    """Returns the numbers of every rule on both drives."""
    quantities = {"gain": gain, "slow erases": slow, "lazy erases": lazy, "write latency ns": wait_ns}
    rows: list[list[object]] = []
    for effect in effects:
        for case in cases:
            found = [effect.runs[case.on.name].estimate(quantity) for quantity in quantities.values()]
            rows.append([effect.rule, case.title, case.on.name, found[0].count, *(each.mean for each in found)])
    columns = ("rule", "load", "drive", "seeds", *quantities)
    return Table(name="autoftl-rules", title="What each rule changes", columns=columns, rows=rows)
