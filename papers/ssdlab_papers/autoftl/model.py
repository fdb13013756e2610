"""Figures 3, 5, 6 and 7: the wear of an erase, drawn from the substitute that stands in for the lost curves.

The text gives end points: 0.46 for a fast and 0.45 for a slow erase at a voltage lower by 14 %, which is a saved margin
of 1.06 V, and a program twice as long for half the step. What lies between is assumed (FACTS 4.2): lines through these
points, and equal steps of the voltage. How much of the margin is due to narrow levels, and how much to fresh cells, the
text does not say. That share is calibrated on one label, which is an input: with slow erases at the lowest voltage
alone, which is the most that autoFTL can gain, the gain is that of prxy_0, the greatest of the eight traces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean

from ssdlab.charts import Axis, Chart, Mark, Series
from ssdlab_papers.entry import Picture

#: Largest saved margin [V], and the voltage scaling ratio that it allows (section 3.5).
MARGIN_V, RATIO = 1.06, 0.14
#: Ends of the lines of the effective wear over the ratio: at 0 for a slow erase, and at the largest ratio (FACTS 4.1).
#: The paper's own -19 % would put the slow one at 0.37.
_SLOW_WHOLE, _FAST_END, SLOW_END = 0.81, 0.46, 0.45
#: Trace on whose label of figure 9 the share is calibrated, and that label: the gain in MAX P/E.
CALIBRATED_ON, LABEL = "prxy_0", 0.82
#: Share of the margin that narrow levels save, to a tenth the one that gives the label; fresh cells have the rest.
SHARE = 0.4
#: Exponent of the spacing of the write modes' steps [A].
SPACING = 1.0
#: Write modes, and parts of the endurance.
_MODES, _PARTS = 5, 6
#: Places of the modes in the presets: erase modes by level and speed after `nominal`, write modes 1 to 4 after `fast`.
_FIRST_ERASE, _FIRST_WRITE = 1, 2


def step(mode: int, spacing: float = SPACING) -> float:
    """Returns the program step of a write mode over the nominal one: 1 for mode 0, a half for mode 4."""
    return 1.0 - 0.5 * math.pow(mode / (_MODES - 1), spacing)


def saved_v(mode: int, part: int, share: float = SHARE, spacing: float = SPACING) -> float:
    """Returns the margin that a write mode and a part of the endurance save [V]."""
    narrow, fresh = (1.0 - step(mode, spacing)) / 0.5, 1.0 - part / (_PARTS - 1)
    return MARGIN_V * (share * narrow + (1.0 - share) * fresh)


def wear_at(ratio: float, *, slow: bool, slow_end: float = SLOW_END) -> float:
    """Returns the effective wear of an erase at a voltage scaling ratio; a slow one ends at `slow_end`."""
    whole, least = _SLOW_WHOLE if slow else 1.0, slow_end if slow else _FAST_END
    return whole + (least - whole) * ratio / RATIO


def wear(mode: int, *, slow: bool, share: float = SHARE, spacing: float = SPACING, slow_end: float = SLOW_END) -> list[float]:
    """Returns the effective wear of an erase mode in each part of the endurance."""
    ratios = [RATIO * saved_v(mode, part, share, spacing) / MARGIN_V for part in range(_PARTS)]
    return [round(wear_at(ratio, slow=slow, slow_end=slow_end), 3) for ratio in ratios]


def fields(share: float = SHARE, spacing: float = SPACING, slow_end: float = SLOW_END) -> dict[str, object]:
    """Returns the fields of a drive with the model's wear and program times."""
    erases = {
        f"flash.erase_mode[{_FIRST_ERASE + 2 * mode + slow}].wear": wear(
            mode, slow=bool(slow), share=share, spacing=spacing, slow_end=slow_end
        )
        for mode in range(_MODES)
        for slow in (0, 1)
    }
    programs = {
        f"flash.write_mode[{_FIRST_WRITE + mode - 1}].program_scale": round(1.0 / step(mode, spacing), 4)
        for mode in range(1, _MODES)
    }
    return {**erases, **programs}


def cycles(mode: int, *, slow: bool, share: float = SHARE) -> float:
    """Returns MAX P/E over the rated cycles if all erases are in one mode: the mean over the parts of 1 / wear."""
    return fmean(1.0 / each for each in wear(mode, slow=slow, share=share))


def most() -> float:
    """Returns the greatest gain in MAX P/E: all erases are slow, and at the lowest voltage."""
    return cycles(_MODES - 1, slow=True) - 1.0


def added_by_slow(mode: int) -> float:
    """Returns what slow erases add to MAX P/E, as a share, if all erases are in one mode."""
    return cycles(mode, slow=True) / cycles(mode, slow=False) - 1.0


def pictures() -> Iterator[Picture]:
    """Yields the figures."""
    ratios = [RATIO * at / 14 for at in range(15)]
    yield Picture(
        name="autoftl-figures-3-6",
        chart=Chart(
            title="Figures 3b and 6b, substitute: effective wear over the voltage scaling ratio",
            x=Axis("voltage scaling ratio r"),
            y=Axis("effective wear of an erase", span=(0.0, 1.05), better="lower"),
            series=tuple(
                Series(name, ratios, [wear_at(ratio, slow=slow) for ratio in ratios], points=False)
                for name, slow in (("fast erase", False), ("slow erase", True))
            ),
            marks=(Mark(_FAST_END, "stated: 0.46 and, slow, 0.45 at r = 0.14"),),
            note="lines through the stated end points; what was measured between them is lost",
        ),
    )
    modes = [*range(_MODES)]
    yield Picture(
        name="autoftl-figure-5",
        chart=Chart(
            title="Figure 5, substitute: saved margin by write mode and by summed wear",
            x=Axis("write mode", counts=True),
            y=Axis("saved margin [V]", span=(0.0, 1.1), better="higher"),
            series=tuple(
                Series(f"{part / 2:g} to {(part + 1) / 2:g} K", modes, [saved_v(mode, part) for mode in modes])
                for part in range(_PARTS)
            ),
            marks=(Mark(MARGIN_V, "stated: 1.06 V"),),
            legend="summed wear",
            note=f"{SHARE:.0%} from the step and {1 - SHARE:.0%} from fresh cells, calibrated on the label of {CALIBRATED_ON}",
        ),
    )
    parts = [0.25 + part / 2 for part in range(_PARTS)]
    yield Picture(
        name="autoftl-figure-7",
        chart=Chart(
            title="Figure 7, substitute: effective wear of the erase modes over the summed wear",
            x=Axis("summed effective wear [K]"),
            y=Axis("effective wear of an erase", span=(0.0, 1.05), better="lower"),
            series=tuple(
                Series(f"EVmode {mode}{', slow' if slow else ''}", parts, wear(mode, slow=slow), dashed=slow, colour=mode)
                for mode in modes
                for slow in (False, True)
            ),
            note="lines as in FACTS 4.2; the figure is lost",
        ),
    )
    shares = [at / 20 for at in range(6, 19)]
    yield Picture(
        name="autoftl-shares",
        chart=Chart(
            title="MAX P/E in one mode throughout, over the share of the margin that narrow levels save",
            x=Axis("share of the margin by narrow levels; the rest by fresh cells"),
            y=Axis("MAX P/E / baseline", span=(1.0, 2.3), better="higher"),
            series=tuple(
                Series(
                    f"EVmode {mode}{', slow' if slow else ''}",
                    shares,
                    [cycles(mode, slow=slow, share=share) for share in shares],
                    dashed=slow,
                    colour=mode,
                    points=False,
                )
                for mode in (0, 2, 4)
                for slow in (False, True)
            ),
            marks=(Mark(SHARE, f"calibrated: {SHARE:.0%}", "x"), Mark(1.0 + LABEL, f"label of {CALIBRATED_ON}: +{LABEL:.0%}")),
        ),
    )
