"""One run of a sweep, in the process that does it."""

from __future__ import annotations

from typing import Any, cast

from ssdlab import policy_file
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore import rows
from ssdlab.explore.tasks import Task
from ssdlab.lifetimes import lifetime
from ssdlab.results import RunData
from ssdlab.runs import ProgressHook, RunOptions, result_of_run
from ssdlab.setups import Setups

__all__ = ["execute", "measure"]


def execute(
    task: Task,
    names: tuple[str, ...],
    setups: Setups,
    progress: ProgressHook | None = None,
    max_memory: int | None = None,
) -> dict[str, Any]:
    """Runs a task and returns what its row gets: status, error, times and numbers.

    Args:
        task: The task.
        names: Names of the numbers to keep.
        setups: Those of the process, whose runs share their starting states.
        progress: Called during the run, which ends when it returns ``False``.
        max_memory: Memory that the run may take [bytes]; absent: as for :func:`ssdlab.run`.
    """
    if task.error is not None or task.load is None:
        return {"status": "failed", "error": task.error}
    try:
        return measure(task, names, setups, progress, max_memory)
    except InputError as error:
        return {"status": "failed", "error": str(error)}
    except (OSError, MemoryError, ValueError, TypeError) as error:
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def measure(
    task: Task,
    names: tuple[str, ...],
    setups: Setups,
    progress: ProgressHook | None = None,
    max_memory: int | None = None,
) -> dict[str, Any]:
    """Runs a task, and the lifetime that follows it, if one is asked for; the arguments are those of :func:`execute`.

    Raises:
        InputError: the drive, the load or an option is invalid.
        OSError: a file cannot be read.
    """
    assert task.load is not None
    point, drive = task.point, Drive(*task.drive)
    state: dict[str, Any] = {} if point.precondition is None else {"precondition": point.precondition}
    policy = None if point.policy is None else policy_file.policy_of(point.policy)
    common: dict[str, Any] = {**state, "seed": task.seed, "set": task.settings, "max_memory": max_memory}
    options = cast(RunOptions, {**common, **task.options})
    result = result_of_run(RunData, drive, task.load.workload(), policy, setups=setups, progress=progress, options=options)
    wall_s, setup_s, summary = result.wall_s, result.setup_s, result.summary
    if task.life is not None:
        life = lifetime(drive, task.load.workload(), point.policy, session=setups, progress=progress, **{**common, **task.life})
        wall_s, setup_s = wall_s + life.wall_s, setup_s + life.setup_s
        summary = {**summary, "lifetime": life.report}
    return {"status": "ok", "error": None, "wall_s": wall_s, "setup_s": setup_s, **rows.numbers(summary, names)}
