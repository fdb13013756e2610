"""Measured error rates of a decoder: their file, their chart, and the limits that follow from them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab.cell.question import array, ask
from ssdlab.errors import InputError
from ssdlab.files import RESULT_MAX, check_new_file, existing_file, new_file, read_text
from ssdlab.words import in_own_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ssdlab.charts import Chart

#: Identification of the file, and version of its fields.
WHAT, VERSION = "ssdlab code measurement", 1


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

    @in_own_words
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
        # Start-up: pictures need numpy.
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
        kept = json.loads(read_text(name, RESULT_MAX))
        if (kept["what"], kept["version"]) != (WHAT, VERSION):
            raise InputError(f"{name}: {kept['what']}, version {kept['version']}: expected {WHAT}, version {VERSION}")
        head = {name: kept[name] for name in ("code", "data_bits", "codeword_bits", "seed", "chunk_frames", "channel", "status")}
        soft = tuple(CodeLevel(level["soft_levels"], tuple(map(to_point, level["points"]))) for level in kept["soft"])
        return summed_up(CodeMeasurement(**head, **kept["stop"], soft=soft))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: not a measurement of a code, as `ssdlab cell code --out` writes it") from None


def summed_up(measured: CodeMeasurement) -> CodeMeasurement:
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


def to_point(row: dict[str, Any]) -> CodePoint:
    """Returns a point from its fields in the engine's plan or in a file."""
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
