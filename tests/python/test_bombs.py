"""Inputs that are far larger than their files: a limit that is named refuses them before they fill the memory."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import PATIENCE

MIB = 1 << 20
#: A program that runs the command and says on standard error how much memory it took [KiB]. The system's count of
#: resources would include that of the process which started it.
MEASURED = (
    "import atexit, pathlib, re, sys\n"
    "status = pathlib.Path('/proc/self/status')\n"
    "took = lambda: sys.stderr.write('took ' + re.search(r'VmHWM:\\s*(\\d+)', status.read_text())[1] + '\\n')\n"
    "atexit.register(took)\n"
    "from ssdlab.cli import main\n"
    "main()\n"
)
#: Memory that the command takes without an input, and a few MiB more [KiB].
LEAST = 150 << 10


def compressed(path: Path, pieces: Iterator[bytes]) -> Path:
    """Writes pieces into a file in gzip."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for piece in pieces:
            file.write(piece)
    return path


def zstandard(path: Path, size: int) -> Path:
    """Writes a frame of Zstandard that repeats a byte: blocks of 128 KiB, each in four bytes (RFC 8878, 3.1.1.2)."""
    count = size >> 17
    blocks = b"".join(((1 << 17) << 3 | 1 << 1 | (at == count - 1)).to_bytes(3, "little") + b"x" for at in range(count))
    # No content size, no checksum, a window of 1 MiB.
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([10 << 3]) + blocks)
    return path


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    piece = b"x" * MIB
    compressed(folder / "line.gz", (piece for _ in range(256)))
    zstandard(folder / "line.zst", 4 << 30)
    compressed(folder / "profile.xml.gz", (b"<Profile>" * 100_000 for _ in range(100)))
    (folder / "deep.xml").write_bytes(b'<?xml version="1.0"?>' + b"<Profile>\n" * 100_000)
    (folder / "entities.xml").write_bytes(b'<?xml version="1.0"?>\n<!DOCTYPE l [<!ENTITY a "aaaa">]>\n<Profile>&a;</Profile>')
    (folder / "long.fio").write_bytes(b"[job]\nrw=read\n" + (b"; " + b"y" * 1000 + b"\n") * 17_000)
    (folder / "long.toml").write_bytes(b'base = "tiny"\ntitle = "' + b"y" * (17 * MIB) + b'"\n')
    (folder / "deep.toml").write_bytes(b"a = " + b"[" * 100_000)
    (folder / "wide.toml").write_bytes(b'base = "tiny"\n' + b"".join(b"k%d = 1\n" % at for at in range(20_000)))
    (folder / "clones.fio").write_text("[job]\nrw=read\nbs=4k\nnumjobs=100000000\n")
    (folder / "depth.toml").write_text('kind = "synthetic"\n[[job]]\nname = "a"\ndepth = 4000000000\npattern = "random"\n')
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "tiny", "line.gz"), "line.gz:1: a line of more than 1 MiB"),
        (("run", "tiny", "line.zst"), "line.zst:1: a line of more than 1 MiB"),
        (("trace", "info", "line.zst"), "line.zst:1: a line of more than 1 MiB"),
        (("trace", "convert", "line.gz", "--to", "spc", "--out", "x.spc"), "line.gz:1: a line of more than 1 MiB"),
        (("run", "tiny", "profile.xml.gz"), "profile.xml.gz:1: a line of more than 1 MiB"),
        (("run", "tiny", "deep.xml"), "deep.xml:"),
        (("run", "tiny", "entities.xml"), "entities.xml:1: a document type: expected a document without <!DOCTYPE>"),
        (("run", "tiny", "long.fio"), "long.fio: more than 16 MiB"),
        (("show", "long.toml"), "long.toml: more than 16 MiB"),
        (("run", "tiny", "long.toml"), "long.toml:2: a line of more than 1 MiB"),
        (("show", "deep.toml"), "deep.toml:1: not TOML"),
        (("run", "tiny", "clones.fio"), "numjobs: 100000000 is out of range: expected 1..=65535"),
        (("run", "tiny", "depth.toml"), "job[0].depth: 4000000000 is out of range: expected 1..=1048576"),
        (("show", "wide.toml"), "and 19,900 more problems"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_a_bomb_is_refused_by_a_named_limit(bombs: Path, words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words], cwd=bombs, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert said in done.stderr, done.stderr[:2000]
    assert len(done.stderr.splitlines()) < 110
    took = re.search(r"^took (\d+)$", done.stderr, re.MULTILINE)
    assert took, done.stderr
    assert int(took[1]) < LEAST
    assert not (bombs / "x.spc").exists()
