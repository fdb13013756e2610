"""Progress on standard error, only on a terminal: simulated and wall time, and rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ssdlab.cell.pool import ProgressHook as WorkHook
from ssdlab.simulate import Progress, ProgressHook

_STAGES = {
    "precondition": "preconditioning",
    "run": "running",
    "lifetime": "wearing out",
    "shutdown": "shutting down",
    "save": "saving the drive",
}


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str], ProgressHook | None]]:
    """Gives a function that starts a named run's bar and returns its hook; ``None`` where none is shown."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=28), TextColumn("{task.fields[facts]}"))
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:

        def start(name: str) -> ProgressHook:
            task = bars.add_task(name, total=None, facts="")
            return _Rate(name, lambda **fields: bars.update(task, **fields)).report

        yield start


@contextmanager
def work_bar(name: str, quiet: bool = False) -> Iterator[WorkHook | None]:
    """Gives the hook of a piece of work in the laboratory, with its bar; ``None`` where none is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=28), TextColumn("{task.fields[facts]}"))
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(name, total=None, facts="")
        yield lambda share, facts: bars.update(task, total=None if share is None else 1.0, completed=share or 0.0, facts=facts)


class _Rate:
    """Turns progress into a bar: commands per second of wall time since the stage began."""

    def __init__(self, name: str, update: Callable[..., None]) -> None:
        self.name = name
        self.update = update
        self.stage = ""
        self.began = (0.0, 0)

    def report(self, progress: Progress) -> bool:
        """Shows how far the run has come."""
        from ssdlab.units import duration, scaled

        now = time.monotonic()
        if progress.stage != self.stage:
            self.stage, self.began = progress.stage, (now, progress.commands)
        elapsed = now - self.began[0]
        rate = (progress.commands - self.began[1]) / elapsed if elapsed > 0.5 else None
        facts = f"{duration(progress.simulated_ns, 3)} simulated"
        if rate is not None:
            facts += f" · {scaled(rate, 'commands/s', 3)}"
        self.update(
            description=f"{self.name}: {_STAGES.get(progress.stage, progress.stage)}",
            total=None if progress.fraction is None else 1.0,
            completed=progress.fraction or 0.0,
            facts=facts,
        )
        return True
