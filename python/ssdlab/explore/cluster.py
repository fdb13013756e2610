"""Workers of a Dask cluster that do the runs of a sweep.

Each run is given to one worker, so that runs with the same starting state share it, and no more are under way than a
worker has threads and memory for. Runs of a worker that is lost are begun again elsewhere.

Runs are handed out in a thread of their own: Dask drops a future by code in which Python ignores exceptions, so that
Ctrl-C in the same thread might be lost.
"""

from __future__ import annotations

import asyncio
import pickle
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ssdlab.errors import InputError
from ssdlab.explore import errands
from ssdlab.explore.errands import Errand
from ssdlab.explore.tasks import Task

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["Cluster"]

#: Longest time in which a scheduler must answer at the beginning [s].
_PATIENCE = 6.0
#: Longest time without a scheduler during a sweep [s].
_ENDURANCE = 30.0
#: Time between two looks at the workers [s].
_LOOK = 1.0
#: Number of times that a run is begun whose worker is lost. A worker may be lost by no fault of the run, as when its
#: job has reached its limit of time.
_ATTEMPTS = 4
#: Number of times that a worker is sent the files of a run.
_DELIVERIES = 3
#: Largest part of a file that is sent at once [bytes].
_PART = 32 << 20
#: Shares of the memory of a worker for runs and for starting states. Dask pauses a worker at four fifths.
_RUNS, _STATES = 0.5, 0.25


class SchedulerLostError(OSError):
    """The scheduler no longer answers."""


@dataclass(slots=True)
class _Sent:
    """A run that a worker has."""

    task: Task
    worker: _Worker
    future: Future[dict[str, Any]]
    key: str
    deliveries: int = 0


@dataclass(slots=True)
class _Worker:
    """A worker and its runs."""

    address: str
    threads: int
    memory: int
    sent: dict[str, _Sent] = field(default_factory=dict)
    #: Groups of which it has had runs.
    groups: set[str] = field(default_factory=set)

    def has_room(self, task: Task) -> bool:
        """Returns True if a further run fits. One run is always begun."""
        if len(self.sent) >= self.threads:
            return False
        needed = task.memory + sum(sent.task.memory for sent in self.sent.values())
        return not self.sent or needed <= self.memory * _RUNS


class Cluster:
    """Connection to the scheduler of a Dask cluster, and its workers that compute as this process does.

    Examples:
        >>> from ssdlab.explore.cluster import Cluster
        >>> with Cluster("nothing://here", ()) as cluster:
        ...     pass
        Traceback (most recent call last):
        ssdlab.InputError: --scheduler: nothing://here: ...
    """

    def __init__(self, address: str, names: tuple[str, ...], remark: Callable[[str], object] | None = None) -> None:
        """Describes a cluster, to which entering the context connects.

        Args:
            address: Address of the scheduler, such as ``tcp://10.0.0.1:8786``.
            names: Names of the numbers that are kept of each run.
            remark: Called with what the user should know: a worker that is refused or lost.
        """
        self.address = address
        self.names = names
        self.remark = remark or (lambda _: None)
        #: Name of the sweep on the workers.
        self.sweep = secrets.token_hex(8)
        self.workers: dict[str, _Worker] = {}
        #: Workers that differ, each with its complaint.
        self.refused: dict[str, str] = {}
        #: Outcomes of runs, remarks, and how the runs ended: ``None``, or an exception.
        self.news: queue.SimpleQueue[tuple[Task, dict[str, Any]] | str | BaseException | None] = queue.SimpleQueue()
        self._client: Client | None = None
        self._is_waiting = False

    @property
    def client(self) -> Client:
        """The connection."""
        assert self._client is not None, "the context has been entered"
        return self._client

    def __enter__(self) -> Cluster:
        """Connects to the scheduler and checks its workers.

        Raises:
            InputError: Dask is not installed, the scheduler does not answer, or every worker differs.
        """
        try:
            # Dask may be missing.
            from distributed import Client
        except ImportError:
            raise InputError("--scheduler: needs Dask: pip install 'ssdlab[cluster]'") from None
        try:
            # In a thread: a notebook has a loop of its own in this one.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, asyncio.wait_for(_answer(self.address), _PATIENCE)).result()
            self._client = Client(self.address, timeout=_ENDURANCE, set_as_default=False, name="ssdlab-sweep")
        except TimeoutError:
            raise InputError(f"--scheduler: {self.address}: no answer within {_PATIENCE:.0f} s") from None
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise InputError(f"--scheduler: {self.address}: no Dask scheduler answers: {error}") from None
        try:
            self._first_look()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. The cluster goes on."""
        with suppress(OSError, TimeoutError):
            self.client.close(timeout=_PATIENCE)

    def _first_look(self) -> None:
        self.look()
        self.news.put(None)
        self._hear(lambda *_: None)
        if self.refused and not self.workers:
            raise InputError("\n".join(f"--scheduler: {complaint}" for complaint in self.refused.values()))

    def look(self) -> list[_Worker]:
        """Takes new workers in, and returns those that have been lost, which are forgotten.

        Raises:
            SchedulerLostError: the scheduler is lost.
        """
        scheduler: Any = self.client.scheduler
        with self._asking():
            threads = self.client.sync(scheduler.ncores, callback_timeout=_ENDURANCE)
        lost = [self.workers.pop(address) for address in [*self.workers] if address not in threads]
        if new := [address for address in threads if address not in self.workers and address not in self.refused]:
            self._check(new, threads)
        if not self.workers and not self._is_waiting:
            self.news.put(f"{self.address} has no workers: waiting for them")
        self._is_waiting = not self.workers
        return lost

    def lost(self, error: BaseException) -> SchedulerLostError:
        """Returns the error of a scheduler that is lost."""
        return SchedulerLostError(f"{self.address}: the scheduler is lost; the rows so far are kept ({error})")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raises :class:`SchedulerLostError` where the connection fails in the context."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise self.lost(error) from None

    def _run(self, function: Callable[..., object], *arguments: object, workers: list[str]) -> dict[str, Any]:
        """Calls a function on workers, and returns the result or the exception of each.

        Raises:
            SchedulerLostError: the scheduler is lost.
        """
        with self._asking():
            answers: dict[str, Any] = self.client.run(function, *arguments, workers=workers, on_error="return")
        return answers

    def has(self, worker: _Worker) -> bool:
        """Returns True if the scheduler has a worker.

        Raises:
            SchedulerLostError: the scheduler is lost.
        """
        with self._asking():
            return worker.address in self.client.nthreads()

    def _check(self, addresses: list[str], threads: dict[str, int]) -> None:
        """Takes workers in that compute as this process does, and refuses others."""
        own = errands.facts()["versions"]
        answers = self._run(errands.facts, workers=addresses)
        for address, found in answers.items():
            # It went while it was asked; if it comes back, it is asked again.
            if isinstance(found, OSError):
                continue
            complaint = difference(found, own)
            if complaint is None:
                self.workers[address] = _Worker(address, max(threads[address], 1), found["memory"])
            else:
                self.refused[address] = f"worker {address} is refused: {complaint}"
                self.news.put(self.refused[address])

    def run(self, tasks: Iterable[Task], done: Callable[[Task, dict[str, Any]], object]) -> None:
        """Does runs, and calls `done` with each and its outcome, in the order in which they end.

        Raises:
            SchedulerLostError: the scheduler is lost.
        """
        runs = _Runs(self, tasks)
        thread = threading.Thread(target=runs.all, name="ssdlab-cluster", daemon=True)
        thread.start()
        try:
            self._hear(done)
        finally:
            runs.stop()
            thread.join(_PATIENCE)

    def _hear(self, done: Callable[[Task, dict[str, Any]], object]) -> None:
        """Passes news on until the runs have ended."""
        while (news := self.news.get()) is not None:
            if isinstance(news, BaseException):
                raise news
            if isinstance(news, str):
                self.remark(news)
            else:
                done(*news)

    def submit(self, worker: _Worker, task: Task, ended: Callable[[str], object]) -> _Sent:
        """Gives a run to a worker. `ended` is called with its key, in another thread."""
        errand = Errand.for_task(task, self.names, self.sweep, int(worker.memory * _STATES))
        key = f"ssdlab-{task.key[:12]}-{secrets.token_hex(4)}"
        future = self.client.submit(
            errands.perform, pickle.dumps(errand), key=key, workers=[worker.address], allow_other_workers=False, pure=False
        )
        sent = worker.sent[key] = _Sent(task, worker, future, key)
        future.add_done_callback(lambda _: ended(key))
        return sent

    def deliver(self, task: Task, names: list[str], worker: _Worker) -> None:
        """Sends the files of a run to a worker.

        Raises:
            SchedulerLostError: the scheduler is lost.
            OSError: a file cannot be read here or written there, or the worker is lost.
        """
        files = Errand.for_task(task, self.names, self.sweep).files
        for name in names:
            file = files[name]
            for offset, content, is_last in _parts(file.path):
                part = (file, offset, content, is_last, self.sweep)
                answer = self._run(errands.store, *part, workers=[worker.address])
                error = answer.get(worker.address)
                if isinstance(error, Exception):
                    raise error if isinstance(error, OSError) else OSError(f"{type(error).__name__}: {error}")


def difference(found: object, own: dict[str, str]) -> str | None:
    """Returns how a worker differs from this process; ``None`` if it does not.

    Args:
        found: The answer of the worker: its facts, or the exception that it raised.
        own: Versions of this process.
    """
    if isinstance(found, ImportError):
        return f"it cannot import ssdlab as it is here: {found}"
    if not isinstance(found, dict):
        return f"{type(found).__name__}: {found}"
    differing = [
        f"{what} {found['versions'].get(what)}, expected {expected}"
        for what, expected in own.items()
        if found["versions"].get(what) != expected
    ]
    return "; ".join(differing) or None


async def _answer(address: str) -> None:
    """Returns when a scheduler has answered. A client by itself waits for one that listens and is silent."""
    # Dask may be missing.
    from distributed import rpc
    from distributed.security import Security

    async with rpc(address, connection_args=Security().get_connection_args("client")) as scheduler:
        found = await scheduler.identity()
        if found.get("type") != "Scheduler":
            raise OSError(f"a {found.get('type', 'stranger')} answers")


def _parts(path: str) -> Iterator[tuple[int, bytes, bool]]:
    """Yields the parts of a file: offset, content, and True for the last."""
    with Path(path).open("rb") as file:
        offset, content = 0, file.read(_PART)
        while True:
            following = file.read(_PART)
            yield offset, content, not following
            if not following:
                return
            offset, content = offset + len(content), following


class _Runs:
    """Runs of a sweep on a cluster."""

    def __init__(self, cluster: Cluster, tasks: Iterable[Task]) -> None:
        self.cluster = cluster
        self.groups: dict[str, deque[Task]] = {}
        for task in tasks:
            self.groups.setdefault(task.group, deque()).append(task)
        #: Number of times that a run was lost with its worker.
        self.losses: dict[str, int] = {}
        self.sent: dict[str, _Sent] = {}
        #: Keys of runs that have ended, in whatever way.
        self.ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.next_look = 0.0
        self.is_stopped = False

    def all(self) -> None:
        """Does all runs, and passes on how they ended."""
        ended: BaseException | None = None
        try:
            self._all()
            self._cancel()
        except BaseException as error:  # Without news, the main thread would wait for ever.
            is_known = isinstance(error, OSError) or self.cluster.client.status == "running"
            ended = error if is_known else self.cluster.lost(error)
        self.cluster.news.put(ended)

    def stop(self) -> None:
        """Ends the thread of the runs, which cancels what has not ended."""
        self.is_stopped = True
        # It may wait for the end of a run.
        self.ended.put("")

    def _all(self) -> None:
        while (self.groups or self.sent) and not self.is_stopped:
            if time.monotonic() >= self.next_look:
                for worker in self.cluster.look():
                    self._lost(worker)
                self.next_look = time.monotonic() + _LOOK
            self._hand_out()
            with suppress(queue.Empty):
                key = self.ended.get(timeout=max(self.next_look - time.monotonic(), 0.0))
                # A run that has been given up may still end.
                if key in self.sent:
                    self._end(key)

    def _end_task(self, task: Task, outcome: dict[str, Any]) -> None:
        self.cluster.news.put((task, outcome))

    def _cancel(self) -> None:
        """Cancels what has not ended; runs under way end within moments."""
        left = [sent.future for sent in self.sent.values()]
        if not left:
            return
        addresses = [*{sent.worker.address for sent in self.sent.values()}]
        with suppress(Exception):
            self.cluster.client.cancel(left, force=True)
            self.cluster.client.run(errands.stop, self.cluster.sweep, workers=addresses, on_error="ignore")

    def _hand_out(self) -> None:
        """Gives runs to workers, the least occupied first, as far as threads and memory allow."""
        full: set[str] = set()
        while self.groups:
            free = [worker for address, worker in self.cluster.workers.items() if address not in full]
            if not free:
                return
            worker = min(free, key=lambda worker: len(worker.sent) / worker.threads)
            group = self._next_group(worker)
            task = self.groups[group][0]
            if not worker.has_room(task):
                full.add(worker.address)
                continue
            self.groups[group].popleft()
            if not self.groups[group]:
                del self.groups[group]
            worker.groups.add(group)
            self._submit(worker, task)

    def _next_group(self, worker: _Worker) -> str:
        """Returns the group of the next run of a worker: one that it knows, or that no other does, or the largest."""
        known = worker.groups.intersection(self.groups)
        if known:
            return next(group for group in self.groups if group in known)
        taken = {group for other in self.cluster.workers.values() for group in other.groups}
        free = next((group for group in self.groups if group not in taken), None)
        return free or max(self.groups, key=lambda group: len(self.groups[group]))

    def _submit(self, worker: _Worker, task: Task, deliveries: int = 0) -> None:
        sent = self.cluster.submit(worker, task, self.ended.put)
        sent.deliveries = deliveries
        self.sent[sent.key] = sent

    def _end(self, key: str) -> None:
        """Takes the outcome of a run, or sends the files that its worker lacks, or gives it to another worker."""
        sent = self.sent.pop(key)
        sent.worker.sent.pop(key, None)
        outcome = _outcome(sent.future)
        if outcome is None:
            self._begin_again(sent.task)
        elif "missing" not in outcome:
            self._end_task(sent.task, outcome)
        elif sent.deliveries == _DELIVERIES:
            self._end_task(sent.task, {"status": "failed", "error": f"{sent.worker.address}: its files do not stay there"})
        else:
            try:
                self.cluster.deliver(sent.task, outcome["missing"], sent.worker)
            except SchedulerLostError:
                raise
            except OSError as error:
                if self.cluster.has(sent.worker):
                    self._end_task(sent.task, {"status": "failed", "error": str(error)})
                    return
            self._submit(sent.worker, sent.task, sent.deliveries + 1)

    def _lost(self, worker: _Worker) -> None:
        """Takes the runs of a lost worker back."""
        keys = [key for key in worker.sent if key in self.sent]
        runs = "1 run is" if len(keys) == 1 else f"{len(keys)} runs are"
        self.cluster.news.put(f"worker {worker.address} is lost: {runs} begun again")
        for key in keys:
            sent = self.sent.pop(key)
            sent.future.cancel()
            self._begin_again(sent.task)

    def _begin_again(self, task: Task) -> None:
        """Puts a lost run first in the order, unless it has been lost too often."""
        self.losses[task.key] = self.losses.get(task.key, 0) + 1
        if self.losses[task.key] < _ATTEMPTS:
            self.groups.setdefault(task.group, deque()).appendleft(task)
        else:
            error = f"its worker was lost, {_ATTEMPTS} times"
            self._end_task(task, {"status": "failed", "error": error})


def _outcome(future: Future[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the outcome of a run that has ended; ``None`` if it was lost with its worker."""
    # Dask may be missing.
    from distributed import KilledWorker

    # The outcome may be lost while it is on its way, which Dask says in several ways.
    with suppress(Exception, asyncio.CancelledError):
        if future.status == "error":
            error = future.exception(timeout=_PATIENCE)
            return None if isinstance(error, KilledWorker) else {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        if future.status == "finished":
            return future.result(timeout=_PATIENCE)
    return None
