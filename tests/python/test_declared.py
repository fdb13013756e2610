"""The options of runs and lives: one declaration for the engine, the Python functions and the command."""

from __future__ import annotations

import inspect
import json
import pydoc
from dataclasses import fields
from typing import Any

import pytest
import typer.main

import ssdlab
from ssdlab import _declared, _engine, cli, declared
from ssdlab.policy import Facts, Needs, Policy

#: Groups of options of each function and command of the same name.
GROUPS = {
    "run": ("setup", "saved_drive", "run", "records"),
    "compare": ("setup", "saved_drive", "run", "records"),
    "lifetime": ("setup", "saved_drive", "life"),
}


def options_of(command: str) -> set[str]:
    """Returns the options that a command offers, without its help and its policy."""
    parameters = typer.main.get_command(cli.app).commands[command].params
    return {name for parameter in parameters for name in parameter.opts if name.startswith("--")} - {"--help", "--policy"}


def keywords_of(groups: tuple[str, ...]) -> dict[str, declared.Option]:
    return {name: one for group in groups for name, one in declared.GROUPS[group].items() if one.is_keyword}


@pytest.mark.parametrize("name", GROUPS)
def test_the_functions_show_every_declared_option(name):
    function = getattr(ssdlab, name)
    parameters = inspect.signature(function).parameters
    for option in keywords_of(GROUPS[name]).values():
        parameter = parameters[option.name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default == (() if option.value == "texts" else option.default)
    page = pydoc.plain(pydoc.render_doc(function))
    for option in keywords_of(GROUPS[name]).values():
        assert f"{option.name}: {option.about[0].split(' ')[0]}" in page
    assert "**options" not in page


@pytest.mark.parametrize("name", GROUPS)
def test_the_commands_offer_every_declared_option(name):
    groups = {"compare": ("setup", "saved_drive", "run")}.get(name, GROUPS[name])
    wanted = {one.flag for group in (*groups, "workload", "command_output") for one in declared.GROUPS[group].values()}
    absent = {"--policy", "--record-commands", "--record-spans"}
    if name == "compare":
        absent |= {"--timeline-from", "--timeline-for"}
    # Fields that vary, labels and the figure of all runs belong to a comparison, not to a run.
    own = {"--vary", "--label", "--figure"} if name == "compare" else set()
    assert options_of(name) == (wanted - absent) | own


def test_the_types_for_checkers_name_every_declared_option():
    for group, options in declared.GROUPS.items():
        if group != "command_output":
            name = "".join(word.capitalize() for word in group.split("_")) + "Keywords"
            assert [*getattr(_declared, name).__annotations__] == [one.name for one in options.values() if one.is_keyword]


@pytest.mark.parametrize("call", [ssdlab.run, ssdlab.lifetime, ssdlab.Session().run])
def test_an_unknown_keyword_is_a_type_error(call, job):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'preconditon'. Did you mean 'precondition'\?"):
        call("tiny", job, preconditon="fill")


def test_a_comparison_refuses_an_unknown_keyword_before_its_first_run(job):
    started: list[str] = []
    with pytest.raises(TypeError, match=r"compare\(\) got an unexpected keyword argument 'stop_afer'"):
        ssdlab.compare("tiny", job, ["baseline"], stop_afer=1, progress=started.append)
    assert started == []


def test_the_help_names_options_as_the_command_line_does():
    steady = next(one for one in typer.main.get_command(cli.app).commands["run"].params if one.name == "steady_round")
    assert "requires --steady-state" in steady.help


def type_of(schema: dict[str, Any], time: str) -> str:
    """Returns the Python type of a field; `time` is that of durations."""
    if isinstance(schema.get("type"), list):
        kind, null = schema["type"]
        assert null == "null"
        return f"{type_of({**schema, 'type': kind}, time)} | None"
    if "$ref" in schema or "x-unit" in schema:
        return time
    if schema["type"] == "array":
        return f"tuple[{type_of(schema['items'], time)}, ...]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[schema["type"]]


@pytest.mark.parametrize(("mirror", "time"), [(Facts, "int"), (Needs, "Span")])
def test_facts_and_needs_are_those_of_the_engine(mirror, time):
    schema = json.loads(_engine.policy_contract())[mirror.__name__]["properties"]
    assert {field.name: field.type for field in fields(mirror)} == {name: type_of(one, time) for name, one in schema.items()}


def test_every_need_is_declared_by_a_policy_or_follows_from_its_calls():
    class Reads(Policy):
        ages = True

    assert Reads().needs().ages
    assert not Policy().needs().ages
