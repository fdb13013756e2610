"""Sensitivity of AGCR's gain over its rival to the numbers that FACTS 3 marks as recalled or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.explore.statistics import Estimate
from ssdlab_papers.agcr.figures import less_one
from ssdlab_papers.agcr.regions import fields as drive_fields
from ssdlab_papers.agcr.runs import COLUMNS, Case, Cases, point
from ssdlab_papers.sensitivity import Assumed, Sensitivity, sensitivity
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import Sample
from ssdlab_papers.traces import Load

#: Requests of each load, and joint draws: more than the 55 terms of the fit.
_LENGTH, _DRAWS = 5_000, 96
#: Transfers per second at which a page takes 49 us.
_RATE, _TRANSFER_US = 83_591_837, 49.0
_OLD_DATA = "policy.queue_driven.old_data"
_POLICIES = ("AGCR", "rival")


def _scale(mode: int) -> Any:
    return lambda us: {f"flash.write_mode[{mode}].program_scale": us / 600.0}


def _structure(dies: int) -> dict[str, object]:
    found = drive_fields({"dies": dies, "partial_write": "read nothing"}, "AGCR")
    return {name: value for name, value in found.items() if name.startswith("flash.")}


#: The numbers with their ranges, and a rule that the text gives in two ways (section 3.3). Those of table 1 are taken
#: as known within about an eighth [A].
ASSUMED = (
    Assumed(title="low-cost write [us]", standing="recalled", values=(400.0, 500.0), usual=450.0, fields=_scale(1)),
    Assumed(title="medium-cost write [us]", standing="recalled", values=(550.0, 650.0), usual=600.0, fields=_scale(0)),
    Assumed(title="high-cost write [us]", standing="recalled", values=(700.0, 900.0), usual=800.0, fields=_scale(2)),
    Assumed(
        title="sensing with one reference voltage [us]",
        standing="recalled",
        values=(20.0, 27.0),
        usual=23.3,
        fields=lambda us: {"flash.read_time": f"{1000 * us:.0f}ns"},
    ),
    Assumed(
        title="transfer of a page [us]",
        standing="recalled",
        values=(43.0, 55.0),
        usual=_TRANSFER_US,
        fields=lambda us: {"flash.transfer_rate": f"{_RATE * _TRANSFER_US / us:.0f}T/s"},
    ),
    Assumed(
        title="erase [ms]",
        standing="recalled",
        values=(1.5, 5.0),
        usual=3.0,
        fields=lambda ms: {"flash.erase_time": f"{1000 * ms:.0f}us"},
    ),
    Assumed(title="dies", standing="assumed", values=(8, 16, 32, 64), usual=32, fields=_structure),
    Assumed(
        title="the rival's old data",
        standing="assumed",
        values=("fine", "normal"),
        usual="fine",
        fields=lambda mode: {_OLD_DATA: mode},
    ),
    Assumed(
        title="medium-cost data is rewritten",
        standing="assumed",
        values=(False, True),
        usual=True,
        fields=lambda yes: {"policy.agcr.rewrite_medium": yes},
    ),
)


def gain_sensitivity(
    setting: Setting, used: Sequence[Load], assumed: Sequence[Assumed] = ASSUMED, draws: int = _DRAWS, length: int = _LENGTH
) -> Sensitivity:
    """Returns the sensitivity of the mean gain over the rival on loads."""

    def points(fields: Mapping[str, object]) -> list[Mapping[str, object]]:
        return [
            point(load, min(length, load.requests), policy, 1.0, **_of(policy, fields)) for load in used for policy in _POLICIES
        ]

    def quantity(found: Sequence[Sample]) -> Estimate:
        pairs = zip(found[::2], found[1::2], strict=True)
        cases = tuple(Case(load, dict(zip(_POLICIES, pair, strict=True))) for load, pair in zip(used, pairs, strict=True))
        return Cases(cases, ()).find(less_one("AGCR", "rival")).leading

    return sensitivity(
        setting,
        "agcr",
        title="overall response of AGCR over the rival, mean over the volumes",
        assumed=assumed,
        points=points,
        quantity=quantity,
        draws=draws,
        columns=COLUMNS,
    )


def _of(policy: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields that concern a policy's drive."""
    other = "policy.agcr." if policy == "rival" else "policy.queue_driven."
    return {name: value for name, value in fields.items() if not name.startswith(other)}
