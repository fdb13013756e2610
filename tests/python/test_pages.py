"""Every command on every page is run; outputs that a page shows are what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import ssdlab
from conftest import PATIENCE, SSDLAB
from pages import ELSEWHERE, KINDS, PAGES, ROOT, Block, blocks, shown

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
RUN = [
    pytest.param(name, id=name, marks=[pytest.mark.slow] if "<!-- slow -->" in text else [])
    for name, text in TEXTS.items()
    if any(block.kind in ("sh", "console", "python") and "not run" not in block.directives for block in blocks(text))
]


@pytest.fixture
def folder(tmp_path):
    """An empty folder with what the repository has beside a page."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("docs", "examples", "papers"):
        (here / name).symlink_to(ROOT / name)
    return here


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_page_work(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"ssdlab": ssdlab}
    for block in blocks(TEXTS[name]):
        if "not run" in block.directives:
            continue
        if "file" in block.directives:
            (folder / block.directives["file"]).write_text(block.text, encoding="utf-8")
        elif block.kind == "sh":
            run(block.text, f"{name}:{block.line}")
        elif block.kind == "console":
            check(name, block)
        elif block.kind == "python":
            exec(compile("\n" * (block.line - 1) + block.text, name, "exec"), names)


def run(commands: str, place: str) -> str:
    """Runs the commands of a block by a shell, and returns their output."""
    stubs = "".join(f"{name}() {{ :; }}\n" for name in ELSEWHERE)
    done = subprocess.run(
        # The shell stays until the end, as that of a user does: it is looked for among the parents of a command.
        ["bash", "-euo", "pipefail", "-c", stubs + commands + "\n:\n"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "PATH": f"{Path(SSDLAB).parent}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "100"},
    )
    assert done.returncode == 0, f"{place}:\n{commands}\n{done.stdout}{done.stderr}"
    return done.stdout


def check(name: str, block: Block) -> None:
    """Runs the commands of a ``console`` block and compares their outputs, or writes them into the page."""
    for one in shown(block.text):
        output = run(one.command, f"{name}:{block.line}")
        if one.agrees(output):
            continue
        if not os.environ.get("SSDLAB_BLESS"):
            pytest.fail(f"{name}:{block.line}: `{one.command}` prints\n{output}")
        page = ROOT / name
        text = page.read_text(encoding="utf-8")
        old, new = ("\n".join([*lines]) for lines in (one.output + ([] if one.is_whole else ["…"]), one.blessed(output)))
        assert text.count(old) == 1, f"{name}: output that cannot be found once; write it by hand:\n{output}"
        page.write_text(text.replace(old, new), encoding="utf-8")


def test_the_targets_that_pages_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target
        for text in TEXTS.values()
        for block in blocks(text)
        if block.kind == "sh"
        for target in re.findall(r"^make ([a-z-]+)", block.text, re.MULTILINE)
    }
    assert named
    assert named <= targets


def test_a_command_stands_in_a_block_that_is_run():
    """A block without a kind, or an indented one, would be a page's command that nobody tries."""
    for name, text in TEXTS.items():
        plain = [block for block in blocks(text) if block.kind not in KINDS]
        found = [block.text for block in plain if re.search(r"^(\$ )?ssdlab [a-z]+ (?!trace 1$)", block.text, re.MULTILINE)]
        outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert [*found, *re.findall(r"^ {4,}(?:\$ )?ssdlab [a-z]+ .*", outside, re.MULTILINE)] == [], name


def test_blocks_that_are_not_run_say_why():
    for name, text in TEXTS.items():
        for block in blocks(text):
            if "not run" in block.directives:
                assert block.kind in KINDS, f"{name}:{block.line}: a block that is not run anyway"
                assert len(block.directives["not run"].split()) > 1, f"{name}:{block.line}: without a reason"


def test_the_page_of_the_installation_has_the_examples_of_the_pages():
    """Checks that users of the wheel and the site alone find the files."""
    pages = [text for name, text in TEXTS.items() if name.startswith(("docs/start/", "docs/guide/"))]
    used = {name for text in pages for name in re.findall(r"examples/([a-z_-]+\.[a-z.]+)", text)}
    there = {name for name in used if (ROOT / "examples" / name).is_file()}
    linked = set(re.findall(r"\]\(\.\./\.\./examples/([^)]+)\)", TEXTS["docs/start/install.md"]))
    assert len(there) > 10
    assert there <= linked


def test_links_to_files_of_the_repository_lead_somewhere():
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            if "://" not in target and not target.startswith("#"):
                path = (ROOT / name).parent / Path(target.partition("#")[0])
                assert path.exists(), f"{name}: {target}"


def test_the_files_that_the_pages_on_the_inside_name_exist():
    crates = {path.name for path in (ROOT / "crates").iterdir()}
    named = [
        (name, *found)
        for name in ("docs/internals/architecture.md", "docs/internals/where.md")
        for found in re.findall(r"`([a-z]+)/([a-z_/.]+)`", TEXTS[name])
        if found[0] in crates
    ]
    assert len(named) > 80

    def exists(crate: str, path: str) -> bool:
        # A folder, a file, or a module without its ending.
        inside = ROOT / "crates" / crate / "src" / path.rstrip("/")
        return inside.exists() or inside.with_suffix(".rs").exists() or (ROOT / "crates" / crate / path).exists()

    assert [one for one in named if not exists(*one[1:])] == []


def test_a_change_is_a_line_in_the_change_log():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 160] == []
    entries = [line for line in lines if line and not line.startswith("#")][1:]
    assert [line for line in entries if not line.startswith("- ")] == []
    assert len(entries) == len(set(entries))
