"""Kills commands at random moments, and checks what is left: ``python tools/kill_at_random.py --count 50``.

Each command runs `count` times, and gets SIGKILL, SIGINT or SIGTERM at a moment that is drawn from the time that it
takes. Then its output is absent or whole, and its exit status is that of the signal, or of a command that was faster.
The same command with the same output ends with what an undisturbed one gives; a sweep and a search go on with the rows
that they have. No check depends on which is faster, the command or the signal.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ssdlab
from ssdlab.explore.shared import read_trials
from ssdlab.manifest import strangers

#: Signals, and how often each is drawn.
SIGNALS = {signal.SIGKILL: 2, signal.SIGINT: 1, signal.SIGTERM: 1}
#: Longest wait for a process [s].
PATIENCE = 300
#: Share of the kills that meet an output that is there already, where a command replaces it.
REPLACING = 0.4
JOB = "[job]\nrw=randrw\nbs=4k\niodepth=8\nnumber_ios={count}\nnorandommap=1\n"
SWEEP = 'drive = "tiny"\nworkload = "short.fio"\nseeds = 2\nvary."flash.channels" = [1, 2]\n'
SEARCH = (
    'drive = "tiny"\nworkload = "short.fio"\nsearch."flash.channels" = [1, 2, 4]\n'
    'search."ftl.overprovisioning" = { low = 0.1, high = 0.5 }\n'
    '[[objective]]\nkey = "latency.all.mean_ns"\n[[objective]]\nkey = "cost"\n[optimise]\ncomparison = false\ntrials = 4\n'
)
#: Columns that differ between equal rows: wall times, and the number of a trial among those that were given up.
TIMES = ("wall_s", "setup_s", "study_trial")
#: Wall time in a text of JSON or HTML.
WALL = re.compile(rb'"wall_s": ?[0-9.e+-]+|"setup_s": ?[0-9.e+-]+|[0-9.]+ [^ ]*s of wall time')


@dataclass(frozen=True)
class Case:
    """A command, and the outputs that it writes."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    #: True if the command replaces outputs only with ``--force``.
    asks: bool = True
    #: True if a second call goes on where the first was.
    goes_on: bool = False


CASES = {
    "run": Case(("run", "tiny", "job.fio", "--out", "out", "--log-commands", "log.csv"), ("out", "log.csv")),
    "compare": Case(("compare", "tiny", "job.fio", "--policy", "baseline,ofwar", "--out", "out"), ("out",)),
    "sweep": Case(("sweep", "sweep.toml", "--out", "out", "--jobs", "2"), ("out",), asks=False, goes_on=True),
    "optimise": Case(("optimise", "search.toml", "--out", "out", "--jobs", "1"), ("out",), asks=False, goes_on=True),
    "save": Case(("run", "tiny", "job.fio", "--precondition", "random", "--save", "drive.sav"), ("drive.sav",)),
    "convert": Case(("trace", "convert", "trace.csv", "--to", "spc", "--out", "x.spc"), ("x.spc",)),
    "report": Case(("report", "before", "--out", "page.html"), ("page.html",), asks=False),
}


class DefectError(Exception):
    """Something that must not be, with the command and the moment."""


def inputs(folder: Path) -> None:
    """Writes the inputs of all commands."""
    (folder / "job.fio").write_text(JOB.format(count=10_000))
    (folder / "short.fio").write_text(JOB.format(count=2_000))
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "search.toml").write_text(SEARCH)
    with (folder / "trace.csv").open("w") as trace:
        for at in range(30_000):
            trace.write(
                f"{128166372003061629 + 1000 * at},hm,0,{'Read' if at % 3 else 'Write'},{at * 7919 % 99991 * 4096},4096,1\n"
            )
    ssdlab.run("tiny", folder / "short.fio").save(folder / "before")


def command(words: tuple[str, ...]) -> list[str]:
    """Returns the command line."""
    return [sys.executable, "-m", "ssdlab", *words]


def undisturbed(words: tuple[str, ...], folder: Path) -> float:
    """Runs a command to its end, and returns the time that it took [s]."""
    begun = time.monotonic()
    done = subprocess.run(command(words), cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise DefectError(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr[-1500:]}")
    return time.monotonic() - begun


def hears(pid: int) -> bool:
    """Returns True if a process handles SIGTERM."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def killed(words: tuple[str, ...], folder: Path, number: signal.Signals, wait: float) -> tuple[int, str]:
    """Runs a command that gets a signal after `wait` seconds; returns its exit status and what it said.

    A signal other than SIGKILL is sent once the process handles it: before, Python itself ends.
    """
    with (folder / ".said").open("w+") as said:
        running = subprocess.Popen(command(words), cwd=folder, stdout=subprocess.DEVNULL, stderr=said)
        if number != signal.SIGKILL:
            while running.poll() is None and not hears(running.pid):
                time.sleep(0.002)
        time.sleep(wait)
        if running.poll() is None:
            running.send_signal(number)
        try:
            code = running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            raise DefectError(f"{number.name} after {wait:.3f} s was lost: the command went on") from None
        said.seek(0)
        text = said.read()
    (folder / ".said").unlink()
    return code, text


def check_status(code: int, said: str, number: signal.Signals) -> None:
    """Checks how a command ended: by the signal, or before it, with status 0.

    Raises:
        DefectError: it did not.
    """
    # -number: signals are no longer handled once everything is written.
    if code not in (0, 128 + number, -number):
        raise DefectError(f"exit status {code}: {said[-1500:]}")
    if any(words in said for words in ("Traceback", "Exception ignored", "panicked")):
        raise DefectError(f"exit status {code}, and it says: {said[-1500:]}")


def rows(folder: Path) -> list[dict[str, Any]]:
    """Returns the rows of a sweep or a search, without times."""
    table = read_trials(folder) if (folder / "trials.parquet").is_dir() else ssdlab.load_sweep(folder).table
    kept = table.drop_columns([name for name in TIMES if name in table.column_names])
    key = "trial" if "trial" in table.column_names else "index"
    return sorted(kept.to_pylist(), key=lambda row: row[key])


def content(path: Path) -> dict[str, bytes]:
    """Returns the files of an output, without wall times."""
    if path.is_file():
        return {"": path.read_bytes()}
    files = (file for file in sorted(path.rglob("*")) if file.is_file() and file.name != "manifest.json")
    return {file.relative_to(path).as_posix(): WALL.sub(b"", file.read_bytes()) for file in files}


def check_whole(name: str, output: Path, is_complete: bool, must_be: bool, expected: dict[str, bytes]) -> str:
    """Checks that an output is absent or whole; returns which it is.

    Raises:
        DefectError: it is neither.
    """
    if not output.exists():
        if must_be:
            raise DefectError(f"{output.name}: absent, although the command had ended, or it was there")
        return "absent"
    if output.name == "log.csv":
        if not output.read_text().endswith("\n"):
            raise DefectError("log.csv: its last line has no end")
    elif output.is_dir():
        if CASES[name].goes_on:
            return "rows so far"
        if found := strangers(output):
            raise DefectError(f"{output.name}: files that its manifest does not name: {found}")
        whole = ssdlab.load_comparison(output) if name == "compare" else ssdlab.load_result(output)
        if is_complete and whole.status != "complete":
            raise DefectError(f"{output.name}: {whole.status}, although the command had ended")
        if whole.status != "complete":
            return "partial"
    elif name != "save" and content(output) != expected:
        raise DefectError(f"{output.name}: not the bytes of an undisturbed command")
    return "whole"


def once(name: str, place: Path, draw: random.Random, reference: Path, seconds: float) -> str:
    """Kills a command once, and does it again. Returns what it left.

    Raises:
        DefectError: a check fails.
    """
    case, number = CASES[name], draw.choices([*SIGNALS], [*SIGNALS.values()])[0]
    wait = draw.uniform(0, 1.1 * seconds)
    is_there = case.asks and draw.random() < REPLACING
    words = (*case.words, "--force") if is_there else case.words
    with inside(place) as folder:
        if is_there:
            for output in case.outputs:
                copy(reference / output, folder / output)
        code, said = 0, ""
        try:
            code, said = killed(words, folder, number, wait)
            check_status(code, said, number)
            left = Counter()
            # Signals other than SIGKILL are handled until everything is written.
            is_complete = code == 0 or (number != signal.SIGKILL and code == -number)
            for output in case.outputs:
                left[check_whole(name, folder / output, is_complete, is_complete or is_there, content(reference / output))] += 1
            again = (*case.words, "--force") if case.asks and any((folder / one).exists() for one in case.outputs) else case.words
            undisturbed(again, folder)
            check_again(case, folder, reference)
        except DefectError as defect:
            what = f"{name}: {number.name} after {wait:.3f} s, --force {is_there}, exit status {code}: {defect}"
            raise DefectError(f"{what}; it said: {said[-1500:]}") from None
    how = "ended first" if code == 0 else "killed" if code < 0 else "handled"
    return f"{number.name} {how}, {'/'.join(left)}"


def check_again(case: Case, folder: Path, reference: Path) -> None:
    """Checks the outputs of a command that was done again after it had been killed.

    Raises:
        DefectError: they are not those of an undisturbed command, or something else is left.
    """
    for output in case.outputs:
        if case.goes_on:
            same = rows(folder / output) == rows(reference / output)
        else:
            same = content(folder / output) == content(reference / output)
        if not same:
            raise DefectError(f"{output}: done again, it is not what an undisturbed command gives")
    hidden = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
    if hidden:
        raise DefectError(f"left behind: {', '.join(hidden)}")
    if case.goes_on and (found := [path.name for path in (folder / "out").glob(".*.new")]):
        raise DefectError(f"left behind: {', '.join(found)}")


def copy(source: Path, target: Path) -> None:
    """Copies a file or a folder."""
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy2(source, target)


@contextmanager
def inside(place: Path) -> Iterator[Path]:
    """Yields a folder with the inputs, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(dir=place))
    for source in (place / "inputs").iterdir():
        (folder / source.name).symlink_to(source)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def kill_all(names: list[str], count: int, seed: int, place: Path, tell: Callable[[str], object]) -> tuple[int, list[str]]:
    """Kills each command `count` times. Returns the number of kills, and the defects."""
    (place / "inputs").mkdir()
    inputs(place / "inputs")
    kills, defects = 0, []
    for name in names:
        draw = random.Random(f"{seed}/{name}")
        found: Counter[str] = Counter()
        with inside(place) as reference:
            seconds = undisturbed(CASES[name].words, reference)
            for number in range(count):
                if number and number % 10 == 0:
                    tell(f"{name}: {number} of {count}")
                kills += 1
                try:
                    found[once(name, place, draw, reference, seconds)] += 1
                except DefectError as defect:
                    defects.append(str(defect))
                    tell(f"DEFECT {defect}")
        tell(f"{name}: {count} kills: " + "; ".join(f"{number} {what}" for what, number in sorted(found.items())))
    return kills, defects


def main() -> None:
    """Reads the command line, kills, and ends with status 1 if there was a defect."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=50, help="kills of each command")
    parser.add_argument("--seed", type=int, default=1, help="seed of signals and moments")
    parser.add_argument("--command", action="append", choices=[*CASES], help="a command; may be repeated; absent: all")
    parser.add_argument("--json", action="store_true", help="print one JSON document at the end")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ssdlab-kill-") as place:
        tell = (lambda line: print(line, file=sys.stderr, flush=True)) if given.json else (lambda line: print(line, flush=True))
        kills, defects = kill_all(given.command or [*CASES], given.count, given.seed, Path(place), tell)
    if given.json:
        print(json.dumps({"kills": kills, "defects": defects}))
    else:
        print(f"{kills} kills, {len(defects)} defects")
    sys.exit(bool(defects))


if __name__ == "__main__":
    main()
