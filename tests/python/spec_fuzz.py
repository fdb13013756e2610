"""Coverage-guided mutations of specifications of sweeps and searches: an `InputError` or a specification, nothing else.

    python tests/python/spec_fuzz.py [SECONDS]

An input that reaches a new line of `ssdlab.explore` joins those that are mutated further.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import ssdlab
from ssdlab.explore import design, spec

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus" / "sweep_spec"
#: Longest input that is mutated further.
BYTES_MAX = 4000
#: Points of an accepted sweep that are made.
POINTS = 30
#: Values that replace those of an input: of every type, and at the limits of the numbers.
VALUES = [
    *("0", "-1", "1", "2.5", "1e308", "-0.0", "nan", "inf", "9223372036854775807", "9223372036854775808", "1e-300", "10001"),
    *("true", '""', '"tiny"', '"job.fio"', '"greedy"', '"mean within 5 %"', '"x > "', '"4KiB"', "[]", "{}", "[[1]]"),
    *("[1, 2, 3]", '["a", "a"]', "[1, 'x', 2.5, true]", "{ low = 1, high = 8, count = 4, log = true }", "1979-05-27"),
    *("{ low = 0, high = 1, count = 3, log = true }", "{ low = 8, high = 1 }", "{ low = 0.1, high = 0.3, step = 0.0 }"),
    *("{ low = 1, high = 9223372036854775807, count = 1000000 }", "{ choices = [1, 2] }", "{ choices = [] }"),
    *('"(" * 9', f'"{"(" * 500}"', '"9 ** 9 ** 9 ** 9 > 0"', '"flash.channels * 2 < 10"', '"if(1, 2"', "[{ key = 'cost' }]"),
]
#: Names of keys and fields, and pieces of their grammar.
WORDS = [
    *spec.KEYS,
    *('"flash.channels"', '"ftl.victim"', '"workload.iodepth"', '"options.stop_after"', "kind", "runs", "key", "direction"),
    *("[", "]", "[[", "]]", "{", "}", "=", ",", "\n", '"', "'", "#", ".", "\0", "\ufeff", "[vary]", "[[zip]]", "[design]"),
]


def check(text: bytes, folder: Path) -> bool:
    """Checks one specification; returns true if it was accepted.

    Raises:
        AssertionError: it was refused without a reason, or ranges and points leave their bounds.
    """
    path = folder / "spec.toml"
    path.write_bytes(text)
    try:
        found = ssdlab.Spec.open(path)
    except ssdlab.InputError as error:
        refusal = str(error)
    else:
        refusal = ""
        _check_accepted(found)
    assert not refusal or "spec.toml" in refusal, f"a refusal without a place: {refusal}"
    return not refusal


def _check_accepted(found: ssdlab.Spec) -> None:
    for values in (*found.vary.values(), *found.search.values()):
        if isinstance(values, spec.Range):
            assert values.low <= values.at(0.3) <= values.high, values
    assert 1 <= len(found.seeds) <= spec.MOST_SEEDS, found.seeds
    for purpose in ("sweep", "optimise"):
        with contextlib.suppress(ssdlab.InputError):
            found.check_for(purpose)
            if purpose == "sweep":
                list(itertools.islice(design.points(found), POINTS))


def mutated(text: bytes, other: bytes, rng: random.Random) -> bytes:
    """Returns the text with one to four changes; lines come from the other one, too."""
    for _ in range(rng.randint(1, 4)):
        text = _changed(text, other, rng)[:BYTES_MAX]
    return text


def _changed(text: bytes, other: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text) + 1)
    lines = text.split(b"\n")
    which = rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:
            key, equals, _ = lines[which].partition(b"=")
            lines[which] = key + equals + b" " + rng.choice(VALUES).encode() if equals else lines[which]
        case 1:
            lines.insert(which, f"{rng.choice(WORDS)} = {rng.choice(VALUES)}".encode())
        case 2:
            lines.insert(which, rng.choice(other.split(b"\n")))
        case 3:
            del lines[which]
        case 4:
            numbers = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?", text)]
            begin, end = rng.choice(numbers or [(at, at)])
            return text[:begin] + rng.choice(VALUES).encode() + text[end:]
        case 5:
            words = [match.span() for match in re.finditer(rb"\w+", text)]
            begin, end = rng.choice(words or [(at, at)])
            return text[:begin] + rng.choice(WORDS).encode() + text[end:]
        case 6:
            return text[:at] + rng.choice(WORDS).encode() + text[at:]
        case _:
            return text[:at] + bytes([rng.randrange(256)]) + text[at + rng.randrange(3) :]
    return b"\n".join(lines)


class Coverage:
    """Lines of `ssdlab.explore` that were reached, each with the line before it."""

    def __init__(self) -> None:
        self.reached: set[tuple[str, int, int]] = set()
        self._last = 0

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if "explore" not in name:
            return None
        if event == "line":
            self.reached.add((name, self._last, frame.f_lineno))
        self._last = frame.f_lineno
        return self._trace

    def grows(self, text: bytes, folder: Path) -> bool:
        """Checks a specification; returns true if it reached a line in a new way."""
        before = len(self.reached)
        outer = sys.gettrace()
        sys.settrace(self._trace)
        try:
            check(text, folder)
        finally:
            sys.settrace(outer)
        return len(self.reached) > before


def seeds() -> list[bytes]:
    """Returns the corpus."""
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def guided(folder: Path, seed: int) -> Iterator[bytes]:
    """Checks mutations without end, and yields each before it is checked."""
    rng, coverage, kept = random.Random(seed), Coverage(), seeds()
    for text in kept:
        coverage.grows(text, folder)
    while True:
        text = mutated(rng.choice(kept), rng.choice(kept), rng)
        yield text
        if coverage.grows(text, folder):
            kept.append(text)


def main() -> int:
    """Runs for a while, and writes the number of inputs; one that breaks the contract is kept in a file."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    end, count, text = time.monotonic() + seconds, 0, b""
    failure = ""
    with tempfile.TemporaryDirectory() as folder:
        texts = guided(Path(folder), time.time_ns())
        try:
            while time.monotonic() < end:
                text = next(texts)
                count += 1
        except Exception:
            kept = Path("target") / "spec_fuzz.toml"
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(text)
            failure = f"{traceback.format_exc()}kept: ssdlab sweep {kept}\n"
    sys.stdout.write(f"{failure}stat::number_of_executed_units: {count}\n")
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
