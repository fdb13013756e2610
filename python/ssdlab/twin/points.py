"""Measured points of a drive: the table `points.csv`, read and checked."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path

from ssdlab.errors import InputError, closest
from ssdlab.files import existing_file, read_text
from ssdlab.twin.loads import Load, load_of

__all__ = ["CLASSES", "COLUMNS", "METRICS", "PERCENTILES", "Point", "Points", "read_points", "table_text"]

#: Columns of the table. Any other is a remark, but for `op` and `arrival`.
COLUMNS = ("id", "rw", "bs", "iodepth", "rate_iops", "rwmixread", "size", "age", "metric", "value", "low", "high", "use")
#: Columns that a table must have.
_NEEDED = ("id", "rw", "bs", "metric", "value", "use")
#: Metrics, with the relative spread of a measurement (one standard deviation) where a row states none. Assumed [A]:
#: repeats of fio on one drive differ by 1 to 2 % in rates and means, and by more the further out a percentile is.
METRICS = {
    "iops": 0.02,
    "mean_us": 0.02,
    "p50_us": 0.02,
    "p99_us": 0.05,
    "p99_9_us": 0.10,
    "p99_99_us": 0.15,
    "write_amplification": 0.02,
    "mb_s": 0.02,
}
#: Classes of metrics, whose errors are alike.
CLASSES = {
    "iops": "rate",
    "mb_s": "rate",
    "mean_us": "typical latency",
    "p50_us": "typical latency",
    "p99_us": "p99",
    "p99_9_us": "p99.9",
    "p99_99_us": "p99.99",
    "write_amplification": "write amplification",
}
#: Percentiles in rising order, with the share of the commands that lie beyond each.
PERCENTILES = {"p50_us": 0.5, "p99_us": 0.01, "p99_9_us": 0.001, "p99_99_us": 0.0001}
#: Half of a 90 % interval of a normal distribution, in standard deviations.
Z90 = 1.6449
#: Least spread that counts [relative]: a histogram of 64 ranges in each octave has this resolution.
_LEAST_SPREAD = 0.01
_OPS = ("all", "read", "write")
#: Ratio from which a value looks like one in another unit.
_SLIP = 300.0
#: Share by which two statements of one load may contradict each other in its own arithmetic.
_LITTLE = 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value."""

    #: Place, as messages name it: file and line.
    place: str
    id: str
    load: Load
    #: Operation whose commands count: all, read or write.
    op: str
    metric: str
    value: float
    #: Ends of the interval that was measured or assumed, 90 %.
    low: float
    high: float
    #: Role: `fit`, `held`, or a remark, which counts neither way.
    use: str

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm of the value."""
        return max(math.log(self.high / self.low) / (2 * Z90), _LEAST_SPREAD)

    @property
    def name(self) -> str:
        """Name of the value: its id and metric, with the operation of a mixed load."""
        return f"{self.id} {self.metric}" + (f" ({self.op})" if self.load.is_mixed and self.op != "all" else "")


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a table."""

    name: str
    rows: tuple[Point, ...]
    #: Text of the table.
    text: str

    def used(self, *uses: str) -> tuple[Point, ...]:
        """Returns the points of some roles."""
        return tuple(row for row in self.rows if row.use in uses)

    @property
    def loads(self) -> list[Load]:
        """Loads of the points that count, each once, in the order of the table."""
        return list(dict.fromkeys(row.load for row in self.used("fit", "held")))

    def split_hash(self) -> str:
        """Returns a hash of the points and their roles, which is taken before the fit."""
        lines = [f"{row.name}|{row.load}|{row.value!r}|{row.low!r}|{row.high!r}|{row.use}" for row in self.rows]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def check_for_fit(self) -> None:
        """Checks that there are points to fit to, and points to judge by.

        Raises:
            InputError: one kind is missing.
        """
        if not self.used("fit"):
            raise InputError(f"{self.name}: no row has use = fit: expected points that the search may see")
        if not self.used("held"):
            raise InputError(
                f"{self.name}: no row has use = held: nothing can be said about unseen loads: expected some loads held out"
            )
        seen = {row.load: row for row in self.used("fit")}
        for row in self.used("held"):
            if row.load in seen:
                raise InputError(
                    f"{row.place}: use: held, while {seen[row.load].place} fits to the same load: "
                    "expected one use for all points of a load, as they come from one run"
                )


def read_points(path: str | PathLike[str]) -> Points:
    """Reads a table of points.

    Raises:
        InputError: it is no table, or has faults; the message names each by its row.
    """
    name = str(path)
    try:
        text = read_text(existing_file(path))
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a text file: expected a table (CSV)") from None
    lines = [(at, line) for at, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise InputError(f"{name}: empty: expected a table with the columns {','.join(COLUMNS)}")
    header = [cell.strip() for cell in next(csv.reader([lines[0][1]]))]
    _check_header(name, lines[0][0], header)
    faults: list[str] = []
    rows: list[Point] = []
    for at, line in lines[1:]:
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        place = f"{name}:{at}"
        try:
            rows.append(_point(place, _cells(header, cells)))
        except InputError as error:
            faults.append(f"{place}: {error}")
    faults += _faults(rows)
    if faults:
        raise InputError("\n".join(faults))
    if not rows:
        raise InputError(f"{name}: no point: expected rows below the header")
    return Points(name, tuple(rows), text)


def _check_header(name: str, line: int, header: Sequence[str]) -> None:
    for column in _NEEDED:
        if column not in header:
            near = closest(column, [*header])
            hint = f"; is `{near}` meant?" if near else ""
            raise InputError(f"{name}:{line}: no column `{column}`: expected {','.join(COLUMNS)}{hint}")
    twice = [column for column in (*COLUMNS, "op", "arrival") if header.count(column) > 1]
    if twice:
        raise InputError(f"{name}:{line}: column `{twice[0]}` twice: expected each once")


def _cells(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Returns the cells of a row by column.

    Raises:
        InputError: there are more cells than columns.
    """
    if len(cells) > len(header):
        raise InputError(f"{len(cells)} cells: expected {len(header)}, as the header has")
    return dict(zip(header, cells, strict=False))


def _point(place: str, row: dict[str, str]) -> Point:
    """Returns the point of a row.

    Raises:
        InputError: a value is none of its column.
    """
    if not row.get("id"):
        raise InputError("id: empty: expected a name of the measurement")
    load = load_of(row)
    metric = row.get("metric", "")
    if metric not in METRICS:
        near = closest(metric, [*METRICS])
        raise InputError(
            f"metric: {metric!r}: expected one of {', '.join(METRICS)}" + (f" (did you mean `{near}`?)" if near else "")
        )
    op = row.get("op", "") or "all"
    if op not in _OPS or load.share(op) == 0:
        raise InputError(f"op: {op!r}: expected all, read or write, as the load has them")
    value = _positive(row, "value")
    if value is None:
        raise InputError("value: empty: expected a number above 0")
    spread = math.exp(Z90 * METRICS[metric])
    low = _positive(row, "low") or value / spread
    high = _positive(row, "high") or value * spread
    if not low <= value <= high:
        raise InputError(f"value: {value:g}: outside of its own interval, {low:g} to {high:g}: expected low <= value <= high")
    if metric == "write_amplification" and not load.share("write"):
        raise InputError("metric: write_amplification: the load has no writes: expected another metric")
    return Point(place, row["id"], load, op, metric, value, low, high, row.get("use", "").lower())


def _positive(row: dict[str, str], column: str) -> float | None:
    text = row.get(column, "")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (0 < number < math.inf):
        raise InputError(f"{column}: {text!r}: expected a number above 0")
    return number


def _faults(rows: Sequence[Point]) -> Iterator[str]:
    """Yields contradictions between rows."""
    by_id: dict[str, Point] = {}
    by_load: dict[tuple[Load, str], list[Point]] = {}
    for row in rows:
        first = by_id.setdefault(row.id, row)
        if first.load != row.load:
            yield f"{row.place}: id: {row.id!r}: {first.place} has it for another load: expected one id for each load"
        by_load.setdefault((row.load, row.op), []).append(row)
    for group in by_load.values():
        yield from _repeat_faults(group)
        yield from _order_faults(group)
        yield from _arithmetic_faults(group)


def _repeat_faults(group: Sequence[Point]) -> Iterator[str]:
    """Yields repeats of a measurement whose intervals are apart."""
    known: dict[str, Point] = {}
    for row in group:
        first = known.setdefault(row.metric, row)
        if first is row or (row.low <= first.high and first.low <= row.high):
            continue
        ratio = max(row.value / first.value, first.value / row.value)
        slip = ": a unit slip of 1,000?" if _SLIP < ratio < 1e6 / _SLIP else ""
        yield (
            f"{row.place}: value: {row.value:g}: contradicts {first.place}, the same load and metric, with {first.value:g} "
            f"({first.low:g} to {first.high:g}){slip}: expected repeats whose intervals overlap, or wider intervals"
        )


def _order_faults(group: Sequence[Point]) -> Iterator[str]:
    """Yields percentiles that decrease."""
    known = {row.metric: row for row in group if row.metric in PERCENTILES}
    ordered = [known[name] for name in PERCENTILES if name in known]
    for before, row in pairwise(ordered):
        if row.value < before.value:
            slip = ": a unit slip of 1,000?" if before.value / row.value > _SLIP else ""
            yield (
                f"{row.place}: value: {row.metric} {row.value:g} is below {before.metric} {before.value:g} of {before.place}"
                f"{slip}: expected percentiles that rise"
            )


def _arithmetic_faults(group: Sequence[Point]) -> Iterator[str]:
    """Yields values of a load that contradict each other by a factor of about 1,000."""
    known = {row.metric: row for row in group}
    load = group[0].load
    rate, mean, bandwidth = known.get("iops"), known.get("mean_us"), known.get("mb_s")
    if rate and mean and not load.rate and group[0].op == "all":
        # Little's law: the commands in flight of a closed loop are its depth.
        ratio = rate.value * mean.value * 1e-6 / load.depth
        if ratio > _SLIP or ratio < 1 / _SLIP:
            yield (
                f"{mean.place}: value: mean_us {mean.value:g} with {rate.value:g} commands a second makes "
                f"{ratio * load.depth:.3g} commands in flight at depth {load.depth}: a unit slip of 1,000? "
                f"expected about {load.depth / rate.value * 1e6:.4g} us"
            )
        elif abs(math.log(ratio)) > _LITTLE:
            yield (
                f"{mean.place}: value: mean_us {mean.value:g} with {rate.value:g} commands a second of {rate.place} makes "
                f"{ratio * load.depth:.3g} commands in flight: expected the depth, {load.depth}"
            )
    if rate and bandwidth:
        ratio = rate.value * load.block / 1e6 / bandwidth.value
        if abs(math.log(ratio)) > _LITTLE:
            slip = "a unit slip of 1,000? " if ratio > _SLIP or ratio < 1 / _SLIP else ""
            yield (
                f"{bandwidth.place}: value: mb_s {bandwidth.value:g} with {rate.value:g} commands a second of "
                f"{load.block} bytes: {slip}expected about {rate.value * load.block / 1e6:.4g}"
            )


def table_text(rows: Sequence[dict[str, str]], remarks: Sequence[str] = ()) -> str:
    """Returns rows as a table of points, with remarks above it."""
    file = io.StringIO()
    for line in remarks:
        file.write(f"# {line}\n")
    columns = [*COLUMNS, *(name for name in ("op", "arrival") if any(row.get(name) for row in rows))]
    writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def points_path(folder: Path) -> Path:
    """Returns the table of points in the folder of a fit."""
    return folder / "points.csv"
