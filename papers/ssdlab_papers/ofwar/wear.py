"""Gain of OFWAR by wear, beside that of the control `wear_adaptive`.

The control keeps the full retention, and uses the margin that the cell has left at its wear.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from ssdlab import Drive, check
from ssdlab.charts import Axis, Chart, Series
from ssdlab.units import percent
from ssdlab_papers.entry import Entry, Picture
from ssdlab_papers.ofwar.figures import change
from ssdlab_papers.ofwar.loads import LENGTHS
from ssdlab_papers.ofwar.runs import Effect, Run, run
from ssdlab_papers.setting import Setting
from ssdlab_papers.traces import Load

#: Shares of the rated cycles at which everything is run.
_WEAR = (0.0, 0.3, 0.5, 1.0)
_RATED = 10_000
_LOADS = ("iozone", "copy", "telegram")
_POLICIES = ("baseline", "ofwar", "wear_adaptive")
#: Programming units per channel: few enough for the program time to matter.
_UNITS = 8
#: Modes derived from the paper's cell: its two, the fast one with a limit that follows wear, and for the control a
#: wider and a narrower step than the fast mode's.
_MODES = (
    {"name": "normal", "derive": {"retention": "10y", "at_pe_cycles": _RATED}},
    {"name": "fast", "derive": {"retention": "4d", "at_pe_cycles": _RATED, "by_wear": True}},
    {"name": "wide", "derive": {"step": 0.45, "at_pe_cycles": _RATED, "by_wear": True}},
    {"name": "narrow", "derive": {"step": 0.30, "at_pe_cycles": _RATED, "by_wear": True}},
)


def worn_drive() -> Drive:
    """Returns the paper's drive with derived modes.

    They are solved here, once: a resolved description keeps the results.
    """
    text = check({"base": "ofwar-64g", "flash": {"write_mode": [*_MODES]}})
    return Drive.from_text(text, "ofwar-64g with derived modes")


def entries(setting: Setting) -> Iterator[Entry | Picture]:
    """Yields the mean response at 0, 30, 50 and 100 % of the rated wear."""
    drive = worn_drive()
    used = [load for name in _LOADS if (load := setting.traces.load(name)) is not None]
    wear = (0.0, 1.0) if setting.quick else _WEAR
    used = used[-1:] if setting.quick else used
    pieces = [(load, share, policy) for share in wear for load in used for policy in _POLICIES]
    found = dict(zip(pieces, setting.share_out("wear", lambda piece: _run(setting, drive, *piece), pieces), strict=True))

    def effects(share: float, policy: str) -> list[Effect]:
        return [Effect(found[load, share, "baseline"], found[load, share, policy]) for load in used]

    means = {(share, policy): fmean(e.mean for e in effects(share, policy)) for share in wear for policy in _POLICIES}
    for share in wear:
        ofwar, control = means[share, "ofwar"], means[share, "wear_adaptive"]
        young = share <= 0.5
        rewritten = fmean(e.rewritten for e in effects(share, "ofwar"))
        yield Entry(
            work="OFWAR",
            where="POLICIES 6",
            what=f"mean response of OFWAR over the control wear_adaptive at {share:.0%} of the rated wear",
            published="above 1: full retention is nearly free" if young else "below 1: now it costs",
            standing="derived",
            ours=ofwar / control,
            shown=f"{ofwar / control:.2f} (OFWAR {change(ofwar)}, {percent(rewritten)} rewritten; "
            f"wear_adaptive {change(control)})",
            low=1.0 if young else 0.0,
            high=10.0 if young else 1.0,
            note="modes derived from the paper's cell: up to half the rated cycles a fast write keeps ten years (FACTS "
            "1.3), so that writing fast always, without rewrites, beats OFWAR; near the end only the short promise is fast. "
            f"Mean of {', '.join(load.title for load in used)}, {_UNITS} units per channel",
        )
    yield Picture(
        name="ofwar-wear",
        chart=Chart(
            title="Mean response over the baseline's by wear",
            x=Axis("share of the rated cycles", span=(-0.02, 1.02)),
            y=Axis("mean response / baseline", span=(0.0, 1.1), better="lower"),
            series=tuple(Series(policy, [*wear], [means[share, policy] for share in wear]) for policy in _POLICIES[1:]),
        ),
    )


def _run(setting: Setting, drive: Drive, load: Load, wear: float, policy: str) -> Run:
    length = LENGTHS[load.name]
    workload = load.workload(length.quick if setting.quick else length.grid)
    return run(workload, policy, _UNITS, {"state.pe_cycles": round(wear * _RATED)}, drive=drive)
