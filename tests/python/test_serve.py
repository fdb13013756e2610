"""A drive as a block device of programs that know nothing of it, and its control."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ssdlab
from conftest import PATIENCE, wait_for
from ssdlab.serving import control

#: A drive with a volatile write buffer that only a flush empties.
BUFFERED = ("--set", "buffer.policy=write_back", "--set", "buffer.capacity=1MiB", "--set", "buffer.flush_after=10s")

Serve = Callable[..., "Served"]


class Served:
    """A server in a process of its own."""

    def __init__(self, running: subprocess.Popen[str], at: Path) -> None:
        self.running, self.at = running, at

    @property
    def uri(self) -> str:
        return f"nbd+unix:///?socket={self.at}"

    def stop(self) -> dict:
        """Ends the server and returns its summary."""
        control(self.at, "stop")
        out, said = self.running.communicate(timeout=PATIENCE)
        assert self.running.returncode == 0, said
        assert not self.at.exists()
        return json.loads(out)


def listens(at: str) -> bool:
    """Returns true if a server takes connections at a socket."""
    with socket.socket(socket.AF_UNIX) as trial:
        return trial.connect_ex(at) == 0


@pytest.fixture
def serve(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> Serve:
    """Starts a server, and waits until it listens."""

    def call(*arguments: object, drive: str = "tiny") -> Served:
        at = tmp_path / "s"
        running = start("serve", drive, "--socket", at, "--json", *arguments)
        wait_for(lambda: listens(f"{at}.ctl") or running.poll() is not None, "the server does not listen")
        assert running.poll() is None, running.communicate()[1]
        return Served(running, at)

    return call


def run(*words: object, status: int = 0, **options: object) -> str:
    """Runs a program, which is skipped where it is not installed, and returns what it printed."""
    if shutil.which(str(words[0])) is None:
        pytest.skip(f"{words[0]} is not installed")
    given = {"capture_output": True, "text": True, "timeout": PATIENCE, **options}
    done = subprocess.run([str(word) for word in words], **given)
    assert done.returncode == status, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def test_fio_verifies_what_it_wrote(serve):
    if shutil.which("fio") is None or "nbd" not in run("fio", "--enghelp").split():
        pytest.skip("fio with the engine nbd is not installed")
    server = serve(*BUFFERED, "--precondition", "steady")
    words = ("--ioengine=nbd", f"--uri={server.uri}", "--name=v", "--rw=randrw", "--bsrange=512-64k", "--iodepth=16")
    more = ("--size=32M", "--io_size=24M", "--verify=crc32c", "--do_verify=1", "--fsync=64", "--output-format=json")
    # fio leaves the state of its verification in the folder in which it runs.
    told = run("fio", *words, *more, "--verify_fatal=1", cwd=server.at.parent)
    found = json.loads(told[told.index("{") :])
    assert found["jobs"][0]["error"] == 0
    summary = server.stop()
    assert summary["server"]["requests"]["write"] > 100
    assert summary["server"]["requests_failed"] == 0
    assert summary["latency"]["write"]["count"] == summary["commands"]["write"]
    assert summary["server"]["requests"]["flush"] > 10


@pytest.mark.parametrize(("rw", "within"), [("randread", 1e-3), ("randwrite", 0.05)])
def test_fio_at_the_socket_has_the_latencies_of_the_same_job_in_a_run(serve, tmp_path, rw, within):
    if shutil.which("fio") is None or "nbd" not in run("fio", "--enghelp").split():
        pytest.skip("fio with the engine nbd is not installed")
    job = [f"rw={rw}", "bs=4k", "iodepth=1", "norandommap=1", "size=100%", "io_size=40m"]
    server = serve("--precondition", "steady")
    run("fio", "--name=job", "--ioengine=nbd", f"--uri={server.uri}", *(f"--{one}" for one in job), cwd=tmp_path)
    served = server.stop()
    (tmp_path / "job.fio").write_text("[job]\n" + "\n".join(job) + "\n")
    alone = ssdlab.run("tiny", str(tmp_path / "job.fio"), precondition="steady").summary
    # The two draw other addresses.
    one, other = (each["latency"][rw.removeprefix("rand")] for each in (served, alone))
    assert one["count"] == other["count"] == 10240
    assert one["p50_ns"] == other["p50_ns"]
    assert one["mean_ns"] == pytest.approx(other["mean_ns"], rel=within)
    # Reads alone have none.
    assert (served["write_amplification"] or 0.0) == pytest.approx(alone["write_amplification"] or 0.0, rel=within)


def test_nbdcopy_brings_an_image_there_and_back(serve, tmp_path):
    if shutil.which("nbdcopy") is None:
        pytest.skip("nbdcopy is not installed")
    server, size = serve(), ssdlab.Device("tiny").user_bytes
    image = tmp_path / "image"
    generator = random.Random(3)
    parts = (generator.randbytes(1 << 20) if number % 3 else bytes(1 << 20) for number in range(size >> 20))
    image.write_bytes(b"".join(parts).ljust(size, b"\x07"))
    run("nbdcopy", image, server.uri)
    run("nbdcopy", server.uri, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == image.read_bytes()
    summary = server.stop()
    assert summary["server"]["requests"]["block_status"] > 0
    assert summary["server"]["read_bytes"] < 0.8 * size, "holes are not read"


def test_qemu_io_writes_reads_and_discards(serve):
    server = serve(*BUFFERED)
    script = (
        "write -P 0x5a 0 64k",
        "write -f -P 0xa5 64k 512",
        "flush",
        "write -z 4k 8k",
        "discard 32k 16k",
        "read -P 0x5a 0 4k",
    )
    script += ("read -P 0 4k 8k", "read -P 0x5a 12k 20k", "read -P 0 32k 16k", "read -P 0xa5 64k 512", "map")
    words = [word for line in script for word in ("-c", line)]
    told = run("qemu-io", "-f", "raw", *words, server.uri)
    assert "Pattern verification failed" not in told
    assert told.count("read ") == 5
    assert "not allocated" in told or "allocated" in told
    assert server.stop()["server"]["requests_failed"] == 0


def test_nbdinfo_sees_size_blocks_and_extents(serve):
    server = serve()
    found = json.loads(run("nbdinfo", "--json", server.uri))
    (export,) = found["exports"]
    assert export["export-size"] == ssdlab.Device("tiny").user_bytes
    assert (export["block_size_minimum"], export["block_size_preferred"], export["can_multi_conn"]) == (512, 4096, True)
    assert found["structured"] is True
    (extent,) = json.loads(run("nbdinfo", "--map", "--json", server.uri))
    assert (extent["offset"], extent["length"], extent["type"]) == (0, export["export-size"], 3)
    server.stop()


def test_ext4_has_what_was_synced_after_a_cut(serve, tmp_path):
    for program in ("nbdfuse", "umount", "mkfs.ext4", "debugfs", "e2fsck", "nbdcopy"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if not Path("/dev/fuse").exists():
        pytest.skip("there is no /dev/fuse")
    server = serve(*BUFFERED)
    disk, text = tmp_path / "disk", tmp_path / "text"
    disk.mkdir()
    text.write_bytes(random.Random(4).randbytes(300_000))
    mounted = subprocess.Popen(
        ["nbdfuse", str(disk / "d"), server.uri], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for(lambda: (disk / "d").exists() or mounted.poll() is not None, "nbdfuse does not mount")
        if mounted.poll() is not None:
            pytest.skip(f"nbdfuse cannot mount here: {mounted.communicate()[1]}")
        run("mkfs.ext4", "-q", "-F", disk / "d")
        for number in range(3):
            run("debugfs", "-w", "-R", f"write {text} file{number}", disk / "d")
            with (disk / "d").open("rb") as file:
                os.fsync(file.fileno())
            found = control(server.at, "power-cut", down="1s")
            assert found["durable_lost"] == 0
            run("nbdcopy", server.uri, tmp_path / f"image{number}")
            run("e2fsck", "-fn", tmp_path / f"image{number}")
            for earlier in range(number + 1):
                back = tmp_path / f"back{number}{earlier}"
                run("debugfs", "-R", f"dump file{earlier} {back}", tmp_path / f"image{number}")
                assert back.read_bytes() == text.read_bytes()
    finally:
        subprocess.run(["umount", disk], capture_output=True, check=False)
        mounted.communicate(timeout=PATIENCE)
    assert server.stop()["server"]["power_losses"] == 3


Client = Callable[..., bytes]


@pytest.fixture
def client_of() -> Iterator[Callable[[Served], Client]]:
    """Makes clients that wait for each of their requests."""
    links: list[socket.socket] = []

    def make(server: Served) -> Client:
        link = socket.socket(socket.AF_UNIX)
        links.append(link)
        link.settimeout(PATIENCE)
        link.connect(str(server.at))

        def take(count: int) -> bytes:
            found = b""
            while len(found) < count:
                part = link.recv(count - len(found))
                assert part, "the server has ended the connection"
                found += part
            return found

        take(18)
        link.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
        take(10)

        def call(code: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> bytes:
            link.sendall(struct.pack(">IHHQQI", 0x25609513, flags, code, 9, offset, length or len(data)) + data)
            magic, error, cookie = struct.unpack(">IIQ", take(16))
            assert (magic, error, cookie) == (0x67446698, 0, 9)
            return take(length) if code == 0 else b""

        return call

    yield make
    for link in links:
        link.close()


def test_a_record_replays_to_the_same_history(serve, client_of, tmp_path):
    trace = tmp_path / "trace"
    server = serve(*BUFFERED, "--precondition", "fill", "--record", trace, "--think", "3us")
    call, generator = client_of(server), random.Random(5)
    for number in range(400):
        at, length = 512 * generator.randrange(60_000), 512 * generator.randrange(1, 64)
        match number % 8:
            case 0 | 1 | 2:
                call(0, at, length)
            case 3 | 4:
                call(1, at, data=generator.randbytes(length))
            case 5:
                call(1, at, data=generator.randbytes(length), flags=1)
            case 6:
                call(4, at, length, flags=1)
            case _:
                call(3)
    summary = server.stop()
    settings = dict(word.split("=", 1) for word in BUFFERED if "=" in word)
    again = ssdlab.run("tiny", trace, set=settings, precondition="fill", power_cut="1d")
    for key in ("commands", "latency", "causes", "flash", "simulated_ns", "write_amplification"):
        assert again.summary[key] == summary[key], key
    assert summary["history"]["entries"] > 1000


def test_contents_are_saved_with_a_drive_and_loaded(serve, client_of, tmp_path):
    saved = tmp_path / "drive"
    server = serve(*BUFFERED, "--save", saved)
    data = random.Random(6).randbytes(1 << 20)
    client_of(server)(1, 4096, data=data)
    server.stop()
    device = ssdlab.Device("tiny", load=saved)
    assert device.read(4096, 1 << 20).data == data
    device.write(0, b"x" * 4096)
    again = device.save(tmp_path / "again")
    with pytest.raises(ssdlab.InputError, match="it exists"):
        device.save(again)
    # The contents were in memory, and are in a file now.
    server = serve("--load", again, "--contents-folder", tmp_path)
    call = client_of(server)
    assert call(0, 0, 8192) == b"x" * 4096 + data[:4096]
    server.stop()


def test_a_saved_drive_without_its_contents_is_refused_by_name(cli, tmp_path, job):
    plain = tmp_path / "plain"
    ssdlab.run("tiny", job, save=plain)
    with pytest.raises(ssdlab.InputError, match=r"plain: a saved drive without its contents: expected one that was saved"):
        ssdlab.Device("tiny", load=plain)
    done = cli("serve", "tiny", "--socket", tmp_path / "s", "--load", plain)
    assert (done.returncode, done.stdout) == (2, "")
    assert "a saved drive without its contents" in done.stderr
    assert not (tmp_path / "s").exists()
    # A run takes a drive with contents as one without.
    device = ssdlab.Device("tiny")
    device.write(0, b"1" * 4096)
    result = ssdlab.run("tiny", job, load=device.save(tmp_path / "full"))
    assert any("contents" in note for note in result.notes)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--clock", "fast"), "--clock: `fast`: expected simulated or dilated:N"),
        (("--clock", "dilated:2", "--depth", "4"), "--depth: the clients' own time passes under a dilated clock"),
        (("--tcp", "0.0.0.0:10809"), "--tcp: `0.0.0.0:10809`: other machines could reach it"),
        (("--depth", "0"), "--depth: 0: expected 1 to 256 requests"),
        (("--think", "soon"), "--think: "),
        (("--force",), "--force: replaces what is already there"),
        (("--set", "ftl.translation=waf"), "need a map of the data"),
        (("--contents-folder", "nowhere"), "nowhere: No such file or directory: expected a folder for the contents"),
    ],
)
def test_what_cannot_be_served_is_refused_and_nothing_is_left(cli, tmp_path, words, complaint):
    done = cli("serve", "tiny", "--socket", tmp_path / "s", *words)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("s")]


def test_a_socket_in_use_and_a_file_are_left_alone(serve, client_of, cli, tmp_path):
    server = serve()
    done = cli("serve", "tiny", "--socket", server.at)
    assert done.returncode == 2
    assert "the socket is in use" in done.stderr
    (tmp_path / "file").write_text("text")
    done = cli("serve", "tiny", "--socket", tmp_path / "file")
    assert (done.returncode, (tmp_path / "file").read_text()) == (2, "text")
    assert "there is a file" in done.stderr
    client_of(server)(0, 0, 512)
    server.stop()


def test_control_has_the_words_of_the_command_line(serve, client_of, cli, tmp_path):
    server = serve("--set", "buffer.policy=none")
    client_of(server)(1, 0, data=b"1" * 4096)
    stats = json.loads(cli("ctl", server.at, "stats").stdout)
    assert stats["commands"]["write"] == 1
    assert cli("ctl", server.at, "snapshot", "one").returncode == 0
    client_of(server)(1, 0, data=b"2" * 4096)
    assert cli("ctl", server.at, "restore", "one").returncode == 0
    assert client_of(server)(0, 0, 4096) == b"1" * 4096
    assert json.loads(cli("ctl", server.at, "power-cut", "--down", "2s").stdout)["durable_lost"] == 0
    assert json.loads(cli("ctl", server.at, "save", tmp_path / "saved").stdout)["bytes"] > 4096
    done = cli("ctl", server.at, "save", tmp_path / "saved")
    assert (done.returncode, "there is a file" in done.stderr) == (2, True)
    (tmp_path / "faults.toml").write_text("")
    done = cli("ctl", server.at, "faults", tmp_path / "faults.toml")
    assert (done.returncode, "no section [faults]" in done.stderr) == (2, True)
    assert cli("ctl", server.at, "stop").returncode == 0
    server.running.communicate(timeout=PATIENCE)
    assert server.running.returncode == 0
    done = cli("ctl", server.at, "stats")
    assert done.returncode == 2
    assert "expected the socket of a server" in done.stderr


def test_ctrl_c_ends_a_server_with_its_summary_and_its_files(serve, client_of, tmp_path):
    server = serve("--record", tmp_path / "trace", "--save", tmp_path / "saved")
    client_of(server)(1, 0, data=b"1" * 4096)
    server.running.send_signal(signal.SIGINT)
    out, said = server.running.communicate(timeout=PATIENCE)
    assert server.running.returncode == 130, said
    assert json.loads(out)["commands"]["write"] == 1
    assert (tmp_path / "trace").read_text().splitlines()[1].split()[5:10] == ["Q", "W", "0", "+", "8"]
    assert ssdlab.Device("tiny", load=tmp_path / "saved").read(0, 4096).data == b"1" * 4096
    assert not server.at.exists()


def test_tcp_of_the_loopback_serves_the_same_drive(serve, client_of):
    server = serve("--tcp", "0")
    told = ""
    while "127.0.0.1:" not in told:
        told = server.running.stderr.readline()
        assert told, "the server does not tell its port"
    port = told.rsplit(":", 1)[1].strip()
    client_of(server)(1, 0, data=b"1" * 4096)
    assert "Pattern verification failed" not in run("qemu-io", "-f", "raw", "-c", "read -P 0x31 0 4k", f"nbd://127.0.0.1:{port}")
    server.stop()
