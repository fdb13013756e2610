"""One drive, and the modes that its cell leaves room for at some wear.

Every mode comes from one cell (``ofwar-mlc``) with one code: its program step is the widest with which erase depth, promised
retention and what the sensing corrects close the budget. What a work fixes for the drive's life (OFWAR's and retention
relaxation's short guarantee, AGCR's costs) is derived at the rated wear; what a work adapts to wear (autoFTL's erase voltages,
the control's step, and everything of `margin`, `clairvoyant` and of combinations) at the wear of the run.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from ssdlab import cell

#: The cell, and its rated cycles.
CELL: Final = "ofwar-mlc"
RATED: Final = 10_000
#: Wear at which everything is run, as shares of the rated cycles.
WEARS: Final = (0.0, 0.3, 0.5, 1.0)
#: The full promise, and the short one (OFWAR's).
FULL, SHORT = "10y", "4d"
#: What 1, 3 and 7 references for each boundary correct (FACTS 3, assumed there), and the read modes.
CORRECTS: Final = {"quick": (1, 0.002), "medium": (3, 0.006), "slow": (7, 0.011)}
#: Program times of the gentler erases' write modes over the normal one: voltage steps of 1, 3/4 and 1/2 (FACTS 4.2).
GENTLE: Final = (1.0, 4.0 / 3.0, 2.0)
#: Erase voltage scaling per volt of window, and wear per scaling (FACTS 4.1): autoFTL's chip, down to its least voltage. A slow
#: erase wears by that table's other column.
_SCALING_PER_VOLT, _MOST_SCALING = 0.132, 0.14
_FAST_WEAR, _SLOW_WEAR = (1.0, 3.857), (0.81, 2.571)

#: Pages of a block.
PAGES: Final = 64

#: What the code corrects with 0, 1, ... soft levels (FACTS 3); and a weaker one, OFWAR's BCH of 110 bits in 4 KiB (FACTS 1.2).
_LIMITS = [0.002, 0.006, 0.0085, 0.011]
_WEAK = 0.00135
#: What an encoder of the strong code delivers where a policy chooses codes: stated as near the ideal for retention relaxation.
ENCODER: Final = "20MB/s"
#: A page of one bit per cell: a program of 200 us, as in the presets of TLC and QLC, assumed there.
_ONE_BIT = {"name": "slc", "bits_per_cell": 1, "program_scale": 1.0 / 3.0, "retention": FULL}

#: That of the TLC preset, assumed there; here for erases only.
_SUSPENSION = {
    "program": False,
    "erase": True,
    "suspend_time": "20us",
    "resume_time": "20us",
    "least_remaining": "200us",
    "most": 64,
}

Table = dict[str, Any]


@cache
def _solved(cycles: int, solve: str, **given: float) -> dict[str, Any]:
    found = cell.budget(CELL, pe=cycles, retention=FULL, solve=solve, limit=CORRECTS["quick"][1], **given)
    return found.solved[0] or {}


def normal_step() -> float:
    """The program step of the drive that knows no modes: full promise, hard decision, rated wear [V]."""
    return float(_solved(RATED, "step")["step"])


def gentlest(cycles: int, slower: float) -> float:
    """How much smaller an erase may leave the window for a program so many times slower than normal [V]."""
    shift = float(_solved(cycles, "erase", step=normal_step() / slower).get("erase_shift") or 0.0)
    return min(shift, _MOST_SCALING / _SCALING_PER_VOLT)


def wear_of(shift: float, slow: bool) -> float:
    """Effective wear of an erase that leaves the window so much smaller [nominal erases]."""
    at_zero, slope = _SLOW_WEAR if slow else _FAST_WEAR
    return round(at_zero - slope * _SCALING_PER_VOLT * shift, 4)


def write_mode(name: str, cycles: int, retention: str = FULL, read: str = "quick", level: int = 0, shift: float = 0.0) -> Table:
    """A write mode of the widest step that closes."""
    derive: Table = {"retention": retention, "at_pe_cycles": cycles, "corrects": CORRECTS[read][1], "levels": "moved"}
    if shift:
        derive["erase_shift"] = shift
    return {"name": name, "read_mode": read, "erase_level": level, "derive": derive}


def erase_modes(shifts: list[float]) -> list[Table]:
    """The nominal erase; and for each level of shifts a fast and a slow one."""
    modes: list[Table] = [{"name": "nominal"}]
    for level, shift in enumerate(shifts, 1):
        for slow in (False, True):
            name = f"ev{level}{'_slow' if slow else ''}"
            scale = 4.0 if slow else 1.0
            modes.append({"name": name, "level": level, "erase_shift": shift, "wear": wear_of(shift, slow), "erase_scale": scale})
    return modes


def modes_of(what: str, wear: float) -> Table:
    """Tables of write and erase modes at some wear: of one kind of policy, or (`all`) of every combination."""
    cycles = round(wear * RATED)
    normal = write_mode("normal", RATED)
    if what == "speed":
        return {"write_mode": [normal, write_mode("fast", RATED, SHORT)]}
    if what == "adaptive":
        return {"write_mode": [normal, write_mode("fast", cycles)]}
    if what == "bits":
        return {"write_mode": [normal, _ONE_BIT]}
    if what == "codes":
        weak = {"step": normal_step(), "at_pe_cycles": RATED, "corrects": _WEAK, "levels": "moved"}
        modes = [{**normal, "code": "strong"}, {"name": "fast", "read_mode": "quick", "derive": weak}]
        return {"write_mode": modes, "encoder": [{"code": "strong", "throughput": ENCODER}]}
    if what == "reads":
        return {"write_mode": [normal, write_mode("medium", RATED, read="medium"), write_mode("fast", RATED, read="slow")]}
    shifts = [gentlest(cycles, slower) for slower in GENTLE]
    if what == "erases":
        # They program so many times slower, whatever else the depth would allow.
        gentle = [write_mode(f"wmode{level}", cycles, level=level, shift=shift) for level, shift in enumerate(shifts, 1)]
        for mode, slower in zip(gentle, GENTLE, strict=True):
            del mode["derive"]["retention"]
            mode["derive"]["step"] = normal_step() / slower
        return {"write_mode": [normal, *gentle], "erase_mode": erase_modes(shifts)}
    # The gentlest of fast and of slow programs: with 16 modes the table is full.
    ends = [shifts[0], shifts[-1]]
    rest = [
        write_mode(_name(retention, read, level), cycles, retention, read, level, shift)
        for level, shift in enumerate([0.0, *ends])
        for read in ("quick", "slow")
        for retention in (FULL, SHORT)
    ]
    return {"write_mode": [normal, *rest], "erase_mode": erase_modes(ends)}


def _name(retention: str, read: str, level: int) -> str:
    """A mode of the whole table; OFWAR asks for its short guarantee by the name `fast`."""
    if (retention, read, level) == (SHORT, "quick", 0):
        return "fast"
    return f"{'full' if retention == FULL else 'short'}_{read}_{level}"


def drive(what: str, wear: float) -> Table:
    """OFWAR's drive in an eighth of its size, with a small write-back buffer, an LDPC code, and the modes of a kind of policy.

    Assumed: 16 dies behind four channels, 1 MiB of buffer, reads first, erases that give way to them.
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
        **modes_of(what, wear),
    }
    buffer = {"policy": "write_back", "capacity": "1MiB", "flush_after": "100us"}
    state = {"precondition": "steady", "pe_cycles": round(wear * RATED)}
    return {"base": "ofwar-64g", "flash": flash, "buffer": buffer, "state": state}
