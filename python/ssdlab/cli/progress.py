"""Progress on standard error: share, simulated time, rate and time left; a bar on a terminal, else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab.cli.console import remark
from ssdlab.files import size_so_far
from ssdlab.plain import visible
from ssdlab.runs import Progress, ProgressHook
from ssdlab.units import count, duration, scaled

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from ssdlab.cell.pool import ProgressHook as WorkHook

_STAGES = {
    "foresee": "recording what is to come",
    "precondition": "preconditioning",
    "run": "running",
    "lifetime": "wearing out",
    "shutdown": "shutting down",
    "save": "saving the drive",
}


#: Wall time between two lines of progress where there is no terminal [s].
LINE_EVERY = 10.0


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str], ProgressHook | None]]:
    """Yields a function that starts the progress of a named run and returns its hook; ``None`` if none is shown.

    On a terminal the progress is a bar; elsewhere, a line on standard error every ten seconds.
    """
    if quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield lambda name: Lines(name, remark).report
        return
    # Start-up: rich, which only a terminal needs.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    title, facts = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[facts]}"))
    columns = (title, BarColumn(bar_width=28), facts)
    with Bars(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bars:
        yield lambda name: _Bar(name, bars).report


@contextmanager
def work_bar(name: str, quiet: bool = False) -> Iterator[WorkHook | None]:
    """Yields the hook of a computation in the laboratory, which moves its bar; ``None`` if no bar is shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    # Start-up: rich, which only a terminal needs.
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    title, facts = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[facts]}"))
    columns = (title, BarColumn(bar_width=28), facts)
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


class Stage:
    """Progress of a stage of a run in words: its share, simulated time, rate, and the wall time left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.name = ""
        self._began: tuple[float, int, float] = (0.0, 0, 0.0)
        self._commands = 0

    def enter(self, progress: Progress) -> bool:
        """Takes the progress of the run. Returns true if a new stage has begun: a run may measure in two parts."""
        is_new = progress.stage != self.name or progress.commands < self._commands
        if is_new:
            self.name = progress.stage
            self._began = (self.clock(), progress.commands, progress.fraction or 0.0)
        self._commands = progress.commands
        return is_new

    def title(self) -> str:
        """Returns the name of the stage for people."""
        return _STAGES.get(self.name, self.name)

    def facts(self, progress: Progress) -> str:
        """Returns what is known of the stage, with rate and time left once half a second has shown them."""
        began, commands, fraction = self._began
        elapsed = self.clock() - began
        facts = [] if progress.fraction is None else [f"{100 * progress.fraction:.0f} %"]
        if progress.simulated_ns or progress.fraction is None:
            facts.append(f"{duration(progress.simulated_ns, 3)} simulated")
        if progress.commands:
            facts.append(f"{count(progress.commands)} commands")
        if elapsed > 0.5 and progress.commands > commands:
            facts.append(scaled((progress.commands - commands) / elapsed, "commands/s", 3))
        if elapsed > 0.5 and progress.fraction is not None and progress.fraction > fraction:
            left = elapsed * (1.0 - progress.fraction) / (progress.fraction - fraction)
            facts.append(f"{clock_time(left)} left")
        return " · ".join(facts)


def clock_time(seconds: float) -> str:
    """Returns a span of wall time as ``1:05`` or ``2:00:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Lines:
    """Progress of a run as lines, one every ten seconds of wall time."""

    def __init__(self, name: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.say = say
        self.clock = clock
        self.stage = Stage(clock)
        self._next = clock() + LINE_EVERY

    def report(self, progress: Progress) -> bool:
        """Says the progress of the run, if it is time for a line."""
        self.stage.enter(progress)
        if self.clock() >= self._next:
            self._next = self.clock() + LINE_EVERY
            self.say(f"{self.name}: {self.stage.title()}: {self.stage.facts(progress)}")
        return True


class _Bar:
    """Progress of a run as a bar. Each stage has a bar of its own: one without a known share moves without it."""

    def __init__(self, name: str, bars: Bars) -> None:
        self.name = name
        self.bars = bars
        self.stage = Stage()
        self._task: TaskID | None = None

    def report(self, progress: Progress) -> bool:
        """Shows the progress of the run."""
        total = None if progress.fraction is None else 1.0
        if self.stage.enter(progress) or self._task is None:
            if self._task is not None:
                self.bars.remove_task(self._task)
            self._task = self.bars.add_task(f"{visible(self.name)}: {self.stage.title()}", total=total, facts="")
        self.bars.update(self._task, total=total, completed=progress.fraction or 0.0, facts=self.stage.facts(progress))
        return True
