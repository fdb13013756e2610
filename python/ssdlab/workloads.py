"""Workloads: traces, fio jobs, synthetic models, look-alikes; with the options that say how to read them."""

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
    """A workload, not yet read. What is left out takes the engine's default; nothing is silent."""

    #: A file: a trace (``.gz`` and ``.zst`` read in place), a fio job file, or a workload TOML.
    path: str | PathLike[str] | None = None
    #: The text of a fio job or of a workload TOML, instead of a file.
    text: str | None = None
    #: The trace's format; recognised from its content when absent.
    format: str | None = None
    #: Columns of a table of any format, as ``"time=1:us,op=4,offset=5:B,size=6:B"``.
    columns: str | None = None
    #: Addresses past the drive's end: ``wrap``, ``scale`` or ``compact`` them; an error when absent.
    address: str | None = None
    #: Where the devices of one trace lie: ``stack`` (one after the other) or ``overlay`` (all from byte 0).
    layout: str | None = None
    #: Which streams (devices, volumes) to keep, by label; all when absent.
    streams: Sequence[str] | None = None
    #: How many times faster than recorded: recorded times are divided by this.
    time_scale: float | None = None
    #: How many times the trace is played.
    repeat: int | None = None
    #: Which part of the trace is played: requests ``"1000..2000"`` or times ``"10s..20s"``, without the end.
    slice: str | None = None
    #: Pacing: ``open`` (at recorded times), ``gaps`` (at recorded gaps) or ``closed:DEPTH``.
    replay: str | None = None
    #: Refuse a trace whose time runs backwards at all.
    strict_time: bool | None = None
    #: Leave the commands of so long a time after the start out of the statistics, as ``"2w"``.
    ramp_time: str | None = None
    #: End after so many requests.
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
        """A workload from the text of a fio job or of a workload TOML."""
        return cls(text=text, **options)

    @classmethod
    def from_dict(cls, model: Mapping[str, object], **options: Any) -> Workload:
        """A workload from a dictionary with the fields of a workload TOML."""
        return cls(text=toml.document(model), **options)

    @classmethod
    def open(cls, workload: WorkloadLike) -> Workload:
        """A workload from a path or from what :meth:`from_dict` takes; a workload is returned as it is."""
        if isinstance(workload, Workload):
            return workload
        if isinstance(workload, Mapping):
            return cls.from_dict(workload)
        return cls(path=workload)

    @property
    def file(self) -> str | None:
        """The file's path, checked to be a file; ``None`` for a text.

        Raises:
            InputError: no such file, or not a file.
        """
        return None if self.path is None else existing_file(self.path)

    def trace_file(self) -> str:
        """The file's path, where a trace is expected.

        Raises:
            InputError: a text, no such file, or not a file.
        """
        file = self.file
        if file is None:
            raise InputError("a trace is a file, not a text")
        return file

    def options(self) -> dict[str, object]:
        """The options that were given."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("path", "text")}
        return {name: value for name, value in given.items() if value is not None}

    def options_json(self) -> str:
        """The options that were given, as the engine takes them."""
        return json.dumps(self.options())


#: What stands for a workload: a path, a :class:`Workload`, or a dictionary of a workload TOML's fields.
WorkloadLike: TypeAlias = str | PathLike[str] | Workload | Mapping[str, object]
