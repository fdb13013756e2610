"""Measurement of the error rate that a real decoder corrects.

A measurement takes long: it is distributed over all cores, kept in a file, and can be resumed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.cell.pool import ProgressHook, share_out
from ssdlab.cell.question import CellLike, CodeLike, Numbers, array, ask, listed
from ssdlab.errors import InputError, Interrupted
from ssdlab.files import check_new_file, existing_file, new_file
from ssdlab.locks import locked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ssdlab.charts import Chart

#: Identification of the file, and version of its fields.
WHAT, VERSION = "ssdlab code measurement", 1
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


@dataclass(frozen=True, slots=True)
class CodePoint:
    """Channel over which codewords were sent.

    Examples:
        >>> measured = ssdlab.cell.code("bch-4/128B", rber=1e-3, frames=5000)
        >>> point = measured.soft[0].points[0]
        >>> point.frames, point.failed
        (5056, 26)
        >>> point.low < point.failure < point.high
        True
    """

    #: Value that varies from point to point: the raw error rate, or the wear of a cell.
    at: float
    #: Raw error rate.
    rber: float
    #: Capacity of the channel in bits per bit sent.
    capacity: float
    #: Distance of neighbouring soft references.
    spacing: float
    #: For each region that a read can return, the probabilities of a zero and of a one.
    regions: tuple[tuple[float, float], ...] = field(repr=False)
    frames: int = 0
    #: Number of codewords that were not decoded to the codeword sent; `undetected` of them gave another codeword.
    failed: int = 0
    undetected: int = 0
    #: Iterations of the decoder, summed over all codewords.
    iterations: int = 0
    #: Number of wrong bits before decoding.
    errors: int = 0
    #: Share of codewords that failed, and the bounds of its confidence interval; not a number before any codeword was
    #: sent.
    failure: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True, slots=True)
class CodeLevel:
    """Measurement with one number of soft levels.

    Examples:
        >>> measured = ssdlab.cell.code("ldpc-256B/1KiB", rber=2.2e-2, soft_levels=1, frames=128)
        >>> for level in measured.soft:
        ...     print(f"{level.soft_levels} soft levels: {level.points[0].failed} of {level.points[0].frames} failed")
        0 soft levels: 113 of 128 failed
        1 soft levels: 0 of 128 failed
    """

    soft_levels: int
    #: Points in the order of rising raw error rate.
    points: tuple[CodePoint, ...]
    #: Raw error rate at which one codeword in a thousand fails, if the failure rate of each point is the upper bound of
    #: its interval; not a number if the points do not bracket it.
    limit: float = math.nan

    def column(self, name: str) -> NDArray[np.float64]:
        """Returns one field of all points.

        Examples:
            >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
            >>> measured.soft[0].column("failed")
            array([ 0.,  1., 97.])
        """
        return array([getattr(point, name) for point in self.points])


@dataclass(frozen=True, slots=True)
class CodeMeasurement:
    """Measurement of the error rates that a decoder corrects.

    Examples:
        >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
        >>> measured.status, measured.data_bits, measured.codeword_bits
        ('complete', 1024, 1068)
        >>> measured.limit()
        0.0004033
    """

    code: str
    data_bits: int
    codeword_bits: int
    seed: int
    #: Number of failed codewords, and number of sent codewords, at either of which a point is done.
    failures: int
    frames: int
    #: Number of codewords in one piece of the work.
    chunk_frames: int
    #: Kind of the channels: ``varies`` is ``rber`` (two normal levels) or ``pe`` (a cell, named with its condition).
    channel: dict[str, Any]
    #: ``complete``, or ``partial`` if it was stopped.
    status: str
    soft: tuple[CodeLevel, ...]

    def limit(self, soft_levels: int = 0) -> float:
        """Returns the raw error rate that is corrected with `soft_levels` soft levels; not a number if unknown.

        Examples:
            >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
            >>> measured.limit()
            0.0004033
            >>> measured.limit(soft_levels=1)
            nan
        """
        return next((level.limit for level in self.soft if level.soft_levels == soft_levels), math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Returns the measurement as ``ssdlab cell code --json`` prints it and :meth:`save` writes it.

        Examples:
            >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
            >>> document = measured.to_dict()
            >>> document["code"], document["stop"], document["channel"]
            ('bch-4/128B', {'failures': 50, 'frames': 5000}, {'varies': 'rber'})
        """
        return {
            "what": WHAT,
            "version": VERSION,
            "status": self.status,
            "code": self.code,
            "data_bits": self.data_bits,
            "codeword_bits": self.codeword_bits,
            "seed": self.seed,
            "stop": {"failures": self.failures, "frames": self.frames},
            "chunk_frames": self.chunk_frames,
            "channel": self.channel,
            "soft": [_level_dict(level) for level in self.soft],
        }

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Writes the measurement to a file, which ``--code FILE.json`` and descriptions of drives may name.

        Raises:
            InputError: the file exists (unless `force`), or cannot be made.

        Examples:
            >>> measured = ssdlab.cell.code("ldpc-128B/512B", rber=[8e-3, 2.4e-2], frames=4000)
            >>> measured.save("ldpc.json")
            PosixPath('ldpc.json')
            >>> ssdlab.cell.rber("ofwar-mlc", code="ldpc.json").limit
            0.003716
        """
        target = check_new_file(Path(path), force)
        with new_file(target) as beside:
            beside.write_text(json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return target

    def chart(self) -> Chart:
        """Returns a chart of failure rate by raw error rate, with a curve for each number of soft levels.

        Examples:
            >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
            >>> measured.chart().save("code.html")
            PosixPath('code.html')
        """
        from ssdlab.cell import pictures

        return pictures.code(self)


def load_code(path: str | PathLike[str]) -> CodeMeasurement:
    """Reads a measurement that :meth:`CodeMeasurement.save` wrote.

    Raises:
        InputError: the file cannot be read, or is not a measurement.

    Examples:
        >>> measured = ssdlab.cell.code("bch-4/128B", rber=[2e-4, 5e-4, 2e-3], frames=5000)
        >>> path = measured.save("bch.json")
        >>> ssdlab.cell.load_code(path) == measured
        True
    """
    name = existing_file(path)
    try:
        kept = json.loads(Path(name).read_text(encoding="utf-8"))
        if (kept["what"], kept["version"]) != (WHAT, VERSION):
            raise InputError(f"{name}: {kept['what']}, version {kept['version']}: expected {WHAT}, version {VERSION}")
        head = {name: kept[name] for name in ("code", "data_bits", "codeword_bits", "seed", "chunk_frames", "channel", "status")}
        soft = tuple(CodeLevel(level["soft_levels"], tuple(map(_point, level["points"]))) for level in kept["soft"])
        return _summed_up(CodeMeasurement(**head, **kept["stop"], soft=soft))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: not a measurement of a code, as `ssdlab cell code --out` writes it") from None


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
    if code is None and cell is None:
        raise InputError("code: expected one, such as ldpc-448B/4KiB, or a cell whose own is measured")
    if rber is not None and not (pe is None and age is None and step is None):
        raise InputError("rber: error rates are those of two normal levels, not of a cell: leave pe, age and step away")
    if min(failures, frames) < 1:
        raise InputError(f"failures, frames: {failures}, {frames}: expected at least 1 of each")
    # With error rates the channel is not that of a cell, but the engine requires the name of one all the same.
    over = {"pe": pe, "age": age, "step": step} if rber is None and cell is not None else {"rber": rber}
    question = {"cell": cell or ask("parts")["parts"][0]["name"], "code": code, **over, **more}
    plan = _plan(question, soft_levels)
    fresh = CodeMeasurement(
        code=plan[0]["code"],
        data_bits=plan[0]["data_bits"],
        codeword_bits=plan[0]["codeword_bits"],
        seed=seed,
        failures=failures,
        frames=frames,
        chunk_frames=plan[0]["chunk_frames"],
        channel=_channel(plan[0]["varies"], question),
        status="partial",
        soft=tuple(CodeLevel(level["soft_levels"], tuple(map(_point, level["points"]))) for level in plan),
    )
    target = None if out is None else Path(out)
    if target is not None:
        check_new_file(target, force=True)
    # Two processes that resume one file would each save their own counts and lose those of the other.
    with nullcontext() if target is None else locked(target):
        if target is not None and target.exists() and not force:
            fresh = _taken_up(fresh, target)
        measured, interrupted = _measured(fresh, threads, progress)
        if target is not None:
            measured.save(target, force=True)
    if interrupted:
        raise Interrupted(measured)
    return measured


def _plan(question: dict[str, Any], soft_levels: int) -> list[dict[str, Any]]:
    """Returns the channels for each number of soft levels."""
    known = {name: value for name, value in question.items() if value is not None}
    # Checks the code and the number of soft levels before the sweep.
    facts = ask("code_plan", **{**known, "rber": 1e-3, "soft_levels": soft_levels})
    plans = []
    for level in range(soft_levels + 1):
        over = {}
        if "rber" in known:
            over = {"rber": listed(known["rber"])}
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
    import numpy as np

    from ssdlab.cell.laboratory import rated_pe_cycles

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


def _measured(fresh: CodeMeasurement, threads: int | None, progress: ProgressHook | None) -> tuple[CodeMeasurement, bool]:
    """Completes all points. Returns the measurement and False; on Ctrl-C, the completed rounds and True."""
    points = {(level.soft_levels, at): point for level in fresh.soft for at, point in enumerate(level.points)}
    interrupted = False
    try:
        while True:
            work = _round(fresh, points)
            if not work:
                break
            points |= _counted(fresh, points, work, threads, progress)
    except KeyboardInterrupt:
        interrupted = True
    soft = tuple(
        CodeLevel(level.soft_levels, tuple(points[level.soft_levels, at] for at in range(len(level.points))))
        for level in fresh.soft
    )
    return _summed_up(replace(fresh, soft=soft, status="partial" if interrupted else "complete")), interrupted


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


def _counted(
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

    def done(found: dict[str, int]) -> None:
        nonlocal sent
        sent += found["frames"]
        if progress is not None:
            progress(None, f"{sent:,} codewords, {len({key for key, _ in pieces})} of {len(points)} points left")

    added: dict[tuple[int, int], CodePoint] = {}
    for (key, _), found in zip(pieces, share_out(count, pieces, threads=threads, done=done), strict=True):
        point = added.get(key, points[key])
        added[key] = replace(point, **{name: getattr(point, name) + number for name, number in found.items()})
    return added


def _summed_up(measured: CodeMeasurement) -> CodeMeasurement:
    """Returns the measurement with failure rates, confidence intervals and limits, as computed by the engine."""
    summary = ask("code_summary", measured_code=json.dumps(measured.to_dict()))
    soft = []
    for level, found in zip(measured.soft, summary["soft"], strict=True):
        points = [
            replace(point, **row) if point.frames else point for point, row in zip(level.points, found["points"], strict=True)
        ]
        limit = math.nan if found["limit"] is None else found["limit"]
        soft.append(replace(level, points=tuple(points), limit=limit))
    return replace(measured, soft=tuple(soft))


def _point(row: dict[str, Any]) -> CodePoint:
    known: dict[str, Any] = {name: row[name] for name in CodePoint.__dataclass_fields__ if row.get(name) is not None}
    known["regions"] = tuple((zero, one) for zero, one in row["regions"])
    return CodePoint(**known)


def _level_dict(level: CodeLevel) -> dict[str, Any]:
    points = [
        {name: _number(value) for name, value in asdict(point).items()} | {"regions": [list(one) for one in point.regions]}
        for point in level.points
    ]
    return {"soft_levels": level.soft_levels, "points": points, "limit": _number(level.limit)}


def _number(value: Any) -> Any:
    """Returns `value` as JSON holds it: None instead of not a number."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _rounded(rate: float) -> float:
    """Rounds a rate to three digits, which are readable and the same on every machine."""
    return float(f"{rate:.3g}")
