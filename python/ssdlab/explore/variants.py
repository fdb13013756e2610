"""The variants of a comparison: the product of the values of some fields, which are named as in a sweep."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssdlab import drives, toml
from ssdlab.declared import GROUPS
from ssdlab.drives import DriveLike
from ssdlab.errors import InputError
from ssdlab.explore import design, loads
from ssdlab.explore.spec import PARTS
from ssdlab.numbers import plain
from ssdlab.provenance import original_workload
from ssdlab.workloads import Workload, WorkloadLike

__all__ = ["Variant", "read", "variants"]

#: Most variants of a comparison, whose runs are all kept until its end.
_MOST = 1_000
#: Brackets within which a comma is part of a value.
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of values, with the inputs of its runs."""

    #: Values of the varied fields.
    fields: Mapping[str, Any]
    workload: Workload
    #: ``KEY=VALUE`` lines: those of all runs, then those of the variant.
    settings: tuple[str, ...]
    #: Options of the run that the variant sets.
    options: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Returns the values with the last parts of the names of their fields."""
        return " · ".join(f"{name.rpartition('.')[2]} {value}" for name, value in self.fields.items())

    @property
    def checked_settings(self) -> list[str]:
        """Returns the settings with the starting state as a field of the drive, so that it can be checked with them."""
        state = self.options.get("precondition")
        return [*self.settings, *([] if state is None else [f"state.precondition={state}"])]


def read(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the fields and values in texts such as ``ftl.victim=greedy,fifo``.

    A value is read as TOML, or as a text if it is none, as `--set` does. Commas in quotes and brackets belong to it.

    Raises:
        InputError: a text has another form, or a field is given twice.

    Examples:
        >>> from ssdlab.explore import variants
        >>> variants.read(["ftl.overprovisioning=0.07,0.28", "workload.bs='4k,8k',16k"])
        {'ftl.overprovisioning': [0.07, 0.28], 'workload.bs': ['4k,8k', '16k']}
    """
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InputError(f"--vary {text}: expected FIELD=A,B, such as ftl.overprovisioning=0.07,0.28")
        if name in found:
            raise InputError(f"--vary {text}: {name} is given twice: expected all of its values in one --vary")
        found[name] = [_value(part) for part in _split(text, listed)]
    return found


def _split(whole: str, listed: str) -> list[str]:
    """Returns the texts between the commas that are in no quotes and in no brackets."""
    parts, open_brackets, quote = [""], "", ""
    for letter in listed:
        if letter == "," and not open_brackets and not quote:
            parts.append("")
            continue
        parts[-1] += letter
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _CLOSING:
            open_brackets += _CLOSING[letter]
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets = open_brackets[:-1]
    if open_brackets or quote:
        raise InputError(f"--vary {whole}: expected {(quote or open_brackets[-1])} before the end")
    stripped = [part.strip() for part in parts]
    if "" in stripped:
        raise InputError(f"--vary {whole}: expected values between the commas; '' removes a field")
    return stripped


def _value(text: str) -> Any:
    """Returns a value as TOML has it; a text that is no TOML as it is."""
    try:
        found = toml.loads(f"value = {text}")
    except ValueError:
        return text
    return found["value"] if len(found) == 1 else text


def variants(
    workload: WorkloadLike, vary: Mapping[str, Sequence[Any]], settings: Sequence[str], options: Mapping[str, Any]
) -> list[Variant]:
    """Returns the variants of a comparison, the values of the last field changing fastest.

    Args:
        workload: The workload of all runs.
        vary: The values of each field. A field is named as in [vary] of a sweep.
        settings: ``KEY=VALUE`` lines of all runs.
        options: Options of all runs.

    Raises:
        InputError: a field is also given elsewhere, or is none of a comparison; a workload has no such field.
    """
    vary = plain(vary)
    _check_places(vary, settings, options)
    for name, values in vary.items():
        _check_values(name, values)
    if (count := math.prod(map(len, vary.values()))) > _MOST:
        raise InputError(f"--vary: {count} variants: expected at most {_MOST}; `ssdlab sweep` takes more")
    stream = original_workload(Workload.open(workload))
    found = []
    for fields in design.combinations([[{name: value} for value in values] for name, values in vary.items()]):
        state = {"precondition": fields["precondition"]} if "precondition" in fields else {}
        own, for_load, chosen = design.fields_by_part({name: value for name, value in fields.items() if name not in PARTS})
        reading = {name: value for name, value in chosen.items() if name in GROUPS["workload"]}
        run_options = {name: value for name, value in chosen.items() if name not in reading}
        design.check_options(run_options, lambda name, what: InputError(f"--vary options.{name}: {what}"))
        lines = (*settings, *drives.setting_lines(own))
        found.append(Variant(fields, _workload_with(stream, {**reading, **for_load}), lines, {**state, **run_options}))
    return found


def _workload_with(stream: Workload, fields: Mapping[str, Any]) -> Workload:
    if not fields:
        return stream
    doubled = [name for name in fields if name in stream.options()]
    if doubled:
        raise InputError(f"--vary workload.{doubled[0]}: also given as an option of all runs: expected one place")
    try:
        return loads.workload_with(stream, fields)
    except InputError as error:
        raise InputError(f"--vary {error}") from None


def _check_places(vary: Mapping[str, Sequence[Any]], settings: Sequence[str], options: Mapping[str, Any]) -> None:
    """Checks that the fields may be varied, and are given in no other place.

    Raises:
        InputError: they may not, or are.
    """
    elsewhere = {
        "drive": "a comparison is of one drive: expected `ssdlab sweep` for several",
        "workload": "a comparison is of one workload: expected `ssdlab sweep` for several, or a field: workload.FIELD=A,B",
        "policy": "expected --policy A,B",
        "policy.kind": "expected --policy A,B",
        "seed": "no field of the drive: expected `ssdlab sweep` with `seeds`, which compares seed by seed",
    }
    set_names = {line.partition("=")[0].strip() for line in settings}
    for name in vary:
        if name in elsewhere:
            raise InputError(f"--vary {name}: {elsewhere[name]}")
        option = "precondition" if name == "state.precondition" else name.removeprefix("options.")
        if name in set_names:
            raise InputError(f"--vary {name}: given by --set, too: expected one place")
        if (option != name or name in PARTS) and options.get(option) is not None:
            raise InputError(f"--vary {name}: given by --{option.replace('_', '-')}, too: expected one place")


def _check_values(name: str, values: Sequence[Any]) -> None:
    """Checks that a field has several values, each once.

    Raises:
        InputError: it has not.
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise InputError(f"--vary {name}: {values!r}: expected a list of values")
    texts = [str(value) for value in values]
    if len(texts) < 2:
        given = f"{name}={texts[0]}" if texts else name
        raise InputError(f"--vary {given}: expected at least two values; a single one is for --set")
    repeated = next((text for at, text in enumerate(texts) if text in texts[:at]), None)
    if repeated is not None:
        raise InputError(f"--vary {name}: {repeated} is given twice: expected each value once")


def check_drive(drive: DriveLike, variant: Variant, policy: str | None) -> None:
    """Checks that a drive with the settings of a variant is valid with a policy.

    Raises:
        InputError: it is not; a value that was varied is named as such.
    """
    lines = variant.checked_settings + ([] if policy is None else [f"policy.kind={policy}"])
    try:
        drives.check(drive, set=lines)
    except InputError as error:
        raise InputError(_naming_vary(str(error), variant.fields)) from None


def _naming_vary(message: str, names: Mapping[str, Any]) -> str:
    """Returns a message about settings that names those of a variant by --vary."""
    for name in names:
        place = "state.precondition" if name == "precondition" else name
        message = re.sub(rf"(?m)^(?:--)?set {re.escape(place)}(?==)", f"--vary {name}", message)
    return message


def loads_to_check(found: Sequence[Variant]) -> Iterator[Variant]:
    """Yields the variants whose workload or options differ from those of all runs, each once."""
    seen: list[tuple[Any, ...]] = []
    for variant in found:
        key = tuple((name, value) for name, value in variant.fields.items() if name.startswith(("workload.", "options.")))
        if key and key not in seen:
            seen.append(key)
            yield variant
