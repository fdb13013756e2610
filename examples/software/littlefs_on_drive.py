"""littlefs, unchanged, on a simulated drive: a block device of littlefs-python on an :class:`ssdlab.Device`."""

from __future__ import annotations

import littlefs

import ssdlab

#: Bytes of a block of the file system.
BLOCK = 4096


class DriveContext(littlefs.UserContext):
    """A block device for littlefs. `sync` is FLUSH; a block is not erased, since the drive does that itself."""

    def __init__(self, device: ssdlab.Device) -> None:
        self.device = device

    def read(self, cfg: littlefs.LFSConfig, block: int, off: int, size: int) -> bytes:
        return self.device.read(block * BLOCK + off, size).data

    def prog(self, cfg: littlefs.LFSConfig, block: int, off: int, data: bytes) -> int:
        self.device.write(block * BLOCK + off, bytes(data))
        return 0

    def erase(self, cfg: littlefs.LFSConfig, block: int) -> int:
        return 0

    def sync(self, cfg: littlefs.LFSConfig) -> int:
        self.device.flush()
        return 0


def mounted(device: ssdlab.Device, blocks: int = 256, *, is_new: bool = False) -> littlefs.LittleFS:
    """Mounts the file system of a device, which is formatted first if it is new."""
    sizes = {"read_size": 512, "prog_size": 512, "cache_size": BLOCK, "lookahead_size": 64}
    files = littlefs.LittleFS(DriveContext(device), mount=False, block_size=BLOCK, block_count=blocks, **sizes)
    if is_new:
        files.format()
    files.mount()
    return files
