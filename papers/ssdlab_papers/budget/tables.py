"""The drive of the one budget, and the modes that its cell allows at a given wear.

Every mode comes from one cell (``ofwar-mlc``) with one code: its program step is the widest that closes the budget for
the erase depth, the promised retention, and the error rate that the sensing corrects. Modes that a work fixes for the
drive's life (OFWAR's and retention relaxation's short guarantee, AGCR's costs) are derived at the rated wear. Modes
that a work adapts to wear (autoFTL's erase voltages, the control's step, and all modes of `margin`, `clairvoyant` and
the combinations) are derived at the wear of the run.

The levels of the cell are moved: each is as low as step and erase depth allow. The engine has no error rates of such
modes; where reads can fail, the levels are fixed at the cell's verify voltages, and all modes are derived with these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, Literal

from ssdlab import cell

#: The cell, and its rated cycles.
CELL: Final = "ofwar-mlc"
RATED: Final = 10_000
#: Stages of wear at which everything is run, as shares of the rated cycles.
WEARS: Final = (0.0, 0.3, 0.5, 1.0)
#: Full and short retention promise; the short one is OFWAR's.
FULL, SHORT = "10y", "4d"
#: References per boundary and the error rate that they correct, by read mode (FACTS 3, where the rates are assumed).
CORRECTS: Final = {"quick": (1, 0.002), "medium": (3, 0.006), "slow": (7, 0.011)}
#: Program times of the write modes for gentler erases over the normal one: steps of 1, 3/4 and 1/2 (FACTS 4.2).
GENTLE: Final = (1.0, 4.0 / 3.0, 2.0)
#: Scaling of the erase voltage per volt of window, and its maximum, at the lowest voltage of autoFTL's chip; then wear
#: without scaling and its decrease per scaling, of a fast and of a slow erase (FACTS 4.1).
_SCALING_PER_VOLT, _MOST_SCALING = 0.132, 0.14
_FAST_WEAR, _SLOW_WEAR = (1.0, 3.857), (0.81, 2.571)

#: Pages per block.
PAGES: Final = 64

#: Error rates that the code corrects with 0, 1, ... soft levels (FACTS 3), and that of a weaker one, OFWAR's BCH of 110
#: bits in 4 KiB (FACTS 1.2).
_LIMITS = [0.002, 0.006, 0.0085, 0.011]
WEAK: Final = 0.00135
#: Throughput of the strong code's encoder where a policy chooses codes: stated as near the ideal for retention
#: relaxation.
ENCODER: Final = "20MB/s"
#: Mode of one bit per cell: a program of 200 us, as in the presets of TLC and QLC, where it is assumed.
_ONE_BIT = {"name": "slc", "bits_per_cell": 1, "program_scale": 1.0 / 3.0, "retention": FULL}

#: Suspension as in the TLC preset, where it is assumed; here for erases only.
_SUSPENSION = {
    "program": False,
    "erase": True,
    "suspend_time": "20us",
    "resume_time": "20us",
    "least_remaining": "200us",
    "most": 64,
}

#: Current of a read, a program and an erase: that of the preset `pcie4-power-2tb`, 25 mA from data sheets [F] (FACTS
#: 5.9), which state the most that a die draws. Energies are upper bounds, and follow the times of the operations.
_CURRENT: Final = {"kind": "constant", "current": "25mA"}
#: Power of the flash, and of nothing else. A drive does not behave differently with it.
POWER: Final = {"supply": "3.3V", "idle": "10uA", "read": _CURRENT, "program": _CURRENT, "erase": _CURRENT}

Table = dict[str, Any]
#: Placement of the levels of the cell, as in a request for a derived write mode.
Levels = Literal["moved", "fixed"]


@cache
def _solved(cycles: int, solve: str, **given: float) -> dict[str, Any]:
    found = cell.budget(CELL, pe=cycles, retention=FULL, solve=solve, limit=CORRECTS["quick"][1], **given)
    return found.solved[0] or {}


@cache
def normal_step(levels: Levels = "moved") -> float:
    """Returns the program step of a drive without modes: full promise, hard decision, rated wear [V]."""
    if levels == "fixed":
        return float(cell.modes(CELL, pe=RATED, retention=FULL, limit=CORRECTS["quick"][1]).step)
    return float(_solved(RATED, "step")["step"])


@cache
def gentlest(cycles: int, slower: float, levels: Levels = "moved") -> float:
    """Returns the largest erase shift with which a program `slower` times slower than normal closes the budget [V].

    It is limited by the lowest erase voltage of autoFTL's chip.
    """
    most = _MOST_SCALING / _SCALING_PER_VOLT
    step = normal_step(levels) / slower
    if levels == "fixed":
        return bisected(lambda shift: _rate(cycles, step, shift) <= CORRECTS["quick"][1], most)
    return min(float(_solved(cycles, "erase", step=step).get("erase_shift") or 0.0), most)


@cache
def _gentlest_of_any(cycles: int) -> float:
    """Returns the largest erase shift with which some program step closes the budget with fixed levels [V]."""

    def closes(shift: float) -> bool:
        found = cell.modes(CELL, pe=cycles, retention=FULL, limit=CORRECTS["quick"][1], erase_shift=shift)
        return not math.isnan(float(found.step))

    return bisected(closes, _MOST_SCALING / _SCALING_PER_VOLT)


def _rate(cycles: int, step: float, shift: float) -> float:
    """Returns the error rate of the worst page at the end of the full promise, with fixed levels."""
    return float(cell.rber(CELL, pe=cycles, age=FULL, step=step, erase_shift=shift).worst)


def bisected(holds: Callable[[float], bool], most: float) -> float:
    """Returns the largest number up to `most` for which a condition holds, to a tenth of a millivolt; 0 if none."""
    if holds(most):
        return most
    low, high = 0.0, most
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def wear_of(shift: float, slow: bool) -> float:
    """Returns the effective wear of an erase with an erase shift of `shift` volts [nominal erases]."""
    at_zero, slope = _SLOW_WEAR if slow else _FAST_WEAR
    return round(at_zero - slope * _SCALING_PER_VOLT * shift, 4)


def write_mode(
    name: str,
    cycles: int,
    retention: str = FULL,
    read: str = "quick",
    level: int = 0,
    shift: float = 0.0,
    levels: Levels = "moved",
) -> Table:
    """Returns a write mode with the widest step that closes the budget."""
    derive: Table = {"retention": retention, "at_pe_cycles": cycles, "corrects": CORRECTS[read][1], "levels": levels}
    if shift:
        derive["erase_shift"] = shift
    return {"name": name, "read_mode": read, "erase_level": level, "derive": derive}


def erase_modes(shifts: list[float]) -> list[Table]:
    """Returns the nominal erase mode, and a fast and a slow one for each erase shift."""
    modes: list[Table] = [{"name": "nominal"}]
    for level, shift in enumerate(shifts, 1):
        for slow in (False, True):
            name = f"ev{level}{'_slow' if slow else ''}"
            scale = 4.0 if slow else 1.0
            modes.append({"name": name, "level": level, "erase_shift": shift, "wear": wear_of(shift, slow), "erase_scale": scale})
    return modes


def modes_of(what: str, wear: float, levels: Levels = "moved") -> Table:
    """Returns the modes of one kind of policy at the stage `wear`, or (`all`) those of every combination."""
    cycles = round(wear * RATED)
    mode = partial(write_mode, levels=levels)
    normal = mode("normal", RATED)
    if what == "speed":
        return {"write_mode": [normal, mode("fast", RATED, SHORT)]}
    if what == "adaptive":
        return {"write_mode": [normal, mode("fast", cycles)]}
    if what == "bits":
        return {"write_mode": [normal, _ONE_BIT]}
    if what == "codes":
        weak = {"step": normal_step(levels), "at_pe_cycles": RATED, "corrects": WEAK, "levels": levels}
        modes = [{**normal, "code": "strong"}, {"name": "fast", "read_mode": "quick", "derive": weak}]
        return {"write_mode": modes, "encoder": [{"code": "strong", "throughput": ENCODER}]}
    if what == "reads":
        return {"write_mode": [normal, mode("medium", RATED, read="medium"), mode("fast", RATED, read="slow")]}
    shifts = [gentlest(cycles, slower, levels) for slower in GENTLE]
    if what == "erases":
        # Programs take the level's fixed factor longer, even if the erase depth would allow a wider step.
        gentle = [mode(f"wmode{level}", cycles, level=level, shift=shift) for level, shift in enumerate(shifts, 1)]
        for each, slower in zip(gentle, GENTLE, strict=True):
            del each["derive"]["retention"]
            each["derive"]["step"] = normal_step(levels) / slower
        return {"write_mode": [normal, *gentle], "erase_mode": erase_modes(shifts)}
    # Only the gentlest erase for fast and for slow programs: a further level would exceed the 16 modes of a table.
    ends = [shifts[0], shifts[-1] if levels == "moved" else _gentlest_of_any(cycles)]
    rest = [
        mode(_name(retention, read, level), cycles, retention, read, level, shift)
        for level, shift in enumerate([0.0, *ends])
        for read in ("quick", "slow")
        for retention in (FULL, SHORT)
    ]
    return {"write_mode": [normal, *rest], "erase_mode": erase_modes(ends)}


def _name(retention: str, read: str, level: int) -> str:
    """Returns the name of a mode in the table of all; OFWAR requests its short guarantee by the name `fast`."""
    if (retention, read, level) == (SHORT, "quick", 0):
        return "fast"
    return f"{'full' if retention == FULL else 'short'}_{read}_{level}"


def drive(what: str, wear: float, levels: Levels = "moved") -> Table:
    """Returns OFWAR's drive at an eighth of its size, with a buffer, an LDPC code, and the modes of a kind of policy.

    Assumed: 16 dies on four channels, a write-back buffer of 1 MiB, reads first, erases that are suspended for them.
    """
    flash = {
        "channels": 4,
        "chips_per_channel": 4,
        "blocks_per_plane": 1024,
        "pages_per_block": PAGES,
        "cell_model": CELL,
        "code": {"kind": "ldpc", "data": "4KiB", "parity": "448B", "limits": _LIMITS, "failure_at_limit": 1e-15},
        "read_mode": [{"name": name, "derive": {"references": count}} for name, (count, _) in CORRECTS.items()],
        "rated_pe_cycles": RATED,
        "lazy_erase_time": "600us",
        "scheduler": "read_first",
        "suspension": _SUSPENSION,
        **modes_of(what, wear, levels),
    }
    buffer = {"policy": "write_back", "capacity": "1MiB", "flush_after": "100us"}
    state = {"precondition": "steady", "pe_cycles": round(wear * RATED)}
    return {"base": "ofwar-64g", "flash": flash, "buffer": buffer, "state": state, "power": dict(POWER)}
