"""SQLite, unchanged, on a simulated drive: a VFS (apsw) whose files are areas of an :class:`ssdlab.Device`.

    python examples/software/sqlite_on_drive.py [COMMITS]

runs commits of a small ledger and prints where the milliseconds of a commit go. `fsync` is FLUSH; the processor's time
between two calls is the device's `call`.
"""

from __future__ import annotations

import struct
import sys

import apsw

import ssdlab

#: Bytes of a logical block, and of the head of an area: magic, whether the file exists, its size.
BLOCK = 4096
HEAD = struct.Struct("<8s?Q")
MAGIC = b"ssdlabfs"
#: Files of a database by the ending of their names, each in an area of the device.
ENDINGS = ("", "-journal", "-wal")


class Area:
    """A file in a part of a device: one block of head, and its bytes."""

    def __init__(self, device: ssdlab.Device, first: int, bytes_: int) -> None:
        self.device, self.first, self.bytes = device, first, bytes_
        head = device.read(first, BLOCK).data
        magic, self.exists, self.size = HEAD.unpack_from(head)
        if magic != MAGIC:
            self.exists, self.size = False, 0
        self.is_head_new = False

    def create(self) -> None:
        if not self.exists:
            self.exists, self.size = True, 0
            self.write_head()

    def delete(self, durable: bool) -> None:
        self.exists, self.size = False, 0
        self.write_head()
        if durable:
            self.device.flush()

    def write_head(self) -> None:
        head = HEAD.pack(MAGIC, self.exists, self.size)
        self.device.write(self.first, head + bytes(BLOCK - len(head)))
        self.is_head_new = False

    def read(self, amount: int, offset: int) -> bytes:
        amount = max(0, min(amount, self.size - offset))
        if amount == 0:
            return b""
        begin, end = offset // BLOCK * BLOCK, -(-(offset + amount) // BLOCK) * BLOCK
        data = self.device.read(self.first + BLOCK + begin, end - begin).data
        return data[offset - begin : offset - begin + amount]

    def write(self, data: bytes, offset: int) -> None:
        end = offset + len(data)
        if end > self.bytes - BLOCK:
            raise apsw.FullError
        begin, stop = offset // BLOCK * BLOCK, -(-end // BLOCK) * BLOCK
        if (offset, end) != (begin, stop):
            old = bytearray(self.device.read(self.first + BLOCK + begin, stop - begin).data)
            old[offset - begin : end - begin] = data
            data = bytes(old)
        self.device.write(self.first + BLOCK + begin, data)
        if end > self.size:
            self.size, self.is_head_new = end, True

    def truncate(self, size: int) -> None:
        if size != self.size:
            self.size, self.is_head_new = size, True

    def sync(self) -> None:
        """Makes data and size durable: the size first on its way, as it counts only with the flush."""
        if self.is_head_new:
            self.write_head()
        self.device.flush()


class DriveVFS(apsw.VFS):
    """A file system of three files for SQLite, on a device."""

    def __init__(self, device: ssdlab.Device, name: str = "ssdlab") -> None:
        self.device = device
        share = device.user_bytes // len(ENDINGS) // BLOCK * BLOCK
        self.areas = {ending: Area(device, index * share, share) for index, ending in enumerate(ENDINGS)}
        super().__init__(name, base="")

    def area(self, path: str) -> Area:
        ending = next((ending for ending in ENDINGS[1:] if path.endswith(ending)), "")
        return self.areas[ending]

    def xAccess(self, pathname: str, flags: int) -> bool:
        return self.area(pathname).exists

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.area(filename).delete(syncdir)

    def xFullPathname(self, name: str) -> str:
        return name

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> DriveFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        area = self.area(path)
        if flags[0] & apsw.SQLITE_OPEN_CREATE:
            area.create()
        elif not area.exists:
            raise apsw.CantOpenError
        flags[1] = flags[0]
        return DriveFile(area)


class DriveFile:
    """An open file: what SQLite calls. There is one process, so that locks are always had."""

    def __init__(self, area: Area) -> None:
        self.area = area

    def xRead(self, amount: int, offset: int) -> bytes:
        return self.area.read(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.area.write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self.area.truncate(newsize)

    def xSync(self, flags: int) -> None:
        self.area.sync()

    def xFileSize(self) -> int:
        return self.area.size

    def xSectorSize(self) -> int:
        return BLOCK

    def xDeviceCharacteristics(self) -> int:
        # A write of a block is atomic on a drive that never tears one; SQLite is told of nothing that it could lean on.
        return 0

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:
        return False

    def xClose(self) -> None:
        pass


def opened(device: ssdlab.Device, journal: str, name: str = "ssdlab") -> tuple[apsw.Connection, DriveVFS]:
    """Opens the database of a device, with a journal mode: DELETE or WAL."""
    vfs = DriveVFS(device, name)
    connection = apsw.Connection("ledger.db", vfs=name)
    # Without shared memory, which a VFS in Python does not have, the log has one reader.
    connection.pragma("locking_mode", "exclusive")
    connection.pragma("journal_mode", journal)
    connection.pragma("synchronous", "full")
    return connection, vfs


def commit(connection: apsw.Connection, number: int) -> None:
    """A transaction in the manner of TPC-B: an account changes, and a line of the history says so."""
    with connection:
        connection.execute("update account set balance = balance + 1 where id = ?", (number % 100,))
        connection.execute("insert into history values (?, ?)", (number, f"commit {number}" * 8))


def commits_in(device: ssdlab.Device, journal: str, name: str) -> int:
    """Opens the database of a device that has recovered, and returns the number of its commits.

    Raises:
        AssertionError: the database is damaged, or a commit is there in part, or without those before it.
    """
    connection, vfs = opened(device, journal, name)
    try:
        assert connection.pragma("integrity_check") == "ok"
        found, last = connection.execute("select count(*), max(number) + 1 from history").get
        balance = connection.execute("select sum(balance) from account").get
        assert found == (last or 0) == balance, f"{found} lines, the last {last}, sum {balance}"
    finally:
        connection.close()
        vfs.unregister()
    return int(found)


def create(connection: apsw.Connection) -> None:
    """Creates the tables, if they are not there."""
    with connection:
        connection.execute("create table if not exists account (id integer primary key, balance integer)")
        connection.execute("create table if not exists history (number integer primary key, text text)")
        connection.executemany("insert or ignore into account values (?, 0)", [(number,) for number in range(100)])


def main(commits: int) -> None:
    for journal in ("delete", "wal"):
        device = ssdlab.Device(
            "tiny", set={"buffer.policy": "write_back", "buffer.capacity": "1MiB", "buffer.flush_after": "1ms"}, call="5us"
        )
        connection, _ = opened(device, journal)
        create(connection)
        begin, times = device.now, []
        for number in range(commits):
            at = device.now
            commit(connection, number)
            times.append(device.now - at)
        times.sort()
        summary = device.summary()
        print(f"{journal}: {commits / (device.now - begin) * 1e9:.0f} commits/s, median {times[commits // 2] / 1e6:.2f} ms,")
        print(f"  99 % {times[commits * 99 // 100] / 1e6:.2f} ms; write amplification {summary['write_amplification']:.2f}")
        connection.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
