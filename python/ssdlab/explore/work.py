"""One run of a sweep, in the process that does it."""

from __future__ import annotations

from typing import Any

from ssdlab import policy_file, simulate
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore import rows
from ssdlab.explore.tasks import Task
from ssdlab.lifetimes import lifetime
from ssdlab.sessions import Session

__all__ = ["execute", "measure"]


def execute(
    task: Task, names: tuple[str, ...], session: Session, progress: simulate.ProgressHook | None = None
) -> dict[str, Any]:
    """Runs a task and returns what its row gets: status, error, times and numbers.

    Args:
        task: The task.
        names: Names of the numbers to keep.
        session: Session of the process, whose runs share their starting states.
        progress: Called during the run, which ends when it returns ``False``.
    """
    if task.error is not None or task.load is None:
        return {"status": "failed", "error": task.error}
    try:
        return measure(task, names, session, progress)
    except InputError as error:
        return {"status": "failed", "error": str(error)}
    except (OSError, MemoryError, ValueError, TypeError) as error:
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"}


def measure(
    task: Task, names: tuple[str, ...], session: Session, progress: simulate.ProgressHook | None = None
) -> dict[str, Any]:
    """Runs a task, and the lifetime that follows it, if one is asked for; the arguments are those of :func:`execute`.

    Raises:
        InputError: the drive, the load or an option is invalid.
        OSError: a file cannot be read.
    """
    assert task.load is not None
    point, drive = task.point, Drive(*task.drive)
    state: dict[str, Any] = {} if point.precondition is None else {"precondition": point.precondition}
    policy = None if point.policy is None else policy_file.chosen(point.policy)
    common: dict[str, Any] = {"session": session, "progress": progress, "seed": task.seed, "set": task.settings}
    result = simulate.run(drive, task.load.workload(), policy, **common, **task.options, **state)
    wall_s, setup_s, summary = result.wall_s, result.setup_s, result.summary
    if task.life is not None:
        options: dict[str, Any] = {**state, **task.life}
        life = lifetime(drive, task.load.workload(), point.policy, **common, **options)
        wall_s, setup_s = wall_s + life.wall_s, setup_s + life.setup_s
        summary = {**summary, "lifetime": life.report}
    return {"status": "ok", "error": None, "wall_s": wall_s, "setup_s": setup_s, **rows.numbers(summary, names)}
