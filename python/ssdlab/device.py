"""Devices: drives with contents, which a program reads and writes in simulated time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab import _engine
from ssdlab._engine import Answer, DeviceError, PowerLossError
from ssdlab.drives import Drive, DriveLike, Settings, setting_lines
from ssdlab.errors import InputError
from ssdlab.files import check_new_file, new_file
from ssdlab.memory import limit_bytes

__all__ = ["Answer", "Device", "DeviceError", "PowerLossError"]

#: Request of a batch: ``("read", offset, length)``, ``("write", offset, data)``, ``("durable_write", offset, data)``,
#: ``("flush",)`` or ``("trim", offset, length)``.
Request: TypeAlias = Sequence[Any]
#: Function that looks at a device after a loss of power; what it returns does not matter.
Look: TypeAlias = Callable[["Device", dict[str, int]], object]


class Device:
    r"""A drive that holds contents, for a program that waits for each of its calls.

    The drive's clock stands still between two calls. A call submits its commands, lets simulated time pass until the
    last of them has completed, and returns what was read, the simulated latency and its causes. The program's own time
    passes by :meth:`spend`, and by `call` before each call. The same calls give the same bytes, latencies and causes.

    Contents are where the medium has them: what is read is what is at the place to which the drive's map points, and
    after a loss of power (:meth:`cut`, :meth:`recover`) it is what the drive has found. Equal units are kept once,
    units of zeroes not at all. What the starting state has written is zeroes.

    Args:
        drive: The drive: a preset, a file, a :class:`Drive` or a dictionary. It must have a page map.
        set: Fields to override, as for :func:`ssdlab.run`.
        policy: Mode policy in place of the description's.
        seed: Seed of all random streams.
        precondition: Starting state in place of the description's.
        call: Time of the program before each call: a duration such as ``"2us"``, or a number of nanoseconds.
        max_memory: Most memory for the contents: a size, or a share of what is free; absent: ``90%``.
        contents_folder: Folder of a file without a name for the contents, in place of memory; `max_memory` is then most
            space of the folder.
        load: Drive with contents to start from, which :meth:`save` or a server has saved.

    Raises:
        InputError: the drive is invalid, or has no page map; or the saved drive has no contents, or is not one.

    Examples:
        >>> device = ssdlab.Device("tiny", set={"buffer.policy": "none"})
        >>> device.write(8192, b"written" + bytes(505))
        <ssdlab.Answer: 603775 ns, 0 bytes>
        >>> answer = device.read(8192, 512)
        >>> answer.data[:7], answer.latency_ns
        (b'written', 53704)
        >>> sum(answer.causes.values()) == answer.latency_ns
        True
    """

    def __init__(
        self,
        drive: DriveLike,
        *,
        set: Settings = (),
        policy: str | None = None,
        seed: int = 1,
        precondition: str | None = None,
        call: str | int = 0,
        max_memory: str | int | None = None,
        contents_folder: str | PathLike[str] | None = None,
        load: str | PathLike[str] | None = None,
    ) -> None:
        of_drive = made(
            drive,
            set=set,
            policy=policy,
            seed=seed,
            precondition=precondition,
            load=load,
            max_memory=max_memory,
            contents_folder=contents_folder,
        )
        self._device = _engine.Device(of_drive, call)
        self._name = of_drive["name"]

    def __repr__(self) -> str:
        return f"<ssdlab.Device {self._name}>"

    @property
    def user_bytes(self) -> int:
        """User capacity [bytes]."""
        return self._device.user_bytes

    @property
    def now(self) -> int:
        """Simulated time [ns]."""
        return self._device.now

    @property
    def contents_bytes(self) -> tuple[int, int]:
        """Bytes of the contents that are kept, and of the tables beside them."""
        return self._device.contents_bytes

    def read(self, offset: int, length: int) -> Answer:
        """Reads `length` bytes from `offset` on, both multiples of the logical block.

        Raises:
            InputError: the range is not in the drive, or not of whole blocks.
            DeviceError: data is lost.
            PowerLossError: the power is cut.

        Examples:
            >>> ssdlab.Device("tiny").read(4096, 512).data == bytes(512)
            True
        """
        return self._device.read(offset, length)

    def write(self, offset: int, data: bytes | bytearray | memoryview, *, durable: bool = False) -> Answer:
        """Writes `data` from `offset` on. `durable`: it completes only once the data is durable (FUA).

        Raises:
            InputError: the range is not in the drive, or not of whole blocks.
            DeviceError: the drive has become read-only, or its contents would take more than their limit.
            PowerLossError: the power is cut.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> device.write(4096, b"x" * 512, durable=True).status
            0
        """
        return self._device.write(offset, bytes(data), durable)

    def flush(self) -> Answer:
        """Makes all data durable that was written before.

        Raises:
            PowerLossError: the power is cut.

        Examples:
            >>> ssdlab.Device("tiny").flush().data
            b''
        """
        return self._device.flush()

    def trim(self, offset: int, length: int) -> Answer:
        """Deallocates the whole mapping units of a range, which are zeroes from then on.

        Raises:
            InputError: the range is not in the drive, or not of whole blocks.
            PowerLossError: the power is cut.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> _ = device.write(0, b"x" * 4096), device.trim(0, 4096)
            >>> device.read(0, 1024).data == bytes(1024)
            True
        """
        return self._device.trim(offset, length)

    def batch(self, requests: Iterable[Request]) -> list[Answer]:
        r"""Submits several requests at one instant, and waits for all. They may be served in any order.

        A request is ``("read", offset, length)``, ``("write", offset, data)``, ``("durable_write", offset, data)``,
        ``("flush",)`` or ``("trim", offset, length)``. The answers are in the order of the requests; the status of one
        that failed is not 0. If a request is not valid, none is served.

        Raises:
            InputError: a request is not valid.
            DeviceError: the contents would take more than their limit.
            PowerLossError: the power is cut.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> writes = [("write", 4096 * n, bytes([n]) * 4096) for n in range(4)]
            >>> answers = device.batch(writes)
            >>> device.read(4096, 4096).data == bytes([1]) * 4096
            True
        """
        return self._device.batch([_request(request) for request in requests])

    def spend(self, time: str | int) -> None:
        """Lets the program's own time pass: a duration such as ``"2ms"``, or a number of nanoseconds.

        Raises:
            InputError: it is no duration.
            PowerLossError: the power is cut, or was within this time.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> device.spend("1ms")
            >>> device.now
            1000000
        """
        self._device.spend(time)

    def cut(self, after_events: int = 0) -> None:
        """Cuts the power: now, or once the drive has handled this number of further events.

        The call in which that happens fails with :class:`PowerLossError`, as do all others until :meth:`recover`.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> device.cut()
            >>> device.flush()
            Traceback (most recent call last):
            ssdlab.PowerLossError: [Errno 19] the drive has lost power: expected that it recovers first
        """
        self._device.cut(after_events)

    def recover(self, down: str | int = "1s") -> dict[str, int]:
        """Brings power back after the time `down`, and cuts it first if it is not cut. The drive recovers.

        Returns ``recovery_ns``, ``recovery_reads``, ``durable_lost``, ``volatile_lost`` and ``torn_pages``, as
        ``power_failure`` in ``summary.json`` has them.

        Examples:
            >>> device = ssdlab.Device("tiny", set={"buffer.policy": "none"})
            >>> _ = device.write(0, b"1" * 4096)
            >>> device.cut(after_events=1)
            >>> device.write(0, b"2" * 4096)
            Traceback (most recent call last):
            ssdlab.PowerLossError: [Errno 19] the drive has lost power: expected that it recovers first
            >>> device.recover()["durable_lost"], device.read(0, 4096).data[:1]
            (0, b'1')
        """
        return self._device.recover(down)

    def watch(self, look: Look | None, every: int = 1, down: str | int = "1s") -> None:
        r"""Has `look` called after each `every` events with what becomes of the device if it loses power there.

        `look` takes a :class:`Device` that has recovered after the time `down`, and the figures of :meth:`recover`.
        This device goes on. An exception of `look` ends the watch, and the call raises it once its commands are
        complete. ``None`` ends the watch.

        Raises:
            InputError: `every` is 0, or `down` is no duration; the drive has capacitors; its contents are in a file.

        Examples:
            >>> device = ssdlab.Device("tiny", set={"buffer.policy": "none"})
            >>> found = []
            >>> device.watch(lambda other, recovery: found.append(other.read(0, 512).data[:1]))
            >>> _ = device.write(0, b"1" * 4096)
            >>> found[0], found[-1]
            (b'\x00', b'1')
        """
        if look is None:
            return self._device.watch(None, 1, 0)
        asked = look
        return self._device.watch(lambda other, recovery: asked(Device._of(other, self._name), recovery), every, down)

    @classmethod
    def _of(cls, device: _engine.Device, name: str) -> Device:
        other = cls.__new__(cls)
        other._device, other._name = device, name
        return other

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Saves the drive with its contents in a file, and returns its path. The write buffer is flushed first.

        Raises:
            InputError: there is a file, and `force` is not set.
            PowerLossError: the power is cut.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> _ = device.write(0, b"kept" * 1024)
            >>> saved = device.save("drive.ssdlab")
            >>> ssdlab.Device("tiny", load=saved).read(0, 512).data[:8]
            b'keptkept'
        """
        target = check_new_file(Path(path), force)
        with new_file(target) as beside:
            self._device.save(beside)
        return target

    def summary(self) -> dict[str, Any]:
        """Returns the summary of all calls so far, as ``summary.json`` of a run has it.

        Examples:
            >>> device = ssdlab.Device("tiny")
            >>> _ = device.read(0, 4096)
            >>> device.summary()["commands"]["read"]
            1
        """
        found: dict[str, Any] = json.loads(self._device.summary())
        return found


def made(
    drive: DriveLike,
    *,
    set: Settings,
    policy: str | None,
    seed: int,
    precondition: str | None,
    load: str | PathLike[str] | None,
    max_memory: str | int | None,
    contents_folder: str | PathLike[str] | None,
) -> dict[str, Any]:
    """Returns a drive with contents and its starting state as the engine takes them.

    Raises:
        InputError: a drive or a limit is invalid, or there is no such folder.
    """
    source = Drive.open(drive)
    return {
        "name": source.name,
        "text": source.text,
        "sets": setting_lines(set),
        "seed": seed,
        "policy": policy,
        "precondition": precondition,
        "load": None if load is None else Path(load),
        "limit": limit_bytes(max_memory, None if contents_folder is None else _free_space(contents_folder)),
        "contents_folder": contents_folder,
    }


def _free_space(folder: str | PathLike[str]) -> int:
    """Returns the free space of a folder [bytes]."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError(f"{fspath(folder)}: {error.strerror}: expected a folder for the contents") from None


def _request(request: Request) -> tuple[str, int, int, bytes]:
    """Returns a request of a batch as the engine takes it."""
    match tuple(request):
        case ("flush",):
            return "flush", 0, 0, b""
        case (("read" | "trim") as kind, int(offset), int(length)):
            return kind, offset, length, b""
        case (("write" | "durable_write") as kind, int(offset), data):
            return kind, offset, 0, bytes(data)
    expected = '("read", offset, length), ("write", offset, data), ("durable_write", offset, data), ("flush",)'
    expected += ' or ("trim", offset, length)'
    raise InputError(f"batch: {request!r}: expected {expected}")
