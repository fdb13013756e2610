"""Mutated inputs of every kind: an error with status 2 or a result, never a traceback, a panic or another status."""

from __future__ import annotations

import itertools
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import ssdlab
from conftest import Command
from ssdlab.explore import design

#: Mutants of each kind of input.
MUTANTS = 40
#: Statuses of a command that did what it was asked for, refused it, or found two files different.
FINE = (0, 2, 3)
EXTREMES = [b"0", b"-1", b"1e308", b"99999999999999999999", b"18446744073709551615", b"nan", b"inf", b"", b"0x7f", b"1" * 400]
WORDS = [
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"[",
    b"]]",
    b"{",
    b'"',
    b"=",
    b"\n",
    b"\r\n",
    b"%",
    b"[" * 3000,
    b"\xf0\x9f\x92\xbe",
]

JOB = (
    "[global]\nbs=4k\niodepth=8\nnorandommap=1\n[a]\nrw=randrw\nrwmixread=30\nnumber_ios=60\nrate_iops=5000\n"
    "[b]\nstonewall\nrw=write\nruntime=2ms\ntime_based\nramp_time=1ms\nthinktime=20\n"
)
MODEL = (
    'kind = "synthetic"\n[[job]]\nname = "hot"\npattern = { kind = "zipf", theta = 0.9 }\nread_share = 0.5\n'
    'sizes = [{ size = "4KiB", weight = 2.0 }]\ndepth = 8\nrequests = 60\nstart_delay = "1ms"\n'
)
SPEC = (
    'drive = "tiny"\nworkload = "job.fio"\nseeds = 2\n[options]\nstop_after = 20\n[vary]\n"flash.channels" = [1, 2]\n'
    '"ftl.overprovisioning" = { low = 0.1, high = 0.2, count = 2 }\n'
)
DRIVE = 'base = "tiny"\n[flash]\nchannels = 4\npage_size = "4KiB"\nread_time = "50us"\n[ftl]\noverprovisioning = 0.28\n'
CELL = "pe,age,rber\n0,0,1e-5\n1000,0,2e-5\n0,86400,3e-5\n1000,86400,5e-5\n"


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Returns the content with one to three changes."""
    for _ in range(rng.randint(1, 3)):
        content = _changed(content, rng)
    return content


def _changed(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    to = min(len(content), at + rng.randint(1, 40))
    numbers = [match.span() for match in re.finditer(rb"\d+(\.\d+)?", content)]
    match rng.randrange(7):
        case 0 if numbers:
            begin, end = rng.choice(numbers)
            return content[:begin] + rng.choice(EXTREMES) + content[end:]
        case 1:
            return content[:at] + content[to:]
        case 2:
            return content[:at] + content[at:to] * rng.randint(2, 20) + content[to:]
        case 3:
            return content[:at] + rng.choice(WORDS) + content[at:]
        case 4:
            return content[:at]
        case 5:
            lines = content.split(b"\n")
            rng.shuffle(lines)
            return b"\n".join(lines)
        case _:
            return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def assert_sound(status: int, said: str, what: str) -> None:
    """Asserts that a command did its work or refused it, and that what it said names no fault of its own."""
    assert status in FINE, f"{what}: {status}\n{said}"
    assert not re.search("Traceback|panicked|a fault of ssdlab", said), f"{what}: {said}"


def tried(cli: Command, path: Path, whole: bytes, commands: list[tuple[str, ...]], *, mutants: int = MUTANTS) -> None:
    """Runs commands on mutants of a file, and asserts that each ends as a command should."""
    refused = 0
    for seed in range(mutants):
        path.write_bytes(mutated(whole, random.Random(f"{path.name} {seed}")))
        for words in commands:
            done = cli(*words)
            said = done.stdout + done.stderr
            assert_sound(done.returncode, said, f"{path.name}, mutant {seed}, {' '.join(words)}")
            refused += done.returncode == 2
    path.write_bytes(whole)
    assert refused > mutants // 10, f"{refused} of {mutants} mutants were refused"


@pytest.fixture
def here(tmp_path: Path, cli: Command) -> Path:
    """The folder in which the commands run, with a small input of each kind."""
    folder = tmp_path / "here"
    for name, text in (("job.fio", JOB), ("model.toml", MODEL), ("spec.toml", SPEC), ("drive.toml", DRIVE), ("cell.csv", CELL)):
        (folder / name).write_text(text)
    return folder


def _trace(here: Path) -> bytes:
    line = "{},disk,0,{},{},4096,7\n"
    rows = (line.format(1000 * at, "Read" if at % 3 else "Write", at * 4096 % 10**7) for at in range(60))
    return "".join(rows).encode()


SHORT = ("--stop-after", "30", "--quiet")
TEXTS: dict[str, tuple[Callable[[Path], bytes], list[tuple[str, ...]]]] = {
    "drive.toml": (lambda here: (here / "drive.toml").read_bytes(), [("check", "drive.toml"), ("show", "drive.toml")]),
    "job.fio": (lambda here: JOB.encode(), [("run", "tiny", "job.fio", *SHORT)]),
    "model.toml": (lambda here: MODEL.encode(), [("run", "tiny", "model.toml", *SHORT)]),
    "trace.csv": (_trace, [("trace", "info", "trace.csv"), ("run", "tiny", "trace.csv", "--address", "wrap", *SHORT)]),
    "cell.csv": (lambda here: CELL.encode(), [("cell", "rber", "--cell", "cell.csv", "--pe", "10", "--age", "1d")]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_mutated_text(cli: Command, here: Path, name: str):
    whole, commands = TEXTS[name]
    tried(cli, here / name, whole(here), commands)


def test_mutated_saved_drive(cli: Command, here: Path):
    assert cli("run", "tiny", "job.fio", "--save", "saved", "--quiet").returncode == 0
    saved = here / "saved"
    tried(cli, saved, saved.read_bytes(), [("run", "tiny", "job.fio", "--load", "saved", *SHORT)])


def test_mutated_history_and_timeline(cli: Command, here: Path):
    for option, name in (("--history", "history.csv"), ("--timeline", "timeline.pftrace")):
        assert cli("run", "tiny", "job.fio", option, name, "--stop-after", "20", "--quiet").returncode == 0
    history = here / "history.csv"
    shutil.copy(history, here / "other.csv")
    tried(cli, history, history.read_bytes(), [("history", "history.csv", "other.csv")])
    whole = (here / "timeline.pftrace").read_bytes()
    for seed in range(3 * MUTANTS):
        (here / "mutant").write_bytes(mutated(whole, random.Random(seed)))
        try:
            ssdlab.read_timeline(here / "mutant")
        except ssdlab.InputError:
            continue


@pytest.mark.parametrize("name", ["summary.json", "drive.toml", "workload.toml", "manifest.json", "latency.parquet"])
def test_mutated_result_folder(cli: Command, here: Path, name: str):
    assert cli("run", "tiny", "job.fio", "--out", "out", "--quiet").returncode == 0
    path = here / "out" / name
    # A manifest, and a number, may change without a contradiction: not all mutants are refused.
    whole = path.read_bytes()
    for seed in range(MUTANTS // 2):
        path.write_bytes(mutated(whole, random.Random(f"{name} {seed}")))
        for words in (("report", "out", "--out", "page.html"), ("rerun", "out", "--quiet")):
            done = cli(*words)
            said = done.stdout + done.stderr
            status = 3 if words[0] == "rerun" and done.returncode == 1 else done.returncode
            assert_sound(status, said, f"{name}, mutant {seed}, {' '.join(words)}")


def test_mutated_specification(here: Path):
    refused = 0
    for seed in range(5 * MUTANTS):
        (here / "spec.toml").write_bytes(mutated(SPEC.encode(), random.Random(f"spec {seed}")))
        try:
            spec = ssdlab.Spec.open(here / "spec.toml")
            spec.check_for("sweep")
            assert len([*itertools.islice(design.points(spec), 1000)]) > 0
        except ssdlab.InputError:
            refused += 1
    assert refused > MUTANTS
