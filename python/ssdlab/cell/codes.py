"""Measurement of the error rate that a real decoder corrects.

A measurement takes long: it is distributed over all cores, kept in a file, and can be resumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ssdlab.cell.facts import rated_pe_cycles
from ssdlab.cell.measurement import CodeLevel, CodeMeasurement, CodePoint, load_code, summed_up, to_point
from ssdlab.cell.pool import ProgressHook, share_out
from ssdlab.cell.question import CellLike, CodeLike, Numbers, array, as_list, ask
from ssdlab.errors import InputError, Interrupted
from ssdlab.files import check_new_file
from ssdlab.locks import locked
from ssdlab.words import in_own_words

#: Number of chunks in the first round of a point and in the longest; each round is twice as long as the one before, up
#: to the longest. Ctrl-C loses at most one round.
FIRST_ROUND, LONGEST_ROUND = 8, 128
#: Raw error rates of a sweep, as shares of the error rate at which the capacity of a binary symmetric channel equals
#: the code rate. A decoder of hard decisions begins to fail at about half of that rate. Soft decisions work beyond it,
#: because their channel carries more information.
HARD_SWEEP = (0.36, 0.42, 0.46, 0.50, 0.54, 0.58, 0.64, 0.72)
SOFT_SWEEP = (0.60, 0.80, 0.95, 1.05, 1.15, 1.25, 1.35, 1.45, 1.60)
#: Raw error rates of a sweep for BCH codes: distance of the expected number of errors below the correctable number, in
#: standard deviations.
BCH_SWEEP = (4.5, 4.0, 3.5, 3.0, 2.5, 2.0, 1.0, 0.0)


@in_own_words
def code(
    code: CodeLike | None = None,
    *,
    cell: CellLike | None = None,
    rber: Numbers | None = None,
    pe: Numbers | None = None,
    age: str | None = None,
    step: float | None = None,
    soft_levels: int = 0,
    failures: int = 50,
    frames: int = 20_000,
    seed: int = 1,
    out: str | PathLike[str] | None = None,
    force: bool = False,
    threads: int | None = None,
    progress: ProgressHook | None = None,
    **more: Any,
) -> CodeMeasurement:
    """Measures the error rate that a code corrects with 0 to `soft_levels` soft levels, by decoding random codewords.

    Codewords are encoded, sent over a channel and decoded. Every point is counted in rounds of 8, 16, 32, ... 128
    chunks on all cores. After a round a point is done if `failures` codewords have failed or `frames` were sent. The
    result does not depend on the number of threads.

    Args:
        code: ``bch-T/DATA`` or ``ldpc-PARITY/DATA``; default: the code of `cell`.
        cell: Part whose read is the channel, at each wear. Without a part, or with `rber`, the channel is that of two
            normal levels.
        rber: Raw error rates; default: a sweep around the correctable rate.
        pe: Program and erase cycles of `cell`; default: those at which it has the error rates of that sweep.
        age: Age of the data of `cell`.
        step: Program step of `cell`.
        soft_levels: Number of soft levels, at most 3; none for BCH codes.
        failures: Number of failed codewords after which a point is done.
        frames: Number of sent codewords after which a point is done.
        seed: Seed of the random streams of data and errors.
        out: File for the measurement. If it holds a measurement of the same code, channel, seed and settings, its
            points are kept and only the missing counts are added: the result then holds both.
        force: True to replace the file instead.
        threads: Number of threads; default: the number of cores.
        progress: Function that is called with the progress.
        more: `page`, and the circumstances listed in :mod:`ssdlab.cell`.

    Raises:
        InputError: the question is invalid, or the file holds another measurement.
        Interrupted: Ctrl-C; the completed rounds are in its ``result``, and in the file, marked ``partial``.

    Examples:
        >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
        >>> for point in measured.soft[0].points:
        ...     print(f"{point.rber:.0e}: {point.failed} of {point.frames} codewords failed")
        2e-04: 0 of 5056 codewords failed
        5e-04: 1 of 5056 codewords failed
        2e-03: 97 of 1536 codewords failed
        >>> measured.limit()
        0.0004033
    """
    question = _question(code, cell, rber, {"pe": pe, "age": age, "step": step}) | more
    if min(failures, frames) < 1:
        raise InputError(f"failures, frames: {failures}, {frames}: expected at least 1 of each")
    fresh = _empty_measurement(question, soft_levels, seed=seed, failures=failures, frames=frames)
    if out is None:
        measured, interrupted = _completed(fresh, threads, progress)
    else:
        measured, interrupted = _completed_from_file(fresh, check_new_file(Path(out), force=True), force, threads, progress)
    if interrupted:
        raise Interrupted(measured)
    return measured


def _question(code: CodeLike | None, cell: CellLike | None, rber: Numbers | None, condition: dict[str, Any]) -> dict[str, Any]:
    """Returns the engine's question: error rates of two normal levels, or the condition of a cell.

    Raises:
        InputError: neither a code nor a cell was given, or both error rates and a condition.
    """
    if code is None and cell is None:
        raise InputError("code: expected one, such as ldpc-448B/4KiB, or a cell whose own is measured")
    if rber is not None and any(value is not None for value in condition.values()):
        raise InputError("rber: error rates are those of two normal levels, not of a cell: leave pe, age and step away")
    over = condition if rber is None and cell is not None else {"rber": rber}
    # With error rates the channel is not that of a cell, but the engine requires the name of one all the same.
    return {"cell": cell or ask("parts")["parts"][0]["name"], "code": code, **over}


def _empty_measurement(question: dict[str, Any], soft_levels: int, *, seed: int, failures: int, frames: int) -> CodeMeasurement:
    """Returns the measurement of all planned channels before any codeword was sent."""
    plan = _plan(question, soft_levels)
    return CodeMeasurement(
        code=plan[0]["code"],
        data_bits=plan[0]["data_bits"],
        codeword_bits=plan[0]["codeword_bits"],
        seed=seed,
        failures=failures,
        frames=frames,
        chunk_frames=plan[0]["chunk_frames"],
        channel=_channel(plan[0]["varies"], question),
        status="partial",
        soft=tuple(CodeLevel(level["soft_levels"], tuple(map(to_point, level["points"]))) for level in plan),
    )


def _plan(question: dict[str, Any], soft_levels: int) -> list[dict[str, Any]]:
    """Returns the channels for each number of soft levels."""
    known = {name: value for name, value in question.items() if value is not None}
    # Checks the code and the number of soft levels before the sweep.
    facts = ask("code_plan", **{**known, "rber": 1e-3, "soft_levels": soft_levels})
    plans = []
    for level in range(soft_levels + 1):
        over = {}
        if "rber" in known:
            over = {"rber": as_list(known["rber"])}
        elif "pe" not in known:
            rates = _rates(facts["code"], facts["data_bits"], facts["codeword_bits"], level)
            over = {"rber": rates} if "rber" in question else {"pe": _wears(known, rates)}
        plans.append(ask("code_plan", **{**known, **over, "soft_levels": level}))
    return plans


def _rates(code: str, data_bits: int, codeword_bits: int, soft_levels: int) -> list[float]:
    if code.startswith("bch-"):
        corrected = float(code.removeprefix("bch-").split("/")[0])
        rates = [(corrected - away * math.sqrt(corrected)) / codeword_bits for away in BCH_SWEEP]
        return [_rounded(rate) for rate in rates if rate > 0.0]
    capacity = _capacity_limit(data_bits / codeword_bits)
    return [_rounded(share * capacity) for share in (SOFT_SWEEP if soft_levels else HARD_SWEEP)]


def _capacity_limit(rate: float) -> float:
    """Returns the error rate at which a binary symmetric channel has a capacity of `rate`."""
    low, high = 0.0, 0.5
    for _ in range(60):
        middle = (low + high) / 2
        entropy = -middle * math.log2(middle) - (1 - middle) * math.log2(1 - middle)
        low, high = (middle, high) if entropy < 1 - rate else (low, middle)
    return low


def _wears(question: dict[str, Any], rates: Sequence[float]) -> list[float]:
    """Returns the wear values at which a cell has the error rates in `rates`, up to three times its rated cycles.

    Raises:
        InputError: fewer than two of the rates occur in that range.
    """
    # Start-up: the help of all commands needs no numpy.
    import numpy as np

    wears = np.linspace(0.0, 3.0, 61) * rated_pe_cycles(question["cell"])
    asked = {name: value for name, value in question.items() if name not in ("code", "page")}
    found = ask("rber", **{"age": "0", **asked, "pe": wears})
    worst = np.maximum.accumulate(array(found["worst"]).reshape(len(wears)))
    reached = [rate for rate in rates if worst[0] < rate <= worst[-1]]
    if len(reached) < 2:
        raise InputError(
            f"pe: up to {wears[-1]:,.0f} cycles {question['cell']} has error rates of {worst[0]:.2e} to {worst[-1]:.2e} there; "
            f"this code corrects about {rates[0]:.2e} to {rates[-1]:.2e}: give wears, an age, or another step"
        )
    return [round(float(wear)) for wear in np.interp(np.log(reached), np.log(np.maximum(worst, 1e-300)), wears)]


def _channel(varies: str, question: dict[str, Any]) -> dict[str, Any]:
    """Returns a description of the channels without the value that varies."""
    if varies == "rber":
        return {"varies": varies}
    given = {name: value for name, value in question.items() if name not in ("code", "pe", "rber") and value is not None}
    return {"varies": varies, **given, "cell": fspath(given["cell"])}


def _completed_from_file(
    fresh: CodeMeasurement, path: Path, force: bool, threads: int | None, progress: ProgressHook | None
) -> tuple[CodeMeasurement, bool]:
    """Completes a measurement that is kept in a file, as :func:`_completed` does, from the counts that the file has.

    Raises:
        InputError: the file holds another measurement, and is not to be replaced (`force`).
    """
    # Two processes that resume one file would each save their own counts and lose those of the other.
    with locked(path):
        if path.exists() and not force:
            fresh = _taken_up(fresh, path)
        measured, interrupted = _completed(fresh, threads, progress)
        measured.save(path, force=True)
    return measured, interrupted


def _taken_up(fresh: CodeMeasurement, path: Path) -> CodeMeasurement:
    """Merges the requested measurement with the one in the file.

    Raises:
        InputError: the file holds a measurement of another code, channel, seed or stop rule.
    """
    kept = load_code(path)
    for name in ("code", "channel", "seed", "failures", "frames", "chunk_frames"):
        found, wanted = getattr(kept, name), getattr(fresh, name)
        if found != wanted:
            what = f"{path}: it holds a measurement with {name} = {found}, not {wanted}"
            raise InputError(f"{what}; choose another name, or replace it with --force")
    levels = {level.soft_levels: level.points for level in kept.soft}
    soft = []
    for number in sorted({*levels, *(level.soft_levels for level in fresh.soft)}):
        wanted = next((level.points for level in fresh.soft if level.soft_levels == number), ())
        # For one channel the entry with counts comes last, and so replaces the one without.
        points = {point.regions: point for point in (*wanted, *levels.get(number, ()))}
        soft.append(CodeLevel(number, tuple(sorted(points.values(), key=lambda point: point.rber))))
    return replace(fresh, soft=tuple(soft))


def _completed(fresh: CodeMeasurement, threads: int | None, progress: ProgressHook | None) -> tuple[CodeMeasurement, bool]:
    """Completes all points. Returns the measurement and False; on Ctrl-C, the completed rounds and True."""
    points = {(level.soft_levels, at): point for level in fresh.soft for at, point in enumerate(level.points)}
    interrupted = False
    try:
        while True:
            work = _round(fresh, points)
            if not work:
                break
            points |= _points_after_round(fresh, points, work, threads, progress)
    except KeyboardInterrupt:
        interrupted = True
    soft = tuple(
        CodeLevel(level.soft_levels, tuple(points[level.soft_levels, at] for at in range(len(level.points))))
        for level in fresh.soft
    )
    return summed_up(replace(fresh, soft=soft, status="partial" if interrupted else "complete")), interrupted


#: Piece of work: a point (number of soft levels, index), and the number of a chunk of it.
_Piece = tuple[tuple[int, int], int]


def _round(fresh: CodeMeasurement, points: dict[tuple[int, int], CodePoint]) -> list[_Piece]:
    """Returns the chunks of the next round of every point that is not done."""
    pieces: list[_Piece] = []
    for key, point in points.items():
        if point.failed >= fresh.failures or point.frames >= fresh.frames:
            continue
        done = point.frames // fresh.chunk_frames
        left = -(-fresh.frames // fresh.chunk_frames) - done
        pieces += [(key, chunk) for chunk in range(done, done + min(done + FIRST_ROUND, LONGEST_ROUND, left))]
    return pieces


def _points_after_round(
    fresh: CodeMeasurement,
    points: dict[tuple[int, int], CodePoint],
    pieces: Sequence[_Piece],
    threads: int | None,
    progress: ProgressHook | None,
) -> dict[tuple[int, int], CodePoint]:
    """Sends the codewords of one round and returns the points with its counts added."""
    sent = sum(point.frames for point in points.values())

    def count(piece: _Piece) -> dict[str, int]:
        key, chunk = piece
        asked = {"code": fresh.code, "seed": fresh.seed, "regions": points[key].regions}
        return ask("code_count", **asked, chunk=chunk, chunks=1)

    def report(found: dict[str, int]) -> None:
        nonlocal sent
        sent += found["frames"]
        if progress is not None:
            progress(None, f"{sent:,} codewords, {len({key for key, _ in pieces})} of {len(points)} points left")

    added: dict[tuple[int, int], CodePoint] = {}
    for (key, _), found in zip(pieces, share_out(count, pieces, threads=threads, done=report), strict=True):
        point = added.get(key, points[key])
        added[key] = replace(point, **{name: getattr(point, name) + number for name, number in found.items()})
    return added


def _rounded(rate: float) -> float:
    """Rounds a rate to three digits, which are readable and the same on every machine."""
    return float(f"{rate:.3g}")
