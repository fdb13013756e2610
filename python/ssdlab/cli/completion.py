"""Words that a shell may complete: presets, policies, fields with their values. Where none fits, it completes files.

Fields and values come from the schema of a drive's description. A field that is the only one to fit is returned with at
least two values, so that no shell takes the word for finished and writes a space after the equals sign.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any

from ssdlab import _engine
from ssdlab.declared import GROUPS

__all__ = ["fields", "joined", "policies", "policy_lists", "presets", "states", "variants"]

#: Word with its description, which some shells show.
Words = list[tuple[str, str]]
#: Part of a schema.
_Schema = Mapping[str, Any]

#: Field whose values are those of ``--precondition``.
_STATES = "state.precondition"
_INDEX = re.compile(r"\[\d+\]$")

#: Most characters of a description: some shells take its second line for a word of its own.
_SHORT = 72


@contextmanager
def joined(environment: MutableMapping[str, str]) -> Iterator[None]:
    """Joins the words that bash has split at their equals signs, and answers with the last part of the joined word.

    The variable ``COMP_WORDBREAKS`` of bash has an equals sign. What bash replaces is the part behind the last one.
    """
    given = environment.get("COMP_WORDS", "")
    words = given.split("\n") if "\n" in given else given.split(" ")
    if environment.get("_SSDLAB_COMPLETE") != "complete_bash" or "=" not in words:
        yield
        return
    whole, current = _whole(words, int(environment.get("COMP_CWORD", "0")))
    environment["COMP_WORDS"], environment["COMP_CWORD"] = "\n".join(whole), str(current)
    typed = whole[current]
    option, equals, _ = typed.partition("=")
    # Of `--set=KEY` the answer is without the option.
    start = 0 if "=" not in typed else typed.rindex("=") + 1 - (len(option) + 1 if option.startswith("--") and equals else 0)
    answer = StringIO()
    try:
        with redirect_stdout(answer):
            yield
    finally:
        sys.stdout.write("".join(f"{line[start:]}\n" for line in answer.getvalue().splitlines()))


def _whole(words: list[str], index: int) -> tuple[list[str], int]:
    """Returns words with those joined that an equals sign connects, and the index of that with `words[index]`."""
    whole: list[str] = []
    current, is_open = 0, False
    for at, word in enumerate(words):
        if whole and (word == "=" or is_open):
            whole[-1] += word
        else:
            whole.append(word)
        is_open = word == "="
        if at <= index:
            current = len(whole) - 1
    return whole, current


def presets(incomplete: str) -> Words:
    """Returns the presets that begin with a text."""
    return [(name, _short(title)) for name, title, _ in _engine.presets() if name.startswith(incomplete)]


def policies(incomplete: str) -> Words:
    """Returns the policies that begin with a text."""
    return [(name, _short(about)) for name, about in _engine.policies() if name.startswith(incomplete)]


def policy_lists(incomplete: str) -> Words:
    """Returns the lists of policies that continue a list, whose last name may be incomplete."""
    before, comma, last = incomplete.rpartition(",")
    return [(before + comma + name, about) for name, about in policies(last) if name not in before.split(",")]


def states(incomplete: str) -> Words:
    """Returns the starting states that begin with a text."""
    return [(name, about) for name, about in _values(_STATES) if name.startswith(incomplete)]


def fields(incomplete: str) -> Words:
    """Returns fields of a drive, for ``--set``, or their values after the equals sign."""
    name, equals, value = incomplete.partition("=")
    if equals:
        return [(f"{name}={word}", about) for word, about in _values(name) if word.startswith(value)]
    return _names(incomplete)


def variants(incomplete: str) -> Words:
    """Returns the fields that ``--vary`` takes, or lists of their values, whose last may be incomplete."""
    name, equals, listed = incomplete.partition("=")
    if not equals:
        return [*_names(incomplete), *_options(incomplete)]
    before, comma, last = listed.rpartition(",")
    offered = [(word, about) for word, about in _values(name) if word.startswith(last) and word not in before.split(",")]
    return [(f"{name}={before}{comma}{word}", about) for word, about in offered]


def _options(incomplete: str) -> Words:
    """Returns what ``--vary`` takes besides fields of the drive."""
    if not incomplete.startswith("options."):
        kinds = {"precondition=": "starting state", "options.": "option of the run", "workload.": "field of the workload"}
        return [(name, about) for name, about in kinds.items() if name.startswith(incomplete)]
    options = {**GROUPS["run"], **GROUPS["workload"]}
    found = {f"options.{name}=": _sentence(option.about[0]) for name, option in options.items()}
    return [(name, about) for name, about in found.items() if name.startswith(incomplete)]


def _names(incomplete: str) -> Words:
    """Returns the fields that continue an incomplete name by one part, or by more where only one section fits."""
    path, dot, last = incomplete.rpartition(".")
    schema = _engine_schema()
    tables = [schema]
    for part in path.split(".") if path else ():
        tables = [inner for table in tables for inner in _inner(schema, table, part)]
    found: dict[str, _Schema] = {}
    for table in tables:
        for name, field in table.get("properties", {}).items():
            if name.startswith(last) and (path or name != "base"):
                found.setdefault(f"{path}{dot}{name}", field)
    named = [(name, field, _is_table(schema, field)) for name, field in found.items()]
    if len(named) != 1:
        return [(name + ("." if is_table else "="), _meaning_of(schema, field)) for name, field, is_table in named]
    ((name, field, is_table),) = named
    if is_table:
        return _names(f"{name}.")
    values = [(f"{name}={word}", about) for word, about in _values(name)]
    return values if len(values) > 1 else [(f"{name}=", _meaning_of(schema, field)), *values]


def _values(name: str) -> Words:
    """Returns values of a field: all names of a closed set; otherwise the default, or an example."""
    if name == "precondition":
        name = _STATES
    schema = _engine_schema()
    found = [schema]
    for part in name.split("."):
        found = [inner for table in found for inner in _inner(schema, table, part)]
    words: dict[str, str] = {}
    for shape in found:
        for word, about in _choices(shape):
            words.setdefault(word, about)
    if name == "policy.kind":
        words |= policies("")
    return [*words.items()]


def _choices(shape: _Schema) -> Iterator[tuple[str, str]]:
    """Yields the values that a schema names, with their meaning."""
    named = [shape["const"]] if "const" in shape else shape.get("enum", [])
    yield from ((word, _sentence(shape.get("description", ""))) for word in named)
    if named:
        return
    if shape.get("type") == "boolean":
        yield from (("true", ""), ("false", ""))
    elif isinstance(default := shape.get("default"), str | int | float):
        yield str(default), "the default"
    elif "x-example" in shape:
        yield str(shape["x-example"]).strip('"'), "an example"
    elif "minimum" in shape:
        yield f"{shape['minimum']}", "the least"


def _engine_schema() -> _Schema:
    schema: _Schema = json.loads(_engine.schema("drive"))
    return schema


def _inner(root: _Schema, table: _Schema, part: str) -> Iterator[_Schema]:
    """Yields the shapes that the field of a table may have. An index chooses an entry of a list."""
    name = _INDEX.sub("", part)
    if name not in table.get("properties", {}):
        return
    for shape in _shapes(root, table["properties"][name]):
        if name == part:
            yield shape
        elif "items" in shape:
            yield from _shapes(root, shape["items"])


def _shapes(root: _Schema, field: _Schema) -> Iterator[_Schema]:
    """Yields the shapes of a field, without references and choices."""
    parts = [*field.get("allOf", ()), *field.get("anyOf", ()), *([field] if "$ref" in field else ())]
    for part in parts:
        if "$ref" in part:
            part = root["definitions"][part["$ref"].rpartition("/")[2]]
        yield from _shapes(root, part)
    if not parts:
        yield field


def _is_table(root: _Schema, field: _Schema) -> bool:
    """Returns true if a field is a table in every shape."""
    return all("properties" in shape for shape in _shapes(root, field))


def _meaning_of(root: _Schema, field: _Schema) -> str:
    """Returns what a field means, in a sentence."""
    described = field.get("description") or next(
        (shape["description"] for shape in _shapes(root, field) if "description" in shape), ""
    )
    return _sentence(described)


def _sentence(text: str) -> str:
    """Returns the first sentence of a text."""
    return _short(re.split(r"\.\s", text, maxsplit=1)[0].rstrip("."))


def _short(text: str) -> str:
    """Returns a text in one line, without marks that a shell or a table would read."""
    return textwrap.shorten(re.sub(r"[`\[\]]", "", text), _SHORT, placeholder=" ...")
