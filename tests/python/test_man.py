"""The man page: it is made from the declarations of the commands, and a man page reader finds no fault in it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from conftest import PATIENCE
from ssdlab.cli.commands import COMMANDS, app


@pytest.fixture(scope="module")
def man() -> ModuleType:
    """The program that makes the page."""
    place = Path(__file__).parents[2] / "tools/man.py"
    spec = importlib.util.spec_from_file_location("man", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(man):
    made = man.page()
    if "SSDLAB_BLESS" in os.environ:
        man.PAGE.write_text(made, encoding="utf-8")
    assert man.PAGE.read_text(encoding="utf-8") == made, "python tools/man.py"


def test_it_has_every_command_and_option(man):
    made = man.page().replace("\\-", "-")
    commands = get_command(app).commands
    for name in COMMANDS:
        assert f"\n.SS ssdlab {name}" in made
        for inner in [commands[name], *getattr(commands[name], "commands", {}).values()]:
            for option in inner.params:
                if option.param_type_name == "option" and "completion" not in option.opts[0] and not option.hidden:
                    assert f"\\fB{option.opts[0]}" in made, (name, option.opts)


def test_a_line_of_text_is_no_request_and_needs_no_more_than_ascii(man):
    made = man.page()
    assert made.isascii()
    requests = {line.split()[0] for line in made.splitlines() if line.startswith((".", "'"))}
    assert requests <= {'.\\"', ".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".RI", ".nf", ".fi"}


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_shows_it_without_a_warning(man):
    environment = {**os.environ, "LC_ALL": "C", "MANWIDTH": "100"}
    command = ["man", "--warnings", "-l", str(man.PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    plain = re.sub(".\x08", "", done.stdout)
    # Lines are justified.
    assert re.search(r"--power-cap POWER\n\s+Cap +on +the +power", plain)
