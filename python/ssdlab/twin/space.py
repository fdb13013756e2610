"""Fields of a drive that a fit may move, each within a stated range, as a share of it from 0 to 1."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab import drives, toml
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore.expression import alike, magnitude
from ssdlab.explore.names import looked_up
from ssdlab.files import existing_file, read_text
from ssdlab.units import duration, significant, size

__all__ = ["Field", "Space", "space_of"]

#: Fields that a data sheet leaves open, with the factor by which each may be below and above the base's value.
#: The factors are assumed [A]: they hold the parts of one generation of flash and controllers, and its neighbours.
_OPEN: dict[str, float] = {
    "flash.read_time": 2.0,
    "flash.program_time": 2.5,
    "flash.erase_time": 2.5,
    "flash.transfer_rate": 2.0,
    "controller.firmware.cycles.decode": 4.0,
    "controller.firmware.cycles.issue": 4.0,
    "controller.firmware.cycles.complete": 4.0,
    "host.cpu.submission": 4.0,
    "buffer.capacity": 4.0,
    "ftl.overprovisioning": 2.5,
    "flash.suspension.suspend_time": 3.0,
    "flash.suspension.least_remaining": 4.0,
    "flash.suspension.most": 4.0,
    "policy.slc_cache.dynamic_blocks": 4.0,
    "policy.slc_cache.static_blocks": 4.0,
    "ecc.plan.step_time": 4.0,
}
#: Fields that a mock-up changes, which a fit of one cannot move.
_OF_MOCK_UPS = ("buffer.capacity", "policy.slc_cache.dynamic_blocks", "policy.slc_cache.static_blocks")
#: Name with the place of an entry of a list.
_ENTRY = re.compile(r"([\w.]+)\[(\d+)\]")
#: Largest over-provisioning of a fit.
_MOST_SPARE = 0.95
#: Fields that act only under a policy.
_OF_POLICIES = {"policy.slc_cache.dynamic_blocks": "slc_cache", "policy.slc_cache.static_blocks": "slc_cache"}
#: Page types of a cell, whose times of reads differ.
_PAGE_TYPES = {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4, "plc": 5}
#: Most fields of a fit.
_MOST = 40


@dataclass(frozen=True, slots=True)
class Field:
    """A field, or an entry of a field that is a list, with its range on a logarithmic scale."""

    name: str
    #: Values [ns, bytes, transfers or bytes a second, or the plain number]: of the base, and the ends of the range.
    base: float
    low: float
    high: float
    #: Value of the base, as its description has it.
    example: Any

    @property
    def is_whole(self) -> bool:
        """True for a count."""
        return isinstance(self.example, int)

    def value(self, share: float) -> Any:
        """Returns the value at a share of the range, as a description has it."""
        found = self.low * (self.high / self.low) ** min(max(share, 0.0), 1.0)
        if isinstance(self.example, float):
            return float(f"{found:.6g}")
        if self.is_whole:
            return round(found)
        # Sizes are whole units of 4 KiB, times whole nanoseconds.
        grain = 4096 if str(self.example).endswith("B") and found >= 4096 else 1
        return alike(round(found / grain) * grain, self.example)

    def share(self, value: float) -> float:
        """Returns the share of the range at which a value lies."""
        return min(max(math.log(value / self.low) / math.log(self.high / self.low), 0.0), 1.0)

    def shown(self, share: float) -> str:
        """Returns the value at a share of the range, for people."""
        value = self.value(share)
        number = magnitude(value)
        if isinstance(value, str) and value.endswith("ns"):
            return duration(number)
        if isinstance(value, str) and value.endswith("B"):
            return size(number)
        if isinstance(value, str) and value.endswith("T/s") and number is not None:
            return f"{significant(number / 1e6)} MT/s"
        return f"{value:.4g}" if isinstance(value, float) else f"{value}"


@dataclass(frozen=True, slots=True)
class Space:
    """The fields of a fit, and the drive that they belong to."""

    drive: Drive
    #: Settings of every drive of the fit.
    fixed: tuple[str, ...]
    fields: tuple[Field, ...]
    #: Values of the base whose entries are moved one by one.
    lists: Mapping[str, Sequence[Any]]

    @property
    def start(self) -> tuple[float, ...]:
        """Shares of the base."""
        return tuple(field.share(field.base) for field in self.fields)

    def settings(self, shares: Sequence[float]) -> tuple[str, ...]:
        """Returns the settings of the drive at some shares."""
        found: dict[str, Any] = {}
        for field, share in zip(self.fields, shares, strict=True):
            value = field.value(share)
            if entry := _ENTRY.fullmatch(field.name):
                whole = found.setdefault(entry[1], [*self.lists[entry[1]]])
                whole[int(entry[2])] = value
            else:
                found[field.name] = value
        return (*self.fixed, *drives.setting_lines(found))

    def values(self, shares: Sequence[float]) -> dict[str, str]:
        """Returns the values at some shares, by the names of the fields."""
        return {field.name: field.shown(share) for field, share in zip(self.fields, shares, strict=True)}


def space_of(base: str, spec: str | None, *, is_mock_up: bool = False, drive: Drive | None = None) -> Space:
    """Returns the fields of a fit.

    Args:
        base: A preset, or the file of a description.
        spec: Specification (TOML) with `[search]`, in place of the fields that a data sheet leaves open, and `[set]`.
        is_mock_up: True if the drive is a smaller one: what that changes is not moved.
        drive: The drive that is simulated; absent: the base.

    Raises:
        InputError: the base or the specification is invalid.
    """
    source = drive or Drive.open(base)
    document = _document(spec)
    fixed = tuple(drives.setting_lines(document.get("set", {})))
    try:
        complete = tomllib.loads(drives.check(source, set=fixed))
    except InputError as error:
        raise InputError(f"{spec}: set: {error}" if fixed else str(error)) from None
    given = document.get("search")
    fields: list[Field] = []
    lists: dict[str, Sequence[Any]] = {}
    wanted: Mapping[str, Any] = given if given is not None else {name: {"scale": factor} for name, factor in _OPEN.items()}
    if given is None:
        _divide_times(complete)
    for name, given_range in wanted.items():
        if given is None and _OF_POLICIES.get(name, looked_up(complete, "policy")) != looked_up(complete, "policy"):
            continue
        if is_mock_up and name in _OF_MOCK_UPS:
            if given is not None:
                raise InputError(f"{spec}: search.{name}: a mock-up has another value of it: expected a fit without --shrink")
            continue
        fields += _fields(name, given_range, complete, lists, spec)
    if not fields:
        raise InputError(f"{spec or base}: no field to fit: expected [search] with fields of the drive")
    if len(fields) > _MOST:
        raise InputError(f"{spec}: search: {len(fields)} fields: expected at most {_MOST}")
    space = Space(source, fixed, tuple(fields), lists)
    for place, share in (("low", 0.0), ("high", 1.0)):
        try:
            drives.check(source, set=space.settings([share] * len(fields)))
        except InputError as error:
            raise InputError(f"{spec or base}: search, all fields at {place}: {error}") from None
    return space


def _divide_times(complete: dict[str, Any]) -> None:
    """Gives each page type a time of its own, where the base has one for all."""
    flash = complete["flash"]
    types = _PAGE_TYPES.get(str(flash.get("cell", "")).lower(), 1)
    if types > 1 and isinstance(flash["read_time"], str):
        flash["read_time"] = [flash["read_time"]] * types


def _document(spec: str | None) -> dict[str, Any]:
    if spec is None:
        return {}
    try:
        document = toml.loads(read_text(existing_file(spec)))
    except ValueError as error:
        raise error if isinstance(error, InputError) else InputError(f"{spec}: {error}") from None
    for name, value in document.items():
        if name not in ("search", "set"):
            raise InputError(f"{spec}: {name}: unknown table: expected search or set")
        if not isinstance(value, dict):
            raise InputError(f"{spec}: {name}: expected a table")
    return document


def _fields(name: str, given: Any, complete: Mapping[str, Any], lists: dict[str, Sequence[Any]], spec: str | None) -> list[Field]:
    """Returns the fields of a name: one for each entry of a list; none if the base lacks it and none was asked for."""
    entry = _ENTRY.fullmatch(name)
    path = entry[1] if entry else name
    try:
        value = looked_up(complete, path)
    except KeyError:
        value = None
    if value is None or isinstance(value, dict | bool):
        if spec is None:
            return []
        raise InputError(f"{spec}: search.{name}: the base has no such number: expected a field of its description, or [set] it")
    if isinstance(value, list):
        lists[path] = value
        places = [int(entry[2])] if entry else [*range(len(value))]
        if places[-1] >= len(value):
            raise InputError(f"{spec}: search.{name}: {path} has {len(value)} entries: expected a place below")
        return [_field(f"{path}[{at}]", value[at], given, spec) for at in places]
    if entry:
        raise InputError(f"{spec}: search.{name}: {path} is no list: expected {path}")
    # A part without cost leaves a factor nothing to act on.
    return [_field(name, value, given, spec)] if spec is not None or (magnitude(value) or 0) > 0 else []


def _field(name: str, value: Any, given: Any, spec: str | None) -> Field:
    """Returns a field with its range, as the specification gives it: low and high, or a factor on either side."""
    number = magnitude(value)
    where = f"{spec or 'fit'}: search.{name}"
    if number is None or not isinstance(given, dict) or {*given} not in ({"scale"}, {"low", "high"}):
        raise InputError(f"{where}: {given!r}: expected {{ low = .., high = .. }}, or {{ scale = FACTOR }}, of a number")
    if "scale" in given:
        factor = given["scale"]
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not factor > 1:
            raise InputError(f"{where}: scale = {factor!r}: expected a factor above 1")
        if number <= 0:
            raise InputError(f"{where}: the base has {value!r}: expected low and high, as a factor leaves it there")
        low, high = number / factor, number * factor
    else:
        ends = [magnitude(given[end]) for end in ("low", "high")]
        if ends[0] is None or ends[1] is None or not 0 < ends[0] < ends[1]:
            raise InputError(f"{where}: {given}: expected 0 < low < high, as {value!r}")
        low, high = ends[0], ends[1]
    if isinstance(value, int):
        low, high = max(1.0, round(low)), max(2.0, round(high))
    if name.endswith("overprovisioning"):
        high = min(high, _MOST_SPARE)
    return Field(name, min(max(number, low), high), low, high, value)
