"""The JSON Schemas for editors: everything that comes with ssdlab fits, and what they reject the engine rejects."""

from __future__ import annotations

import copy
import json
import os
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

import ssdlab
from ssdlab import toml
from ssdlab.explore import cost, goal, schema, spec, tasks

ROOT = Path(__file__).parents[2]
#: Files in TOML, by the schema that their first line names.
FILES = {
    "drive": sorted(ROOT.glob("presets/*.toml")),
    "workload": sorted(ROOT.glob("examples/*-like.toml")),
    "sweep": [ROOT / "examples/sweep.toml", ROOT / "examples/architectures.toml"],
    "optimise": [ROOT / "examples/optimise.toml"],
}
#: Specifications of the experiments, which name no schema.
SPECS = [path for path in sorted(ROOT.glob("papers/ssdlab_papers/*/specs/*.toml")) if "workload =" in path.read_text()]
#: Drives whose fields are changed. Together they have all sections, and families with and without parameters.
CHANGED = ("tiny", "ldpc-d", "pcie4-power-2tb", "zns-1tb", "open-mppa-2tb", "rram-512g")
#: Mistakes that are tried in each document.
CASES = 60
WORKLOAD = """
kind = "synthetic"
[[job]]
name = "a"
pattern = { kind = "zipf", theta = 0.9 }
read_share = 0.5
sizes = [{ size = "4KiB", weight = 3 }, { size = "16KiB" }]
arrival = { kind = "poisson", mean_gap = "50us" }
requests = 10
"""
SWEEP = """
title = "all keys"
drive = ["tiny"]
workload = "examples/randwrite.fio"
policy = "baseline"
precondition = "none"
seeds = [1, 2]
where = "flash.channels <= 4"
columns = ["lifetime.cycles_mean"]
until = "p99 within 5 %"
most_seeds = 4
[set]
"ftl.victim" = "greedy"
[options]
stop_after = 100
time_scale = 2.0
ignore = ["verify"]
[vary]
"flash.channels" = { low = 1, high = 4, count = 2, log = true, step = 1 }
"ftl.overprovisioning" = [0.1, 0.2]
[[zip]]
"flash.chips_per_channel" = [1, 2]
"flash.dies_per_chip" = [2, 1]
[[points]]
"buffer.capacity" = "1MiB"
[design]
kind = "latin_hypercube"
samples = 4
seed = 1
[derive]
"ftl.gc_low_blocks" = "max(2, flash.channels)"
[cost]
die = 2.0
formula = "flash.channels"
[lifetime]
until = "mean_wear"
intervals = 2
"""
SEARCH = """
drive = "tiny"
workload = "examples/randwrite.fio"
seeds = 2
constraint = ["write_amplification <= 4"]
[search]
"flash.channels" = { choices = [1, 2] }
"ftl.overprovisioning" = { low = 0.07, high = 0.5, log = true, step = 0.01 }
"ftl.victim" = ["greedy", "fifo"]
[reference]
policy = "baseline"
[measure]
gain = "latency.all.mean_ns / reference.latency.all.mean_ns"
[[objective]]
key = "gain"
direction = "minimise"
[optimise]
sampler = "nsga2"
trials = 10
seed = 2
population = 4
comparison = false
"""


@pytest.fixture(scope="module")
def validators() -> dict[str, Draft7Validator]:
    return {of: Draft7Validator(ssdlab.schema(of)) for of in FILES}


@pytest.mark.parametrize("of", FILES)
def test_they_are_schemas(of):
    Draft7Validator.check_schema(ssdlab.schema(of))


@pytest.mark.parametrize("of", schema.PURPOSES)
def test_the_schema_of_a_specification_is_up_to_date(of):
    path = ROOT / f"examples/{of}.schema.json"
    made = json.dumps(ssdlab.schema(of), indent=2) + "\n"
    if "SSDLAB_BLESS" in os.environ:
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, "SSDLAB_BLESS=1 pytest tests/python/test_schema.py"


def test_the_schemas_of_specifications_have_every_key():
    found = {of: ssdlab.schema(of)["properties"] for of in schema.PURPOSES}
    assert {*found["sweep"], *found["optimise"]} == {*spec.KEYS}
    assert {*found["optimise"]["optimise"]["properties"]} == {*goal.Method.__dataclass_fields__}
    assert {*found["sweep"]["cost"]["properties"]} == {*cost.Cost.__dataclass_fields__}


def test_the_specifications_of_the_experiments_fit(validators):
    assert len(SPECS) >= 15
    for path in SPECS:
        document = tomllib.loads(path.read_text())
        of = "optimise" if "search" in document else "sweep"
        assert [*validators[of].iter_errors(document)] == [], path


@pytest.mark.parametrize("of", FILES)
def test_every_file_that_comes_with_ssdlab_fits_and_names_its_schema(validators, of):
    assert FILES[of]
    for path in FILES[of]:
        line, *_ = path.read_text().splitlines()
        place = path.parent / line.removeprefix("#:schema ")
        assert line.startswith("#:schema "), path
        assert json.loads(place.read_text()) == ssdlab.schema(of)
        assert [*validators[of].iter_errors(tomllib.loads(path.read_text()))] == [], path


def test_complete_descriptions_fit(validators):
    for name in CHANGED:
        assert [*validators["drive"].iter_errors(tomllib.loads(ssdlab.check(name)))] == [], name


def test_other_files_fit(validators):
    for of, text in (("workload", WORKLOAD), ("sweep", SWEEP), ("optimise", SEARCH)):
        assert [*validators[of].iter_errors(tomllib.loads(text))] == [], of


def test_the_line_with_the_schema_is_not_kept_in_a_mock_up():
    assert "#:schema" not in ssdlab.shrink("tlc-1tb", "32GiB")


Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yields every value in a document with its place."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*place, name), inner
            yield from places(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*place, index), inner
            yield from places(inner, (*place, index))


def at(document: Any, place: Place) -> Any:
    for part in place:
        document = document[part]
    return document


#: Kinds of mistakes. Each returns the value in place of another, or none if it does not apply.
MISTAKES = {
    "a table": lambda value: None if isinstance(value, dict) else {"nothing": 1},
    "a flag": lambda value: None if isinstance(value, bool) else True,
    "a text": lambda value: "no such thing",
    "a unit": lambda value: f"{digits(value)} parsecs" if unit(value) else None,
    "no unit": lambda value: digits(value) if unit(value) else None,
    "a negative quantity": lambda value: f"-{value}" if unit(value) else None,
    "a negative number": lambda value: -1 if number(value) else None,
    "a huge number": lambda value: 10**30 if number(value) and isinstance(value, int) else None,
}


def unit(value: Any) -> bool:
    return isinstance(value, str) and value[:1].isdigit() and not value[-1:].isdigit()


def digits(quantity: str) -> str:
    return re.match("[0-9.]+", quantity)[0]


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_refused(of: str, document: dict[str, Any]) -> str:
    """Returns the engine's complaint, or nothing."""
    try:
        if of == "drive":
            ssdlab.check(ssdlab.Drive.from_dict(document))
        elif of in schema.PURPOSES:
            return refusal_of_a_specification(of, document)
        else:
            ssdlab.run("tiny", ssdlab.Workload.from_text(toml.document(document)))
    except ssdlab.InputError as error:
        return str(error)
    return ""


def refusal_of_a_specification(of: str, document: dict[str, Any]) -> str:
    """Returns what is said of a specification, or of its first run."""
    asked = ssdlab.Spec.open(document)
    asked.check_for(of)
    # The names of the drive's fields are those of a search as of a sweep.
    tasks.Maker(asked)
    return (next(tasks.tasks(asked)).error or "") if of == "sweep" else ""


def documents() -> dict[str, tuple[str, dict[str, Any]]]:
    """Returns complete descriptions, descriptions with a base, and a workload, each with its schema."""
    found = {f"{name}, complete": ("drive", tomllib.loads(ssdlab.check(name))) for name in CHANGED}
    presets = {preset.name: preset.text for preset in ssdlab.presets()}
    found |= {name: ("drive", tomllib.loads(presets[name])) for name in CHANGED}
    written = {"workload": WORKLOAD, "sweep": SWEEP, "optimise": SEARCH}
    return {**found, **{of: (of, tomllib.loads(text)) for of, text in written.items()}}


DOCUMENTS = documents()


#: Fields whose value is a name that only other fields, files or the lists of the program tell from a wrong one.
FREE = ("title", "name", "base", "kind", "cell_model", "file", "read_mode", "code", "erase_mode", "bounds")


def changes(whole: dict[str, Any]) -> Iterator[tuple[str, Place, dict[str, Any]]]:
    """Yields every document with one mistake, with its kind and place."""
    for place, value in places(whole):
        for kind in ("misspelt", "missing", *MISTAKES):
            changed = copy.deepcopy(whole)
            table = at(changed, place[:-1])
            if kind in MISTAKES:
                wrong = MISTAKES[kind](value)
                if wrong is None:
                    continue
                table[place[-1]] = wrong
            elif isinstance(place[-1], int):
                continue
            else:
                del table[place[-1]]
                if kind == "misspelt":
                    table[f"{place[-1]}x"] = value
            yield kind, place, changed


def is_of_form(kind: str, place: Place, said: str, whole: dict[str, Any]) -> bool:
    """Returns true if the engine complains about the form of a document, not about what its fields mean together."""
    if kind == "missing":
        return ": missing: expected" in said and "base" not in whole
    return not {*FREE} & {*place} and re.search("unknown (read|write|erase) mode", said) is None


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_mistake_is_rejected_by_schema_and_engine_alike(validators, name):
    of, whole = DOCUMENTS[name]
    found = [*changes(whole)]
    chosen = random.Random(name).sample(found, min(len(found), CASES))
    disagreements = []
    for kind, place, changed in chosen:
        faults = [error.message for error in validators[of].iter_errors(changed)]
        said = is_refused(of, changed)
        if faults and not said:
            disagreements.append((kind, place, faults))
        elif said and not faults and of not in schema.PURPOSES and is_of_form(kind, place, said, whole):
            disagreements.append((kind, place, said))
    assert disagreements == []


@pytest.mark.parametrize("of", schema.PURPOSES)
def test_a_misspelt_key_of_a_specification_is_found_by_its_schema(validators, of):
    tables = ("design", "optimise", "cost", "lifetime", "options")
    found = [
        (place, validators[of].is_valid(changed))
        for kind, place, changed in changes(DOCUMENTS[of][1])
        if kind == "misspelt" and (len(place) == 1 or place[0] in tables or "objective" in place)
    ]
    assert len(found) > 15
    assert [place for place, is_valid in found if is_valid] == []


def test_a_description_without_base_must_be_complete(validators):
    validator = validators["drive"]
    assert validator.is_valid({"base": "tiny", "flash": {"channels": 4}})
    faults = {error.message for error in validator.iter_errors({"title": "mine", "flash": {"channels": 4}})}
    assert {"'host' is a required property", "'page_size' is a required property"} <= faults


def test_the_command_prints_them(cli):
    assert json.loads(cli("schema", "workload").stdout) == ssdlab.schema("workload")
    wrong = cli("schema", "workload", "--format", "markdown")
    assert wrong.returncode == 2
    assert "workloads.md" in wrong.stderr
    with pytest.raises(ssdlab.InputError, match=r"unknown schema `drives`.*did you mean `drive`"):
        ssdlab.schema("drives")
