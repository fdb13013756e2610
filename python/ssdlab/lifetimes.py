"""How long a drive lasts under a workload that is repeated."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssdlab import _engine, numbers
from ssdlab.drives import DriveLike, Settings
from ssdlab.errors import InputError, Interrupted, NotWrittenError
from ssdlab.files import FailedFiles, write_folder
from ssdlab.sessions import Session
from ssdlab.simulate import EngineHook, ProgressHook, call_engine
from ssdlab.workloads import WorkloadLike

if TYPE_CHECKING:
    from ssdlab._engine import LifetimeOutcome

__all__ = ["Lifetime", "lifetime"]

_FILES = ("drive.toml", "workload.toml", "lifetime.json")


class Lifetime:
    """How long a drive lasted: what the blocks, the host and the clock saw of it.

    The numbers of :attr:`report` are those of ``lifetime.json``; the properties name the ones most asked for.

    Examples:
        >>> lived = ssdlab.lifetime("tiny", "examples/trace.csv.gz", wear_limit=1)
        >>> lived
        <ssdlab.Lifetime tiny · examples/trace.csv.gz · baseline · full · complete>
        >>> lived.ended_by, lived.cycles_mean, lived.host_bytes_written
        ('mean_wear', 1.002, 131947520)
        >>> lived.report["passes"]
        25
    """

    def __init__(
        self, report_json: str, *, drive_toml: str, workload_toml: str, notes: tuple[str, ...] = (), setup_s: float = 0.0
    ) -> None:
        #: The text of ``lifetime.json``, as the engine wrote it.
        self.report_json = report_json
        #: The drive's complete description (TOML).
        self.drive_toml = drive_toml
        #: The workload as it was resolved (TOML).
        self.workload_toml = workload_toml
        #: What the user should know.
        self.notes = notes
        #: Wall-clock time of the set-up, in seconds.
        self.setup_s = setup_s

    @classmethod
    def from_engine(cls, lived: LifetimeOutcome) -> Lifetime:
        """From what the engine hands back."""
        return cls(
            lived.report_json,
            drive_toml=lived.drive_toml,
            workload_toml=lived.workload_toml,
            notes=tuple(lived.notes),
            setup_s=lived.setup_s,
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
        """What ended it: ``mean_wear``, ``first_block``, ``error_rate``, ``spare``, ``max_passes`` or ``time``."""
        ended_by: str | None = self.report["ended_by"]
        return ended_by

    @property
    def cycles_mean(self) -> float:
        """Program and erase cycles of a block at the end, on average, those before the run included."""
        return float(self.report["cycles_mean"])

    @property
    def max_pe_ratio(self) -> float:
        """Those cycles as a multiple of the wear limit: 1 where every erase is a nominal one."""
        return float(self.report["max_pe_ratio"])

    @property
    def host_bytes_written(self) -> int:
        """What the host wrote, in bytes."""
        return int(self.report["host_bytes_written"])

    @property
    def years(self) -> float:
        """Years that it takes the workload, with its idle times, to write that; of 365.25 days."""
        return float(self.report["years_at_workload_rate"])

    @property
    def write_amplification(self) -> float | None:
        """Units programmed, padding included, per unit written by the host."""
        amplification: float | None = self.report["write_amplification"]
        return amplification

    @property
    def wall_s(self) -> float:
        """Wall-clock time of the run, in seconds."""
        return float(self.report["wall_s"])

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


def lifetime(
    drive: DriveLike,
    workload: WorkloadLike,
    policy: str | None = None,
    *,
    set: Settings = (),
    seed: int = 1,
    precondition: str | None = None,
    load: str | PathLike[str] | None = None,
    save: str | PathLike[str] | None = None,
    until: str = "mean_wear",
    method: str = "full",
    wear_limit: float | None = None,
    retention: str | None = None,
    max_passes: int | None = None,
    intervals: int | None = None,
    round_cycles: float | None = None,
    agreement: float | None = None,
    session: Session | None = None,
    progress: ProgressHook | None = None,
) -> Lifetime:
    """Repeats `workload` on `drive` until the drive is worn out. The GIL is released while the engine runs.

    Args:
        drive: A preset's name, a description file, a :class:`~ssdlab.Drive`, or a dictionary of fields.
        workload: A trace, fio job or workload file, or a :class:`~ssdlab.Workload` with options. Each pass over a job
            file or a model is drawn anew.
        policy: The mode policy; the drive's own when absent.
        set: Fields of the drive to override, as ``{"flash.channels": 16}`` or ``["flash.channels=16"]``.
        seed: Seed of every random stream, 0 to 2**64 - 1.
        precondition: ``none``, ``fill``, ``random`` or ``steady``; the drive's own when absent.
        load: An aged drive to start from, saved by an earlier run.
        save: Where to save the worn-out drive; only of a full run.
        until: What ends the drive: ``mean_wear`` (its blocks are worn out on average), ``first_block`` (the first of
            them is), ``error_rate`` (in the first of them the code no longer corrects what was kept for `retention`) or
            ``spare`` (worn-out blocks are retired, and a die can spare no more).
        method: ``full``, erase by erase, or ``extrapolate``: a steady round in each interval of wear, added up.
        wear_limit: Effective wear at which a block is worn out, in nominal erases; the rated cycles when absent.
        retention: How long data must stay correctable, as ``"1y"``; for ``error_rate``. What the mode ``normal``
            promises when absent.
        max_passes: Passes after which a full run ends in any case.
        intervals: Parts of the rated endurance that are told apart; six when absent.
        round_cycles: Least mean cycles of a block in a round of extrapolation; four, or as many as 4,096 erases are,
            when absent.
        agreement: By which share two rounds in a row may differ, in wear per erase and in write amplification, and
            count as steady; 0.01 when absent.
        session: Runs of one session share what takes time to find out about a drive.
        progress: Called about ten times a second with a :class:`~ssdlab.Progress`; return ``False`` to stop.

    Raises:
        InputError: everything that is wrong with the input, one line each.
        Interrupted: Ctrl-C; the partial result is in its ``result``.
        NotWrittenError: the drive could not be saved; the result is in its ``result``.

    Examples:
        >>> worn = ssdlab.lifetime("tiny", "examples/trace.csv.gz", precondition="steady", wear_limit=5)
        >>> worn.ended_by, worn.cycles_mean, worn.write_amplification
        ('mean_wear', 5.008, 2.284)
    """
    if policy is not None and (not isinstance(policy, str) or ".py" in policy):
        # One life may take several drives, which are saved and loaded: a policy's object would have to be copied with
        # them.
        shown = policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)
        raise InputError(f"--policy {shown}: a lifetime runs under a policy that comes with ssdlab, not under one in Python")
    for name, number in (("--wear-limit", wear_limit), ("--round-cycles", round_cycles), ("--agreement", agreement)):
        if number is not None:
            numbers.finite(name, number)
    for name, count in (("--max-passes", max_passes), ("--intervals", intervals)):
        # The engine itself says what is too few.
        if count is not None and count > 0:
            numbers.whole(name, count, 63)
    request = {
        "policy": policy,
        "precondition": precondition,
        "until": until,
        "method": method,
        "wear_limit": wear_limit,
        "retention": retention,
        "max_passes": max_passes,
        "intervals": intervals,
        "round_cycles": round_cycles,
        "agreement": agreement,
    }
    shared = None if session is None else session.engine

    def call(request_json: str, paths: dict[str, Any], hook: EngineHook | None) -> _engine.LifetimeOutcome:
        return _engine.lifetime(request_json, paths, hook, shared)

    failed: FailedFiles = []
    lived = call_engine(
        call, request, drive, workload, set=set, seed=seed, load=load, save=save, failed=failed, progress=progress
    )
    result = Lifetime.from_engine(lived)
    if lived.interrupted:
        raise Interrupted(result, failed)
    if failed:
        raise NotWrittenError(failed, result)
    return result
