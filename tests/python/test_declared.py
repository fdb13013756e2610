"""The options of runs and lives: one declaration for the engine, the Python functions and the command."""

from __future__ import annotations

import importlib.util
import inspect
import pydoc
from pathlib import Path

import pytest
import typer.main

import ssdlab
from ssdlab import _contract, _declared, cli, declared
from ssdlab.policy import Policy

#: Groups of options of each function and command of the same name.
GROUPS = {
    "run": ("setup", "saved_drive", "run", "records", "limits"),
    "compare": ("setup", "saved_drive", "run", "records", "limits"),
    "lifetime": ("setup", "saved_drive", "life", "limits"),
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
    groups = {"compare": ("setup", "saved_drive", "run", "limits")}.get(name, GROUPS[name])
    wanted = {one.flag for group in (*groups, "workload", "command_output") for one in declared.GROUPS[group].values()}
    absent = {"--policy", "--record-commands", "--record-spans"}
    if name == "compare":
        absent |= {"--timeline-from", "--timeline-for"}
    # Fields that vary, labels and the figure of all runs belong to a comparison, the work of firmware to one run, a
    # page to both.
    own = {"compare": {"--vary", "--label", "--figure", "--watch"}, "run": {"--profile-firmware", "--watch"}}.get(name, set())
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


def test_what_a_policy_exchanges_is_made_from_the_declaration():
    """``python tools/contract.py`` writes the files."""
    place = Path(__file__).parents[2] / "tools/contract.py"
    spec = importlib.util.spec_from_file_location("contract", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.made().items():
        assert path.read_text(encoding="utf-8") == text, "python tools/contract.py"


def test_every_call_has_its_method():
    for name, arguments in _contract.CALLS.items():
        assert (*inspect.signature(getattr(Policy, name)).parameters,) == ("self", *arguments)
    assert {call for calls in _contract.FOLLOWS.values() for call in calls} <= set(_contract.CALLS)


def test_every_need_is_declared_by_a_policy_or_follows_from_its_calls():
    class Reads(Policy):
        ages = True

    assert Reads().needs().ages
    assert not Policy().needs().ages
