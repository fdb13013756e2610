"""Load of a measured point: a job of fio, and the state that the drive is in when it begins."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ssdlab.errors import InputError, closest

__all__ = ["PATTERNS", "Load", "bytes_of", "load_of", "pattern_of"]

#: Access patterns, by their names in fio.
PATTERNS = ("read", "write", "randread", "randwrite", "rw", "randrw")
#: Names of the starting states that a column `age` may have, and the preconditions that make them.
_STATES = {
    "none": "none",
    "new": "none",
    "fresh": "none",
    "fill": "fill",
    "full": "fill",
    "random": "random",
    "steady": "steady",
    "light": "light",
    "paused": "paused",
}
_DURATION = re.compile(r"\d+(\.\d+)?(ns|us|ms|s|min|h|d|w|y)")
_CYCLES = re.compile(r"(\d+)pe")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
#: Powers of 1024 in a size, by the first letter of its unit; `kB`, `MB`, ... are powers of 1000.
_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
#: Largest depth and rate of a load.
_DEPTH_MAX, _RATE_MAX = 1 << 20, 1e9


@dataclass(frozen=True, slots=True, order=True)
class Load:
    """A load, under which several points may be measured."""

    #: Pattern, one of :data:`PATTERNS`.
    rw: str
    #: Length of a command [bytes].
    block: int
    #: Commands in flight.
    depth: int = 1
    #: Commands that begin in a second; 0: as soon as the depth permits.
    rate: float = 0.0
    #: Reads in a mixed load [percent].
    mix: int = 50
    #: Part of the drive that is accessed: its share (at most 1), or its bytes (above 1).
    span: float = 1.0
    #: Precondition before the run, or `light` or `paused`: the steady state of a load that leaves the dies idle.
    state: str = "fill"
    #: Time since the data was written, as a duration of a description.
    age: str = ""
    #: Erases of each block before the run.
    cycles: int = 0
    #: Commands of a rate arrive as a Poisson process, and not at equal intervals.
    is_poisson: bool = False

    @property
    def is_mixed(self) -> bool:
        """True if there are reads and writes."""
        return self.rw in ("rw", "randrw")

    @property
    def is_random(self) -> bool:
        """True if addresses are drawn."""
        return self.rw.startswith("rand")

    @property
    def group(self) -> str:
        """Group of the load: the loads of one curve, which are left out together."""
        mix = f" {self.mix}/{100 - self.mix}" if self.is_mixed else ""
        return f"{self.rw}{mix} {size_text(self.block)}"

    @property
    def name(self) -> str:
        """Name of the load in messages and tables."""
        parts = [self.group, f"depth {self.depth}"]
        parts += [f"{self.rate:,.0f}/s{' poisson' if self.is_poisson else ''}"] if self.rate else []
        parts += [f"{100 * self.span:.3g} %"] if self.span < 1 else [size_text(int(self.span))] if self.span > 1 else []
        parts += [self.state, *([self.age] if self.age else []), *([f"{self.cycles} P/E"] if self.cycles else [])]
        return ", ".join(parts)

    def share(self, op: str) -> float:
        """Returns the share of the commands that are of an operation: all, read or write."""
        reads = self.mix / 100 if self.is_mixed else float(self.rw.endswith("read"))
        return {"all": 1.0, "read": reads, "write": 1 - reads}[op]

    def settings(self) -> list[str]:
        """Returns the settings of a drive that make its starting state."""
        state = "steady" if self.state in ("light", "paused") else self.state
        found = [f"state.precondition={state}"]
        if state == "steady":
            found.append(f'state.load="{"sustained" if self.state == "steady" else self.state}"')
        found += [f'state.age="{self.age}"'] if self.age else []
        return found + ([f"state.pe_cycles={self.cycles}"] if self.cycles else [])

    def job(self, commands: int, user_bytes: int) -> str:
        """Returns the load as a job of fio of so many commands, for a drive of this user capacity [bytes].

        Raises:
            InputError: the drive is smaller than the part that is accessed.
        """
        span = self.span * user_bytes if self.span <= 1 else self.span
        if span > user_bytes:
            raise InputError(f"size {size_text(int(span))}: the drive has {size_text(user_bytes)}: expected less")
        # Whole blocks, and at least one.
        size = max(int(span) // self.block, 1) * self.block
        lines = ["[load]", f"rw={self.rw}", f"bs={self.block}", f"iodepth={self.depth}", f"size={size}"]
        lines += [f"io_size={commands * self.block}", f"number_ios={commands}", "norandommap=1"]
        lines += [f"rwmixread={self.mix}"] if self.is_mixed else []
        if self.rate:
            reads, writes = (max(1, round(self.rate * self.share(op))) for op in ("read", "write"))
            lines.append(f"rate_iops={reads},{writes}" if self.is_mixed else f"rate_iops={max(1, round(self.rate))}")
            lines += ["rate_process=poisson"] if self.is_poisson else []
        return "\n".join(lines) + "\n"


def size_text(size: int) -> str:
    """Returns a number of bytes with the largest binary prefix that leaves it whole."""
    for power, prefix in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power} {prefix}"
    return f"{size} B"


def bytes_of(text: str) -> float | None:
    """Returns the bytes of a size as fio or a description has it (`4k`, `4KiB`, `4kB`); ``None`` if it is none."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None or found[2][:1] not in _POWERS or found[2] not in _units(found[2][:1]):
        return None
    # In fio `k` is 1024; `kB` is 1000, as in a description.
    is_decimal = found[2].endswith("b") and "i" not in found[2] and len(found[2]) == 2
    return float(found[1]) * float((1000 if is_decimal else 1024) ** _POWERS[found[2][:1]])


def _units(letter: str) -> tuple[str, ...]:
    return ("", "b") if letter in ("", "b") else (letter, f"{letter}b", f"{letter}i", f"{letter}ib")


def load_of(row: dict[str, str]) -> Load:
    """Returns the load of a row of a table of points.

    Raises:
        InputError: a value is none of its column; the message begins with the column.
    """
    rw = row.get("rw", "").lower()
    pattern = pattern_of(rw)
    block = bytes_of(row.get("bs", ""))
    if block is None or block < 1 or block % 512:
        raise InputError(f"bs: {row.get('bs', '')!r}: expected a length in multiples of 512 bytes, such as 4k")
    mix = _number(row, "rwmixread", 50, 0, 100) if pattern in ("rw", "randrw") else 50
    if row.get("rwmixread") and pattern not in ("rw", "randrw"):
        only = 100 if pattern.endswith("read") else 0
        if _number(row, "rwmixread", only, 0, 100) != only:
            raise InputError(f"rwmixread: {row['rwmixread']}: rw = {rw} has {only} % reads: expected rw or randrw, or nothing")
    state, age, cycles = _state(row.get("age", ""), pattern)
    arrival = row.get("arrival", "") or "linear"
    if arrival not in ("linear", "poisson"):
        raise InputError(f"arrival: {arrival!r}: expected linear or poisson, as fio's rate_process")
    return Load(
        pattern,
        int(block),
        int(_number(row, "iodepth", 1, 1, _DEPTH_MAX)),
        _number(row, "rate_iops", 0, 0, _RATE_MAX),
        int(mix),
        _span(row.get("size", "")),
        state,
        age,
        cycles,
        arrival == "poisson",
    )


def pattern_of(rw: str) -> str:
    """Returns a pattern by its name in fio.

    Raises:
        InputError: there is none of this name.
    """
    pattern = {"readwrite": "rw"}.get(rw, rw)
    if pattern not in PATTERNS:
        near = closest(rw, [*PATTERNS])
        hint = f" (did you mean `{near}`?)" if near else ""
        raise InputError(f"rw: {rw!r}: expected one of {', '.join(PATTERNS)}{hint}")
    return pattern


def _number(row: dict[str, str], column: str, default: float, least: float, most: float) -> float:
    text = row.get(column, "")
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    is_whole = column == "rate_iops" or number == number // 1
    if not (least <= number <= most and is_whole):
        kind = "a number" if column == "rate_iops" else "a whole number"
        raise InputError(f"{column}: {text!r}: expected {kind}, {least:g} to {most:g}")
    return number


def _span(text: str) -> float:
    """Returns the part of the drive that is accessed, as :attr:`Load.span` has it."""
    if not text:
        return 1.0
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text) if "." in text else None
    except ValueError:
        share = None
    if share is None:
        size = bytes_of(text)
        if size is None or size < 512:
            raise InputError(f"size: {text!r}: expected a share of the drive, such as 80%, or a size, such as 400GiB")
        return size
    if not 0 < share <= 1:
        raise InputError(f"size: {text!r}: expected a share above 0 and at most 100%")
    return share


def _state(text: str, pattern: str) -> tuple[str, str, int]:
    """Returns precondition, age of the data and erases of each block that a column `age` names."""
    # A drive that is written at random for long is steady; reads find data that was written once.
    state, age, cycles = "steady" if pattern in ("randwrite", "randrw") else "fill", "", 0
    for word in text.lower().replace(",", " ").split():
        if word in _STATES:
            state = _STATES[word]
        elif _DURATION.fullmatch(word):
            age = word
        elif found := _CYCLES.fullmatch(word):
            cycles = int(found[1])
        else:
            known = ", ".join(_STATES)
            raise InputError(f"age: {word!r}: expected one of {known}, a duration such as 90d, or erases such as 3000pe")
    return state, age, cycles
