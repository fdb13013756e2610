"""Checks the rules of style that the formatters and linters leave out, and lists every line that breaks one.

    python tools/style.py [FILE ...]

- Comment lines have at most 120 columns (in Python ruff checks this).
- A function has at most 70 lines.
- A doc comment begins with a verb or a noun, not with a noun clause ("What ...", "Whether ..."). In Python
  this holds for every comment.

Without files, all Rust and Python files that git tracks are checked.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 120
LINES = 70

_FUNCTION = re.compile(r"( *)(?:pub(?:\([a-z ]+\))? )?(?:const )?fn (\w+)")
_RUST_CLAUSE = re.compile(r" *(?:///|//!) (?:What|Whether|Who|Whose) ")
_PYTHON_CLAUSE = re.compile(r'.*?(?:"""|#:?) ?(?:What|Whether|Who|How|Whose) ')


def rust_functions(lines: list[str]) -> Iterator[tuple[int, str, int]]:
    """Yields first line, name and length of each function of a file in rustfmt's layout."""
    for start, line in enumerate(lines):
        found = _FUNCTION.match(line)
        if not found or line.endswith(("}", ";")):
            continue
        end = f"{found[1]}}}"
        last = next((at for at in range(start + 1, len(lines)) if lines[at] in (end, f"{found[1]});")), start)
        yield start + 1, found[2], last - start + 1


def python_functions(text: str) -> Iterator[tuple[int, str, int]]:
    """Yields first line, name and length of each function of a file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def problems(name: str, text: str) -> Iterator[str]:
    """Yields what is wrong in a file, with its place."""
    lines = text.split("\n")
    is_rust = name.endswith(".rs")
    clause = _RUST_CLAUSE if is_rust else _PYTHON_CLAUSE
    for at, line in enumerate(lines, 1):
        if is_rust and len(line) > COLUMNS and line.lstrip().startswith("//"):
            yield f"{name}:{at}: a comment line of {len(line)} columns: expected at most {COLUMNS}"
        if clause.match(line):
            yield f"{name}:{at}: a comment that begins with a noun clause: expected a verb or a noun"
    for at, function, length in rust_functions(lines) if is_rust else python_functions(text):
        if length > LINES:
            yield f"{name}:{at}: `{function}` has {length} lines: expected at most {LINES}"


def main() -> int:
    """Checks the files that were named, or all."""
    tracked = ["git", "ls-files", "*.rs", "*.py"]
    names = sys.argv[1:] or subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in names if (ROOT / name).exists()]
    found = [problem for name in files for problem in problems(name, (ROOT / name).read_text())]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
