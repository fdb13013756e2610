"""Progress on standard error, if that is a terminal: simulated time, wall time and rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab.cli.console import remark
from ssdlab.files import size_so_far
from ssdlab.simulate import Progress, ProgressHook

if TYPE_CHECKING:
    from ssdlab.cell.pool import ProgressHook as WorkHook

_STAGES = {
    "foresee": "recording what is to come",
    "precondition": "preconditioning",
    "run": "running",
    "lifetime": "wearing out",
    "shutdown": "shutting down",
    "save": "saving the drive",
}


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str], ProgressHook | None]]:
    """Yields a function that starts the bar of a named run and returns its hook; ``None`` if no bar is shown."""
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
    """Yields the hook of a computation in the laboratory, which moves its bar; ``None`` if no bar is shown."""
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


#: Size from which a file that is still growing causes a remark [bytes].
LARGE_BYTES = 256 << 20


def watch_size(hook: ProgressHook | None, files: Sequence[Path], timeline: Path | None, quiet: bool) -> ProgressHook | None:
    """Returns a hook that calls `hook`, and remarks on each of the `files` of the run that becomes large."""
    if quiet or not files:
        return hook
    unremarked = list(files)
    next_look = 0.0

    def report(progress: Progress) -> bool | None:
        nonlocal next_look
        now = time.monotonic()
        if now >= next_look:
            next_look = now + 1.0
            for path in [path for path in unremarked if size_so_far(path) >= LARGE_BYTES]:
                unremarked.remove(path)
                hint = "; --timeline-from and --timeline-for write a part of it" if path == timeline else ""
                remark(f"{path}: {LARGE_BYTES >> 20} MiB after {progress.commands:,} commands, and growing{hint}")
        return None if hook is None else hook(progress)

    return report


class _Rate:
    """Progress of one run as a bar, with commands per second of wall time since the stage began."""

    def __init__(self, name: str, update: Callable[..., None]) -> None:
        self.name = name
        self.update = update
        self.stage = ""
        self.began = (0.0, 0)

    def report(self, progress: Progress) -> bool:
        """Shows the progress of the run."""
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
