"""Why a tail is long: causes of the slowest commands, what stands behind them, and the fields that bear on them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from ssdlab import _engine, terms, toml
from ssdlab.errors import InputError
from ssdlab.files import damaged
from ssdlab.report.content import phrase
from ssdlab.results import RunData
from ssdlab.trials import Trial
from ssdlab.units import count, counted, duration, percent, significant

__all__ = ["BearingField", "Tail", "Why", "why_of"]

#: Tails in the results, each with the share of the commands that belong to it.
SHARES = {"p99": 0.01, "p99_9": 0.001, "p99_99": 0.0001}
#: Share of a tail from which a cause besides the largest is looked into.
_CONSIDERABLE = 0.25
#: Largest number of causes of one tail that are looked into.
_MOST = 2
#: Largest difference of the shares of a cause in the tail and in the mean that counts as none.
_ALIKE = 0.1


@dataclass(frozen=True, slots=True)
class Tail:
    """The slowest commands of an operation.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
        >>> tail = result.why().tails["write"][0]
        >>> tail.percentile, tail.count, tail.largest
        ('p99', 100, 'die_relocation')
    """

    #: ``read``, ``write`` or ``all``.
    op: str
    #: Percentile beyond which the commands are: ``p99``, ``p99_9`` or ``p99_99``.
    percentile: str
    #: Number of the commands.
    count: int
    #: Their mean latency [ns].
    mean_ns: float
    #: Mean time by cause [ns]; it adds up to the mean latency.
    causes: Mapping[str, float]

    @property
    def name(self) -> str:
        """Name of the tail in words: ``slowest 0.01 %``."""
        return f"slowest {100 * SHARES[self.percentile]:g} %"

    @property
    def largest(self) -> str:
        """Cause with the largest time."""
        return max(self.causes, key=lambda cause: self.causes[cause])

    def share(self, cause: str) -> float:
        """Returns the share of a cause in the latency.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
            >>> tail = result.why().tails["write"][0]
            >>> round(sum(tail.share(cause) for cause in tail.causes), 9)
            1.0
        """
        return self.causes.get(cause, 0.0) / self.mean_ns


@dataclass(frozen=True, slots=True)
class BearingField:
    """Field of a drive's description that bears on a cause of latency.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
        >>> fields = {field.name: field for field in result.why().fields}
        >>> time = fields["flash.program_time"]
        >>> time.value, time.helps, time.trial
        ('"600us"', 'less', 'flash.program_time="300us"')
    """

    #: Path in the description.
    name: str
    #: Value in the drive of the run, as TOML; ``None`` if it has none.
    value: str | None
    #: Change that may make the cause smaller.
    helps: str
    #: Change that a trial makes, as ``KEY=VALUE``; ``None`` if that depends on the load.
    trial: str | None
    #: Meaning of the field.
    meaning: str
    #: Cause on which it bears.
    cause: str


@dataclass(frozen=True)
class Why:
    """Why the tails of a run are long: :func:`ssdlab.why`, :meth:`ssdlab.Result.why`.

    Examples:
        >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
        >>> print(result.why())
        The slowest 0.1 % of the writes (10 commands) take ..., ... times the mean. ...
    """

    #: The run.
    result: RunData
    #: Tails of each operation that has any, the longest first; of each the largest first.
    tails: Mapping[str, Sequence[Tail]]
    #: Trials of the fields; empty if none were made.
    trials: Sequence[Trial] = field(default=())

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *(str(trial) for trial in self.trials)])

    def __repr__(self) -> str:
        return f"<ssdlab.Why {self.result.drive} · {self.result.workload} · {', '.join(self.tails) or 'no tail'}>"

    @property
    def fields(self) -> Sequence[BearingField]:
        """Fields that bear on the largest causes of the tails, those of the slowest operation first."""
        return self._fields

    # The terminal needs the sentences alone.
    @cached_property
    def _fields(self) -> Sequence[BearingField]:
        with damaged(self.result.folder):
            return _fields(self.result, [tails[-1] for tails in self.tails.values()])

    @property
    def sentences(self) -> list[str]:
        """Contents of the tail of each operation, in words."""
        if not self.tails:
            return ["No operation has a tail: fewer than ten commands lie beyond the 99th percentile."]
        with damaged(self.result.folder):
            return [_sentence(self.result, tails[-1]) for tails in self.tails.values()]

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as one document, as ``ssdlab why --json`` prints it.

        Examples:
            >>> result = ssdlab.run("tiny", "examples/randwrite.fio", precondition="steady", stop_after=10_000)
            >>> document = result.why().to_dict()
            >>> [*document], document["tails"]["write"]["p99"]["count"]
            (['drive', 'workload', 'sentences', 'tails', 'fields', 'trials'], 100)
        """
        return {
            "drive": self.result.drive,
            "workload": self.result.workload,
            "sentences": self.sentences,
            "tails": {
                op: {
                    "mean": {"count": self.result.latency[op].count, "causes": self.result.causes[op]},
                    **{
                        tail.percentile: {"count": tail.count, "mean_ns": tail.mean_ns, "causes": dict(tail.causes)}
                        for tail in tails
                    },
                }
                for op, tails in self.tails.items()
            },
            "fields": [
                {name: getattr(each, name) for name in ("name", "value", "helps", "trial", "meaning", "cause")}
                for each in self.fields
            ],
            "trials": [trial.to_dict() for trial in self.trials],
        }


def why_of(result: RunData) -> Why:
    """Returns why the tails of a result are long, without trials.

    Raises:
        InputError: the result has no causes of tails.
    """
    with damaged(result.folder):
        return _why_of(result)


def _why_of(result: RunData) -> Why:
    stated: Mapping[str, Any] | None = result.summary.get("causes_tail")
    if stated is None:
        raise InputError(
            f"{result.drive}, {result.workload}: an earlier version made this result, without the causes of its tails: "
            "expected one of this version (`ssdlab rerun DIR --out NEW`)"
        )
    # Commands that take no time, such as reads of what was never written on an ideal drive, have no causes.
    tails = {
        op: [_tail(op, name, found) for name in SHARES if (found := stated[op][name]) and found["causes"]]
        for op in ("read", "write")
    }
    known = sorted(((op, found) for op, found in tails.items() if found), key=lambda item: -item[1][-1].mean_ns)
    return Why(result, dict(known))


def _tail(op: str, percentile: str, numbers: Mapping[str, Any]) -> Tail:
    return Tail(op, percentile, int(numbers["count"]), float(numbers["mean_ns"]), numbers["causes"])


def _sentence(result: RunData, tail: Tail) -> str:
    """Returns what a tail consists of, and what stands behind its largest cause."""
    mean, cause = result.latency[tail.op].mean_ns or 0.0, tail.largest
    share = tail.share(cause)
    before = result.causes[tail.op].get(cause, 0.0) / mean if mean else 0.0
    times = f", {significant(tail.mean_ns / mean, 3)} times the mean" if mean else ""
    text = (
        f"The {tail.name} of the {tail.op}s ({counted(tail.count, 'command')}) take {duration(tail.mean_ns)}{times}. "
        f"The largest cause is {phrase(cause)} ({cause}): {duration(tail.causes[cause])}, {percent(share)}; "
    )
    if abs(share - before) < _ALIKE:
        text += f"it is much the same in the mean ({percent(before)})."
    else:
        text += f"in the mean of all {tail.op}s it is {percent(before)}."
    return f"{text} {_behind_text(result, cause)}"


def _behind_text(result: RunData, cause: str) -> str:
    """Returns what stands behind a cause: the resource with its utilisation, and the operations of the flash."""
    facts = terms.facts_behind(cause)
    if not facts:
        return ""
    shares = {
        name: value
        for name, value in result.summary["utilisation"].items()
        if any(_is_resource(name, begin) for begin in facts["utilisation"]) and isinstance(value, int | float)
    }
    text = f"Behind it: {facts['resource']}"
    if len(shares) > 1:
        busiest = max(shares, key=lambda name: shares[name])
        mean = sum(shares.values()) / len(shares)
        text += f" (busy for {percent(mean)} of the time, {busiest.replace('_', ' ')} for {percent(shares[busiest])})"
    elif shares:
        text += f" (busy for {percent(next(iter(shares.values())))} of the time)"
    done = _operations(result, facts)
    return f"{text}{f', with {done}' if done else ''}."


def _is_resource(name: str, begin: str) -> bool:
    """Returns true if a value of the utilisation is that of one resource whose name begins so."""
    rest = name.removeprefix(begin)
    # A name that ends in `_` goes on with the number of the resource: `dies` and `dies_writing` are no dies.
    return name.startswith(begin) and (rest[:1].isdigit() if begin in ("die_", "core_", "channel_") else True)


def _operations(result: RunData, facts: Mapping[str, Any]) -> str:
    """Returns how many operations for which reasons stand behind a cause, in the whole run; empty if none do."""
    kind = facts["operations"]
    words = {"erases": "blocks erased", "programs": "units programmed", "reads": "units read"}
    if not kind:
        return ""
    numbers = {reason: result.summary["flash"][kind].get(reason, 0) for reason in facts["reasons"]}
    known = sorted(((number, reason) for reason, number in numbers.items() if number), reverse=True)
    if not known:
        return ""
    each = [f"{count(number)} for {reason}" for number, reason in known]
    return f"{words[kind]} during the run: {', '.join(each)}"


def _fields(result: RunData, tails: Sequence[Tail]) -> list[BearingField]:
    """Returns the fields that bear on the largest causes of some tails, each once."""
    description = tomllib.loads(result.drive_toml)
    causes: list[str] = []
    for tail in tails:
        order = sorted(tail.causes, key=lambda cause: (-tail.causes[cause], cause))
        considerable = [cause for cause in order[:_MOST] if tail.share(cause) >= _CONSIDERABLE]
        causes += [cause for cause in considerable or order[:1] if cause not in causes]
    found: dict[str, BearingField] = {}
    for cause in causes:
        for one in (terms.facts_behind(cause) or {"fields": []})["fields"]:
            known = _field(description, one, cause)
            if known is not None and known.name not in found:
                found[known.name] = known
    return [*found.values()]


def _field(description: Mapping[str, Any], declared: Mapping[str, Any], cause: str) -> BearingField | None:
    """Returns a declared field as a drive has it; ``None`` if the drive has no such field, or has the value already."""
    name, change = str(declared["name"]), declared["change"]
    *parents, last = name.split(".")
    table: Any = description
    for parent in parents:
        table = table.get(parent) if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping):
        # A field of the entries of a list, such as the modes, is named; the entries have to be chosen.
        entries = table if isinstance(table, list) else []
        if not any(isinstance(entry, Mapping) and last in entry for entry in entries):
            return None
        return BearingField(name, None, "it depends", None, _meaning(name), cause)
    value = table.get(last)
    shown = None if value is None else toml.value(value)
    if change in ("more", "less"):
        other = None if value is None else scaled_value(value, float(declared["factor"]))
        return None if other is None else BearingField(name, shown, change, f"{name}={toml.value(other)}", _meaning(name), cause)
    if change == "depends":
        return BearingField(name, shown, "it depends", None, _meaning(name), cause)
    wanted = str(declared["value"])
    kind = value.get("kind") if isinstance(value, Mapping) else value
    if wanted.startswith("{"):
        return (
            None
            if value is not None
            else BearingField(name, None, f"a value {wanted}", f"{name}={wanted}", _meaning(name), cause)
        )
    if str(kind).lower() == wanted:
        return None
    return BearingField(name, shown, wanted, f"{name}={wanted}", _meaning(name), cause)


def scaled_value(value: Any, factor: float) -> Any:
    """Returns a value of a description multiplied by a factor; ``None`` if that is not another value of its kind."""
    match value:
        case bool():
            return None
        case int():
            other: Any = max(1, round(value * factor))
        case float():
            other = float(f"{value * factor:.6g}")
        case str():
            number = value.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/")
            try:
                other = f"{float(number) * factor:.12g}{value[len(number) :]}"
            except ValueError:
                return None
        case list():
            parts = [scaled_value(part, factor) for part in value]
            other = None if None in parts or not parts else parts
        case _:
            return None
    return None if other == value else other


def _meaning(name: str) -> str:
    """Returns the meaning of a field: the first paragraph of its declaration."""
    schema = _schema()
    found = _schema_at(schema, schema, name.split(".")) or {}
    return terms.plain(str(found.get("description", "")).split("\n\n")[0].replace("\n", " "))


@cache
def _schema() -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(_engine.schema("drive"))
    return fields


def _schema_at(root: Mapping[str, Any], at: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any] | None:
    if "$ref" in at:
        target: Any = root
        for part in str(at["$ref"]).removeprefix("#/").split("/"):
            target = target[part]
        at = {**target, **{key: value for key, value in at.items() if key != "$ref"}}
    if not path:
        return at
    inner = [part for of in ("anyOf", "oneOf", "allOf") for part in at.get(of, [])]
    inner += [at["items"]] if isinstance(at.get("items"), Mapping) else []
    if path[0] in at.get("properties", {}):
        return _schema_at(root, at["properties"][path[0]], path[1:])
    return next((found for part in inner if (found := _schema_at(root, part, path)) is not None), None)
