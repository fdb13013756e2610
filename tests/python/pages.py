"""The pages of the documentation as something that can be run.

Blocks of a page are taken in order, in one empty folder that holds ``docs``, ``examples`` and ``papers``:

- ``toml``, ``ini``, ``csv`` after the comment ``<!-- file: NAME -->`` becomes that file;
- ``sh`` is run by a shell, which ends at the first command that fails; what `ELSEWHERE` lists does nothing there;
- ``console``: each command after ``$`` is run, and its output is below it. A last line ``…`` stands for the rest;
- ``python`` is executed; the blocks of a page share their names.

``<!-- not run: REASON -->`` before a block takes it out. A page with ``<!-- slow -->`` is run with the slow tests only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Every page that people read, but for the change log, whose old entries are history.
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "papers" / "README.md"])
#: Kinds of blocks that are run or written. Blocks of other kinds are pictures, formulas and formats.
KINDS = ("sh", "console", "python", "toml", "ini", "csv")
#: Commands of other tests, or of CI, which do nothing when a page is run. Their words are checked by `test_pages`.
ELSEWHERE = ("make", "pip", "source", "cc", "dask", "cargo")


@dataclass
class Block:
    """A fenced block of a page."""

    kind: str
    text: str
    #: Line of its first line of text, from 1.
    line: int
    #: Directives before it: ``file``, ``not run``.
    directives: dict[str, str] = field(default_factory=dict)


def blocks(text: str) -> Iterator[Block]:
    """Yields the fenced blocks of a page."""
    pattern = re.compile(r"((?:^<!-- [^\n]* -->\n+)*)^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for found in pattern.finditer(text):
        said = re.findall(r"<!-- ([a-z ]+?)(?:: (.*?))? -->", found[1])
        yield Block(found[2], found[3], text[: found.start(3)].count("\n") + 1, dict(said))


def lines_of(output: str) -> list[str]:
    """Returns the lines of an output without the spaces that fill a terminal."""
    return "\n".join(line.rstrip() for line in output.splitlines()).strip("\n").splitlines()


@dataclass
class Shown:
    """A command of a ``console`` block with the output that the page shows."""

    command: str
    output: list[str]
    is_whole: bool

    def agrees(self, output: str) -> bool:
        """Returns true if the output of a run is what the page shows."""
        lines = lines_of(output)
        return lines == self.output if self.is_whole else lines[: len(self.output)] == self.output

    def blessed(self, output: str) -> list[str]:
        """Returns the lines that the page has to show for the output of a run: as many as it showed."""
        lines = lines_of(output)
        return lines if self.is_whole else [*lines[: max(len(self.output), 1)], "…"]


def shown(text: str) -> list[Shown]:
    """Returns the commands of a ``console`` block with their outputs."""
    result = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        lines = lines_of(output)
        is_whole = not lines or lines[-1] != "…"
        result.append(Shown(command, lines if is_whole else lines[:-1], is_whole))
    return result
