"""One run of a sweep, in the process that does it."""

from __future__ import annotations

from typing import Any

from ssdlab import policy_file, simulate
from ssdlab.drives import Drive
from ssdlab.errors import InputError
from ssdlab.explore import rows
from ssdlab.explore.tasks import Task
from ssdlab.sessions import Session

__all__ = ["execute"]


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
    point = task.point
    options = {**task.options, **({} if point.precondition is None else {"precondition": point.precondition})}
    try:
        policy = None if point.policy is None else policy_file.chosen(point.policy)
        result = simulate.run(
            Drive(*task.drive),
            task.load.workload(),
            policy,
            session=session,
            progress=progress,
            seed=task.seed,
            set=task.settings,
            **options,
        )
    except InputError as error:
        return {"status": "failed", "error": str(error)}
    except (OSError, MemoryError, ValueError, TypeError) as error:
        return {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    found = rows.numbers(result.summary, names)
    return {"status": "ok", "error": None, "wall_s": result.wall_s, "setup_s": result.setup_s, **found}
