"""A guest system on a simulated drive: Linux makes ext4 on its NVMe disk and writes files, and the power is cut.

    python examples/software/guest_on_drive.py KERNEL [DRIVE] [on|off]

KERNEL is a bootable Linux kernel for x86-64 with NVMe and ext4 built in (Debian: `vmlinuz` of linux-image-cloud-amd64).
QEMU (`qemu-system-x86_64`), `busybox` (static) and `mke2fs` must be installed. The guest writes one file after another,
each with `fsync`, and names it on its console. After some of them the drive loses power and the guest is killed. Then
it boots again on the drive, which has recovered, and compares every file that it had named.

The last argument is the write cache of QEMU's disk, `off` unless it is given. QEMU 7.2 passes no FUA on while it is on:
the commit block of ext4's journal then stays in the drive's write buffer, and the last file is lost.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ssdlab.serving import control

#: Longest time that a guest may take from its start to its end [s].
PATIENCE = 600.0
#: Files that the guest has named when the power is cut.
NAMED = 20
#: Accelerator of QEMU: its own emulation runs everywhere; `kvm` is faster.
ACCELERATOR = os.environ.get("ACCELERATOR", "tcg")
#: First process of the guest. It makes a file system or mounts one, and ends the guest by itself where it can.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /disk
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t devtmpfs none /dev
content() { /bin/busybox yes "contents of file $1" | /bin/busybox head -c $(( 4096 + 1000 * $1 % 50000 )); }
case "$(/bin/busybox cat /proc/cmdline)" in
*stage=write*)
    /bin/mke2fs -q -F -t ext4 /dev/nvme0n1 || echo "GUEST failed: mke2fs"
    /bin/busybox mount -t ext4 /dev/nvme0n1 /disk || echo "GUEST failed: mount"
    n=0
    while content $n | /bin/busybox dd of=/disk/file$n bs=4k conv=fsync 2>/dev/null; do
        echo "GUEST synced $n"
        n=$((n + 1))
    done
    echo "GUEST stopped at $n"
    ;;
*stage=check*)
    /bin/busybox mount -t ext4 /dev/nvme0n1 /disk || echo "GUEST failed: mount"
    for f in /disk/file*; do
        n=${f#/disk/file}
        if content $n | /bin/busybox cmp -s - $f; then echo "GUEST whole $n"; else echo "GUEST torn $n"; fi
    done
    /bin/busybox umount /disk
    echo "GUEST done"
    ;;
esac
/bin/busybox poweroff -f
"""


def libraries(program: str) -> list[str]:
    """Returns the libraries that a program needs, the loader included."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+)", listed)


def archive(files: dict[str, tuple[bytes, int]]) -> bytes:
    """Returns files by path, each with its content and mode, as an archive that a kernel boots from (cpio, newc)."""
    folders = sorted({str(parent) for name in files for parent in Path(name).parents if str(parent) != "."})
    entries = [(name, b"", 0o040755) for name in folders] + [(name, *entry) for name, entry in files.items()]
    out = io.BytesIO()
    for number, (name, content, mode) in enumerate([*entries, ("TRAILER!!!", b"", 0)], start=1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        out.write(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0")
        out.write(bytes(-out.tell() % 4))
        out.write(content)
        out.write(bytes(-out.tell() % 4))
    return out.getvalue()


def first_system() -> bytes:
    """Returns the archive with the guest's first process, `busybox` and `mke2fs`."""
    programs = {name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") for name in ("busybox", "mke2fs")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}")
    files = {"init": (INIT.encode(), 0o100755)}
    for name, path in programs.items():
        files[f"bin/{name}"] = (Path(str(path)).read_bytes(), 0o100755)
    for path in libraries(str(programs["mke2fs"])):
        files[path.lstrip("/")] = (Path(path).read_bytes(), 0o100755)
    return archive(files)


class Guest:
    """A virtual machine whose NVMe disk is a served drive."""

    def __init__(self, kernel: Path, system: Path, at: Path, stage: str, write_cache: str = "off") -> None:
        disk = f"driver=nbd,server.type=unix,server.path={at},node-name=disk"
        words = ["qemu-system-x86_64", "-machine", "q35", "-accel", ACCELERATOR, "-m", "256", "-nographic"]
        words += ["-no-reboot", "-nodefaults", "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(system)]
        words += ["-append", f"console=ttyS0 quiet panic=-1 rdinit=/init stage={stage}"]
        words += ["-blockdev", disk, "-device", f"nvme,serial=ssdlab,drive=disk,write-cache={write_cache}"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.running = subprocess.Popen(words, text=True, errors="replace", **pipes)
        #: Lines of its console.
        self.console: list[str] = []
        # A guest that hangs is ended, and with it its console.
        self._limit = threading.Timer(PATIENCE, self.running.kill)
        self._limit.daemon = True
        self._limit.start()

    def words(self) -> Iterator[list[str]]:
        """Yields what the first process says, until the guest has ended."""
        assert self.running.stdout is not None
        for line in self.running.stdout:
            self.console.append(line)
            if "GUEST " in line:
                yield line.split("GUEST ")[1].split()
        self.running.wait()

    def kill(self) -> None:
        """Ends the guest as a loss of power does."""
        self._limit.cancel()
        self.running.kill()
        self.running.communicate()


def cut_and_recover(
    kernel: Path, at: Path, folder: Path, named: int = NAMED, write_cache: str = "off"
) -> tuple[set[int], dict[int, str], dict]:
    """Boots a guest on a served drive, cuts the power after some files, and boots it again.

    Args:
        kernel: The kernel.
        at: Socket of the drive.
        folder: Folder for the archive of the guest.
        named: Files that the guest has named when the power is cut.
        write_cache: `on` or `off`: the write cache of QEMU's disk.

    Returns:
        The numbers of the files that the guest had named, the condition of each file that it found afterwards (`whole`
        or `torn`), and the answer to the cut.
    """
    system = folder / "guest.cpio"
    system.write_bytes(first_system())
    guest, synced, cut = Guest(kernel, system, at, "write", write_cache), set(), {}
    try:
        for word, *rest in guest.words():
            if word != "synced":
                raise RuntimeError(f"the guest {word} {' '.join(rest)}: {''.join(guest.console[-20:])}")
            synced.add(int(rest[0]))
            if len(synced) == named:
                cut = control(at, "power-cut", down="1s")
                break
    finally:
        guest.kill()
    if not cut:
        raise RuntimeError(f"the guest ended early: {''.join(guest.console[-20:])}")
    guest, found, is_done = Guest(kernel, system, at, "check", write_cache), {}, False
    try:
        for word, *rest in guest.words():
            if word in ("whole", "torn"):
                found[int(rest[0])] = word
            is_done |= word == "done"
    finally:
        guest.kill()
    if not is_done:
        raise RuntimeError(f"the guest did not come back: {''.join(guest.console[-20:])}")
    return synced, found, cut


def main() -> int:
    kernel, drive = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "tiny"
    write_cache = sys.argv[3] if len(sys.argv) > 3 else "off"
    with tempfile.TemporaryDirectory() as name:
        at = Path(name) / "s"
        buffer = ["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=10s"]
        sets = [word for one in buffer for word in ("--set", one)]
        words = [sys.executable, "-m", "ssdlab", "serve", drive, "--socket", str(at), "--json", *sets]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            while not Path(f"{at}.ctl").exists() and server.poll() is None:
                time.sleep(0.05)
            synced, found, cut = cut_and_recover(kernel, at, Path(name), write_cache=write_cache)
            control(at, "stop")
            summary = json.loads(server.communicate()[0])
        finally:
            server.kill()
    lost = {number for number in synced if found.get(number) != "whole"}
    requests = summary["server"]["requests"]
    print(f"{len(synced)} files synced before the cut, {len(found)} there after it, {len(lost)} lost")
    print(f"the cut: {json.dumps(cut)}")
    print(f"requests of both boots: {json.dumps(requests)}; simulated {summary['simulated_ns'] / 1e9:.3f} s")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
