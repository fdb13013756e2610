"""Reasons for a difference between two runs, as far as their own counters explain it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab.results import RunData

#: Smallest relative change of write amplification, and of what may explain it, that is worth a reason.
_LEAST = 0.05
#: Reasons of programs in words.
_WORDS = {"gc": "garbage collection", "wear": "wear levelling", "rmw": "completing partial writes"}


def reason_for_amplification(run: RunData, first: RunData) -> str:
    """Returns why write amplification differs from that of the first run; empty if it hardly does, or nothing says why.

    The reason of the programs that differ most, and for garbage collection what its victims had: more of their data
    was valid where fewer blocks were free, as data had less time to be overwritten.
    """
    mine, base = run.write_amplification, first.write_amplification
    if not mine or not base or abs(mine / base - 1) < _LEAST:
        return ""
    shares, before = run.write_amplification_by_reason, first.write_amplification_by_reason
    changes = {reason: shares.get(reason, 0.0) - before.get(reason, 0.0) for reason in {*shares, *before}}
    reason = max(sorted(changes), key=lambda name: abs(changes[name]))
    said = f"write amplification: {_WORDS.get(reason, reason)} programs {_pair(shares.get(reason, 0.0), before.get(reason, 0.0))}"
    if reason != "gc":
        return said
    moved, moved_before = _units_per_block(run), _units_per_block(first)
    if moved is not None and moved_before is not None and _differ(moved, moved_before):
        said += f", moving {_pair(moved, moved_before)} units for each block"
    free, free_before = (each.summary["free_blocks"]["mean"] for each in (run, first))
    # Fewer free blocks go with more valid data in victims; the other way round they do not explain it.
    if free and free_before and _differ(free, free_before) and (free < free_before) == (changes["gc"] > 0):
        said += f", with {_pair(free, free_before)} free blocks on average"
    return said


def _units_per_block(run: RunData) -> float | None:
    """Returns the units that garbage collection moved for each block that it took."""
    taken = run.summary["collections"]
    moved: int = run.summary["flash"]["programs"].get("gc", 0)
    return moved / taken if taken else None


def _differ(value: float, other: float) -> bool:
    return abs(value - other) >= _LEAST * max(abs(other), abs(value))


def _pair(value: float, other: float) -> str:
    return f"{value:.3g} against {other:.3g}"
