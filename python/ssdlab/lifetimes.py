"""The lifetime of a drive under a workload that is repeated."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ssdlab import _engine, drives
from ssdlab._declared import LifeKeywords, LimitsKeywords, SavedDriveKeywords, SetupKeywords
from ssdlab.declared import checked, documented, sorted_by_group
from ssdlab.drives import Drive, DriveLike
from ssdlab.errors import InputError, Interrupted, NotWrittenError
from ssdlab.files import FailedFiles, write_folder
from ssdlab.provenance import original_workload
from ssdlab.runs import EngineHook, ProgressHook, call_engine
from ssdlab.setups import Setups, check_session
from ssdlab.words import in_own_words, with_argument_names
from ssdlab.workloads import Workload, WorkloadLike

if TYPE_CHECKING:
    from ssdlab._engine import LifetimeOutcome

__all__ = ["Lifetime", "lifetime"]

_FILES = ("drive.toml", "workload.toml", "lifetime.json")
#: Groups of options of a life.
_GROUPS = ("setup", "saved_drive", "life", "limits")


class Lifetime:
    """Lifetime of a drive, in cycles of its blocks, bytes written by the host, and years.

    The numbers of :attr:`report` are those of ``lifetime.json``; the properties are the most common of them.

    Examples:
        >>> lived = ssdlab.lifetime("tiny", "examples/trace.csv.gz", wear_limit=1)
        >>> lived
        <ssdlab.Lifetime tiny · examples/trace.csv.gz · baseline · full · complete>
        >>> lived.ended_by, lived.cycles_mean, lived.host_bytes_written
        ('mean_wear', 1.004, 131998208)
        >>> lived.report["passes"]
        25
    """

    def __init__(
        self, report_json: str, *, drive_toml: str, workload_toml: str, notes: tuple[str, ...] = (), setup_s: float = 0.0
    ) -> None:
        #: Text of ``lifetime.json``, as the engine wrote it.
        self.report_json = report_json
        #: Complete description of the drive (TOML).
        self.drive_toml = drive_toml
        #: Workload with every option resolved (TOML).
        self.workload_toml = workload_toml
        #: Notes for the user.
        self.notes = notes
        #: Wall-clock time of the set-up, in seconds.
        self.setup_s = setup_s

    @classmethod
    def from_engine(cls, outcome: LifetimeOutcome) -> Lifetime:
        """Returns the lifetime from an outcome of the engine."""
        return cls(
            outcome.report_json,
            drive_toml=outcome.drive_toml,
            workload_toml=outcome.workload_toml,
            notes=tuple(map(with_argument_names, outcome.notes)),
            setup_s=outcome.setup_s,
        )

    def __repr__(self) -> str:
        names = (self.report[name] for name in ("drive", "workload", "policy", "method", "status"))
        return f"<ssdlab.Lifetime {' · '.join(map(str, names))}>"

    @property
    def report(self) -> dict[str, Any]:
        """All of ``lifetime.json``."""
        return self._numbers

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        numbers: dict[str, Any] = json.loads(self.report_json)
        return numbers

    @property
    def status(self) -> str:
        """``complete``, or ``partial`` if the run was stopped."""
        return str(self.report["status"])

    @property
    def ended_by(self) -> str | None:
        """The end: ``mean_wear``, ``first_block``, ``error_rate``, ``spare``, ``max_passes`` or ``time``."""
        ended_by: str | None = self.report["ended_by"]
        return ended_by

    @property
    def cycles_mean(self) -> float:
        """Mean number of program and erase cycles of a block at the end, including those before the run."""
        return float(self.report["cycles_mean"])

    @property
    def max_pe_ratio(self) -> float:
        """Mean number of cycles divided by the wear limit: 1 if every erase is a nominal one."""
        return float(self.report["max_pe_ratio"])

    @property
    def host_bytes_written(self) -> int:
        """Number of bytes that the host wrote."""
        return int(self.report["host_bytes_written"])

    @property
    def years(self) -> float:
        """Years of 365.25 days in which the workload, with its idle times, writes these bytes."""
        return float(self.report["years_at_workload_rate"])

    @property
    def write_amplification(self) -> float | None:
        """Units programmed, padding included, per unit written by the host."""
        amplification: float | None = self.report["write_amplification"]
        return amplification

    @property
    def write_amplification_bytes(self) -> float | None:
        """Bytes programmed, padding included, per byte written by the host."""
        amplification: float | None = self.report["write_amplification_bytes"]
        return amplification

    @property
    def wall_s(self) -> float:
        """Wall-clock time of the run, in seconds."""
        return float(self.report["wall_s"])

    @in_own_words
    def save(self, folder: str | PathLike[str], *, force: bool = False) -> Path:
        """Writes a folder: ``lifetime.json``, ``drive.toml`` and ``workload.toml``.

        Raises:
            InputError: the folder is not empty (unless `force`, and ssdlab wrote all of it), or cannot be made.

        Examples:
            >>> folder = ssdlab.lifetime("tiny", "examples/trace.csv.gz", max_passes=2).save("life")
            >>> sorted(path.name for path in folder.iterdir())
            ['drive.toml', 'lifetime.json', 'manifest.json', 'workload.toml']
        """
        texts = (self.drive_toml, self.workload_toml, self.report_json)

        def write(path: Path) -> None:
            for name, text in zip(_FILES, texts, strict=True):
                (path / name).write_text(text, encoding="utf-8")

        return write_folder(Path(folder), "lifetime", write, force=force)


class LifetimeOptions(SetupKeywords, SavedDriveKeywords, LifeKeywords, LimitsKeywords, total=False):
    """Keyword arguments of :func:`lifetime`."""


@in_own_words
@documented(*_GROUPS)
def lifetime(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: str | None = None,
    *,
    session: Setups | None = None,
    progress: ProgressHook | None = None,
    **options: Unpack[LifetimeOptions],
) -> Lifetime:
    """Repeats `workload` on `drive` until the drive is worn out. The GIL is released while the engine runs.

    Only a full run can save its drive.

    Args:
        drive: A preset's name, a description file, a :class:`~ssdlab.Drive`, or a dictionary of fields.
        workload: A trace, fio job or workload file, or a :class:`~ssdlab.Workload` with options. Each pass over a job
            file or a model is drawn anew.
        policy: The mode policy; absent: the drive's own.
        **options: The options that the engine declares.
        session: Runs of one session share the results of their set-up.
        progress: Called about ten times a second with a :class:`~ssdlab.Progress`; return ``False`` to stop.

    Raises:
        InputError: the input is invalid; the message lists every problem, one line each.
        Interrupted: Ctrl-C; the partial result is in its ``result``.
        NotWrittenError: the drive could not be saved; the result is in its ``result``.

    Examples:
        >>> worn = ssdlab.lifetime("tiny", "examples/trace.csv.gz", precondition="steady", wear_limit=5)
        >>> worn.ended_by, worn.cycles_mean, worn.write_amplification
        ('mean_wear', 5.004, 2.315)
    """
    if policy is not None and (not isinstance(policy, str) or ".py" in policy):
        # One life may take several drives, which are saved and loaded: a policy's object would have to be copied with
        # them.
        shown = policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)
        raise InputError(f"--policy {shown}: a lifetime runs under a policy that comes with ssdlab, not under one in Python")
    asked = sorted_by_group("lifetime", options, *_GROUPS)
    check_session(session)
    asked["setup"]["policy"] = policy
    request = {"life": checked("life", asked["life"], lambda option: option.flag)}
    shared = None if session is None else session.engine

    def call(request_json: str, paths: dict[str, Any], hook: EngineHook | None) -> _engine.LifetimeOutcome:
        return _engine.lifetime(request_json, paths, hook, shared)

    failed: FailedFiles = []
    drives.check_places(drive, workload)
    stream = original_workload(Workload.open(workload))
    outcome = call_engine(call, request, Drive.open(drive), stream, asked, failed, progress)
    result = Lifetime.from_engine(outcome)
    if outcome.interrupted:
        raise Interrupted(result, failed)
    if failed:
        raise NotWrittenError(failed, result)
    return result
