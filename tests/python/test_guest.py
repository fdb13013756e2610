"""A guest system on a served drive: it boots, writes files, loses power, and finds what it had synced."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from test_serve import BUFFERED, serve

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "software"))

import guest_on_drive as example  # noqa: E402

__all__ = ["serve"]

#: Folders of programs; those of the administrator among them.
SEARCHED = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def kernel() -> Path:
    """Returns a kernel with NVMe and ext4 built in; skips the test where there is none, or no QEMU."""
    missing = [name for name in ("qemu-system-x86_64", "busybox", "mke2fs") if not shutil.which(name, path=SEARCHED)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    given = [Path(name) for name in os.environ.get("SSDLAB_GUEST_KERNEL", "").split() if name]
    found = [*given, *(ROOT / "target" / "guest").glob("boot/vmlinuz-*"), *Path("/boot").glob("vmlinuz-*-cloud-amd64")]
    if not found:
        pytest.skip("no kernel for a guest: `make guest-kernel` fetches one, or SSDLAB_GUEST_KERNEL names one")
    return found[0]


def test_a_guest_finds_what_it_had_synced_before_the_power_was_cut(serve, tmp_path):
    image = kernel()
    server = serve(*BUFFERED)
    synced, found, cut = example.cut_and_recover(image, server.at, tmp_path, named=12)
    assert synced == set(range(12))
    assert {number: found.get(number) for number in synced} == dict.fromkeys(synced, "whole")
    # A file that was being written may be there in part; no other is there.
    assert {*found} - synced <= {12, 13}
    assert cut["durable_lost"] == 0
    summary = server.stop()
    assert summary["server"]["requests"]["flush"] > 12
    assert summary["server"]["requests_failed"] == cut["requests_failed"]
    assert summary["latency"]["write"]["count"] > 12


def test_a_guest_that_ends_early_is_an_error_with_its_console(serve, tmp_path, monkeypatch):
    image = kernel()
    monkeypatch.setattr(example, "INIT", "#!/bin/busybox sh\necho no disk here\n/bin/busybox poweroff -f\n")
    with pytest.raises(RuntimeError, match=r"(?s)the guest ended early: .*no disk here"):
        example.cut_and_recover(image, serve().at, tmp_path)


def test_a_guest_that_hangs_is_ended(serve, tmp_path, monkeypatch):
    image = kernel()
    monkeypatch.setattr(example, "PATIENCE", 0.5)
    with pytest.raises(RuntimeError, match="the guest ended early"):
        example.cut_and_recover(image, serve().at, tmp_path)
