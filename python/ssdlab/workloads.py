"""Workloads: traces, fio jobs, synthetic models and look-alikes, with options for reading and replaying them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, TypeAlias

from ssdlab import numbers, toml
from ssdlab.errors import InputError
from ssdlab.files import existing_file

__all__ = ["Workload", "WorkloadLike"]


@dataclass(frozen=True, slots=True)
class Workload:
    """Workload that has not been read yet. Options that are left out take the engine's defaults.

    Examples:
        >>> workload = ssdlab.Workload("examples/trace.csv.gz", replay="closed:4", max_requests=500)
        >>> ssdlab.run("tiny", workload).commands
        {'read': 22, 'write': 478, 'trim': 0, 'flush': 0}
    """

    #: File: a trace (``.gz`` and ``.zst`` are decompressed while reading), a fio job file, or a workload TOML.
    path: str | PathLike[str] | None = None
    #: Text of a fio job or of a workload TOML, instead of a file.
    text: str | None = None
    #: Format of the trace; ``None``: recognised from its content.
    format: str | None = None
    #: Columns of a table of any format, such as ``"time=1:us,op=4,offset=5:B,size=6:B"``.
    columns: str | None = None
    #: Treatment of addresses beyond the drive's capacity: ``wrap``, ``scale`` or ``compact``; ``None``: an error.
    address: str | None = None
    #: Placement of the devices of one trace: ``stack`` (one after the other) or ``overlay`` (all from byte 0).
    layout: str | None = None
    #: Labels of the streams (devices, volumes) to keep; ``None``: all.
    streams: Sequence[str] | None = None
    #: Factor by which recorded times are divided: 2 replays twice as fast as recorded.
    time_scale: float | None = None
    #: Number of times the trace is played.
    repeat: int | None = None
    #: Part of the trace that is played: requests ``"1000..2000"`` or times ``"10s..20s"``, without the end.
    slice: str | None = None
    #: Pacing: ``open`` (at recorded times), ``gaps`` (at recorded gaps after the previous submission) or
    #: ``closed:DEPTH``.
    replay: str | None = None
    #: True: any step back in time is an error.
    strict_time: bool | None = None
    #: Time from the start whose commands are left out of the statistics, such as ``"2w"``.
    ramp_time: str | None = None
    #: Maximum number of requests of one pass, after `streams` and `slice`.
    max_requests: int | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.text is None):
            raise InputError("workload: give either a path or a text")
        if isinstance(self.streams, str):
            raise InputError(f"streams: expected a list of labels, got the string {self.streams!r}")
        if self.time_scale is not None:
            numbers.finite("time_scale", self.time_scale)
        for name, count, bits in (("repeat", self.repeat, 32), ("max_requests", self.max_requests, 64)):
            if count is not None:
                numbers.whole(name, count, bits)

    @classmethod
    def from_text(cls, text: str, **options: Any) -> Workload:
        r"""Returns a workload from the text of a fio job or of a workload TOML.

        Examples:
            >>> job = ssdlab.Workload.from_text("[reads]\nrw=randread\nbs=4k\niodepth=8\nnumber_ios=1000")
            >>> ssdlab.run("tiny", job, precondition="fill").latency["read"].p50_ns / 1000
            107.7
        """
        return cls(text=text, **options)

    @classmethod
    def from_dict(cls, model: Mapping[str, object], **options: Any) -> Workload:
        """Returns a workload from a dictionary with the fields of a workload TOML.

        Examples:
            >>> job = {"name": "hot", "pattern": {"kind": "zipf", "theta": 0.9}, "read_share": 0.5}
            >>> job |= {"sizes": [{"size": "4KiB"}], "depth": 8, "requests": 1000}
            >>> workload = ssdlab.Workload.from_dict({"kind": "synthetic", "job": [job]})
            >>> ssdlab.run("tiny", workload, precondition="fill").commands
            {'read': 506, 'write': 494, 'trim': 0, 'flush': 0}
        """
        return cls(text=toml.document(model), **options)

    @classmethod
    def open(cls, workload: WorkloadLike) -> Workload:
        """Returns a workload from a path or a dictionary (:meth:`from_dict`); a workload is returned as it is.

        Examples:
            >>> ssdlab.Workload.open("examples/trace.csv.gz").path
            'examples/trace.csv.gz'
        """
        if isinstance(workload, Workload):
            return workload
        if isinstance(workload, Mapping):
            return cls.from_dict(workload)
        return cls(path=workload)

    @property
    def file(self) -> str | None:
        """Path of the file, checked to be a readable file; ``None`` for a text.

        Raises:
            InputError: there is no such file, or it is not a file.
        """
        return None if self.path is None else existing_file(self.path)

    def trace_file(self) -> str:
        r"""Returns the path of the file, where a trace is expected.

        Raises:
            InputError: the workload is a text, or there is no such file, or it is not a file.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz").trace_file()
            'examples/trace.csv.gz'
            >>> ssdlab.Workload.from_text("[job]\nrw=read").trace_file()
            Traceback (most recent call last):
            ssdlab.InputError: a trace is a file, not a text
        """
        file = self.file
        if file is None:
            raise InputError("a trace is a file, not a text")
        return file

    def options(self) -> dict[str, object]:
        """Returns the options that were given.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz", address="wrap", repeat=2).options()
            {'address': 'wrap', 'repeat': 2}
        """
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("path", "text")}
        return {name: value for name, value in given.items() if value is not None}

    def options_json(self) -> str:
        """Returns the options that were given as JSON text, as the engine takes them.

        Examples:
            >>> ssdlab.Workload("examples/trace.csv.gz", address="wrap", repeat=2).options_json()
            '{"address": "wrap", "repeat": 2}'
        """
        return json.dumps(self.options())


#: Workload as an argument: a path, a :class:`Workload`, or a dictionary with the fields of a workload TOML.
WorkloadLike: TypeAlias = str | PathLike[str] | Workload | Mapping[str, object]
