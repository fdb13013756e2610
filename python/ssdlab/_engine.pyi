"""The engine, written in Rust (``crates/py``). Everything checked is checked there."""

from collections.abc import Callable
from typing import TypeAlias

#: A column of a table: strings; or a type (``"u64"``, ``"f64"``, ...) and its values as little-endian bytes;
#: or the same for codes, with the names that the codes stand for.
Column: TypeAlias = list[str] | tuple[str, bytes] | tuple[str, bytes, list[str]]
Columns: TypeAlias = dict[str, Column]

class InputError(ValueError):
    """Something is wrong with the input: one line for each thing, with the place and what would be right."""

class Outcome:
    """What a run hands back."""

    summary_json: str
    drive_toml: str
    workload_toml: str
    notes: list[str]
    interrupted: bool
    setup_s: float
    latency: Columns
    timeline: Columns
    commands: Columns | None
    spans: Columns | None

class Lived:
    """What a lifetime run hands back."""

    report_json: str
    drive_toml: str
    workload_toml: str
    notes: list[str]
    interrupted: bool
    setup_s: float

def presets() -> list[tuple[str, str, str]]: ...
def policies() -> list[tuple[str, str]]: ...
def schema() -> str: ...
def reference() -> str: ...
def lab(what: str, question_json: str) -> str: ...
def check(name: str, text: str, sets: list[str]) -> str: ...
def describe(name: str, text: str, sets: list[str]) -> str: ...
def run(
    request_json: str,
    paths: dict[str, str | None],
    progress: Callable[[dict[str, object]], bool] | None,
) -> Outcome: ...
def lifetime(
    request_json: str,
    paths: dict[str, str | None],
    progress: Callable[[dict[str, object]], bool] | None,
) -> Lived: ...
def trace_info(path: str, options_json: str) -> str: ...
def trace_analysis(what: str, path: str, options_json: str, question_json: str) -> str: ...
def trace_convert(path: str, format: str, out_path: str, options_json: str) -> str: ...
def trace_fit(path: str, options_json: str) -> tuple[str, str]: ...
