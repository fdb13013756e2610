"""Gain of OFWAR by wear, beside that of the control `wear_adaptive`.

The control keeps the full retention, and uses the margin that the cell has left at its wear.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from ssdlab import Drive, check
from ssdlab.charts import Axis, Chart, Series
from ssdlab.explore.statistics import Estimate
from ssdlab.units import percent
from ssdlab_papers.claim import unclaimed
from ssdlab_papers.entry import Entry, Picture
from ssdlab_papers.formats import change_text
from ssdlab_papers.ofwar.loads import LENGTHS, loads
from ssdlab_papers.ofwar.runs import COLUMNS, WORK, Pair, on_bus, over_loads, response, rewritten, shape
from ssdlab_papers.setting import Setting
from ssdlab_papers.sweeps import samples
from ssdlab_papers.traces import titles

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
    leading = loads(setting).leading
    used = [load for load in leading if load.name in (_LOADS[-1:] if setting.quick else _LOADS)]
    wear = (0.0, 1.0) if setting.quick else _WEAR
    with drive_file(setting, "ofwar-worn", worn_drive()) as drive:
        points = [
            on_bus(load, LENGTHS[load.name].quick, policy, _at(drive, share))
            for share in wear
            for load in used
            for policy in _POLICIES
        ]
        runs = iter(samples(setting, "wear", points, columns=COLUMNS))
    means: dict[tuple[float, str], Estimate] = {}
    owed: dict[float, float] = {}
    for share in wear:
        ofwar, adaptive = [], []
        for load in used:
            base, first, second = next(runs), next(runs), next(runs)
            ofwar.append(Pair(load, base, first))
            adaptive.append(Pair(load, base, second))
        means[share, "ofwar"], means[share, "wear_adaptive"] = over_loads(response, ofwar), over_loads(response, adaptive)
        owed[share] = over_loads(rewritten, ofwar).mean
    for share in wear:
        control = means[share, "wear_adaptive"].mean
        yield unclaimed(
            means[share, "ofwar"],
            f"{change_text(means[share, 'ofwar'].mean)}, {percent(owed[share])} rewritten; wear_adaptive {change_text(control)}",
            work=WORK,
            where="section 4.1",
            what=f"mean response time of OFWAR and of the control wear_adaptive at {share:.0%} of the rated wear",
            load=titles(used),
            real_trace=all(load.is_trace for load in used),
            note="modes derived from the paper's cell; the control keeps ten years and uses the margin that the wear leaves; "
            f"{_UNITS} units per channel",
        )
    yield Picture(
        name="ofwar-wear",
        chart=Chart(
            title="Mean response over the baseline's by wear",
            x=Axis("share of the rated cycles", span=(-0.02, 1.02)),
            y=Axis("mean response / baseline", span=(0.0, 1.1), better="lower"),
            series=tuple(
                Series(policy, [*wear], [1.0 + means[share, policy].mean for share in wear]) for policy in _POLICIES[1:]
            ),
        ),
    )


def _at(drive: Path, wear: float) -> dict[str, object]:
    """Returns the fields of the drive at a share of its rated wear."""
    return {"drive": str(drive), "state.pe_cycles": round(wear * _RATED), **shape(_UNITS)}


@contextmanager
def drive_file(setting: Setting, name: str, drive: Drive) -> Iterator[Path]:
    """Yields the file of a drive, in the folder of kept runs or in one that is removed."""
    with nullcontext(setting.runs) if setting.runs is not None else TemporaryDirectory(prefix="ssdlab-") as folder:
        path = Path(folder) / f"{name}.toml"
        path.write_text(drive.text or "", encoding="utf-8")
        yield path
