"""Processes of this machine that do the runs of a sweep.

Runs with the same starting state share it: the first makes it and writes it to a temporary file, and the others read
it, in whichever process they are. Where that cannot be, a process keeps the states that it has made in memory, and runs
with the same state go to one process if possible. No more runs are under way at once than fit into memory. A process
that ends without an answer fails its run, and is replaced.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias

from ssdlab.explore.tasks import Task
from ssdlab.memory import limit_bytes

__all__ = ["Pool"]

#: Number of times that a run is begun whose process dies.
_ATTEMPTS = 2


#: Takes a run and its outcome; returns the runs to be done further, if any.
Done: TypeAlias = Callable[[Task, dict[str, Any]], Iterable[Task] | None]


@dataclass(slots=True)
class _Worker:
    """A process, and the run that it does."""

    process: subprocess.Popen[bytes]
    connection: Connection
    task: Task | None = None
    group: str = ""
    #: Memory that the run may take [bytes].
    allowance: int = 0
    #: True once the process has said that it works.
    is_ready: bool = False


class _Folders:
    """Temporary folders of the states that runs share, one for each group of runs."""

    def __init__(self) -> None:
        self.root: Path | None = None
        self.folders: dict[str, Path] = {}
        #: Number of runs of each group that have not ended.
        self.left: Counter[str] = Counter()

    def folder_for(self, task: Task) -> Path | None:
        """Returns the folder for a run that begins now; ``None`` if no other run needs its state, or has no room."""
        group = task.group
        if group not in self.folders and self.left[group] > 1:
            with suppress(OSError):  # a full disk: each process makes the state
                self.root = self.root or Path(tempfile.mkdtemp(prefix="ssdlab-states-"))
                # The file is smaller than the run's tables.
                if shutil.disk_usage(self.root).free > 2 * task.memory:
                    self.folders[group] = Path(tempfile.mkdtemp(dir=self.root))
        return self.folders.get(group)

    def end_run(self, group: str) -> None:
        """Removes the folder of a group with its last run."""
        self.left[group] -= 1
        if self.left[group] == 0 and (folder := self.folders.pop(group, None)):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Removes all folders."""
        if self.root is not None:
            shutil.rmtree(self.root, ignore_errors=True)
        self.root = None
        self.folders.clear()


class Pool:
    """Processes that do runs."""

    def __init__(self, jobs: int, names: tuple[str, ...], memory: str | int | None = None) -> None:
        """Makes a pool, whose processes start when they are needed.

        Args:
            jobs: Largest number of processes.
            names: Names of the numbers that are kept of each run.
            memory: Memory that all runs under way may take, as for :func:`ssdlab.memory.limit_bytes`.
        """
        self.jobs = jobs
        self.names = names
        self.memory = limit_bytes(memory)
        self.workers: list[_Worker] = []
        self.folders = _Folders()

    def run(self, tasks: Iterable[Task], done: Done) -> None:
        """Does runs, and calls `done` with each and its outcome, in the order in which they end.

        Runs that `done` returns are done, too.

        Raises:
            OSError: a process ended before it could do anything.
        """
        groups: dict[str, deque[Task]] = {}
        for task in tasks:
            self._add(task, groups)
        attempts: dict[str, int] = {}
        try:
            while any(groups.values()) or any(worker.task for worker in self.workers):
                self._begin(groups)
                busy = [worker for worker in self.workers if worker.task is not None]
                ready = wait([worker.connection for worker in busy])
                ended = [self._end(worker, groups, attempts) for worker in busy if worker.connection in ready]
                # No process waits while outcomes are kept.
                self._begin(groups)
                for task, outcome in filter(None, ended):
                    for more in done(task, outcome) or ():
                        self._add(more, groups)
                    self.folders.end_run(task.group)
        finally:
            self.close()

    def _add(self, task: Task, groups: dict[str, deque[Task]]) -> None:
        groups.setdefault(task.group, deque()).append(task)
        self.folders.left[task.group] += 1

    def _begin(self, groups: dict[str, deque[Task]]) -> None:
        """Gives runs to idle processes, as far as memory allows."""
        while any(groups.values()):
            idle = [worker for worker in self.workers if worker.task is None]
            if not idle and len(self.workers) >= self.jobs:
                return
            taken = {worker.group for worker in self.workers if worker.task is not None}
            worker = idle[0] if idle else self._start()
            group = self._next_group(groups, worker.group, taken)
            allowance = self._allowance(groups[group][0])
            if allowance is None:
                if not idle:
                    self.workers.append(worker)
                return
            if not idle:
                self.workers.append(worker)
            worker.task, worker.group, worker.allowance = groups[group].popleft(), group, allowance
            folder = self.folders.folder_for(worker.task)
            if not groups[group]:
                del groups[group]
            _send(worker.connection, (worker.task, folder, allowance))

    def _allowance(self, task: Task) -> int | None:
        """Returns the memory that a run may take beside those under way; ``None`` if it needs more than they leave."""
        taken = [worker.allowance for worker in self.workers if worker.task is not None]
        left = self.memory - sum(taken)
        if taken and task.memory > left:
            return None
        return max(min(task.memory, left), min(self.memory // max(self.jobs, 1), left))

    def _next_group(self, groups: dict[str, deque[Task]], own: str, taken: set[str]) -> str:
        """Returns the group of the next run of a process: its own, or one that no other is at, or the largest."""
        if own in groups:
            return own
        free = [group for group in groups if group not in taken]
        return free[0] if free else max(groups, key=lambda group: len(groups[group]))

    def _start(self) -> _Worker:
        # A program of its own: the processes of `multiprocessing` begin with the user's script.
        ours, theirs = socket.socketpair()
        # The rest is for the drives themselves.
        limit = self.memory // max(self.jobs, 1) // 2
        code = f"from ssdlab.explore.pool import work; work({theirs.fileno()})"
        path = os.pathsep.join(entry for entry in sys.path if entry)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
            )
        connection = Connection(ours.detach())
        _send(connection, (self.names, limit))
        return _Worker(process, connection)

    def _end(
        self,
        worker: _Worker,
        groups: dict[str, deque[Task]],
        attempts: dict[str, int],
    ) -> tuple[Task, dict[str, Any]] | None:
        """Takes the outcome of a run, or replaces a process that has died.

        Returns:
            The run and its outcome; ``None`` if it has not ended.
        """
        task = worker.task
        assert task is not None
        try:
            outcome: dict[str, Any] | None = worker.connection.recv()
        except (EOFError, OSError):
            worker.task = None
            self.workers.remove(worker)
            code = worker.process.wait()
            worker.connection.close()
            if not worker.is_ready:
                raise OSError(f"a process of the sweep ended before it could run anything ({_ending_text(code)})") from None
            attempts[task.key] = attempts.get(task.key, 0) + 1
            if attempts[task.key] < _ATTEMPTS:
                groups.setdefault(task.group, deque()).appendleft(task)
                return None
            outcome = {"status": "failed", "error": f"its process died, twice ({_ending_text(code)})"}
        else:
            worker.is_ready = True
            if outcome is None:
                return None
            worker.task = None
        return task, outcome

    def close(self) -> None:
        """Ends all processes, and removes the files that they share."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.wait()
            worker.connection.close()
        self.workers.clear()
        self.folders.close()


def _send(connection: Connection, message: object) -> None:
    """Sends a message to a process. One that has died is noticed when its answer is awaited."""
    with suppress(OSError):
        connection.send(message)


def _ending_text(code: int) -> str:
    """Returns how a process ended."""
    if code < 0:
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def work(descriptor: int) -> None:
    """Does runs until the other end of a connection is closed.

    Args:
        descriptor: The connection, as a file descriptor.
    """
    # Ctrl-C reaches all processes of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Start-up: these take a while, in which Ctrl-C must not end this process with a message of its own.
    from ssdlab.explore.states import SharedStates
    from ssdlab.explore.work import execute
    from ssdlab.setups import Setups

    connection = Connection(descriptor)
    shared, root = SharedStates(), None
    try:
        names, limit = connection.recv()
        in_memory, in_files = Setups(limit), Setups(0, shared)
        connection.send(None)
        while True:
            task, shared.folder, allowance = connection.recv()
            root = shared.folder.parent if shared.folder else root
            setups = in_files if shared.is_usable() else in_memory
            # States that the process keeps are part of what it takes.
            most = max(allowance - setups.states.bytes, 1)
            connection.send(execute(task, names, setups, max_memory=most))
    except (EOFError, ConnectionError):
        # The parent removes the files unless it was killed.
        if root is not None:
            shutil.rmtree(root, ignore_errors=True)
