"""Sensitivity of the gains to what is assumed: what a reader must believe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.autoftl import model
from ssdlab_papers.autoftl.loads import ENTERPRISE, MOBILE, Case, Cases
from ssdlab_papers.autoftl.runs import AGREEMENT, COLUMNS, WORK, gain, point
from ssdlab_papers.claim import Claim
from ssdlab_papers.entry import Picture, Table
from ssdlab_papers.formats import change_text
from ssdlab_papers.sensitivity import Assumed, Sensitivity, option, sensitivity
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample

#: Joint draws: more than there are terms in the fit, 55 for nine numbers.
DRAWS = 128
#: Load of each drive: a phone, and a server that fills the buffer.
LOADS = ((MOBILE, "download"), (ENTERPRISE, "vm"))
#: Fields that stand for numbers of the wear's substitute, until a point is made.
_SHARE, _SPACING, _SLOW_END = "model.share", "model.spacing", "model.slow_end"


#: Numbers and choices that FACTS 4, POLICIES 5 and the drives' descriptions mark as assumed, and the calibrated share
#: of the margin, to a fifth on either side [A]. For the wear of a slow
#: erase at the lowest voltage the paper gives 0.45, and by its own -19 % 0.37.
ASSUMED = (
    option(_SHARE, "share of the margin that narrow levels save", (0.2, 0.6), model.SHARE, "calibrated"),
    option(_SPACING, "spacing of the write modes' steps (exponent)", (0.67, 1.5), model.SPACING),
    option(_SLOW_END, "wear of a slow erase at the lowest voltage", (0.37, 0.45), model.SLOW_END, "derived"),
    option("ftl.overprovisioning", "over-provisioning", (0.2, 0.4), 0.25),
    option("ftl.gc_idle_target_blocks", "blocks kept free in idle time", (3, 5, 8, 12, 16), 8),
    option("ftl.gc_low_blocks", "blocks kept free under load", (3, 4, 5, 6), 3),
    option("ftl.gc_preemptible", "host writes within a collection", (False, True), True),
    option("policy.autoftl.erases_by", "what sets the erase voltage", ("utilisation", "with_copies"), "utilisation"),
    option("policy.autoftl.erases_in", "unit of an erase's time", ("host_mode", "copy_mode"), "host_mode"),
)


def fields_of(given: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields of a drive: those of the wear's substitute in place of its numbers."""
    names = {_SHARE: "share", _SPACING: "spacing", _SLOW_END: "slow_end"}
    numbers = {names[field]: float(str(value)) for field, value in given.items() if field in names}
    return {**model.fields(**numbers), **{field: value for field, value in given.items() if field not in names}}


def chosen_cases(used: Cases) -> list[Case]:
    """Returns the leading load of each drive."""
    leading = used.leading
    return [case for on, name in LOADS for case in leading if case.on is on and case.load.name == name and case.is_as_stated]


def gain_sensitivity(setting: Setting, case: Case, assumed: Sequence[Assumed] = ASSUMED, draws: int = DRAWS) -> Sensitivity:
    """Returns the sensitivity of the gain on a load."""

    def points(fields: Mapping[str, object]) -> list[Mapping[str, object]]:
        return [point(case, "autoftl", fields_of(fields))]

    def quantity(runs: Sequence[Sample]) -> Estimate:
        return runs[0].estimate(lambda row: 100.0 * gain(row))

    return sensitivity(
        setting,
        f"autoftl-{case.on.name}",
        title=f"gain in MAX P/E on {case.title} (%)",
        assumed=assumed,
        points=points,
        quantity=quantity,
        draws=draws,
        columns=COLUMNS,
        lifetime={"round_cycles": case.on.round_cycles / 2.0, "agreement": AGREEMENT},
    )


def entries(setting: Setting, used: Cases, draws: int = DRAWS) -> Iterator[Claim | Picture | Table]:
    """Yields the sensitivity of the gain on a load of each drive, in the full form alone."""
    if not setting.full:
        return
    for case in chosen_cases(used):
        found = gain_sensitivity(setting, case, draws=draws)
        claim = Claim(
            work=WORK,
            where="figure 9",
            what=f"what a reader must believe: gain in MAX P/E, {case.on.name} drive",
            published="–",
            standing="assumed",
            ours=found.usual.mean / 100.0,
            shown=f"{change_text(found.usual.mean / 100.0)}: {found.text}",
            seeds=found.usual.count,
            unscored="shown",
            load=case.title,
            real_trace=case.load.is_trace,
        )
        yield from found.entries(claim)
