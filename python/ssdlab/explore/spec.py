"""The specification of a sweep: which drives, loads and policies are varied, and what is kept of each run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab import toml
from ssdlab.errors import InputError, closest, unknown_name
from ssdlab.explore.cost import Cost
from ssdlab.explore.expression import Expression
from ssdlab.explore.goal import MISFIT, Constraint, Method, Objective, Target
from ssdlab.explore.known import life_numbers, sections, stream_numbers
from ssdlab.explore.ranges import Range
from ssdlab.files import existing_file, read_text
from ssdlab.workloads import STANDARD_INPUT

__all__ = ["Design", "NamedLoad", "Spec", "SpecLike", "Until"]

#: Keys of a specification.
KEYS = (
    "title",
    "drive",
    "workload",
    "policy",
    "precondition",
    "seeds",
    "set",
    "options",
    "vary",
    "zip",
    "points",
    "design",
    "where",
    "derive",
    "columns",
    "until",
    "most_seeds",
    "search",
    "reference",
    "measure",
    "objective",
    "target",
    "constraint",
    "optimise",
    "cost",
    "lifetime",
)
#: Keys that a sweep alone has, and those that a search alone has.
SWEEP_KEYS = ("vary", "zip", "points", "design", "until", "most_seeds")
SEARCH_KEYS = ("search", "reference", "measure", "objective", "target", "constraint", "optimise")
#: Prefix of the numbers of the runs with which those of a search are compared, and of those of a stream.
REFERENCE = "reference."
STREAMS = "streams["
#: Name of a load, and of a number of a stream.
_LOAD = re.compile(r"[A-Za-z_]\w*")
_STREAM = re.compile(r"streams\[(\d+)\]\.(.+)")
#: Short names of numbers in a stopping rule.
_SHORT = {
    "mean": "latency.all.mean_ns",
    **{f"p{share}": f"latency.all.p{share.replace('.', '_')}_ns" for share in ("50", "90", "99", "99.9", "99.99")},
}
_UNTIL = re.compile(r"\s*(\S+)\s+within\s+(\d+(?:\.\d+)?)\s*%\s*")
DESIGN_KINDS = ("grid", "random", "latin_hypercube", "sobol")
#: Fields of a range.
_RANGE_KEYS = ("low", "high", "count", "log", "step")
#: Fields of what a search may choose for a field.
_SEARCH_RANGE_KEYS = ("choices", "low", "high", "log", "step")
#: Parts of a point that are no fields of the drive.
PARTS = ("drive", "workload", "policy", "precondition")
#: Most seeds, so that a misplaced number does not make millions of runs.
MOST_SEEDS = 10_000
#: Largest number of points of a sweep: all are planned before the first is run.
MOST_POINTS = 1_000_000
#: Largest number of runs of a sweep, points times seeds.
MOST_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class Design:
    """Rule by which points are chosen.

    Examples:
        >>> from ssdlab.explore.spec import Design
        >>> Design().kind
        'grid'
    """

    #: ``grid``, ``random``, ``latin_hypercube`` or ``sobol``.
    kind: str = "grid"
    #: Number of samples; without meaning for a grid.
    samples: int = 0
    #: Seed of the samples.
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Until:
    """A stopping rule: each point gets further seeds until a number is known well enough.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "job.fio", "until": "p99.99 within 5 %"}
        >>> ssdlab.Spec.open(spec).until
        Until(number='latency.all.p99_99_ns', share=0.05, most=30)
    """

    #: Name of the number.
    number: str
    #: Largest half width of its 95 % confidence interval, as a share of its mean.
    share: float
    #: Most seeds of a point.
    most: int


@dataclass(frozen=True, slots=True)
class NamedLoad:
    """One of the workloads of each trial of a search.

    Examples:
        >>> loads = {"reads": "reads.fio", "writes": {"file": "writes.fio", "precondition": "steady"}}
        >>> ssdlab.Spec.open({"drive": "tiny", "workload": loads}).loads[1]
        NamedLoad(name='writes', file='writes.fio', precondition='steady')
    """

    #: Prefix of the names of its numbers.
    name: str
    file: str
    #: Starting state; ``None``: that of the specification.
    precondition: str | None = None


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    Examples:
        >>> spec = {"drive": "tiny", "workload": "job.fio", "seeds": 2, "vary": {"ftl.victim": ["greedy", "fifo"]}}
        >>> ssdlab.Spec.open(spec).seeds
        (1, 2)
        >>> ssdlab.Spec.open({**spec, "seed": 1})
        Traceback (most recent call last):
        ssdlab.InputError: spec: seed: unknown key: expected one of ... (did you mean `seeds`?)
    """

    #: Name for messages.
    name: str
    #: The text, in TOML.
    text: str
    #: Folder to which file names refer.
    folder: Path
    title: str
    drives: tuple[str, ...]
    workloads: tuple[str, ...]
    #: Policies; empty: that of each drive.
    policies: tuple[str, ...]
    #: Starting states; empty: that of each drive.
    preconditions: tuple[str, ...]
    seeds: tuple[int, ...]
    #: Fields of all points.
    settings: Mapping[str, Any]
    #: Options of all runs.
    options: Mapping[str, Any]
    #: Values of each varied field, or their range.
    vary: Mapping[str, tuple[Any, ...] | Range]
    #: Fields that change together: each table has lists of one length.
    zips: tuple[Mapping[str, tuple[Any, ...]], ...]
    #: Points given one by one.
    points: tuple[Mapping[str, Any], ...]
    design: Design
    where: tuple[Expression, ...]
    #: Fields that follow from others.
    derive: Mapping[str, Expression]
    #: Patterns of further numbers of the summary.
    columns: tuple[str, ...] = field(default=())
    #: Rule by which points get further seeds; ``None``: they have the given ones.
    until: Until | None = None
    #: Coefficients of the cost of an architecture.
    cost: Cost = field(default_factory=Cost)
    #: Choices of each field of a search, or their range.
    search: Mapping[str, tuple[Any, ...] | Range] = field(default_factory=dict)
    #: Fields in which the runs differ with which those of a search are compared; empty: there are none.
    reference: Mapping[str, Any] = field(default_factory=dict)
    #: Numbers of a trial that follow from those of its runs.
    measures: Mapping[str, Expression] = field(default_factory=dict)
    objectives: tuple[Objective, ...] = ()
    #: Values that numbers of a trial are to have.
    targets: tuple[Target, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    method: Method = field(default_factory=Method)
    #: Options of the lifetime that each run is followed by, if a number of it is kept.
    life: Mapping[str, Any] = field(default_factory=dict)
    #: Workloads of each trial of a search, if there are several.
    loads: tuple[NamedLoad, ...] = ()

    @property
    def named_numbers(self) -> tuple[str, ...]:
        """Dotted names that are given in columns, goals and measures, without `reference.`; some may be of fields.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "job.fio", "measure": {"x": "2 * wear.mean"}}
            >>> spec["columns"] = "wear.p99"
            >>> ssdlab.Spec.open(spec).named_numbers
            ('wear.p99', 'wear.mean')
        """
        goals = [*(one.key for one in self.objectives), *(one.key for one in self.targets)]
        used = [name for one in self.constraints for name in one.names]
        used += [name for one in self.measures.values() for name in one.names]
        return tuple(dict.fromkeys(name.removeprefix(REFERENCE) for name in [*self.columns, *goals, *used]))

    @property
    def stream_numbers(self) -> tuple[str, ...]:
        """Names of the numbers of streams that are kept, such as ``streams[0].latency.read.p99_ns``.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "job.fio", "columns": "streams[1].throughput.iops"}
            >>> ssdlab.Spec.open(spec).stream_numbers
            ('streams[1].throughput.iops',)
        """
        numbers = (self.load_and_number(name)[1] for name in self.named_numbers)
        return tuple(dict.fromkeys(name for name in numbers if name.startswith(STREAMS)))

    def load_and_number(self, name: str) -> tuple[str, str]:
        """Returns the name of the load that a number belongs to, empty if it names none, and the number's own name.

        Examples:
            >>> spec = ssdlab.Spec.open({"drive": "tiny", "workload": {"reads": "reads.fio"}})
            >>> spec.load_and_number("reads.throughput.iops"), spec.load_and_number("cost")
            (('reads', 'throughput.iops'), ('', 'cost'))
        """
        first, _, rest = name.partition(".")
        return (first, rest) if any(first == load.name for load in self.loads) else ("", name)

    @property
    def lifetime_numbers(self) -> tuple[str, ...]:
        """Dotted names of the numbers of a lifetime that are kept, be it as objectives or in constraints.

        Examples:
            >>> spec = {"drive": "tiny", "workload": "job.fio", "columns": ["lifetime.cycles_mean"]}
            >>> ssdlab.Spec.open(spec).lifetime_numbers
            ('lifetime.cycles_mean',)
        """
        return tuple(name for name in self.named_numbers if name.startswith("lifetime."))

    @classmethod
    def open(cls, spec: SpecLike) -> Spec:
        """Returns a specification from a file or a dictionary.

        Raises:
            InputError: it is invalid; the message has file, line and key.

        Examples:
            >>> ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio", "where": "host.cpu > 8"}).where[0].names
            ('host.cpu',)
        """
        if isinstance(spec, Spec):
            return spec
        if isinstance(spec, Mapping):
            return _Reader("spec", toml.document(spec), Path()).spec()
        if fspath(spec) == STANDARD_INPUT:
            raise InputError("-: names in a specification are relative to its folder: expected a file, not standard input")
        name = existing_file(spec)
        try:
            text = read_text(name)
        except UnicodeDecodeError:
            raise InputError(f"{name}: not a text file; a sweep is described in TOML") from None
        return _Reader(fspath(spec), text, Path(name).parent).spec()

    def error(self, key: str, what: str) -> InputError:
        """Returns an error at a key of the specification.

        Examples:
            >>> ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio"}).error("drive", "too small")
            InputError('spec: drive: too small')
        """
        return _error(self.name, self.text, key, what)

    def check_for(self, purpose: str) -> None:
        """Checks that the specification is one of a ``sweep``, or of a search (``optimise``).

        Raises:
            InputError: it has keys of the other, or lacks some.

        Examples:
            >>> spec = ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio", "vary": {"flash.channels": [1, 2]}})
            >>> spec.check_for("optimise")
            Traceback (most recent call last):
            ssdlab.InputError: spec: vary: a key of `ssdlab sweep`; `ssdlab optimise` has [search]
        """
        given = tomllib.loads(self.text)
        is_sweep = purpose == "sweep"
        here, other = ("sweep", "optimise") if is_sweep else ("optimise", "sweep")
        for key in SEARCH_KEYS if is_sweep else SWEEP_KEYS:
            if key in given:
                raise self.error(key, f"a key of `ssdlab {other}`; `ssdlab {here}` has [{'vary' if is_sweep else 'search'}]")
        if is_sweep and self.loads:
            raise self.error("workload", "a table: for `ssdlab optimise`; expected a file, or a list of files")
        if is_sweep:
            return
        if not self.search:
            what = "an empty table" if "search" in given else "missing"
            raise self.error("search", f'{what}: expected fields, such as "flash.channels" = {{ choices = [4, 8] }}')
        if not self.objectives:
            what = 'missing: expected [[objective]] with key = "latency.all.p99_99_ns", or [[target]] with key and value'
            raise self.error("objective", what)
        workloads = () if self.loads else self.workloads
        parts = {"drive": self.drives, "workload": workloads, "policy": self.policies, "precondition": self.preconditions}
        for name, values in parts.items():
            if len(values) > 1:
                raise self.error(name, f"a list: expected one, or {name} = {{ choices = [..] }} in [search]")

    def file(self, name: str) -> str:
        """Returns a file name in the specification as one that can be opened from here.

        Examples:
            >>> ssdlab.Spec.open({"drive": "tiny", "workload": "job.fio"}).file("job.fio")
            'job.fio'
        """
        return name if Path(name).is_absolute() else str(self.folder / name)


#: Specification as an argument: a path, a dictionary, or a :class:`Spec`.
SpecLike: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Spec


def _error(name: str, text: str, key: str, what: str) -> InputError:
    """Returns an error at the line of a key, if the text has one."""
    line = _line_of(text, key)
    place = name if line is None or name == "spec" else f"{name}:{line}"
    return InputError(f"{place}: {re.sub('#[0-9]+', '', key).replace('/', '.')}: {what}")


def _line_of(text: str, key: str) -> int | None:
    """Returns the line of a key, from 1; of `TABLE/KEY` that in the table, of `TABLE#N/KEY` that in table `N`."""
    lines = text.splitlines()
    table, _, last = key.rpartition("/")
    name, _, number = table.partition("#")
    begin, end = 0, len(lines)
    if table:
        opening, closing = (r"\[\[", r"\]\]") if number else (r"\[", r"\]")
        heads = [at for at, line in enumerate(lines) if re.match(rf"\s*{opening}\s*{re.escape(name)}\s*{closing}", line)]
        if number and int(number) >= len(heads):
            return _line_of(text, name)
        if heads:
            begin = heads[int(number or 0)]
            end = next((at for at in range(begin + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
    pattern = re.compile(rf"""^\s*(?:\[+\s*)?["']?{re.escape(last)}["']?\s*(?:[\]=]|\.)""")
    found = next((at + 1 for at in range(begin, end) if pattern.match(lines[at])), None)
    if found is None and begin and not number:
        found = next((at + 1 for at, line in enumerate(lines) if pattern.match(line)), None)
    return found if found is not None or not begin else begin + 1


class _Reader:
    """Reads a specification and checks the form of its keys."""

    def __init__(self, name: str, text: str, folder: Path) -> None:
        self.name, self.text, self.folder = name, text, folder
        try:
            self.document = toml.loads(text)
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None

    def error(self, key: str, what: str) -> InputError:
        return _error(self.name, self.text, key, what)

    def spec(self) -> Spec:
        for key in self.document:
            if key not in KEYS:
                near = closest(key, list(KEYS))
                hint = f" (did you mean `{near}`?)" if near else ""
                raise self.error(key, f"unknown key: expected one of {', '.join(KEYS)}{hint}")
        for key in ("drive", "workload"):
            varied = {*self.table("vary"), *self.table("search"), *(name for zipped in self.tables("zip") for name in zipped)}
            listed = self.tables("points")
            if key not in {*self.document, *varied} and not (listed and all(key in point for point in listed)):
                raise self.error(
                    key, 'missing: expected a name, such as "tiny"' if key == "drive" else "missing: expected a file"
                )
        vary = {name: self.values("vary", name, value) for name, value in self.table("vary").items()}
        search = {name: self.choices(name, value) for name, value in self.table("search").items()}
        objectives = tuple(
            Objective.read(table, number, _SHORT, self.error) for number, table in enumerate(self.tables("objective"))
        )
        targets = tuple(Target.read(table, number, _SHORT, self.error) for number, table in enumerate(self.tables("target")))
        if targets and not objectives:
            objectives = (Objective(MISFIT),)
        loads = self.loads()
        zips = tuple(self.zipped(number, table) for number, table in enumerate(self.tables("zip")))
        spec = Spec(
            self.name,
            self.text,
            self.folder,
            title=self.word("title", ""),
            drives=self.words("drive"),
            workloads=tuple(load.file for load in loads) or self.words("workload"),
            policies=self.words("policy"),
            preconditions=self.words("precondition"),
            seeds=self.seeds(),
            settings=self.table("set"),
            options=self.table("options"),
            vary=vary,
            zips=zips,
            points=tuple(self.tables("points")),
            design=self.design(vary),
            where=tuple(self.expression("where", text) for text in self.words("where")),
            derive={name: self.expression(f"derive/{name}", text) for name, text in self.table("derive").items()},
            columns=self.words("columns"),
            until=self.until(),
            cost=Cost.read(self.table("cost"), self.error),
            search=search,
            reference=self.table("reference"),
            measures={name: self.expression(f"measure/{name}", text) for name, text in self.table("measure").items()},
            objectives=objectives,
            targets=targets,
            constraints=tuple(self.constraint(text) for text in self.words("constraint")),
            method=Method.read(self.table("optimise"), objectives, self.error),
            life=self.table("lifetime"),
            loads=loads,
        )
        self.check_life(spec)
        self.check_streams(spec)
        self.check_names(spec)
        self.check_workloads(spec)
        return spec

    def loads(self) -> tuple[NamedLoad, ...]:
        """Returns the workloads of each trial, if `workload` is a table of them."""
        table = self.document.get("workload")
        if not isinstance(table, dict):
            return ()
        if not table:
            raise self.error("workload", 'an empty table: expected NAME = "FILE"')
        return tuple(self.named_load(name, value) for name, value in table.items())

    def named_load(self, name: str, value: Any) -> NamedLoad:
        key = f"workload/{name}"
        taken = {*sections(), *PARTS, REFERENCE[:-1], MISFIT}
        if not _LOAD.fullmatch(name) or name in taken:
            raise self.error(
                key, f"the name of a load is the prefix of its numbers: expected a word, none of {', '.join(sorted(taken))}"
            )
        given = {"file": value} if isinstance(value, str) else value
        if not isinstance(given, dict) or not {"file"} <= {*given} <= {"file", "precondition"}:
            raise self.error(key, f'{value!r}: expected a file, or {{ file = "..", precondition = ".." }}')
        if not all(isinstance(one, str) for one in given.values()):
            raise self.error(key, f"{value!r}: expected texts")
        if "precondition" in given and "precondition" in self.table("search"):
            raise self.error(key, "precondition: given in [search], too: expected one place")
        return NamedLoad(name, given["file"], given.get("precondition"))

    def word(self, key: str, default: str) -> str:
        value = self.document.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"{value!r}: expected a text")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Returns a text, or a list of texts."""
        value = self.document.get(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.error(key, f"{value!r}: expected a text, or a list of texts")
        if key in self.document and not found:
            raise self.error(key, "an empty list: expected at least one value")
        return tuple(found)

    def table(self, key: str) -> dict[str, Any]:
        value = self.document.get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"{value!r}: expected a table, [{key}]")
        return value

    def tables(self, key: str) -> list[dict[str, Any]]:
        value = self.document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.error(key, f"{value!r}: expected tables, [[{key}]]")
        return value

    def seeds(self) -> tuple[int, ...]:
        value = self.document.get("seeds", [1])
        found = range(1, value + 1) if isinstance(value, int) and not isinstance(value, bool) else value
        # A number of seeds is compared before they are counted one by one.
        is_few = isinstance(value, list) or (type(value) is int and 0 < value <= MOST_SEEDS)
        if not is_few or not 0 < len(found) <= MOST_SEEDS or not all(type(seed) is int and seed >= 0 for seed in found):
            raise self.error("seeds", f"{value!r}: expected a list of whole numbers, or their number, 1 to {MOST_SEEDS}")
        if len(set(found)) < len(found):
            raise self.error("seeds", f"{value!r}: expected each seed once")
        return tuple(found)

    def until(self) -> Until | None:
        text, most = self.word("until", ""), self.document.get("most_seeds", 30)
        if not text:
            if "most_seeds" in self.document:
                raise self.error("most_seeds", "applies to `until`, which is not given")
            return None
        match = _UNTIL.fullmatch(text)
        if match is None:
            raise self.error("until", f'`{text}`: expected a number and a share, such as "p99.99 within 5 %"')
        if type(most) is not int or not len(self.seeds()) <= most <= MOST_SEEDS:
            raise self.error("most_seeds", f"{most!r}: expected a number from that of the `seeds` to {MOST_SEEDS}")
        number = _SHORT.get(match[1], match[1])
        if "." not in number and number not in ("write_amplification", "write_amplification_bytes"):
            raise self.error("until", f"{number}: expected a name such as {', '.join(_SHORT)}, or one with dots")
        return Until(number, float(match[2]) / 100.0, most)

    def values(self, table: str, name: str, value: Any) -> tuple[Any, ...] | Range:
        if isinstance(value, dict):
            return self.range(f"{table}/{name}", value)
        if not isinstance(value, list):
            raise self.error(f"{table}/{name}", f"{value!r}: expected a list of values, or a range {{ low = .., high = .. }}")
        if not value:
            raise self.error(f"{table}/{name}", "an empty list: expected at least one value")
        return tuple(value)

    def range(self, key: str, table: dict[str, Any]) -> Range:
        for name in table:
            if name == "choices":
                raise self.error(key, "choices: for [search] of `ssdlab optimise`; here the list alone is expected")
            if name not in _RANGE_KEYS:
                raise self.error(key, f"{name}: unknown key of a range: expected {', '.join(_RANGE_KEYS)}")
        if type(table.get("log", False)) is not bool:
            raise self.error(key, f"log = {table['log']!r}: expected true or false")
        try:
            found = Range.of(table)
        except InputError as error:
            raise self.error(key, f"{table}: {error}") from None
        if found.count is not None and (type(found.count) is not int or not 2 <= found.count <= MOST_POINTS):
            raise self.error(key, f"count = {found.count}: expected a whole number, 2 to {MOST_POINTS}")
        return found

    def choices(self, name: str, value: Any) -> tuple[Any, ...] | Range:
        """Returns what a search may choose for a field."""
        key = f"search/{name}"
        if isinstance(value, list):
            return self.values("search", name, value)
        if not isinstance(value, dict):
            raise self.error(key, f"{value!r}: expected {{ choices = [..] }}, or a range {{ low = .., high = .. }}")
        for inner in value:
            if inner not in _SEARCH_RANGE_KEYS:
                raise self.error(key, f"{inner}: unknown key: expected choices, or low, high, log, step")
        if "choices" not in value:
            return self.range(key, value)
        if len(value) > 1 or not isinstance(value["choices"], list):
            raise self.error(key, f"{value}: expected `choices`, a list, alone, or low and high")
        return self.values("search", name, value["choices"])

    def constraint(self, text: str) -> Constraint:
        try:
            return Constraint.parse(text)
        except InputError as error:
            raise self.error("constraint", str(error)) from None

    def zipped(self, number: int, table: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
        lists = {name: self.values("zip", name, value) for name, value in table.items()}
        found = {name: value for name, value in lists.items() if isinstance(value, tuple)}
        if len(found) < len(lists) or len({len(value) for value in found.values()}) != 1:
            lengths = ", ".join(f"{name}: {len(value)}" for name, value in found.items())
            raise self.error("zip", f"table {number + 1}: expected lists of one length, found {lengths or 'no list'}")
        return found

    def design(self, vary: Mapping[str, tuple[Any, ...] | Range]) -> Design:
        table = self.table("design")
        for name in table:
            if name not in ("kind", "samples", "seed"):
                raise self.error(f"design/{name}", "unknown key: expected kind, samples, seed")
        if type(table.get("seed", 0)) is not int or table.get("seed", 0) < 0:
            raise self.error("design/seed", f"{table['seed']!r}: expected a whole number of at least 0")
        design = Design(**table)
        if design.kind not in DESIGN_KINDS:
            raise self.error("design/kind", f"`{design.kind}`: expected one of {', '.join(DESIGN_KINDS)}")
        if design.kind == "grid":
            for name, values in vary.items():
                if isinstance(values, Range) and values.count is None:
                    raise self.error(f"vary/{name}", "a range in a grid: expected its `count`, or a `design` that draws samples")
        needs_samples = design.kind != "grid" or "samples" in table
        if needs_samples and (type(design.samples) is not int or not 0 < design.samples <= MOST_POINTS):
            raise self.error("design/samples", f"{design.samples!r}: expected a number of samples, 1 to {MOST_POINTS}")
        return design

    def expression(self, key: str, text: Any) -> Expression:
        if not isinstance(text, str):
            raise self.error(key, f"{text!r}: expected an expression as a text")
        try:
            return Expression.parse(text)
        except InputError as error:
            raise self.error(key, str(error)) from None

    def check_life(self, spec: Spec) -> None:
        """Checks that a lifetime has the numbers that are kept of it."""
        for name in spec.lifetime_numbers:
            own = name.removeprefix("lifetime.")
            if own not in life_numbers() and f"{own.partition('.')[0]}.MODE" not in life_numbers():
                known = [f"lifetime.{one}" for one in life_numbers()]
                raise self.error(self.place_of(spec, name), str(unknown_name("number of a lifetime", name, known)))
        if spec.loads and (
            spec.life or any(spec.load_and_number(name)[1].startswith("lifetime.") for name in spec.named_numbers)
        ):
            raise self.error("lifetime", "a life has one workload: expected one file as `workload`, not a table")
        if spec.life and not spec.lifetime_numbers:
            raise self.error(
                "lifetime", "no number of it is kept: name one in `columns`, such as lifetime.years_at_workload_rate"
            )

    def check_streams(self, spec: Spec) -> None:
        """Checks that a stream has the numbers that are kept of it."""
        for name in spec.named_numbers:
            load, own = spec.load_and_number(name)
            if not own.startswith(STREAMS):
                continue
            found = _STREAM.fullmatch(own)
            known = stream_numbers()
            if found is None or found[2] not in known:
                prefix = f"{load}." if load else ""
                prefix += own.partition("]")[0] + "]."
                raise self.error(
                    self.place_of(spec, name), str(unknown_name("number of a stream", name, [prefix + one for one in known]))
                )

    def place_of(self, spec: Spec, name: str) -> str:
        """Returns the key of the specification that names a number."""
        for at, one in enumerate(spec.objectives):
            if one.key == name:
                return f"objective#{at}/key"
        for at, target in enumerate(spec.targets):
            if target.key == name:
                return f"target#{at}/key"
        for measure, expression in spec.measures.items():
            if name in (named.removeprefix(REFERENCE) for named in expression.names):
                return f"measure/{measure}"
        return "columns" if name in spec.columns else "constraint"

    def check_workloads(self, spec: Spec) -> None:
        """Checks that no workload is standard input, which only one process can read, and only once."""
        lists = [("vary", spec.vary), ("search", spec.search), *(("zip", zipped) for zipped in spec.zips)]
        named: list[tuple[str, Any]] = [("workload", spec.workloads)]
        named += [(f"{table}/workload", values["workload"]) for table, values in lists if "workload" in values]
        named += [("points/workload", (point["workload"],)) for point in spec.points if "workload" in point]
        for key, values in named:
            if not isinstance(values, Range) and STANDARD_INPUT in values:
                raise self.error(
                    key,
                    "-: standard input cannot be read by several processes, nor again when the runs go on: expected a file; "
                    "write the workload to one first",
                )

    def check_names(self, spec: Spec) -> None:
        """Checks that no field is given twice."""
        seen: dict[str, str] = {}
        groups: Sequence[tuple[str, Sequence[str]]] = [
            ("set", list(spec.settings)),
            ("vary", list(spec.vary)),
            ("search", list(spec.search)),
            *(("zip", list(zipped)) for zipped in spec.zips),
            ("derive", list(spec.derive)),
            *((key, [key]) for key in PARTS if key in self.document),
        ]
        for group, names in groups:
            for name in names:
                if name in seen:
                    raise self.error(f"{group}/{name}", f"given in [{seen[name]}], too: expected one place")
                seen[name] = group
        for point in spec.points:
            for name in point:
                if name in seen:
                    raise self.error(f"points/{name}", f"given in [{seen[name]}], too: expected one place")
        if "seed" in seen:
            raise self.error(f"{seen['seed']}/seed", "expected `seeds`, with which points are compared in pairs")
